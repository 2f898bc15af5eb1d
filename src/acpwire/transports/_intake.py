"""From a stream of bytes to frames that are received: splitter, inbox and the read end, joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import AcpwireError
from ..jsonrpc.transport import Frame
from ._ends import OnData, OnEnd, ReadEnd, stream_error
from ._inbox import Inbox
from ._ndjson import Splitter

__all__ = ["Intake"]


class Intake:
    """Reads lines as long as there is room for them.

    Args:
        who: whose stream this is, for messages to people.
        limit: bytes of the largest frame.
        on_end: called in place of `finish` when the stream has ended; it calls `finish` in its own time.
    """

    def __init__(self, who: str, limit: int, on_end: Callable[[], None] | None = None) -> None:
        self._who = who
        self._splitter = Splitter(limit)
        self._inbox = Inbox(self._resume)
        self._reader: ReadEnd | None = None
        self._on_end = on_end or self.finish
        self._failure: AcpwireError | None = None
        self.ended = False
        """Whether the stream has ended; what came before may still wait to be received."""

    @property
    def finished(self) -> bool:
        """Whether `finish` was called."""
        return self._inbox.finished

    def start(self, reader: Callable[[OnData, OnEnd], ReadEnd]) -> None:
        """Start reading from what `reader` makes of the two callbacks."""
        self._reader = reader(self._data, self._end)

    async def receive(self) -> Sequence[Frame]:
        """See `Transport.receive`."""
        return await self._inbox.receive()

    def drain(self) -> bool:
        """Read now what is there; whether there was anything, or there may be more once frames are received."""
        return not self.ended and self._reader is not None and self._reader.drain()

    def finish(self) -> None:
        """Let `receive` end once all is received."""
        self._inbox.finish(self._failure)

    def discard(self) -> None:
        """End `receive` at once; go on reading, so that the other side does not block, and drop what comes."""
        self._inbox.close()

    def close(self) -> None:
        """Stop reading and give the descriptor back. Idempotent."""
        self._inbox.close()
        if self._reader is not None:
            self._reader.close()

    def _data(self, chunk: bytes) -> None:
        inbox = self._inbox
        if inbox.closed:
            return
        inbox.put(self._splitter.feed(chunk), len(chunk))
        if inbox.full and self._reader is not None:
            self._reader.pause()

    def _end(self, error: OSError | None) -> None:
        self.ended = True
        frames = self._splitter.finish()
        self._inbox.put(frames, sum(len(frame) for frame in frames if isinstance(frame, bytes)))
        if error is not None:
            self._failure = stream_error(self._who, error)
        self._on_end()

    def _resume(self) -> None:
        if self._reader is not None:
            self._reader.resume()
