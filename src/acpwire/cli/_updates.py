"""A transport that shows the updates of a session as they were on the wire, for `acpwire run --json`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Final, cast

import msgspec

from ..jsonrpc.transport import Frame, Transport
from ..protocol.v2.methods import SESSION_UPDATE

__all__ = ["UpdateTap", "read_updates"]


class _Params(msgspec.Struct, frozen=True):
    session_id: str = msgspec.field(name="sessionId", default="")
    update: msgspec.Raw = msgspec.Raw()


class _Envelope(msgspec.Struct, frozen=True):
    method: str = ""
    params: msgspec.Raw = msgspec.Raw()


_decode: Final = msgspec.json.Decoder(_Envelope).decode
_decode_params: Final = msgspec.json.Decoder(_Params).decode
_MARK: Final = f'"{SESSION_UPDATE}"'.encode()


class UpdateTap:
    """Another transport, but for what it tells on the way.

    `tell` is called with the bytes of each update of the session `session_id` when it is received.
    """

    def __init__(self, inner: Transport, tell: Callable[[bytes], None]) -> None:
        self.session_id: str | None = None
        """The session that is watched; `None` for none."""
        self._inner = inner
        self._tell = tell

    def describe(self) -> str:
        """See `Transport.describe`."""
        return self._inner.describe()

    async def send(self, frames: Sequence[bytes]) -> None:
        """See `Transport.send`."""
        await self._inner.send(frames)

    async def receive(self) -> Sequence[Frame]:
        """See `Transport.receive`."""
        frames = await self._inner.receive()
        if self.session_id is not None:
            for frame in frames:
                if isinstance(frame, bytes) and _MARK in frame:
                    for session_id, update in read_updates(frame):
                        if session_id == self.session_id:
                            self._tell(update)
        return frames

    async def aclose(self) -> None:
        """See `Transport.aclose`."""
        await self._inner.aclose()

    def closed_error(self) -> Exception | None:
        """See `Transport.closed_error`."""
        return self._inner.closed_error()


def read_updates(frame: bytes) -> Iterator[tuple[str, bytes]]:
    """Each update in a frame, with its session; nothing of what is no update."""
    try:
        frame.decode()
        yield from _read_one(frame)
    except UnicodeDecodeError:
        return  # the connection refuses it, too
    except (msgspec.MsgspecError, RecursionError):
        yield from _read_odd(frame)


def _read_one(frame: bytes) -> Iterator[tuple[str, bytes]]:
    message = _decode(frame)
    if message.method == SESSION_UPDATE:
        params = _decode_params(message.params)
        yield params.session_id, bytes(params.update)


def _read_odd(frame: bytes) -> Iterator[tuple[str, bytes]]:
    """Arrays, noise in front, and halves of surrogate pairs, which are written as the escapes that they came as."""
    start = 0 if frame.lstrip().startswith(b"[") else max(frame.find(b"{"), 0)
    try:
        found: object = json.loads(frame[start:])
    except (ValueError, RecursionError):
        return
    for message in cast("list[object]", found) if isinstance(found, list) else [found]:
        one = cast("dict[str, object]", message) if isinstance(message, dict) else {}
        params = one.get("params")
        if one.get("method") == SESSION_UPDATE and isinstance(params, dict):
            members = cast("dict[str, object]", params)
            update = json.dumps(members.get("update"), separators=(",", ":"))
            yield str(members.get("sessionId")), update.encode()
