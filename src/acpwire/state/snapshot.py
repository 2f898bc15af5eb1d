"""What a session shows at one moment: frozen, independent of the state it was taken from, and plain enough for JSON.

Field names are camelCase in JSON. What a session does not have is left out; metadata without keys is no metadata
(META-17); an explicit `null` and a field that was never mentioned look the same here.
"""

from __future__ import annotations

from typing import cast

import msgspec
from msgspec import Struct

from ..errors import ErrorObject
from ..protocol.base import wire_name
from ..protocol.ids import AbsolutePath, CompactionId, MessageId, SessionId, TerminalId, ToolCallId
from ..protocol.open import Unknown
from ..protocol.v2.command import AvailableCommand
from ..protocol.v2.compaction import CompactionStatus
from ..protocol.v2.config_option import SessionConfigOption
from ..protocol.v2.content import ContentBlock
from ..protocol.v2.notice import Notice
from ..protocol.v2.plan import PlanUpdateContent
from ..protocol.v2.state import BackgroundWork, ForegroundState
from ..protocol.v2.subagent import SubagentSessionCapabilities
from ..protocol.v2.terminal import TerminalCapabilities, TerminalExitStatus, TerminalSize
from ..protocol.v2.tool_call import ToolCallCapabilities, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolKind
from ..protocol.v2.usage import Cost
from ..types import JsonValue, Meta

__all__ = [
    "CompactionSnapshot",
    "ContextUsage",
    "InfoSnapshot",
    "MessageSnapshot",
    "SessionMessageSnapshot",
    "SessionSnapshot",
    "SubagentSnapshot",
    "TerminalSnapshot",
    "ToolCallSnapshot",
]


class _Shown(Struct, frozen=True, kw_only=True, rename=wire_name, omit_defaults=True):
    """One thing that a session shows."""


class _Entity(_Shown, frozen=True, kw_only=True):
    """One thing with metadata of its own."""

    meta: Meta = {}
    """The stored metadata (META-03)."""


class MessageSnapshot(_Entity, frozen=True, kw_only=True):
    """A message or thought."""

    type: str
    """`user_message`, `agent_message` or `agent_thought`."""
    message_id: MessageId
    """Unique among messages of its type (MSG-03)."""
    text: str
    """The text of its text blocks, joined."""
    content: tuple[ContentBlock, ...]
    """Its blocks."""


class ToolCallSnapshot(_Entity, frozen=True, kw_only=True):
    """A tool call, with the protocol's defaults where nothing was said (TOOL-07)."""

    tool_call_id: ToolCallId
    """Which call."""
    title: str | None = None
    """What it does, for a person."""
    name: str | None = None
    """The tool's programmatic name."""
    kind: ToolKind
    """What it is like."""
    status: ToolCallStatus
    """How far it is."""
    content: tuple[ToolCallContent, ...] = ()
    """What it shows."""
    locations: tuple[ToolCallLocation, ...] = ()
    """The files it works on."""
    raw_input: JsonValue = None
    """What the tool was given."""
    raw_output: JsonValue = None
    """What it returned."""
    capabilities: ToolCallCapabilities | None = None
    """What may be done to it."""


class TerminalSnapshot(_Entity, frozen=True, kw_only=True):
    """A terminal."""

    terminal_id: TerminalId
    """Which terminal."""
    command: str | None = None
    """What runs, as a description."""
    cwd: AbsolutePath | None = None
    """Where it runs."""
    output: bytes
    """All its bytes; base64 in JSON."""
    text: str
    """The same as text, with U+FFFD for what is no UTF-8."""
    exit_status: TerminalExitStatus | None = None
    """How its process ended, if it has (TERM-16)."""
    size: TerminalSize | None = None
    """The size to render at."""
    capabilities: TerminalCapabilities | None = None
    """What may be done to it."""
    undecodable: int = 0
    """How many of its chunks and snapshots of output were no base64, and are missing in `output`."""


class CompactionSnapshot(_Entity, frozen=True, kw_only=True):
    """A compaction of the agent's context."""

    compaction_id: CompactionId
    """Which compaction."""
    status: CompactionStatus
    """How far it is."""
    summary: tuple[ContentBlock, ...] = ()
    """What the agent goes on with."""
    error: str | None = None
    """What went wrong."""


class SubagentSnapshot(_Entity, frozen=True, kw_only=True):
    """Unstable: a child session, as its parent shows it."""

    session_id: SessionId
    """The child."""
    title: str | None = None
    """What the parent calls it."""
    description: str | None = None
    """What it is for."""
    capabilities: SubagentSessionCapabilities | None = None
    """What may be done to it."""
    state: ForegroundState | Unknown | None = None
    """Its foreground; `None` is unconfirmed (SUB-09)."""
    cwd: AbsolutePath | None = None
    """Its directory; `None` is the parent's."""
    additional_directories: tuple[AbsolutePath, ...] | None = None
    """Its further roots; `None` is the parent's."""


class SessionMessageSnapshot(_Entity, frozen=True, kw_only=True):
    """Unstable: a message between sessions."""

    message_id: MessageId
    """Which message."""
    sender_session_id: SessionId | None = None
    """Who wrote it."""
    recipient_session_id: SessionId | None = None
    """For whom it is."""
    sender_message_id: MessageId | None = None
    """The same message at the sender's."""
    recipient_message_id: MessageId | None = None
    """The same message at the recipient's."""
    text: str
    """The text of its text blocks, joined."""
    content: tuple[ContentBlock, ...]
    """Its blocks."""


class InfoSnapshot(_Entity, frozen=True, kw_only=True):
    """What the session is called."""

    title: str | None = None
    """For people."""
    updated_at: str | None = None
    """When it was last at work, RFC 3339."""


class ContextUsage(_Shown, frozen=True, kw_only=True):
    """How full the agent's context is (USE-01)."""

    used: int
    """Tokens in use."""
    size: int
    """Tokens that fit."""
    cost: Cost | None = None
    """What the session cost so far; the last one that was reported (USE-03)."""

    @property
    def remaining(self) -> int:
        """Tokens that still fit, never below 0 (USE-05)."""
        return max(0, self.size - self.used)


class SessionSnapshot(_Shown, frozen=True, kw_only=True):
    """Everything one session shows."""

    session_id: SessionId
    """The session."""
    activity: str
    """What the foreground does; see `SessionState.activity`."""
    stop_reason: str | None = None
    """Why the last work stopped, when the session is idle and the agent said so."""
    error: ErrorObject | None = None
    """What failed, with stop reason `error`."""
    background: tuple[BackgroundWork, ...] | None = None
    """What runs beside the foreground; left out when unknown (BG-02)."""
    info: InfoSnapshot
    """Title and metadata."""
    timeline: tuple[tuple[str, str], ...] = ()
    """Type and id of messages, tool calls, compactions and children, in order of first appearance."""
    messages: tuple[MessageSnapshot, ...] = ()
    """Messages and thoughts."""
    tool_calls: tuple[ToolCallSnapshot, ...] = ()
    """Tool calls."""
    plans: tuple[PlanUpdateContent, ...] = ()
    """Plans."""
    terminals: tuple[TerminalSnapshot, ...] = ()
    """Terminals."""
    compactions: tuple[CompactionSnapshot, ...] = ()
    """Compactions."""
    subagents: tuple[SubagentSnapshot, ...] = ()
    """Children."""
    session_messages: tuple[SessionMessageSnapshot, ...] = ()
    """Messages between sessions."""
    commands: tuple[AvailableCommand, ...] = ()
    """Slash commands."""
    config_options: tuple[SessionConfigOption, ...] = ()
    """Options and their values."""
    usage: ContextUsage | None = None
    """How full the context is."""
    notices: tuple[Notice, ...] = ()
    """The latest notices."""
    unknown: tuple[Unknown, ...] = ()
    """The latest updates that were not understood."""
    unknown_count: int = 0
    """How many there were in all."""

    def to_builtins(self) -> dict[str, JsonValue]:
        """The same as JSON values, for `json.dumps` or a test."""
        return cast("dict[str, JsonValue]", msgspec.json.decode(self.to_json()))

    def to_json(self) -> bytes:
        """The same as one line of JSON."""
        return msgspec.json.encode(self)
