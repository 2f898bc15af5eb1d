"""The inbox: bounded, one reader, and a cancelled receive loses nothing."""

from __future__ import annotations

import asyncio

import pytest

from acpwire.errors import ConnectionClosed, TransportError
from acpwire.transports._inbox import FRAME_COST, Inbox


class Calls:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


async def test_all_that_is_there_comes_at_once_and_in_order() -> None:
    inbox = Inbox(Calls())
    inbox.put([b"a", b"b"], 2)
    inbox.put([b"c"], 1)
    assert await inbox.receive() == [b"a", b"b", b"c"]


async def test_a_waiting_receive_is_woken() -> None:
    inbox = Inbox(Calls())
    receiving = asyncio.create_task(inbox.receive())
    await asyncio.sleep(0)
    assert not receiving.done()
    inbox.put([b"a"], 1)
    assert await receiving == [b"a"]


async def test_a_receive_cancelled_after_it_was_woken_leaves_the_frames() -> None:
    inbox = Inbox(Calls())
    receiving = asyncio.create_task(inbox.receive())
    await asyncio.sleep(0)
    inbox.put([b"a"], 1)
    receiving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await receiving
    assert await inbox.receive() == [b"a"]


async def test_it_is_full_from_its_capacity_on_and_tells_when_there_is_room() -> None:
    room = Calls()
    inbox = Inbox(room, capacity=2 * (10 + FRAME_COST))
    inbox.put([b"x" * 10], 10)
    assert not inbox.full
    inbox.put([b"x" * 10], 10)
    assert inbox.full
    await inbox.receive()
    assert (inbox.full, room.count) == (False, 1)
    inbox.put([b"x"], 1)
    await inbox.receive()
    assert room.count == 1


async def test_tiny_frames_are_bounded_too() -> None:
    inbox = Inbox(Calls(), capacity=10 * FRAME_COST)
    inbox.put([b"1"] * 10, 10)
    assert inbox.full


async def test_after_the_end_what_is_there_is_received_and_then_nothing_for_ever() -> None:
    inbox = Inbox(Calls())
    inbox.put([b"a"], 1)
    inbox.finish()
    inbox.finish(TransportError("too late to matter"))
    assert await inbox.receive() == [b"a"]
    assert await inbox.receive() == []
    assert await inbox.receive() == []


async def test_an_error_is_raised_after_what_came_before_it() -> None:
    inbox = Inbox(Calls())
    inbox.put([b"a"], 1)
    inbox.finish(TransportError("broken"))
    assert await inbox.receive() == [b"a"]
    for _ in range(2):
        with pytest.raises(TransportError, match="broken"):
            await inbox.receive()


async def test_closing_drops_what_is_there_and_makes_room() -> None:
    room = Calls()
    inbox = Inbox(room, capacity=1)
    inbox.put([b"a"], 1)
    inbox.close()
    inbox.put([b"b"], 1)
    assert (inbox.full, inbox.closed, room.count) == (False, True, 1)
    with pytest.raises(ConnectionClosed, match="closed on this side"):
        await inbox.receive()


async def test_closing_ends_a_receive_that_waits() -> None:
    inbox = Inbox(Calls())
    receiving = asyncio.create_task(inbox.receive())
    await asyncio.sleep(0)
    inbox.close()
    with pytest.raises(ConnectionClosed):
        await receiving


async def test_a_second_reader_is_a_mistake_that_is_told() -> None:
    inbox = Inbox(Calls())
    receiving = asyncio.create_task(inbox.receive())
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="two tasks"):
        await inbox.receive()
    inbox.put([b"a"], 1)
    assert await receiving == [b"a"]
