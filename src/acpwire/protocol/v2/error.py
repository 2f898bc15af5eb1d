"""What an error object of v2 may say beside its code and message (ERR-01); all other `data` is free JSON."""

from __future__ import annotations

from ..base import Object
from ..ids import SessionId
from .initialize import ProtocolVersion

__all__ = ["SessionNotFoundErrorData", "UnsupportedProtocolVersionErrorData"]


class UnsupportedProtocolVersionErrorData(Object, frozen=True, kw_only=True):
    """The `data` of -32022, the answer to an `initialize` that no version fits (INIT-10)."""

    requested: ProtocolVersion
    """What the client asked for."""
    supported: tuple[ProtocolVersion, ...]
    """What the agent speaks."""


class SessionNotFoundErrorData(Object, frozen=True, kw_only=True):
    """The `data` of -32002 where a session is what was not found (SESS-74)."""

    session_id: SessionId
    """The session."""
