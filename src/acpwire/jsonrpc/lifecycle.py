"""What may happen when: the states of a request in each direction and of the connection, as tables.

A table is `{state: {event: next state}}`. A missing entry is the error: what we do then is refused with
`LocalProtocolError` before anything is sent, what the other side does is dropped and reported. Nothing else in this
room decides what is allowed; the peer only looks up.

A request that *we* sent waits for its response. Cancelling it asks the other side to stop and keeps it waiting
(CANC-07). When its caller gave up it is forgotten: the response, still due (CANC-04), is dropped quietly.

A request that *they* sent runs until it is answered, once (RPC-16). Cancelling changes what its handler is told, not
whether it is answered; a second cancel changes nothing.

The connection is open until the other side has finished sending. From then on no request can be answered any more, so
none is sent, but what is owed is still answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, TypeVar

from ..errors import LocalProtocolError

__all__ = [
    "CONNECTION",
    "RECEIVED_REQUEST",
    "SENT_REQUEST",
    "ConnectionState",
    "ReceivedState",
    "SentState",
    "step",
]

SentState: TypeAlias = Literal["waiting", "cancelled", "forgotten", "settled", "dropped"]
"""Of a request that we sent; the last two are ends."""

ReceivedState: TypeAlias = Literal["running", "cancelling", "answered"]
"""Of a request that they sent; the last one is the end."""

ConnectionState: TypeAlias = Literal["open", "finished", "closed"]
"""Of the connection; `finished` means that the other side sends no more."""

_State = TypeVar("_State", bound=str)

SENT_REQUEST: Final[Mapping[str, Mapping[str, SentState]]] = {
    "waiting": {"cancel": "cancelled", "forget": "forgotten", "response": "settled", "end": "settled"},
    "cancelled": {"forget": "forgotten", "response": "settled", "end": "settled"},
    "forgotten": {"response": "dropped", "end": "dropped"},
    "settled": {},
    "dropped": {},
}

RECEIVED_REQUEST: Final[Mapping[str, Mapping[str, ReceivedState]]] = {
    "running": {"cancel": "cancelling", "respond": "answered"},
    "cancelling": {"respond": "answered"},
    "answered": {},
}

CONNECTION: Final[Mapping[str, Mapping[str, ConnectionState]]] = {
    "open": {
        "receive": "open",
        "send_request": "open",
        "send_notification": "open",
        "respond": "open",
        "end": "finished",
        "close": "closed",
    },
    "finished": {
        "send_notification": "finished",
        "respond": "finished",
        "end": "finished",
        "close": "closed",
    },
    "closed": {"end": "closed", "close": "closed"},
}


def step(table: Mapping[str, Mapping[str, _State]], state: str, event: str, what: str) -> _State:
    """The state after `event`.

    Raises:
        LocalProtocolError: the table has no entry for it.
    """
    after = table[state].get(event)
    if after is None:
        raise LocalProtocolError(f"`{event}` is not possible: {what} is {state}")
    return after
