"""A tool call as the agent's author reports it."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec import UNSET, UnsetType

from ..protocol.ids import ToolCallId
from ..protocol.open import Unknown
from ..protocol.v2.content import ContentBlock
from ..protocol.v2.diff import Diff
from ..protocol.v2.tool_call import (
    Content,
    Terminal,
    ToolCallContent,
    ToolCallContentChunk,
    ToolCallLocation,
    ToolCallPatch,
    ToolCallStatus,
    ToolCallUpdate,
    ToolKind,
)
from ..types import JsonValue, Meta
from .content import block

if TYPE_CHECKING:
    from .turn import Turn

__all__ = ["ToolCall", "tool_content"]


class ToolCall:
    """One invocation of a tool, reported while it runs.

    As `async with turn.tool_call("Read notes", kind="read") as call` it is `in_progress` inside the block, and
    `completed` after it, `failed` after an exception, `cancelled` after a cancellation; `finish` says otherwise.
    """

    def __init__(self, turn: Turn, first: ToolCallUpdate) -> None:
        self.id: ToolCallId = first.tool_call_id
        """Unique in the session (TOOL-04)."""
        self._turn = turn
        self._first = first
        self._finished = False

    async def __aenter__(self) -> Self:
        await self._turn.update(self._first)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._finished or self._turn.ended:
            return
        if error is None:
            await self.finish("completed")
        elif isinstance(error, asyncio.CancelledError):
            await self.finish("cancelled")
        else:
            await self.finish("failed")

    async def add(self, content: str | ContentBlock | ToolCallContent, *, meta: Meta | None = None) -> None:
        """Append one item to the call's content: text, a content block, a diff, or a terminal (TOOL-21).

        `meta` describes this chunk only and is not stored with the call (TOOL-23).
        """
        await self._turn.update(ToolCallContentChunk(tool_call_id=self.id, content=tool_content(content), meta=meta))

    async def update(
        self,
        *,
        title: str | UnsetType | None = UNSET,
        status: ToolCallStatus | UnsetType | None = UNSET,
        content: tuple[ToolCallContent, ...] | UnsetType | None = UNSET,
        locations: tuple[ToolCallLocation, ...] | UnsetType | None = UNSET,
        raw_output: JsonValue | UnsetType = UNSET,
        meta: Meta | UnsetType | None = UNSET,
    ) -> None:
        """Patch the call: what is not given stays, `None` clears, a value replaces (TOOL-05); `meta` key by key."""
        await self._turn.update(
            ToolCallUpdate(
                tool_call_id=self.id,
                title=title,
                status=status,
                content=content,
                locations=locations,
                raw_output=raw_output,
                meta=meta,
            )
        )

    async def finish(self, status: ToolCallStatus = "completed", *, raw_output: JsonValue | UnsetType = UNSET) -> None:
        """Report the final status now instead of at the end of the block."""
        self._finished = True
        await self.update(status=status, raw_output=raw_output)


def first_report(
    tool_call_id: str,
    title: str,
    *,
    kind: ToolKind | UnsetType = UNSET,
    name: str | UnsetType = UNSET,
    raw_input: JsonValue | UnsetType = UNSET,
    locations: tuple[ToolCallLocation, ...] | UnsetType = UNSET,
    meta: Meta | UnsetType = UNSET,
) -> ToolCallUpdate:
    """The update that announces a call that is running (TOOL-06)."""
    return ToolCallUpdate(
        tool_call_id=ToolCallId(tool_call_id),
        title=title,
        kind=kind,
        name=name,
        status="in_progress",
        raw_input=raw_input,
        locations=locations,
        meta=meta,
    )


def permission_patch(tool_call_id: ToolCallId) -> ToolCallPatch:
    """The subject of a permission request about a call as it stands: only its id (PERM-10)."""
    return ToolCallPatch(tool_call_id=tool_call_id)


def tool_content(content: str | ContentBlock | ToolCallContent) -> ToolCallContent:
    """One item of a tool call's content; text and content blocks are wrapped (TOOL-20)."""
    if isinstance(content, (Content, Diff, Terminal, Unknown)):
        return content
    return Content(content=block(content))
