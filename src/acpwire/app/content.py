"""What people write where the protocol wants content blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from ..errors import LocalProtocolError, Unsupported
from ..protocol.open import Unknown
from ..protocol.v2.content import AudioContent, ContentBlock, EmbeddedResource, ImageContent, TextContent
from ..protocol.v2.initialize import PromptCapabilities
from ..types import Meta

__all__ = ["Content", "block", "blocks", "check_prompt", "text_of"]

Content: TypeAlias = "str | ContentBlock | Iterable[str | ContentBlock]"
"""Text, one block, or several of either."""


def block(content: str | ContentBlock, meta: Meta | None = None) -> ContentBlock:
    """One content block: text becomes a `TextContent` that carries `meta`."""
    return TextContent(text=content, meta=meta) if isinstance(content, str) else content


def blocks(content: Content) -> tuple[ContentBlock, ...]:
    """The blocks of `content`, in order."""
    if isinstance(content, str):
        return (TextContent(text=content),)
    if isinstance(content, Iterable) and not isinstance(content, Unknown):
        return tuple(block(one) for one in content)
    return (content,)


def text_of(content: Iterable[ContentBlock]) -> str:
    """The text blocks, joined; other blocks are left out."""
    return "".join(one.text for one in content if isinstance(one, TextContent))


def check_prompt(content: tuple[ContentBlock, ...], capabilities: PromptCapabilities | None) -> None:
    """Check a prompt before it is sent.

    Raises:
        LocalProtocolError: it is empty (PROMPT-01).
        Unsupported: it has a block that the agent did not advertise (PROMPT-03, CONT-12).
    """
    if not content:
        raise LocalProtocolError("a prompt needs at least one content block", path="$.prompt")
    for one in content:
        name = _gate(one)
        if name is not None and getattr(capabilities, name, None) is None:
            raise Unsupported(f"`{type(one).__name__}` in a prompt", f"session.prompt.{_WIRE_NAMES[name]}")


_WIRE_NAMES = {"image": "image", "audio": "audio", "embedded_context": "embeddedContext"}


def _gate(one: ContentBlock) -> str | None:
    if isinstance(one, ImageContent):
        return "image"
    if isinstance(one, AudioContent):
        return "audio"
    return "embedded_context" if isinstance(one, EmbeddedResource) else None
