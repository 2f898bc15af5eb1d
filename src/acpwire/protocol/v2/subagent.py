"""Unstable: child sessions, and messages between sessions (SUB-01 to SUB-24)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from msgspec import UNSET, UnsetType

from ..base import Object, Update, Upsert
from ..ids import AbsolutePath, MessageId, SessionId
from ..open import ON_ERROR, LenientPatch, Skipping, Unknown
from .content import ContentBlock
from .state import ForegroundState

__all__ = [
    "SessionCancelCapabilities",
    "SessionMessage",
    "SessionMessageChunk",
    "SubagentSessionCapabilities",
    "SubagentUpdate",
]


if TYPE_CHECKING:
    ChildState: TypeAlias = ForegroundState | Unknown
else:
    ChildState = ForegroundState


class SessionCancelCapabilities(Object, frozen=True, kw_only=True):
    """The child's current work can be cancelled; its presence says so (SUB-12)."""


class SubagentSessionCapabilities(Object, frozen=True, kw_only=True):
    """What may be done to a child session; without it nothing may (SUB-11)."""

    cancel: Annotated[SessionCancelCapabilities | None, ON_ERROR] = None
    """`session/cancel` may be sent for the child."""


class SubagentUpdate(Upsert, frozen=True, kw_only=True, tag="subagent_update"):
    """Ties a child session to the session it is sent for (SUB-01, SUB-05)."""

    session_id: SessionId
    """The child; the key."""
    title: LenientPatch[str] = UNSET
    """What the parent calls it (SUB-08)."""
    description: LenientPatch[str] = UNSET
    """What it is for, for people."""
    capabilities: LenientPatch[SubagentSessionCapabilities] = UNSET
    """What may be done to it."""
    state: LenientPatch[ChildState] = UNSET
    """Its foreground as the parent mirrors it; `null` takes the report back (SUB-09)."""
    cwd: AbsolutePath | None | UnsetType = UNSET
    """Its directory; unset inherits the parent's, a malformed one invalidates the update (SUB-14)."""
    additional_directories: tuple[AbsolutePath, ...] | None | UnsetType = UNSET
    """Its further roots; unset inherits, an empty list is none (SUB-14)."""


class SessionMessage(Upsert, frozen=True, kw_only=True, tag="session_message"):
    """A message between sessions, in the transcript of the session it is sent for (SUB-18)."""

    message_id: MessageId
    """The key."""
    sender_session_id: LenientPatch[SessionId] = UNSET
    """Who wrote it (SUB-22)."""
    recipient_session_id: LenientPatch[SessionId] = UNSET
    """For whom it is."""
    sender_message_id: LenientPatch[MessageId] = UNSET
    """The same message in the sender's transcript."""
    recipient_message_id: LenientPatch[MessageId] = UNSET
    """The same message in the recipient's transcript."""
    content: LenientPatch[Skipping[ContentBlock]] = UNSET
    """All of its content (SUB-19)."""


class SessionMessageChunk(Update, frozen=True, kw_only=True, tag="session_message_chunk"):
    """Appends one block; may come before the first upsert (SUB-24)."""

    message_id: MessageId
    """Which message."""
    content: ContentBlock
    """The block."""
