"""A transport for what no connection would send: lines that are no messages, and an end at an exact place.

What is to be sent verbatim goes through the connection as a notification of our own, so that it keeps its place
among the other messages, and is put into place here, below the connection. An exit is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from ..jsonrpc.transport import Frame, Transport

__all__ = ["EXIT", "LINE", "Exit", "Line", "VerbatimTransport"]

LINE: Final = "_acpwire/verbatim/line"
"""The notification that stands for a line; its params are a `Line`. It never reaches the other side."""

EXIT: Final = "_acpwire/verbatim/exit"
"""The notification that stands for an exit; its params are an `Exit`. It never reaches the other side."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line to send as it is."""

    text: str
    """The line without its end; sent as UTF-8."""


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """The end of the process."""

    code: int
    """Its exit status."""


class _Placeholder(msgspec.Struct, frozen=True):
    method: str
    params: msgspec.Raw


_MARK: Final = b'{"jsonrpc":"2.0","method":"_acpwire/verbatim/'  # how the encoder begins a notification of ours
_decode: Final = msgspec.json.Decoder(_Placeholder).decode
_decode_line: Final = msgspec.json.Decoder(Line).decode
_decode_exit: Final = msgspec.json.Decoder(Exit).decode


class VerbatimTransport:
    """Another transport, but for the two notifications.

    Args:
        inner: what carries the frames.
        exit: called with the status once all that was sent before is on its way and `inner` is closed.
    """

    def __init__(self, inner: Transport, exit: Callable[[int], object] | None) -> None:
        self._inner = inner
        self._exit = exit

    def describe(self) -> str:
        """See `Transport.describe`."""
        return self._inner.describe()

    async def send(self, frames: Sequence[bytes]) -> None:
        """See `Transport.send`."""
        if any(frame.startswith(_MARK) for frame in frames):
            await self._send_marked(frames)
        else:
            await self._inner.send(frames)

    async def receive(self) -> Sequence[Frame]:
        """See `Transport.receive`."""
        return await self._inner.receive()

    async def aclose(self) -> None:
        """See `Transport.aclose`."""
        await self._inner.aclose()

    def closed_error(self) -> Exception | None:
        """See `Transport.closed_error`."""
        return self._inner.closed_error()

    async def _send_marked(self, frames: Sequence[bytes]) -> None:
        ready: list[bytes] = []
        for frame in frames:
            placeholder = _decode(frame) if frame.startswith(_MARK) else None
            if placeholder is not None and placeholder.method == LINE:
                ready.append(_decode_line(placeholder.params).text.encode())
            elif placeholder is not None and placeholder.method == EXIT:
                await self._leave(ready, _decode_exit(placeholder.params).code)
                return
            else:
                ready.append(frame)
        await self._inner.send(ready)

    async def _leave(self, frames: Sequence[bytes], code: int) -> None:
        if frames:
            await self._inner.send(frames)
        await self._inner.aclose()
        if self._exit is not None:
            self._exit(code)
