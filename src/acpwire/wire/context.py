"""What a handler is told besides its params."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol.ids import RequestId

if TYPE_CHECKING:
    from .connection import Connection

__all__ = ["Context"]


class Context:
    """Where a message came from. Immutable by convention; one may serve many notifications."""

    __slots__ = ("connection", "method", "request_id")

    def __init__(self, connection: Connection, method: str, request_id: RequestId | None) -> None:
        self.connection = connection
        """The connection it was read from, and the way back to the caller."""
        self.method = method
        """The method's string."""
        self.request_id = request_id
        """The id of the request as it was on the wire; `None` for a notification."""
