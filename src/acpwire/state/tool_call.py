"""Tool calls: upserts by id, content chunks, and the protocol's defaults for what nobody said (TOOL-02 to TOOL-09)."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from msgspec import UNSET, UnsetType, structs

from ..patch import meta, record
from ..patch.values import owned
from ..protocol.ids import ToolCallId
from ..protocol.v2.tool_call import (
    ToolCallCapabilities,
    ToolCallContent,
    ToolCallContentChunk,
    ToolCallLocation,
    ToolCallPatch,
    ToolCallStatus,
    ToolKind,
)
from ..types import JsonValue, Meta
from .parts import Parts, cleared
from .shown import shown, value_of
from .snapshot import ToolCallSnapshot

__all__ = ["ToolCall"]

_FINAL: Final = frozenset({"completed", "failed", "cancelled"})


class ToolCall:
    """One tool call, as it is now. Only the session's state calls `append` and `apply`."""

    __slots__ = ("_fresh", "_meta", "_parts", "_settled", "id")

    type: ClassVar[Literal["tool_call"]] = "tool_call"
    """What it is in a timeline."""

    def __init__(self, id: ToolCallId) -> None:
        self.id = id
        """Which call; unique in the session (TOOL-04)."""
        self._settled = ToolCallPatch(tool_call_id=id)
        self._fresh: dict[str, object] = {}
        self._meta: Meta | None | UnsetType = UNSET
        self._parts: Parts[ToolCallContent] = Parts()

    def __repr__(self) -> str:
        return f"<ToolCall {self.id!r} {self.status}: {self.title!r}>"

    @property
    def _stored(self) -> ToolCallPatch:
        """All that updates have said, but for content and metadata; put together when somebody looks."""
        if self._fresh:
            self._settled = structs.replace(self._settled, **self._fresh)
            self._fresh = {}
        return self._settled

    @property
    def title(self) -> str | None:
        """What it does, for a person."""
        return value_of(self._stored.title)

    @property
    def name(self) -> str | None:
        """The tool's programmatic name; no authority follows from it (TOOL-10)."""
        return value_of(self._stored.name)

    @property
    def kind(self) -> ToolKind:
        """What it is like, verbatim; `other` until said (TOOL-07, TOOL-13)."""
        return value_of(self._stored.kind) or "other"

    @property
    def status(self) -> ToolCallStatus:
        """How far it is, verbatim; `pending` until said, and an unknown value means in progress (TOOL-15)."""
        return value_of(self._stored.status) or "pending"

    @property
    def done(self) -> bool:
        """Whether its status is a final one: `completed`, `failed` or `cancelled`."""
        return self.status in _FINAL

    @property
    def content(self) -> tuple[ToolCallContent, ...]:
        """What it shows, in order; one that came as a chunk is an item of its own (TOOL-21)."""
        return self._parts.items

    @property
    def text(self) -> str:
        """The text of the text blocks in its content, joined."""
        return self._parts.text

    @property
    def locations(self) -> tuple[ToolCallLocation, ...]:
        """The files it works on."""
        return shown(self._stored.locations) or ()

    @property
    def raw_input(self) -> JsonValue:
        """What the tool was given, a copy; `None` is nothing (TOOL-12)."""
        stored = self._stored.raw_input
        return None if stored is UNSET else owned(stored)

    @property
    def raw_output(self) -> JsonValue:
        """What the tool returned, a copy; `None` is nothing (TOOL-12)."""
        stored = self._stored.raw_output
        return None if stored is UNSET else owned(stored)

    @property
    def capabilities(self) -> ToolCallCapabilities | None:
        """What may be done to it now; nothing, when `None` or when the member in question is (TOOL-29, TOOL-31)."""
        return shown(self._stored.capabilities)

    @property
    def meta(self) -> Meta:
        """Its metadata, a copy; without keys there is none (META-17)."""
        return meta.effective(self._meta)

    @property
    def patch(self) -> ToolCallPatch:
        """All that is stored, as one upsert; here a field that was cleared (`None`) and one never mentioned
        (`UNSET`) differ (TOOL-28).
        """
        stored = owned(self._stored)
        return structs.replace(stored, content=self._parts.patch(stored.content), meta=owned(self._meta))

    def apply(self, update: ToolCallPatch) -> None:
        """Patch it (TOOL-05); it does not matter whether an update or a permission request brought the patch."""
        if update.content is not UNSET:
            self._parts.replace(update.content or ())
            update = structs.replace(update, content=cleared(update.content))
        self._fresh.update(record.mentioned(update, ToolCallPatch))
        if update.meta is not UNSET:
            self._meta = meta.apply(self._meta, update.meta)

    def append(self, chunk: ToolCallContentChunk) -> None:
        """Add an item to its content; the chunk's metadata is not stored (TOOL-21, TOOL-23)."""
        self._parts.append(chunk.content)

    def snapshot(self) -> ToolCallSnapshot:
        """As it is now."""
        return ToolCallSnapshot(
            tool_call_id=self.id,
            title=self.title,
            name=self.name,
            kind=self.kind,
            status=self.status,
            content=self.content,
            locations=self.locations,
            raw_input=self.raw_input,
            raw_output=self.raw_output,
            capabilities=self.capabilities,
            meta=self.meta,
        )
