"""A permission request as the client's handler sees it, and what an agent gets back.

Nothing but a known, offered, selected option is approval (SEC-01): `choose` picks among what was offered, and
what cannot be picked is answered `cancelled`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from ..errors import LocalProtocolError
from ..protocol.v2.permission import (
    CancelledPermissionOutcome,
    PermissionOption,
    RequestPermissionOutcome,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
    ToolCallPermissionSubject,
)

if TYPE_CHECKING:
    from ..state.session import SessionState
    from ..state.tool_call import ToolCall
    from .context import ClientContext

__all__ = ["PermissionAnswer", "PermissionHandler", "PermissionRequest", "approved"]

PermissionAnswer: TypeAlias = "RequestPermissionOutcome | RequestPermissionResponse | None"
"""What a permission handler returns; `None` declines."""

PermissionHandler: TypeAlias = "Callable[[PermissionRequest, ClientContext], Awaitable[PermissionAnswer]]"
"""Answers permission requests; what it returns comes from the request: `request.choose("allow_once")`."""

_log = logging.getLogger("acpwire.app")


class PermissionRequest:
    """What the agent asks, with the means to answer it."""

    __slots__ = ("_state", "params")

    def __init__(self, params: RequestPermissionRequest, state: SessionState) -> None:
        self.params = params
        """The request as it was on the wire."""
        self._state = state

    @property
    def session_id(self) -> str:
        """The session whose work waits."""
        return self.params.session_id

    @property
    def title(self) -> str:
        """The question, for a person (PERM-01)."""
        return self.params.title

    @property
    def description(self) -> str | None:
        """More of the question."""
        return self.params.description

    @property
    def options(self) -> tuple[PermissionOption, ...]:
        """What may be answered, at least one."""
        return self.params.options

    @property
    def tool_call(self) -> ToolCall | None:
        """The tool call that is asked about, as the session shows it now: the request's patch is applied (PERM-08).

        `None` when the subject is a command, absent, or of a kind not known here.
        """
        subject = self.params.subject
        if not isinstance(subject, ToolCallPermissionSubject):
            return None
        return self._state.tool_calls.get(subject.tool_call.tool_call_id)

    def choose(self, *kinds: str) -> RequestPermissionOutcome:
        """Select the first offered option of the first kind that is offered at all; `cancelled` if none is.

        Kinds are hints: `allow_once`, `allow_always`, `reject_once`, `reject_always`, or an agent's own (PERM-03).
        """
        for kind in kinds:
            for option in self.params.options:
                if option.kind == kind:
                    return SelectedPermissionOutcome(option_id=option.option_id)
        return self.cancel()

    def select(self, option_id: str) -> RequestPermissionOutcome:
        """Select an option by its id.

        Raises:
            LocalProtocolError: it was not offered (PERM-16).
        """
        for option in self.params.options:
            if option.option_id == option_id:
                return SelectedPermissionOutcome(option_id=option.option_id)
        raise LocalProtocolError(f"option {option_id!r} was not offered", path="$.outcome.optionId")

    def reject(self) -> RequestPermissionOutcome:
        """Decline: `reject_once` if it is offered, else `cancelled`."""
        return self.choose("reject_once")

    def cancel(self) -> RequestPermissionOutcome:
        """Choose nothing; the agent then does not go on (PERM-17)."""
        return CancelledPermissionOutcome()


def approved(request: RequestPermissionRequest, outcome: object) -> PermissionOption | None:
    """The offered option that `outcome` selects, if its kind allows; everything else is no approval (PERM-16, PERM-18)."""
    if isinstance(outcome, SelectedPermissionOutcome):
        for option in request.options:
            if option.option_id == outcome.option_id:
                return option if option.kind in ("allow_once", "allow_always") else None
    return None


class PermissionDesk:
    """Answers the permission requests of one client's connection."""

    def __init__(self, handler: PermissionHandler | None) -> None:
        self.handler = handler or self._decline
        self._warned = False

    async def _decline(self, request: PermissionRequest, _context: ClientContext) -> PermissionAnswer:
        if not self._warned:
            self._warned = True
            _log.warning(
                "the agent asked for permission and no handler is registered: answered `cancelled`. "
                "Register one with `@client.permission` or `connect(..., permission=handler)`."
            )
        return request.cancel()


class PermissionCall:
    """One request on its way through the handler; withdrawn at any point it is answered `cancelled` (CANC-10)."""

    __slots__ = ("_context", "_handler", "_request")

    def __init__(self, handler: PermissionHandler, request: PermissionRequest, context: ClientContext) -> None:
        self._handler = handler
        self._request = request
        self._context = context

    async def __call__(self) -> RequestPermissionResponse:
        """Ask the handler."""
        try:
            answer = await self._handler(self._request, self._context)
        except asyncio.CancelledError:
            return await self.withdrawn()
        if isinstance(answer, RequestPermissionResponse):
            return answer
        return RequestPermissionResponse(outcome=self._request.cancel() if answer is None else answer)

    async def withdrawn(self) -> RequestPermissionResponse:
        """The answer when the agent no longer asks (PERM-21)."""
        return RequestPermissionResponse(outcome=self._request.cancel())
