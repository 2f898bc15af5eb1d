"""The two ends of a byte stream that the event loop drives.

Reading hands each chunk to a callback and can be paused. Writing tries at once, in the caller's step: a small
message costs one system call and no switch of task or thread. What the system does not take waits in order.
"""

from __future__ import annotations

import asyncio
import errno
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Protocol, TypeAlias

from ..errors import AcpwireError, ConnectionClosed, TransportError
from ._descriptors import Descriptor
from ._inbox import CLOSED_HERE

__all__ = ["LoopReader", "LoopWriter", "OnData", "OnEnd", "ReadEnd", "WriteEnd", "is_orderly_end", "stream_error"]

SMALLEST_READ = 64 * 1024
LARGEST_READ = 1024 * 1024

MOST_READS = 32
"""Reads of one `drain`: enough for all that a pipe holds, and an end to it when somebody writes without pause."""

UNSENT = 64 * 1024
"""Bytes that may be unsent when `write` returns."""

OnData: TypeAlias = Callable[[bytes], None]
"""Gets each chunk, never an empty one."""

OnEnd: TypeAlias = Callable[[OSError | None], None]
"""Gets the failure that ended the stream, `None` for an orderly end."""

_HUNG_UP = frozenset({errno.EPIPE, errno.ECONNRESET, errno.EIO, errno.ESHUTDOWN})


def is_orderly_end(error: OSError) -> bool:
    """Whether a failed read means that the other side is gone: a reset socket, a terminal that hung up."""
    return error.errno in _HUNG_UP


def stream_error(who: str, error: OSError) -> AcpwireError:
    """Our exception for a stream to `who` that failed with `error`."""
    made: AcpwireError
    if is_orderly_end(error):
        made = ConnectionClosed(f"{who} no longer reads")
    else:
        made = TransportError(f"the stream to {who} broke: {error.strerror or error}")
    made.__cause__ = error
    return made


class ReadEnd(Protocol):
    """Calls `on_data` with each chunk, then `on_end` once; neither after `close`, no data while paused."""

    def pause(self) -> None:
        """Read no more; may be called from `on_data`."""
        ...

    def resume(self) -> None:
        """Go on reading."""
        ...

    def drain(self) -> bool:
        """Read now what is there, if that can be told; whether anything was read or reading is paused."""
        ...

    def close(self) -> None:
        """Stop, and give the descriptor back. Idempotent."""
        ...


class LoopReader:
    """The `ReadEnd` of a descriptor that the loop can watch; takes the descriptor over."""

    __slots__ = ("_closed", "_descriptor", "_loop", "_on_data", "_on_end", "_paused", "_size")

    def __init__(self, descriptor: Descriptor, on_data: OnData, on_end: OnEnd) -> None:
        self._descriptor = descriptor
        self._on_data = on_data
        self._on_end = on_end
        self._size = SMALLEST_READ
        self._paused = False
        self._closed = False
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(descriptor.fd, self._ready)

    def pause(self) -> None:
        """See `ReadEnd.pause`."""
        if not self._paused and not self._closed:
            self._paused = True
            self._loop.remove_reader(self._descriptor.fd)

    def resume(self) -> None:
        """See `ReadEnd.resume`."""
        if self._paused and not self._closed:
            self._paused = False
            self._loop.add_reader(self._descriptor.fd, self._ready)

    def drain(self) -> bool:
        """See `ReadEnd.drain`."""
        for count in range(MOST_READS):
            if self._paused or self._closed or not self._ready():
                return self._paused or count > 0
        return True

    def close(self) -> None:
        """See `ReadEnd.close`."""
        if not self._closed:
            self.pause()
            self._closed = True
            self._descriptor.close()

    def _ready(self) -> bool:
        try:
            chunk = self._descriptor.read(self._size)
        except BlockingIOError:
            return False
        except OSError as error:
            self._end(None if is_orderly_end(error) else error)
            return False
        if not chunk:
            self._end(None)
            return False
        if len(chunk) == self._size < LARGEST_READ:
            self._size *= 2
        self._on_data(chunk)
        return True

    def _end(self, error: OSError | None) -> None:
        self.close()
        self._on_end(error)


class WriteEnd(ABC):
    """Takes bytes in order; what it took and has not sent yet is counted. The loop's thread alone calls it."""

    def __init__(self, who: str) -> None:
        self._who = who
        self._unsent: int = 0
        self._error: AcpwireError | None = None
        self._waiters: list[asyncio.Future[None]] = []

    async def write(self, data: bytes) -> None:
        """Take `data`, all of it or (cancelled while it waits for room) nothing; wait while too much is unsent.

        Raises:
            ConnectionClosed: the other side no longer reads, or this end was closed.
            TransportError: the bytes could not be written.
        """
        if self._unsent > UNSENT:
            await self._until(UNSENT)
        if self._error is not None:
            raise self._error.with_traceback(None)
        self._begin(data)
        if self._unsent > UNSENT or self._error is not None:
            await self._until(UNSENT)

    async def flush(self, patience: float) -> None:
        """Wait until all is sent, the stream has failed, or `patience` seconds are over."""
        try:
            async with asyncio.timeout(patience):
                await self._until(0)
        except (TimeoutError, AcpwireError):
            return

    def close(self) -> None:
        """Drop what is unsent and give the descriptor back. Idempotent."""
        self._fail(ConnectionClosed(CLOSED_HERE))

    @abstractmethod
    def _begin(self, data: bytes) -> None:
        """Send `data` or keep it; report by `_unsent`, `_sent` and `_fail`."""

    def _sent(self, size: int) -> None:
        self._unsent -= size
        self._wake()

    def _fail(self, error: AcpwireError) -> None:
        if self._error is None:
            self._error = error
            self._unsent = 0
            self._wake()

    async def _until(self, unsent: int) -> None:
        while self._unsent > unsent and self._error is None:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
        if self._error is not None:
            raise self._error.with_traceback(None)

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


class LoopWriter(WriteEnd):
    """The `WriteEnd` of a descriptor that the loop can watch; takes the descriptor over."""

    def __init__(self, descriptor: Descriptor, who: str) -> None:
        super().__init__(who)
        self._descriptor = descriptor
        self._queue: deque[memoryview] = deque()
        self._loop = asyncio.get_running_loop()
        self._watching = False
        self._closed = False

    def close(self) -> None:
        """See `WriteEnd.close`."""
        super().close()
        if not self._closed:
            self._closed = True
            self._stop()
            self._descriptor.close()

    def _begin(self, data: bytes) -> None:
        written = 0 if self._queue else self._try(data)
        if written < len(data) and self._error is None:
            self._queue.append(memoryview(data)[written:])
            self._unsent += len(data) - written
            if not self._watching:
                self._watching = True
                self._loop.add_writer(self._descriptor.fd, self._ready)

    def _ready(self) -> None:
        queue, before = self._queue, self._unsent
        left = before
        while queue:
            part = queue[0]
            written = self._try(part)
            if self._error is not None:
                return
            left -= written
            if written < len(part):
                queue[0] = part[written:]
                break
            queue.popleft()
        if not queue:
            self._stop()
        self._sent(before - left)

    def _try(self, data: bytes | memoryview) -> int:
        try:
            return self._descriptor.write(data)
        except BlockingIOError:
            return 0
        except OSError as error:
            self._fail(stream_error(self._who, error))
            self._stop()
            return 0

    def _stop(self) -> None:
        self._queue.clear()
        if self._watching:
            self._watching = False
            self._loop.remove_writer(self._descriptor.fd)
