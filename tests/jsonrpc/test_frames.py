"""Frames that need a second look, heads of oversized ones, and numbers that JSON does not have."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from acpwire.errors import LocalProtocolError
from acpwire.jsonrpc.frames import Broken, Entries, check_finite, read_head, read_odd_frame, split_noise
from acpwire.jsonrpc.messages import Envelope

DEEP = b'{"a":' * 100_000 + b"1" + b"}" * 100_000


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        pytest.param(b"not json", "text", id="words"),
        pytest.param(b'{"jsonrpc":"2.0","method":"m"', "text", id="cut"),
        pytest.param(b'{"jsonrpc":"2.0","method":"m"} x', "text", id="trailing"),
        pytest.param(b"\xff\xfe", "text", id="no-utf-8"),
        pytest.param(b'{"jsonrpc":"2.0","method":"m","params":{"a":"\xff"}}', "text", id="no-utf-8-inside"),
        pytest.param(b'{"a":NaN}', "text", id="nan"),
        pytest.param(b'{"a":NaN,"b":"\\ud83d"}', "text", id="nan-beside-a-half"),
        pytest.param(b'{"a":1e999,"b":"\\ud83d"}', "text", id="endless-beside-a-half"),
        pytest.param(b'["\\ud83d",Infinity]', "text", id="infinity-in-an-array"),
        pytest.param(DEEP, "text", id="deep-object"),
        pytest.param(b"[" * 100_000, "text", id="deep-array"),
        pytest.param(b"42", "shape", id="number"),
        pytest.param(b"null", "shape", id="null"),
        pytest.param(b'"x"', "shape", id="string"),
        pytest.param(b"{}", "shape", id="empty"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":5}', "shape", id="method-number"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"\\ud83d"}', "shape", id="half-in-method"),
        pytest.param(b'{"jsonrpc":"2.0","id":"\\ud83d","method":"m"}', "shape", id="half-in-id"),
        pytest.param(b'{"jsonrpc":"2.0","id":1.5,"method":"m"}', "shape", id="fraction"),
        pytest.param(b'{"jsonrpc":"2.0","id":true,"method":"m"}', "shape", id="true"),
        pytest.param(b'{"jsonrpc":"2.0","id":{"a":1},"method":"m"}', "shape", id="object-id"),
        pytest.param(b'{"jsonrpc":"1.0","id":1,"method":"m"}', "shape", id="version"),
        pytest.param(b'{"id":1,"method":"m"}', "shape", id="no-version"),
        pytest.param(b'{"method":"m"}', "notification", id="notification-without-version"),
        pytest.param(b'{"jsonrpc":"2.0","id":{"a":1},"result":{}}', "response", id="response-with-object-id"),
        pytest.param(b'{"id":1,"result":{}}', "response", id="response-without-version"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":5,"result":{}}', "response", id="response-with-method"),
    ],
)
def test_what_is_no_message_is_told_by_its_kind(frame: bytes, kind: str) -> None:
    found = read_odd_frame(frame)
    assert isinstance(found, Broken)
    assert found.kind == kind


@pytest.mark.req("RPC-14")
def test_a_broken_response_keeps_the_id_it_was_for() -> None:
    assert read_odd_frame(b'{"id":7,"result":{}}') == Broken(
        "response", 'the member "jsonrpc" of a response is not "2.0"', 7
    )


@pytest.mark.req("RPC-36")
def test_a_reason_holds_no_value_of_the_frame() -> None:
    for frame in (b'{"jsonrpc":"secret","id":"secret","method":"secret"}', b'{"id":{"secret":1},"error":"secret"}'):
        found = read_odd_frame(frame)
        assert isinstance(found, Broken)
        assert "secret" not in found.reason


@pytest.mark.parametrize("half", ["\ud83d", "a\ud83db", "\ude00\ud83d"])
def test_a_lone_half_of_a_surrogate_pair_stays_the_escape_it_was(half: str) -> None:
    params = {"text": half, "n": 1, "ü": ["é", half]}
    frame = json.dumps({"jsonrpc": "2.0", "id": "i", "method": "m", "params": params}).encode()
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(frame, type=Envelope)
    found = read_odd_frame(frame)
    assert isinstance(found, Envelope)
    assert (found.id, found.method) == ("i", "m")
    assert bytes(found.params).isascii()
    assert json.loads(bytes(found.params)) == params


def test_a_lone_half_in_a_result_or_an_error_is_read_too() -> None:
    found = read_odd_frame(b'{"jsonrpc":"2.0","id":1,"result":{"a":"\\uDE00"}}')
    assert isinstance(found, Envelope)
    assert (found.id, found.method, bytes(found.result)) == (1, UNSET, b'{"a":"\\ude00"}')  # type: ignore[arg-type]
    entries = read_odd_frame(b'[{"jsonrpc":"2.0","method":"m","params":{"a":"\\ud83d"}},1]')
    assert entries == Entries([b'{"jsonrpc":"2.0","method":"m","params":{"a":"\\ud83d"}}', b"1"])


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_bytes_at_all_raise(frame: bytes) -> None:
    read_odd_frame(frame)
    read_head(frame)
    noise, rest = split_noise(frame)
    assert noise + rest == frame


@pytest.mark.parametrize(
    "noise",
    [
        b"\xef\xbb\xbf",
        b"\x1b[1 q",
        b"\x1b[?25l\x1b[0m",
        b"\x1b]0;title\x07",
        b"\x1b]0;title\x1b\\",
        b"\x1b(B",
        b"\xef\xbb\xbf \x1b[0m\r",
    ],
)
def test_marks_and_escape_sequences_in_front_of_a_message_are_cut_off(noise: bytes) -> None:
    for message in (b'{"a":1}', b"[]"):
        assert split_noise(noise + message) == (noise, message)


@pytest.mark.parametrize("frame", [b"", b'{"a":"\x1b[0m"}', b"\x1b[0m words", b"\x1b[0m", b"words {", b"\xef\xbb\xbf"])
def test_other_text_is_left_whole(frame: bytes) -> None:
    assert split_noise(frame) == (b"", frame)


@pytest.mark.parametrize(
    ("head", "read"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":"', ("request", 7)),
        (b' { "method" : "m", "id" : "x" , "params": [', ("request", "x")),
        (b'{"jsonrpc":"2.0","method":"m","params":{"id":3', ("notification", None)),
        (b'{"jsonrpc":"2.0","id":7,"result":{"a', ("response", 7)),
        (b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"', ("response", 7)),
        (b'{"jsonrpc":"2.0","result":{"a', ("response", None)),
        (b'{"jsonrpc":"2.0","id":true,"result":{"a', ("response", None)),
        (b'{"params":{"a":"', ("unknown", None)),
        (b"[[[[", ("unknown", None)),
        (b"", ("unknown", None)),
        (DEEP[:1024], ("unknown", None)),
    ],
)
def test_the_head_of_a_message_tells_what_it_was(head: bytes, read: tuple[str, object]) -> None:
    assert read_head(head) == read


class Node(msgspec.Struct, rename="camel"):
    inner_value: object = None


@dataclass
class Plain:
    value: object


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (math.nan, "$"),
        ({"a": [1, {"b": math.inf}]}, "$.a[1].b"),
        (Node(Node((None, -math.inf))), "$.innerValue.innerValue[1]"),
        (Plain([Node(math.nan)]), "$.value[0].innerValue"),
    ],
)
def test_a_number_that_json_has_not_is_refused_with_its_path(value: object, path: str) -> None:
    with pytest.raises(LocalProtocolError) as refused:
        check_finite(value)
    assert refused.value.path == path


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_every_json_value_passes(value: object) -> None:
    check_finite([value, Node(value), Raw(b"null"), b"bytes"])
