"""What a session is doing: snapshots of its foreground, and the work that runs beside it (STATE-03, BG-01)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from ...errors import ErrorObject
from ..base import MetaField, Object, wire_name
from ..ids import SessionId, TerminalId, ToolCallId
from ..open import ON_ERROR, InnerTag, Open, Unknown

__all__ = [
    "BackgroundSubagent",
    "BackgroundTerminal",
    "BackgroundToolCall",
    "BackgroundWork",
    "Foreground",
    "ForegroundState",
    "StateUpdate",
    "StopReason",
]

if TYPE_CHECKING:
    Foreground: TypeAlias = Literal["running", "idle", "requires_action"] | str
    """What the foreground does; an update with another state is kept whole, as an `Unknown` (STATE-04)."""
    StopReason: TypeAlias = (
        Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"] | str
    )
    """Why work ended; unknown values are kept verbatim (STATE-10)."""
else:
    Foreground = Literal["running", "idle", "requires_action"]  # another state is kept whole, as an Unknown
    StopReason = str


class BackgroundTerminal(Object, frozen=True, kw_only=True, tag_field="type", tag="terminal"):
    """A terminal that runs until its `exitStatus` is reported (BG-06)."""

    terminal_id: TerminalId
    """Which terminal."""


class BackgroundToolCall(Object, frozen=True, kw_only=True, tag_field="type", tag="tool_call"):
    """A tool call that runs without a process of its own (BG-07)."""

    tool_call_id: ToolCallId
    """Which call."""


class BackgroundSubagent(Object, frozen=True, kw_only=True, tag_field="type", tag="subagent"):
    """Unstable: a detached child session with something at work (BG-08)."""

    session_id: SessionId
    """The child."""


if TYPE_CHECKING:
    BackgroundWork: TypeAlias = BackgroundTerminal | BackgroundToolCall | BackgroundSubagent | Unknown
    """One thing that runs beside the foreground, by its `type` (BG-01)."""
else:
    BackgroundWork = Annotated[BackgroundTerminal | BackgroundToolCall | BackgroundSubagent, Open("type")]


class ForegroundState(Struct, frozen=True, kw_only=True, rename=wire_name, omit_defaults=True, gc=False):
    """A snapshot of a session's foreground, where no tag says so: the `state` of a child session."""

    inner_tag: ClassVar[InnerTag] = InnerTag("state", frozenset({"running", "idle", "requires_action"}))

    state: Foreground
    """`running`, `idle`, or `requires_action`: it cannot go on without the user (STATE-04)."""
    background: Annotated[tuple[BackgroundWork, ...] | None, ON_ERROR] = None
    """Everything that runs beside it; `None` is unknown, only an empty list means nothing (BG-02, BG-10)."""
    stop_reason: Annotated[StopReason | None | UnsetType, ON_ERROR] = UNSET
    """On `idle`: why the work that just ended did; absent means not reported (STATE-10)."""
    error: Annotated[ErrorObject | None | UnsetType, ON_ERROR] = UNSET
    """With stop reason `error`: what failed (STATE-18)."""
    meta: MetaField = None
    """About this snapshot alone (STATE-26)."""


class StateUpdate(ForegroundState, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="state_update"):
    """A snapshot of the session's whole foreground activity (STATE-03)."""
