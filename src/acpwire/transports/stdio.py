"""Lines on standard input and output: serving on those of this process, and on those of one that we spawn.

`serve` takes the standard streams away from everybody else, so that nothing but frames is ever written there
(TRAN-05): the protocol moves to private duplicates, `print` and the output of child processes go to stderr, and
child processes inherit an empty stdin. It works for pipes, sockets, terminals, files and devices, and leaves the
flags of what it was given alone.
"""

from __future__ import annotations

import asyncio
import io
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from ..errors import ConnectionClosed, TransportError
from ..jsonrpc.transport import Frame
from ._ends import WriteEnd
from ._inbox import CLOSED_HERE
from ._intake import Intake
from ._ndjson import LIMIT, join
from ._streams import open_reader, open_writer

if TYPE_CHECKING:
    from ._process import ProcessTransport, spawn

__all__ = ["ProcessTransport", "StdioTransport", "serve", "spawn"]

FLUSH_PATIENCE = 5.0
"""Seconds that `StdioTransport.aclose` waits for the other side to take what was sent."""

_STDIN, _STDOUT, _STDERR = 0, 1, 2


def __getattr__(name: str) -> object:
    if name not in ("ProcessTransport", "spawn"):  # loaded when first used: an agent starts no agents
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("._process", __package__), name)


class StdioTransport:
    """Lines on two descriptors, which it takes over; `serve` makes one for the standard streams.

    Nothing is read or written, and no event loop is needed, before the first `receive` or `send`.

    Args:
        read_fd: where frames come from: a pipe, socket, terminal, file or device, blocking or not.
        write_fd: where frames go; may be the number of `read_fd` again.
        limit: bytes of the largest frame.
        name: what `describe` says.
    """

    def __init__(self, read_fd: int, write_fd: int, *, limit: int = LIMIT, name: str = "stdio") -> None:
        self._name = name
        self._fds: dict[str, int] = {"read": read_fd, "write": os.dup(write_fd) if write_fd == read_fd else write_fd}
        self._intake = Intake(name, limit)
        self._writer: WriteEnd | None = None
        self._closed = False
        self._released = asyncio.Event()

    def describe(self) -> str:
        """The `name` it was made with."""
        return self._name

    async def send(self, frames: Sequence[bytes]) -> None:
        """See `Transport.send`."""
        if self._closed:
            raise ConnectionClosed(CLOSED_HERE)
        if self._writer is None:
            self._writer = open_writer(self._fds.pop("write"), self._name)
        await self._writer.write(join(frames))

    async def receive(self) -> Sequence[Frame]:
        """See `Transport.receive`."""
        if "read" in self._fds and not self._closed:
            self._intake.start(partial(open_reader, self._fds.pop("read")))
        return await self._intake.receive()

    async def aclose(self) -> None:
        """Wait up to five seconds until the other side took what was sent, then give both descriptors back.

        The standard streams of the process are not restored: what is printed later must not look like a frame.
        Cancelled, it gives them back at once.
        """
        if self._closed:
            await self._released.wait()
            return
        self._closed = True
        self._intake.discard()
        try:
            if self._writer is not None:
                await self._writer.flush(FLUSH_PATIENCE)
        finally:
            self._release()

    def closed_error(self) -> None:
        """Always `None`: the other side of a standard stream leaves no word."""
        return

    def _release(self) -> None:
        self._intake.close()
        if self._writer is not None:
            self._writer.close()
        while self._fds:
            os.close(self._fds.popitem()[1])
        self._released.set()


def serve(*, limit: int = LIMIT) -> StdioTransport:
    """The standard streams of this process as a transport. Call it once, before anything is printed.

    From then on descriptor 0 is the null device and descriptor 1 is stderr; `input()` meets the end of file and
    what `print` had not written yet goes to stderr too.

    Args:
        limit: bytes of the largest frame.

    Raises:
        TransportError: standard input or output was closed when the process started.
    """
    # Python has no object for a stream that was closed when it started; its number may be something else by now.
    for stream, name in ((sys.__stdin__, "input"), (sys.__stdout__, "output")):
        if stream is None:
            raise TransportError(f"standard {name} is closed")
    read_fd, write_fd = _duplicate(_STDIN), _duplicate(_STDOUT)
    _replace(_STDIN, os.O_RDONLY, None)
    _replace(_STDOUT, os.O_WRONLY, None if sys.__stderr__ is None else _STDERR)
    _redirect_print()
    return StdioTransport(read_fd, write_fd, limit=limit)


def _duplicate(fd: int) -> int:
    """A private duplicate that never takes the number of a standard stream, even of one that was closed."""
    if sys.platform == "win32":
        return os.dup(fd)
    import fcntl

    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _STDERR + 1)


def _replace(fd: int, flags: int, source: int | None) -> None:
    """Make `fd` a duplicate of `source`, or the null device."""
    if source is not None:
        os.dup2(source, fd)
        return
    null = os.open(os.devnull, flags)
    os.dup2(null, fd)
    os.close(null)


def _redirect_print() -> None:
    """Move on what `print` holds back, to where it belongs now; from here on it shows line by line."""
    stdout = sys.stdout
    try:
        if isinstance(stdout, io.TextIOWrapper) and stdout.fileno() == _STDOUT:
            stdout.reconfigure(line_buffering=True)
    except (OSError, ValueError):  # closed, replaced by something without a descriptor, or stderr is broken
        return
