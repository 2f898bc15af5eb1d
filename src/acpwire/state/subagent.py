"""Unstable: child sessions as their parent shows them, and messages between sessions (SUB-05 to SUB-24)."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import UNSET, structs

from ..patch import meta, record
from ..patch.values import owned
from ..protocol.ids import AbsolutePath, MessageId, SessionId
from ..protocol.open import Unknown
from ..protocol.v2.content import ContentBlock
from ..protocol.v2.state import ForegroundState
from ..protocol.v2.subagent import SessionMessage as SessionMessageUpdate
from ..protocol.v2.subagent import SessionMessageChunk, SubagentSessionCapabilities, SubagentUpdate
from ..types import Meta
from .parts import Parts, cleared
from .shown import shown, value_of
from .snapshot import SessionMessageSnapshot, SubagentSnapshot

__all__ = ["SessionMessage", "Subagent"]


class Subagent:
    """The tie of a child session to its parent. Only the session's state calls `apply`.

    It outlives the child's work (SUB-15). Its metadata is not that of the child session.
    """

    __slots__ = ("_stored", "id")

    type: ClassVar[Literal["subagent"]] = "subagent"
    """What it is in a timeline."""

    def __init__(self, id: SessionId) -> None:
        self.id = id
        """The child session."""
        self._stored = SubagentUpdate(session_id=id)

    def __repr__(self) -> str:
        return f"<Subagent {self.id!r}: {self.title!r}>"

    @property
    def title(self) -> str | None:
        """What the parent calls it (SUB-08)."""
        return value_of(self._stored.title)

    @property
    def description(self) -> str | None:
        """What it is for, for people."""
        return value_of(self._stored.description)

    @property
    def capabilities(self) -> SubagentSessionCapabilities | None:
        """What may be done to the child; nothing, when `None` or when the member in question is (SUB-11)."""
        return shown(self._stored.capabilities)

    @property
    def state(self) -> ForegroundState | Unknown | None:
        """Its foreground as the parent mirrors it; `None` is unconfirmed, not idle (SUB-09)."""
        stored = self._stored.state
        return None if stored is UNSET else owned(stored)

    @property
    def cwd(self) -> AbsolutePath | None:
        """Its directory; `None` is the parent's (SUB-14)."""
        return value_of(self._stored.cwd)

    @property
    def additional_directories(self) -> tuple[AbsolutePath, ...] | None:
        """Its further roots; `None` is the parent's, an empty tuple is none (SUB-14)."""
        return value_of(self._stored.additional_directories)

    @property
    def meta(self) -> Meta:
        """The metadata of the tie, a copy; without keys there is none (META-17)."""
        return meta.effective(self._stored.meta)

    @property
    def patch(self) -> SubagentUpdate:
        """All that is stored, as one upsert: `None` is cleared, `UNSET` never mentioned."""
        return owned(self._stored)

    def apply(self, update: SubagentUpdate) -> None:
        """Patch it (SUB-05, SUB-06)."""
        self._stored = record.apply(self._stored, update)

    def snapshot(self) -> SubagentSnapshot:
        """As it is now."""
        return SubagentSnapshot(
            session_id=self.id,
            title=self.title,
            description=self.description,
            capabilities=self.capabilities,
            state=self.state,
            cwd=self.cwd,
            additional_directories=self.additional_directories,
            meta=self.meta,
        )


class SessionMessage:
    """A message between sessions, in the transcript of one of them. Only the session's state calls `append`, `apply`."""

    __slots__ = ("_parts", "_stored", "id")

    type: ClassVar[Literal["session_message"]] = "session_message"
    """What it is in a timeline."""

    def __init__(self, id: MessageId) -> None:
        self.id = id
        """Which message."""
        self._stored = SessionMessageUpdate(message_id=id)
        self._parts: Parts[ContentBlock] = Parts()

    def __repr__(self) -> str:
        return f"<SessionMessage {self.id!r}: {len(self._parts)} blocks>"

    @property
    def sender_session_id(self) -> SessionId | None:
        """Who wrote it (SUB-22, SUB-23)."""
        return value_of(self._stored.sender_session_id)

    @property
    def recipient_session_id(self) -> SessionId | None:
        """For whom it is."""
        return value_of(self._stored.recipient_session_id)

    @property
    def sender_message_id(self) -> MessageId | None:
        """The same message in the sender's transcript."""
        return value_of(self._stored.sender_message_id)

    @property
    def recipient_message_id(self) -> MessageId | None:
        """The same message in the recipient's transcript."""
        return value_of(self._stored.recipient_message_id)

    @property
    def content(self) -> tuple[ContentBlock, ...]:
        """Its blocks, in order."""
        return self._parts.items

    @property
    def text(self) -> str:
        """The text of its text blocks, joined."""
        return self._parts.text

    @property
    def meta(self) -> Meta:
        """Its metadata, a copy; without keys there is none (META-17)."""
        return meta.effective(self._stored.meta)

    @property
    def patch(self) -> SessionMessageUpdate:
        """All that is stored, as one upsert: `None` is cleared, `UNSET` never mentioned."""
        return structs.replace(owned(self._stored), content=self._parts.patch(self._stored.content))

    def apply(self, update: SessionMessageUpdate) -> None:
        """Patch it; concrete content replaces what chunks brought (SUB-18, SUB-19)."""
        if update.content is not UNSET:
            self._parts.replace(update.content or ())
            update = structs.replace(update, content=cleared(update.content))
        self._stored = record.apply(self._stored, update)

    def append(self, chunk: SessionMessageChunk) -> None:
        """Add a block; the chunk's metadata is not stored (SUB-24)."""
        self._parts.append(chunk.content)

    def snapshot(self) -> SessionMessageSnapshot:
        """As it is now."""
        return SessionMessageSnapshot(
            message_id=self.id,
            sender_session_id=self.sender_session_id,
            recipient_session_id=self.recipient_session_id,
            sender_message_id=self.sender_message_id,
            recipient_message_id=self.recipient_message_id,
            text=self.text,
            content=self.content,
            meta=self.meta,
        )
