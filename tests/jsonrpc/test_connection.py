"""The connection, over the memory transport: the sentences of its promise about order, one by one; limits; the end.

The other side is played by the test, with raw frames. Nothing sleeps to wait: events say that both sides are under way.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from msgspec import Raw

from acpwire.errors import (
    AgentExited,
    ConnectionClosed,
    LocalProtocolError,
    Overrun,
    RemoteProtocolError,
    RequestError,
    TransportError,
)
from acpwire.jsonrpc.connection import Connection
from acpwire.jsonrpc.events import NotificationReceived, RequestReceived
from acpwire.jsonrpc.lanes import Limits, Mailbox
from acpwire.jsonrpc.transport import Frame, Transport
from acpwire.transports.memory import pair

PATIENCE = 10.0
Handler = Callable[[dict[str, Any]], Awaitable[object]]


def plain(raw: Raw) -> Any:
    return json.loads(bytes(raw))


class Link:
    """A connection with handlers, and the other side of it by hand."""

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        wrap: Callable[[Transport], Transport] = lambda it: it,
        capacity: int = 1 << 20,
        **options: Any,
    ) -> None:
        near, self.far = pair(capacity=capacity)
        self.handlers: dict[str, Handler] = {}
        self.tapped: list[Any] = []
        self.on_tap: Callable[[str, dict[str, Any]], None] | None = None
        self.received: list[Any] = []
        self.connection = Connection(
            wrap(near), tap=self.tap, lane=self.lane, limits=limits or Limits(order_patience=PATIENCE), **options
        )
        self._lane: Hashable = None

    def tap(self, event: RequestReceived | NotificationReceived) -> Callable[[], Awaitable[object]] | None:
        params = plain(event.params)
        self._lane = params.get("lane")
        self.tapped.append(params.get("n", event.method))
        if self.on_tap is not None:
            self.on_tap(event.method, params)
        handler = self.handlers.get(event.method)
        if handler is None and isinstance(event, RequestReceived):
            raise RequestError(-32601, "Method not found")
        return None if handler is None else partial(handler, params)

    def lane(self, _event: object) -> Hashable:
        return self._lane

    # -- the other side -----------------------------------------------------------------------------------

    async def write(self, *messages: dict[str, Any] | bytes) -> None:
        """One write of all messages."""
        frames = [m if isinstance(m, bytes) else json.dumps({"jsonrpc": "2.0", **m}).encode() for m in messages]
        await self.far.send(frames)

    async def read(self) -> Any:
        """The next message of the connection."""
        async with asyncio.timeout(PATIENCE):
            while not self.received:
                frames = await self.far.receive()
                assert frames, "the connection has closed"
                self.received += [json.loads(frame) for frame in frames if isinstance(frame, bytes)]
        return self.received.pop(0)

    async def answer_next(self, result: Any = None) -> dict[str, Any]:
        """Answer the next request of the connection."""
        message: dict[str, Any] = await self.read()
        await self.write({"id": message["id"], "result": result})
        return message

    def request(
        self, method: str = "ours", lane: Hashable = None, decode: Callable[[Raw], Any] = plain
    ) -> asyncio.Task[Any]:
        return asyncio.ensure_future(self.connection.request(method, None, lane=lane, decode=decode))

    async def read_up(self) -> None:
        """Return when all that was written is read: a request without handler was answered."""
        await self.write({"id": "up", "method": "nobody"})
        while (await self.read()).get("id") != "up":
            pass


def note(number: int, lane: str | None = None, method: str = "n") -> dict[str, Any]:
    return {"method": method, "params": {"n": number, "lane": lane}}


@asynccontextmanager
async def linked(**options: Any) -> AsyncIterator[Link]:
    link = Link(**options)
    link.connection.start()
    try:
        yield link
    finally:
        async with asyncio.timeout(PATIENCE):
            await link.connection.aclose()
        await link.far.aclose()


async def soon(awaitable: Awaitable[Any]) -> Any:
    async with asyncio.timeout(PATIENCE):
        return await awaitable


async def turns(count: int = 20) -> None:
    """Let everything that can run do so: for showing that something does *not* happen."""
    for _ in range(count):
        await asyncio.sleep(0)


class Gate:
    """A handler that says when it has begun and ends when told."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.open = asyncio.Event()
        self.passed: list[Any] = []

    async def __call__(self, params: dict[str, Any]) -> object:
        self.begun.set()
        await self.open.wait()
        self.passed.append(params.get("n"))
        return {}


# -- (a) decoded and applied as it is read ------------------------------------------------------------------------


@pytest.mark.req("RPC-30", "RPC-31")
async def test_6a_every_message_is_tapped_in_wire_order_before_any_handler_of_it() -> None:
    async with linked() as link:
        seen: list[tuple[str, int]] = []
        link.on_tap = lambda _method, params: seen.append(("tap", params["n"]))
        done = asyncio.Event()

        async def handle(params: dict[str, Any]) -> object:
            seen.append(("handler", params["n"]))
            if params["n"] == 2:
                done.set()
            return {}

        link.handlers = {"n": handle, "r": handle}
        await link.write(note(0), {"id": 1, "method": "r", "params": {"n": 1}}, note(2))
        await soon(done.wait())
        await link.read()
        assert [number for what, number in seen if what == "tap"] == [0, 1, 2]
        for number in range(3):
            assert seen.index(("tap", number)) < seen.index(("handler", number))


async def test_6a_a_result_is_decoded_at_its_place_in_the_stream() -> None:
    async with linked() as link:
        call = link.request(decode=lambda raw: link.tapped.append(plain(raw)))
        await link.read()
        await link.write(note(1), {"id": 1, "result": 2}, note(3))
        await soon(call)
        await link.read_up()
        assert link.tapped[:3] == [1, 2, 3]


async def test_6a_a_slow_handler_does_not_delay_the_tap_of_what_follows() -> None:
    async with linked() as link:
        gate = link.handlers["n"] = Gate()
        await link.write(note(0), note(1), note(2))
        await soon(gate.begun.wait())
        await link.read_up()
        assert link.tapped[:3] == [0, 1, 2]
        assert gate.passed == []
        gate.open.set()


# -- (b) lanes ----------------------------------------------------------------------------------------------------


async def test_6b_in_a_lane_notification_handlers_run_one_at_a_time_in_wire_order() -> None:
    async with linked() as link:
        running, order, done = [0], [], asyncio.Event()

        async def handle(params: dict[str, Any]) -> None:
            running[0] += 1
            assert running[0] == 1
            for _ in range(params["n"] % 3):
                await asyncio.sleep(0)
            running[0] -= 1
            order.append(params["n"])
            if params["n"] == 199:
                done.set()

        link.handlers["n"] = handle
        await link.write(*(note(number, "a") for number in range(200)))
        await soon(done.wait())
        assert order == list(range(200))


async def test_6b_a_slow_handler_of_one_session_does_not_block_another() -> None:
    async with linked() as link:
        slow, quick = Gate(), Gate()
        quick.open.set()
        link.handlers = {"slow": slow, "quick": quick}
        await link.write(note(0, "a", "slow"), note(1, "b", "quick"), note(2, None, "quick"))
        await soon(slow.begun.wait())
        while quick.passed != [1, 2]:
            await asyncio.sleep(0)
        assert slow.passed == []
        slow.open.set()


async def test_6b_a_request_handler_starts_after_the_notification_handlers_queued_before_it() -> None:
    async with linked() as link:
        gate, request = Gate(), Gate()
        link.handlers = {"n": gate, "r": request}
        await link.write(note(0, "a"), {"id": 1, "method": "r", "params": {"lane": "a"}})
        await soon(gate.begun.wait())
        await link.read_up()
        assert not request.begun.is_set()
        gate.open.set()
        await soon(request.begun.wait())
        assert gate.passed == [0]
        request.open.set()
        assert await link.read() == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.req("RPC-29")
async def test_6b_a_request_handler_holds_up_nothing() -> None:
    async with linked() as link:
        request, note_gate = Gate(), Gate()
        note_gate.open.set()
        link.handlers = {"r": request, "n": note_gate}
        await link.write({"id": 1, "method": "r", "params": {"lane": "a"}})
        await soon(request.begun.wait())
        await link.write(note(1, "a"), {"id": 2, "method": "r", "params": {"lane": "a", "n": 2}})
        while note_gate.passed != [1]:
            await asyncio.sleep(0)
        request.open.set()
        assert {(await link.read())["id"], (await link.read())["id"]} == {1, 2}


async def test_6b_at_most_so_many_request_handlers_run_and_the_rest_wait() -> None:
    async with linked(limits=Limits(max_requests=2)) as link:
        running, most, open_up = [0], [0], asyncio.Event()
        begun = asyncio.Semaphore(0)

        async def handle(_params: dict[str, Any]) -> object:
            running[0] += 1
            most[0] = max(most[0], running[0])
            begun.release()
            await open_up.wait()
            running[0] -= 1
            return {}

        quick = Gate()
        quick.open.set()
        link.handlers = {"r": handle, "n": quick}
        await link.write(*({"id": number, "method": "r"} for number in range(6)), note(9))
        for _ in range(2):
            await soon(begun.acquire())
        while not quick.passed:
            await asyncio.sleep(0)
        assert running == [2]
        open_up.set()
        assert [(await link.read())["id"] for _ in range(6)] == list(range(6))
        assert most == [2]


async def test_6b_there_is_no_task_for_a_notification() -> None:
    async with linked() as link:
        before, most, done = len(asyncio.all_tasks()), [0], asyncio.Event()

        async def handle(params: dict[str, Any]) -> None:
            most[0] = max(most[0], len(asyncio.all_tasks()))
            if params["n"] == 999:
                done.set()

        link.handlers["n"] = handle
        await link.write(*(note(number, "a") for number in range(1000)))
        await soon(done.wait())
        assert most[0] <= before + 1
        await turns(3)
        assert len(asyncio.all_tasks()) == before


async def test_6b_a_notification_that_nobody_handles_costs_no_task_and_no_place() -> None:
    async with linked() as link:
        before = len(asyncio.all_tasks())
        await link.write(*(note(number, "a") for number in range(10)))
        while len(link.tapped) < 10:
            await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == before
        assert link.connection._handlers.lanes == {}


async def test_6b_handlers_that_never_wait_let_others_run() -> None:
    async with linked() as link:
        done, order = asyncio.Event(), []

        async def handle(params: dict[str, Any]) -> None:
            order.append(params["n"])
            if params["n"] == 499:
                done.set()

        link.handlers["n"] = handle
        await link.write(*(note(number, lane) for number in range(500) for lane in ("a", "b")))
        await soon(done.wait())
        assert order[:2] != [0, 0]
        assert order.index(0, 1) < 200


# -- (c) responses ------------------------------------------------------------------------------------------------


async def test_6c_a_response_resolves_after_the_handlers_queued_before_it_in_its_lane() -> None:
    async with linked() as link:
        handled: list[int] = []

        async def handle(params: dict[str, Any]) -> None:
            for _ in range(5 if params["n"] % 2 == 0 else 0):
                await asyncio.sleep(0)
            handled.append(params["n"])

        link.handlers["n"] = handle
        call = link.request(lane="a")
        await link.read()
        await link.write(*(note(number, "a") for number in range(6)), {"id": 1, "result": "done"}, note(6, "a"))
        call.add_done_callback(lambda _: handled.append(-1))
        assert await soon(call) == "done"
        assert handled[:6] == [0, 1, 2, 3, 4, 5]


async def test_6c_an_error_response_keeps_its_place_too() -> None:
    async with linked() as link:
        gate = link.handlers["n"] = Gate()
        call = link.request(lane="a")
        await link.read()
        await link.write(note(0, "a"), {"id": 1, "error": {"code": 7, "message": "no"}})
        await link.read_up()
        assert not call.done()
        gate.open.set()
        with pytest.raises(RequestError):
            await soon(call)
        assert gate.passed == [0]


async def test_6c_updates_after_the_response_are_read_and_handled() -> None:
    async with linked() as link:
        gate = link.handlers["n"] = Gate()
        gate.open.set()
        call = link.request(lane="a")
        await link.answer_next("done")
        assert await soon(call) == "done"
        await link.write(note(1, "a"))
        while gate.passed != [1]:
            await asyncio.sleep(0)


async def test_6c_lanes_never_wait_for_each_other() -> None:
    async with linked() as link:
        gate = link.handlers["n"] = Gate()
        other, none = link.request(lane="b"), link.request(lane=None)
        await link.read()
        await link.read()
        await link.write(note(0, "a"), {"id": 1, "result": 1}, {"id": 2, "result": 2})
        assert (await soon(other), await soon(none)) == (1, 2)
        assert gate.passed == []
        gate.open.set()


async def test_6c_nothing_waits_for_a_request_handler() -> None:
    async with linked() as link:
        request = link.handlers["r"] = Gate()
        call = link.request(lane="a")
        await link.read()
        await link.write({"id": 5, "method": "r", "params": {"lane": "a"}})
        await soon(request.begun.wait())
        await link.write({"id": 1, "result": 1})
        assert await soon(call) == 1
        request.open.set()


# -- (d) calls in handlers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["notification", "request"])
async def test_6d_a_call_made_inside_a_handler_is_not_held_by_its_lane(kind: str) -> None:
    async with linked() as link:
        results: asyncio.Queue[Any] = asyncio.Queue()

        async def handle(_params: dict[str, Any]) -> object:
            results.put_nowait(await link.connection.request("nested", None, lane="a", decode=plain))
            return {}

        link.handlers["m"] = handle
        await link.write(note(0, "a", "m") if kind == "notification" else {"id": 9, **note(0, "a", "m")})
        await link.answer_next("in time")
        assert await soon(results.get()) == "in time"


async def test_6d_a_call_made_in_a_task_that_the_handler_started_is_not_held_either() -> None:
    async with linked() as link:
        results: asyncio.Queue[Any] = asyncio.Queue()

        async def nested() -> None:
            results.put_nowait(await link.connection.request("nested", None, lane="a", decode=plain))

        async def handle(_params: dict[str, Any]) -> None:
            await asyncio.gather(nested(), nested())

        link.handlers["n"] = handle
        await link.write(note(0, "a"))
        await link.answer_next(1)
        await link.answer_next(2)
        assert {await soon(results.get()), await soon(results.get())} == {1, 2}


async def test_6d_the_handlers_lane_still_holds_the_calls_of_others() -> None:
    async with linked() as link:
        begun, results = asyncio.Event(), []

        async def handle(_params: dict[str, Any]) -> None:
            begun.set()
            results.append(await link.connection.request("nested", None, lane="a", decode=plain))

        link.handlers["n"] = handle
        outside = link.request("outside", lane="a")
        await link.read()
        await link.write(note(0, "a"))
        await soon(begun.wait())
        await link.read()
        await link.write({"id": 1, "result": "outside"})
        await link.read_up()
        assert not outside.done()
        await link.write({"id": 2, "result": "nested"})
        assert await soon(outside) == "outside"
        assert results == ["nested"]


async def test_6d_two_handlers_that_call_in_each_others_lane_do_not_deadlock() -> None:
    async with linked() as link:
        results: asyncio.Queue[Any] = asyncio.Queue()

        async def handle(params: dict[str, Any]) -> None:
            other = {"a": "b", "b": "a"}[params["lane"]]
            results.put_nowait(await link.connection.request("cross", None, lane=other, decode=plain))

        link.handlers["n"] = handle
        await link.write(note(0, "a"), note(0, "b"))
        await link.read()
        await link.read()
        await link.write({"id": 1, "result": 1}, {"id": 2, "result": 2})
        assert {await soon(results.get()), await soon(results.get())} == {1, 2}


async def test_6d_requests_nested_through_both_sides_end() -> None:
    """A prompt asks for permission, whose handler makes a call back: three deep, over two connections."""
    near, far = pair()
    ends: dict[str, Connection] = {}

    async def prompt() -> object:
        return await ends["agent"].request("permission", {}, decode=plain)

    async def permission() -> object:
        return await ends["client"].request("config", {}, decode=plain)

    async def config() -> object:
        return "deep"

    calls = {"prompt": prompt, "permission": permission, "config": config}
    for name, transport in (("client", near), ("agent", far)):
        ends[name] = Connection(transport, tap=lambda event: calls[event.method], lane=lambda _event: "a")
        ends[name].start()
    assert await soon(ends["client"].request("prompt", {}, lane="a", decode=plain)) == "deep"
    for end in ends.values():
        await soon(end.aclose())


# -- (e) what cannot be seen --------------------------------------------------------------------------------------


async def test_6e_a_response_held_by_what_cannot_be_seen_is_delivered_late_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with linked(limits=Limits(order_patience=0.05)) as link:
        call = link.request("outside", lane="a")

        async def handle_that_waits(_params: dict[str, Any]) -> None:
            await asyncio.wait([call])

        link.handlers["n"] = handle_that_waits
        await link.read()
        await link.write(note(0, "a"), {"id": 1, "result": "late"})
        assert await soon(call) == "late"
        (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
        for named in ("handle_that_waits", "`n`", "`outside`", "id 1"):
            assert named in record.getMessage()
        assert all(not lane.items for lane in link.connection._handlers.lanes.values())


# -- limits -------------------------------------------------------------------------------------------------------

SMALL = Limits(soft_calls=4, hard_calls=20, order_patience=PATIENCE)


async def test_7_above_the_soft_limit_reading_pauses_and_goes_on_when_the_handlers_do() -> None:
    async with linked(limits=SMALL) as link:
        gate = link.handlers["n"] = Gate()
        await link.write(*(note(number, "a") for number in range(50)))
        await soon(gate.begun.wait())
        await turns()
        paused_at = len(link.tapped)
        assert paused_at <= 7
        gate.open.set()
        while len(gate.passed) < 50:
            await asyncio.sleep(0)
        assert gate.passed == list(range(50))


async def test_7_the_soft_limit_counts_bytes_too() -> None:
    async with linked(limits=Limits(soft_bytes=1000)) as link:
        gate = link.handlers["n"] = Gate()
        big = {"method": "n", "params": {"n": 0, "text": "x" * 600}}
        await link.write(*[big] * 10)
        await soon(gate.begun.wait())
        await turns()
        assert len(link.tapped) <= 4
        gate.open.set()


async def test_7_a_pause_slows_the_peer() -> None:
    async with linked(limits=SMALL, capacity=2000) as link:
        gate = link.handlers["n"] = Gate()

        async def flood() -> None:
            for number in range(500):
                await link.write(note(number, "a"))

        flooding = asyncio.ensure_future(flood())
        await soon(gate.begun.wait())
        await turns(200)
        assert not flooding.done()
        gate.open.set()
        await soon(flooding)


async def test_7_the_calls_of_the_whole_connection_are_counted_together() -> None:
    async with linked(limits=SMALL) as link:
        gate = link.handlers["n"] = Gate()
        await link.write(*(note(number, f"lane {number % 3}") for number in range(50)))
        await soon(gate.begun.wait())
        await turns()
        assert len(link.tapped) <= 9
        gate.open.set()


async def test_7_reading_does_not_pause_while_a_handler_waits_for_the_other_side() -> None:
    async with linked(limits=SMALL) as link:
        results: asyncio.Queue[Any] = asyncio.Queue()

        async def handle(params: dict[str, Any]) -> None:
            if params["n"] == 0:
                results.put_nowait(await link.connection.request("nested", None, lane="a", decode=plain))

        link.handlers["n"] = handle
        await link.write(note(0, "a"))
        request = await link.read()
        await link.write(*(note(number, "a") for number in range(1, 12)), {"id": request["id"], "result": "read"})
        assert await soon(results.get()) == "read"


async def test_7_a_pause_ends_when_a_handler_begins_to_wait_for_the_other_side() -> None:
    async with linked(limits=SMALL) as link:
        go, begun = asyncio.Event(), asyncio.Event()
        results: asyncio.Queue[Any] = asyncio.Queue()

        async def handle(params: dict[str, Any]) -> None:
            if params["n"] == 0:
                begun.set()
                await go.wait()
                results.put_nowait(await link.connection.request("nested", None, lane="a", decode=plain))

        link.handlers["n"] = handle
        await link.write(*(note(number, "a") for number in range(12)))
        await soon(begun.wait())
        await turns()
        assert len(link.tapped) < 12
        go.set()
        await link.answer_next("read")
        assert await soon(results.get()) == "read"


async def test_7_reading_does_not_pause_while_requests_wait_for_handlers_that_wait_for_the_other_side() -> None:
    async with linked(limits=Limits(soft_calls=2, max_requests=1)) as link:

        async def handle(_params: dict[str, Any]) -> object:
            return await link.connection.request("nested", None, decode=plain)

        link.handlers["r"] = handle
        await link.write(*({"id": number, "method": "r"} for number in range(10)))
        for _ in range(10):
            nested = await link.read()
            assert nested["method"] == "nested"
            await link.write({"id": nested["id"], "result": 1})
            assert (await link.read())["result"] == 1


async def test_7_a_pause_ends_when_a_request_begins_to_wait_for_a_handler_that_waits_for_the_other_side() -> None:
    async with linked(limits=Limits(soft_calls=2, max_requests=1, order_patience=PATIENCE * 2)) as link:
        first, second = Gate(), Gate()

        async def handle(_params: dict[str, Any]) -> object:
            return await link.connection.request("nested", None, decode=plain)

        link.handlers = {"r": handle, "first": first, "second": second}
        await link.write({"id": "r1", "method": "r"})
        nested = await link.read()
        await link.write(
            note(0, "a", "first"),
            {"id": "r2", "method": "r", "params": {"lane": "a"}},
            *(note(number, "b", "second") for number in range(4)),
            {"id": nested["id"], "result": "read"},
        )
        await soon(first.begun.wait())
        await turns()
        first.open.set()
        assert (await link.read())["id"] == "r1"
        second.open.set()


async def test_7_reading_does_not_pause_while_the_reader_of_a_mailbox_waits_for_the_other_side() -> None:
    async with linked(limits=SMALL) as link:
        mailbox = link.connection.mailbox()
        link.on_tap = lambda _method, params: mailbox.put(params, 10)
        token = link.connection.enter(mailbox)
        call = link.request("nested")
        await link.read()
        await link.write(*(note(number) for number in range(12)), {"id": 1, "result": "read"})
        assert await soon(call) == "read"
        link.connection.leave(token)
        assert [mailbox.take()["n"] for _ in range(12)] == list(range(12))


async def test_7_a_mailbox_counts_like_a_lane() -> None:
    async with linked(limits=SMALL) as link:
        mailbox = link.connection.mailbox()
        link.on_tap = lambda _method, params: mailbox.put(params, 10)
        await link.write(*(note(number) for number in range(50)))
        while not mailbox:
            await asyncio.sleep(0)
        await turns()
        assert len(mailbox) <= 5
        numbers = []
        while len(numbers) < 50:
            while mailbox:
                numbers.append(mailbox.take()["n"])
            await asyncio.sleep(0)
        assert numbers == list(range(50))


async def test_7_at_the_hard_limit_the_largest_lane_is_overrun_and_state_stays_exact(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with linked(limits=SMALL) as link:
        told: list[tuple[Hashable, Overrun]] = []
        link.connection.on_overrun = lambda lane, overrun: told.append((lane, overrun))
        quiet, results = Gate(), asyncio.Queue[Any]()

        async def handle(params: dict[str, Any]) -> None:
            if params["n"] == 0:
                results.put_nowait(await link.connection.request("nested", None, lane="a", decode=plain))
            else:
                results.put_nowait(params["n"])

        link.handlers = {"n": handle, "quiet": quiet}
        await link.write(note(0, "a"), note(-1, "b", "quiet"), note(-2, "b", "quiet"))
        request = await link.read()
        await link.write(*(note(number, "a") for number in range(1, 26)), {"id": request["id"], "result": "read"})
        assert await soon(results.get()) == "read"
        assert link.tapped == [0, -1, -2, *range(1, 26)]
        ((lane, overrun),) = told
        assert (lane, overrun.count) == ("a", 20)
        assert overrun.bytes > 20 * 50
        assert [await soon(results.get()) for _ in range(5)] == [21, 22, 23, 24, 25]
        quiet.open.set()
        while quiet.passed != [-1, -2]:
            await asyncio.sleep(0)
        assert "were dropped" in caplog.text


async def test_7_an_overrun_mailbox_raises_and_goes_on() -> None:
    async with linked(limits=SMALL) as link:
        mailbox = link.connection.mailbox()
        link.on_tap = lambda _method, params: mailbox.put(params, 10)
        token = link.connection.enter(mailbox)
        call = link.request("nested")
        await link.read()
        await link.write(*(note(number) for number in range(22)), {"id": 1, "result": "read"})
        assert await soon(call) == "read"
        link.connection.leave(token)
        with pytest.raises(Overrun) as overrun:
            mailbox.take()
        assert overrun.value.count == 21
        assert mailbox.take()["n"] == 21


async def test_7_queues_that_do_not_move_while_calls_are_open_end_the_pause(caplog: pytest.LogCaptureFixture) -> None:
    async with linked(limits=Limits(soft_calls=2, order_patience=0.05)) as link:
        call = link.request("outside", lane="b")

        async def handle(_params: dict[str, Any]) -> None:
            await asyncio.wait([call])

        link.handlers["n"] = handle
        await link.read()
        await link.write(*(note(number, "a") for number in range(6)), {"id": 1, "result": "read"})
        assert await soon(call) == "read"
        assert "reading on" in caplog.text


async def test_7_notify_waits_above_the_high_mark_until_below_the_low_one() -> None:
    async with linked(limits=Limits(write_high=1000, write_low=100), capacity=1000) as link:
        task = asyncio.current_task()
        assert task is not None
        await link.connection.notify("small", {"text": "x"})
        blocked = asyncio.ensure_future(link.connection.notify("big", {"text": "x" * 5000}))
        again = asyncio.ensure_future(link.connection.notify("big", {"text": "x" * 5000}))
        await turns()
        assert not again.done()
        for _ in range(3):
            await link.read()
        await soon(asyncio.gather(blocked, again))


async def test_7_notify_below_the_mark_does_not_switch_tasks() -> None:
    async with linked() as link:
        other = asyncio.ensure_future(asyncio.sleep(0))
        for number in range(100):
            await link.connection.notify("n", {"n": number})
        assert not other.done()
        assert [(await link.read())["params"]["n"] for _ in range(100)] == list(range(100))


async def test_7_two_sides_that_only_write_do_not_block_each_other() -> None:
    near, far = pair(capacity=4000)
    limits = Limits(soft_calls=2, write_high=500, write_low=100, order_patience=PATIENCE)
    seen = [0, 0]
    done = asyncio.Event()
    ends: list[Connection] = []

    async def echo(which: int) -> None:
        seen[which] += 1
        for _ in range(5):
            await ends[which].notify("last", {"text": "x" * 200})
        if min(seen) == 30:
            done.set()

    for which, transport in enumerate((near, far)):
        ends.append(
            Connection(
                transport,
                tap=lambda event, which=which: partial(echo, which) if event.method == "first" else None,  # type: ignore[misc]
                lane=lambda _event: "a",
                limits=limits,
            )
        )
    for end in ends:
        end.start()

    async def flood(end: Connection) -> None:
        for _ in range(30):
            await end.notify("first", {"text": "x" * 200})

    await soon(asyncio.gather(*map(flood, ends), done.wait()))
    for end in ends:
        await soon(end.aclose())


# -- errors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RequestError(7, "m", {"a": 1}), {"code": 7, "message": "m", "data": {"a": 1}}),
        (RuntimeError("secret"), {"code": -32603, "message": "Internal error"}),
        (RemoteProtocolError("from a third side"), {"code": -32603, "message": "Internal error"}),
        (asyncio.CancelledError(), {"code": -32603, "message": "Internal error"}),
    ],
)
@pytest.mark.req("ERR-08", "RPC-16")
async def test_what_a_request_handler_raises_becomes_one_answer(error: BaseException, expected: object) -> None:
    async with linked() as link:

        async def fail(_params: dict[str, Any]) -> object:
            raise error

        link.handlers["r"] = fail
        await link.write({"id": 1, "method": "r"})
        assert (await link.read())["error"] == expected
        await link.read_up()


@pytest.mark.req("RPC-17")
async def test_what_the_tap_raises_answers_a_request() -> None:
    async with linked() as link:

        def fail(method: str, _params: dict[str, Any]) -> None:
            raise {"bad": RemoteProtocolError("r", path="$.x"), "bug": KeyError("secret")}[method]

        await link.write({"id": 0, "method": "unknown"})
        assert (await link.read())["error"]["code"] == -32601
        link.on_tap = fail
        await link.write({"id": 1, "method": "bad"}, {"id": 2, "method": "bug"})
        assert (await link.read())["error"] == {"code": -32602, "message": "Invalid params: r", "data": {"path": "$.x"}}
        assert (await link.read())["error"] == {"code": -32603, "message": "Internal error"}


@pytest.mark.req("ERR-10", "RPC-03", "RPC-18")
async def test_a_notification_that_fails_is_logged_and_the_next_one_is_handled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with linked() as link:
        done = asyncio.Event()

        async def handle(params: dict[str, Any]) -> None:
            if params["n"] == 0:
                raise ValueError("boom")
            if params["n"] == 1:
                raise asyncio.CancelledError
            done.set()

        link.handlers["n"] = handle
        await link.write(note(0), note(1), note(2), {"method": "unknown"}, {"method": "n", "params": [1]})
        await soon(done.wait())
        await link.write({"id": "up", "method": "nobody"})
        assert (await link.read())["id"] == "up"
        assert caplog.text.count("handler of `n` failed") == 2


@pytest.mark.req("ERR-01", "ERR-06")
async def test_an_error_response_raises_with_all_it_said() -> None:
    async with linked() as link:
        call = link.request()
        await link.read()
        data = {"details": "401 invalid key"}
        await link.write({"id": 1, "error": {"code": -32603, "message": "Internal error", "data": data}})
        with pytest.raises(RequestError) as caught:
            await soon(call)
        assert (caught.value.code, caught.value.message, caught.value.data) == (-32603, "Internal error", data)
        for text in (str(caught.value), repr(caught.value)):
            assert all(part in text for part in ("-32603", "Internal error", "401 invalid key"))


@pytest.mark.req("RPC-14")
async def test_a_malformed_response_fails_its_call_and_nothing_else() -> None:
    async with linked() as link:
        bad, good = link.request(), link.request()
        await link.read()
        await link.read()
        await link.write({"id": 1, "result": 1, "error": {"code": 1, "message": "m"}}, {"id": 2, "result": 2})
        with pytest.raises(RemoteProtocolError):
            await soon(bad)
        assert await soon(good) == 2


async def test_malformed_frames_and_noise_leave_the_connection_usable() -> None:
    async with linked(answer_noise=False) as link:
        await link.write(b"Loaded credentials", b"42", b"[]", b"\xff\xfe")
        assert [(await link.read())["error"]["code"] for _ in range(2)] == [-32600, -32600]
        await link.read_up()
        assert "Loaded credentials" in link.connection.noise


async def test_params_that_are_no_json_send_nothing() -> None:
    async with linked() as link:
        with pytest.raises(LocalProtocolError) as caught:
            await link.connection.request("m", {"a": float("nan")}, decode=plain)
        assert caught.value.path == "$.a"
        with pytest.raises(LocalProtocolError):
            await link.connection.notify("m", object())
        await link.write({"id": 1, "method": "nobody"})
        assert (await link.read())["id"] == 1


# -- cancelling ---------------------------------------------------------------------------------------------------


@pytest.mark.req("CANC-01", "CANC-05")
async def test_cancelling_the_caller_sends_a_cancellation_and_drops_the_late_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with linked() as link:
        call = link.request()
        sent = await link.read()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await soon(call)
        cancel = await link.read()
        assert (cancel["method"], cancel["params"], "id" in cancel) == (
            "$/cancel_request",
            {"requestId": sent["id"]},
            False,
        )
        await link.write({"id": sent["id"], "result": {}})
        await link.read_up()
        assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_an_error_response_that_comes_as_its_caller_is_cancelled_is_not_reported_as_lost() -> None:
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: complaints.append(context))
    async with linked() as link:
        cancelled: list[bool] = []
        calls = [link.request()]
        link.on_tap = lambda _method, _params: cancelled.append(calls[0].cancel())
        await link.read()
        await link.write({"id": 1, "error": {"code": 1, "message": "m"}}, note(0))
        with pytest.raises(asyncio.CancelledError):
            await soon(calls[0])
        assert cancelled == [True]
        calls.clear()
        gc.collect()
    assert complaints == []


@pytest.mark.req("CANC-04", "ERR-09")
async def test_a_cancelled_handler_is_stopped_and_answered_once() -> None:
    async with linked() as link:
        gate = link.handlers["r"] = Gate()
        cancel = {"method": "$/cancel_request", "params": {"requestId": "x"}}
        await link.write({"id": "x", "method": "r"})
        await soon(gate.begun.wait())
        await link.write(cancel, cancel)
        assert await link.read() == {
            "jsonrpc": "2.0",
            "id": "x",
            "error": {"code": -32800, "message": "Request cancelled"},
        }
        await link.write(cancel, {"method": "$/cancel_request", "params": {"requestId": "never"}})
        await link.write({"id": "up", "method": "nobody"})
        assert (await link.read())["id"] == "up"


@pytest.mark.req("CANC-04", "CANC-09")
async def test_a_cancelled_handler_may_answer_normally() -> None:
    async with linked() as link:
        begun = asyncio.Event()

        async def handle(_params: dict[str, Any]) -> object:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return {"messageId": "m"}

        link.handlers["r"] = handle
        await link.write({"id": 1, "method": "r"})
        await soon(begun.wait())
        await link.write({"method": "$/cancel_request", "params": {"requestId": 1}})
        assert (await link.read())["result"] == {"messageId": "m"}


async def test_a_cancellation_does_not_wait_in_the_lane() -> None:
    async with linked() as link:
        gate, request = Gate(), Gate()
        link.handlers = {"n": gate, "r": request}
        await link.write(
            note(0, "a"),
            {"id": 1, "method": "r", "params": {"lane": "a"}},
            {"method": "$/cancel_request", "params": {"requestId": 1}},
        )
        assert (await link.read())["error"]["code"] == -32800
        assert not gate.open.is_set()
        gate.open.set()
        await link.read_up()
        assert not request.begun.is_set()


async def test_cancelling_a_request_and_its_cancellation_in_one_write_is_answered_once() -> None:
    async with linked() as link:
        gate = link.handlers["r"] = Gate()
        await link.write({"id": 1, "method": "r"}, {"method": "$/cancel_request", "params": {"requestId": 1}})
        assert (await link.read())["error"]["code"] == -32800
        await link.read_up()
        assert not gate.begun.is_set()


@pytest.mark.req("CANC-03")
async def test_a_cancellation_reaches_the_calls_that_the_handler_has_open() -> None:
    async with linked() as link:

        async def handle(_params: dict[str, Any]) -> object:
            return await link.connection.request("nested", None, decode=plain)

        link.handlers["r"] = handle
        await link.write({"id": "x", "method": "r"})
        nested = await link.read()
        await link.write({"method": "$/cancel_request", "params": {"requestId": "x"}})
        cancel, answer = await link.read(), await link.read()
        assert cancel["params"] == {"requestId": nested["id"]}
        assert (answer["id"], answer["error"]["code"]) == ("x", -32800)


async def test_cancelling_a_caller_whose_response_waits_in_a_lane_leaves_nothing_behind() -> None:
    async with linked() as link:
        gate = link.handlers["n"] = Gate()
        call = link.request(lane="a")
        await link.read()
        await link.write(note(0, "a"), {"id": 1, "result": 1})
        await link.read_up()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await soon(call)
        assert not link.connection._handlers.lanes["a"].items
        gate.open.set()


async def test_cancelling_a_caller_whose_response_waits_for_a_pause_to_end_sends_nothing() -> None:
    async with linked(limits=Limits(soft_calls=2)) as link:
        gate = link.handlers["n"] = Gate()
        call = link.request(lane="b")
        await link.read()
        await link.write(*(note(number, "a") for number in range(6)), {"id": 1, "result": 1})
        await soon(gate.begun.wait())
        await turns()
        assert not call.done()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await soon(call)
        gate.open.set()
        await link.write({"id": "up", "method": "nobody"})
        assert (await link.read())["id"] == "up"


# -- the end ------------------------------------------------------------------------------------------------------


class Wrapped:
    """A transport that can be told to fail."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.send_error: Exception | None = None
        self.receive_error: Exception | None = None
        self.why: Exception | None = None
        self.closed = 0

    def describe(self) -> str:
        return "the agent"

    async def send(self, frames: Sequence[bytes]) -> None:
        if self.send_error is not None:
            raise self.send_error
        await self.inner.send(frames)

    async def receive(self) -> Sequence[Frame]:
        frames = await self.inner.receive()
        if not frames and self.receive_error is not None:
            raise self.receive_error
        return frames

    async def aclose(self) -> None:
        self.closed += 1
        await self.inner.aclose()

    def closed_error(self) -> Exception | None:
        return self.why


@asynccontextmanager
async def wrapped(**options: Any) -> AsyncIterator[tuple[Link, Wrapped]]:
    made: list[Wrapped] = []

    def wrap(inner: Transport) -> Transport:
        made.append(Wrapped(inner))
        return made[0]

    async with linked(wrap=wrap, **options) as link:
        yield link, made[0]


async def test_when_the_peer_has_finished_pending_and_later_calls_fail_with_the_reason() -> None:
    async with wrapped() as (link, transport):
        transport.why = AgentExited("agent", -9, stderr="boom")
        calls = [link.request(), link.request()]
        await link.read()
        await link.far.aclose()
        for call in calls:
            with pytest.raises(AgentExited) as caught:
                await soon(call)
            assert (caught.value.returncode, caught.value.stderr) == (-9, "boom")
        await soon(link.connection.wait_closed())
        assert link.connection.closed
        assert link.connection.reason is transport.why
        with pytest.raises(AgentExited):
            await link.connection.request("m", None, decode=plain)


async def test_an_orderly_end_has_no_reason_and_calls_fail_with_who_ended_it() -> None:
    async with wrapped() as (link, _):
        call = link.request()
        await link.read()
        await link.far.aclose()
        with pytest.raises(ConnectionClosed, match="the agent has ended"):
            await soon(call)
        assert link.connection.reason is None


async def test_a_broken_stream_is_the_reason() -> None:
    async with wrapped() as (link, transport):
        transport.receive_error = TransportError("torn")
        call = link.request()
        await link.read()
        await link.far.aclose()
        with pytest.raises(ConnectionClosed, match="torn") as caught:
            await soon(call)
        assert caught.value.__cause__ is link.connection.reason is transport.receive_error


async def test_when_writing_fails_every_call_fails_promptly_though_the_peer_still_sends() -> None:
    async with wrapped() as (link, transport):
        transport.send_error = TransportError("broken pipe")
        first = link.request()
        await turns()
        for _ in range(2):
            with pytest.raises(ConnectionClosed, match="broken pipe"):
                await link.connection.request("m", None, decode=plain)
        with pytest.raises(ConnectionClosed):
            await link.connection.notify("m", None)
        with pytest.raises(ConnectionClosed, match="broken pipe"):
            await soon(first)
        assert link.connection.reason is transport.send_error


async def test_the_end_of_a_process_says_more_than_a_broken_pipe() -> None:
    async with wrapped() as (link, transport):
        transport.send_error = TransportError("broken pipe")
        transport.why = AgentExited("agent", 3, stderr="boom")
        call = link.request()
        await turns()
        await link.far.aclose()
        with pytest.raises(AgentExited):
            await soon(call)
        assert link.connection.reason is transport.why


async def test_responses_that_were_received_before_the_end_are_delivered_in_order() -> None:
    async with linked() as link:
        gate = link.handlers["n"] = Gate()
        call, lost = link.request(lane="a"), link.request(lane="a")
        await link.read()
        await link.read()
        await link.write(note(0, "a"), {"id": 1, "result": "in time"})
        await link.far.aclose()
        with pytest.raises(ConnectionClosed):
            await soon(lost)
        assert not call.done()
        gate.open.set()
        assert await soon(call) == "in time"
        assert gate.passed == [0]


async def test_what_is_owed_is_answered_though_the_peer_sends_no_more() -> None:
    near, far = pair()

    class HalfClosed(Wrapped):
        async def receive(self) -> Sequence[Frame]:
            return [b'{"jsonrpc":"2.0","id":1,"method":"m"}'] if not served else []

    served: list[int] = []
    go = asyncio.Event()

    async def serve() -> object:
        await go.wait()
        return "answer"

    def tap(_event: object) -> Callable[[], Awaitable[object]]:
        served.append(1)
        return serve

    connection = Connection(HalfClosed(near), tap=tap, lane=lambda _event: None)
    connection.start()
    await soon(connection.wait_closed())
    go.set()
    (frame,) = await soon(far.receive())
    assert json.loads(frame)["result"] == "answer"
    await soon(connection.aclose())


async def test_queued_notifications_are_handled_before_a_graceful_close_ends() -> None:
    async with linked() as link:
        handled: list[int] = []

        async def handle(params: dict[str, Any]) -> None:
            await asyncio.sleep(0)
            handled.append(params["n"])

        link.handlers["n"] = handle
        await link.write(*(note(number, "a") for number in range(50)))
        await link.read_up()
        await soon(link.connection.aclose())
        assert handled == list(range(50))


async def test_closing_is_bounded_when_a_handler_does_not_end(caplog: pytest.LogCaptureFixture) -> None:
    async with linked(limits=Limits(close_patience=0.05)) as link:
        stuck = link.handlers["n"] = Gate()
        await link.write(note(0), note(1))
        await soon(stuck.begun.wait())
        await soon(link.connection.aclose())
        assert "handlers still ran" in caplog.text
        assert "1 queued notifications were not handled" in caplog.text


async def test_closing_is_bounded_when_the_other_side_does_not_read() -> None:
    async with linked(limits=Limits(close_patience=0.05, write_high=100), capacity=100) as link:
        blocked = asyncio.ensure_future(link.connection.notify("m", {"text": "x" * 1000}))
        again = asyncio.ensure_future(link.connection.notify("m", {"text": "x" * 1000}))
        await turns()
        await soon(link.connection.aclose())
        results = await soon(asyncio.gather(blocked, again, return_exceptions=True))
        assert any(isinstance(result, ConnectionClosed) for result in results)


@pytest.mark.req("RPC-16")
async def test_closing_stops_request_handlers_which_are_still_answered() -> None:
    async with linked() as link:
        gate = link.handlers["r"] = Gate()
        await link.write({"id": 1, "method": "r"})
        await soon(gate.begun.wait())
        pending = link.request()
        await link.read()
        await soon(link.connection.aclose())
        assert (await link.read())["error"]["code"] == -32800
        with pytest.raises(ConnectionClosed, match="this side"):
            await soon(pending)
        assert await soon(link.far.receive()) == []


async def test_what_was_accepted_is_sent_before_closing() -> None:
    async with linked() as link:
        for number in range(100):
            await link.connection.notify("n", {"n": number})
        await soon(link.connection.aclose())
        assert [(await link.read())["params"]["n"] for _ in range(100)] == list(range(100))


async def test_closing_twice_at_once_and_from_another_task_is_quiet() -> None:
    async with wrapped() as (link, transport):
        await soon(asyncio.gather(link.connection.aclose(), link.connection.aclose()))
        await asyncio.ensure_future(link.connection.aclose())
        assert transport.closed == 1
        assert link.connection.reason is None


async def test_connections_close_in_any_order() -> None:
    async with linked() as first, linked() as second:
        await soon(first.connection.aclose())
        await soon(second.connection.aclose())


async def test_closing_goes_on_when_the_task_that_closes_is_cancelled() -> None:
    async with wrapped() as (link, transport):
        gate = link.handlers["n"] = Gate()
        await link.write(note(0))
        await soon(gate.begun.wait())
        closing = asyncio.ensure_future(link.connection.aclose())
        await turns()
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert transport.closed == 0
        gate.open.set()
        while not transport.closed:
            await asyncio.sleep(0)
        assert gate.passed == [0]


async def test_closing_inside_a_cancelled_task_works() -> None:
    async with wrapped() as (link, transport):
        started = asyncio.Event()

        async def use() -> None:
            try:
                started.set()
                await asyncio.Event().wait()
            finally:
                await link.connection.aclose()

        task = asyncio.ensure_future(use())
        await soon(started.wait())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await soon(task)
        assert transport.closed == 1


@pytest.mark.parametrize("kind", ["notification", "request"])
async def test_a_handler_may_close_its_own_connection(kind: str) -> None:
    async with wrapped(limits=Limits(close_patience=PATIENCE * 2)) as (link, transport):
        done = asyncio.Event()

        async def handle(_params: dict[str, Any]) -> object:
            await link.connection.aclose()
            done.set()
            return {}

        link.handlers["m"] = handle
        await link.write(note(0, "a", "m") if kind == "notification" else {"id": 1, **note(0, "a", "m")})
        await soon(done.wait())
        assert transport.closed == 1


async def test_a_handler_that_closes_and_then_waits_for_a_call_held_by_its_lane_does_not_deadlock() -> None:
    async with linked(limits=Limits(close_patience=PATIENCE * 2, order_patience=PATIENCE * 2)) as link:
        call = link.request("outside", lane="a")
        read, done = asyncio.Event(), asyncio.Event()

        async def handle(_params: dict[str, Any]) -> None:
            await read.wait()
            await link.connection.aclose()
            await asyncio.wait([call])
            done.set()

        link.handlers["n"] = handle
        await link.read()
        await link.write(note(0, "a"), {"id": 1, "result": "held"})
        await link.read_up()
        assert not call.done()
        read.set()
        await soon(done.wait())
        assert await call == "held"


async def test_closing_does_not_cancel_a_handler_a_second_time() -> None:
    async with linked() as link:
        cleaned, cleaning = asyncio.Event(), asyncio.Event()
        go = asyncio.Event()

        async def handle(_params: dict[str, Any]) -> object:
            try:
                cleaning.set()
                await asyncio.Event().wait()
            finally:
                await go.wait()
                cleaned.set()

        link.handlers["r"] = handle
        await link.write({"id": 1, "method": "r"})
        await soon(cleaning.wait())
        await link.write({"method": "$/cancel_request", "params": {"requestId": 1}})
        await link.read_up()
        closing = asyncio.ensure_future(link.connection.aclose())
        await turns()
        go.set()
        await soon(closing)
        assert cleaned.is_set()


async def test_a_handler_may_close_what_is_closing() -> None:
    async with wrapped(limits=Limits(close_patience=PATIENCE * 2)) as (link, transport):
        begun, go = asyncio.Event(), asyncio.Event()

        async def handle(_params: dict[str, Any]) -> None:
            begun.set()
            await go.wait()
            await link.connection.aclose()

        link.handlers["n"] = handle
        await link.write(note(0))
        await soon(begun.wait())
        closing = asyncio.ensure_future(link.connection.aclose())
        await turns()
        go.set()
        await soon(closing)
        assert transport.closed == 1


async def test_an_error_of_the_body_is_not_replaced_by_closing() -> None:
    async with wrapped() as (link, transport):
        transport.send_error = TransportError("broken pipe")
        with pytest.raises(ValueError, match="mine"):
            try:
                raise ValueError("mine")
            finally:
                await soon(link.connection.aclose())


async def test_a_transport_that_cannot_close_is_the_reason_and_raises_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Stubborn(Wrapped):
        async def aclose(self) -> None:
            raise TransportError("stubborn")

    async with linked(wrap=Stubborn) as link:
        await soon(link.connection.aclose())
        assert isinstance(link.connection.reason, TransportError)
        assert "closing the transport failed" in caplog.text


async def test_a_connection_that_never_started_closes() -> None:
    link = Link()
    await soon(link.connection.aclose())
    assert await soon(link.far.receive()) == []
    with pytest.raises(ConnectionClosed):
        link.connection.start()


async def test_a_connection_starts_once() -> None:
    async with linked() as link:
        with pytest.raises(RuntimeError):
            link.connection.start()


async def test_no_task_is_left_behind() -> None:
    before = asyncio.all_tasks()
    async with linked() as link:
        gate = link.handlers["n"] = Gate()
        gate.open.set()
        await link.write(note(0), note(1, "a"))
        await link.read_up()
    await turns()
    assert asyncio.all_tasks() == before


async def test_nothing_grows_with_the_age_of_a_connection() -> None:
    async with linked() as link:
        gate = link.handlers["n"] = link.handlers["r"] = Gate()
        gate.open.set()
        for number in range(50):
            await link.write(note(number, f"lane {number}"), {"id": number, "method": "r"})
            await link.read()
            call = link.request(lane=f"lane {number}")
            await link.answer_next(1)
            await soon(call)
        await turns()
        handlers, peer = link.connection._handlers, link.connection._peer
        tables: list[Any] = [link.connection._calls, handlers.lanes, handlers._serving, peer._sent, peer._received]
        assert [len(table) for table in tables] == [0] * len(tables)
        assert (handlers.backlog.calls, handlers.backlog.bytes, handlers._running) == (0, 0, 0)


# -- other loops, tracing -----------------------------------------------------------------------------------------


async def conversation() -> None:
    """Data that is there before the start, a call, a handler that calls back, an update stream, a close."""
    link = Link()
    order: list[Any] = []

    async def handle(params: dict[str, Any]) -> object:
        if params["n"] == 1:
            order.append(await link.connection.request("nested", None, lane="a", decode=plain))
        order.append(params["n"])
        return {}

    link.handlers = {"n": handle, "r": handle}
    await link.write(
        note(0, "a"), note(1, "a"), note(2, "a"), {"id": 1, "method": "r", "params": {"n": 3, "lane": "a"}}
    )
    await turns(3)
    assert (link.tapped, order) == ([], [])
    link.connection.start()
    await link.answer_next("nested")
    assert (await link.read())["result"] == {}
    assert order == [0, "nested", 1, 2, 3]
    call = link.request(lane="a")
    await link.read()
    await link.write(*(note(number, "a") for number in range(4, 9)), {"id": 2, "result": "end"})
    assert await soon(call) == "end"
    assert order[5:] == [4, 5, 6, 7, 8]
    await soon(link.connection.aclose())


async def test_nothing_is_read_before_the_start() -> None:
    await conversation()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with 3.12")
async def test_it_works_with_eager_tasks() -> None:
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined,unused-ignore]
    await conversation()


async def test_the_task_factory_of_the_loop_makes_none_of_its_tasks() -> None:
    made: list[str] = []

    def factory(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> asyncio.Task[Any]:
        made.append(coro.__qualname__)
        return asyncio.Task(coro, loop=loop, **options)

    asyncio.get_running_loop().set_task_factory(factory)
    await conversation()
    assert not [name for name in made if name.startswith(("_Runner", "_Writer", "Connection._"))]


def test_it_works_on_uvloop() -> None:
    uvloop = pytest.importorskip("uvloop")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(conversation())


async def test_each_frame_is_traced_as_it_crosses_the_wire() -> None:
    link = Link()
    traced: list[tuple[str, bytes]] = []
    link.connection.trace = lambda sign, frame: traced.append((sign, frame))
    link.connection.start()
    await link.connection.notify("n", None)
    await link.read()
    await link.write(b"42")
    await link.read()
    await soon(link.connection.aclose())
    signs = [(sign, json.loads(frame)) for sign, frame in traced]
    assert signs[0] == (">", {"jsonrpc": "2.0", "method": "n"})
    assert signs[1] == ("<", 42)
    assert signs[2][0] == ">"


async def test_a_mailbox_read_in_a_handler_does_not_stop_reading() -> None:
    """A handler runs a whole turn: it waits for updates, not for a response, while its own lane is full."""
    async with linked(limits=SMALL) as link:
        boxes: list[Mailbox] = []
        got: asyncio.Queue[Any] = asyncio.Queue()

        async def handle(params: dict[str, Any]) -> None:
            if params["n"] != 0:
                return
            mailbox = link.connection.mailbox()
            boxes.append(mailbox)
            woken = asyncio.Event()
            mailbox.wake = woken.set
            token = link.connection.enter(mailbox)
            await woken.wait()
            got.put_nowait(mailbox.take())
            link.connection.leave(token)
            mailbox.close()

        link.handlers["n"] = handle
        await link.write(note(0, "a"))
        while not boxes:
            await asyncio.sleep(0)
        link.on_tap = lambda method, params: boxes[0].put(params["n"], 1) if method == "turn" else None
        await link.write(*(note(number, "a") for number in range(1, 10)), note(99, "a", "turn"))
        assert await soon(got.get()) == 99
