"""Our own calls, from their sending to their end, without an event loop."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from msgspec import Raw

from ..errors import RemoteProtocolError, RequestError
from .events import Malformed, ResponseReceived
from .messages import RequestId

__all__ = ["Answer", "Future"]

_T = TypeVar("_T")
_T_contra = TypeVar("_T_contra", contravariant=True)
_UNREAD: Final = Raw(b"null")


class Future(Protocol[_T_contra]):
    """What a caller waits for: an `asyncio.Future`."""

    def done(self) -> bool:
        """Whether it has an outcome, or its caller gave up."""
        ...

    def set_result(self, result: _T_contra, /) -> None:
        """Let the caller go on."""
        ...

    def set_exception(self, exception: Exception, /) -> None:
        """Let the caller go on with an error."""
        ...


class Answer(Generic[_T]):
    """One of our calls; once its response is read, what came of it, which may have to wait in the lane of the call."""

    __slots__ = ("decode", "error", "future", "held", "id", "key", "method", "scopes", "timer", "value")

    def __init__(
        self,
        request_id: RequestId,
        method: str,
        key: Hashable,
        decode: Callable[[Raw], _T],
        future: Future[_T],
        scopes: tuple[Any, ...] = (),  # Any: `lanes.Scope`; lanes knows answers, not the other way round
    ) -> None:
        self.id = request_id
        self.method = method
        self.key = key
        """The lane that the call belongs to."""
        self.decode = decode
        self.future = future
        self.scopes = scopes
        """The scopes that the call was made in."""
        self.value: _T | None = None
        self.error: Exception | None = None
        self.held: Any = None  # Any: `lanes.Lane`, as above
        """The lane that it waits in."""
        self.timer: Any = None  # Any: a timer; nothing here knows of event loops
        """Ends the waiting."""

    def read(self, event: ResponseReceived) -> None:
        """Decode the response; what comes of it is kept until `resolve`."""
        if event.error is not None:
            self.error = RequestError.from_object(event.error)
            return
        try:
            self.value = self.decode(_UNREAD if event.result is None else event.result)
        except Exception as error:  # noqa: BLE001 - a boundary: it is raised where the call was made
            self.error = error

    def spoil(self, event: Malformed) -> None:
        """What should have been the response cannot be read (RPC-14)."""
        self.error = RemoteProtocolError(f"the response to `{self.method}` is malformed: {event.reason}")

    def resolve(self) -> None:
        """Let the caller go on, if it still waits."""
        if self.timer is not None:
            self.timer.cancel()
        if self.held is not None:
            self.held.let_go(self)
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(cast(_T, self.value))

    def fail(self, error: Exception) -> None:
        """There will be no response."""
        if not self.future.done():
            self.future.set_exception(error)
