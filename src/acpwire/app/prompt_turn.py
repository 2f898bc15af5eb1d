"""The client's side of a prompt: when it begins, what it shows, when it ends.

A turn begins when its prompt is sent. It ends at the first `idle` that comes after both the echo of its message
and the prompt's response have come; an idle between the two counts. Echo and response may come in either order
(X-05), so until the response names the message, every user message of the session is a candidate.

An agent that never echoes ends its turn at the first idle after the response that follows a `running` or
`requires_action`, or that carries a stop reason. An error response ends the turn with that error.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from ..errors import REQUEST_CANCELLED, ConnectionClosed, ErrorObject, LocalProtocolError, RequestError
from ..protocol.ids import MessageId
from ..protocol.open import Unknown
from ..protocol.v2.message import UserMessage, UserMessageChunk
from ..protocol.v2.prompt import PromptRequest, PromptResponse
from ..protocol.v2.state import StateUpdate
from ..protocol.v2.update import SessionUpdate

if TYPE_CHECKING:
    from .link import ClientLink
    from .session import Session

__all__ = ["PromptTurn"]

_log = logging.getLogger("acpwire.app")
_BUSY: Final = ("running", "requires_action")
_TELLING: Final = frozenset({UserMessage, UserMessageChunk, StateUpdate})  # all that the end of a turn depends on


class TurnEnd:
    """Finds the end of one turn in what is read; pure, fed in wire order."""

    __slots__ = ("_busy", "_echoed", "idle", "message_id")

    def __init__(self) -> None:
        self.message_id: MessageId | None = None
        """The message's id, once the response has come."""
        self.idle: StateUpdate | None = None
        """The idle that ended the turn."""
        self._echoed: dict[MessageId, StateUpdate | None] = {}
        self._busy = False

    def see(self, update: SessionUpdate | Unknown) -> bool:
        """An update was read; whether it ends the turn."""
        if isinstance(update, (UserMessage, UserMessageChunk)):
            self._see_message(update.message_id)
        elif isinstance(update, StateUpdate):
            if update.state == "idle":
                return self._see_idle(update)
            self._busy = self._busy or update.state in _BUSY
        return False

    def see_response(self, message_id: MessageId) -> bool:
        """The prompt was acknowledged; whether that ends the turn, its idle having come before."""
        self.message_id = message_id
        self.idle = self._echoed.get(message_id)
        self._echoed = {message_id: None} if message_id in self._echoed else {}
        return self.idle is not None

    def _see_message(self, message_id: MessageId) -> None:
        if self.message_id is None or message_id == self.message_id:
            self._echoed.setdefault(message_id, None)

    def _see_idle(self, update: StateUpdate) -> bool:
        if self.message_id is None:
            for message_id, idle in self._echoed.items():
                if idle is None:
                    self._echoed[message_id] = update
            self._busy = False
            return False
        if self.message_id in self._echoed or self._busy or isinstance(update.stop_reason, str):
            self.idle = update
            return True
        return False


class PromptTurn:
    """One prompt and the work that follows it.

    Use it as `async with session.prompt(...) as turn`, and iterate it for the updates of its session, in order,
    unknown ones too. Leaving the block before the end cancels the work and waits for the agent to confirm, at most
    `cancel_patience` seconds; `detach` leaves it running. `await turn` instead of all that runs it to its end.
    """

    def __init__(self, session: Session, link: ClientLink, params: PromptRequest) -> None:
        self.session = session
        """The session it belongs to."""
        self.params = params
        """What was sent."""
        self._end = TurnEnd()
        self.cancel_asked = False
        """Whether the session's work was cancelled since the turn began, by us."""
        self._link = link
        self._connection = link.connection
        self._mailbox = self._connection.mailbox()
        self._put = self._mailbox.put
        self._take: Callable[[], SessionUpdate | Unknown] = self._mailbox.take
        self._reader: asyncio.Future[None] | None = None
        self._request: asyncio.Task[PromptResponse | None] | None = None
        self._ended = asyncio.Event()
        self._failure: Exception | None = None
        self._failure_raised = False
        self._withdrawn = False
        self._detached = False
        self._token: object = None

    # -- what is known ------------------------------------------------------------------------------------

    @property
    def message_id(self) -> MessageId | None:
        """The id of the user's message; `None` until the agent has acknowledged the prompt."""
        return self._end.message_id

    @property
    def done(self) -> bool:
        """Whether the turn has ended."""
        return self._ended.is_set()

    @property
    def stop_reason(self) -> str | None:
        """Why the work stopped; `None` before the end, and when the agent did not say (STATE-10)."""
        if self._withdrawn:
            return "cancelled"
        idle = self._end.idle
        return idle.stop_reason if idle is not None and isinstance(idle.stop_reason, str) else None

    @property
    def error(self) -> ErrorObject | None:
        """What failed, when the stop reason is `error` and the agent gave details (STATE-18)."""
        idle = self._end.idle
        return idle.error if idle is not None and isinstance(idle.error, ErrorObject) else None

    # -- running ------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self._begin()
        await asyncio.sleep(0)  # the prompt is on its way before the block can cancel it
        self._token = self._connection.enter(self._mailbox)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.leave(self._token)
        self._mailbox.close()
        if not self.done and not self._detached:
            await self._leave_early()
        if self._failure is not None and not self._failure_raised and error is None and not self._detached:
            raise self._failure

    def __await__(self) -> Generator[object, None, Self]:
        return self._run().__await__()

    async def _run(self) -> Self:
        async with self:
            await self.wait()
        return self

    async def wait(self) -> None:
        """Let the turn run to its end; updates that were not iterated are dropped, the session's state has them.

        Raises:
            RequestError: the agent refused the prompt.
            ConnectionClosed: the connection was lost.
        """
        async for _ in self:
            pass

    def __aiter__(self) -> AsyncIterator[SessionUpdate | Unknown]:
        return self

    async def __anext__(self) -> SessionUpdate | Unknown:
        """The next update.

        Raises:
            RequestError: the agent refused the prompt.
            ConnectionClosed: the connection was lost before the end.
            Overrun: this loop fell so far behind that updates were dropped; the next call goes on after the gap.
        """
        while True:
            try:
                return self._take()
            except IndexError:
                await self._wait_for_item()

    async def cancel(self) -> None:
        """Ask the agent to stop the session's foreground work; the turn ends when it confirms (CANC-11)."""
        await self.session.cancel()

    def detach(self) -> None:
        """Leave the work running when the block is left; its updates still reach the session's state."""
        self._detached = True

    # -- inside -------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self._request is not None:
            raise LocalProtocolError("a turn runs once")
        self.session.entry.observe(self._put)
        self.session.entry.watch(self._watch, _TELLING)
        self._mailbox.wake = self._wake
        self._request = asyncio.get_running_loop().create_task(self._ask(), name="acpwire prompt")
        self._link.turns.add(self)

    async def _ask(self) -> PromptResponse | None:
        try:
            return await self._connection.session_prompt(self.params, on_result=self._see_response)
        except RequestError as error:
            # Our own cancel takes back a prompt that was never inserted (CANC-16): no failure, no message either.
            if error.code == REQUEST_CANCELLED and self.cancel_asked:
                self._withdrawn = True
            else:
                self._failure = error
        except Exception as error:  # noqa: BLE001 - a boundary: it is raised where the turn is read
            self._failure = error
        self._finish()
        return None

    def _watch(self, update: SessionUpdate | Unknown) -> None:
        if self._end.see(update):
            self._finish()

    def _see_response(self, response: PromptResponse) -> None:
        if self._end.see_response(response.message_id):
            self._finish()

    def connection_lost(self, reason: Exception | None) -> None:
        """The connection is over; a turn that is open ends with `reason`."""
        if not self.done:
            self._failure = reason or ConnectionClosed()
            self._finish()

    def _finish(self) -> None:
        self.session.entry.unobserve(self._put)
        self.session.entry.unwatch(self._watch)
        self._link.turns.discard(self)
        self._ended.set()
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    async def _wait_for_item(self) -> None:
        if self._ended.is_set():
            self._raise_failure()
            raise StopAsyncIteration
        if self._request is None:
            raise LocalProtocolError("a turn is iterated inside its `async with` block")
        self._reader = asyncio.get_running_loop().create_future()
        try:
            await self._reader
        finally:
            self._reader = None

    def _raise_failure(self) -> None:
        if self._failure is not None:
            self._failure_raised = True
            raise self._failure

    async def _leave_early(self) -> None:
        patience = self._link.cancel_patience
        try:
            async with asyncio.timeout(patience):
                await self.session.cancel()
                await self._ended.wait()
        except ConnectionClosed:
            return
        except TimeoutError:
            _log.warning("session %s: no idle within %g s of a cancel", self.session.id, patience)
        finally:
            if not self.done:
                self._abandon()

    def _abandon(self) -> None:
        if self._request is not None:
            self._request.cancel()
        self._finish()
