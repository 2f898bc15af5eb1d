"""Lanes, mailboxes and the account of what waits in them."""

from __future__ import annotations

import contextlib
import contextvars
from concurrent.futures import Future
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpwire.errors import Overrun
from acpwire.jsonrpc.calls import Answer
from acpwire.jsonrpc.lanes import SCOPES, Backlog, Lane, Limits, Mailbox, Scope, Serving, begin_waiting, end_waiting


async def call() -> None: ...


def answer(key: object = None, *scopes: Scope) -> Answer[Any]:
    return Answer(1, "m", key, bytes, Future(), scopes)


def serving(size: int = 1) -> Serving:
    return Serving(1, "m", call, size, None)


def small(**limits: int) -> Backlog:
    return Backlog(Limits(**limits))  # type: ignore[arg-type]


def test_a_lane_gives_back_what_was_put_in_order_and_keeps_the_account() -> None:
    backlog = Backlog(Limits())
    lane = Lane(backlog, "a")
    request, held = serving(5), answer("a")
    lane.put((call, 10, "n"), 10)
    lane.put(request, 5)
    lane.hold(held)
    assert (backlog.calls, backlog.bytes, lane.sizes) == (2, 15, [10, 5])
    assert [lane.take() for _ in range(3)] == [(call, 10, "n"), request, held]
    assert (backlog.calls, backlog.bytes) == (0, 0)
    with pytest.raises(IndexError):
        lane.take()


def test_a_request_can_be_withdrawn_from_the_middle() -> None:
    backlog = Backlog(Limits())
    lane, request = Lane(backlog, "a"), serving(5)
    for _ in range(2):
        lane.put((call, 1, "n"), 1)
    lane.put(request, 5)
    lane.put((call, 1, "n"), 1)
    lane.withdraw(request)
    assert (backlog.calls, backlog.bytes, len(lane.items)) == (3, 3, 3)


# -- who holds whom -----------------------------------------------------------------------------------------------


def running(lane: Lane) -> Scope:
    lane.scope = Scope(lane.backlog, lane.key, lane.backlog.waiting, lane)
    return lane.scope


def test_an_answer_is_held_unless_its_call_was_made_in_this_lane() -> None:
    backlog = Backlog(Limits())
    here, there = Lane(backlog, "a"), Lane(backlog, "b")
    assert here.must_hold(answer("a"))
    assert here.must_hold(answer("a", running(there)))
    assert not here.must_hold(answer("a", running(here)))
    assert here.must_hold(answer("a", Scope(Backlog(Limits()), "a", set())))


def test_a_call_of_an_earlier_lane_of_the_same_session_is_not_held() -> None:
    backlog = Backlog(Limits())
    scope = running(Lane(backlog, "a"))
    scope.end()
    assert not Lane(backlog, "a").must_hold(answer("a", scope))


def test_an_answer_that_would_close_a_circle_is_not_held() -> None:
    backlog = Backlog(Limits())
    lanes = [Lane(backlog, number) for number in range(3)]
    scopes = [running(lane) for lane in lanes]
    first, second, third = (answer(number, scopes[number - 1]) for number in (1, 2, 0))
    first.scopes = (scopes[0],)
    second.scopes = (scopes[1],)
    third.scopes = (scopes[2],)
    lanes[1].hold(first)
    assert lanes[2].must_hold(second)
    lanes[2].hold(second)
    assert not lanes[0].must_hold(third)
    lanes[1].items.remove(first)
    lanes[1].let_go(first)
    assert lanes[0].must_hold(third)


# -- limits -------------------------------------------------------------------------------------------------------


def test_the_marks_are_passed_by_calls_or_by_bytes() -> None:
    backlog = small(soft_calls=2, soft_bytes=100, hard_calls=4, hard_bytes=200)
    lane = Lane(backlog, "a")
    lane.put((call, 101, "n"), 101)
    assert backlog.above_soft
    lane.take()
    for _ in range(3):
        lane.put((call, 1, "n"), 1)
    assert (backlog.above_soft, backlog.above_hard, backlog.low) == (True, False, False)
    for _ in range(2):
        lane.put((call, 1, "n"), 1)
    assert backlog.above_hard


def test_one_call_alone_may_wait_whatever_its_size() -> None:
    backlog = small(hard_bytes=10)
    Lane(backlog, "a").put((call, 1000, "n"), 1000)
    assert not backlog.above_hard


def test_the_largest_queue_is_told_by_the_mark_that_was_passed() -> None:
    backlog = small(hard_calls=4, hard_bytes=1000)
    many, big = Lane(backlog, "many"), Lane(backlog, "big")
    for _ in range(3):
        many.put((call, 1, "n"), 1)
    big.put((call, 900, "n"), 900)
    assert backlog.largest([many, big]) is big
    many.put((call, 1, "n"), 1)
    assert backlog.largest([many, big]) is many


def test_an_overrun_drops_the_calls_and_leaves_the_answers() -> None:
    backlog = Backlog(Limits())
    lane, held, request = Lane(backlog, "a"), answer("a"), serving(5)
    lane.put((call, 10, "n"), 10)
    lane.hold(held)
    lane.put(request, 5)
    dropped, refused = lane.overrun()
    assert (dropped.count, dropped.bytes, refused) == (2, 15, [request])
    assert (list(lane.items), backlog.calls, backlog.bytes) == ([held], 0, 0)


def test_a_paused_reader_is_told_when_half_of_the_soft_marks_are_free() -> None:
    told: list[int] = []
    backlog = small(soft_calls=4)
    lane = Lane(backlog, "a")
    for _ in range(5):
        lane.put((call, 1, "n"), 1)
    backlog.resume = lambda: told.append(backlog.calls)
    for _ in range(3):
        lane.take()
    assert told == [2]


# -- scopes -------------------------------------------------------------------------------------------------------


def test_a_scope_is_listed_while_one_of_its_calls_waits() -> None:
    backlog = Backlog(Limits())
    scope = Scope(backlog, "a", backlog.waiting)
    begin_waiting((scope,))
    begin_waiting((scope,))
    end_waiting((scope,))
    assert backlog.waiting == {scope}
    end_waiting((scope,))
    assert backlog.waiting == set()


def test_a_scope_that_has_ended_is_not_listed_whatever_its_tasks_do() -> None:
    backlog = Backlog(Limits())
    scope = Scope(backlog, "a", backlog.waiting)
    begin_waiting((scope,))
    scope.end()
    assert backlog.waiting == set()
    end_waiting((scope,))
    begin_waiting((scope,))
    assert backlog.waiting == set()


# -- mailboxes ----------------------------------------------------------------------------------------------------


def test_a_mailbox_gives_back_what_was_put_in_order_and_keeps_the_account() -> None:
    backlog = Backlog(Limits())
    mailbox = Mailbox(backlog)
    with pytest.raises(IndexError):
        mailbox.take()
    mailbox.put("a", 3)
    mailbox.put("b", 4)
    assert (len(mailbox), backlog.calls, backlog.bytes) == (2, 2, 7)
    assert [mailbox.take(), mailbox.take()] == ["a", "b"]
    assert (len(mailbox), backlog.calls, backlog.bytes) == (0, 0, 0)


def test_the_reader_is_woken_by_what_comes_into_an_empty_mailbox() -> None:
    mailbox, woken = Mailbox(Backlog(Limits())), []
    mailbox.wake = lambda: woken.append(len(mailbox))
    mailbox.put("a", 1)
    mailbox.put("b", 1)
    mailbox.take()
    mailbox.take()
    mailbox.put("c", 1)
    assert woken == [1, 1]


def test_a_closed_or_forgotten_mailbox_counts_no_more() -> None:
    backlog = Backlog(Limits())
    closed, forgotten = Mailbox(backlog), Mailbox(backlog)
    for mailbox in (closed, forgotten):
        mailbox.put("a", 3)
    closed.close()
    closed.close()
    closed.put("b", 1)
    assert (len(closed), backlog.calls, backlog.bytes) == (0, 1, 3)
    del mailbox, forgotten
    assert (backlog.calls, backlog.bytes, len(backlog.mailboxes)) == (0, 0, 1)


def test_an_overrun_is_raised_once_and_what_came_after_it_is_read() -> None:
    backlog = Backlog(Limits())
    mailbox = Mailbox(backlog)
    for _ in range(3):
        mailbox.put("lost", 10)
    mailbox.overrun()
    mailbox.put("lost too", 10)
    mailbox.overrun()
    mailbox.put("kept", 1)
    assert (backlog.calls, backlog.bytes) == (1, 1)
    with pytest.raises(Overrun) as overrun:
        mailbox.take()
    assert (overrun.value.count, overrun.value.bytes) == (4, 40)
    assert mailbox.take() == "kept"


def test_entering_marks_the_context_and_leaving_ends_it() -> None:
    backlog = Backlog(Limits())
    mailbox = Mailbox(backlog)
    token = mailbox.enter()
    (scope,) = SCOPES.get()
    begin_waiting(SCOPES.get())
    assert backlog.waiting == {scope}
    mailbox.leave(token)
    assert (SCOPES.get(), backlog.waiting) == ((), set())


def test_leaving_in_another_context_ends_the_readers_mark() -> None:
    backlog = Backlog(Limits())
    mailbox = Mailbox(backlog)
    token = mailbox.enter()
    begin_waiting(SCOPES.get())
    contextvars.Context().run(mailbox.leave, token)
    assert backlog.waiting == set()
    SCOPES.reset(token)


def test_whoever_waits_for_an_empty_mailbox_inside_a_handler_waits_for_the_other_side() -> None:
    backlog = Backlog(Limits())
    handler = Scope(backlog, "a", backlog.waiting)
    outer = SCOPES.set((handler,))
    mailbox = Mailbox(backlog)
    token = mailbox.enter()
    assert handler in backlog.waiting
    mailbox.put("a", 1)
    assert handler not in backlog.waiting
    mailbox.take()
    assert handler in backlog.waiting
    mailbox.put("b", 1)
    mailbox.overrun()
    assert handler not in backlog.waiting
    with pytest.raises(Overrun):
        mailbox.take()
    assert handler in backlog.waiting
    mailbox.leave(token)
    assert handler not in backlog.waiting
    SCOPES.reset(outer)


@given(st.lists(st.sampled_from(["put", "take", "overrun", "enter", "close"]), max_size=40))
def test_whatever_is_done_the_account_is_what_waits(actions: list[str]) -> None:
    backlog = Backlog(Limits())
    lane, mailboxes = Lane(backlog, "a"), [Mailbox(backlog) for _ in range(2)]
    outer = SCOPES.set((Scope(backlog, "outer", backlog.waiting),))
    for number, action in enumerate(actions):
        mailbox = mailboxes[number % 2]
        if action == "put":
            mailbox.put(number, number)
            lane.put((call, number, "n"), number)
        elif action == "overrun":
            (mailbox if number % 3 else lane).overrun()
        elif action == "enter":
            mailbox.leave(mailbox.enter())
        elif action == "close" and number % 5 == 0:
            mailbox.close()
        elif mailbox:
            with contextlib.suppress(Overrun):
                mailbox.take()
        sizes = lane.sizes + mailboxes[0].sizes + mailboxes[1].sizes
        assert (backlog.calls, backlog.bytes) == (len(sizes), sum(sizes))
        assert backlog.waiting == set()
    SCOPES.reset(outer)
