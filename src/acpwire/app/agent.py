"""Write an agent: register what it does, and run it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from .. import transports
from ..jsonrpc.transport import Transport
from ..protocol.v2.auth import AuthMethod
from ..protocol.v2.initialize import (
    AgentCapabilities,
    Implementation,
    SessionCapabilities,
    SessionDeleteCapabilities,
)
from ..types import Meta
from ..wire.options import Options
from .host import Host
from .hosted import Overlap
from .routes import Routes
from .turn import Turn

__all__ = ["Agent"]

_Decorated = TypeVar("_Decorated", bound=Callable[..., Awaitable[object]])


class Agent:
    """An agent: its name, what it can do, and the functions that do it.

    What is registered is advertised; what is not answers -32601. With a `prompt` handler the library keeps the
    sessions of each connection: it creates, lists, resumes and closes them, unless a handler says otherwise.

        agent = Agent("echo", version="1.0.0")

        @agent.prompt
        async def answer(turn: Turn) -> None:
            await turn.say(turn.text)

        agent.run()
    """

    def __init__(
        self,
        name: str,
        *,
        version: str = "0",
        title: str | None = None,
        overlap: Overlap = "queue",
        capabilities: AgentCapabilities | None = None,
        auth_methods: Sequence[AuthMethod] = (),
        options: Options | None = None,
    ) -> None:
        """Describe the agent.

        Args:
            name: its programmatic name (INIT-27).
            version: its version.
            title: its name for people.
            overlap: what happens to a prompt that comes while another is at work in its session.
            capabilities: what it advertises beyond what is registered: content of prompts, MCP transports, further
                roots, and, under a namespaced key of `meta`, extensions (CAP-29).
            auth_methods: ways to log in; needs the handlers `login` and `logout` (AUTH-02).
            options: settings of each connection.
        """
        self.info = Implementation(name=name, version=version, title=title)
        """What it says of itself."""
        self.overlap: Overlap = overlap
        """What happens to a prompt that comes while another is at work in its session."""
        self.auth_methods = tuple(auth_methods)
        """Ways to log in."""
        self.routes = Routes()
        """The handlers, by name."""
        self._capabilities = capabilities or AgentCapabilities()
        self._options = options or Options()

    # -- handlers -----------------------------------------------------------------------------------------

    def prompt(self, handler: Callable[[Turn], Awaitable[object]]) -> Callable[[Turn], Awaitable[object]]:
        """Register what answers a prompt: `(turn)`. It may run until it is done; a cancel cancels it.

        The turn ends as `idle` with `turn.stop_reason`, with `cancelled` after a cancel whatever was raised, and with
        `error` after any other exception (PROMPT-15, STATE-16).
        """
        return self.routes.add("prompt", handler, 1)

    def new_session(self, handler: _Decorated) -> _Decorated:
        """Register what happens when a session is created: `(params: NewSessionRequest, context)`.

        It returns a `NewSessionResponse`, or `None` to let the library make the id.
        """
        return self.routes.add("new_session", handler)

    def list_sessions(self, handler: _Decorated) -> _Decorated:
        """Register what lists the sessions: `(params: ListSessionsRequest, context)`, a `ListSessionsResponse` back."""
        return self.routes.add("list_sessions", handler)

    def resume_session(self, handler: _Decorated) -> _Decorated:
        """Register what brings a session back: `(params: ResumeSessionRequest, context)`.

        It sends the history that was asked for with `context.client.update`, raises `SessionNotFound` for a session
        it does not know, and returns a `ResumeSessionResponse` or `None`. The current state is sent after it (RPLY-13).
        """
        return self.routes.add("resume_session", handler)

    def close_session(self, handler: _Decorated) -> _Decorated:
        """Register what frees a session's resources: `(params: CloseSessionRequest, context)`; its work has ended."""
        return self.routes.add("close_session", handler)

    def delete_session(self, handler: _Decorated) -> _Decorated:
        """Register what deletes a session: `(params: DeleteSessionRequest, context)`; advertises `session.delete`."""
        return self.routes.add("delete_session", handler)

    def cancel(self, handler: _Decorated) -> _Decorated:
        """Register what hears of a cancel: `(params: CancelSessionNotification, context)`; the work is cancelled anyway."""
        return self.routes.add("cancel", handler)

    def set_config_option(self, handler: _Decorated) -> _Decorated:
        """Register what sets an option: `(params, context)`, a `SetSessionConfigOptionResponse` back (CFG-13 to CFG-15)."""
        return self.routes.add("set_config_option", handler)

    def login(self, handler: _Decorated) -> _Decorated:
        """Register what logs in: `(params: LoginAuthRequest, context)` (AUTH-21)."""
        return self.routes.add("login", handler)

    def logout(self, handler: _Decorated) -> _Decorated:
        """Register what logs out: `(params: LogoutAuthRequest, context)` (AUTH-24)."""
        return self.routes.add("logout", handler)

    def request(self, method: str) -> Callable[[_Decorated], _Decorated]:
        """Register a handler `(params, context)` of an extension request, by its exact name (EXT-11, EXT-14)."""
        return partial(self.routes.add_extension, method, table=self.routes.requests)

    def notification(self, method: str) -> Callable[[_Decorated], _Decorated]:
        """Register a handler `(params, context)` of an extension notification, by its exact name (EXT-12)."""
        return partial(self.routes.add_extension, method, table=self.routes.notifications)

    # -- what is advertised -------------------------------------------------------------------------------

    @property
    def capabilities(self) -> AgentCapabilities:
        """What the agent advertises: what was given, and what follows from the handlers."""
        session = self._capabilities.session
        if "prompt" in self.routes.builtin:
            session = session or SessionCapabilities()
            if "delete_session" in self.routes.builtin and session.delete is None:
                session = replace(session, delete=SessionDeleteCapabilities())
        return replace(self._capabilities, session=session)

    def extend_capabilities(self, meta: Meta) -> None:
        """Advertise an extension: merge keys into `capabilities._meta` (CAP-29, EXT-33)."""
        self._capabilities = replace(self._capabilities, meta={**(self._capabilities.meta or {}), **meta})

    # -- running ------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve one client over stdio until it is gone; returns then, and after an interrupt.

        Standard output belongs to the protocol: inside, `print` writes to stderr, and standard input is empty.
        """
        asyncio.run(self._run_stdio())

    async def serve(self, transport: Transport) -> None:
        """Serve one client over any transport until it is gone; cancelled, it closes the connection first."""
        self._check()
        await Host(self, transport, self._options).run()

    async def _run_stdio(self) -> None:
        self._check()
        loop = asyncio.get_running_loop()
        serving = loop.create_task(self.serve(transports.stdio.serve()))
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, serving.cancel)
            except (NotImplementedError, RuntimeError):  # Windows, or not the main thread: the default applies
                break
        await asyncio.wait((serving,))
        if not serving.cancelled():
            serving.result()

    def _check(self) -> None:
        missing = [name for name in ("login", "logout") if name not in self.routes.builtin]
        if self.auth_methods and missing:
            names = " and ".join(f"`{name}`" for name in missing)
            raise TypeError(f"an agent that lists authMethods needs the handlers {names} (AUTH-02)")
