"""Context compaction: one entity by `compactionId` (CMPT-01 to CMPT-12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import UNSET

from ..base import Update, Upsert
from ..ids import CompactionId
from ..open import LenientPatch, Skipping
from .content import ContentBlock

__all__ = ["CompactionStatus", "CompactionSummaryChunk", "CompactionUpdate"]

if TYPE_CHECKING:
    CompactionStatus: TypeAlias = Literal["in_progress", "completed", "failed", "cancelled"] | str
    """How far a compaction is; unknown values are kept and end nothing (CMPT-12)."""
else:
    CompactionStatus = str


class CompactionUpdate(Upsert, frozen=True, kw_only=True, tag="compaction_update"):
    """The agent shortens its context, or has done so."""

    compaction_id: CompactionId
    """The key; never reused (CMPT-01)."""
    status: CompactionStatus
    """How far it is; unknown values are kept (CMPT-02, CMPT-12)."""
    summary: LenientPatch[Skipping[ContentBlock]] = UNSET
    """All of the summary; replaces what chunks brought (CMPT-04, CMPT-08)."""
    error: LenientPatch[str] = UNSET
    """What went wrong, for people."""


class CompactionSummaryChunk(Update, frozen=True, kw_only=True, tag="compaction_summary_chunk"):
    """Appends one block to the summary; a first-seen id is a compaction in progress (CMPT-09)."""

    compaction_id: CompactionId
    """Which compaction."""
    content: ContentBlock
    """The block."""
