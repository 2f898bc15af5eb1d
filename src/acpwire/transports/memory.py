"""Two ends in one process: for tests, and for an agent and a client that share an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ..errors import ConnectionClosed
from ..jsonrpc.transport import Frame, Oversized
from ._inbox import CAPACITY, CLOSED_HERE, Inbox
from ._ndjson import HEAD, LIMIT

__all__ = ["MemoryTransport", "pair"]


class MemoryTransport:
    """One end of a `pair`. Frames are handed over as they are, without a copy."""

    def __init__(self, name: str, limit: int, capacity: int) -> None:
        self._name = name
        self._limit = limit
        self._inbox = Inbox(self._tell_room, capacity)
        self._other: MemoryTransport = self
        self._room: asyncio.Future[None] | None = None

    def describe(self) -> str:
        """The name of the other end."""
        return self._other._name

    async def send(self, frames: Sequence[bytes]) -> None:
        """See `Transport.send`. Cancelled while it waits for room, it has sent nothing; later, all of it."""
        inbox = self._other._inbox
        if inbox.full:
            await self._wait_for_room(inbox)
        self._check_open(inbox)
        inbox.put(*self._measure(frames))
        if inbox.full:
            await self._wait_for_room(inbox)

    async def receive(self) -> Sequence[Frame]:
        """See `Transport.receive`."""
        return await self._inbox.receive()

    async def aclose(self) -> None:
        """End both streams; what was sent before stays there for the other end to receive."""
        if self._inbox.closed:
            return
        self._inbox.close()
        self._other._inbox.finish()
        self._release_sender()
        self._other._release_sender()

    def closed_error(self) -> None:
        """Always `None`: an end in memory has no more to tell."""
        return

    def _measure(self, frames: Sequence[bytes]) -> tuple[list[Frame], int]:
        limit = self._other._limit
        if max(map(len, frames), default=0) <= limit:
            return list(frames), sum(map(len, frames))
        kept = [f if len(f) <= limit else Oversized(len(f), limit, f[:HEAD]) for f in frames]
        return kept, sum(len(f.head) if isinstance(f, Oversized) else len(f) for f in kept)

    def _check_open(self, inbox: Inbox) -> None:
        if self._inbox.closed:
            raise ConnectionClosed(CLOSED_HERE)
        if inbox.closed:
            raise ConnectionClosed(f"{self.describe()} no longer reads")

    async def _wait_for_room(self, inbox: Inbox) -> None:
        while inbox.full and not self._inbox.closed:
            if self._room is None or self._room.done():
                self._room = asyncio.get_running_loop().create_future()
            await self._room

    def _tell_room(self) -> None:
        self._other._release_sender()

    def _release_sender(self) -> None:
        room, self._room = self._room, None
        if room is not None and not room.done():
            room.set_result(None)


def pair(*, limit: int = LIMIT, capacity: int = CAPACITY) -> tuple[MemoryTransport, MemoryTransport]:
    """Two connected transports.

    Args:
        limit: bytes of the largest frame; above it the receiver gets an `Oversized`.
        capacity: unread bytes above which `send` waits for the other end to receive.
    """
    left = MemoryTransport("memory (left)", limit, capacity)
    right = MemoryTransport("memory (right)", limit, capacity)
    left._other, right._other = right, left
    return left, right
