"""The prompt: answered when its message is inserted; all else comes as updates (PROMPT-06)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ..base import Object
from ..ids import MessageId, SessionId
from .content import ContentBlock

__all__ = ["PromptRequest", "PromptResponse"]


class PromptRequest(Object, frozen=True, kw_only=True):
    """A message of the user (PROMPT-01 to PROMPT-05)."""

    session_id: SessionId
    """The session."""
    prompt: Annotated[tuple[ContentBlock, ...], Meta(min_length=1)]
    """What the user says; text and resource links always, other blocks where advertised."""


class PromptResponse(Object, frozen=True, kw_only=True):
    """The message is in the conversation (PROMPT-07)."""

    message_id: MessageId
    """Its id, the same in the update that reports it (PROMPT-08)."""
