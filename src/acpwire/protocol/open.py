"""Open sets: what a newer or extended peer says is kept, not refused (EXT-18 to EXT-28).

Open enums are `Literal[...] | str`: any string passes. Open unions have an `Unknown` arm in the annotation a
reader and a type checker see; the decoder's run-time type has not, for msgspec cannot express "any other
tag". A message with an unknown tag fails the strict decode, and the second pass (`decode.py`) keeps the arm
as an `Unknown`. The marker `Open` on the run-time union tells it which member is the tag.

    if TYPE_CHECKING:
        ContentBlock: TypeAlias = TextContent | ImageContent | Unknown
    else:
        ContentBlock = Annotated[TextContent | ImageContent, Open("type")]
"""

from __future__ import annotations

from typing import Annotated, Any, NoReturn, TypeAlias, TypeVar

from msgspec import Struct, UnsetType

__all__ = [
    "EMPTY_ON_ERROR",
    "NULL_AS_DEFAULT",
    "ON_ERROR",
    "SKIP_INVALID",
    "InnerTag",
    "Lenient",
    "LenientPatch",
    "NoArm",
    "Open",
    "Skipping",
    "Unknown",
]

_T = TypeVar("_T")


class Unknown(dict[str, Any]):  # Any: a peer's own JSON, of which nothing is known
    """One arm of an open union whose tag this version does not know; read-only, with every member as it came.

    `tag` is the value of the discriminator. Values that start with `_` are somebody's extension, all others
    belong to a future ACP (EXT-18, EXT-19). Encodes to equal JSON (EXT-28).
    """

    __slots__ = ("tag",)
    tag: str

    def __init__(self, tag: str, members: dict[str, Any]) -> None:  # Any: as above
        super().__init__(members)
        self.tag = tag

    def __repr__(self) -> str:
        return f"Unknown({self.tag!r}, {super().__repr__()})"

    def __hash__(self) -> int:  # type: ignore[override]
        return hash((self.tag, tuple(sorted(self))))

    def __reduce__(self) -> tuple[type[Unknown], tuple[str, dict[str, Any]]]:  # Any: as above
        return Unknown, (self.tag, dict(self))

    def copy(self) -> Unknown:
        """The same value; there is nothing to protect it from."""
        return self

    def _read_only(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("an Unknown value is read-only")

    __setitem__ = _read_only
    __delitem__ = _read_only
    __ior__ = _read_only
    clear = _read_only
    pop = _read_only
    popitem = _read_only
    setdefault = _read_only  # pyright: ignore[reportAssignmentType]
    update = _read_only  # pyright: ignore[reportAssignmentType]


class Open:
    """Marks a run-time union as open: `tag` is its discriminator, `required` what every unknown arm must have.

    `required` holds member names with the type they must have (EXT-27). `exclusive` lists members of which
    exactly one must be present in an unknown arm (the scope of an elicitation).
    """

    __slots__ = ("exclusive", "required", "tag")

    def __init__(self, tag: str, *, required: dict[str, type] | None = None, exclusive: tuple[str, ...] = ()) -> None:
        self.tag = tag
        self.required = required or {}
        self.exclusive = exclusive


class InnerTag:
    """For a struct with a second tag inside (`state_update`): with another value than `known` it is kept whole.

    A class attribute `inner_tag` of the struct, for the second pass: the value then becomes an `Unknown` of the
    outer tag, so that nothing that the unknown value brings along is lost.
    """

    __slots__ = ("known", "name")

    def __init__(self, name: str, known: frozenset[str]) -> None:
        self.name = name
        self.known = known


class NoArm(Struct, frozen=True, tag_field="type", tag="\0"):
    """Stands in a union that has one arm as yet: msgspec takes an object without the tag for the only arm there is."""

    def __post_init__(self) -> None:
        raise ValueError("no value is this arm")


class Lenient:
    """How a reader treats a bad value of a field (DEC-01): one of the three constants below, or a mix of them."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


ON_ERROR = Lenient("ON_ERROR")
"""An invalid value reads as the field's default, on a patch field as omitted (DEC-02, DEC-08)."""

EMPTY_ON_ERROR = Lenient("EMPTY_ON_ERROR")
"""An invalid value, not an absent or `null` one, reads as the empty object (X-17) or empty list (DEC-06)."""

SKIP_INVALID = Lenient("SKIP_INVALID")
"""Invalid items of an array are left out, the others keep their order (DEC-03)."""

NULL_AS_DEFAULT = Lenient("NULL_AS_DEFAULT")
"""`null`, and only `null`, reads as the field's default (DEC-07)."""

LenientPatch: TypeAlias = Annotated[_T | None | UnsetType, ON_ERROR]
"""A three-state field that reads as omitted when it is malformed (DEC-08, DEC-13)."""

Skipping: TypeAlias = Annotated[tuple[_T, ...], SKIP_INVALID]
"""A list from which malformed items are left out."""
