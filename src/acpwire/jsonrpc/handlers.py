"""What runs when: the lanes, requests and slots of one connection, without an event loop.

Whoever drives it gives two functions that start tasks. The task of a lane takes its items in a loop: it awaits the call
of a notification, passes a request to `admit`, resolves an answer, and ends with `close_lane` when nothing is left. The
task of a request awaits its call and then passes it to `finish`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from typing import Any, TypeAlias, cast

from ..errors import INTERNAL_ERROR, ErrorObject, Overrun
from .calls import Answer
from .events import NotificationReceived, RequestReceived
from .lanes import Backlog, Call, Lane, Limits, Scope, Serving
from .messages import RequestId
from .replies import CANCELLED, Replies

__all__ = ["Handlers", "OnOverrun"]

OnOverrun: TypeAlias = Callable[[Hashable, Overrun], None]
"""Told which lane was overrun, and how much was dropped."""

_log = logging.getLogger("acpwire.jsonrpc")


class Handlers:
    """The handlers of one connection: queued, waiting for a slot, and running.

    Args:
        limits: bounds of the queues, and how many requests run at once.
        replies: answers what never gets to run.
        run_lane: starts the task of a lane and returns it.
        run_request: starts the task of a request and returns it.
    """

    def __init__(
        self,
        limits: Limits,
        replies: Replies,
        run_lane: Callable[[Lane], Any],  # Any: a task; nothing here knows of event loops
        run_request: Callable[[Serving], Any],  # Any: as above
    ) -> None:
        self.lanes: dict[Hashable, Lane] = {}
        """The lanes in which something is queued or runs."""
        self.backlog = Backlog(limits)
        self.on_overrun: OnOverrun | None = None
        self._replies = replies
        self._run_lane = run_lane
        self._run_request = run_request
        self._max = limits.max_requests
        self._serving: dict[RequestId, Serving] = {}
        self._running = 0
        self._slots = Lane(self.backlog, None)  # requests whose turn it is, when too many run

    # -- what was read ------------------------------------------------------------------------------------

    def hear(self, call: Call, event: NotificationReceived, key: Hashable) -> None:
        """Queue the call of a notification."""
        lane = self.lanes.get(key)
        if lane is None:
            lane = self.lanes[key] = Lane(self.backlog, key)
            lane.task = self._run_lane(lane)
        size, backlog = event.size, self.backlog  # as `lane.put` does, without the call
        lane.items.append((call, size, event.method))
        backlog.calls += 1
        backlog.bytes += size

    def serve(self, call: Call, event: RequestReceived, key: Hashable) -> None:
        """Queue a request behind what is in its lane, or admit it."""
        serving = Serving(event.id, event.method, call, event.size, key)
        self._serving[event.id] = serving
        lane = self.lanes.get(key)
        if lane is None:
            self.admit(serving)
        else:
            serving.queue = lane
            lane.put(serving, serving.size)

    def cancel(self, request_id: RequestId) -> None:
        """The other side withdraws a request; unknown ones are ignored (CANC-04, CANC-05)."""
        serving = self._serving.get(request_id)
        if serving is not None:
            self._stop(serving)

    def hold(self, answer: Answer[Any]) -> Lane | None:  # Any: each call has its own result
        """Let a call of ours go on, or queue its answer behind the handlers before it; then the lane is returned."""
        lane = self.lanes.get(answer.key)
        if lane is None or not lane.must_hold(answer):
            answer.resolve()
            return None
        lane.hold(answer)
        return lane

    # -- what runs ----------------------------------------------------------------------------------------

    def begin(self, lane: Lane) -> Scope:
        """The next handler of a lane is about to run: the scope of it."""
        lane.scope = Scope(self.backlog, lane.key, self.backlog.waiting, lane)
        return lane.scope

    def admit(self, serving: Serving) -> None:
        """A request was reached in its lane: start it, or let it wait for a slot."""
        if self._running < self._max:
            self._start(serving)
        else:
            serving.queue = self._slots
            self._slots.put(serving, serving.size)
            self.backlog.look()

    def _start(self, serving: Serving) -> None:
        self._running += 1
        serving.task = self._run_request(serving)

    def finish(self, serving: Serving) -> None:
        """A request is over, whether it ran or not; the next one gets its slot."""
        del self._serving[serving.id]
        if serving.task is None:
            return
        serving.task = None
        self._running -= 1
        while self._slots.items and self._running < self._max:
            self._start(cast(Serving, self._slots.take()))

    def close_lane(self, lane: Lane) -> None:
        """The task of a lane ends; where it was cancelled there may be something left."""
        if lane.scope is not None:
            lane.scope.end()
        lane.running = None
        del self.lanes[lane.key]
        if lane.items:
            self._clear(lane)

    def _clear(self, lane: Lane) -> None:
        lost = 0
        while lane.items:
            item = lane.take()
            if isinstance(item, Serving):
                self._stop(item)
            elif isinstance(item, Answer):
                item.resolve()
            else:
                lost += 1
        _log.error("%s: %d queued notifications were not handled", self._replies.name, lost)

    def _stop(self, serving: Serving) -> None:
        serving.cancelled = True
        if serving.scope is not None:
            serving.task.cancel()  # its handler answers, also when it does not mind
            return
        withdrawn: Call | None = getattr(serving.call, "withdrawn", None)
        if withdrawn is not None:
            serving.call = withdrawn
            if serving.queue is not None:
                serving.queue.withdraw(serving)
            if serving.task is None:
                self._start(serving)
            return
        # The handler never ran, so it cannot answer.
        if serving.queue is not None:
            serving.queue.withdraw(serving)
        if serving.task is not None:
            serving.task.cancel()
        self.finish(serving)
        self._replies.send_error(serving.id, CANCELLED)

    # -- limits -------------------------------------------------------------------------------------------

    @property
    def must_read_on(self) -> bool:
        """Whether someone who holds up a queue waits for the other side."""
        backlog = self.backlog
        return bool(backlog.waiting or (backlog.waiting_requests and self._slots.items))

    def shed(self) -> None:
        """Overrun the largest queue until the hard marks are kept."""
        backlog = self.backlog
        while backlog.above_hard:
            queue = backlog.largest([*self.lanes.values(), self._slots, *backlog.mailboxes])
            dropped, refused = queue.overrun()
            _log.error("%s: %s", self._replies.name, dropped)
            for serving in refused:
                self.finish(serving)
                self._replies.send_error(serving.id, ErrorObject(code=INTERNAL_ERROR, message=f"Overrun: {dropped}"))
            if isinstance(queue, Lane):
                self._tell(queue.key, dropped)

    def _tell(self, key: Hashable, dropped: Overrun) -> None:
        if self.on_overrun is None:
            return
        try:
            self.on_overrun(key, dropped)
        except Exception as error:  # noqa: BLE001 - a boundary: an observer does not end the connection
            _log.error("%s: `on_overrun` failed", self._replies.name, exc_info=error)

    # -- the end ------------------------------------------------------------------------------------------

    def tasks(self) -> list[Any]:  # Any: tasks; nothing here knows of event loops
        """The tasks that closing waits for: all but those that close."""
        busy: list[Lane | Serving] = [*self.lanes.values(), *self._serving.values()]
        return [
            one.task
            for one in busy
            if one.task is not None and not one.task.done() and not (one.scope and one.scope.leaves)
        ]

    def stop_requests(self) -> None:
        """Stop all requests, but one that closes the connection itself, and those that were stopped before."""
        for serving in list(self._serving.values()):
            if not serving.cancelled and not (serving.scope and serving.scope.leaves):
                self._stop(serving)

    def release_answers(self) -> None:
        """Nothing waits for order's sake any more."""
        for lane in self.lanes.values():
            answers = [item for item in lane.items if isinstance(item, Answer)]
            for answer in answers:
                lane.items.remove(answer)
                answer.resolve()
