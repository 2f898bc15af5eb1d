"""One conversation with an agent, as a client holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import RESOURCE_NOT_FOUND, RequestError
from ..protocol.ids import SessionId
from ..protocol.v2.cancel import CancelSessionNotification
from ..protocol.v2.config_option import SessionConfigOption, SetSessionConfigOptionRequest
from ..protocol.v2.prompt import PromptRequest
from ..protocol.v2.session import CloseSessionRequest
from ..types import Meta
from .content import Content, blocks, check_prompt
from .prompt_turn import PromptTurn

if TYPE_CHECKING:
    from ..state.session import SessionState
    from .link import ClientLink

__all__ = ["Session"]


class Session:
    """A session that was created or resumed on this connection."""

    def __init__(self, link: ClientLink, session_id: SessionId, cwd: str) -> None:
        self.id = session_id
        """Opaque; made by the agent (SESS-02)."""
        self.cwd = cwd
        """The absolute working directory (ROOT-01)."""
        self.entry = link.connection.sessions.claim(session_id)
        """The state of the session and who watches it; for the turns of this room."""
        self._link = link

    def __repr__(self) -> str:
        return f"Session({self.id!r}, cwd={self.cwd!r})"

    @property
    def state(self) -> SessionState:
        """What the session shows now: messages, tool calls, plans and the rest, with every patch applied."""
        return self.entry.state

    def prompt(self, content: Content, *, meta: Meta | None = None) -> PromptTurn:
        """A turn that begins when its block is entered: `async with session.prompt("Hello") as turn`.

        Raises:
            LocalProtocolError: the prompt is empty (PROMPT-01).
            Unsupported: it has a block that the agent did not advertise (PROMPT-03).
        """
        prompt = blocks(content)
        check_prompt(prompt, self._link.prompt_capabilities)
        return PromptTurn(self, self._link, PromptRequest(session_id=self.id, prompt=prompt, meta=meta))

    async def cancel(self) -> None:
        """Ask the agent to stop the foreground work and to drop prompts that it holds (CANC-11).

        Returns when the request is on its way; the turn that is cancelled ends when the agent confirms.
        """
        self._link.cancel_asked(self.id)
        await self._link.connection.session_cancel(CancelSessionNotification(session_id=self.id))

    async def close(self) -> None:
        """End the session on this connection; the agent cancels its work first (SESS-17). Its state stays readable.

        An agent that does not know the session any more has closed it (SESS-22).
        """
        try:
            await self._link.connection.session_close(CloseSessionRequest(session_id=self.id))
        except RequestError as error:
            if error.code != RESOURCE_NOT_FOUND:
                raise
        self._link.connection.sessions.drop(self.id)

    async def set_config_option(self, config_id: str, value: str | bool) -> tuple[SessionConfigOption, ...]:
        """Choose a value of an option: a value id for a `select`, a boolean for a `boolean` (CFG-11).

        Returns the complete list, for one choice may change others (CFG-15); the state has it too.
        """
        params = SetSessionConfigOptionRequest(
            session_id=self.id,
            config_id=config_id,
            type="boolean" if isinstance(value, bool) else "id",
            value=value,
        )
        response = await self._link.connection.session_set_config_option(params, on_result=self.entry.state.adopt)
        return response.config_options
