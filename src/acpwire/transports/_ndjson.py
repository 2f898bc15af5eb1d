"""Lines out of chunks of bytes: the framing of stdio, without I/O.

A frame is one line (TRAN-04). Chunks are split in one call each; a line that spans chunks is gathered in one
buffer. A line above the limit is not kept: its bytes are counted until its end, and an `Oversized` takes its place.
How the bytes were cut into chunks never shows in the frames.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..jsonrpc.transport import Frame, Oversized

__all__ = ["HEAD", "LIMIT", "Splitter", "join"]

LIMIT = 32 * 1024 * 1024
"""Bytes of the largest frame unless told otherwise (TRAN-09)."""

HEAD = 1024
"""Bytes of an oversized frame that are kept for messages to people."""


class Splitter:
    """Turns chunks into frames, in time linear in the bytes and in memory bounded by `limit`."""

    __slots__ = ("_held", "_keep", "_last", "_limit", "_size")

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._keep = max(limit + 2, HEAD + 1)
        self._held = bytearray()
        self._size = 0
        self._last = 0

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that `chunk` completes: without line ends, blank lines left out."""
        lines = chunk.split(b"\n")
        rest = lines.pop()
        frames: list[Frame] = []
        if lines:
            if self._size:
                self._hold(lines.pop(0))
                frames = self._release()
            if len(chunk) > self._limit or b"\r" in chunk:
                for line in lines:
                    frames += self._judge(line, len(line))
            else:
                frames += [line for line in lines if line and not line.isspace()]
        if rest:
            self._hold(rest)
        return frames

    def finish(self) -> list[Frame]:
        """The last line, when the stream ended without a line end (TRAN-08)."""
        return self._release() if self._size else []

    def _hold(self, part: bytes) -> None:
        room = self._keep - self._size
        if room > 0:
            self._held += part if len(part) <= room else part[:room]
        self._size += len(part)
        self._last = part[-1] if part else self._last
        if self._size > self._limit + 1 and len(self._held) > HEAD:
            self._held = self._held[:HEAD]

    def _release(self) -> list[Frame]:
        size, self._size = self._size, 0
        held, self._held = self._held, bytearray()
        if size > self._limit + 1:
            return [self._oversized(bytes(held), size - (self._last == 0x0D))]
        return self._judge(bytes(held), size)

    def _judge(self, line: bytes, size: int) -> list[Frame]:
        if line.endswith(b"\r"):
            line, size = line[:-1], size - 1
        if size > self._limit:
            return [self._oversized(line, size)]
        return [line] if line and not line.isspace() else []

    def _oversized(self, line: bytes, size: int) -> Oversized:
        return Oversized(size, self._limit, line[: min(HEAD, size)])


def join(frames: Sequence[bytes]) -> bytes:
    """The bytes that carry `frames`: each of them a line."""
    return b"\n".join([*frames, b""])
