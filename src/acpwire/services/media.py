"""Content blocks from files and bytes, and bytes from content blocks (CONT-03 to CONT-06)."""

from __future__ import annotations

import mimetypes
import os
import re
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from functools import cache
from pathlib import Path
from stat import S_ISREG
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit

from ..errors import LocalProtocolError, RemoteProtocolError
from ..protocol.v2.content import (
    Annotations,
    AudioContent,
    EmbeddedResource,
    EmbeddedResourceResource,
    ImageContent,
    MediaType,
    ResourceLink,
)

__all__ = ["Audio", "File", "Image", "PathLike", "decode"]

PathLike: TypeAlias = str | os.PathLike[str]
"""A path of this host; a relative one is taken from the working directory."""


class Image:
    """Images as content blocks.

    What an image is, is told by the first of these that knows: the caller, the first bytes, the name of the file. In a
    prompt it needs the agent's `session.prompt.image` (CONT-12).
    """

    @staticmethod
    def from_path(
        path: PathLike,
        mime_type: MediaType | None = None,
        *,
        uri: str | None = None,
        annotations: Annotations | None = None,
    ) -> ImageContent:
        """The image in a file, read now and in a blocking way. `uri` says where it comes from.

        Raises:
            OSError: the file cannot be read.
            LocalProtocolError: it is no image, or nothing tells which kind.
        """
        data = Path(path).read_bytes()
        kind = _kind("image", mime_type, _image_type(data), path)
        return ImageContent(
            data=_base64(data), mime_type=kind, uri=None if uri is None else _checked(uri), annotations=annotations
        )

    @staticmethod
    def from_bytes(
        data: bytes,
        mime_type: MediaType | None = None,
        *,
        uri: str | None = None,
        annotations: Annotations | None = None,
    ) -> ImageContent:
        """The image in these bytes. PNG, JPEG, GIF and WebP need no `mime_type`.

        Raises:
            LocalProtocolError: it is no image, or nothing tells which kind.
        """
        kind = _kind("image", mime_type, _image_type(data), None)
        return ImageContent(
            data=_base64(data), mime_type=kind, uri=None if uri is None else _checked(uri), annotations=annotations
        )


class Audio:
    """Sound as content blocks. In a prompt it needs the agent's `session.prompt.audio` (CONT-12)."""

    @staticmethod
    def from_path(
        path: PathLike, mime_type: MediaType | None = None, *, annotations: Annotations | None = None
    ) -> AudioContent:
        """The recording in a file, read now and in a blocking way.

        Raises:
            OSError: the file cannot be read.
            LocalProtocolError: it is no sound, or nothing tells which kind.
        """
        data = Path(path).read_bytes()
        kind = _kind("audio", mime_type, _audio_type(data), path)
        return AudioContent(data=_base64(data), mime_type=kind, annotations=annotations)

    @staticmethod
    def from_bytes(
        data: bytes, mime_type: MediaType | None = None, *, annotations: Annotations | None = None
    ) -> AudioContent:
        """The recording in these bytes. WAV, MP3, Ogg and FLAC need no `mime_type`.

        Raises:
            LocalProtocolError: it is no sound, or nothing tells which kind.
        """
        kind = _kind("audio", mime_type, _audio_type(data), None)
        return AudioContent(data=_base64(data), mime_type=kind, annotations=annotations)


class File:
    """Files as content blocks: with their contents, or as links that the other side can follow."""

    @staticmethod
    def from_path(
        path: PathLike, mime_type: MediaType | None = None, *, annotations: Annotations | None = None
    ) -> EmbeddedResource:
        """A file with its contents, read now and in a blocking way: as text where they are UTF-8, else as bytes.

        In a prompt it needs the agent's `session.prompt.embeddedContext` (CONT-12).

        Raises:
            OSError: the file cannot be read.
        """
        data = Path(path).read_bytes()
        return File.from_bytes(data, _file_uri(path), mime_type or _guess(path), annotations=annotations)

    @staticmethod
    def from_bytes(
        data: str | bytes, uri: str, mime_type: MediaType | None = None, *, annotations: Annotations | None = None
    ) -> EmbeddedResource:
        """Contents that come from `uri`: a text, or bytes, which are sent as text where they are UTF-8.

        Raises:
            LocalProtocolError: `uri` is no URI.
        """
        uri = _checked(uri)
        text = _as_text(data) if isinstance(data, bytes) else data
        if isinstance(data, bytes) and text is None:
            contents = EmbeddedResourceResource(uri=uri, blob=_base64(data), mime_type=mime_type)
        else:
            contents = EmbeddedResourceResource(uri=uri, text=text or "", mime_type=_text_type(mime_type))
        return EmbeddedResource(resource=contents, annotations=annotations)

    @staticmethod
    def link(
        path_or_uri: PathLike,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: MediaType | None = None,
        annotations: Annotations | None = None,
    ) -> ResourceLink:
        """A link to a file of this host or to any URI; nothing is read (CONT-04).

        A string that begins with a scheme of two letters or more, as `https:`, is a URI; pass a `Path` for a file that
        is called so. The size is that of the file, if it is there; `name` is its last part when left out.

        Raises:
            LocalProtocolError: it is no URI.
        """
        size = None
        if isinstance(path_or_uri, str) and _SCHEME.match(path_or_uri):
            uri = _checked(path_or_uri)
            parts = urlsplit(uri)
            last = unquote(parts.path.rstrip("/").rpartition("/")[2])
            name = name or last or parts.hostname
        else:
            uri = _file_uri(path_or_uri)
            size = _size(path_or_uri)
            last = Path(path_or_uri).absolute().name
        return ResourceLink(
            name=name or last or uri,
            uri=uri,
            title=title,
            description=description,
            mime_type=mime_type or _guess(last),
            size=size,
            annotations=annotations,
        )


def decode(block: ImageContent | AudioContent | EmbeddedResource) -> bytes:
    """The bytes that a block carries; the text of an embedded resource as UTF-8.

    Raises:
        RemoteProtocolError: its base64 is not valid (CONT-06); nothing is guessed or skipped.
    """
    if isinstance(block, EmbeddedResource):
        contents = block.resource
        if isinstance(contents.text, str):
            return contents.text.encode()
        return _decode(str(contents.blob), "$.resource.blob")
    return _decode(block.data, "$.data")


def _decode(data: str, where: str) -> bytes:
    try:
        return a2b_base64(data.encode("ascii"), strict_mode=True)
    except (Base64Error, UnicodeEncodeError) as error:
        raise RemoteProtocolError(f"invalid base64: {error}", path=where) from error


def _base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()


def _kind(family: str, given: MediaType | None, seen: MediaType | None, path: PathLike | None) -> MediaType:
    kind = given or seen or (None if path is None else _guess(path))
    what = "these bytes" if path is None else repr(os.fspath(path))
    if kind is None:
        raise LocalProtocolError(f"cannot tell what kind of {family} {what} is: give a `mime_type`", path="$.mimeType")
    if not kind.startswith(f"{family}/"):
        raise LocalProtocolError(f"{what} is no {family} but `{kind}`", path="$.mimeType")
    return kind


def _guess(path: PathLike) -> MediaType | None:
    name = re.sub(r"[^\w.+-]", "_", Path(path).name)  # else `guess_type` may take it for a URL
    kind, packed = _types().guess_type(name)
    return kind if packed is None else _PACKED.get(packed, "application/octet-stream")


_PACKED: Final = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}


@cache
def _types() -> mimetypes.MimeTypes:
    """The table of Python alone: those of the system differ from host to host."""
    table = mimetypes.MimeTypes()
    for kind, suffix in (("text/markdown", ".md"), ("image/webp", ".webp"), ("audio/flac", ".flac")):
        table.add_type(kind, suffix)
    return table


def _text_type(kind: MediaType | None) -> MediaType:
    """The type of something that is text: `.ts` is a video to the table of suffixes, and TypeScript to us."""
    if kind is None or (kind.startswith(("audio/", "video/", "image/")) and not kind.endswith("+xml")):
        return "text/plain"
    return kind


def _as_text(data: bytes) -> str | None:
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


# -- URIs -------------------------------------------------------------------------------------------------

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*")


def _checked(uri: str) -> str:
    try:
        urlsplit(uri)  # knows about addresses in brackets
    except ValueError as error:
        raise LocalProtocolError(f"{uri!r} is not a URI: {error}", path="$.uri") from error
    if not _URI.fullmatch(uri):
        raise LocalProtocolError(f"{uri!r} is not a URI", path="$.uri")
    return uri


def _file_uri(path: PathLike) -> str:
    return Path(path).absolute().as_uri()


def _size(path: PathLike) -> int | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_size if S_ISREG(status.st_mode) else None


# -- First bytes ------------------------------------------------------------------------------------------


def _image_type(data: bytes) -> MediaType | None:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return _by_prefix(data, _IMAGES)


def _audio_type(data: bytes) -> MediaType | None:
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return "audio/wav"
    if data[:1] == b"\xff" and data[1:2] in _MP3_SECOND:
        return "audio/mpeg"
    return _by_prefix(data, _SOUNDS)


def _by_prefix(data: bytes, table: dict[bytes, MediaType]) -> MediaType | None:
    return next((kind for prefix, kind in table.items() if data.startswith(prefix)), None)


_IMAGES: Final[dict[bytes, MediaType]] = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
_SOUNDS: Final[dict[bytes, MediaType]] = {b"ID3": "audio/mpeg", b"OggS": "audio/ogg", b"fLaC": "audio/flac"}
_MP3_SECOND: Final = (b"\xfb", b"\xfa", b"\xf3", b"\xf2")
