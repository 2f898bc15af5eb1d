"""What a peer tells its shell about the frames it received: one event each, in wire order."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Raw, Struct

from ..errors import ErrorObject
from .messages import RequestId

__all__ = [
    "CancelReceived",
    "ErrorReceived",
    "Event",
    "Malformed",
    "Noise",
    "NotificationReceived",
    "RequestReceived",
    "ResponseReceived",
]


class RequestReceived(Struct, frozen=True, gc=False):
    """The other side asks for something; it must be answered exactly once (RPC-16)."""

    id: RequestId
    """The sender's id; the answer repeats it."""
    method: str
    """What is asked for."""
    params: Raw
    """An undecoded JSON object; `{}` when there was none (RPC-20)."""
    size: int
    """Bytes of the frame, or of the entry in its array."""


class NotificationReceived(Struct, frozen=True, gc=False):
    """The other side tells something; it is never answered (RPC-03)."""

    method: str
    """What is told."""
    params: Raw
    """An undecoded JSON object; `{}` when there was none (RPC-20)."""
    size: int
    """Bytes of the frame, or of the entry in its array."""


class ResponseReceived(Struct, frozen=True, gc=False):
    """One of our requests was answered. One of `result` and `error` is `None`."""

    id: RequestId
    """Our id."""
    result: Raw | None
    """The undecoded result; `Raw(b"null")` when the result is `null`."""
    error: ErrorObject | None
    """Why it failed."""
    size: int
    """Bytes of the frame, or of the entry in its array."""


class CancelReceived(Struct, frozen=True, gc=False):
    """The other side withdraws a request that is not answered yet; it still gets one answer (CANC-04)."""

    id: RequestId
    """The sender's id of the request."""


class ErrorReceived(Struct, frozen=True, gc=False):
    """The other side could not read something we sent (`id` is `null`, RPC-10). Nothing follows from it."""

    error: ErrorObject
    """What it made of it."""


class Malformed(Struct, frozen=True, gc=False):
    """A frame, or an entry of an array, was refused or dropped."""

    reason: str
    """What is wrong with it; holds no value out of it (RPC-36)."""
    head: bytes
    """Its first bytes, at most 1,024. They may hold secrets: not for logs."""
    answered: bool
    """Whether the other side was told."""
    fails: RequestId = None
    """Our pending request that this was meant to answer; it can only fail now (RPC-14)."""


class Noise(Struct, frozen=True, gc=False):
    """Text that is no message: a log line, a BOM or an escape sequence in front of a message."""

    text: str
    """The text, at most 1,024 bytes of it; bytes that are no UTF-8 are escaped."""


Event: TypeAlias = (
    RequestReceived | NotificationReceived | ResponseReceived | CancelReceived | ErrorReceived | Malformed | Noise
)
"""Anything that `Peer.events_received` returns."""
