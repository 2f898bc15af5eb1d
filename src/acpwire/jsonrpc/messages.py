"""What JSON-RPC messages look like: the envelope as it is read, the four shapes that are written, and ids."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType, field

from ..errors import ErrorObject

__all__ = [
    "CANCEL_REQUEST",
    "EMPTY_PARAMS",
    "CancelParams",
    "Envelope",
    "Failure",
    "Notification",
    "Request",
    "RequestId",
    "Success",
    "is_id",
]

RequestId: TypeAlias = int | str | None
"""An id keeps its type and value: `7` and `"7"` differ (RPC-07). `None` is an id in v1 alone (RPC-05)."""

CANCEL_REQUEST: Final = "$/cancel_request"
"""The notification that withdraws a request (CANC-01)."""

EMPTY_PARAMS: Final = Raw(b"{}")
"""What omitted and `null` params are read as (RPC-20)."""

_LOWEST: Final = -(2**63)
_HIGHEST: Final = 2**63 - 1


def is_id(value: object) -> bool:
    """Whether a decoded value may be an id: a string, `None`, or an integer of 64 bits with a sign (RPC-04, RPC-06).

    >>> is_id(7), is_id("7"), is_id(None), is_id(7.5), is_id(True), is_id(2**63)
    (True, True, True, False, False, False)
    """
    if type(value) is int:
        return _LOWEST <= value <= _HIGHEST
    return value is None or isinstance(value, str)


class Envelope(Struct, gc=False):
    """Any message as it is read; which one it is follows from the members it has. Unknown ones are skipped (RPC-32)."""

    jsonrpc: Literal["2.0"]
    """The version of JSON-RPC (RPC-01)."""
    method: str | UnsetType = UNSET
    """Requests and notifications have one."""
    id: RequestId | UnsetType = UNSET
    """Requests and responses have one."""
    params: Raw = EMPTY_PARAMS
    """The undecoded bytes; in messages with a method."""
    result: Raw | UnsetType = UNSET
    """The undecoded bytes; in successful responses."""
    error: Raw | UnsetType = UNSET
    """The undecoded bytes; in the others."""


class Request(Struct, frozen=True, gc=False, tag_field="jsonrpc", tag="2.0", omit_defaults=True):
    """A request as it is written."""

    id: RequestId
    """Ours, not in use by another unanswered request (RPC-09)."""
    method: str
    """What is asked for."""
    params: object = UNSET
    """Left out when unset."""


class Notification(Struct, frozen=True, gc=False, tag_field="jsonrpc", tag="2.0", omit_defaults=True):
    """A notification as it is written."""

    method: str
    """What is told."""
    params: object = UNSET
    """Left out when unset."""


class Success(Struct, frozen=True, gc=False, tag_field="jsonrpc", tag="2.0"):
    """A successful response as it is written; `result` is always there (RPC-21)."""

    id: RequestId
    """The id of the request, type and value (RPC-07)."""
    result: object
    """What the method returned."""


class Failure(Struct, frozen=True, gc=False, tag_field="jsonrpc", tag="2.0"):
    """An error response as it is written."""

    id: RequestId
    """The id of the request; `None` when the message was too broken to have one (RPC-10)."""
    error: ErrorObject
    """What went wrong."""


class CancelParams(Struct, frozen=True, gc=False):
    """The params of `$/cancel_request`."""

    request_id: RequestId = field(name="requestId")
    """Which request of the sender is withdrawn (CANC-02)."""
