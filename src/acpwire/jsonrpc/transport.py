"""The contract between a connection and whatever moves its bytes.

A transport moves *frames*: the bytes of one JSON text each, without the newline or envelope that separates
them. It parses none of them. Implementations live in `acpwire.transports`; `acpwire.testing.contract` has the
suite that each must pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

__all__ = ["Frame", "Oversized", "Transport"]


class Oversized(Struct, frozen=True):
    """Stands in the stream where a frame above the size limit was left out; the stream goes on after it."""

    size: int
    """Bytes of the frame."""
    limit: int
    """Bytes that were allowed."""
    head: bytes
    """The first bytes of the frame, at most 1,024."""


Frame: TypeAlias = bytes | Oversized
"""What `Transport.receive` returns a sequence of."""


class Transport(Protocol):
    """Two ordered streams of frames.

    Order: frames arrive as they were sent, none twice, none lost before `receive` returns empty.
    Closing: either side may close. The other then receives what was sent before, and then empty.
    Concurrency: one task sends, one receives; `aclose` may be called from any task, also twice.
    """

    def describe(self) -> str:
        """What is at the other end, for messages to people: "agent `python echo.py`", "stdio"."""
        ...

    async def send(self, frames: Sequence[bytes]) -> None:
        """Hand over frames, in order; returns when the transport is ready for more.

        Frames hold no newline. Cancelling leaves each frame either wholly sent or not sent at all.

        Raises:
            ConnectionClosed: we closed it, or the other side no longer reads.
            TransportError: the bytes could not be moved for another reason.
        """
        ...

    async def receive(self) -> Sequence[Frame]:
        """The next frames, at least one; empty when the other side has finished and at every later call.

        All frames that are there are returned at once, within what one read of the transport brings.
        Cancelling loses nothing. Where a frame was above the size limit stands an `Oversized`.

        Raises:
            ConnectionClosed: we closed it.
            TransportError: the stream broke in a way that is not an orderly end.
        """
        ...

    async def aclose(self) -> None:
        """Send what was accepted (bounded in time), end both streams, free everything. Idempotent.

        It raises nothing about a peer that is already gone, and leaves no process, task or descriptor behind,
        also when the call is cancelled.
        """
        ...

    def closed_error(self) -> Exception | None:
        """Why the stream ended, once it has: `AgentExited` for a process; `None` when an orderly end says it all.

        May be asked only after `receive` returned empty or raised.
        """
        ...
