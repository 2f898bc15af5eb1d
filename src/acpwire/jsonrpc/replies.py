"""Answers to requests: what handlers return and raise, as it goes to the other side and into the log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from ..errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    REQUEST_CANCELLED,
    ConnectionClosed,
    ErrorObject,
    LocalProtocolError,
    RemoteProtocolError,
    RequestError,
)
from .events import ErrorReceived, NotificationReceived, RequestReceived
from .lanes import Serving
from .messages import RequestId
from .peer import Peer

__all__ = ["CANCELLED", "INTERNAL", "Replies", "error_object"]

INTERNAL: Final = ErrorObject(code=INTERNAL_ERROR, message="Internal error")
"""What the other side is told of an exception that was not meant for it."""

CANCELLED: Final = ErrorObject(code=REQUEST_CANCELLED, message="Request cancelled")
"""What the other side is told of a request that was stopped."""

_log = logging.getLogger("acpwire.jsonrpc")


def error_object(error: BaseException, *, reading: bool = False) -> ErrorObject:
    """The one place where exceptions become error objects (ERR-08).

    Bad params are the sender's fault while a message is read; the same error out of a handler is about what a third
    side sent to it. Nothing of an unexpected exception is shown to the other side.
    """
    if isinstance(error, RequestError):
        return error.to_object()
    if isinstance(error, RemoteProtocolError) and reading:
        message = f"Invalid params: {error.reason}"
        return ErrorObject(code=INVALID_PARAMS, message=message, data={"path": error.path})
    return INTERNAL


class Replies:
    """Sends one answer to each request, and logs what is not for the other side (ERR-10, RPC-36).

    Args:
        peer: queues the answers.
        wake: called when there is something to send.
        name: the connection, in logs.
    """

    def __init__(self, peer: Peer, wake: Callable[[], None], name: str) -> None:
        self.name = name
        self.over = False
        """Whether the connection has ended, so that handlers that fail for that reason are no news."""
        self._peer = peer
        self._wake = wake

    def succeed(self, serving: Serving, result: object) -> None:
        """A handler returned."""
        if self._peer.state == "closed":
            return
        try:
            self._peer.respond(serving.id, result)
        except LocalProtocolError as error:
            _log.error("%s: the result of `%s` cannot be sent", self.name, serving.method, exc_info=error)
            self.send_error(serving.id, INTERNAL)
        else:
            self._wake()

    def fail(self, serving: Serving, error: BaseException) -> None:
        """A handler raised."""
        answer = error_object(error)
        if answer is INTERNAL:
            self.report(serving.method, error)
        self.send_error(serving.id, answer)

    def refuse(self, event: RequestReceived, error: Exception) -> None:
        """A request could not be given to a handler."""
        answer = error_object(error, reading=True)
        if answer is INTERNAL:
            _log.error("%s: `%s` could not be handled", self.name, event.method, exc_info=error)
        self.send_error(event.id, answer)

    def ignore(self, event: NotificationReceived, error: Exception) -> None:
        """A notification could not be given to a handler; it is never answered (RPC-03)."""
        if isinstance(error, RemoteProtocolError):
            _log.warning("%s: the params of `%s` are invalid: %s", self.name, event.method, error)
        elif isinstance(error, RequestError):
            _log.warning("%s: `%s` was refused: %s", self.name, event.method, error.message)
        else:
            _log.error("%s: `%s` could not be handled", self.name, event.method, exc_info=error)

    def complain(self, event: ErrorReceived) -> None:
        """The other side could not read a message of ours; nothing follows from that."""
        _log.warning("%s could not read a message of ours: %s (%d)", self.name, event.error.message, event.error.code)

    def report(self, method: str, error: BaseException) -> None:
        """Log what a handler raised, with its traceback and without params."""
        if self.over and isinstance(error, ConnectionClosed):
            _log.debug("%s: handler of `%s` found the connection closed", self.name, method)
        else:
            _log.error("%s: handler of `%s` failed", self.name, method, exc_info=error)

    def send_error(self, request_id: RequestId, answer: ErrorObject) -> None:
        """Answer with an error object."""
        if self._peer.state == "closed":
            return
        try:
            self._peer.respond_error(request_id, answer)
        except LocalProtocolError as error:
            _log.error("%s: an error cannot be sent", self.name, exc_info=error)
            self._peer.respond_error(request_id, INTERNAL)
        self._wake()
