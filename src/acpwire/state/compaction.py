"""Compactions: upserts by id, and chunks of the summary (CMPT-01 to CMPT-09)."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import UNSET, structs

from ..patch import meta, record
from ..patch.values import owned
from ..protocol.ids import CompactionId
from ..protocol.v2.compaction import CompactionStatus, CompactionSummaryChunk, CompactionUpdate
from ..protocol.v2.content import ContentBlock
from ..types import Meta
from .parts import Parts, cleared
from .shown import value_of
from .snapshot import CompactionSnapshot

__all__ = ["Compaction"]


class Compaction:
    """One compaction, as it is now. Only the session's state calls `append` and `apply`."""

    __slots__ = ("_parts", "_stored", "id")

    type: ClassVar[Literal["compaction"]] = "compaction"
    """What it is in a timeline."""

    def __init__(self, id: CompactionId) -> None:
        self.id = id
        """Which compaction; never reused (CMPT-01)."""
        self._stored = CompactionUpdate(compaction_id=id, status="in_progress")
        self._parts: Parts[ContentBlock] = Parts()

    def __repr__(self) -> str:
        return f"<Compaction {self.id!r} {self.status}>"

    @property
    def status(self) -> CompactionStatus:
        """How far it is, verbatim; `in_progress` when only chunks were seen (CMPT-09, CMPT-12)."""
        return self._stored.status

    @property
    def summary(self) -> tuple[ContentBlock, ...]:
        """What the agent goes on with, as far as it is shown."""
        return self._parts.items

    @property
    def text(self) -> str:
        """The text of the summary's text blocks, joined."""
        return self._parts.text

    @property
    def error(self) -> str | None:
        """What went wrong; whatever the status is (CMPT-11)."""
        return value_of(self._stored.error)

    @property
    def meta(self) -> Meta:
        """Its metadata, a copy; without keys there is none (META-17)."""
        return meta.effective(self._stored.meta)

    @property
    def patch(self) -> CompactionUpdate:
        """All that is stored, as one upsert: `None` is cleared, `UNSET` never mentioned."""
        return structs.replace(owned(self._stored), summary=self._parts.patch(self._stored.summary))

    def apply(self, update: CompactionUpdate) -> None:
        """Patch it; a concrete summary replaces what chunks brought (CMPT-04, CMPT-08)."""
        if update.summary is not UNSET:
            self._parts.replace(update.summary or ())
            update = structs.replace(update, summary=cleared(update.summary))
        self._stored = record.apply(self._stored, update)

    def append(self, chunk: CompactionSummaryChunk) -> None:
        """Add a block to the summary; the chunk's metadata is not stored (CMPT-08)."""
        self._parts.append(chunk.content)

    def snapshot(self) -> CompactionSnapshot:
        """As it is now."""
        return CompactionSnapshot(
            compaction_id=self.id, status=self.status, summary=self.summary, error=self.error, meta=self.meta
        )
