"""Ids and the shapes of messages."""

from __future__ import annotations

import msgspec
import pytest

from acpwire.errors import ErrorObject
from acpwire.jsonrpc.messages import CancelParams, Failure, Notification, Request, Success, is_id


@pytest.mark.parametrize(
    ("value", "good"),
    [
        (0, True),
        (-1, True),
        (2**63 - 1, True),
        (-(2**63), True),
        (2**63, False),
        (-(2**63) - 1, False),
        ("", True),
        ("7", True),
        (None, True),
        (True, False),
        (1.0, False),
        (1.5, False),
        ([], False),
        ({}, False),
    ],
)
@pytest.mark.req("RPC-04", "RPC-06")
def test_an_id_is_a_string_or_an_integer_of_64_bits(value: object, good: bool) -> None:
    assert is_id(value) is good


@pytest.mark.parametrize(
    ("message", "written"),
    [
        (Request(1, "a", {"b": 2}), b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"b":2}}'),
        (Request("1", "a"), b'{"jsonrpc":"2.0","id":"1","method":"a"}'),
        (Notification("a"), b'{"jsonrpc":"2.0","method":"a"}'),
        (Notification("a", CancelParams("x")), b'{"jsonrpc":"2.0","method":"a","params":{"requestId":"x"}}'),
        (Success(1, {}), b'{"jsonrpc":"2.0","id":1,"result":{}}'),
        (Success(1, None), b'{"jsonrpc":"2.0","id":1,"result":null}'),
        (
            Failure(None, ErrorObject(code=-1, message="m")),
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}',
        ),
    ],
)
@pytest.mark.req("RPC-01", "RPC-02", "RPC-21")
def test_messages_are_written_with_the_members_they_need_and_no_others(message: object, written: bytes) -> None:
    assert msgspec.json.encode(message) == written
