"""From bytes to types: a strict pass that is fast, and a lenient one for what it refuses.

The strict pass is msgspec on the bytes. Only a message that it refuses goes through the second pass, which walks
plain data along the type. At each node it tries `msgspec.convert` and goes down only the branch that fails:

- a field marked `ON_ERROR` falls back to its default, a patch field to omitted (DEC-02, DEC-08); `EMPTY_ON_ERROR` to
  an empty value (X-17, DEC-06); `NULL_AS_DEFAULT` takes `null`, and only that, for the default (DEC-07);
- a malformed item of a `SKIP_INVALID` list is left out (DEC-03);
- an arm of an `Open` union with an unknown tag is kept as `Unknown`; a known tag with a bad body stays an error (EXT-26);
- an integral float is taken for an integer (DEC-14).

Some text msgspec refuses before it looks at types. A number out of a double's range is left out of the value that
holds it. Halves of surrogate pairs, which JavaScript peers send when a chunk splits an emoji, become U+FFFD; at the
edges of a chunk's text they are kept beside it, as `SplitText`, so that state can join what belongs together.

Every repair is reported with its path. Values are never echoed: they may be secrets (RPC-36).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, NoReturn, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Struct, UnsetType

from ..errors import LocalProtocolError, RemoteProtocolError
from .open import EMPTY_ON_ERROR, NULL_AS_DEFAULT, ON_ERROR, SKIP_INVALID, InnerTag, Open, Unknown

__all__ = ["Repair", "SplitText", "decoder", "refuse_non_finite", "validate"]

_T = TypeVar("_T")


class Repair(NamedTuple):
    """Something that was malformed and read as if it were not there."""

    path: str
    """JSON path of the value, with the names of the wire."""
    reason: str
    """What was wrong with it, and what was done."""


Report: TypeAlias = Callable[[Repair], None]


class SplitText(str):
    """A chunk's text that begins with the low half of a surrogate pair or ends with the high one.

    It reads as text with U+FFFD there; `halves` is the same text with the halves as they came.
    """

    __slots__ = ("halves",)
    halves: str

    @classmethod
    def of(cls, halves: str) -> SplitText:
        """The text for what came."""
        made = cls(_LONE.sub("\ufffd", halves))
        made.halves = halves
        return made


def decoder(kind: type[_T] | Any, report: Report | None = None) -> Callable[[bytes | msgspec.Raw], _T]:
    """A function that decodes one JSON text as `kind`; `report` is told of each repair.

    It raises `RemoteProtocolError`, with the path of the first value that cannot be read and cannot be left out.
    """
    strict: Callable[[bytes | msgspec.Raw], _T] = _strict(kind)

    def decode(raw: bytes | msgspec.Raw) -> _T:
        try:
            return strict(raw)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            return _second_pass(raw, kind, report or _ignore)

    return decode


@lru_cache(maxsize=None)
def _strict(kind: Any) -> Callable[[Any], Any]:  # Any: any type that msgspec decodes, and its values
    # The decoder itself is built when the first message comes: most connections never see most types.
    decode: Callable[[Any], Any] | None = None

    def first(raw: bytes | msgspec.Raw) -> Any:
        nonlocal decode
        if decode is None:
            decode = msgspec.json.Decoder(kind).decode
        return decode(raw)

    return first


def validate(value: Struct) -> None:
    """Check a value against its own type before it is sent: structs are not checked when they are built (DEC-16).

    Raises:
        LocalProtocolError: it would not be read as it is meant; the path says where.
    """

    def refuse(repair: Repair) -> NoReturn:
        raise LocalProtocolError(repair.reason, path=repair.path)

    refuse_non_finite(value)
    try:
        _second_pass(msgspec.json.encode(value), type(value), refuse)
    except RemoteProtocolError as error:
        raise LocalProtocolError(error.reason, path=error.path) from error
    except (TypeError, UnicodeError, OverflowError) as error:
        raise LocalProtocolError(f"not JSON: {type(error).__name__}") from error


def refuse_non_finite(value: object, path: str = "$") -> None:
    """Find a NaN or an infinity: JSON has none, and msgspec would write `null`, which deletes a `_meta` key.

    Raises:
        LocalProtocolError: there is one; the path says where.
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            raise LocalProtocolError("a number that is not finite has no JSON form", path=path)
    elif isinstance(value, dict):
        for key, item in value.items():
            refuse_non_finite(item, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            refuse_non_finite(item, f"{path}[{index}]")
    elif isinstance(value, Struct):
        for name, wire in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
            refuse_non_finite(getattr(value, name), f"{path}.{wire}")


def _ignore(_repair: Repair) -> None:
    return


# -- plain data -----------------------------------------------------------------------------------------------

_LONE = re.compile("[\ud800-\udfff]")
_LOW_FIRST = re.compile("[\udc00-\udfff]")
_HIGH_LAST = re.compile("[\ud800-\udbff]\\Z")
_TEXT_CHUNKS = frozenset({"user_message_chunk", "agent_message_chunk", "agent_thought_chunk"})
_LEFT_OUT = object()
_DOUBLE_DIGITS = 309


def _second_pass(raw: bytes | msgspec.Raw, kind: Any, report: Report) -> Any:  # Any: as in `_strict`
    try:
        return _node(_parse(bytes(raw), report), kind, "$", report)
    except RecursionError:
        raise RemoteProtocolError("malformed: nested too deeply") from None


def _parse(raw: bytes, report: Report) -> Any:  # Any: JSON
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeError):
        pass
    try:
        plain = json.loads(raw, parse_constant=_refuse_constant, parse_int=_read_int)
    except (ValueError, UnicodeError) as error:
        raise RemoteProtocolError("malformed: not JSON") from error
    text = _chunk_text(plain.get("update")) if isinstance(plain, dict) else None
    plain = _clean(plain, "$", report)
    if text is not None and (halves := _edges(text)) != plain["update"]["content"]["text"]:
        plain["update"]["content"]["text"] = SplitText.of(halves)
    return plain


def _edges(text: str) -> str:
    """The text with a low half kept where it begins and a high one where it ends, and no other halves."""
    start = 1 if _LOW_FIRST.match(text) else 0
    end = len(text) - 1 if _HIGH_LAST.search(text) else len(text)
    return text[:start] + _LONE.sub("\ufffd", text[start:end]) + text[end:]


def _chunk_text(update: Any) -> str | None:  # Any: JSON
    if not isinstance(update, dict) or update.get("sessionUpdate") not in _TEXT_CHUNKS:
        return None
    content = update.get("content")
    text = content.get("text") if isinstance(content, dict) and content.get("type") == "text" else None
    return text if isinstance(text, str) else None


def _clean(value: Any, path: str, report: Report) -> Any:  # Any: JSON
    """The value without halves of surrogate pairs and without numbers that no double can hold."""
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, float) and not math.isfinite(value):
        report(Repair(path, "a number out of range was left out"))
        return _LEFT_OUT
    if isinstance(value, dict):
        items = ((_LONE.sub("\ufffd", key), _clean(item, f"{path}.{key}", report)) for key, item in value.items())
        return {key: item for key, item in items if item is not _LEFT_OUT}
    if isinstance(value, list):
        cleaned = (_clean(item, f"{path}[{index}]", report) for index, item in enumerate(value))
        return [item for item in cleaned if item is not _LEFT_OUT]
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _read_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DOUBLE_DIGITS else math.inf


# -- the walk -------------------------------------------------------------------------------------------------


class _Field(NamedTuple):
    name: str
    wire: str
    kind: Any  # Any: a type as msgspec takes it, without our markers
    marks: frozenset[object]
    default: Callable[[], Any] | None  # None: required


def _node(value: Any, kind: Any, path: str, report: Report) -> Any:  # Any: JSON, a type, and a value of it
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        reason = _reason(error)
    base, marks = _unwrap(kind)
    rule = next((mark for mark in marks if isinstance(mark, Open)), None)
    if rule is not None:
        return _open(value, base, rule, path, report)
    if get_origin(base) in (Union, UnionType):
        arms = [arm for arm in get_args(base) if arm not in (NoneType, UnsetType)]
        if len(arms) == 1 and value is not None:
            return _node(value, arms[0], path, report)
    elif get_origin(base) is tuple and isinstance(value, list):
        return _items(value, kind, path, report)
    elif isinstance(base, type) and issubclass(base, Struct) and isinstance(value, dict):
        return _struct(value, base, path, report)
    elif isinstance(value, float) and value.is_integer() and base is int:
        return _node(int(value), kind, path, report)
    raise RemoteProtocolError(reason, path=path)


def _reason(error: msgspec.ValidationError) -> str:
    reason = str(error).partition(" - at `")[0]
    return "a value that is not allowed here" if reason.startswith("Invalid ") else reason  # those echo the value


def _open(value: Any, base: Any, rule: Open, path: str, report: Report) -> Any:  # Any: as above
    tag = value.get(rule.tag) if isinstance(value, dict) else None
    if not isinstance(tag, str):
        raise RemoteProtocolError(f"expected an object with a string `{rule.tag}`", path=path)
    arm = _arms(base).get(tag)
    if arm is not None:
        return _node(value, arm, path, report)
    for name, kind in rule.required.items():
        if not isinstance(value.get(name), kind):
            raise RemoteProtocolError(f"an unknown `{rule.tag}` needs a {kind.__name__} here", path=f"{path}.{name}")
    if rule.exclusive and sum(name in value for name in rule.exclusive) != 1:
        raise RemoteProtocolError(f"expected exactly one of {', '.join(rule.exclusive)}", path=path)
    return Unknown(tag, value)


def _items(values: list[Any], kind: Any, path: str, report: Report) -> tuple[Any, ...]:  # Any: as above
    base, marks = _unwrap(kind)
    item_kind = get_args(base)[0]
    items: list[Any] = []
    for index, value in enumerate(values):
        place = f"{path}[{index}]"
        try:
            items.append(_node(value, item_kind, place, report))
        except RemoteProtocolError as error:
            if SKIP_INVALID not in marks:
                raise
            report(Repair(error.path, f"{error.reason}; the item was left out"))
    for mark in marks:
        if isinstance(mark, msgspec.Meta) and mark.min_length is not None and len(items) < mark.min_length:
            raise RemoteProtocolError(f"expected at least {mark.min_length} items", path=path)
    return tuple(items)


def _struct(value: dict[str, Any], kind: type[Struct], path: str, report: Report) -> Struct | Unknown:  # Any: JSON
    inner: InnerTag | None = getattr(kind, "inner_tag", None)
    if inner is not None and isinstance(value.get(inner.name), str) and value[inner.name] not in inner.known:
        return Unknown(str(kind.__struct_config__.tag or value[inner.name]), value)
    members: dict[str, Any] = {}  # Any: of each field's own type
    for field in _fields(kind):
        if field.wire in value:
            members[field.name] = _member(value[field.wire], field, f"{path}.{field.wire}", report)
        elif field.default is None:
            raise RemoteProtocolError(f"Object missing required field `{field.wire}`", path=path)
    try:
        return kind(**members)
    except (ValueError, TypeError) as error:
        raise RemoteProtocolError(str(error), path=path) from error


def _member(value: Any, field: _Field, path: str, report: Report) -> Any:  # Any: as above
    if value is None and NULL_AS_DEFAULT in field.marks and field.default is not None:
        return field.default()
    try:
        return _node(value, field.kind, path, report)
    except RemoteProtocolError as error:
        if EMPTY_ON_ERROR in field.marks:
            report(Repair(error.path, f"{error.reason}; read as empty"))
            return _empty(field.kind)
        if ON_ERROR in field.marks and field.default is not None:
            report(Repair(error.path, f"{error.reason}; read as omitted"))
            return field.default()
        raise


def _empty(kind: Any) -> Any:  # Any: a type, and its emptiest value
    base, _ = _unwrap(kind)
    if get_origin(base) in (Union, UnionType):
        base, _ = _unwrap(next(arm for arm in get_args(base) if arm not in (NoneType, UnsetType)))
    return () if get_origin(base) is tuple else base()


def _unwrap(kind: Any) -> tuple[Any, frozenset[object]]:  # Any: a type
    marks: set[object] = set()
    while get_origin(kind) is Annotated:
        kind, *more = get_args(kind)
        marks.update(more)
    return kind, frozenset(marks)


@lru_cache(maxsize=None)
def _arms(union: Any) -> dict[str, type[Struct]]:  # Any: a union of tagged structs, or one alone
    arms = get_args(union) if get_origin(union) in (Union, UnionType) else (union,)
    return {str(arm.__struct_config__.tag): arm for arm in arms}


@lru_cache(maxsize=None)
def _fields(kind: type[Struct]) -> tuple[_Field, ...]:
    hints = get_type_hints(kind, include_extras=True)
    fields = []
    for one in msgspec.structs.fields(kind):
        _, marks = _unwrap(hints[one.name])
        default = _default_of(one)
        fields.append(_Field(one.name, one.encode_name, hints[one.name], marks, default))
    return tuple(fields)


def _default_of(field: msgspec.structs.FieldInfo) -> Callable[[], Any] | None:  # Any: the field's own type
    if field.default is not NODEFAULT:
        value = field.default
        return lambda: value
    return None if field.default_factory is NODEFAULT else field.default_factory
