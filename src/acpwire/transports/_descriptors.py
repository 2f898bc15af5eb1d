"""Descriptors that can be read and written without blocking, though O_NONBLOCK is not set on what was given.

O_NONBLOCK belongs to the open file description, and that of a standard stream is shared: with the terminal, with
stderr, with the process that started us. Setting it breaks the others. Two kinds of stream need no flag there:

- a pipe is opened again through `/proc`, which makes a description of our own on the same pipe (Linux);
- a socket is told for each call (`MSG_DONTWAIT`).

Everything else (terminals, files, devices, other systems) is left to `_threads`.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
from typing import Protocol

__all__ = ["Descriptor", "PipeDescriptor", "SocketDescriptor", "unblocked"]


class Descriptor(Protocol):
    """What a loop-driven end needs. `read` and `write` raise `BlockingIOError` instead of waiting."""

    fd: int

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; empty at the end of the stream."""
        ...

    def write(self, data: bytes | memoryview, /) -> int:
        """How many of the bytes were written, at least one."""
        ...

    def close(self) -> None:
        """Give the descriptor back."""
        ...


class PipeDescriptor:
    """A descriptor whose description is ours alone and has O_NONBLOCK."""

    __slots__ = ("fd",)

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self.fd = fd

    def read(self, size: int, /) -> bytes:
        """See `Descriptor.read`."""
        return os.read(self.fd, size)

    def write(self, data: bytes | memoryview, /) -> int:
        """See `Descriptor.write`."""
        return os.write(self.fd, data)

    def close(self) -> None:
        """See `Descriptor.close`."""
        os.close(self.fd)


class SocketDescriptor:
    """A stream socket that is shared with others; takes the descriptor over."""

    __slots__ = ("_socket", "fd")

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=fd)
        self.fd = fd

    def read(self, size: int, /) -> bytes:
        """See `Descriptor.read`."""
        return self._socket.recv(size, socket.MSG_DONTWAIT)

    def write(self, data: bytes | memoryview, /) -> int:
        """See `Descriptor.write`."""
        return self._socket.send(data, socket.MSG_DONTWAIT)

    def close(self) -> None:
        """See `Descriptor.close`."""
        self._socket.close()


def unblocked(fd: int, *, writing: bool) -> Descriptor | None:
    """A descriptor for the stream of `fd` that never blocks and takes `fd` over; `None` where there is no way."""
    mode = os.fstat(fd).st_mode
    if stat.S_ISFIFO(mode):
        return _reopened(fd, os.O_WRONLY if writing else os.O_RDONLY)
    # A default timeout makes the socket module set O_NONBLOCK on every socket it wraps.
    if stat.S_ISSOCK(mode) and hasattr(socket, "MSG_DONTWAIT") and socket.getdefaulttimeout() is None:
        return SocketDescriptor(fd)
    return None


def _reopened(fd: int, flags: int) -> PipeDescriptor | None:
    if sys.platform != "linux":
        return None
    try:
        again = os.open(f"/proc/self/fd/{fd}", flags | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # no /proc, another user's pipe, or (writing) a named pipe that nobody reads
        return None
    os.close(fd)
    return PipeDescriptor(again)
