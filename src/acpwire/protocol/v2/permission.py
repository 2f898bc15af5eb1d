"""Permission requests: a question, what it is about, what may be answered, and the answer (PERM-01 to PERM-18)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from msgspec import Meta

from ..base import Object
from ..ids import AbsolutePath, PermissionOptionId, SessionId, TerminalId, ToolCallId
from ..open import ON_ERROR, Open, Unknown
from .tool_call import ToolCallPatch

__all__ = [
    "CancelledPermissionOutcome",
    "CommandPermissionSubject",
    "PermissionOption",
    "PermissionOptionKind",
    "RequestPermissionOutcome",
    "RequestPermissionRequest",
    "RequestPermissionResponse",
    "RequestPermissionSubject",
    "SelectedPermissionOutcome",
    "ToolCallPermissionSubject",
]

if TYPE_CHECKING:
    PermissionOptionKind: TypeAlias = Literal["allow_once", "allow_always", "reject_once", "reject_always"] | str
    """A hint at what an option means (PERM-03)."""
else:
    PermissionOptionKind = str


class PermissionOption(Object, frozen=True, kw_only=True):
    """One thing that may be answered."""

    option_id: PermissionOptionId
    """Unique within the request; what the answer names (PERM-02)."""
    name: str
    """The text of the button."""
    kind: PermissionOptionKind
    """A hint at what it means: `allow_once`, `allow_always`, `reject_once`, `reject_always` (PERM-03)."""


class ToolCallPermissionSubject(Object, frozen=True, kw_only=True, tag_field="type", tag="tool_call"):
    """The question is about a tool call."""

    tool_call: ToolCallPatch
    """An ordinary upsert of that call: it takes effect where the request stands in the stream (PERM-08)."""


class CommandPermissionSubject(Object, frozen=True, kw_only=True, tag_field="type", tag="command"):
    """The question is about a command that the agent would run; it patches nothing (PERM-11 to PERM-13)."""

    command: str
    """The command as it would run."""
    cwd: AbsolutePath
    """Where it would run; absolute."""
    tool_call_id: Annotated[ToolCallId | None, ON_ERROR] = None
    """The tool call that it belongs to, for display."""
    terminal_id: Annotated[TerminalId | None, ON_ERROR] = None
    """The terminal that would show it, for display."""


if TYPE_CHECKING:
    RequestPermissionSubject: TypeAlias = ToolCallPermissionSubject | CommandPermissionSubject | Unknown
    """What a question is about, by its `type` (PERM-05)."""
else:
    RequestPermissionSubject = Annotated[ToolCallPermissionSubject | CommandPermissionSubject, Open("type")]


class RequestPermissionRequest(Object, frozen=True, kw_only=True):
    """The agent asks whether it may go on."""

    session_id: SessionId
    """The session whose work waits."""
    title: str
    """The question (PERM-01)."""
    description: Annotated[str | None, ON_ERROR] = None
    """More of the question."""
    subject: RequestPermissionSubject | None = None
    """What it is about; a malformed one makes the request invalid (PERM-05)."""
    options: Annotated[tuple[PermissionOption, ...], Meta(min_length=1)]
    """What may be answered (PERM-02)."""


class SelectedPermissionOutcome(Object, frozen=True, kw_only=True, tag_field="outcome", tag="selected"):
    """An option was chosen (PERM-15)."""

    option_id: PermissionOptionId
    """Which; one that was not offered counts as not approved (PERM-16)."""


class CancelledPermissionOutcome(Object, frozen=True, kw_only=True, tag_field="outcome", tag="cancelled"):
    """Nothing was chosen: the work was cancelled, or the question declined (PERM-17)."""


if TYPE_CHECKING:
    RequestPermissionOutcome: TypeAlias = SelectedPermissionOutcome | CancelledPermissionOutcome | Unknown
    """How a question was answered, by its `outcome`; an unknown one is no approval (PERM-18)."""
else:
    RequestPermissionOutcome = Annotated[SelectedPermissionOutcome | CancelledPermissionOutcome, Open("outcome")]


class RequestPermissionResponse(Object, frozen=True, kw_only=True):
    """The answer."""

    outcome: RequestPermissionOutcome
    """What was chosen; what is not understood is no approval (PERM-18)."""
