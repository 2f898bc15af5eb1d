"""The intake: lines as long as there is room, and an end that waits for its owner."""

from __future__ import annotations

import asyncio
import errno

import pytest

from acpwire.errors import ConnectionClosed, TransportError
from acpwire.transports._ends import OnData, OnEnd
from acpwire.transports._inbox import CAPACITY
from acpwire.transports._intake import Intake


class FakeEnd:
    """A read end that the test moves."""

    def __init__(self) -> None:
        self.paused = False
        self.closed = False
        self.more = False

    def start(self, on_data: OnData, on_end: OnEnd) -> FakeEnd:
        self.on_data, self.on_end = on_data, on_end
        return self

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def drain(self) -> bool:
        return self.more

    def close(self) -> None:
        self.closed = True


def started() -> tuple[Intake, FakeEnd]:
    intake, end = Intake("the peer", 1000), FakeEnd()
    intake.start(end.start)
    return intake, end


@pytest.mark.req("TRAN-04", "TRAN-08")
async def test_chunks_become_frames_and_the_last_line_needs_no_line_end() -> None:
    intake, end = started()
    end.on_data(b'{"a":')
    end.on_data(b'1}\n\n{"b":2}\n{"c"')
    assert await intake.receive() == [b'{"a":1}', b'{"b":2}']
    end.on_data(b":3}")
    end.on_end(None)
    assert (intake.ended, intake.finished) == (True, True)
    assert await intake.receive() == [b'{"c":3}']
    assert await intake.receive() == []


async def test_reading_pauses_when_full_and_goes_on_when_received() -> None:
    intake, end = started()
    end.on_data(b"x" * 100 + b"\n")
    assert not end.paused
    end.on_data((b"x" * 100 + b"\n") * (CAPACITY // 100))
    assert end.paused
    await intake.receive()
    assert not end.paused


async def test_a_failure_is_raised_after_the_frames_that_came_before() -> None:
    intake, end = started()
    end.on_data(b"{}\n")
    end.on_end(OSError(errno.EINVAL, "Invalid argument"))
    assert await intake.receive() == [b"{}"]
    with pytest.raises(TransportError, match="the stream to the peer broke: Invalid argument"):
        await intake.receive()


async def test_an_owner_decides_when_the_end_is_told() -> None:
    ended = asyncio.Event()
    intake, end = Intake("the peer", 1000, ended.set), FakeEnd()
    intake.start(end.start)
    end.on_end(None)
    assert (ended.is_set(), intake.ended, intake.finished) == (True, True, False)
    intake.finish()
    assert await intake.receive() == []


async def test_what_is_discarded_is_still_read() -> None:
    intake, end = started()
    intake.discard()
    end.on_data(b"{}\n" * CAPACITY)
    assert (end.paused, end.closed) == (False, False)
    with pytest.raises(ConnectionClosed):
        await intake.receive()
    intake.close()
    assert end.closed


async def test_draining_ends_with_the_stream() -> None:
    intake, end = started()
    end.more = True
    assert intake.drain()
    end.on_end(None)
    assert not intake.drain()
    assert not Intake("not started", 1000).drain()
