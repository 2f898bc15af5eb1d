"""The contract suite finds what it is there to find: each broken transport fails the check that names its fault."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from acpwire.errors import ConnectionClosed
from acpwire.jsonrpc.transport import Frame, Transport
from acpwire.testing import contract
from acpwire.testing.contract import TRANSPORT_CHECKS, Check, Connect, check_transport
from acpwire.transports import memory


class Wrapped:
    """A good transport, to be broken in one place."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner

    def describe(self) -> str:
        return self.inner.describe()

    async def send(self, frames: Sequence[bytes]) -> None:
        await self.inner.send(frames)

    async def receive(self) -> Sequence[Frame]:
        return await self.inner.receive()

    async def aclose(self) -> None:
        await self.inner.aclose()

    def closed_error(self) -> Exception | None:
        return self.inner.closed_error()


class Reorders(Wrapped):
    async def receive(self) -> Sequence[Frame]:
        return list(await super().receive())[::-1]


class Loses(Wrapped):
    count = 0

    async def receive(self) -> Sequence[Frame]:
        frames = list(await super().receive())
        self.count += len(frames)
        return frames[:-1] if self.count > 15_000 else frames


class Repairs(Wrapped):
    async def send(self, frames: Sequence[bytes]) -> None:
        await super().send([frame.decode("utf-8", "replace").encode() for frame in frames])


class LosesOnCancel(Wrapped):
    async def receive(self) -> Sequence[Frame]:
        frames = await super().receive()
        await asyncio.sleep(0)
        return frames


class Unbounded(Wrapped):
    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        inner._other._inbox._capacity = 1 << 40  # type: ignore[attr-defined]


class Cuts(Wrapped):
    async def send(self, frames: Sequence[bytes]) -> None:
        for frame in frames:
            try:
                await super().send([frame])
            except asyncio.CancelledError:
                self.inner._other._inbox.put([frame[:10]], 10)  # type: ignore[attr-defined]
                raise


class Truncates(Wrapped):
    async def send(self, frames: Sequence[bytes]) -> None:
        await super().send([frame[: 1 << 20] for frame in frames])


class ForgetsLimit(Wrapped):
    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        inner._limit = 1 << 40  # type: ignore[attr-defined]


class EndsOnce(Wrapped):
    ended = False

    async def receive(self) -> Sequence[Frame]:
        if self.ended:
            return [b"{}"]
        frames = await super().receive()
        self.ended = not frames
        return frames


class ClosesOnce(Wrapped):
    closed = False

    async def aclose(self) -> None:
        if self.closed:
            raise RuntimeError("already closed")
        self.closed = True
        await super().aclose()


class SwallowsSends(Wrapped):
    async def send(self, frames: Sequence[bytes]) -> None:
        try:
            await super().send(frames)
        except ConnectionClosed:
            return


class StaysOpenWhenCancelled(Wrapped):
    async def aclose(self) -> None:
        await asyncio.sleep(0)
        await super().aclose()


class LeavesOtherSide(Wrapped):
    async def aclose(self) -> None:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            return
        await super().aclose()


class NeverCloses(Wrapped):
    async def aclose(self) -> None:
        if asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.Event().wait()
        await super().aclose()


class Silent(Wrapped):
    def describe(self) -> str:
        return ""


BROKEN = [
    (Reorders, contract.frames_arrive_in_order_both_ways),
    (Truncates, contract.a_large_frame_passes_both_ways_at_once),
    (Loses, contract.many_small_frames_all_arrive),
    (Repairs, contract.bytes_arrive_unchanged),
    (EndsOnce, contract.what_was_sent_before_closing_arrives),
    (SwallowsSends, contract.after_closing_every_call_says_so),
    (SwallowsSends, contract.sending_to_a_side_that_closed_fails),
    (LosesOnCancel, contract.cancelling_receive_loses_nothing),
    (Unbounded, contract.send_waits_for_a_reader),
    (Cuts, contract.cancelling_send_leaves_frames_whole),
    (ForgetsLimit, contract.an_oversized_frame_is_replaced),
    (ClosesOnce, contract.closing_twice_is_quiet),
    (NeverCloses, contract.closing_works_inside_a_cancelled_task),
    (LeavesOtherSide, contract.cancelling_aclose_still_closes),
    (NeverCloses, contract.closing_is_bounded_when_nobody_reads),
    (Silent, contract.it_says_what_is_at_the_other_end),
]


def connect_with(kind: type[Wrapped]) -> Connect:
    @asynccontextmanager
    async def connect(*, limit: int = 64 << 20) -> AsyncGenerator[tuple[Transport, Transport], None]:
        left, right = memory.pair(limit=limit)
        yield kind(left), kind(right)
        await left.aclose()
        await right.aclose()

    return connect


def test_every_check_has_a_transport_that_fails_it() -> None:
    assert {check for _, check in BROKEN} == set(TRANSPORT_CHECKS)


@pytest.mark.parametrize(("kind", "check"), BROKEN, ids=lambda value: value.__name__)
async def test_a_broken_transport_is_found(kind: type[Wrapped], check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "PATIENCE", 0.5)
    with pytest.raises((AssertionError, TimeoutError, RuntimeError)):
        await check(connect_with(kind))
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()


async def test_the_whole_suite_runs_without_pytest() -> None:
    await check_transport(connect_with(Wrapped))
