"""Frames that need a second look, and values before they become frames.

Nearly every frame is read by one strict decode, in `peer`. What that refuses comes here, where time matters less:
arrays, text that is no JSON, messages of a wrong shape, and messages that are right but hold a lone half of a
surrogate pair (a peer in JavaScript cut an emoji in two), which msgspec takes for the text of a cut line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Final, Literal, NoReturn, TypeAlias, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ..errors import LocalProtocolError
from .messages import Envelope, RequestId, is_id

__all__ = [
    "HEAD",
    "Broken",
    "Encode",
    "Entries",
    "Finite",
    "check_finite",
    "encode",
    "read_head",
    "read_odd_frame",
    "split_noise",
]

HEAD: Final = 1024
"""Bytes of a bad frame that are kept."""

Encode: TypeAlias = Callable[[object], bytes]
"""Turns a message into JSON."""

Finite: TypeAlias = Callable[[object], None]
"""Raises `LocalProtocolError` when a value holds a float that is not finite."""

_SEQUENCES = (
    rb"(?:\xef\xbb\xbf"  # a BOM
    rb"|\x1b\[[0-?]*[ -/]*[@-~]"  # a control sequence of a terminal
    rb"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # a command to the terminal, a window title for instance
    rb"|\x1b[ -/]*[0-Z\\^-~]"  # a short escape sequence
    rb"|[\x00\x07\x08\t\r\n ])+"
)
_NOISE: Final = re.compile(_SEQUENCES + rb"(?=[{\[])")
_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_decode_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_entries: Final = msgspec.json.Decoder(list[Raw]).decode
_decode_any: Final = msgspec.json.Decoder().decode
_BAD: Final = object()


class Entries(Struct, frozen=True):
    """An array of messages (RPC-28)."""

    frames: list[bytes]
    """The bytes of each entry, in order."""


class Broken(Struct, frozen=True):
    """No message."""

    kind: Literal["text", "shape", "response", "notification"]
    """Not JSON at all; JSON that is no message; meant to be a response, or a notification: never answered."""
    reason: str
    """What is wrong, without a value out of the frame (RPC-36)."""
    id: RequestId = None
    """The id of a broken response, where it can be told."""


def split_noise(frame: bytes) -> tuple[bytes, bytes]:
    r"""A BOM and escape sequences glued in front of a message, and the message.

    >>> split_noise(b'\x1b[1 q{"jsonrpc":"2.0"}')
    (b'\x1b[1 q', b'{"jsonrpc":"2.0"}')
    """
    if frame[:1] not in (b"\x1b", b"\xef"):
        return b"", frame
    found = _NOISE.match(frame)
    cut = found.end() if found else 0
    return frame[:cut], frame[cut:]


def read_odd_frame(frame: bytes) -> Envelope | Entries | Broken:
    """Read a frame that the strict decode has refused. Never raises."""
    try:
        frame.decode()
    except UnicodeDecodeError:
        return Broken("text", "not valid UTF-8")
    first = frame.lstrip()[:1]
    try:
        if first == b"{":
            return _read_members(_split_object(frame))
        if first == b"[":
            return Entries(_split_array(frame))
        _decode_any(frame)
    except RecursionError:
        return Broken("text", "nested too deeply")
    except (msgspec.MsgspecError, ValueError):
        return Broken("text", "not valid JSON")
    return Broken("shape", "neither an object nor an array")


def read_head(head: bytes) -> tuple[Literal["request", "response", "notification", "unknown"], RequestId]:
    """What a message is of which only the beginning was kept, and its id, as far as the beginning tells.

    >>> read_head(b'{"jsonrpc":"2.0","id":7,"result":{"text":"abc')
    ('response', 7)
    """
    members, cut = _scan(head.decode("utf-8", "replace"))
    has_id = "id" in members and is_id(members["id"])
    if isinstance(members.get("method"), str):
        return ("request", cast(RequestId, members["id"])) if has_id else ("notification", None)
    if cut in ("result", "error") or "result" in members or "error" in members:
        return "response", cast(RequestId, members["id"]) if has_id else None
    return "unknown", None


def _scan(text: str) -> tuple[dict[str, object], str]:
    """The whole members of an object that is cut somewhere, and the key whose value is cut."""
    members: dict[str, object] = {}
    scan = json.JSONDecoder().raw_decode
    key, at = "", text.find("{") + 1
    try:
        while True:
            key, at = scan(text, _skip_space(text, at))
            members[key], at = scan(text, _skip_space(text, _skip_space(text, at) + 1))
            key, at = "", _skip_space(text, at) + 1
    except (ValueError, RecursionError, TypeError):
        return members, key


def _skip_space(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at


def _split_object(frame: bytes) -> Mapping[str, bytes | Raw]:
    try:
        return _decode_members(frame)
    except msgspec.DecodeError:
        if not _HALF.search(frame):
            raise
    members: dict[str, object] = json.loads(frame, parse_constant=_refuse_constant)
    return {key: _dump(value) for key, value in members.items()}


def _split_array(frame: bytes) -> list[bytes]:
    try:
        return [bytes(entry) for entry in _decode_entries(frame)]
    except msgspec.DecodeError:
        if not _HALF.search(frame):
            raise
    entries: list[object] = json.loads(frame, parse_constant=_refuse_constant)
    return [_dump(entry) for entry in entries]


def _dump(value: object) -> bytes:
    """JSON in which a lone half stays the escape that it came as."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def _refuse_constant(_name: str) -> NoReturn:
    raise ValueError("NaN and Infinity are not JSON")


def _read_members(members: Mapping[str, bytes | Raw]) -> Envelope | Broken:
    version, method = _value(members, "jsonrpc"), _value(members, "method")
    identifier = _value(members, "id")
    good_id = identifier is UNSET or is_id(identifier)
    if isinstance(method, str):
        kind: Literal["notification", "shape"] = "notification" if identifier is UNSET else "shape"
    elif "result" in members or "error" in members:
        return _read_response(members, version == "2.0", method is UNSET and good_id, identifier)
    else:
        reason = "neither a method nor a result nor an error" if method is UNSET else "the method is not a string"
        return Broken("shape", reason)
    if version != "2.0":
        return Broken(kind, 'the member "jsonrpc" is not "2.0"')
    if not good_id:
        return Broken("shape", "the id is neither a string nor an integer of 64 bits")
    return _envelope(members, method, cast("RequestId | UnsetType", identifier))


def _read_response(
    members: Mapping[str, bytes | Raw], good_version: bool, good_shape: bool, identifier: object
) -> Envelope | Broken:
    known = cast(RequestId, identifier) if identifier is not UNSET and is_id(identifier) else None
    if not good_version:
        return Broken("response", 'the member "jsonrpc" of a response is not "2.0"', known)
    if not good_shape:
        return Broken("response", "a response with a malformed id or method", known)
    return _envelope(members, UNSET, cast("RequestId | UnsetType", identifier))


def _envelope(
    members: Mapping[str, bytes | Raw], method: str | UnsetType, identifier: RequestId | UnsetType
) -> Envelope:
    made = Envelope("2.0", method, identifier)
    for name in ("params", "result", "error"):
        if name in members:
            setattr(made, name, Raw(bytes(members[name])))
    return made


def _value(members: Mapping[str, bytes | Raw], name: str) -> object:
    """The decoded member; `UNSET` when it is not there, a value that is nothing good when it cannot be decoded."""
    if name not in members:
        return UNSET
    try:
        return cast(object, _decode_any(members[name]))
    except (msgspec.MsgspecError, RecursionError):
        return _BAD


# -- what is sent -------------------------------------------------------------------------------------------------

encode: Final[Encode] = msgspec.json.Encoder().encode
"""The encoder unless a peer is given another one."""


def check_finite(value: object) -> None:
    """Refuse floats that are not finite: JSON has none, and msgspec would write `null`, which means something.

    Raises:
        LocalProtocolError: there is one; `path` says where.
    """
    path = _find_non_finite(value)
    if path is not None:
        raise LocalProtocolError("a number must be finite", path=f"${path}")


def _find_non_finite(value: object) -> str | None:
    if isinstance(value, float):
        return None if isfinite(value) else ""
    if isinstance(value, (str, bytes, int, Raw)) or value is None:
        return None
    for step, child in _children(value):
        below = _find_non_finite(child)
        if below is not None:
            return step + below
    return None


def _children(value: object) -> list[tuple[str, object]]:
    if isinstance(value, dict):
        return [(f".{key}", child) for key, child in cast("dict[object, object]", value).items()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [(f"[{at}]", child) for at, child in enumerate(cast("list[object]", value))]
    if isinstance(value, Struct):
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        return [(f".{name}", getattr(value, attribute)) for name, attribute in names]
    fields: Mapping[str, object] = getattr(value, "__dataclass_fields__", {})
    return [(f".{name}", getattr(value, name)) for name in fields]
