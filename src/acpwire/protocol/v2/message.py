"""Messages: whole ones are upserts by `messageId`, chunks append one block (MSG-06 to MSG-15).

Ids are unique among messages of one type in a session; equal ids of different types are different messages.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import UNSET

from ..base import Update, Upsert
from ..ids import MessageId
from ..open import LenientPatch, Skipping
from .content import ContentBlock

__all__ = [
    "AgentMessage",
    "AgentMessageChunk",
    "AgentThought",
    "AgentThoughtChunk",
    "ContentChunk",
    "UserMessage",
    "UserMessageChunk",
]


class _Chunk(Update, frozen=True, kw_only=True):
    """One block more of a message; its `_meta` is about the chunk alone (MSG-14)."""

    message_id: MessageId
    """Which message; a first-seen id creates it (MSG-11)."""
    content: ContentBlock
    """The block."""


class UserMessageChunk(_Chunk, frozen=True, kw_only=True, tag="user_message_chunk"):
    """Appends to a message of the user."""


class AgentMessageChunk(_Chunk, frozen=True, kw_only=True, tag="agent_message_chunk"):
    """Appends to a message of the agent."""


class AgentThoughtChunk(_Chunk, frozen=True, kw_only=True, tag="agent_thought_chunk"):
    """Appends to a thought of the agent."""


ContentChunk: TypeAlias = UserMessageChunk | AgentMessageChunk | AgentThoughtChunk
"""One block more of a message, whosever it is (MSG-11)."""


class UserMessage(Upsert, frozen=True, kw_only=True, tag="user_message"):
    """A message of the user, also the echo of a prompt (PROMPT-08)."""

    message_id: MessageId
    """The key, made by the agent (MSG-02)."""
    content: LenientPatch[Skipping[ContentBlock]] = UNSET
    """All of its content: replaces what chunks accumulated; `null` and `[]` clear it (MSG-09, MSG-10)."""


class AgentMessage(Upsert, frozen=True, kw_only=True, tag="agent_message"):
    """A message of the agent."""

    message_id: MessageId
    """The key, made by the agent (MSG-02)."""
    content: LenientPatch[Skipping[ContentBlock]] = UNSET
    """All of its content: replaces what chunks accumulated; `null` and `[]` clear it (MSG-09, MSG-10)."""


class AgentThought(Upsert, frozen=True, kw_only=True, tag="agent_thought"):
    """What the agent thinks on its way."""

    message_id: MessageId
    """The key, made by the agent (MSG-02)."""
    content: LenientPatch[Skipping[ContentBlock]] = UNSET
    """All of its content: replaces what chunks accumulated; `null` and `[]` clear it (MSG-09, MSG-10)."""
