"""`session/update`: every way in which a session changes, and the notification that carries it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from ..base import Object
from ..ids import SessionId
from ..open import Open, Unknown
from .command import AvailableCommandsUpdate
from .compaction import CompactionSummaryChunk, CompactionUpdate
from .config_option import ConfigOptionUpdate
from .info import SessionInfoUpdate
from .message import (
    AgentMessage,
    AgentMessageChunk,
    AgentThought,
    AgentThoughtChunk,
    UserMessage,
    UserMessageChunk,
)
from .notice import Notice
from .plan import PlanUpdate
from .state import StateUpdate
from .subagent import SessionMessage, SessionMessageChunk, SubagentUpdate
from .terminal import TerminalOutputChunk, TerminalUpdate
from .tool_call import ToolCallContentChunk, ToolCallUpdate
from .usage import UsageUpdate

__all__ = ["KnownUpdate", "SessionUpdate", "UpdateSessionNotification"]

KnownUpdate: TypeAlias = (
    AgentMessageChunk
    | AgentThoughtChunk
    | UserMessageChunk
    | ToolCallUpdate
    | ToolCallContentChunk
    | TerminalOutputChunk
    | TerminalUpdate
    | StateUpdate
    | UserMessage
    | AgentMessage
    | AgentThought
    | PlanUpdate
    | AvailableCommandsUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | Notice
    | CompactionUpdate
    | CompactionSummaryChunk
    | SubagentUpdate
    | SessionMessage
    | SessionMessageChunk
)
"""The updates this version knows, unstable ones included."""

if TYPE_CHECKING:
    SessionUpdate: TypeAlias = KnownUpdate | Unknown
    """One way in which a session changes, by its `sessionUpdate`; unknown ones are kept (EXT-23)."""
else:
    SessionUpdate = Annotated[KnownUpdate, Open("sessionUpdate")]


class UpdateSessionNotification(Object, frozen=True, kw_only=True):
    """One update of one session; its own `_meta` is about this notification, not the entity (META-36)."""

    session_id: SessionId
    """The session."""
    update: SessionUpdate
    """What changes."""
