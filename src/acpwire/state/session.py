"""Everything one session shows, kept current by applying its updates as they are read.

An update costs its own size, not the session's. Live delivery and replay are one and the same: updates apply in
the order in which they came, upserts and snapshots overwrite, and nothing is ever reset on its own (RPLY-09,
RPLY-10, RPLY-18). There are no callbacks, no I/O and no clocks in here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias, assert_never

from msgspec import UNSET

from ..errors import ErrorObject
from ..patch.values import owned
from ..protocol.ids import CompactionId, MessageId, PlanId, SessionId, TerminalId, ToolCallId
from ..protocol.open import Unknown
from ..protocol.v2.command import AvailableCommand, AvailableCommandsUpdate
from ..protocol.v2.compaction import CompactionSummaryChunk, CompactionUpdate
from ..protocol.v2.config_option import ConfigOptionUpdate, SessionConfigOption, SetSessionConfigOptionResponse
from ..protocol.v2.info import SessionInfoUpdate
from ..protocol.v2.message import (
    AgentMessage,
    AgentMessageChunk,
    AgentThought,
    AgentThoughtChunk,
    UserMessage,
    UserMessageChunk,
)
from ..protocol.v2.notice import Notice
from ..protocol.v2.permission import RequestPermissionRequest, ToolCallPermissionSubject
from ..protocol.v2.plan import PlanUpdate
from ..protocol.v2.session import NewSessionResponse, ResumeSessionResponse
from ..protocol.v2.state import BackgroundWork, StateUpdate
from ..protocol.v2.subagent import SessionMessage as SessionMessageUpdate
from ..protocol.v2.subagent import SessionMessageChunk, SubagentUpdate
from ..protocol.v2.terminal import TerminalOutputChunk, TerminalUpdate
from ..protocol.v2.tool_call import ToolCallContentChunk, ToolCallUpdate
from ..protocol.v2.update import SessionUpdate
from ..protocol.v2.usage import UsageUpdate
from .activity import Activity
from .compaction import Compaction
from .info import Info
from .message import Message, Messages, MessageType
from .plan import Plan, plan_id
from .shown import value_of
from .snapshot import ContextUsage, SessionSnapshot
from .subagent import SessionMessage, Subagent
from .terminal import Terminal
from .tool_call import ToolCall

__all__ = ["KEPT_EVENTS", "SessionState", "TimelineEntry"]

KEPT_EVENTS: Final = 256
"""How many notices, and how many updates that were not understood, are kept: the latest ones."""

TimelineEntry: TypeAlias = Message | ToolCall | Compaction | SessionMessage | Subagent
"""What has a place in the course of a session; `.type` tells them apart."""

_Upsert: TypeAlias = (
    TerminalUpdate
    | UserMessage
    | AgentMessage
    | AgentThought
    | CompactionUpdate
    | SubagentUpdate
    | SessionMessageUpdate
)
_Rare: TypeAlias = (
    PlanUpdate
    | UsageUpdate
    | SessionInfoUpdate
    | AvailableCommandsUpdate
    | ConfigOptionUpdate
    | Notice
    | CompactionSummaryChunk
    | SessionMessageChunk
    | Unknown
)


class SessionState:
    """One session as a client shows it. Mutable, and owned by one connection; `snapshot` takes a frozen copy."""

    def __init__(self, session_id: str) -> None:
        self.session_id = SessionId(session_id)
        """The session."""
        self.info = Info()
        """Title, time of last activity and metadata of the session."""
        self.messages = Messages()
        """Messages and thoughts, in order of first appearance; a view that stays current."""
        self.unknown_count = 0
        """How many updates were not understood, in all."""
        self._unknown: deque[Unknown] = deque(maxlen=KEPT_EVENTS)
        self._notices: deque[Notice] = deque(maxlen=KEPT_EVENTS)
        self._agent_messages = self.messages.of_type("agent_message")
        self._tool_calls: dict[ToolCallId, ToolCall] = {}
        self._terminals: dict[TerminalId, Terminal] = {}
        self._plans: dict[PlanId, Plan] = {}
        self._compactions: dict[CompactionId, Compaction] = {}
        self._subagents: dict[SessionId, Subagent] = {}
        self._session_messages: dict[MessageId, SessionMessage] = {}
        self._timeline: list[TimelineEntry] = []
        self._activity = Activity()
        self._usage: ContextUsage | None = None
        self._commands: tuple[AvailableCommand, ...] = ()
        self._commands_reported = False
        self._config_options: tuple[SessionConfigOption, ...] = ()
        self._config_options_reported = False

    def __repr__(self) -> str:
        return f"<SessionState {self.session_id!r} {self.activity}: {len(self._timeline)} entries>"

    # -- what the session shows ---------------------------------------------------------------------------

    @property
    def tool_calls(self) -> Mapping[ToolCallId, ToolCall]:
        """By id, in order of first appearance; a view that stays current."""
        return MappingProxyType(self._tool_calls)

    @property
    def terminals(self) -> Mapping[TerminalId, Terminal]:
        """By id, in order of first appearance; a view that stays current."""
        return MappingProxyType(self._terminals)

    @property
    def plans(self) -> Mapping[PlanId, Plan]:
        """By id, in order of first appearance; a view that stays current."""
        return MappingProxyType(self._plans)

    @property
    def compactions(self) -> Mapping[CompactionId, Compaction]:
        """By id, in order of first appearance; a view that stays current."""
        return MappingProxyType(self._compactions)

    @property
    def subagents(self) -> Mapping[SessionId, Subagent]:
        """Unstable: the children of this session by their id; a view that stays current."""
        return MappingProxyType(self._subagents)

    @property
    def session_messages(self) -> Mapping[MessageId, SessionMessage]:
        """Unstable: messages between sessions by id; a view that stays current."""
        return MappingProxyType(self._session_messages)

    @property
    def timeline(self) -> Sequence[TimelineEntry]:
        """The course of the session, in order of first appearance; later changes move nothing (CMPT-01)."""
        return tuple(self._timeline)

    @property
    def activity(self) -> str:
        """What the foreground does: `idle` (also before any report), `running`, `requires_action`, or another word
        of the agent's, to be shown as busy (SESS-04, STATE-21).
        """
        return self._activity.foreground

    @property
    def busy(self) -> bool:
        """Whether the foreground is anything but `idle`."""
        return self._activity.busy

    @property
    def stop_reason(self) -> str | None:
        """While idle: why the last work stopped, as the latest report says; `None` is not reported (STATE-10)."""
        return self._activity.stop_reason

    @property
    def error(self) -> ErrorObject | None:
        """While idle with stop reason `error`: what failed, if the agent said so (STATE-19)."""
        return self._activity.error

    @property
    def background(self) -> tuple[BackgroundWork, ...] | None:
        """Work beside the foreground; `None` is unknown, only an empty tuple is none (BG-02)."""
        return self._activity.background

    @property
    def usage(self) -> ContextUsage | None:
        """How full the agent's context is, and the cost so far; `None` before any report."""
        return owned(self._usage)

    @property
    def commands(self) -> tuple[AvailableCommand, ...]:
        """The slash commands on offer (CMD-02)."""
        return owned(self._commands)

    @property
    def config_options(self) -> tuple[SessionConfigOption, ...]:
        """The options of the session with their values (CFG-16)."""
        return owned(self._config_options)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The latest notices: events without consequences, each of its own (NOTE-03, NOTE-05)."""
        return owned(tuple(self._notices))

    @property
    def unknown(self) -> tuple[Unknown, ...]:
        """The latest updates that were not understood, as they came (EXT-28, X-37)."""
        return owned(tuple(self._unknown))

    def message(self, type: MessageType, id: str) -> Message | None:
        """A message by type and id, both of which make its identity (MSG-03)."""
        return self.messages.get(type, id)

    def snapshot(self) -> SessionSnapshot:
        """All of it as it is now, independent of what comes later."""
        return SessionSnapshot(
            session_id=self.session_id,
            activity=self.activity,
            stop_reason=self.stop_reason,
            error=self.error,
            background=self.background,
            info=self.info.snapshot(),
            timeline=tuple((entry.type, entry.id) for entry in self._timeline),
            messages=tuple(message.snapshot() for message in self.messages),
            tool_calls=tuple(call.snapshot() for call in self._tool_calls.values()),
            plans=tuple(plan.content for plan in self._plans.values()),
            terminals=tuple(terminal.snapshot() for terminal in self._terminals.values()),
            compactions=tuple(compaction.snapshot() for compaction in self._compactions.values()),
            subagents=tuple(child.snapshot() for child in self._subagents.values()),
            session_messages=tuple(message.snapshot() for message in self._session_messages.values()),
            commands=self.commands,
            config_options=self.config_options,
            usage=self.usage,
            notices=self.notices,
            unknown=self.unknown,
            unknown_count=self.unknown_count,
        )

    # -- what the connection tells it ---------------------------------------------------------------------

    def apply(self, update: SessionUpdate) -> None:
        """Apply one update, live or replayed; what is not understood is kept and counted."""
        if type(update) is AgentMessageChunk:  # by far the most frequent, and `match` would cost it a fifth more
            message = self._agent_messages.get(update.message_id) or self._start("agent_message", update.message_id)
            message.append(update.content)
            return
        match update:
            case AgentThoughtChunk():
                self._message("agent_thought", update.message_id).append(update.content)
            case TerminalOutputChunk():
                self._terminal(update.terminal_id).append(update)
            case ToolCallUpdate():
                self._tool_call(update.tool_call_id).apply(update)
            case ToolCallContentChunk():
                self._tool_call(update.tool_call_id).append(update)
            case UserMessageChunk():
                self._message("user_message", update.message_id).append(update.content)
            case AgentMessageChunk():
                self._message("agent_message", update.message_id).append(update.content)
            case StateUpdate():
                self._activity = Activity(update)
            case (
                TerminalUpdate()
                | UserMessage()
                | AgentMessage()
                | AgentThought()
                | CompactionUpdate()
                | SubagentUpdate()
                | SessionMessageUpdate()
            ):
                self._apply_upsert(update)
            case _:
                self._apply_rare(update)

    def apply_permission(self, request: RequestPermissionRequest) -> None:
        """Apply the tool call that a permission request is about: an ordinary upsert, at this place (PERM-08, PERM-09).

        The other subjects patch nothing (PERM-12).
        """
        if isinstance(request.subject, ToolCallPermissionSubject):
            call = request.subject.tool_call
            self._tool_call(call.tool_call_id).apply(call)

    def begin_setup(self) -> None:
        """Say that a setup request is about to be sent: what updates report from now on is newer than its answer.

        Needed only to resume a session that this state has been following already.
        """
        self._commands_reported = False
        self._config_options_reported = False

    def adopt(self, response: NewSessionResponse | ResumeSessionResponse | SetSessionConfigOptionResponse) -> None:
        """Take commands and options from an answer, at its place in what is read (SESS-06, CFG-15).

        What an update has reported before a setup answer came is newer, and stays (SESS-05, SESS-07).
        """
        if isinstance(response, SetSessionConfigOptionResponse):
            self._set_config_options(response.config_options)
            return
        if not self._commands_reported:
            self._commands = owned(response.available_commands)
        if not self._config_options_reported:
            self._config_options = owned(response.config_options)

    def _apply_upsert(self, update: _Upsert) -> None:
        match update:
            case AgentMessage():
                self._message("agent_message", update.message_id).apply(update)
            case AgentThought():
                self._message("agent_thought", update.message_id).apply(update)
            case UserMessage():
                self._message("user_message", update.message_id).apply(update)
            case TerminalUpdate():
                self._terminal(update.terminal_id).apply(update)
            case CompactionUpdate():
                self._compaction(update.compaction_id).apply(update)
            case SubagentUpdate():
                self._subagent(update.session_id).apply(update)
            case SessionMessageUpdate():
                self._session_message(update.message_id).apply(update)
            case _:
                assert_never(update)

    def _apply_rare(self, update: _Rare) -> None:
        match update:
            case PlanUpdate():
                self._set_plan(update)
            case UsageUpdate():
                self._set_usage(update)
            case SessionInfoUpdate():
                self.info.apply(update)
            case AvailableCommandsUpdate():
                self._commands = owned(update.available_commands)
                self._commands_reported = True
            case ConfigOptionUpdate():
                self._set_config_options(update.config_options)
            case Notice():
                self._notices.append(owned(update))
            case CompactionSummaryChunk():
                self._compaction(update.compaction_id).append(update)
            case SessionMessageChunk():
                self._session_message(update.message_id).append(update)
            case Unknown():
                self._keep_unknown(update)
            case _:
                assert_never(update)

    def _set_plan(self, update: PlanUpdate) -> None:
        key = plan_id(update.plan)
        plan = self._plans.get(key)
        if plan is None:
            self._plans[key] = Plan(key, update.plan)
        else:
            plan.apply(update.plan)

    def _set_usage(self, update: UsageUpdate) -> None:
        cost = value_of(update.cost)
        if update.cost is UNSET and self._usage is not None:
            cost = self._usage.cost
        self._usage = ContextUsage(used=update.used, size=update.size, cost=owned(cost))

    def _set_config_options(self, options: tuple[SessionConfigOption, ...]) -> None:
        self._config_options = owned(options)
        self._config_options_reported = True

    def _keep_unknown(self, update: Unknown) -> None:
        if update.tag == "state_update":  # of a state that this version does not know
            self._activity = Activity(update)
        self._unknown.append(owned(update))
        self.unknown_count += 1

    # -- entities, made when they are first seen ----------------------------------------------------------

    def _message(self, type: MessageType, id: MessageId) -> Message:
        return self.messages.get(type, id) or self._start(type, id)

    def _start(self, type: MessageType, id: MessageId) -> Message:
        message = self.messages.start(type, id)
        self._timeline.append(message)
        return message

    def _tool_call(self, id: ToolCallId) -> ToolCall:
        call = self._tool_calls.get(id)
        if call is None:
            call = self._tool_calls[id] = ToolCall(id)
            self._timeline.append(call)
        return call

    def _terminal(self, id: TerminalId) -> Terminal:
        terminal = self._terminals.get(id)
        if terminal is None:
            terminal = self._terminals[id] = Terminal(id)
        return terminal

    def _compaction(self, id: CompactionId) -> Compaction:
        compaction = self._compactions.get(id)
        if compaction is None:
            compaction = self._compactions[id] = Compaction(id)
            self._timeline.append(compaction)
        return compaction

    def _subagent(self, id: SessionId) -> Subagent:
        child = self._subagents.get(id)
        if child is None:
            child = self._subagents[id] = Subagent(id)
            self._timeline.append(child)
        return child

    def _session_message(self, id: MessageId) -> SessionMessage:
        message = self._session_messages.get(id)
        if message is None:
            message = self._session_messages[id] = SessionMessage(id)
            self._timeline.append(message)
        return message
