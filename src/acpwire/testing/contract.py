"""What every transport must do, as checks that run on any implementation.

A check is a coroutine function that takes a `Connect` and raises `AssertionError` with a sentence that says what
was broken. With pytest:

    @pytest.mark.parametrize("check", TRANSPORT_CHECKS, ids=lambda check: check.__name__)
    async def test_my_transport(check: Check) -> None:
        await check(connect)

and without: `await check_transport(connect)`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias, TypeVar

from ..errors import AcpwireError, ConnectionClosed
from ..jsonrpc.transport import Frame, Oversized, Transport

__all__ = ["PATIENCE", "TRANSPORT_CHECKS", "Check", "Connect", "check_transport"]

PATIENCE = 20.0
"""Seconds that any wait of a check may take."""

STALL = 0.1
"""Seconds without progress after which a sender counts as held up."""

T = TypeVar("T")


class Connect(Protocol):
    """Makes the two ends of a fresh connection; `limit` is the largest frame that each of them receives."""

    def __call__(self, *, limit: int = ...) -> AbstractAsyncContextManager[tuple[Transport, Transport]]:
        """Enter to connect; leaving closes whatever is still open."""
        ...


Check: TypeAlias = Callable[[Connect], Awaitable[None]]
"""One sentence of the contract, as a coroutine function."""


async def check_transport(connect: Connect) -> None:
    """Run every check, one after the other."""
    for check in TRANSPORT_CHECKS:
        await check(connect)


async def frames_arrive_in_order_both_ways(connect: Connect) -> None:
    """Each direction keeps its order, whatever the sizes of the batches."""
    async with connect() as ends:
        for sender, receiver in (ends, ends[::-1]):
            frames = [b'{"n":%d}' % n for n in range(500)]
            start = 0
            for size in (1, 2, 7, 40, 450):
                await _soon(sender.send(frames[start : start + size]))
                start += size
            _expect(await _take(receiver, 500) == frames, "frames were lost, doubled or reordered")


async def a_large_frame_passes_both_ways_at_once(connect: Connect) -> None:
    """5 MiB each way: nobody waits for the other to read first."""
    async with connect() as (left, right):
        big = b'"' + b"x" * (5 * 1024 * 1024) + b'"'

        async def one_way(sender: Transport, receiver: Transport) -> list[Frame]:
            sending = asyncio.create_task(_send(sender, [big, b"{}"]))
            got = await _take(receiver, 2)
            await sending
            return got

        for got in await _soon(asyncio.gather(one_way(left, right), one_way(right, left))):
            _expect(got == [big, b"{}"], "a frame of 5 MiB did not arrive as it was sent")


async def many_small_frames_all_arrive(connect: Connect) -> None:
    """20,000 frames, sent one by one, none lost and none twice."""
    async with connect() as (left, right):
        frames = [b'{"n":%d}' % n for n in range(20_000)]

        async def send_all() -> None:
            for frame in frames:
                await left.send([frame])

        sending = asyncio.create_task(send_all())
        got = await _take(right, len(frames))
        await _soon(sending)
        _expect(got == frames, "frames were lost, doubled or reordered")


async def bytes_arrive_unchanged(connect: Connect) -> None:
    """A transport reads no text: characters of several bytes and broken UTF-8 pass alike."""
    async with connect() as (left, right):
        frames = ["漢字 🙂 é".encode(), b"\xff\xfe", b" { } ", b"0"]
        await _soon(left.send(frames))
        _expect(await _take(right, 4) == frames, "the bytes of a frame were changed")


async def what_was_sent_before_closing_arrives(connect: Connect) -> None:
    """The other side receives all of it, then empty, at every later call too."""
    for closer in (0, 1):
        async with connect() as ends:
            closing, other = ends[closer], ends[1 - closer]
            frames = [b'{"n":%d}' % n for n in range(1000)]
            await _soon(closing.send(frames))
            await _soon(closing.aclose())
            _expect(await _take(other, 1000) == frames, "closing lost frames that were sent before")
            for _ in range(3):
                _expect(not await _soon(other.receive()), "a finished stream must stay empty")
            error = other.closed_error()
            _expect(error is None or isinstance(error, ConnectionClosed), "closed_error is no ConnectionClosed")


async def after_closing_every_call_says_so(connect: Connect) -> None:
    """On the side that closed, `send` and `receive` raise `ConnectionClosed`, a waiting `receive` too."""
    async with connect() as (left, _):
        waiting = asyncio.create_task(_receive(left))
        await _let_run()
        await _soon(left.aclose())
        await _raises_closed(waiting, "a receive that waits must end when its side closes")
        await _raises_closed(_receive(left), "receive after closing must raise ConnectionClosed")
        await _raises_closed(left.send([b"{}"]), "send after closing must raise ConnectionClosed")


async def sending_to_a_side_that_closed_fails(connect: Connect) -> None:
    """Sooner or later (bytes may be under way), and then again at each call."""
    async with connect() as (left, right):
        await _soon(right.aclose())

        async def send_on() -> None:
            while True:
                await left.send([b"x" * 1000])
                await asyncio.sleep(0)

        await _raises_closed(send_on(), "send must raise ConnectionClosed when nobody reads any more")
        await _raises_closed(left.send([b"{}"]), "send must go on raising ConnectionClosed")


async def cancelling_receive_loses_nothing(connect: Connect) -> None:
    """Receives are cancelled at every point while frames arrive."""
    async with connect() as (left, right):
        frames = [b'{"n":%d}' % n for n in range(300)]
        got: list[Frame] = []
        for number, frame in enumerate(frames):
            receiving = asyncio.create_task(_receive(right))
            if number % 3:
                await _let_run(number % 3)
            await _soon(left.send([frame]))
            await _let_run(number % 5)
            await _cancel(receiving)
            if not receiving.cancelled():
                got += receiving.result()
        got += await _take(right, len(frames) - len(got)) if len(got) < len(frames) else []
        _expect(got == frames, "a cancelled receive lost, doubled or reordered frames")


async def send_waits_for_a_reader(connect: Connect) -> None:
    """Without a reader a sender is held up long before 64 MiB; with one, all of it arrives."""
    async with connect() as (left, right):
        frame, count = b"x" * (64 * 1024), 1024
        sent = 0

        async def send_all() -> None:
            nonlocal sent
            for _ in range(count):
                await left.send([frame])
                sent += 1

        sending = asyncio.create_task(send_all())
        before = -1
        while not sending.done() and sent != before:
            before = sent
            await asyncio.wait([sending], timeout=STALL)
        _expect(not sending.done(), "64 MiB were accepted although nobody reads")
        _expect(await _take(right, count) == [frame] * count, "frames were lost when the sender was held up")
        await _soon(sending)


async def cancelling_send_leaves_frames_whole(connect: Connect) -> None:
    """What a cancelled `send` had is there wholly or not at all, and the next frame follows intact."""
    async with connect() as (left, right):
        frames = [bytes([letter]) * 100_000 for letter in b"abcdefghij"] * 100
        sending = asyncio.create_task(_send(left, frames))
        await asyncio.wait([sending], timeout=STALL)
        _expect(not sending.done(), "100 MB were accepted although nobody reads")
        await _cancel(sending)
        last = asyncio.create_task(_send(left, [b'"last"']))
        got: list[Frame] = []
        while not got or got[-1] != b'"last"':
            got += await _receive(right)
        await _soon(last)
        _expect(got[:-1] == frames[: len(got) - 1], "a cancelled send left a part of a frame")


async def an_oversized_frame_is_replaced(connect: Connect) -> None:
    """An `Oversized` takes its place, and the stream goes on."""
    async with connect(limit=1000) as (left, right):
        big = b"0123456789" * 500
        await _soon(left.send([b"{}", big, b'"next"', b"y" * 1000]))
        got = await _take(right, 4)
        _expect(got == [b"{}", Oversized(5000, 1000, big[:1024]), b'"next"', b"y" * 1000], f"got {got!r:.200}")


async def closing_twice_is_quiet(connect: Connect) -> None:
    """Also at the same time, from other tasks, and by both sides."""
    async with connect() as (left, right):
        await _soon(asyncio.gather(left.aclose(), left.aclose(), right.aclose()))
        await _soon(asyncio.create_task(_close(left)))
        await _soon(left.aclose())
        await _soon(right.aclose())


async def closing_works_inside_a_cancelled_task(connect: Connect) -> None:
    """A task that was cancelled closes on its way out."""
    async with connect() as (left, right):
        entered = asyncio.Event()

        async def body() -> None:
            try:
                entered.set()
                await _receive(left)
            finally:
                await left.aclose()

        task = asyncio.create_task(body())
        await _soon(entered.wait())
        await _let_run()
        task.cancel()
        await asyncio.wait([task], timeout=PATIENCE)
        _expect(task.cancelled(), "aclose must not hang or raise inside a cancelled task")
        _expect(not await _soon(right.receive()), "the other side must see the end")


async def cancelling_aclose_still_closes(connect: Connect) -> None:
    """Cancelled at its first step, `aclose` leaves nothing open."""
    async with connect() as (left, right):
        closing = asyncio.create_task(_close(left))
        await _let_run()
        await _cancel(closing)
        await _raises_closed(_receive(left), "after a cancelled aclose the transport must be closed")
        _expect(not await _soon(right.receive()), "the other side must see the end")


async def closing_is_bounded_when_nobody_reads(connect: Connect) -> None:
    """Bytes that the other side never takes hold up `aclose` for a bounded time only."""
    async with connect() as (left, _):
        sending = asyncio.create_task(_send(left, [b"x" * 100_000] * 100))
        await asyncio.wait([sending], timeout=STALL)
        _expect(not sending.done(), "10 MB were accepted although nobody reads")
        await _soon(left.aclose())
        await asyncio.wait([sending], timeout=PATIENCE)
        _expect(sending.done(), "a send that waits must end when its side closes")
        error = None if sending.cancelled() else sending.exception()
        _expect(error is None or isinstance(error, AcpwireError), f"a send that waits ended with {error!r}")


async def it_says_what_is_at_the_other_end(connect: Connect) -> None:
    """`describe` is one line for people."""
    async with connect() as ends:
        for end in ends:
            text = end.describe()
            _expect(bool(text) and "\n" not in text, "describe must be one line")


TRANSPORT_CHECKS: tuple[Check, ...] = (
    frames_arrive_in_order_both_ways,
    a_large_frame_passes_both_ways_at_once,
    many_small_frames_all_arrive,
    bytes_arrive_unchanged,
    what_was_sent_before_closing_arrives,
    after_closing_every_call_says_so,
    sending_to_a_side_that_closed_fails,
    cancelling_receive_loses_nothing,
    send_waits_for_a_reader,
    cancelling_send_leaves_frames_whole,
    an_oversized_frame_is_replaced,
    closing_twice_is_quiet,
    closing_works_inside_a_cancelled_task,
    cancelling_aclose_still_closes,
    closing_is_bounded_when_nobody_reads,
    it_says_what_is_at_the_other_end,
)
"""Every check of the contract, each independent of the others."""


def _expect(condition: bool, sentence: str) -> None:
    if not condition:
        raise AssertionError(sentence)


async def _soon(awaitable: Awaitable[T]) -> T:
    async with asyncio.timeout(PATIENCE):
        return await awaitable


async def _cancel(task: asyncio.Task[T]) -> None:
    task.cancel()
    await asyncio.wait([task], timeout=PATIENCE)
    _expect(task.done(), "a call that was cancelled did not end")


async def _take(transport: Transport, count: int) -> list[Frame]:
    """`count` frames, or fewer when the stream ends before."""
    got: list[Frame] = []
    async with asyncio.timeout(PATIENCE):
        while len(got) < count:
            frames = await transport.receive()
            if not frames:
                break
            got += frames
    return got


async def _receive(transport: Transport) -> Sequence[Frame]:
    async with asyncio.timeout(PATIENCE):
        return await transport.receive()


async def _send(transport: Transport, frames: Sequence[bytes]) -> None:
    await transport.send(frames)


async def _close(transport: Transport) -> None:
    await transport.aclose()


async def _raises_closed(awaitable: Awaitable[object], sentence: str) -> None:
    try:
        await _soon(awaitable)
    except ConnectionClosed:
        return
    raise AssertionError(sentence)


async def _let_run(turns: int = 1) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)
