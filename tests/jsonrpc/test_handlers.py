"""What runs when, without an event loop: the test plays the tasks."""

from __future__ import annotations

import json
from concurrent.futures import Future
from typing import Any

import pytest
from msgspec import Raw

from acpwire.errors import Overrun
from acpwire.jsonrpc.calls import Answer
from acpwire.jsonrpc.events import NotificationReceived, RequestReceived
from acpwire.jsonrpc.handlers import Handlers
from acpwire.jsonrpc.lanes import Lane, Limits, Serving
from acpwire.jsonrpc.peer import Peer
from acpwire.jsonrpc.replies import Replies


async def call() -> None: ...


class Task:
    """Stands for a task: the test says when it runs."""

    def __init__(self, of: Lane | Serving) -> None:
        self.of = of
        self.cancelled = False
        self.ended = False

    def cancel(self) -> None:
        self.cancelled = True

    def done(self) -> bool:
        return self.ended


class Stage:
    """Handlers whose tasks are lists."""

    def __init__(self, **limits: int) -> None:
        self.peer = Peer()
        self.lanes: list[Task] = []
        self.requests: list[Task] = []
        replies = Replies(self.peer, lambda: None, "test")
        self.handlers = Handlers(
            Limits(**limits),  # type: ignore[arg-type]
            replies,
            lambda lane: self.start(self.lanes, lane),
            lambda serving: self.start(self.requests, serving),
        )
        self.next_id = 0
        self.call: Any = call

    def start(self, tasks: list[Task], of: Lane | Serving) -> Task:
        tasks.append(Task(of))
        return tasks[-1]

    def notify(self, key: object = "a", size: int = 1) -> None:
        self.handlers.hear(call, NotificationReceived("n", Raw(b"{}"), size), key)

    def request(self, key: object = "a", size: int = 1) -> int:
        self.next_id += 1
        self.peer.receive_frame(b'{"jsonrpc":"2.0","id":%d,"method":"m"}' % self.next_id)
        self.handlers.serve(self.call, RequestReceived(self.next_id, "m", Raw(b"{}"), size), key)
        return self.next_id

    def run(self, lane: Lane) -> None:
        """Play a lane to its end."""
        while lane.items:
            item = lane.take()
            if isinstance(item, Serving):
                self.handlers.admit(item)
            elif isinstance(item, Answer):
                item.resolve()
        self.handlers.close_lane(lane)

    def answers(self) -> dict[int, int]:
        return {one["id"]: one["error"]["code"] for one in map(json.loads, self.peer.frames_to_send())}


def test_a_task_exists_only_while_its_lane_has_something_to_run() -> None:
    stage = Stage()
    for _ in range(3):
        stage.notify()
    assert len(stage.lanes) == 1
    stage.run(stage.handlers.lanes["a"])
    assert stage.handlers.lanes == {}
    stage.notify()
    assert len(stage.lanes) == 2


def test_a_request_waits_in_its_lane_and_not_for_other_lanes() -> None:
    stage = Stage()
    stage.notify("a")
    stage.request("a")
    stage.request("b")
    assert [task.of.id for task in stage.requests if isinstance(task.of, Serving)] == [2]
    stage.run(stage.handlers.lanes["a"])
    assert [task.of.id for task in stage.requests if isinstance(task.of, Serving)] == [2, 1]


def test_requests_above_the_maximum_wait_in_order_and_do_not_hold_up_notifications() -> None:
    stage = Stage(max_requests=2)
    for _ in range(4):
        stage.request()
    assert (len(stage.requests), stage.handlers.backlog.calls) == (2, 2)
    stage.notify()
    assert len(stage.lanes) == 1
    for expected in (3, 4):
        finished = stage.requests[0].of
        del stage.requests[0]
        assert isinstance(finished, Serving)
        stage.handlers.finish(finished)
        started = stage.requests[-1].of
        assert isinstance(started, Serving)
        assert started.id == expected


@pytest.mark.req("CANC-04")
def test_a_queued_request_that_is_cancelled_is_answered_and_never_runs() -> None:
    stage = Stage(max_requests=1)
    stage.notify("a")
    in_lane, running, waiting = stage.request("a"), stage.request("b"), stage.request("b")
    assert stage.handlers.backlog.calls == 3
    stage.handlers.cancel(in_lane)
    stage.handlers.cancel(waiting)
    assert stage.answers() == {in_lane: -32800, waiting: -32800}
    assert stage.handlers.backlog.calls == 1
    stage.run(stage.handlers.lanes["a"])
    assert [task.of.id for task in stage.requests if isinstance(task.of, Serving)] == [running]


@pytest.mark.req("CANC-04", "CANC-05")
def test_a_request_whose_task_has_not_begun_is_answered_for_it_and_frees_its_slot() -> None:
    stage = Stage(max_requests=1)
    first, second = stage.request(), stage.request()
    stage.handlers.cancel(first)
    stage.handlers.cancel(first)
    stage.handlers.cancel(99)
    assert stage.answers() == {first: -32800}
    assert stage.requests[0].cancelled
    assert isinstance(stage.requests[1].of, Serving)
    assert stage.requests[1].of.id == second


class Withdrawable:
    """A call with an end of its own for a request that was withdrawn before it began."""

    async def __call__(self) -> None: ...

    async def withdrawn(self) -> None: ...


@pytest.mark.req("CANC-04", "CANC-10")
def test_a_call_with_an_answer_for_that_runs_it_when_its_request_is_cancelled_before_it_began() -> None:
    stage = Stage(max_requests=1)
    stage.call = Withdrawable()
    stage.notify("a")
    in_lane, not_begun, waiting = stage.request("a"), stage.request("b"), stage.request("b")
    for request in (in_lane, not_begun, waiting):
        stage.handlers.cancel(request)
    started = [task.of for task in stage.requests if isinstance(task.of, Serving)]
    assert sorted(str(serving.id) for serving in started) == ["1", "2", "3"]
    assert {serving.call for serving in started} == {stage.call.withdrawn}
    assert not any(task.cancelled for task in stage.requests)
    assert (stage.answers(), stage.handlers.backlog.calls) == ({}, 1)


def test_such_a_call_runs_also_when_its_lane_was_stopped() -> None:
    stage = Stage()
    stage.call = Withdrawable()
    stage.notify("a")
    stage.request("a")
    stage.handlers.close_lane(stage.handlers.lanes["a"])
    (task,) = stage.requests
    assert isinstance(task.of, Serving)
    assert task.of.call == stage.call.withdrawn


def test_an_overrun_refuses_the_requests_in_the_queue_and_tells() -> None:
    stage, told = Stage(hard_calls=4), []
    stage.handlers.on_overrun = lambda key, overrun: told.append((key, overrun.count, overrun.bytes))
    stage.notify("quiet")
    for _ in range(3):
        stage.notify("loud", 10)
    refused = stage.request("loud", 10)
    stage.handlers.shed()
    assert told == [("loud", 4, 40)]
    assert stage.answers() == {refused: -32603}
    assert stage.handlers.backlog.calls == 1


def test_requests_that_wait_for_a_slot_are_bounded_too() -> None:
    stage = Stage(max_requests=1, hard_calls=2)
    for _ in range(4):
        stage.request()
    stage.handlers.shed()
    assert stage.answers() == {2: -32603, 3: -32603, 4: -32603}


def test_an_observer_of_overruns_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(hard_calls=1)

    def fail(_key: object, _overrun: Overrun) -> None:
        raise ValueError

    stage.handlers.on_overrun = fail
    for _ in range(2):
        stage.notify()
    stage.handlers.shed()
    assert "`on_overrun` failed" in caplog.text


def test_reading_must_go_on_while_a_handler_waits_that_others_wait_for() -> None:
    stage = Stage(max_requests=1)
    stage.notify()
    scope = stage.handlers.begin(stage.handlers.lanes["a"])
    assert not stage.handlers.must_read_on
    scope.wait()
    assert stage.handlers.must_read_on
    scope.go_on()
    assert not stage.handlers.must_read_on


def test_what_is_left_in_a_lane_that_was_stopped_is_not_lost_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()
    stage.notify()
    stage.notify()
    request = stage.request()
    future: Future[Any] = Future()
    answer: Answer[Any] = Answer(1, "m", "a", bytes, future)
    assert stage.handlers.hold(answer) is stage.handlers.lanes["a"]
    stage.handlers.close_lane(stage.handlers.lanes["a"])
    assert stage.answers() == {request: -32800}
    assert future.done()
    assert "2 queued notifications were not handled" in caplog.text


def test_an_answer_passes_an_idle_lane() -> None:
    stage = Stage()
    future: Future[Any] = Future()
    assert stage.handlers.hold(Answer(1, "m", "a", bytes, future)) is None
    assert future.done()


def test_closing_stops_all_requests_but_the_one_that_closes() -> None:
    stage = Stage(max_requests=2)
    closing, running, queued = stage.request(), stage.request(), stage.request()
    for task in stage.requests:
        assert isinstance(task.of, Serving)
        task.of.scope = stage.handlers.begin(Lane(stage.handlers.backlog, None))
    assert isinstance(stage.requests[0].of, Serving)
    assert stage.requests[0].of.scope is not None
    stage.requests[0].of.scope.leaves = True
    stage.handlers.stop_requests()
    stage.handlers.stop_requests()
    assert [task.cancelled for task in stage.requests] == [False, True]
    assert stage.answers() == {queued: -32800}
    assert [task.of.id for task in stage.handlers.tasks()] == [running]
    stage.requests[1].ended = True
    assert stage.handlers.tasks() == []
    assert closing == 1


def test_held_answers_are_released_in_the_end() -> None:
    stage = Stage()
    stage.notify()
    future: Future[Any] = Future()
    stage.handlers.hold(Answer(1, "m", "a", bytes, future))
    stage.handlers.release_answers()
    assert future.done()
    assert len(stage.handlers.lanes["a"].items) == 1
