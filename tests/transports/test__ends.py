"""The loop's ends of a stream: pause and drain, order, partial writes, and the errors that they name."""

from __future__ import annotations

import asyncio
import errno
import os
import socket

import pytest

from acpwire.errors import ConnectionClosed, TransportError
from acpwire.transports._descriptors import PipeDescriptor, SocketDescriptor
from acpwire.transports._ends import UNSENT, LoopReader, LoopWriter, is_orderly_end, stream_error

from .ends import Recorder, fill, read_all, readable


def reading() -> tuple[LoopReader, Recorder, int]:
    read_fd, write_fd = os.pipe()
    recorder = Recorder()
    return LoopReader(PipeDescriptor(read_fd), recorder.on_data, recorder.on_end), recorder, write_fd


def writing() -> tuple[LoopWriter, int]:
    read_fd, write_fd = os.pipe()
    return LoopWriter(PipeDescriptor(write_fd), "the other side"), read_fd


async def test_chunks_arrive_and_then_one_end() -> None:
    reader, recorder, write_fd = reading()
    os.write(write_fd, b"abc")
    await recorder.until(3)
    os.write(write_fd, b"def")
    os.close(write_fd)
    await recorder.until(6, ends=1)
    assert (bytes(recorder.data), recorder.ends) == (b"abcdef", [None])
    reader.close()


async def test_a_paused_reader_reads_nothing_until_it_goes_on() -> None:
    reader, recorder, write_fd = reading()
    reader.pause()
    reader.pause()
    os.write(write_fd, b"abc")
    for _ in range(2):  # once the loop has told of the same pipe, it would have told the reader too
        await readable(reader._descriptor.fd)
    assert not recorder.data
    reader.resume()
    reader.resume()
    await recorder.until(3)
    reader.close()
    reader.resume()
    os.close(write_fd)


async def test_drain_reads_what_is_there_at_once() -> None:
    reader, recorder, write_fd = reading()
    assert reader.drain() is False
    os.write(write_fd, b"abc")
    assert reader.drain() is True
    assert bytes(recorder.data) == b"abc"
    reader.pause()
    assert reader.drain() is True
    reader.close()
    assert reader.drain() is True
    os.close(write_fd)


async def test_drain_ends_although_somebody_writes_without_pause() -> None:
    read_fd, write_fd = os.pipe()
    fill(write_fd)
    count = 0

    def write_more(chunk: bytes) -> None:
        nonlocal count
        count += 1
        os.write(write_fd, chunk)

    reader = LoopReader(PipeDescriptor(read_fd), write_more, Recorder().on_end)
    assert reader.drain() is True
    assert count < 100
    reader.close()
    os.close(write_fd)


async def test_reads_grow_with_what_there_is() -> None:
    left, right = socket.socketpair()
    left.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    sizes: list[int] = []
    reader = LoopReader(SocketDescriptor(right.detach()), lambda chunk: sizes.append(len(chunk)), Recorder().on_end)
    left.setblocking(False)
    for _ in range(4):
        left.send(b"x" * (100 * 1024))
    reader.drain()
    assert sizes[1] > sizes[0]
    reader.close()
    left.close()


async def test_a_reset_is_an_orderly_end() -> None:
    left, right = socket.socketpair()
    recorder = Recorder()
    reader = LoopReader(SocketDescriptor(right.detach()), recorder.on_data, recorder.on_end)
    reader.pause()
    descriptor = reader._descriptor
    descriptor.write(b"never read")
    left.close()
    reader.resume()
    await recorder.until(0, ends=1)
    assert recorder.ends == [None]


async def test_another_failure_is_told() -> None:
    class Broken(PipeDescriptor):
        def read(self, size: int, /) -> bytes:
            raise OSError(errno.EINVAL, "broken")

    read_fd, write_fd = os.pipe()
    recorder = Recorder()
    LoopReader(Broken(read_fd), recorder.on_data, recorder.on_end)
    os.write(write_fd, b"x")
    await recorder.until(0, ends=1)
    assert [error and error.errno for error in recorder.ends] == [errno.EINVAL]
    os.close(write_fd)


async def test_a_small_write_is_done_in_the_same_step() -> None:
    writer, read_fd = writing()
    with pytest.raises(StopIteration):
        writer.write(b"abc").send(None)
    assert os.read(read_fd, 10) == b"abc"
    writer.close()
    os.close(read_fd)


async def test_a_large_write_waits_in_parts_and_keeps_its_order() -> None:
    writer, read_fd = writing()
    parts = [bytes([letter]) * 300_000 for letter in b"abcdef"]

    async def write_all() -> None:
        for part in parts:
            await writer.write(part)
        await writer.flush(10)
        writer.close()

    got, _ = await asyncio.gather(read_all(read_fd), write_all())
    assert got == b"".join(parts)


async def test_write_returns_with_a_little_unsent_and_flush_waits_for_the_rest() -> None:
    writer, read_fd = writing()
    filled = fill(writer._descriptor.fd)
    os.set_blocking(writer._descriptor.fd, False)
    await asyncio.wait_for(writer.write(b"x" * UNSENT), 5)
    await writer.flush(0.01)
    assert writer._unsent == UNSENT
    flushing = asyncio.create_task(writer.flush(10))
    got = asyncio.create_task(read_all(read_fd))
    await flushing
    writer.close()
    assert len(await got) == filled + UNSENT


async def test_a_write_cancelled_before_its_turn_has_sent_nothing() -> None:
    writer, read_fd = writing()
    first = asyncio.create_task(writer.write(b"a" * 1_000_000))
    await asyncio.sleep(0)
    first.cancel()
    second = asyncio.create_task(writer.write(b"b"))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.wait([first, second])
    reading_all = asyncio.create_task(read_all(read_fd))
    await writer.write(b"c")
    await writer.flush(10)
    writer.close()
    assert await reading_all == b"a" * 1_000_000 + b"c"


@pytest.mark.parametrize("waits", [False, True])
async def test_every_write_to_a_side_that_is_gone_says_so(waits: bool) -> None:
    writer, read_fd = writing()
    blocked = asyncio.create_task(writer.write(b"x" * 1_000_000)) if waits else None
    await asyncio.sleep(0)
    os.close(read_fd)
    if blocked:
        with pytest.raises(ConnectionClosed, match="the other side no longer reads"):
            await blocked
    for _ in range(3):
        with pytest.raises(ConnectionClosed, match="the other side no longer reads"):
            await writer.write(b"x")
    await writer.flush(10)
    writer.close()


async def test_closing_frees_a_write_that_waits() -> None:
    writer, read_fd = writing()
    blocked = asyncio.create_task(writer.write(b"x" * 1_000_000))
    await asyncio.sleep(0)
    writer.close()
    writer.close()
    with pytest.raises(ConnectionClosed, match="closed on this side"):
        await blocked
    os.close(read_fd)


def test_errors_name_the_stream_and_keep_their_cause() -> None:
    gone, broken = OSError(errno.EPIPE, "pipe"), OSError(errno.ENOSPC, "No space left on device")
    assert (is_orderly_end(gone), is_orderly_end(broken)) == (True, False)
    assert isinstance(stream_error("stdio", gone), ConnectionClosed)
    error = stream_error("stdio", broken)
    assert isinstance(error, TransportError)
    assert str(error) == "the stream to stdio broke: No space left on device"
    assert error.__cause__ is broken
