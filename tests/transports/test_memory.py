"""The memory transport beyond the contract (`tests/contract` runs that)."""

from __future__ import annotations

import asyncio

import pytest

from acpwire.errors import ConnectionClosed
from acpwire.jsonrpc.transport import Oversized
from acpwire.transports import memory


async def test_frames_are_handed_over_without_a_copy() -> None:
    left, right = memory.pair()
    frame = b'{"a":1}'
    await left.send([frame])
    (got,) = await right.receive()
    assert got is frame


async def test_the_list_of_the_sender_stays_the_senders() -> None:
    left, right = memory.pair()
    frames = [b"1"]
    await left.send(frames)
    await left.send([b"2"])
    assert (await right.receive(), frames) == ([b"1", b"2"], [b"1"])


async def test_each_end_describes_the_other() -> None:
    left, right = memory.pair()
    assert (left.describe(), right.describe()) == ("memory (right)", "memory (left)")
    assert left.closed_error() is None


async def test_a_sender_waits_until_the_other_end_receives() -> None:
    left, right = memory.pair(capacity=100)
    sending = asyncio.create_task(left.send([b"x" * 100]))
    await asyncio.sleep(0)
    assert not sending.done()
    await right.receive()
    await sending


async def test_what_a_cancelled_sender_sent_is_there_and_the_next_send_waits() -> None:
    left, right = memory.pair(capacity=100)
    for _ in range(2):
        sending = asyncio.create_task(left.send([b"x" * 100]))
        await asyncio.sleep(0)
        sending.cancel()
        await asyncio.wait([sending])
        assert sending.cancelled()
    assert await right.receive() == [b"x" * 100]


@pytest.mark.parametrize("closer", ["sender", "receiver"])
async def test_closing_either_end_frees_a_sender_that_waits(closer: str) -> None:
    left, right = memory.pair(capacity=100)
    sending = asyncio.create_task(left.send([b"x" * 100]))
    await asyncio.sleep(0)
    await (left if closer == "sender" else right).aclose()
    await asyncio.wait([sending])
    with pytest.raises(ConnectionClosed):
        await left.send([b"x"])


async def test_an_oversized_frame_among_others_is_replaced() -> None:
    left, right = memory.pair(limit=2000)
    await left.send([b"1", b"x" * 2001, b"2"])
    assert await right.receive() == [b"1", Oversized(2001, 2000, b"x" * 1024), b"2"]


async def test_an_empty_batch_sends_nothing() -> None:
    left, right = memory.pair()
    await left.send([])
    await left.aclose()
    assert await right.receive() == []
