"""Each kind of descriptor gets the end that suits it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from acpwire.transports import _streams
from acpwire.transports._ends import LoopReader, LoopWriter
from acpwire.transports._threads import ThreadReader, ThreadWriter

from .ends import Recorder


def descriptors(kind: str, folder: Path) -> tuple[int, int]:
    if kind == "pipe":
        return os.pipe()
    if kind == "socket":
        left, right = socket.socketpair()
        return left.detach(), right.detach()
    if kind == "terminal":
        return os.openpty()
    path = os.devnull if kind == "device" else folder / "file"
    return os.open(path, os.O_RDONLY | os.O_CREAT), os.open(path, os.O_WRONLY)


@pytest.mark.parametrize(
    ("kind", "watched"),
    [("pipe", True), ("socket", True), ("terminal", False), ("file", False), ("device", False)],
)
async def test_the_loop_watches_what_it_can_without_changing_flags(kind: str, watched: bool, tmp_path: Path) -> None:
    recorder = Recorder()
    read_fd, write_fd = descriptors(kind, tmp_path)
    kept = os.dup(read_fd), os.dup(write_fd)
    reader = _streams.open_reader(read_fd, recorder.on_data, recorder.on_end)
    writer = _streams.open_writer(write_fd, "the other side")
    assert isinstance(reader, LoopReader if watched else ThreadReader)
    assert isinstance(writer, LoopWriter if watched else ThreadWriter)
    await writer.write(b"hello\n")
    await writer.flush(10)
    assert [os.get_blocking(fd) for fd in kept] == [True, True]
    reader.close()
    writer.close()
    for fd in kept:
        os.close(fd)


@pytest.mark.parametrize("watchable", [True, False])
async def test_private_pipes_carry_bytes_on_every_system(watchable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_streams, "_WATCHABLE", watchable)
    recorder = Recorder()
    read_fd, write_fd = os.pipe()
    reader = _streams.open_private_reader(read_fd, recorder.on_data, recorder.on_end)
    writer = _streams.open_private_writer(write_fd, "the other side")
    assert isinstance(reader, LoopReader) is watchable
    await writer.write(b"hello")
    await recorder.until(5)
    writer.close()
    await recorder.until(5, ends=1)
    reader.close()
