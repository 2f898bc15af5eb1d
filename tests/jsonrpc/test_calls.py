"""The outcome of one of our calls."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from msgspec import Raw

from acpwire.errors import AuthRequired, ErrorObject, RemoteProtocolError, RequestError
from acpwire.jsonrpc.calls import Answer
from acpwire.jsonrpc.events import Malformed, ResponseReceived


def make() -> tuple[Answer[bytes], Future[bytes]]:
    future: Future[bytes] = Future()
    return Answer(1, "m", None, bytes, future), future


def test_a_result_is_decoded_when_it_is_read_and_handed_over_later() -> None:
    answer, future = make()
    answer.read(ResponseReceived(1, Raw(b"7"), None, 1))
    assert not future.done()
    answer.resolve()
    assert future.result() == b"7"


@pytest.mark.req("ERR-02")
def test_an_error_becomes_the_exception_of_its_code() -> None:
    answer, future = make()
    answer.read(ResponseReceived(1, None, ErrorObject(code=-32000, message="m", data={"a": 1}), 1))
    answer.resolve()
    error = future.exception()
    assert isinstance(error, AuthRequired)
    assert (error.code, error.message, error.data) == (-32000, "m", {"a": 1})


def test_what_decoding_raises_is_raised_where_the_call_was_made() -> None:
    future: Future[int] = Future()
    answer = Answer(1, "m", None, lambda raw: int(bytes(raw)), future)
    answer.read(ResponseReceived(1, Raw(b'"x"'), None, 1))
    answer.resolve()
    assert isinstance(future.exception(), ValueError)


@pytest.mark.req("RPC-14")
def test_a_malformed_response_is_the_other_sides_fault() -> None:
    answer, future = make()
    answer.spoil(Malformed("no good", b"", answered=False, fails=1))
    answer.resolve()
    assert isinstance(future.exception(), RemoteProtocolError)


def test_going_on_ends_the_timer_of_a_held_answer() -> None:
    class Timer:
        cancelled = False

        def cancel(self) -> None:
            self.cancelled = True

    answer, _ = make()
    answer.timer = Timer()
    answer.resolve()
    assert answer.timer.cancelled


def test_a_caller_that_gave_up_is_left_alone() -> None:
    answer, future = make()
    future.cancel()
    future.set_running_or_notify_cancel()
    answer.fail(RequestError(1, "m"))
    answer.resolve()
    assert future.cancelled()
