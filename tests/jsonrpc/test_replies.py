"""Answers to requests: exceptions as error objects, and what is logged."""

from __future__ import annotations

import asyncio
import json
import logging
import math

import pytest
from msgspec import Raw

from acpwire.errors import ConnectionClosed, ErrorObject, LocalProtocolError, RemoteProtocolError, RequestError
from acpwire.jsonrpc.events import NotificationReceived, RequestReceived
from acpwire.jsonrpc.lanes import Serving
from acpwire.jsonrpc.peer import Peer
from acpwire.jsonrpc.replies import Replies, error_object


async def call() -> None: ...


def make() -> tuple[Peer, Replies, Serving]:
    peer = Peer()
    peer.receive_frame(b'{"jsonrpc":"2.0","id":1,"method":"m"}')
    return peer, Replies(peer, lambda: None, "test"), Serving(1, "m", call, 1, None)


def answer_of(peer: Peer) -> dict[str, object]:
    (frame,) = peer.frames_to_send()
    answer: dict[str, object] = json.loads(frame)
    return answer


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param(RequestError(7, "m"), 7, id="as-is"),
        pytest.param(RemoteProtocolError("r"), -32603, id="somebody-elses"),
        pytest.param(LocalProtocolError("r"), -32603, id="ours"),
        pytest.param(ValueError("secret"), -32603, marks=pytest.mark.req("ERR-08"), id="unexpected"),
        pytest.param(asyncio.CancelledError(), -32603, id="cancelled-by-nobody"),
    ],
)
def test_each_exception_of_a_handler_has_its_code(error: BaseException, code: int) -> None:
    assert error_object(error).code == code


@pytest.mark.req("ERR-08")
def test_bad_params_are_answered_with_their_path() -> None:
    error = RemoteProtocolError("Expected `str`", path="$.a")
    assert error_object(error, reading=True) == ErrorObject(
        code=-32602, message="Invalid params: Expected `str`", data={"path": "$.a"}
    )


def test_data_goes_out_as_it_is_and_is_left_out_when_there_is_none() -> None:
    peer, replies, serving = make()
    replies.fail(serving, RequestError(7, "m", {"a": None}))
    assert answer_of(peer)["error"] == {"code": 7, "message": "m", "data": {"a": None}}
    peer, replies, serving = make()
    replies.fail(serving, RequestError(7, "m"))
    assert answer_of(peer)["error"] == {"code": 7, "message": "m"}


@pytest.mark.req("ERR-08")
def test_an_unexpected_error_is_logged_in_full_and_shows_nothing(caplog: pytest.LogCaptureFixture) -> None:
    peer, replies, serving = make()
    try:
        raise RuntimeError
    except RuntimeError as error:
        replies.fail(serving, error)
    assert answer_of(peer)["error"] == {"code": -32603, "message": "Internal error"}
    assert "`m` failed" in caplog.text
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("result", [object(), {"a": math.nan}])
@pytest.mark.req("RPC-16")
def test_a_result_that_cannot_be_sent_is_still_answered(result: object, caplog: pytest.LogCaptureFixture) -> None:
    peer, replies, serving = make()
    replies.succeed(serving, result)
    assert answer_of(peer)["error"] == {"code": -32603, "message": "Internal error"}
    assert "cannot be sent" in caplog.text


@pytest.mark.req("RPC-16")
def test_error_data_that_cannot_be_sent_is_still_answered() -> None:
    peer, replies, serving = make()
    replies.fail(serving, RequestError(7, "m", math.inf))
    assert answer_of(peer)["error"] == {"code": -32603, "message": "Internal error"}


def test_a_closed_peer_is_answered_nothing(caplog: pytest.LogCaptureFixture) -> None:
    peer, replies, serving = make()
    peer.close()
    replies.succeed(serving, {})
    replies.fail(serving, RequestError(7, "m"))
    assert peer.frames_to_send() == []
    assert caplog.records == []


@pytest.mark.req("ERR-10", "RPC-03", "RPC-36")
def test_a_notification_that_failed_is_logged_without_params_and_not_answered(caplog: pytest.LogCaptureFixture) -> None:
    peer, replies, _ = make()
    event = NotificationReceived("n", Raw(b'{"a":"secret"}'), 1)
    for error in (RemoteProtocolError("bad"), RequestError(1, "no"), ValueError("x")):
        replies.ignore(event, error)
    assert [record.levelno for record in caplog.records] == [logging.WARNING, logging.WARNING, logging.ERROR]
    assert "secret" not in caplog.text
    assert peer.frames_to_send() == []


def test_a_handler_that_fails_because_the_connection_is_over_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    _, replies, _ = make()
    replies.over = True
    replies.report("m", ConnectionClosed())
    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []


def test_a_request_that_nobody_takes_is_refused() -> None:
    peer, replies, _ = make()
    replies.refuse(RequestReceived(1, "m", Raw(b"{}"), 1), RequestError(-32601, "Method not found"))
    assert answer_of(peer)["error"] == {"code": -32601, "message": "Method not found"}
