"""Descriptors are used without blocking, and the flags of what was given stay as they were."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from acpwire.transports._descriptors import Descriptor, PipeDescriptor, SocketDescriptor, unblocked


def opened(fd: int, *, writing: bool) -> Descriptor:
    descriptor = unblocked(fd, writing=writing)
    assert descriptor is not None
    return descriptor


def test_a_pipe_is_opened_again_and_the_given_description_keeps_blocking() -> None:
    read_fd, write_fd = os.pipe()
    kept = os.dup(read_fd), os.dup(write_fd)
    reader, writer = opened(read_fd, writing=False), opened(write_fd, writing=True)
    with pytest.raises(BlockingIOError):
        reader.read(10)
    assert writer.write(b"hello") == 5
    assert reader.read(10) == b"hello"
    assert [os.get_blocking(fd) for fd in kept] == [True, True]
    reader.close()
    writer.close()
    for fd in kept:
        os.close(fd)


def test_a_socket_is_not_switched_either() -> None:
    left, right = socket.socketpair()
    kept = os.dup(left.fileno())
    descriptor = opened(left.detach(), writing=False)
    with pytest.raises(BlockingIOError):
        descriptor.read(10)
    with pytest.raises(BlockingIOError):
        for _ in range(10_000):
            descriptor.write(b"x" * 65536)
    assert os.get_blocking(kept)
    right.close()
    descriptor.close()
    os.close(kept)


def test_a_default_timeout_of_sockets_is_respected_by_leaving_them_to_a_thread() -> None:
    left, right = socket.socketpair()
    socket.setdefaulttimeout(5)
    try:
        assert unblocked(left.fileno(), writing=False) is None
    finally:
        socket.setdefaulttimeout(None)
        left.close()
        right.close()


def test_files_and_devices_are_left_to_a_thread(tmp_path: Path) -> None:
    for path in (tmp_path / "file", Path(os.devnull)):
        fd = os.open(path, os.O_RDWR | os.O_CREAT)
        assert unblocked(fd, writing=True) is None
        os.close(fd)


def test_a_pipe_that_nobody_reads_is_broken_when_written() -> None:
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    descriptor = opened(write_fd, writing=True)
    with pytest.raises(BrokenPipeError):
        descriptor.write(b"x")
    descriptor.close()


def test_a_named_pipe_that_nobody_reads_is_left_to_a_thread(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    read_fd = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    write_fd = os.open(tmp_path / "fifo", os.O_WRONLY)
    os.close(read_fd)
    assert unblocked(write_fd, writing=True) is None
    os.close(write_fd)


def test_the_given_descriptor_is_taken_over() -> None:
    for read_fd, write_fd in (os.pipe(), [end.detach() for end in socket.socketpair()]):
        opened(read_fd, writing=False).close()
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(read_fd)
        os.close(write_fd)


def test_a_private_pipe_end_is_switched_to_not_blocking() -> None:
    read_fd, write_fd = os.pipe()
    reader = PipeDescriptor(read_fd)
    assert not os.get_blocking(read_fd)
    reader.close()
    os.close(write_fd)


def test_the_end_of_a_stream_is_empty() -> None:
    left, right = socket.socketpair()
    descriptor = SocketDescriptor(left.detach())
    right.close()
    assert descriptor.read(10) == b""
    descriptor.close()
