"""The peer: every malformed input, ids, arrays, cancellation, and whole conversations."""

from __future__ import annotations

import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from acpwire.errors import ErrorObject, LocalProtocolError
from acpwire.jsonrpc.events import (
    CancelReceived,
    ErrorReceived,
    Event,
    Malformed,
    Noise,
    NotificationReceived,
    RequestReceived,
    ResponseReceived,
)
from acpwire.jsonrpc.peer import Peer
from acpwire.jsonrpc.transport import Oversized

IDS = st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(exclude_categories=["Cs"]))


def receive(peer: Peer, *frames: bytes | str) -> list[Event]:
    for frame in frames:
        peer.receive_frame(frame.encode() if isinstance(frame, str) else frame)
    return peer.events_received()


def sent(peer: Peer) -> list[object]:
    return [json.loads(frame) for frame in peer.frames_to_send()]


def error_of(answer: object) -> tuple[object, int]:
    assert isinstance(answer, dict)
    assert answer["jsonrpc"] == "2.0"
    assert "result" not in answer
    return answer["id"], answer["error"]["code"]


def works(peer: Peer) -> bool:
    """Whether a normal request is still served."""
    (event,) = receive(peer, '{"jsonrpc":"2.0","id":"still","method":"m"}')
    assert isinstance(event, RequestReceived)
    peer.respond(event.id, {})
    return sent(peer) == [{"jsonrpc": "2.0", "id": "still", "result": {}}]


# -- golden frames ------------------------------------------------------------------------------------------------


@pytest.mark.req("RPC-01", "RPC-02", "RPC-21")
def test_the_frames_that_are_written() -> None:
    peer = Peer()
    assert peer.send_request("a/b", {"x": 1}) == 1
    assert peer.send_request("a/b") == 2
    peer.send_notification("n", Raw(b'{"y":1.0}'))
    peer.send_notification("n")
    peer.cancel_request(1)
    receive(peer, '{"jsonrpc":"2.0","id":"r","method":"m"}', '{"jsonrpc":"2.0","id":5,"method":"m"}')
    peer.respond("r", {})
    peer.respond_error(5, ErrorObject(code=-1, message="no"))
    written = [
        b'{"jsonrpc":"2.0","id":1,"method":"a/b","params":{"x":1}}',
        b'{"jsonrpc":"2.0","id":2,"method":"a/b"}',
        b'{"jsonrpc":"2.0","method":"n","params":{"y":1.0}}',
        b'{"jsonrpc":"2.0","method":"n"}',
        b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}',
        b'{"jsonrpc":"2.0","id":"r","result":{}}',
        b'{"jsonrpc":"2.0","id":5,"error":{"code":-1,"message":"no"}}',
    ]
    assert peer.outgoing_size == sum(map(len, written))
    assert peer.frames_to_send() == written
    assert (peer.outgoing_size, peer.frames_to_send()) == (0, [])


@pytest.mark.req("RPC-20", "RPC-32")
def test_the_frames_that_are_read() -> None:
    peer = Peer()
    peer.send_request("ours")
    peer.frames_to_send()
    frames = [
        b'{"jsonrpc":"2.0","id":3,"method":"m","params": {"a":1.0} }',
        b'{"jsonrpc":"2.0","id":"3","method":"m","params":null,"future":[1]}',
        b'{"method":"n","jsonrpc":"2.0"}',
        '{"jsonrpc":"2.0","method":"n","params":{"ü":"😀"}}'.encode(),
        b'{"jsonrpc":"2.0","id":1,"result":null}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"what?"}}',
    ]
    events = receive(peer, *frames)
    assert [type(event).__name__ for event in events] == [
        "RequestReceived",
        "RequestReceived",
        "NotificationReceived",
        "NotificationReceived",
        "ResponseReceived",
        "ErrorReceived",
    ]
    first, second, third, fourth, fifth, sixth = events
    assert isinstance(first, RequestReceived)
    assert (first.id, first.method, bytes(first.params).strip(), first.size) == (3, "m", b'{"a":1.0}', len(frames[0]))
    assert isinstance(second, RequestReceived)
    assert (second.id, bytes(second.params)) == ("3", b"{}")
    assert isinstance(third, NotificationReceived)
    assert bytes(third.params) == b"{}"
    assert isinstance(fourth, NotificationReceived)
    assert json.loads(bytes(fourth.params)) == {"ü": "😀"}
    assert isinstance(fifth, ResponseReceived)
    assert (fifth.id, fifth.result is not None and bytes(fifth.result), fifth.error) == (1, b"null", None)
    assert sixth == ErrorReceived(ErrorObject(code=-32600, message="what?"))
    assert peer.frames_to_send() == []


# -- malformed ----------------------------------------------------------------------------------------------------

DEEP = '{"jsonrpc":"2.0","method":"m","params":{"a":' + "[" * 100_000 + "]" * 100_000 + "}}"


@pytest.mark.parametrize(
    ("frame", "answer"),
    [
        pytest.param("not json", (None, -32700), marks=pytest.mark.req("RPC-12"), id="words"),
        pytest.param('{"jsonrpc":"2.0"', (None, -32700), marks=pytest.mark.req("RPC-12"), id="cut"),
        pytest.param(b"\xff\xfe", (None, -32700), marks=pytest.mark.req("RPC-12"), id="no-utf-8"),
        pytest.param(b'{"jsonrpc":"2.0","method":"m","params":{"a":"\xff"}}', (None, -32700), id="no-utf-8-in-params"),
        pytest.param(DEEP, (None, -32700), id="deep"),
        pytest.param("42", (None, -32600), marks=pytest.mark.req("RPC-13"), id="number"),
        pytest.param("null", (None, -32600), marks=pytest.mark.req("RPC-13"), id="null"),
        pytest.param('"x"', (None, -32600), marks=pytest.mark.req("RPC-13"), id="string"),
        pytest.param("{}", (None, -32600), marks=pytest.mark.req("RPC-13"), id="empty-object"),
        pytest.param("[]", (None, -32600), marks=pytest.mark.req("RPC-28"), id="empty-array"),
        pytest.param('{"jsonrpc":"2.0","id":1}', (None, -32600), marks=pytest.mark.req("RPC-13"), id="only-id"),
        pytest.param(
            '{"jsonrpc":"2.0","id":1,"method":5}', (None, -32600), marks=pytest.mark.req("RPC-13"), id="method"
        ),
        pytest.param('{"jsonrpc":"2.0","method":5}', (None, -32600), id="method-without-id"),
        pytest.param('{"id":1,"method":"m"}', (None, -32600), marks=pytest.mark.req("RPC-01"), id="no-version"),
        pytest.param(
            '{"jsonrpc":2.0,"id":1,"method":"m"}', (None, -32600), marks=pytest.mark.req("RPC-01"), id="version"
        ),
        pytest.param(
            '{"jsonrpc":"2.0","id":null,"method":"m"}', (None, -32600), marks=pytest.mark.req("RPC-11"), id="null-id"
        ),
        pytest.param(
            '{"jsonrpc":"2.0","id":1.5,"method":"m"}', (None, -32600), marks=pytest.mark.req("RPC-11"), id="fraction"
        ),
        pytest.param(
            '{"jsonrpc":"2.0","id":true,"method":"m"}', (None, -32600), marks=pytest.mark.req("RPC-04"), id="true"
        ),
        pytest.param('{"jsonrpc":"2.0","id":9223372036854775808,"method":"m"}', (None, -32600), id="65-bits"),
        pytest.param('{"jsonrpc":"2.0","id":"\\ud83d","method":"m"}', (None, -32600), id="half-in-id"),
        pytest.param('{"jsonrpc":"2.0","id":1,"method":"\\ude00"}', (None, -32600), id="half-in-method"),
        pytest.param(
            '{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}',
            (1, -32602),
            marks=pytest.mark.req("RPC-19"),
            id="array",
        ),
        pytest.param(
            '{"jsonrpc":"2.0","id":1,"method":"m","params":5}',
            (1, -32602),
            marks=pytest.mark.req("RPC-19"),
            id="scalar",
        ),
    ],
)
def test_what_is_malformed_is_answered_once_and_the_peer_goes_on(
    frame: str | bytes, answer: tuple[object, int]
) -> None:
    peer = Peer()
    (event,) = receive(peer, frame)
    assert isinstance(event, Malformed)
    assert event.answered
    assert event.head == (frame.encode() if isinstance(frame, str) else frame)[:1024]
    assert [error_of(one) for one in sent(peer)] == [answer]
    assert works(peer)


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param('{"jsonrpc":"2.0","id":{"a":1},"result":{}}', marks=pytest.mark.req("RPC-14"), id="object-id"),
        pytest.param('{"jsonrpc":"2.0","id":7}'.replace("7}", '7,"result":1,"error":{}}'), id="unknown-with-both"),
        pytest.param('{"jsonrpc":"2.0","id":7,"result":{}}', marks=pytest.mark.req("RPC-15"), id="unknown-id"),
        pytest.param('{"jsonrpc":"2.0","id":"1","result":{}}', marks=pytest.mark.req("RPC-15"), id="id-of-other-type"),
        pytest.param('{"jsonrpc":"2.0","result":{}}', id="no-id"),
        pytest.param('{"jsonrpc":"2.0","id":null,"result":{}}', id="null-id"),
        pytest.param('{"jsonrpc":"2.0","error":{"code":"x"}}', id="bad-error-without-id"),
        pytest.param('{"id":7,"error":{"code":1,"message":"m"}}', id="no-version"),
        pytest.param('{"jsonrpc":"2.0","method":"n","params":[1]}', marks=pytest.mark.req("RPC-03"), id="array-params"),
        pytest.param(
            '{"jsonrpc":"2.0","method":"n","params":"x"}', marks=pytest.mark.req("RPC-03"), id="scalar-params"
        ),
        pytest.param('{"method":"n"}', marks=pytest.mark.req("RPC-03"), id="notification-without-version"),
        pytest.param('{"jsonrpc":"2.0","method":"$/cancel_request"}', id="cancel-without-id"),
        pytest.param(
            '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":[]}}', id="cancel-with-bad-id"
        ),
    ],
)
def test_malformed_responses_and_notifications_are_reported_and_never_answered(frame: str) -> None:
    peer = Peer()
    peer.send_request("ours")
    peer.frames_to_send()
    (event,) = receive(peer, frame)
    assert isinstance(event, Malformed)
    assert not event.answered
    assert event.fails is None
    assert peer.frames_to_send() == []
    assert works(peer)


@pytest.mark.parametrize(
    "frame",
    [
        '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}',
        '{"jsonrpc":"2.0","id":1,"error":"text"}',
        '{"jsonrpc":"2.0","id":1,"error":{"message":"no code"}}',
        '{"id":1,"result":{}}',
        '{"jsonrpc":"2.0","id":1,"method":7,"result":{}}',
        Oversized(9000, 1000, b'{"jsonrpc":"2.0","id":1,"result":{"text":"aaaa'),
    ],
)
@pytest.mark.req("RPC-14")
def test_a_malformed_response_fails_the_call_that_it_was_for(frame: str | Oversized) -> None:
    peer = Peer()
    peer.send_request("ours")
    peer.frames_to_send()
    peer.receive_frame(frame.encode() if isinstance(frame, str) else frame)
    (event,) = peer.events_received()
    assert isinstance(event, Malformed)
    assert event.fails == 1
    assert peer.frames_to_send() == []
    assert [type(late) for late in receive(peer, '{"jsonrpc":"2.0","id":1,"result":{}}')] == [Malformed]


@pytest.mark.req("ERR-01", "ERR-05", "ERR-06")
def test_an_error_of_any_code_and_data_is_received_as_it_is() -> None:
    peer = Peer()
    peer.send_request("ours")
    (event,) = receive(peer, '{"jsonrpc":"2.0","id":1,"error":{"code":-12345,"message":"m","data":[null,1.5],"x":1}}')
    assert isinstance(event, ResponseReceived)
    assert event.error == ErrorObject(code=-12345, message="m", data=[None, 1.5])


@pytest.mark.parametrize(
    ("head", "answers"),
    [
        (b'{"jsonrpc":"2.0","id":"r","method":"m","params":{"a":"', [("r", -32600)]),
        (b'{"jsonrpc":"2.0","method":"m","params":{"a":"', []),
        (b'{"params":{"a":"', [(None, -32600)]),
    ],
)
def test_a_frame_above_the_size_limit_fails_alone(head: bytes, answers: list[tuple[object, int]]) -> None:
    peer = Peer()
    peer.receive_frame(Oversized(9000, 1000, head))
    (event,) = peer.events_received()
    assert isinstance(event, Malformed)
    assert "9000" in event.reason
    assert [error_of(one) for one in sent(peer)] == answers
    assert works(peer)


@pytest.mark.req("RPC-36")
def test_an_error_answer_does_not_repeat_what_it_refuses() -> None:
    peer = Peer()
    receive(peer, '{"jsonrpc":"secret","id":"secret","method":"secret"}', "secret", '{"secret":1}', "[[]]")
    assert all(b"secret" not in frame for frame in peer.frames_to_send())


# -- noise --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["Loaded credentials", "[INFO] ready", "", "\x1b[0m", "Größe"])
def test_toward_a_program_of_ours_text_is_reported_and_not_answered(text: str) -> None:
    peer = Peer(answer_noise=False)
    assert receive(peer, text) == [Noise(text)]
    assert peer.frames_to_send() == []
    assert works(peer)


def test_toward_a_program_of_ours_a_cut_message_is_answered_all_the_same() -> None:
    peer = Peer(answer_noise=False)
    assert [type(event) for event in receive(peer, '{"jsonrpc":"2.0","id":1,"meth')] == [Malformed]
    assert [error_of(one) for one in sent(peer)] == [(None, -32700)]


@pytest.mark.parametrize("noise", [b"\xef\xbb\xbf", b"\x1b[1 q"])
def test_a_message_behind_an_escape_sequence_is_read(noise: bytes) -> None:
    peer = Peer(answer_noise=False)
    peer.send_request("initialize")
    heard, response = receive(peer, noise + b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}')
    assert heard == Noise(noise.decode())
    assert isinstance(response, ResponseReceived)
    assert response.result is not None
    assert bytes(response.result) == b'{"a":1}'


def test_a_lone_half_of_a_surrogate_pair_is_no_cut_line() -> None:
    peer = Peer()
    (event,) = receive(peer, '{"jsonrpc":"2.0","method":"n","params":{"text":"\\ud83d"}}')
    assert isinstance(event, NotificationReceived)
    assert bytes(event.params) == b'{"text":"\\ud83d"}'


# -- ids ----------------------------------------------------------------------------------------------------------


@given(IDS)
@pytest.mark.req("RPC-06", "RPC-07")
def test_an_answer_repeats_the_id_in_type_and_value(request_id: int | str) -> None:
    peer = Peer()
    peer.receive_frame(msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "method": "m"}))
    (event,) = peer.events_received()
    assert isinstance(event, RequestReceived)
    assert (type(event.id), event.id) == (type(request_id), request_id)
    peer.respond(event.id, {})
    (answer,) = sent(peer)
    assert isinstance(answer, dict)
    assert (type(answer["id"]), answer["id"]) == (type(request_id), request_id)


@pytest.mark.req("RPC-07", "RPC-08")
def test_a_number_its_text_and_our_own_equal_id_are_three_requests() -> None:
    peer = Peer()
    assert peer.send_request("ours") == 1
    receive(peer, '{"jsonrpc":"2.0","id":1,"method":"m"}', '{"jsonrpc":"2.0","id":"1","method":"m"}')
    peer.frames_to_send()
    peer.respond("1", "text")
    peer.respond(1, "number")
    assert [(one["id"], one["result"]) for one in sent(peer) if isinstance(one, dict)] == [("1", "text"), (1, "number")]
    (event,) = receive(peer, '{"jsonrpc":"2.0","id":1,"result":"ours"}')
    assert isinstance(event, ResponseReceived)


@pytest.mark.req("RPC-05")
def test_in_v1_a_request_may_have_the_id_null() -> None:
    peer = Peer(null_ids=True)
    (event,) = receive(peer, '{"jsonrpc":"2.0","id":null,"method":"m"}')
    assert isinstance(event, RequestReceived)
    peer.respond(None, {})
    assert sent(peer) == [{"jsonrpc": "2.0", "id": None, "result": {}}]


@pytest.mark.req("RPC-09")
def test_an_id_in_use_is_refused_without_answering_the_first_request_twice() -> None:
    peer = Peer()
    receive(peer, '{"jsonrpc":"2.0","id":1,"method":"m"}')
    (event,) = receive(peer, '{"jsonrpc":"2.0","id":1,"method":"m"}')
    assert isinstance(event, Malformed)
    peer.respond(1, {})
    refused, answer = sent(peer)
    assert error_of(refused) == (None, -32600)
    assert answer == {"jsonrpc": "2.0", "id": 1, "result": {}}
    (again,) = receive(peer, '{"jsonrpc":"2.0","id":1,"method":"m"}')
    assert isinstance(again, RequestReceived)


@pytest.mark.req("RPC-09")
def test_our_ids_are_never_reused() -> None:
    peer = Peer()
    first = peer.send_request("m")
    receive(peer, f'{{"jsonrpc":"2.0","id":{first},"result":{{}}}}')
    assert peer.send_request("m") != first


# -- arrays -------------------------------------------------------------------------------------------------------


@pytest.mark.req("RPC-28")
def test_an_array_is_read_in_order_and_answered_with_one_array() -> None:
    peer = Peer()
    entries = (
        '{"jsonrpc":"2.0","id":1,"method":"a"}',
        '{"jsonrpc":"2.0","method":"b"}',
        '{"foo":1}',
        '{"jsonrpc":"2.0","id":"x","method":"c"}',
    )
    events = receive(peer, f"[{','.join(entries)}]")
    assert [getattr(event, "method", "bad") for event in events] == ["a", "b", "bad", "c"]
    assert peer.frames_to_send() == []
    peer.respond("x", 1)
    assert peer.frames_to_send() == []
    receive(peer, '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}')
    peer.respond_error(1, ErrorObject(code=-32800, message="Request cancelled"))
    (answer,) = sent(peer)
    assert isinstance(answer, list)
    assert {one["id"]: one.get("result", one.get("error", {}).get("code")) for one in answer} == {
        None: -32600,
        "x": 1,
        1: -32800,
    }


@pytest.mark.parametrize(
    ("frame", "answers"),
    [
        ('[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]', []),
        ('[{"jsonrpc":"2.0","id":9,"result":1}]', []),
        ("[1]", [[(None, -32600)]]),
        ("[1,[]]", [[(None, -32600), (None, -32600)]]),
        ('[{"jsonrpc":"2.0","id":1,"method":"m","params":[]}]', [[(1, -32602)]]),
    ],
)
@pytest.mark.req("RPC-28")
def test_an_array_without_requests_is_answered_at_once_or_not_at_all(frame: str, answers: list[object]) -> None:
    peer = Peer()
    receive(peer, frame)
    assert [[error_of(one) for one in answer] for answer in sent(peer) if isinstance(answer, list)] == answers
    assert works(peer)


def test_an_array_twice_with_one_id_counts_each_entry_once() -> None:
    peer = Peer()
    request = '{"jsonrpc":"2.0","id":1,"method":"m"}'
    receive(peer, f"[{request},{request}]")
    peer.respond(1, {})
    (answer,) = sent(peer)
    assert isinstance(answer, list)
    assert [one["id"] for one in answer] == [None, 1]


# -- cancelling ---------------------------------------------------------------------------------------------------


@pytest.mark.req("CANC-01", "CANC-07")
def test_a_response_after_cancel_still_resolves_the_request() -> None:
    peer = Peer()
    request_id = peer.send_request("m")
    peer.cancel_request(request_id)
    assert peer.awaits(request_id)
    (event,) = receive(peer, '{"jsonrpc":"2.0","id":1,"result":{}}')
    assert isinstance(event, ResponseReceived)
    assert not peer.awaits(request_id)


def test_the_late_response_to_a_forgotten_request_is_dropped_quietly_once() -> None:
    peer = Peer()
    peer.forget(peer.send_request("m"))
    assert receive(peer, '{"jsonrpc":"2.0","id":1,"result":{}}') == []
    assert [type(event) for event in receive(peer, '{"jsonrpc":"2.0","id":1,"result":{}}')] == [Malformed]


def test_forgotten_requests_do_not_pile_up() -> None:
    peer = Peer()
    for _ in range(3000):
        peer.forget(peer.send_request("m"))
    assert len(peer._sent) <= 1024
    assert receive(peer, '{"jsonrpc":"2.0","id":3000,"result":{}}') == []


def test_a_forgotten_request_with_a_malformed_response_is_remembered_no_more() -> None:
    peer = Peer()
    peer.forget(peer.send_request("m"))
    (event,) = receive(peer, '{"jsonrpc":"2.0","id":1,"result":1,"error":1}')
    assert isinstance(event, Malformed)
    assert event.fails is None
    for _ in range(1500):
        peer.forget(peer.send_request("m"))
    assert len(peer._sent) == len(peer._forgotten) == 1024


@pytest.mark.req("CANC-02", "CANC-04", "CANC-05")
def test_a_cancellation_is_told_once_and_only_for_a_request_of_the_sender_that_runs() -> None:
    peer = Peer()
    cancel = '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}'
    peer.send_request("ours")
    assert receive(peer, cancel) == []
    receive(peer, '{"jsonrpc":"2.0","id":1,"method":"m"}')
    assert receive(peer, cancel, cancel) == [CancelReceived(1)]
    assert receive(peer, cancel.replace("1}", '"1"}')) == []
    peer.respond(1, {})
    assert receive(peer, cancel) == []
    assert len(peer.frames_to_send()) == 2


def test_a_cancellation_sent_as_a_request_is_a_request_like_any_other() -> None:
    (event,) = receive(Peer(), '{"jsonrpc":"2.0","id":1,"method":"$/cancel_request","params":{"requestId":1}}')
    assert isinstance(event, RequestReceived)


@pytest.mark.req("RPC-33")
def test_other_notifications_of_the_protocol_level_are_passed_on() -> None:
    (event,) = receive(Peer(), '{"jsonrpc":"2.0","method":"$/future"}')
    assert isinstance(event, NotificationReceived)


# -- what we must not do ------------------------------------------------------------------------------------------


@pytest.mark.req("RPC-16")
def test_wrong_calls_are_refused_before_anything_is_sent() -> None:
    peer = Peer()
    receive(peer, '{"jsonrpc":"2.0","id":1,"method":"m"}')
    peer.respond(1, {})
    peer.frames_to_send()
    error = ErrorObject(code=1, message="m")
    for wrong in (
        lambda: peer.respond(1, {}),
        lambda: peer.respond_error(1, error),
        lambda: peer.respond("1", {}),
        lambda: peer.cancel_request(1),
        lambda: peer.forget(1),
    ):
        with pytest.raises(LocalProtocolError):
            wrong()
    assert peer.frames_to_send() == []


def test_after_the_end_nothing_is_asked_and_what_is_owed_is_answered() -> None:
    peer = Peer()
    receive(peer, '{"jsonrpc":"2.0","id":1,"method":"m"}')
    peer.receive_end()
    with pytest.raises(LocalProtocolError):
        peer.send_request("m")
    peer.send_notification("n")
    peer.respond(1, {})
    assert len(peer.frames_to_send()) == 2
    assert [type(event) for event in receive(peer, '{"jsonrpc":"2.0","method":"n"}')] == [Malformed]
    peer.close()
    for wrong in (lambda: peer.send_notification("n"), lambda: peer.respond(1, {}), lambda: peer.send_request("m")):
        with pytest.raises(LocalProtocolError):
            wrong()
    peer.close()
    assert peer.state == "closed"


@pytest.mark.parametrize("bad", [object(), {1j: 2}, "\ud83d", {"a": math.nan}])
def test_a_value_that_is_no_json_is_refused_and_leaves_no_trace(bad: object) -> None:
    peer = Peer()
    receive(peer, '{"jsonrpc":"2.0","id":1,"method":"m"}')
    for wrong in (
        lambda: peer.send_request("m", bad),
        lambda: peer.send_notification("m", bad),
        lambda: peer.respond(1, bad),
    ):
        with pytest.raises(LocalProtocolError):
            wrong()
    assert peer.frames_to_send() == []
    assert peer.send_request("m") == 1
    peer.respond(1, {})


def test_the_check_is_asked_only_when_there_is_a_null() -> None:
    asked: list[object] = []
    peer = Peer(check=asked.append)
    peer.send_notification("m", {"a": 1})
    peer.send_notification("m", {"a": None})
    assert asked == [{"a": None}]


def test_frames_hold_no_line_ends() -> None:
    peer = Peer()
    peer.send_notification("m", Raw(b'{\n  "text": "a\\nb"\n}'))
    peer.send_notification("m", {"text": "a\nb"})
    frames = peer.frames_to_send()
    assert all(b"\n" not in frame for frame in frames)
    assert [json.loads(frame)["params"] for frame in frames] == [{"text": "a\nb"}] * 2


# -- conversations ------------------------------------------------------------------------------------------------

ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["request", "notify", "cancel", "answer", "fail", "forget", "swap", "garbage", "array"]),
        st.integers(0, 5),
    ),
    max_size=60,
)


@given(ACTIONS)
@pytest.mark.req("RPC-08", "RPC-16", "CANC-04")
def test_two_peers_answer_each_request_once_whatever_they_say(actions: list[tuple[str, int]]) -> None:
    here, there = Peer(), Peer()
    open_here: list[int] = []
    open_there: list[int] = []
    owed: dict[int, list[object]] = {id(here): [], id(there): []}
    answered: list[int] = []

    def exchange() -> None:
        for source, target, waiting in ((here, there, open_there), (there, here, open_here)):
            for frame in source.frames_to_send():
                target.receive_frame(frame)
            for event in target.events_received():
                if isinstance(event, RequestReceived):
                    owed[id(target)].append(event.id)
                elif isinstance(event, ResponseReceived):
                    assert isinstance(event.id, int)
                    waiting.remove(event.id)
                    answered.append(event.id)

    for action, choice in actions:
        if action == "request":
            open_here.append(here.send_request("m"))
        elif action == "notify":
            here.send_notification("n")
        elif action == "cancel" and choice < len(open_here):
            if here._sent.get(open_here[choice]) == "waiting":
                here.cancel_request(open_here[choice])
        elif action == "forget" and choice < len(open_here):
            here.forget(open_here.pop(choice))
        elif action in ("answer", "fail") and choice < len(owed[id(here)]):
            request_id = owed[id(here)].pop(choice)
            if action == "answer":
                here.respond(request_id, {})  # type: ignore[arg-type]
            else:
                here.respond_error(request_id, ErrorObject(code=1, message="m"))  # type: ignore[arg-type]
        elif action == "garbage":
            there.receive_frame(b'{"jsonrpc":')
        elif action == "array":
            there.receive_frame(
                b'[{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":"a%d","method":"m"}]' % len(answered)
            )
        else:
            here, there, open_here, open_there = there, here, open_there, open_here
        exchange()
    for peer in (here, there):
        for request_id in owed[id(peer)]:
            peer.respond(request_id, {})  # type: ignore[arg-type]
        owed[id(peer)] = []
    for peer in (here, there):
        for frame in peer.frames_to_send():
            (there if peer is here else here).receive_frame(frame)
        assert peer._received == {}
    for peer, waiting in ((here, open_here), (there, open_there)):
        for event in peer.events_received():
            if isinstance(event, ResponseReceived):
                waiting.remove(event.id)  # type: ignore[arg-type]
        assert waiting == []
