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
edges of a chunk's text they are kept beside it (`with_halves`), so that state can join what belongs together. That is
no loss, so it is the one thing done here that is not reported.

Every other repair is reported with its path. Values are never echoed: they may be secrets (RPC-36).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    NamedTuple,
    NoReturn,
    TypeAlias,
    TypeGuard,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import msgspec
from msgspec import NODEFAULT, Struct, UnsetType, structs

from ..errors import LocalProtocolError, RemoteProtocolError
from .open import EMPTY_ON_ERROR, NULL_AS_DEFAULT, ON_ERROR, SKIP_INVALID, InnerTag, NoArm, Open, Unknown

__all__ = ["REPORTED", "Repair", "decoder", "refuse_non_finite", "validate"]

_T = TypeVar("_T")


class Repair(NamedTuple):
    """Something that was malformed and read as if it were not there."""

    path: str
    """JSON path of the value, with the names of the wire."""
    reason: str
    """What was wrong with it, and what was done."""


Report: TypeAlias = Callable[[Repair], None]

REPORTED: Final = 16
"""Repairs of one message that are reported one by one; of all others just the number is, for a peer can send many."""


@overload
def decoder(kind: type[_T], report: Report | None = None) -> Callable[[bytes | msgspec.Raw], _T]: ...
@overload
def decoder(kind: Any, report: Report | None = None) -> Callable[[bytes | msgspec.Raw], Any]: ...  # Any: a union
def decoder(kind: Any, report: Report | None = None) -> Callable[[bytes | msgspec.Raw], Any]:  # Any: as above
    """A function that decodes one JSON text as `kind`; `report` is told of each repair, up to `REPORTED`.

    It raises `RemoteProtocolError`, with the path of the first value that cannot be read and cannot be left out.
    """
    strict: Callable[[Any], Any]  # Any: as above

    def first(raw: bytes | msgspec.Raw) -> Any:  # Any: as above
        # The decoder itself is built when the first message comes: most connections never see most types.
        nonlocal strict
        strict = _strict(kind)
        return strict(raw)

    def decode(raw: bytes | msgspec.Raw) -> Any:  # Any: as above
        try:
            return strict(raw)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            pass  # and forget it: what msgspec says may have a value in it, and would become the cause of what we say
        return _second_pass(raw, kind, report)

    strict = first
    return decode


@cache
def _strict(kind: Any) -> Callable[[Any], Any]:  # Any: any type that msgspec decodes, and its values
    return msgspec.json.Decoder(kind).decode


def validate(value: Struct) -> None:
    """Check a value against its own type before it is sent: structs are not checked when they are built (DEC-16).

    Raises:
        LocalProtocolError: it would not be read as it is meant; the path says where.
    """

    def refuse(repair: Repair) -> NoReturn:
        raise LocalProtocolError(repair.reason, path=repair.path)

    try:
        refuse_non_finite(value)
        decoder(type(value), refuse)(msgspec.json.encode(value))
    except RemoteProtocolError as error:
        raise LocalProtocolError(error.reason, path=error.path) from error
    except RecursionError:
        raise LocalProtocolError("nested too deeply") from None
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
    elif _is_object(value):
        for key, item in value.items():
            refuse_non_finite(item, f"{path}.{key}")
    elif _is_array(value):
        for index, item in enumerate(value):
            refuse_non_finite(item, f"{path}[{index}]")
    elif isinstance(value, Struct):
        for name, wire in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
            refuse_non_finite(getattr(value, name), f"{path}.{wire}")


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:  # Any: JSON
    return isinstance(value, dict)


def _is_array(value: object) -> TypeGuard[Sequence[Any]]:  # Any: JSON
    return isinstance(value, (list, tuple))


# -- plain data -----------------------------------------------------------------------------------------------

_CHUNKS = (  # no set: what is looked for may be any JSON, also what has no hash
    "agent_message_chunk",
    "agent_thought_chunk",
    "compaction_summary_chunk",
    "session_message_chunk",
    "tool_call_content_chunk",
    "user_message_chunk",
)
_HALF = re.compile("[\ud800-\udfff]")
_EDGES = re.compile("([\udc00-\udfff]?)(.*?)([\ud800-\udbff]?)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w{,31}", re.ASCII)
_LEFT_OUT = object()


def _second_pass(raw: bytes | msgspec.Raw, kind: Any, report: Report | None) -> Any:  # Any: as in `_strict`
    repairs: list[Repair] = []
    try:
        plain, halves = _parse(bytes(raw), repairs)
        message = _node(plain, kind, "$", repairs)
    except RecursionError:
        raise RemoteProtocolError("malformed: nested too deeply") from None
    if report is not None:
        for repair in repairs[:REPORTED]:
            report(repair)
        if len(repairs) > REPORTED:
            report(Repair("$", f"{len(repairs) - REPORTED} more were repaired"))
    return _with_halves(message, halves) if halves else message


def _parse(raw: bytes, repairs: list[Repair]) -> tuple[Any, str]:  # Any: JSON
    """The plain data, and the text of a chunk that has halves of surrogate pairs at its edges."""
    try:
        return msgspec.json.decode(raw), ""
    except (msgspec.MsgspecError, UnicodeError):
        pass
    try:
        plain = json.loads(raw.decode(), parse_constant=_refuse_constant, parse_int=_read_int)
    except ValueError:
        raise RemoteProtocolError("malformed: not JSON") from None  # its cause has the whole text with it
    block = _chunk_text(plain)
    split = None if block is None else _EDGES.fullmatch(block["text"])
    if block is None or split is None or not (split[1] or split[3]):
        return _clean(plain, "$", repairs), ""
    block["text"] = split[2]
    plain = _clean(plain, "$", repairs)
    block = _chunk_text(plain)
    halves = f"{split[1]}{block['text']}{split[3]}"
    block["text"] = _HALF.sub("\ufffd", halves)
    return plain, halves


def _with_halves(value: Any, halves: str) -> Any:  # Any: a struct, with the text of a chunk somewhere inside
    if hasattr(value, "with_halves"):
        return value.with_halves(halves)
    name = "update" if hasattr(value, "update") else "content"
    inner = getattr(value, name, None)
    return structs.replace(value, **{name: _with_halves(inner, halves)}) if isinstance(inner, Struct) else value


def _chunk_text(plain: Any) -> Any:  # Any: JSON
    """The text block that a chunk appends to a message, a summary or a tool call; `None` if there is none."""
    update = plain.get("update") if _is_object(plain) else None
    if not _is_object(update) or str(update.get("sessionUpdate")) not in _CHUNKS:
        return None
    block = update.get("content")
    if _is_object(block) and block.get("type") == "content":
        block = block.get("content")
    if _is_object(block) and block.get("type") == "text" and isinstance(block.get("text"), str):
        return block
    return None


def _clean(value: Any, path: str, repairs: list[Repair]) -> Any:  # Any: JSON
    """The value without halves of surrogate pairs and without numbers that no double can hold."""
    if isinstance(value, str):
        return _clean_text(value, path, repairs)
    if isinstance(value, float) and not math.isfinite(value):
        repairs.append(Repair(path, "a number out of range was left out"))
        return _LEFT_OUT
    if _is_object(value):
        keys = [_clean_text(key, path, repairs) for key in value]
        cleaned = (_clean(item, _inside(path, key), repairs) for key, item in zip(keys, value.values(), strict=True))
        return {key: item for key, item in zip(keys, cleaned, strict=True) if item is not _LEFT_OUT}
    if _is_array(value):
        cleaned = (_clean(item, f"{path}[{index}]", repairs) for index, item in enumerate(value))
        return [item for item in cleaned if item is not _LEFT_OUT]
    return value


def _inside(path: str, key: str) -> str:
    """The path of a member of free JSON: its key is the peer's, so it is shown only if it looks like a name."""
    return f"{path}.{key}" if _NAME.fullmatch(key) else f"{path}[...]"


def _clean_text(text: str, path: str, repairs: list[Repair]) -> str:
    whole = _HALF.sub("\ufffd", text)
    if whole != text:
        repairs.append(Repair(path, "half of a surrogate pair was replaced"))
    return whole


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _read_int(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:  # more digits than the interpreter reads
        return math.inf


# -- the walk -------------------------------------------------------------------------------------------------


class _Field(NamedTuple):
    name: str
    wire: str
    kind: Any  # Any: a type as msgspec takes it
    marks: frozenset[object]
    default: Callable[[], Any] | None  # None: required


def _node(value: Any, kind: Any, path: str, repairs: list[Repair]) -> Any:  # Any: JSON, a type, and a value of it
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        reason = _reason(error)
    base, marks = _unwrap(kind)
    rule = next((mark for mark in marks if isinstance(mark, Open)), None)
    if rule is not None:
        return _open(value, base, rule, path, repairs)
    if get_origin(base) in (Union, UnionType):
        arms = [arm for arm in get_args(base) if arm not in (NoneType, UnsetType)]
        if len(arms) == 1 and value is not None:
            return _node(value, arms[0], path, repairs)
        if isinstance(value, float) and value.is_integer() and any(_unwrap(arm)[0] is int for arm in arms):
            return _node(int(value), kind, path, repairs)
    elif get_origin(base) is tuple and _is_array(value):
        return _items(value, kind, path, repairs)
    elif isinstance(base, type) and issubclass(base, Struct) and _is_object(value):
        return _struct(value, base, path, repairs)
    elif base is int and isinstance(value, float) and value.is_integer():
        return _node(int(value), kind, path, repairs)
    raise RemoteProtocolError(reason, path=path)


def _reason(error: msgspec.ValidationError) -> str:
    reason = str(error).partition(" - at `")[0]
    return "a value that is not allowed here" if reason.startswith("Invalid ") else reason  # those echo the value


def _open(value: Any, base: Any, rule: Open, path: str, repairs: list[Repair]) -> Any:  # Any: as above
    tag = value.get(rule.tag) if _is_object(value) else None
    if not isinstance(tag, str):
        raise RemoteProtocolError(f"expected an object with a string `{rule.tag}`", path=path)
    arm = _arms(base).get(tag)
    if arm is not None:
        return _node(value, arm, path, repairs)
    for name, kind in rule.required.items():
        if not isinstance(value.get(name), kind):
            raise RemoteProtocolError(f"an unknown `{rule.tag}` needs a {kind.__name__} here", path=f"{path}.{name}")
    if rule.exclusive and sum(name in value for name in rule.exclusive) != 1:
        raise RemoteProtocolError(f"expected exactly one of {', '.join(rule.exclusive)}", path=path)
    return Unknown(tag, value)


def _items(values: Sequence[Any], kind: Any, path: str, repairs: list[Repair]) -> tuple[Any, ...]:  # Any: as above
    base, marks = _unwrap(kind)
    item_kind = get_args(base)[0]
    items: list[Any] = []  # Any: as above
    for index, value in enumerate(values):
        place, before = f"{path}[{index}]", len(repairs)
        try:
            items.append(_node(value, item_kind, place, repairs))
        except RemoteProtocolError as error:
            if SKIP_INVALID not in marks:
                raise
            del repairs[before:]  # they are left out with it
            repairs.append(Repair(error.path, f"{error.reason}; the item was left out"))
    for mark in marks:
        if isinstance(mark, msgspec.Meta) and mark.min_length is not None and len(items) < mark.min_length:
            raise RemoteProtocolError(f"expected at least {mark.min_length} items", path=path)
    return tuple(items)


def _struct(
    value: dict[str, Any],  # Any: JSON
    kind: type[Struct],
    path: str,
    repairs: list[Repair],
) -> Struct | Unknown:
    inner: InnerTag | None = getattr(kind, "inner_tag", None)
    if inner is not None and isinstance(value.get(inner.name), str) and value[inner.name] not in inner.known:
        return Unknown(str(kind.__struct_config__.tag or value[inner.name]), value)
    config = kind.__struct_config__
    if config.tag_field is not None and value.get(config.tag_field, config.tag) != config.tag:
        raise RemoteProtocolError(f"expected `{config.tag}`", path=f"{path}.{config.tag_field}")
    members: dict[str, Any] = {}  # Any: of each field's own type
    for field in _fields(kind):
        if field.wire in value:
            members[field.name] = _member(value[field.wire], field, f"{path}.{field.wire}", repairs)
        elif field.default is None:
            raise RemoteProtocolError(f"Object missing required field `{field.wire}`", path=path)
    try:
        return kind(**members)
    except (ValueError, TypeError) as error:
        raise RemoteProtocolError(str(error), path=path) from error


def _member(value: Any, field: _Field, path: str, repairs: list[Repair]) -> Any:  # Any: as above
    if value is None and NULL_AS_DEFAULT in field.marks and field.default is not None:
        repairs.append(Repair(path, "`null` is not allowed here; read as omitted"))
        return field.default()
    try:
        return _node(value, field.kind, path, repairs)
    except RemoteProtocolError as error:
        if EMPTY_ON_ERROR in field.marks:
            repairs.append(Repair(error.path, f"{error.reason}; read as empty"))
            return _empty(field.kind)
        if ON_ERROR in field.marks and field.default is not None:
            repairs.append(Repair(error.path, f"{error.reason}; read as omitted"))
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


@cache
def _arms(union: Any) -> dict[str, type[Struct]]:  # Any: a union of tagged structs, or one alone
    arms = get_args(union) if get_origin(union) in (Union, UnionType) else (union,)
    return {str(arm.__struct_config__.tag): arm for arm in arms if arm is not NoArm}


@cache
def _fields(kind: type[Struct]) -> tuple[_Field, ...]:
    hints = get_type_hints(kind, include_extras=True)
    fields: list[_Field] = []
    for one in msgspec.structs.fields(kind):
        _, marks = _unwrap(hints[one.name])
        default = _default_of(one)
        fields.append(_Field(one.name, one.encode_name, hints[one.name], marks, default))
    return tuple(fields)


def _default_of(field: msgspec.structs.FieldInfo) -> Callable[[], Any] | None:  # Any: the field's own type
    if field.default is not NODEFAULT:
        value: object = field.default
        return lambda: value
    return None if field.default_factory is NODEFAULT else field.default_factory
