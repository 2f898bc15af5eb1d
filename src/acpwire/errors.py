"""Every exception that acpwire raises.

    AcpwireError
    ├── ProtocolError            the rules of the protocol were broken
    │   ├── LocalProtocolError     by us: nothing was sent
    │   └── RemoteProtocolError    by the other side: what came could not be understood
    ├── RequestError             the other side answered a request with an error
    │   ├── AuthRequired           -32000
    │   └── SessionNotFound        -32002 that names a session
    ├── Unsupported              refused before sending: the other side did not advertise it
    ├── TransportError           bytes could not be moved, or a command could not be started
    ├── ConnectionClosed         the connection is over
    │   └── AgentExited            and it was a process: exit status, end of its stderr
    ├── StartTimeout             the other side did not answer `initialize` in time
    ├── SilenceTimeout           the other side said nothing for too long
    ├── Overrun                  calls were dropped because a handler or reader was too slow
    ├── ConversionError          the other protocol version cannot say this
    └── JournalError             a session log could not be read or written

Each carries its facts as attributes, builds its own text, and chains its cause with `from`.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from .types import JsonValue

__all__ = [
    "AUTH_REQUIRED",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "REQUEST_CANCELLED",
    "RESOURCE_NOT_FOUND",
    "UNSUPPORTED_PROTOCOL_VERSION",
    "AcpwireError",
    "AgentExited",
    "AuthRequired",
    "ConnectionClosed",
    "ConversionError",
    "ErrorObject",
    "JournalError",
    "LocalProtocolError",
    "Overrun",
    "ProtocolError",
    "RemoteProtocolError",
    "RequestError",
    "SessionNotFound",
    "SilenceTimeout",
    "StartTimeout",
    "TransportError",
    "Unsupported",
]

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REQUEST_CANCELLED: Final = -32800
AUTH_REQUIRED: Final = -32000
RESOURCE_NOT_FOUND: Final = -32002
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022


class ErrorObject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The `error` member of a JSON-RPC response (ERR-01). One type for every room."""

    code: int
    """A 32-bit integer; codes that ACP does not define are accepted (ERR-05)."""
    message: str
    """One concise sentence."""
    data: JsonValue | UnsetType = UNSET
    """Any JSON; its shape depends on the code. Left out of the wire when unset."""


class AcpwireError(Exception):
    """The root of all errors of this package."""


class ProtocolError(AcpwireError):
    """A rule of the protocol was broken.

    `path` is a JSON path into the offending value (`$` is the whole of it), `reason` says what is wrong there.
    """

    def __init__(self, reason: str, *, path: str = "$") -> None:
        super().__init__(reason, path)
        self.reason = reason
        self.path = path

    def __str__(self) -> str:
        return self.reason if self.path == "$" else f"{self.reason} - at `{self.path}`"


class LocalProtocolError(ProtocolError):
    """We were about to break the protocol; nothing was sent."""


class RemoteProtocolError(ProtocolError):
    """The other side sent something that the protocol does not allow."""


class RequestError(AcpwireError):
    """A request was answered with an error object; raise it in a handler to answer with one (ERR-01).

    `code`, `message` and `data` equal the wire; `data` is `UNSET` when the error object had none.
    """

    def __init__(self, code: int, message: str, data: JsonValue | UnsetType = UNSET) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    @classmethod
    def from_object(cls, error: ErrorObject) -> RequestError:
        """The exception for an error object: the subclass that its code names, else `RequestError`."""
        kind: type[RequestError] = cls
        if error.code == AUTH_REQUIRED:
            kind = AuthRequired
        elif error.code == RESOURCE_NOT_FOUND and isinstance(error.data, dict) and "sessionId" in error.data:
            kind = SessionNotFound
        return kind._from_wire(error)

    @classmethod
    def _from_wire(cls, error: ErrorObject) -> RequestError:
        made = cls.__new__(cls)
        RequestError.__init__(made, error.code, error.message, error.data)
        return made

    def to_object(self) -> ErrorObject:
        """The error object that says this on the wire."""
        return ErrorObject(code=self.code, message=self.message, data=self.data)

    def __str__(self) -> str:
        text = f"{self.message} ({self.code})"
        return text if self.data is UNSET else f"{text}: {_shorten(self.data)}"

    def __repr__(self) -> str:
        data = "" if self.data is UNSET else f", data={self.data!r}"
        return f"{type(self).__name__}({self.code}, {self.message!r}{data})"


class AuthRequired(RequestError):
    """The agent wants a login first (-32000, AUTH-23)."""

    def __init__(self, message: str = "Authentication required", data: JsonValue | UnsetType = UNSET) -> None:
        super().__init__(AUTH_REQUIRED, message, data)


class SessionNotFound(RequestError):
    """The session is unknown to the agent, or not active on this connection (-32002, SESS-74)."""

    def __init__(self, session_id: str) -> None:
        super().__init__(RESOURCE_NOT_FOUND, "Session not found", {"sessionId": session_id})

    @property
    def session_id(self) -> str:
        """The session that was not found."""
        return str(self.data["sessionId"]) if isinstance(self.data, dict) else ""


class Unsupported(AcpwireError):
    """Refused before anything was sent: the other side did not advertise `capability` (CAP-25, CAP-26)."""

    def __init__(self, what: str, capability: str) -> None:
        super().__init__(what, capability)
        self.what = what
        self.capability = capability

    def __str__(self) -> str:
        return f"{self.what} is not supported by the other side: it did not advertise `{self.capability}`"


class TransportError(AcpwireError):
    """Bytes could not be moved, a frame was refused, or a command could not be started."""


class ConnectionClosed(AcpwireError):
    """The connection is over; every pending and later call fails with this."""

    def __init__(self, reason: str = "the connection is closed") -> None:
        super().__init__(reason)
        self.reason = reason


class AgentExited(ConnectionClosed):
    """The agent's process ended or closed its output.

    `returncode` is its exit status, negative for the signal that ended it, `None` while it still runs;
    `stderr` is the end of what it wrote there, `noise` the last lines of its output that were no JSON.
    """

    def __init__(self, command: str, returncode: int | None, *, stderr: str = "", noise: str = "") -> None:
        self.command = command
        self.returncode = returncode
        self.stderr = stderr
        self.noise = noise
        super().__init__("the agent has ended")

    def __str__(self) -> str:  # composed when asked for: who reads the output may add the noise later
        if self.returncode is None:
            how = "closed its output but still runs"
        elif self.returncode < 0:
            how = f"was ended by {_signal_name(-self.returncode)}"
        else:
            how = f"exited with status {self.returncode}"
        return f"agent `{self.command}` {how}" + _tails(self.stderr, self.noise)


class StartTimeout(AcpwireError):
    """The other side did not answer `initialize` within `seconds`."""

    def __init__(self, what: str, seconds: float, *, stderr: str = "", noise: str = "") -> None:
        super().__init__(what, seconds)
        self.what = what
        self.seconds = seconds
        self.stderr = stderr
        self.noise = noise

    def __str__(self) -> str:
        return f"{self.what} did not answer `initialize` within {self.seconds:g} s" + _tails(self.stderr, self.noise)


class SilenceTimeout(AcpwireError):
    """The other side said nothing for `seconds` while an answer was due."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds

    def __str__(self) -> str:
        return f"the other side said nothing for {self.seconds:g} s"


class Overrun(AcpwireError):
    """`count` queued calls of `bytes` bytes were dropped: their handler or reader fell too far behind.

    Session state is exact all the same: it is applied when a message is read, not when it is handled.
    """

    def __init__(self, count: int, bytes: int) -> None:
        super().__init__(count, bytes)
        self.count = count
        self.bytes = bytes

    def __str__(self) -> str:
        return f"{self.count} queued messages ({self.bytes} bytes) were dropped: their handler is too slow"


class ConversionError(AcpwireError):
    """The other protocol version cannot say this; `path` names what."""

    def __init__(self, reason: str, *, path: str = "$") -> None:
        super().__init__(reason, path)
        self.reason = reason
        self.path = path

    def __str__(self) -> str:
        return f"{self.reason} - at `{self.path}`"


class JournalError(AcpwireError):
    """A session log could not be read or written."""


_SHOWN = 400


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _tails(stderr: str, noise: str) -> str:
    parts: list[str] = []
    if noise:
        parts.append(f"; on stdout, not JSON: {_last_line(noise)}")
    if stderr:
        parts.append(f"; its stderr ends: {_last_line(stderr)}")
    return "".join(parts)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return _shorten(lines[-1].strip()) if lines else "''"


def _signal_name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
