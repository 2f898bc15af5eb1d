"""Binary patches: contents, or copies from the old contents, compressed and written as text."""

from __future__ import annotations

import zlib
from base64 import b85decode, b85encode
from collections.abc import Iterator

from msgspec import Struct

__all__ = ["BinaryHunk", "apply_binary", "write_literal"]

LINE = 52
"""Bytes of compressed data in a line."""

LIMIT = 64 * 1024 * 1024
"""Bytes that a binary patch may make: it is small text from the other side, and may unfold to anything."""


class BinaryHunk(Struct, frozen=True, kw_only=True):
    """New contents of a binary file.

    Args:
        method: `literal`, the contents themselves, or `delta`, how to make them of the old ones.
        size: bytes of the literal or of the delta.
        lines: the compressed data as Git writes it.
    """

    method: str
    size: int
    lines: tuple[str, ...]


def write_literal(data: bytes) -> Iterator[str]:
    """The hunk that says these contents."""
    yield f"literal {len(data)}\n"
    packed = zlib.compress(data)
    for start in range(0, len(packed), LINE):
        chunk = packed[start : start + LINE]
        length = len(chunk)
        yield chr(length + (64 if length <= 26 else 70)) + b85encode(chunk, pad=True).decode("ascii") + "\n"
    yield "\n"


def apply_binary(hunk: BinaryHunk, old: bytes) -> bytes:
    """The new contents.

    Raises:
        ValueError: the data is damaged, larger than 64 MiB, or belongs to other contents.
    """
    data = _unpack(hunk)
    return data if hunk.method == "literal" else _apply_delta(data, old)


def _unpack(hunk: BinaryHunk) -> bytes:
    if hunk.size > LIMIT:
        raise ValueError(f"a binary patch of {hunk.size} bytes is too large")
    packed = b"".join(_unpack_line(line) for line in hunk.lines)
    try:
        data = zlib.decompressobj().decompress(packed, hunk.size + 1)
    except zlib.error as error:
        raise ValueError(f"a damaged binary patch: {error}") from error
    if len(data) != hunk.size:
        raise ValueError("a binary patch of another size than it says")
    return data


def _unpack_line(line: str) -> bytes:
    length = ord(line[0])
    length -= 64 if length < 97 else 70
    data = b85decode(line[1:])
    if not 0 < length <= LINE or len(data) - length not in range(4):
        raise ValueError("a binary patch with a line of another length than it says")
    return data[:length]


def _apply_delta(delta: bytes, old: bytes) -> bytes:
    """What a delta of Git's pack format makes of `old`: two sizes, then copies from `old` and insertions."""
    try:
        before, at = _number(delta, 0)
        after, at = _number(delta, at)
        if before != len(old) or after > LIMIT:
            raise ValueError("a binary patch for other contents")
        made = bytearray()
        while at < len(delta):
            piece, at = _copy(delta, at, old) if delta[at] & 0x80 else _insertion(delta, at)
            made += piece
            if not piece or len(made) > after:
                raise ValueError("a damaged binary patch")
    except IndexError as error:
        raise ValueError("a binary patch that ends too soon") from error
    if len(made) != after:
        raise ValueError("a binary patch of another size than it says")
    return bytes(made)


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at


def _insertion(delta: bytes, at: int) -> tuple[bytes, int]:
    end = at + 1 + delta[at]
    return delta[at + 1 : end], end


def _copy(delta: bytes, at: int, old: bytes) -> tuple[bytes, int]:
    flags = delta[at]
    at += 1
    words = [0, 0]  # offset: up to four bytes, size: up to three
    for bit in range(7):
        if flags >> bit & 1:
            which, place = (0, bit) if bit < 4 else (1, bit - 4)
            words[which] |= delta[at] << (8 * place)
            at += 1
    offset, size = words[0], words[1] or 0x10000
    return old[offset : offset + size], at
