"""Messages and thoughts: whole updates replace content and patch metadata, chunks append (MSG-07 to MSG-15)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeAlias, overload

from msgspec import UNSET, UnsetType

from ..patch import meta
from ..protocol.ids import MessageId
from ..protocol.v2.content import ContentBlock
from ..protocol.v2.message import AgentMessage, AgentThought, UserMessage
from ..types import Meta
from .parts import Parts
from .snapshot import MessageSnapshot

__all__ = ["Message", "MessageType", "Messages"]

MessageType: TypeAlias = Literal["user_message", "agent_message", "agent_thought"]
"""Each has ids of its own: equal ids of different types are different messages (MSG-03)."""


class Message:
    """One message or thought, as it is now. Only the session's state calls `append` and `apply`."""

    __slots__ = ("_meta", "_parts", "append", "id", "type")

    def __init__(self, type: MessageType, id: MessageId) -> None:
        self.type: MessageType = type
        """What it is."""
        self.id = id
        """Which one of its type."""
        self._meta: Meta | None | UnsetType = UNSET
        self._parts: Parts[ContentBlock] = Parts()
        self.append: Callable[[ContentBlock], None] = self._parts.append
        """Add the block of a chunk (MSG-11)."""

    def __repr__(self) -> str:
        return f"<Message {self.type} {self.id!r}: {len(self._parts)} blocks>"

    @property
    def content(self) -> tuple[ContentBlock, ...]:
        """Its blocks, in order; one that came as a chunk is a block of its own (MSG-13)."""
        return self._parts.items

    @property
    def text(self) -> str:
        """The text of its text blocks, joined (MSG-18)."""
        return self._parts.text

    @property
    def meta(self) -> Meta:
        """Its metadata, a copy; without keys there is none (META-17)."""
        return meta.effective(self._meta)

    def apply(self, update: UserMessage | AgentMessage | AgentThought) -> None:
        """Patch it: omitted content stays, `null` and `[]` clear it, an array replaces all of it (MSG-08 to MSG-10)."""
        if update.content is not UNSET:
            self._parts.replace(update.content or ())
        if update.meta is not UNSET:
            self._meta = meta.apply(self._meta, update.meta)

    def snapshot(self) -> MessageSnapshot:
        """As it is now."""
        return MessageSnapshot(type=self.type, message_id=self.id, text=self.text, content=self.content, meta=self.meta)


class Messages(Sequence[Message]):
    """The messages and thoughts of a session, in order of first appearance; a view that stays current."""

    __slots__ = ("_by_type", "_in_order")

    def __init__(self) -> None:
        self._in_order: list[Message] = []
        self._by_type: dict[MessageType, dict[MessageId, Message]] = {
            "user_message": {},
            "agent_message": {},
            "agent_thought": {},
        }

    def get(self, type: MessageType, id: str) -> Message | None:
        """The message of that type and id, if it has appeared."""
        return self._by_type[type].get(MessageId(id))

    def of_type(self, type: MessageType) -> dict[MessageId, Message]:
        """All of one type by id; for the session's state."""
        return self._by_type[type]

    def start(self, type: MessageType, id: MessageId) -> Message:
        """Begin a message that was not seen before, without content and metadata; for the session's state (MSG-07)."""
        message = self._by_type[type][id] = Message(type, id)
        self._in_order.append(message)
        return message

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        return self._in_order[index]

    def __len__(self) -> int:
        return len(self._in_order)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._in_order)

    def __repr__(self) -> str:
        return f"<Messages: {self._in_order!r}>"
