"""Content blocks: what messages, prompts and tool calls are made of, shaped as in MCP (CONT-01)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType, structs

from ..base import Object
from ..open import ON_ERROR, Open, Skipping, Unknown

__all__ = [
    "Annotations",
    "AudioContent",
    "ContentBlock",
    "EmbeddedResource",
    "EmbeddedResourceResource",
    "Icon",
    "IconTheme",
    "ImageContent",
    "MediaType",
    "ResourceLink",
    "Role",
    "SplitTextContent",
    "TextContent",
]

MediaType: TypeAlias = str
"""A MIME type, for instance `image/png`."""

if TYPE_CHECKING:
    Role: TypeAlias = Literal["assistant", "user"] | str
    """Who content is for; unknown values are kept."""
    IconTheme: TypeAlias = Literal["light", "dark"] | str
    """The background a picture is drawn for."""
else:
    Role = str
    IconTheme = str


class Annotations(Object, frozen=True, kw_only=True):
    """Hints about how content may be used or shown; set by whoever made the content (CONT-09)."""

    audience: Annotated[Skipping[Role] | None, ON_ERROR] = None
    """For whom it is: `user`, `assistant`, or both."""
    last_modified: Annotated[str | None, ON_ERROR] = None
    """When it was last changed, ISO 8601."""
    priority: Annotated[Annotated[float, Meta(ge=0, le=1)] | None, ON_ERROR] = None
    """From 0, entirely optional, to 1, as good as required."""


class _Block(Object, frozen=True, kw_only=True, tag_field="type"):
    annotations: Annotated[Annotations | None, ON_ERROR] = None
    """Hints for display and use."""


class TextContent(_Block, frozen=True, kw_only=True, tag="text"):
    """Text, to be shown as CommonMark (CONT-02)."""

    text: str
    """The text itself."""

    def with_halves(self, halves: str) -> TextContent:
        """The same block, which knows how its text came."""
        made = SplitTextContent(text=self.text, annotations=self.annotations, meta=self.meta)
        structs.force_setattr(made, "_halves", halves)
        return made


class SplitTextContent(TextContent, frozen=True, kw_only=True, tag="text", gc=True, dict=True):
    """A chunk's text that begins with the low half of a surrogate pair or ends with the high one.

    Some senders cut text between UTF-16 units. `text` has U+FFFD there and can be shown and encoded; `halves` is the
    same text with the halves, for who joins it with the chunks around. What is made from this by `replace` has none.
    """

    @property
    def halves(self) -> str:
        """The text as it came."""
        halves: str = self.__dict__.get("_halves", self.text)
        return halves


class ImageContent(_Block, frozen=True, kw_only=True, tag="image"):
    """An image; in a prompt only where `session.prompt.image` was advertised (CONT-03, CONT-12)."""

    data: str
    """The bytes of the image, base64."""
    mime_type: MediaType
    """What they are."""
    uri: Annotated[str | None, ON_ERROR] = None
    """Where the image comes from."""


class AudioContent(_Block, frozen=True, kw_only=True, tag="audio"):
    """Sound; in a prompt only where `session.prompt.audio` was advertised (CONT-03, CONT-12)."""

    data: str
    """The bytes of the recording, base64."""
    mime_type: MediaType
    """What they are."""


class Icon(Object, frozen=True, kw_only=True):
    """A picture for a resource; only `https:` and `data:` sources may be fetched, without credentials (CONT-07)."""

    src: str
    """The URI of the picture."""
    mime_type: Annotated[MediaType | None, ON_ERROR] = None
    """What it is."""
    sizes: Annotated[Skipping[str] | None, ON_ERROR] = None
    """Each `WIDTHxHEIGHT` in pixels, or `any` (CONT-08)."""
    theme: Annotated[IconTheme | None, ON_ERROR] = None
    """The background it is drawn for: `light` or `dark`; unknown values are kept."""


class ResourceLink(_Block, frozen=True, kw_only=True, tag="resource_link"):
    """A reference to something the other side can read by itself (CONT-04)."""

    name: str
    """What the resource is called."""
    uri: str
    """Where it is."""
    title: Annotated[str | None, ON_ERROR] = None
    """A name for people."""
    description: Annotated[str | None, ON_ERROR] = None
    """What it is about."""
    icons: Annotated[Skipping[Icon] | None, ON_ERROR] = None
    """Pictures to choose from."""
    mime_type: Annotated[MediaType | None, ON_ERROR] = None
    """What it is."""
    size: Annotated[Annotated[int, Meta(ge=0)] | None, ON_ERROR] = None
    """Its length in bytes."""


class EmbeddedResourceResource(Object, frozen=True, kw_only=True):
    """The contents of an embedded resource: text or bytes, told apart by which member is there (CONT-05)."""

    uri: str
    """Where it comes from."""
    text: str | UnsetType = UNSET
    """The contents, when they are text."""
    blob: str | UnsetType = UNSET
    """The contents as base64, when they are bytes."""
    mime_type: Annotated[MediaType | None, ON_ERROR] = None
    """What it is."""

    def __post_init__(self) -> None:
        if (self.text is UNSET) == (self.blob is UNSET):
            raise ValueError("expected exactly one of `text` and `blob`")


class EmbeddedResource(_Block, frozen=True, kw_only=True, tag="resource"):
    """A resource with its contents; in a prompt only where `session.prompt.embeddedContext` was advertised."""

    resource: EmbeddedResourceResource
    """The contents."""


if TYPE_CHECKING:
    ContentBlock: TypeAlias = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource | Unknown
    """One piece of content, by its `type`; unknown kinds are kept (CONT-01)."""
else:
    ContentBlock = Annotated[
        TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource,
        Open("type"),
    ]
