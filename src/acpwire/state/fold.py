"""Recorded messages into the states that they lead to: what a client that read them all would show.

A line is a JSON-RPC message, or a recording's object around one: `dir` says who sent it (`c2a`, the client; `a2c`, the
agent; `note`, nobody), `msg` is the message, `raw` a text of the sender's that was none. What counts is what a client
reads: updates and permission requests at their place, and the answers to its own requests that carry commands and
options. An answer is told from others by its id, which only says something together with who asked.

Nothing is ever reset: a recording that goes on after the agent was started again goes on with the same states.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, Literal, NoReturn, TypeAlias, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ..errors import RemoteProtocolError
from ..protocol.decode import decoder
from ..protocol.open import Unknown
from ..protocol.v2 import methods as m
from ..protocol.v2.config_option import SetSessionConfigOptionResponse
from ..protocol.v2.permission import RequestPermissionRequest
from ..protocol.v2.session import NewSessionResponse, ResumeSessionResponse
from ..protocol.v2.update import UpdateSessionNotification
from ..protocol.version import VERSIONS
from ..types import JsonValue
from .session import SessionState

__all__ = ["Fold"]

_T = TypeVar("_T")
_Sender: TypeAlias = Literal["c2a", "a2c"]
_Id: TypeAlias = int | str | None

_SENDERS: Final[dict[str, _Sender]] = {
    method.name: "c2a" if method.side == "agent" else "a2c" for method in m.METHODS if method.side != "both"
}
_V1_METHODS: Final = frozenset(
    {
        "authenticate",
        "fs/read_text_file",
        "fs/write_text_file",
        "session/load",
        "session/set_mode",
        "session/set_model",
        "terminal/create",
        "terminal/kill",
        "terminal/output",
        "terminal/release",
        "terminal/wait_for_exit",
    }
)
_V1_UPDATES: Final = frozenset({"current_mode_update", "plan", "tool_call"})
_BOM: Final = b"\xef\xbb\xbf"
_BAD: Final = object()
_NO_MESSAGE: Final = "neither a JSON-RPC message nor a line of a recording"
_UNDECODED: Final = frozenset({"dir", "error", "msg", "params", "raw", "result"})
"""The members of a line that are kept as bytes."""


class _Message(Struct, frozen=True):
    jsonrpc: Literal["2.0"] | UnsetType = UNSET
    method: str | UnsetType = UNSET
    id: _Id | UnsetType = UNSET
    params: Raw = Raw(b"{}")
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _Line(_Message, frozen=True):
    dir: Raw = Raw(b"null")
    msg: Raw | UnsetType = UNSET
    raw: Raw | UnsetType = UNSET


class _OfSession(Struct, frozen=True):
    session_id: str | None = msgspec.field(name="sessionId", default=None)


class _Initialized(Struct, frozen=True):
    protocol_version: int = msgspec.field(name="protocolVersion")


class _Asked(Struct, frozen=True):
    method: str
    session_id: str | None


_line: Final = msgspec.json.Decoder(_Line)
_message: Final = msgspec.json.Decoder(_Message)
_batch: Final = msgspec.json.Decoder(list[Raw])
_of_session: Final = msgspec.json.Decoder(_OfSession)
_decode_update: Final = decoder(UpdateSessionNotification)
_decode_permission: Final = decoder(RequestPermissionRequest)
_decode_new: Final = decoder(NewSessionResponse)
_decode_resumed: Final = decoder(ResumeSessionResponse)
_decode_option_set: Final = decoder(SetSessionConfigOptionResponse)
_decode_initialized: Final = decoder(_Initialized)


class Fold:
    """Takes a recording line by line; `sessions` is always what the lines so far lead to."""

    def __init__(self) -> None:
        self.sessions: dict[str, SessionState] = {}
        """The state of each session that was reported about, by its id, in order of first appearance."""
        self.malformed = 0
        """How many lines had no message in them: those recorded as `raw`, and those that `feed` refused."""
        self.version: int | None = None
        """The version of the protocol, once the recording shows it. One that this package does not speak ends it:
        no further line is taken.
        """
        self._asked: dict[tuple[_Sender, _Id], _Asked] = {}  # requests without an answer so far

    @property
    def foreign(self) -> bool:
        """Whether the recording has turned out to be of a version that this package does not speak."""
        return self.version is not None and self.version not in VERSIONS

    def feed(self, line: bytes) -> None:
        """Take the next line, with its line feed or without; an empty one says nothing.

        Raises:
            RemoteProtocolError: it could not be used, and was counted; the states are as before it, or, when it is an
                array of messages, as after those of them that could be used.
        """
        line = line.removeprefix(_BOM).strip()
        if not line or self.foreign:
            return
        try:
            if not line.isascii():
                line.decode()
            self._take(line)
        except UnicodeDecodeError:
            self.malformed += 1
            raise RemoteProtocolError("not valid UTF-8") from None  # its cause has the whole line with it
        except RecursionError:
            self.malformed += 1
            raise RemoteProtocolError("nested too deeply") from None
        except RemoteProtocolError:
            self.malformed += 1
            raise

    def to_builtins(self) -> dict[str, JsonValue]:
        """All sessions as JSON values, with the member names of the wire; see `acpwire fold --help`."""
        sessions: dict[str, JsonValue] = {id: _show(state) for id, state in self.sessions.items()}
        return {"sessions": sessions, "malformed": self.malformed}

    # -- lines ------------------------------------------------------------------------------------------------

    def _take(self, line: bytes) -> None:
        if line.startswith(b"["):
            self._take_all(line, None)
            return
        read = _read(line, _line)
        if read.jsonrpc is not UNSET:
            self._apply(read, None)
            return
        sender = _decode_plain(read.dir)
        if sender == "note":
            return
        if sender not in ("c2a", "a2c", None):
            raise RemoteProtocolError("neither `a2c` nor `c2a` nor `note`", path="$.dir")
        if read.raw is not UNSET and (read.msg is UNSET or bytes(read.msg) == b"null"):
            self.malformed += 1
        elif read.msg is UNSET:
            raise RemoteProtocolError(_NO_MESSAGE)
        elif bytes(read.msg).startswith(b"["):
            self._take_all(bytes(read.msg), sender)
        else:
            self._apply(_read(bytes(read.msg), _message), sender)

    def _take_all(self, batch: bytes, sender: _Sender | None) -> None:
        """The messages of an array in their order (RPC-28); the first that cannot be used is told of at the end."""
        entries = _read(batch, _batch)
        first: RemoteProtocolError | None = None
        for entry in entries:
            try:
                self._apply(_read(bytes(entry), _message), sender)
            except RemoteProtocolError as error:
                first = first or error
        if first is not None:
            raise first

    # -- messages ---------------------------------------------------------------------------------------------

    def _apply(self, message: _Message, sender: _Sender | None) -> None:
        if message.jsonrpc is UNSET:
            raise RemoteProtocolError('not a JSON-RPC message: it has no "jsonrpc"')
        if message.method is not UNSET:
            self._called(message.method, message, sender or _SENDERS.get(message.method))
        elif message.id is UNSET or (message.result is UNSET) == (message.error is UNSET):
            raise RemoteProtocolError("not a JSON-RPC message: neither a call nor an answer")
        else:
            self._answered(message.id, message.result, sender)

    def _called(self, method: str, message: _Message, sender: _Sender | None) -> None:
        if self.version is None and method in _V1_METHODS:
            self.version = 1
        elif message.id is UNSET:
            if method == m.SESSION_UPDATE and sender == "a2c":
                self._update(message.params)
        elif sender is not None:
            session_id = _session_id(message.params) if sender == "c2a" else None
            self._asked[sender, message.id] = _Asked(method, session_id)
            if method == m.SESSION_REQUEST_PERMISSION and sender == "a2c":
                request = _decode_permission(message.params)
                self._state(request.session_id).apply_permission(request)
            elif method == m.SESSION_RESUME and session_id in self.sessions:
                self.sessions[session_id].begin_setup()

    def _update(self, params: Raw) -> None:
        notification = _decode_update(params)
        update = notification.update
        if self.version is None and isinstance(update, Unknown) and update.tag in _V1_UPDATES:
            self.version = 1
        else:
            self._state(notification.session_id).apply(update)

    def _answered(self, id: _Id, result: Raw | UnsetType, sender: _Sender | None) -> None:
        asker: _Sender = self._asker(id, result) if sender is None else "c2a" if sender == "a2c" else "a2c"
        asked = self._asked.pop((asker, id), None)
        if asked is None or asker == "a2c" or result is UNSET:
            return
        if asked.method == m.INITIALIZE:
            self.version = _decode_initialized(result).protocol_version
        elif asked.method == m.SESSION_NEW:
            created = _decode_new(result)
            self._state(created.session_id).adopt(created)
        elif asked.session_id is not None and asked.method == m.SESSION_RESUME:
            self._state(asked.session_id).adopt(_decode_resumed(result))
        elif asked.session_id is not None and asked.method == m.SESSION_SET_CONFIG_OPTION:
            self._state(asked.session_id).adopt(_decode_option_set(result))

    def _asker(self, id: _Id, result: Raw | UnsetType) -> _Sender:
        """Whose request an answer without a direction belongs to; only a client's answers have an `outcome`."""
        if ("a2c", id) not in self._asked:
            return "c2a"
        if ("c2a", id) not in self._asked:
            return "a2c"
        plain = None if result is UNSET else _decode_plain(result)
        return "a2c" if isinstance(plain, dict) and "outcome" in plain else "c2a"

    def _state(self, session_id: str) -> SessionState:
        state = self.sessions.get(session_id)
        if state is None:
            state = self.sessions[session_id] = SessionState(session_id)
        return state


# -- reading ------------------------------------------------------------------------------------------------------


def _read(text: bytes, reader: msgspec.json.Decoder[_T]) -> _T:
    """Decode; text with halves of surrogate pairs, which msgspec takes for a cut line, is read in a second way."""
    try:
        try:
            return reader.decode(text)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            value: _T = msgspec.convert(_read_slowly(text), reader.type)
            return value
    except msgspec.ValidationError:
        raise RemoteProtocolError(_NO_MESSAGE) from None  # what msgspec says may have a value in it (RPC-36)
    except ValueError:
        raise RemoteProtocolError("not valid JSON") from None  # its cause has the whole text with it


def _read_slowly(text: bytes) -> object:
    """The same as plain data, with what is left undecoded encoded again."""
    plain: object = json.loads(text, parse_constant=_refuse_constant)
    if isinstance(plain, dict):
        members = cast("dict[str, object]", plain)
        return {name: _encode(value) if name in _UNDECODED else value for name, value in members.items()}
    if isinstance(plain, list):
        return [_encode(entry) for entry in cast("list[object]", plain)]
    return plain


def _encode(value: object) -> Raw:
    """JSON in which half of a surrogate pair stays the escape that it came as."""
    return Raw(json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii"))


def _refuse_constant(_name: str) -> NoReturn:
    raise ValueError("NaN and Infinity are not JSON")


def _decode_plain(raw: Raw) -> object:
    """Any JSON; `_BAD` for what cannot be decoded."""
    try:
        return cast(object, msgspec.json.decode(raw))
    except msgspec.MsgspecError:
        return _BAD


def _session_id(params: Raw) -> str | None:
    try:
        return _of_session.decode(params).session_id
    except msgspec.MsgspecError:  # the agent answers that; the recording is none the worse for it
        return None


# -- the JSON form ------------------------------------------------------------------------------------------------


def _show(state: SessionState) -> JsonValue:
    """One session: its snapshot with every section there, even when empty, and without what follows from the rest."""
    shown = cast("dict[str, Any]", state.snapshot().to_builtins())  # Any: JSON of the snapshot's own shape
    form: dict[str, JsonValue] = {"state": shown["activity"]}
    for name in ("stopReason", "error"):
        if name in shown:
            form[name] = shown[name]
    form["info"] = _entity(shown["info"])
    form["messages"] = _messages(shown)
    form["toolCalls"] = _entities(shown.get("toolCalls", ()))
    form["terminals"] = [_terminal(terminal) for terminal in shown.get("terminals", ())]
    for name in ("plans", "compactions", "subagents"):
        form[name] = _entities(shown.get(name, ()))
    for name in ("configOptions", "commands"):
        form[name] = shown.get(name, [])
    form["usage"] = shown.get("usage")
    form["notices"] = shown.get("notices", [])
    form["background"] = shown.get("background")
    form["unknown"] = shown.get("unknownCount", 0)
    return form


def _messages(shown: dict[str, Any]) -> list[JsonValue]:  # Any: as in `_show`
    """Messages, thoughts and messages between sessions in one list, in the order of the timeline."""
    by_id = {(one["type"], one["messageId"]): one for one in shown.get("messages", ())}
    for one in shown.get("sessionMessages", ()):
        by_id["session_message", one["messageId"]] = {"type": "session_message", **one}
    return _entities(by_id[type, id] for type, id in shown.get("timeline", ()) if (type, id) in by_id)


def _terminal(shown: dict[str, Any]) -> JsonValue:  # Any: as in `_show`
    return _entity({**shown, "output": {"data": shown["output"]}})


def _entities(shown: Iterable[dict[str, Any]]) -> list[JsonValue]:  # Any: as in `_show`
    return [_entity(one) for one in shown]


def _entity(shown: dict[str, Any]) -> JsonValue:  # Any: as in `_show`
    """With its metadata, if there is any, behind its own members; `text` is in its content or output already."""
    members: dict[str, JsonValue] = {name: value for name, value in shown.items() if name not in ("_meta", "text")}
    if shown.get("_meta"):
        members["_meta"] = shown["_meta"]
    return members
