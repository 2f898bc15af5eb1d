"""The tables: each state meets each event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import pytest

from acpwire.errors import LocalProtocolError
from acpwire.jsonrpc.lifecycle import (
    CONNECTION,
    RECEIVED_REQUEST,
    SENT_REQUEST,
    ConnectionState,
    ReceivedState,
    SentState,
    step,
)

TABLES = {
    "sent": (SENT_REQUEST, SentState, ("cancel", "forget", "response", "end")),
    "received": (RECEIVED_REQUEST, ReceivedState, ("cancel", "respond")),
    "connection": (
        CONNECTION,
        ConnectionState,
        ("receive", "send_request", "send_notification", "respond", "end", "close"),
    ),
}
PAIRS = [
    (name, state, event)
    for name, (_, states, events) in TABLES.items()
    for state in get_args(states)
    for event in events
]


@pytest.mark.parametrize(("name", "state", "event"), PAIRS)
def test_each_state_meets_each_event_with_a_state_of_its_table_or_an_error(name: str, state: str, event: str) -> None:
    table, states, _ = TABLES[name]
    after = table[state].get(event)
    if after is None:
        with pytest.raises(LocalProtocolError, match=event):
            step(table, state, event, "it")
    else:
        assert step(table, state, event, "it") == after
        assert after in get_args(states)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_knows_no_other_states_and_events(name: str) -> None:
    table, states, events = TABLES[name]
    assert set(table) == set(get_args(states))
    assert {event for row in table.values() for event in row} == set(events)


@pytest.mark.parametrize(
    ("table", "ends"),
    [(SENT_REQUEST, {"settled", "dropped"}), (RECEIVED_REQUEST, {"answered"})],
)
def test_nothing_happens_to_a_request_after_its_end(table: Mapping[str, Mapping[str, str]], ends: set[str]) -> None:
    assert {state for state, row in table.items() if not row} == ends


@pytest.mark.req("RPC-16")
def test_whatever_happens_to_a_received_request_it_is_answered_once() -> None:
    for state in ("running", "cancelling"):
        assert RECEIVED_REQUEST[state]["respond"] == "answered"
    assert "respond" not in RECEIVED_REQUEST["answered"]
