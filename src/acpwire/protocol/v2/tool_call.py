"""Tool calls: upserts by `toolCallId`, chunks of their content, and what a client may do to them (TOOL-02)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from ...types import JsonValue
from ..base import MetaPatch, Object, Update, wire_name
from ..ids import AbsolutePath, TerminalId, ToolCallId
from ..open import EMPTY_ON_ERROR, ON_ERROR, LenientPatch, Open, Skipping, Unknown
from .content import ContentBlock
from .diff import Diff

__all__ = [
    "Content",
    "Terminal",
    "ToolCallCancelCapabilities",
    "ToolCallCapabilities",
    "ToolCallContent",
    "ToolCallContentChunk",
    "ToolCallLocation",
    "ToolCallPatch",
    "ToolCallStatus",
    "ToolCallUpdate",
    "ToolKind",
]

if TYPE_CHECKING:
    ToolKind: TypeAlias = (
        Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"] | str
    )
    """What a tool is like; unknown values are kept (TOOL-08)."""
    ToolCallStatus: TypeAlias = Literal["pending", "in_progress", "paused", "completed", "failed", "cancelled"] | str
    """How far a call is; unknown values mean in progress (TOOL-15)."""
else:
    ToolKind = str
    ToolCallStatus = str


class Content(Object, frozen=True, kw_only=True, tag_field="type", tag="content"):
    """A content block, as an item of a tool call's content (TOOL-20)."""

    content: ContentBlock
    """The block."""


class Terminal(Object, frozen=True, kw_only=True, tag_field="type", tag="terminal"):
    """A place where a terminal of the agent is shown; it starts nothing and controls nothing (TERM-03)."""

    terminal_id: TerminalId
    """Which terminal; its updates may come before or after (TERM-04)."""


if TYPE_CHECKING:
    ToolCallContent: TypeAlias = Content | Diff | Terminal | Unknown
    """One item that a call shows, by its `type` (TOOL-20)."""
else:
    ToolCallContent = Annotated[Content | Diff | Terminal, Open("type")]


class ToolCallLocation(Object, frozen=True, kw_only=True):
    """A file that a tool works on, to follow along (TOOL-27)."""

    path: AbsolutePath
    """Absolute."""
    line: Annotated[Annotated[int, Meta(ge=1, le=4_294_967_295)] | None, ON_ERROR] = None
    """1-based line (RPC-25, RPC-26)."""


class ToolCallCancelCapabilities(Object, frozen=True, kw_only=True):
    """The call can be cancelled; its presence says so (CAP-28)."""


class ToolCallCapabilities(Object, frozen=True, kw_only=True):
    """What may be done to a call while it runs."""

    cancel: Annotated[ToolCallCancelCapabilities | None, ON_ERROR] = None
    """`tool_call/cancel` may be sent (TOOL-31)."""


class ToolCallPatch(Struct, frozen=True, kw_only=True, rename=wire_name, omit_defaults=True, gc=False):
    """A tool call's upsert where no tag says so: the `toolCall` of a permission request (PERM-08)."""

    tool_call_id: ToolCallId
    """The key; one invocation of a tool (TOOL-04)."""
    name: LenientPatch[str] = UNSET
    """The tool's programmatic name; no authority follows from it (TOOL-10)."""
    title: LenientPatch[str] = UNSET
    """What it does, for a person."""
    kind: LenientPatch[ToolKind] = UNSET
    """What it is like; `null` resets to `other` (TOOL-08)."""
    status: LenientPatch[ToolCallStatus] = UNSET
    """How far it is; `null` resets to `pending`, unknown values mean in progress (TOOL-15)."""
    content: LenientPatch[Skipping[ToolCallContent]] = UNSET
    """Everything it shows; replaces what chunks accumulated (TOOL-09, TOOL-22)."""
    locations: LenientPatch[Skipping[ToolCallLocation]] = UNSET
    """Every file it works on."""
    raw_input: Annotated[JsonValue | UnsetType, ON_ERROR] = UNSET
    """What the tool was given; `null` unsets it and cannot be a value (TOOL-12)."""
    raw_output: Annotated[JsonValue | UnsetType, ON_ERROR] = UNSET
    """What it returned; as `raw_input`."""
    capabilities: Annotated[ToolCallCapabilities | None | UnsetType, EMPTY_ON_ERROR] = UNSET
    """What may be done to it now; a malformed value means nothing may (X-17)."""
    meta: MetaPatch = UNSET
    """A patch of the call's stored metadata (TOOL-25)."""


class ToolCallUpdate(ToolCallPatch, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call_update"):
    """Creates a tool call, or changes what it names and leaves the rest (TOOL-02, TOOL-05)."""


class ToolCallContentChunk(Update, frozen=True, kw_only=True, tag="tool_call_content_chunk"):
    """Appends one item to a call's content; a first-seen id creates the call (TOOL-21)."""

    tool_call_id: ToolCallId
    """Which call."""
    content: ToolCallContent
    """The item."""
