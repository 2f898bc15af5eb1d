"""The life of a session: new, list, resume, close, delete (SESS-01 to SESS-41)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from ..base import Object
from ..ids import AbsolutePath, SessionId
from ..open import EMPTY_ON_ERROR, NULL_AS_DEFAULT, ON_ERROR, NoArm, Open, Skipping, Unknown
from .command import AvailableCommand
from .config_option import SessionConfigOption
from .info import SessionInfo
from .mcp_server import McpServer

__all__ = [
    "CloseSessionRequest",
    "CloseSessionResponse",
    "DeleteSessionRequest",
    "DeleteSessionResponse",
    "ListSessionsRequest",
    "ListSessionsResponse",
    "NewSessionRequest",
    "NewSessionResponse",
    "ReplayFrom",
    "ReplayFromStart",
    "ResumeSessionRequest",
    "ResumeSessionResponse",
]


class NewSessionRequest(Object, frozen=True, kw_only=True):
    """Create a session (SESS-01)."""

    cwd: AbsolutePath
    """Its directory, absolute; the first of its roots (ROOT-01)."""
    additional_directories: Annotated[tuple[AbsolutePath, ...], NULL_AS_DEFAULT] = ()
    """Further roots, absolute and in order; only where advertised (ROOT-04, ROOT-07)."""
    mcp_servers: Annotated[tuple[McpServer, ...], NULL_AS_DEFAULT] = ()
    """Servers to connect to; a malformed one fails the request (MCP-05)."""


class _Setup(Object, frozen=True, kw_only=True):
    config_options: Annotated[Skipping[SessionConfigOption], ON_ERROR] = ()
    """What can be chosen in the session (SESS-06)."""
    available_commands: Annotated[Skipping[AvailableCommand], ON_ERROR] = ()
    """Slash commands it offers (CMD-01)."""


class NewSessionResponse(_Setup, frozen=True, kw_only=True):
    """The session is there, and idle until an update says otherwise (SESS-04)."""

    session_id: SessionId
    """Opaque to the client (SESS-02)."""


class ListSessionsRequest(Object, frozen=True, kw_only=True):
    """One page of the sessions (SESS-25)."""

    cwd: AbsolutePath | None = None
    """Only those of this very directory (SESS-26)."""
    cursor: str | None = None
    """Where to go on, as the last page said; opaque (SESS-28)."""


class ListSessionsResponse(Object, frozen=True, kw_only=True):
    """The page."""

    sessions: Annotated[Skipping[SessionInfo], EMPTY_ON_ERROR]
    """Its entries; malformed ones are left out (SESS-33)."""
    next_cursor: str | None = None
    """Where to go on; `None` is the end, an empty string is not (SESS-29)."""


class ReplayFromStart(Object, frozen=True, kw_only=True, tag_field="type", tag="start"):
    """Replay all that the agent kept (RPLY-02)."""


if TYPE_CHECKING:
    ReplayFrom: TypeAlias = ReplayFromStart | Unknown
    """Where a replay starts, by its `type`; strict, for a bad one fails the request (RPLY-01, DEC-10)."""
else:
    ReplayFrom = Annotated[ReplayFromStart | NoArm, Open("type")]


class ResumeSessionRequest(Object, frozen=True, kw_only=True):
    """Take up a session again on this connection (SESS-08)."""

    session_id: SessionId
    """The session."""
    cwd: AbsolutePath
    """Its directory; absolute."""
    additional_directories: Annotated[tuple[AbsolutePath, ...], NULL_AS_DEFAULT] = ()
    """The complete list of further roots (ROOT-09, ROOT-10)."""
    mcp_servers: Annotated[tuple[McpServer, ...], NULL_AS_DEFAULT] = ()
    """The complete list of servers (SESS-10)."""
    replay_from: ReplayFrom | None = None
    """Where the replay starts; `None` replays nothing (RPLY-01, RPLY-04)."""


class ResumeSessionResponse(_Setup, frozen=True, kw_only=True):
    """History and current state were sent before this (RPLY-13)."""


class CloseSessionRequest(Object, frozen=True, kw_only=True):
    """Cancel the session's work and free it (SESS-17)."""

    session_id: SessionId
    """The session."""


class CloseSessionResponse(Object, frozen=True, kw_only=True):
    """Nothing more is sent for the session on this connection (SESS-18)."""


class DeleteSessionRequest(Object, frozen=True, kw_only=True):
    """Take a session off the list (SESS-37)."""

    session_id: SessionId
    """The session."""


class DeleteSessionResponse(Object, frozen=True, kw_only=True):
    """It is gone, or was not there (SESS-38)."""
