"""The asyncio shell around one peer and one transport.

Three parts. The *connection* reads: each message goes through the tap, synchronously and in wire order, before anything
else of it happens. The *handlers* run what the tap returned, in lanes. The *writer* is one task that hands over all
frames that became due in one turn of the loop.

The connection owns its tasks; none is bound to the task that made it. They are made directly, not by the task factory
of the loop: an eager one would run handlers inside the reader.

What is promised about order:

(a) A message is decoded and applied (by the tap) as it is read, in wire order; the result of a call too (by `decode`).
(b) In a lane notification handlers run one at a time, in order. A request handler starts after those queued before it,
    in a task of its own, and holds up nothing. At most `max_requests` run; the others wait for them, in order.
(c) A call resolves after the notification handlers queued in its lane before its response. Lanes never wait for each
    other.
(d) A call made in a handler, or in a task that it started, is not held by that handler's lane; nor is it held where
    that would close a circle of handlers that wait for each other.
(e) What no context variable can see ends after `order_patience`: the call resolves, and an error is logged.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable
from contextvars import Token
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar, cast

from msgspec import Raw

from ..errors import AgentExited, ConnectionClosed
from .calls import Answer
from .events import (
    CancelReceived,
    ErrorReceived,
    Event,
    Malformed,
    Noise,
    NotificationReceived,
    RequestReceived,
    ResponseReceived,
)
from .frames import Finite, check_finite
from .handlers import Handlers, OnOverrun
from .lanes import SCOPES, Call, Lane, Limits, Mailbox, Scope, Scopes, Serving, begin_waiting, end_waiting
from .messages import RequestId
from .peer import Peer
from .replies import CANCELLED, Replies
from .transport import Transport

__all__ = ["Call", "Connection", "LaneOf", "OnOverrun", "Tap", "Trace"]

Tap: TypeAlias = Callable[[RequestReceived | NotificationReceived], Call | None]
"""Called once for each request and notification, when it is read. Returns the handler call to queue; `None` for a
notification that nobody handles. What it raises answers a request and is logged for a notification."""

LaneOf: TypeAlias = Callable[[RequestReceived | NotificationReceived], Hashable]
"""The lane of a message, asked right after its tap; `None` is the lane of what names no session."""

Trace: TypeAlias = Callable[[str, bytes], None]
"""Shown each frame: "<" got, ">" sent."""

_T = TypeVar("_T")
_log = logging.getLogger("acpwire.jsonrpc")

_IN_A_ROW: Final = 64  # handlers that never wait still let others run, once in so many
_LAST_WORDS: Final = 0.25  # seconds for the end of a process to show, once writing to it failed
_LINGER: Final = 1.0  # seconds for handlers to end once they are cancelled by closing
_NOISE: Final = 4096  # characters that are kept
_TOGETHER: Final = 16  # requests and answers read in one turn of the loop: with more, both sides work by turns


def _describe(call: Call) -> str:
    function: object = call
    while isinstance(function, partial):
        function = cast(object, function.func)
    return getattr(function, "__qualname__", type(function).__name__)


class _Writer:
    """Sends what the peer has queued, in one task."""

    def __init__(self, transport: Transport, peer: Peer, limits: Limits) -> None:
        self.task: asyncio.Task[None] | None = None
        self.trace: Trace | None = None
        self._transport = transport
        self._peer = peer
        self._high = limits.write_high
        self._low = limits.write_low
        self._sending = 0
        self.idle: asyncio.Future[None] | None = None
        self._blocked: list[asyncio.Future[None]] = []
        self._last = False

    @property
    def full(self) -> bool:
        """Whether callers should wait."""
        return self._peer.outgoing_size + self._sending > self._high

    def wake(self) -> None:
        """There is something to send."""
        idle = self.idle
        if idle is not None:
            self.idle = None
            if not idle.done():
                idle.set_result(None)

    def finish(self) -> None:
        """Send what is there, and end."""
        self._last = True
        self.wake()

    async def run(self) -> None:
        """Send until told to finish; raises what the transport raises."""
        peer, send = self._peer, self._transport.send
        loop = asyncio.get_running_loop()
        try:
            while True:
                self._sending = peer.outgoing_size
                frames = peer.frames_to_send()
                if frames:
                    if self.trace is not None:
                        for frame in frames:
                            self.trace(">", frame)
                    await send(frames)
                    self._sending = 0
                    if self._blocked and peer.outgoing_size <= self._low:
                        self.release()
                elif self._last:
                    return
                else:
                    self.idle = loop.create_future()
                    await self.idle
        finally:
            self._sending = 0
            self.release()

    async def wait_for_room(self) -> None:
        """Return when less than the low mark waits, or nothing more is sent."""
        room = asyncio.get_running_loop().create_future()
        self._blocked.append(room)
        scopes = SCOPES.get()
        begin_waiting(scopes)
        try:
            await room
        finally:
            end_waiting(scopes)

    def release(self) -> None:
        """Let all go on that wait for room."""
        blocked, self._blocked = self._blocked, []
        for room in blocked:
            if not room.done():
                room.set_result(None)


class _Runner:
    """Runs what `Handlers` says: the tasks of lanes and of requests."""

    def __init__(self, limits: Limits, replies: Replies) -> None:
        self.handlers = Handlers(limits, replies, self._start_lane, self._start_request)
        self._replies = replies

    def _start_lane(self, lane: Lane) -> asyncio.Task[None]:
        return _start(self._run_lane(lane), f"acpwire lane {self._replies.name}")

    def _start_request(self, serving: Serving) -> asyncio.Task[None]:
        return _start(self._run_request(serving), f"acpwire {serving.method}")

    async def _run_lane(self, lane: Lane) -> None:
        """Work off one lane; the task ends with the last item, and the lane with it."""
        handlers, in_a_row = self.handlers, 0
        scope = handlers.begin(lane)
        SCOPES.set((scope,))
        try:
            while lane.items:
                item = lane.take()
                if type(item) is tuple:
                    lane.running = item
                    try:
                        await item[0]()
                    except asyncio.CancelledError as error:
                        if _being_cancelled():
                            raise
                        self._replies.report(item[2], error)
                    except Exception as error:  # noqa: BLE001 - the boundary of notification handlers (ERR-10)
                        self._replies.report(item[2], error)
                    lane.running = None
                    if scope.used:
                        scope.end()
                        scope = handlers.begin(lane)
                        SCOPES.set((scope,))
                    in_a_row += 1
                    if not in_a_row % _IN_A_ROW:
                        await asyncio.sleep(0)
                elif isinstance(item, Serving):
                    handlers.admit(item)
                else:
                    cast("Answer[object]", item).resolve()
        finally:
            handlers.close_lane(lane)

    async def _run_request(self, serving: Serving) -> None:
        backlog = self.handlers.backlog
        scope = serving.scope = Scope(backlog, serving.key, backlog.waiting_requests)
        SCOPES.set((scope,))
        try:
            result = await serving.call()
        except asyncio.CancelledError as error:
            self.handlers.finish(serving)
            if serving.cancelled:
                self._replies.send_error(serving.id, CANCELLED)
            else:
                self._replies.fail(serving, error)
        except Exception as error:  # noqa: BLE001 - the boundary of request handlers (ERR-08)
            self.handlers.finish(serving)
            self._replies.fail(serving, error)
        else:
            self.handlers.finish(serving)
            self._replies.succeed(serving, result)
        finally:
            scope.end()


class Connection:
    """A peer joined to a transport.

    Nothing is read or written before `start`. After the end, whatever its reason, calls raise at once; the owner
    then awaits `aclose`.

    Args:
        transport: what carries the frames; closed with the connection.
        tap: see `Tap`.
        lane: see `LaneOf`.
        limits: bounds of queues and patience.
        answer_noise: see `Peer`.
        null_ids: see `Peer`.
        check: see `Peer`.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        tap: Tap,
        lane: LaneOf,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        answer_noise: bool = True,
        null_ids: bool = False,
        check: Finite = check_finite,
    ) -> None:
        self.name = transport.describe()
        """What logs call it."""
        self.reason: Exception | None = None
        """Why it is over: the first real error; `None` for an orderly end."""
        self.noise = ""
        """The end of the text that came and was no message, at most 4,096 characters."""
        self._transport = transport
        self._tap = tap
        self._lane_of = lane
        self._limits = limits
        self._peer = Peer(check=check, answer_noise=answer_noise, null_ids=null_ids)
        self._writer = _Writer(transport, self._peer, limits)
        self._replies = Replies(self._peer, self._writer.wake, self.name)
        self._handlers = _Runner(limits, self._replies).handlers
        self._backlog = self._handlers.backlog
        self._calls: dict[RequestId, Answer[Any]] = {}  # Any: each call has its own result
        self._ended = asyncio.Event()
        self._why: ConnectionClosed | None = None
        self._sealed = False
        self._patience_lost = False
        self._reader: asyncio.Task[None] | None = None
        self._closer: asyncio.Task[None] | None = None
        self._look_again: asyncio.Future[None] | None = None
        self._on: dict[type[Event], Callable[[Any], None]] = {  # Any: each takes its own event
            RequestReceived: self._on_request,
            ResponseReceived: self._on_response,
            CancelReceived: lambda event: self._handlers.cancel(event.id),
            Malformed: self._on_malformed,
            Noise: self._on_noise,
            ErrorReceived: self._replies.complain,
        }

    # -- life ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to read and write; needs a running loop.

        Raises:
            RuntimeError: it was started before.
            ConnectionClosed: it was closed before.
        """
        if self._reader is not None:
            raise RuntimeError("a connection is started once")
        self._check_open()
        self._writer.task = _start(self._write(), f"acpwire writer {self.name}")
        self._reader = _start(self._read(), f"acpwire reader {self.name}")

    @property
    def closed(self) -> bool:
        """Whether it is over: nothing can be asked any more."""
        return self._ended.is_set()

    @property
    def trace(self) -> Trace | None:
        """Shown each frame; may be set at any time."""
        return self._writer.trace

    @trace.setter
    def trace(self, trace: Trace | None) -> None:
        self._writer.trace = trace

    @property
    def on_overrun(self) -> OnOverrun | None:
        """Told of each lane that is overrun; may be set at any time."""
        return self._handlers.on_overrun

    @on_overrun.setter
    def on_overrun(self, on_overrun: OnOverrun | None) -> None:
        self._handlers.on_overrun = on_overrun

    async def wait_closed(self) -> None:
        """Return when the connection is over, for whatever reason."""
        await self._ended.wait()

    async def aclose(self) -> None:
        """End the connection: stop requests, let queued notification handlers end, send what is due, close.

        Each step is bounded (`close_patience`). May be called from any task, also from a handler, which is then not
        waited for; twice; and in a cancelled task. If the call is cancelled, closing goes on.
        """
        for scope in SCOPES.get():
            if scope.backlog is self._backlog:
                scope.leaves = True
        if self._look_again is not None and not self._look_again.done():
            self._look_again.set_result(None)
        if self._closer is None:
            self._closer = _start(self._close(), f"acpwire closer {self.name}")
        await asyncio.shield(self._closer)

    # -- calls --------------------------------------------------------------------------------------------

    async def request(
        self, method: str, params: object, *, lane: Hashable | None = None, decode: Callable[[Raw], _T]
    ) -> _T:
        """Send a request and return what `decode` makes of its result.

        `decode` is called when the response is read, in wire order; the call resolves after the notification handlers
        queued before it in `lane`. Cancelling sends `$/cancel_request`; the late response is dropped (CANC-01).

        Raises:
            RequestError: the other side answered with an error.
            RemoteProtocolError: the response was malformed.
            LocalProtocolError: the params are no JSON; nothing was sent.
            ConnectionClosed: the connection is over.
        """
        self._check_open()
        request_id = self._peer.send_request(method, params)
        scopes = SCOPES.get()
        future: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        call = Answer(request_id, method, lane, decode, future, scopes)
        self._calls[request_id] = call
        self._writer.wake()
        if scopes:
            begin_waiting(scopes)
        try:
            return await future
        finally:
            if scopes:
                end_waiting(scopes)
            self._leave(call)

    async def notify(self, method: str, params: object) -> None:
        """Send a notification. Waits only while more than `write_high` bytes wait to be written.

        Raises:
            LocalProtocolError: the params are no JSON; nothing was sent.
            ConnectionClosed: the connection is over.
        """
        if self._sealed:
            raise self._closed_error()
        self._peer.send_notification(method, params)
        writer = self._writer
        if writer.idle is not None:
            writer.wake()
        if writer.full:
            await writer.wait_for_room()
            if self._sealed:
                raise self._closed_error()

    def mailbox(self) -> Mailbox:
        """A queue for what waits for user code outside handlers, counted with everything else."""
        return Mailbox(self._backlog)

    def enter(self, mailbox: Mailbox) -> object:
        """Mark the current context as the reader of `mailbox`: while it waits for the other side, reading goes on."""
        return mailbox, mailbox.enter()

    def leave(self, token: object) -> None:
        """Undo `enter`, given what it returned."""
        mailbox, mark = cast("tuple[Mailbox, Token[Scopes]]", token)
        mailbox.leave(mark)

    def _leave(self, call: Answer[_T]) -> None:
        """The caller goes on, with an outcome or because it was cancelled."""
        if self._calls.pop(call.id, None) is not None:
            if self._peer.awaits(call.id):  # else its response was read, and waits for a pause to end
                self._peer.cancel_request(call.id)
                self._peer.forget(call.id)
                self._writer.wake()
        elif call.held is not None:
            call.held.items.remove(call)
            call.resolve()

    def _check_open(self) -> None:
        if self._why is not None or self._sealed:
            raise self._closed_error()

    def _closed_error(self) -> ConnectionClosed:
        if self._why is None:
            self._why = ConnectionClosed()
        return self._why.with_traceback(None)

    # -- reading ------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        SCOPES.set(())
        error: Exception | None = None
        try:
            await self._read_frames()
        except asyncio.CancelledError:
            return  # whoever cancelled it says why
        except Exception as failure:  # noqa: BLE001 - the boundary of reading: it becomes the reason
            error = failure
        self._end(self._transport.closed_error() or error or self.reason)

    async def _read_frames(self) -> None:
        peer, backlog, receive = self._peer, self._backlog, self._transport.receive
        soft_calls, soft_bytes = backlog.soft_calls, backlog.soft_bytes
        writer, on = self._writer, self._on
        tap, lane_of, hear = self._tap, self._lane_of, self._handlers.hear
        served = 0
        while True:
            frames = await receive()
            if not frames:
                return
            if writer.trace is not None:
                for frame in frames:
                    writer.trace("<", frame if isinstance(frame, bytes) else frame.head)
            peer.receive_frames(frames)
            for event in peer.events_received():
                if type(event) is NotificationReceived:  # nearly all are: no more calls for one than it takes
                    try:
                        call = tap(event)
                        if call is not None:
                            hear(call, event, lane_of(event))
                    except Exception as error:  # noqa: BLE001 - a boundary: no message ends the connection (ERR-10)
                        self._replies.ignore(event, error)
                else:
                    on[type(event)](event)
                    served += 1
                    if served == _TOGETHER:
                        served = 0
                        writer.wake()
                        await asyncio.sleep(0)
                if backlog.calls > soft_calls or backlog.bytes > soft_bytes:
                    await self._hold()
            if peer.outgoing_size:
                writer.wake()

    async def _hold(self) -> None:
        """Above the soft marks: pause, unless someone would wait for ever for what is not read."""
        backlog = self._backlog
        while backlog.above_soft:
            self._handlers.shed()
            if self._handlers.must_read_on or self._patience_lost or not backlog.above_soft:
                return
            await self._pause()

    async def _pause(self) -> None:
        """Wait until enough is taken. Queues that do not move while calls of ours are open end it: see (e)."""
        backlog = self._backlog
        before, patience = backlog.calls, self._limits.order_patience
        room = asyncio.get_running_loop().create_future()
        backlog.resume = partial(_set, room)
        try:
            await asyncio.wait({room}, timeout=patience)
        finally:
            backlog.resume = None
        if not room.done() and backlog.calls == before and self._calls:
            self._patience_lost = True
            backlog.resume = self._regain_patience
            _log.error("%s: no handler ended in %g s; reading on, for calls are open", self.name, patience)

    def _regain_patience(self) -> None:
        if self._backlog.low:
            self._patience_lost = False
            self._backlog.resume = None

    def _on_request(self, event: RequestReceived) -> None:
        try:
            call = self._tap(event)
            if call is None:
                raise TypeError("the tap returned no call for a request")
            self._handlers.serve(call, event, self._lane_of(event))
        except Exception as error:  # noqa: BLE001 - a boundary: it is answered, and logged when it is ours (ERR-08)
            self._replies.refuse(event, error)

    def _on_response(self, event: ResponseReceived) -> None:
        call = self._calls.pop(event.id, None)
        if call is None:
            return
        call.read(event)
        self._deliver(call)

    def _deliver(self, call: Answer[Any]) -> None:  # Any: each call has its own result
        lane = self._handlers.hold(call)
        if lane is not None:
            patience = self._limits.order_patience
            call.timer = asyncio.get_running_loop().call_later(patience, self._deliver_late, call, lane)

    def _deliver_late(self, call: Answer[Any], lane: Lane) -> None:  # Any: each call has its own result
        handler, method = (_describe(lane.running[0]), lane.running[2]) if lane.running else ("?", "?")
        _log.error(
            "%s: handler `%s` of `%s` held up the response to `%s` (id %r) for %g s: delivered out of order",
            *(self.name, handler, method, call.method, call.id, self._limits.order_patience),
        )
        lane.items.remove(call)
        call.resolve()

    def _on_malformed(self, event: Malformed) -> None:
        _log.warning("%s: malformed message: %s", self.name, event.reason)
        call = self._calls.pop(event.fails, None)
        if call is not None:
            call.spoil(event)
            self._deliver(call)

    def _on_noise(self, event: Noise) -> None:
        self.noise = f"{self.noise}{event.text}\n"[-_NOISE:]
        _log.warning("%s: not a message: %r", self.name, event.text)

    # -- the end ------------------------------------------------------------------------------------------

    async def _write(self) -> None:
        SCOPES.set(())
        try:
            await self._writer.run()
        except Exception as error:  # noqa: BLE001 - the boundary of writing: it becomes the reason
            self._sealed = True
            if self.closed:
                return
            self.reason, self._why = error, _as_closed(error)
            # The end of a process says more than a broken pipe, and is about to be read.
            asyncio.get_running_loop().call_later(_LAST_WORDS, self._give_up, error)

    def _give_up(self, error: Exception) -> None:
        self._end(error)
        if self._reader is not None:
            self._reader.cancel()

    def _end(self, reason: Exception | None) -> None:
        """Nothing can be asked any more: every call fails with the reason, now and later."""
        if self.closed:
            return
        self.reason = reason
        if isinstance(reason, AgentExited):
            reason.noise = reason.noise or self.noise
        if reason is not None:
            self._why = _as_closed(reason)
        elif self._why is None:
            self._why = ConnectionClosed(f"{self._transport.describe()} has ended the connection")
        self._ended.set()
        self._replies.over = True
        self._peer.receive_end()
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call.fail(self._why)

    async def _close(self) -> None:
        SCOPES.set(())
        try:
            if self._why is None:
                self._why = ConnectionClosed("the connection was closed on this side")
            self._end(self.reason)
            await _stop(self._reader)
            self._handlers.stop_requests()
            if not await self._wait_for_handlers(self._limits.close_patience):
                _log.error("%s: handlers still ran %g s after closing", self.name, self._limits.close_patience)
                for task in self._handlers.tasks():
                    task.cancel()
                await self._wait_for_handlers(_LINGER)
            self._sealed = True
            await self._flush()
        finally:
            self._sealed = True
            self._handlers.release_answers()
            self._peer.close()
            await self._close_transport()

    async def _close_transport(self) -> None:
        try:
            await self._transport.aclose()
        except Exception as error:  # noqa: BLE001 - a boundary: it must not hide why the connection was closed
            self.reason = self.reason or error
            _log.error("%s: closing the transport failed", self.name, exc_info=error)

    async def _wait_for_handlers(self, seconds: float) -> bool:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while tasks := self._handlers.tasks():
            left = deadline - loop.time()
            if left <= 0:
                return False
            self._look_again = loop.create_future()
            await asyncio.wait({*tasks, self._look_again}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        return True

    async def _flush(self) -> None:
        task = self._writer.task
        if task is None:
            return
        self._writer.finish()
        await asyncio.wait({task}, timeout=self._limits.close_patience)
        await _stop(task)


def _as_closed(error: Exception) -> ConnectionClosed:
    """What calls raise once `error` has ended the connection."""
    if isinstance(error, ConnectionClosed):
        return error
    closed = ConnectionClosed(str(error) or type(error).__name__)
    closed.__cause__ = error
    return closed


def _start(work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:  # Any: of no interest here
    return asyncio.Task(work, loop=asyncio.get_running_loop(), name=name)


async def _stop(task: asyncio.Task[None] | None) -> None:
    """Cancel a task and wait for its end, which is never an error here."""
    if task is not None and not task.done():
        task.cancel()
        await asyncio.wait({task})


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
