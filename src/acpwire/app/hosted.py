"""A session as an agent holds it: who is at work in it, and which prompts wait."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

from ..errors import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    REQUEST_CANCELLED,
    ConnectionClosed,
    ErrorObject,
    RequestError,
)
from ..protocol.ids import MessageId, PlanId, SessionId
from ..protocol.v2.message import UserMessage
from ..protocol.v2.prompt import PromptResponse
from ..protocol.v2.state import StateUpdate
from ..protocol.v2.update import UpdateSessionNotification

if TYPE_CHECKING:
    from .turn import Turn

__all__ = ["HostedSession", "Overlap", "Work"]

Overlap: TypeAlias = Literal["queue", "reject", "cancel"]
"""What happens to a prompt that comes while another is at work: it waits, is refused, or cancels the other."""

PromptHandler: TypeAlias = "Callable[[Turn], Awaitable[object]]"

_log = logging.getLogger("acpwire.app")


class Work:
    """A turn on its way: held, then at work, then over.

    A prompt is inserted when nothing else is at work, and from then on its answer is a success (PROMPT-11); a held
    one can still be withdrawn (PROMPT-20). The handler has a task of its own, so that a cancel hits it and nothing else.
    """

    def __init__(self, turn: Turn, handler: PromptHandler) -> None:
        self.turn = turn
        self.accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the message is in the conversation; an error when it will never be."""
        self.over = asyncio.Event()
        """Set when the idle update of this turn was sent."""
        self.inserted = False
        self._handler = handler
        self._task: asyncio.Task[object] | None = None

    async def __call__(self) -> PromptResponse:
        """The response to the prompt: its message id, once it is inserted (PROMPT-06)."""
        while True:
            try:
                await asyncio.shield(self.accepted)
            except asyncio.CancelledError:
                if not self.inserted:
                    self.turn.session.withdraw(self)
                    raise
                if self.turn.context.client.connection.closed:
                    raise
            else:
                return PromptResponse(message_id=self.turn.message_id)

    async def withdrawn(self) -> PromptResponse:
        """The same when `$/cancel_request` came at once: an inserted prompt stays a success (CANC-09)."""
        if not self.inserted:
            self.turn.session.withdraw(self)
        return await self()

    def refuse(self) -> None:
        """The message will not be inserted (CANC-16)."""
        if not self.accepted.done():
            self.accepted.set_exception(RequestError(REQUEST_CANCELLED, "Request cancelled"))
            self.accepted.exception()  # whoever asked may be gone already
        self.over.set()

    def cancel(self) -> None:
        """Stop the handler; the turn then ends as `cancelled`, whatever the handler does (STATE-16)."""
        self.turn.cancelled = True
        if self._task is not None:
            self._task.cancel()

    async def run(self) -> None:
        """Report the message, do the work, report the end."""
        try:
            await self._report(UserMessage(message_id=self.turn.message_id, content=self.turn.params.prompt))
            self.accepted.set_result(None)
            await self._report(StateUpdate(state="running"))
            ended = await self._handle()
            self.turn.ended = True
            await self._report(ended)
        except ConnectionClosed:
            self.refuse()
        finally:
            self.turn.ended = True
            self.over.set()

    async def _handle(self) -> StateUpdate:
        error: BaseException | None = None
        if not self.turn.cancelled:
            self._task = asyncio.get_running_loop().create_task(_run_handler(self._handler, self.turn))
            self._task.add_done_callback(_retrieve)
            try:
                await asyncio.wait((self._task,))
            finally:
                self._task.cancel()
            error = asyncio.CancelledError() if self._task.cancelled() else self._task.exception()
        if self.turn.cancelled:
            return StateUpdate(state="idle", stop_reason="cancelled")
        if error is None:
            return StateUpdate(state="idle", stop_reason=self.turn.stop_reason)
        return StateUpdate(state="idle", stop_reason="error", error=_error_object(error))

    async def _report(self, update: UserMessage | StateUpdate) -> None:
        params = UpdateSessionNotification(session_id=self.turn.session_id, update=update)
        await self.turn.context.client.connection.send_update(params)


class HostedSession:
    """A conversation with one client at a time."""

    def __init__(self, session_id: SessionId, cwd: str, additional_directories: tuple[str, ...] = ()) -> None:
        self.id = session_id
        """Opaque to the client (SESS-02)."""
        self.cwd = cwd
        """The absolute working directory (ROOT-01)."""
        self.additional_directories = additional_directories
        """Further absolute roots, in the client's order (ROOT-02)."""
        self.data: dict[str, object] = {}
        """For the agent's author; the library never looks inside."""
        self.active = True
        """Whether it was created or resumed on the connection and not closed since."""
        self._token = os.urandom(4).hex()  # ids stay unique when a session outlives its process
        self._count = 0
        self._at_work: Work | None = None
        self._held: deque[Work] = deque()
        self._runner: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"HostedSession({self.id!r}, cwd={self.cwd!r})"

    def next_id(self, kind: str) -> str:
        """An id that this session has not used."""
        self._count += 1
        return f"{kind}-{self._token}-{self._count}"

    def next_message_id(self) -> MessageId:
        """An id for a message (MSG-02)."""
        return MessageId(self.next_id("msg"))

    def plan_id(self, name: str) -> PlanId:
        """The id of a plan that the author calls `name` (PLAN-02)."""
        return PlanId(name)

    @property
    def state(self) -> StateUpdate:
        """The foreground activity as a snapshot (STATE-03)."""
        return StateUpdate(state="idle" if self._at_work is None else "running")

    def admit(self, work: Work, overlap: Overlap) -> None:
        """Take in a prompt in the order received: insert it now, or hold it (PROMPT-19).

        Raises:
            RequestError: another one is at work, and `overlap` is `reject`.
        """
        busy = self._at_work is not None or bool(self._held)
        if busy and overlap == "reject":
            raise RequestError(INVALID_REQUEST, "Another prompt is at work in this session")
        if busy and overlap == "cancel":
            self.cancel()
        self._held.append(work)
        if self._runner is None or self._runner.done():
            self._insert_next()
            self._runner = asyncio.get_running_loop().create_task(self._run(), name="acpwire turns")

    def withdraw(self, work: Work) -> None:
        """Forget a prompt that is still held (PROMPT-20)."""
        if work in self._held:
            self._held.remove(work)
            work.refuse()

    def cancel(self) -> None:
        """Stop the work, and refuse the prompts that wait (CANC-11, CANC-16)."""
        if self._at_work is not None:
            self._at_work.cancel()
        while self._held:
            self._held.popleft().refuse()

    async def quiet(self) -> None:
        """Cancel, and return when the last update of the work was sent (SESS-19)."""
        self.cancel()
        if self._at_work is not None:
            await self._at_work.over.wait()

    async def drop(self) -> None:
        """Stop everything; nobody is listening any more."""
        self.active = False
        self.cancel()
        if self._runner is not None:
            self._runner.cancel()
            await asyncio.wait((self._runner,))

    def _insert_next(self) -> None:
        self._at_work = self._held.popleft() if self._held else None
        if self._at_work is not None:
            self._at_work.inserted = True

    async def _run(self) -> None:
        while self._at_work is not None:
            try:
                await self._at_work.run()
            finally:
                self._insert_next()


async def _run_handler(handler: PromptHandler, turn: Turn) -> None:
    try:
        await handler(turn)
    except RequestError:
        raise
    except Exception:
        if not turn.cancelled:
            _log.exception("the prompt handler failed in session %s", turn.session_id)
        raise


def _retrieve(task: asyncio.Task[object]) -> None:
    if not task.cancelled():
        task.exception()  # logged already; nobody may be left to ask for it


def _error_object(error: BaseException) -> ErrorObject:
    if isinstance(error, RequestError):
        return error.to_object()
    return ErrorObject(code=INTERNAL_ERROR, message="Internal error")
