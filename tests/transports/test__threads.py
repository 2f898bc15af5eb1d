"""The thread's ends of a stream: for what the loop cannot watch."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from pathlib import Path

import pytest

from acpwire.errors import ConnectionClosed, TransportError
from acpwire.transports import _threads
from acpwire.transports._threads import ThreadReader, ThreadWriter

from .ends import PATIENCE, Recorder, fill, read_all


def ours() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("acpwire-")]


def reading() -> tuple[ThreadReader, Recorder, int]:
    read_fd, write_fd = os.pipe()
    recorder = Recorder()
    return ThreadReader(read_fd, recorder.on_data, recorder.on_end), recorder, write_fd


async def test_chunks_arrive_and_then_one_end() -> None:
    reader, recorder, write_fd = reading()
    for part in (b"abc", b"def"):
        os.write(write_fd, part)
        await recorder.until(len(recorder.data) + 3)
    os.close(write_fd)
    await recorder.until(6, ends=1)
    assert (bytes(recorder.data), recorder.ends) == (b"abcdef", [None])
    reader.close()


async def test_pausing_and_going_on_at_any_moment_loses_nothing() -> None:
    reader, recorder, write_fd = reading()
    parts = [b"%04d" % number for number in range(500)]

    def write_all() -> None:
        for part in parts:
            os.write(write_fd, part)
        os.close(write_fd)

    writing = asyncio.create_task(asyncio.to_thread(write_all))
    for turn in range(3000):
        (reader.pause, reader.resume, reader.resume)[turn % 3]()
        await asyncio.sleep(0)
    reader.resume()
    await recorder.until(2000, ends=1)
    assert bytes(recorder.data) == b"".join(parts)
    await writing


async def test_a_paused_reader_holds_one_chunk_back() -> None:
    reader, recorder, write_fd = reading()
    reader.pause()
    os.write(write_fd, b"abc")
    while reader._held is None:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not recorder.data
    assert reader.drain()
    reader.resume()
    await recorder.until(3)
    assert not reader.drain()
    reader.close()
    os.close(write_fd)


async def test_closing_ends_a_thread_that_waits_for_input_and_gives_the_descriptor_back() -> None:
    reader, recorder, write_fd = reading()
    assert len(ours()) == 1
    reader.close()
    reader.close()
    assert not ours()
    with pytest.raises(BrokenPipeError):
        os.write(write_fd, b"x")
    assert recorder.ends == []
    os.close(write_fd)


async def test_a_description_that_somebody_switched_to_not_blocking_is_read_and_written_all_the_same() -> None:
    left, right = socket.socketpair()
    left.setblocking(False)
    right.setblocking(False)
    recorder = Recorder()
    reader = ThreadReader(right.detach(), recorder.on_data, recorder.on_end)
    writer = ThreadWriter(left.detach(), "the other side")
    for _ in range(20):
        await asyncio.wait_for(writer.write(b"x" * 100_000), 10)
    await recorder.until(2_000_000)
    writer.close()
    reader.close()


async def test_a_stolen_chunk_does_not_end_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    real, failures = os.read, [BlockingIOError()]

    def read(fd: int, size: int) -> bytes:
        if failures:
            raise failures.pop()
        return real(fd, size)

    monkeypatch.setattr(_threads.os, "read", read)
    reader, recorder, write_fd = reading()
    os.write(write_fd, b"abc")
    await recorder.until(3)
    reader.close()
    os.close(write_fd)


async def test_a_read_that_fails_is_told(tmp_path: Path) -> None:
    recorder = Recorder()
    reader = ThreadReader(os.open(tmp_path, os.O_RDONLY), recorder.on_data, recorder.on_end)
    await recorder.until(0, ends=1)
    assert isinstance(recorder.ends[0], IsADirectoryError)
    reader.close()


async def test_written_bytes_keep_their_order_and_flush_waits_for_them(tmp_path: Path) -> None:
    target = tmp_path / "out"
    writer = ThreadWriter(os.open(target, os.O_WRONLY | os.O_CREAT), "the file")
    for letter in b"abc":
        await writer.write(bytes([letter]) * 100_000)
    await writer.flush(10)
    assert target.read_bytes() == b"a" * 100_000 + b"b" * 100_000 + b"c" * 100_000
    writer.close()
    assert not ours()


async def test_a_write_waits_while_nobody_reads_and_goes_on_after() -> None:
    read_fd, write_fd = os.pipe()
    writer = ThreadWriter(write_fd, "the other side")
    writing = asyncio.create_task(writer.write(b"x" * 1_000_000))
    done, _ = await asyncio.wait([writing], timeout=0.1)
    assert not done
    reading_all = asyncio.create_task(read_all(read_fd))
    await writing
    await writer.flush(10)
    writer.close()
    assert len(await reading_all) == 1_000_000


async def test_every_write_to_a_side_that_is_gone_says_so() -> None:
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    writer = ThreadWriter(write_fd, "the other side")
    with pytest.raises(ConnectionClosed):
        for _ in range(1000):
            await writer.write(b"x" * 100_000)
    with pytest.raises(ConnectionClosed, match="the other side no longer reads"):
        await writer.write(b"x")
    writer.close()


async def test_another_failure_is_a_transport_error() -> None:
    writer = ThreadWriter(os.open("/dev/full", os.O_WRONLY), "the device")
    with pytest.raises(TransportError, match="the device broke: No space left"):
        await writer.write(b"x" * 100_000)
    writer.close()


async def test_closing_frees_a_write_that_waits_and_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    read_fd, write_fd = os.pipe()
    fill(write_fd)
    writer = ThreadWriter(write_fd, "the other side")
    waits, wait = threading.Event(), writer._worker.wait

    def tell_and_wait(*, writing: bool) -> bool:
        waits.set()
        return wait(writing=writing)

    monkeypatch.setattr(writer._worker, "wait", tell_and_wait)
    writing = asyncio.create_task(writer.write(b"x" * 1_000_000))
    assert await asyncio.to_thread(waits.wait, PATIENCE)
    writer.close()
    with pytest.raises(ConnectionClosed):
        await writing
    assert not ours()
    os.close(read_fd)


async def test_closing_an_idle_writer_ends_its_thread() -> None:
    read_fd, write_fd = os.pipe()
    writer = ThreadWriter(write_fd, "the other side")
    writer.close()
    assert not ours()
    os.close(read_fd)


def test_a_thread_ends_quietly_when_the_loop_is_gone() -> None:
    read_fd, write_fd = os.pipe()
    recorder: list[bytes] = []

    async def start() -> ThreadReader:
        return ThreadReader(read_fd, recorder.append, lambda error: None)

    reader = asyncio.run(start())
    thread = reader._worker._thread
    os.write(write_fd, b"x")
    os.close(write_fd)
    reader._taken.release()
    thread.join(5)
    assert (thread.is_alive(), recorder) == (False, [])
