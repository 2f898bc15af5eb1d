"""What came and was not received yet: the receiving half that all transports share.

The loop's thread alone touches an inbox. Whoever fills it stops when `full` and goes on when told that there is
room; what is taken is taken in one step after the last await, so a cancelled `receive` loses nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ..errors import AcpwireError, ConnectionClosed
from ..jsonrpc.transport import Frame

__all__ = ["CAPACITY", "CLOSED_HERE", "FRAME_COST", "Inbox"]

CAPACITY = 1024 * 1024
"""Bytes that may wait unread before the filling side is held up."""

FRAME_COST = 32
"""Bytes that a frame counts beyond its own length, so that millions of tiny ones are bounded too."""

CLOSED_HERE = "the transport was closed on this side"


class Inbox:
    """A bounded queue of frames with one reader.

    Args:
        room: called when a reader has emptied an inbox that was full.
        capacity: bytes from which on the inbox is full. It still takes what is put: one batch is the overshoot.
    """

    __slots__ = ("_capacity", "_closed", "_error", "_finished", "_frames", "_room", "_size", "_waiter")

    def __init__(self, room: Callable[[], None], capacity: int = CAPACITY) -> None:
        self._frames: list[Frame] = []
        self._size = 0
        self._capacity = capacity
        self._room = room
        self._waiter: asyncio.Future[None] | None = None
        self._finished = False
        self._closed = False
        self._error: AcpwireError | None = None

    @property
    def full(self) -> bool:
        """Whether the filling side should stop."""
        return self._size >= self._capacity

    @property
    def finished(self) -> bool:
        """Whether nothing more will be put."""
        return self._finished

    @property
    def closed(self) -> bool:
        """Whether this side has closed."""
        return self._closed

    def put(self, frames: list[Frame], size: int) -> None:
        """Add frames of `size` bytes together; the list belongs to the inbox from now on."""
        if self._closed or not frames:
            return
        if self._frames:
            self._frames += frames
        else:
            self._frames = frames
        self._size += size + FRAME_COST * len(frames)
        self._wake()

    def finish(self, error: AcpwireError | None = None) -> None:
        """Nothing more will come: what is here is still received, and then `error` is raised or empty returned."""
        if not self._finished:
            self._finished = True
            self._error = error
            self._wake()

    def close(self) -> None:
        """This side has closed: what is here is dropped, and `receive` raises from now on."""
        self._closed = True
        self._frames = []
        was_full, self._size = self.full, 0
        self._wake()
        if was_full:
            self._room()

    async def receive(self) -> list[Frame]:
        """All frames that are here, at least one; see `Transport.receive`."""
        while not self._frames:
            if self._closed:
                raise ConnectionClosed(CLOSED_HERE)
            if self._finished:
                if self._error is not None:
                    raise self._error.with_traceback(None)
                return []
            await self._wait()
        frames, self._frames = self._frames, []
        was_full, self._size = self.full, 0
        if was_full:
            self._room()
        return frames

    async def _wait(self) -> None:
        if self._waiter is not None:
            raise RuntimeError("two tasks receive from one transport")
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
