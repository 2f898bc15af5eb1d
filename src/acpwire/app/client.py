"""Drive an agent: start it or reach it, open sessions, send prompts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar, overload

import msgspec
from msgspec import UNSET, UnsetType

from .. import transports
from ..errors import (
    RESOURCE_NOT_FOUND,
    ConnectionClosed,
    LocalProtocolError,
    RemoteProtocolError,
    RequestError,
    StartTimeout,
    Unsupported,
)
from ..jsonrpc.transport import Transport
from ..protocol.ids import AuthMethodId, SessionId
from ..protocol.open import Unknown
from ..protocol.v2.auth import AuthMethod, AuthMethodTerminal, LoginAuthRequest, LogoutAuthRequest
from ..protocol.v2.info import SessionInfo
from ..protocol.v2.initialize import ClientCapabilities, Implementation, InitializeRequest, InitializeResponse
from ..protocol.v2.mcp_server import McpServer
from ..protocol.v2.methods import SESSION_REQUEST_PERMISSION, SESSION_UPDATE
from ..protocol.v2.permission import RequestPermissionRequest
from ..protocol.v2.session import (
    DeleteSessionRequest,
    ListSessionsRequest,
    NewSessionRequest,
    NewSessionResponse,
    ReplayFromStart,
    ResumeSessionRequest,
)
from ..protocol.v2.update import UpdateSessionNotification
from ..protocol.version import accept
from ..types import JsonValue, Meta
from ..wire.connection import Call, Connection, Tap
from ..wire.context import Context
from ..wire.options import Options
from ..wire.paths import absolute
from .context import ClientContext
from .link import ClientLink
from .permission import PermissionCall, PermissionDesk, PermissionRequest
from .routes import Handler, Routes
from .session import Session

__all__ = ["Client", "Path", "connect"]

_VERSION: Final = 2
_Decorated = TypeVar("_Decorated", bound=Callable[..., Awaitable[object]])
Path: TypeAlias = "str | os.PathLike[str]"
"""A path of the agent's host."""


class Client:
    """What a client is and how it answers; and, inside `connect`, its connection to one agent.

    client = Client("my-editor", version="1.0.0")

    @client.permission
    async def decide(request, context):
        return request.choose("allow_once")

    async with client.connect(["my-agent"]):
        session = await client.new_session("/home/me/project")
    """

    def __init__(
        self,
        name: str = "acpwire",
        *,
        version: str = "0",
        title: str | None = None,
        capabilities: ClientCapabilities | None = None,
        cancel_patience: float = 10.0,
        options: Options | None = None,
    ) -> None:
        self.info = Implementation(name=name, version=version, title=title)
        """What it says of itself (INIT-27)."""
        self.capabilities = capabilities or ClientCapabilities()
        """What it advertises; extensions go under a namespaced key of its `meta` (CAP-29)."""
        self.cancel_patience = cancel_patience
        """Seconds to wait for the agent to confirm when a turn is left early."""
        self._options = options or Options()
        self._routes = Routes()
        self._link: ClientLink | None = None
        self._initialized: InitializeResponse | None = None

    # -- handlers -----------------------------------------------------------------------------------------

    def permission(self, handler: _Decorated) -> _Decorated:
        """Register what answers permission requests: `(request: PermissionRequest, context)`, an outcome back.

        Without it every request is answered `cancelled`, and nothing is ever approved.
        """
        return self._routes.add("permission", handler)

    def update(self, handler: _Decorated) -> _Decorated:
        """Register what hears every update: `(params: UpdateSessionNotification, context)`, one at a time a session.

        The session's state has the update already. A slow handler slows its session, then the agent.
        """
        return self._routes.add("update", handler)

    @overload
    def request(self, method: str) -> Callable[[_Decorated], _Decorated]: ...

    @overload
    def request(self, method: str, params: JsonValue) -> Awaitable[JsonValue]: ...

    def request(self, method: str, params: JsonValue | UnsetType = UNSET) -> Any:  # Any: as the overloads say
        """With params, send an extension request and return its result as plain JSON; without, a decorator.

        `await client.request("_acme/ask", {"q": 1})` sends; `@client.request("_acme/tell")` registers a handler
        `(params, context)` of a request from the agent (EXT-11 to EXT-14).

        Raises:
            LocalProtocolError: the name belongs to the protocol (RPC-35).
            RequestError: the agent answered with an error.
        """
        if not isinstance(params, UnsetType):
            return self._live.connection.request(method, params)
        return partial(self._routes.add_extension, method, table=self._routes.requests)

    def notification(self, method: str) -> Callable[[_Decorated], _Decorated]:
        """Register a handler `(params, context)` of an extension notification from the agent (EXT-12)."""
        return partial(self._routes.add_extension, method, table=self._routes.notifications)

    # -- the connection -----------------------------------------------------------------------------------

    def connect(
        self,
        agent: Sequence[str] | Transport,
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        start_timeout: float = 60.0,
    ) -> AbstractAsyncContextManager[Client]:
        """Start an agent, or take a transport to one, and initialize; inside the block the client is connected.

        Args:
            agent: a command with its arguments, or a transport.
            cwd: where the command is started; not the directory of any session.
            env: variables set over the inherited environment.
            start_timeout: seconds for the agent to answer `initialize`.

        Raises (on entering):
            TransportError: the command could not be started.
            StartTimeout: the agent did not answer in time.
            AgentExited: it ended instead of answering.
            RemoteProtocolError: it speaks no version that this client speaks.
        """
        return self._connected(agent, cwd, env, start_timeout)

    @asynccontextmanager
    async def _connected(
        self, agent: Sequence[str] | Transport, cwd: Path | None, env: Mapping[str, str] | None, start_timeout: float
    ) -> AsyncGenerator[Client, None]:
        if self._link is not None:
            raise LocalProtocolError("this client is connected already")
        options = self._options
        if isinstance(agent, Sequence):
            transport: Transport = await transports.stdio.spawn(
                _command(agent), cwd=None if cwd is None else os.fspath(cwd), env=env
            )
            options = msgspec.structs.replace(options, answer_noise=False)
        else:
            transport = agent
        link = ClientLink(self._make_connection(transport, options), self.cancel_patience)
        link.connection.start()
        self._link = link
        watcher = asyncio.get_running_loop().create_task(_watch(link), name="acpwire watch")
        try:
            await self._initialize(link, transport, start_timeout)
            yield self
        finally:
            self._link = None
            await link.connection.aclose()
            await watcher

    def _make_connection(self, transport: Transport, options: Options) -> Connection:
        routes = self._routes
        taps: dict[str, Tap] = {name: partial(self._tap, one) for name, one in routes.requests.items()}
        notifications = {name: partial(self._serve, one) for name, one in routes.notifications.items()}
        if "update" in routes.builtin:
            taps[SESSION_UPDATE] = self._tap_of_updates(routes.builtin["update"])
        desk = PermissionDesk(routes.builtin.get("permission"))
        taps[SESSION_REQUEST_PERMISSION] = partial(self._tap_permission, desk)
        return Connection(transport, side="client", notifications=notifications, taps=taps, options=options)

    async def _initialize(self, link: ClientLink, transport: Transport, seconds: float) -> None:
        request = InitializeRequest(protocol_version=_VERSION, info=self.info, capabilities=self.capabilities)
        try:
            async with asyncio.timeout(seconds):
                response = await link.connection.initialize(request)
        except TimeoutError:
            raise _start_timeout(link.connection, transport, seconds) from None
        except RequestError as error:
            raise RemoteProtocolError(f"{transport.describe()} refused to initialize: {error}") from error
        except RemoteProtocolError as error:
            raise RemoteProtocolError(
                f"{transport.describe()} answered `initialize` with something that is not ACP version {_VERSION}: {error}"
            ) from error
        if not accept(_VERSION, response.protocol_version, (_VERSION,)):
            raise RemoteProtocolError(
                f"{transport.describe()} speaks ACP version {response.protocol_version}; this client speaks {_VERSION}"
            )
        self._initialized = response
        link.connection.peer_capabilities = response.capabilities
        session = response.capabilities.session
        link.prompt_capabilities = session.prompt if session is not None else None
        link.connection.open = True

    async def _serve(self, handler: Handler, params: Any, context: Context) -> Any:  # Any: the method's own
        return await handler(params, ClientContext(context, self))

    def _tap(self, handler: Handler, params: Any, context: Context) -> Call:  # Any: an extension's own JSON
        return partial(handler, params, ClientContext(context, self))

    def _tap_of_updates(self, handler: Handler) -> Tap:
        shared: list[ClientContext] = []  # all updates have the same

        def tap(params: UpdateSessionNotification, context: Context) -> Call:
            if not shared:
                shared.append(ClientContext(context, self))
            return partial(handler, params, shared[0])

        return tap

    def _tap_permission(self, desk: PermissionDesk, params: RequestPermissionRequest, context: Context) -> Call:
        state = context.connection.sessions.entry(params.session_id).state
        return PermissionCall(desk.handler, PermissionRequest(params, state), ClientContext(context, self))

    @property
    def _live(self) -> ClientLink:
        if self._link is None:
            raise ConnectionClosed("the client is not connected")
        return self._link

    @property
    def agent(self) -> InitializeResponse:
        """What the agent said of itself: `info`, `capabilities`, `auth_methods`.

        Raises:
            ConnectionClosed: the client was never connected.
        """
        if self._initialized is None:
            raise ConnectionClosed("the client is not connected")
        return self._initialized

    # -- sessions -----------------------------------------------------------------------------------------

    async def new_session(
        self,
        cwd: Path,
        *,
        additional_directories: Sequence[Path] = (),
        mcp_servers: Sequence[McpServer] = (),
        meta: Meta | None = None,
    ) -> Session:
        """Create a session in the absolute directory `cwd` of the agent's host (SESS-01).

        Raises:
            LocalProtocolError: a path is not absolute.
            Unsupported: the agent has no sessions, or takes no additional directories.
            AuthRequired: log in first.
        """
        link = self._live
        params = NewSessionRequest(
            cwd=absolute(cwd, "$.cwd"),
            additional_directories=self._roots(additional_directories),
            mcp_servers=tuple(mcp_servers),
            meta=meta,
        )
        response = await link.connection.session_new(params, on_result=partial(_adopt_new, link))
        return Session(link, response.session_id, params.cwd)

    async def resume_session(
        self,
        session_id: str,
        cwd: Path,
        *,
        replay: bool = False,
        additional_directories: Sequence[Path] = (),
        mcp_servers: Sequence[McpServer] = (),
        meta: Meta | None = None,
    ) -> Session:
        """Take up a session again; with `replay` the agent first sends its history from the start (RPLY-02).

        The state is current when this returns. The roots and servers are the complete list again (ROOT-09, SESS-10).

        Raises:
            SessionNotFound: the agent does not know it.
        """
        link = self._live
        link.connection.sessions.claim(session_id)
        params = ResumeSessionRequest(
            session_id=SessionId(session_id),
            cwd=absolute(cwd, "$.cwd"),
            additional_directories=self._roots(additional_directories),
            mcp_servers=tuple(mcp_servers),
            replay_from=ReplayFromStart() if replay else None,
            meta=meta,
        )
        state = link.connection.sessions.entry(session_id).state
        state.begin_setup()
        await link.connection.session_resume(params, on_result=state.adopt)
        return Session(link, params.session_id, params.cwd)

    async def list_sessions(self, cwd: Path | None = None) -> AsyncIterator[SessionInfo]:
        """Iterate the agent's sessions, page by page; with `cwd` those of that very directory (SESS-26).

        Raises (while iterating):
            RemoteProtocolError: the agent repeats a cursor, so that the list would never end.
        """
        place = None if cwd is None else absolute(cwd, "$.cwd")
        cursor: str | None = None
        seen: set[str] = set()
        while True:
            response = await self._live.connection.session_list(ListSessionsRequest(cwd=place, cursor=cursor))
            for info in response.sessions:
                yield info
            cursor = response.next_cursor
            if cursor is None:  # an empty string is a cursor like any other (SESS-29)
                return
            if cursor in seen:
                raise RemoteProtocolError("session/list repeats a cursor", path="$.nextCursor")
            seen.add(cursor)

    async def delete_session(self, session_id: str) -> None:
        """Delete a session; one that the agent does not know is deleted (SESS-39).

        Raises:
            Unsupported: the agent did not advertise `session.delete`.
        """
        try:
            await self._live.connection.session_delete(DeleteSessionRequest(session_id=SessionId(session_id)))
        except RequestError as error:
            if error.code != RESOURCE_NOT_FOUND:
                raise

    async def login(self, method_id: str) -> None:
        """Log in by an advertised method of a type that is driven by the protocol (AUTH-21).

        Raises:
            Unsupported: the agent did not list such a method (AUTH-03, AUTH-08).
        """
        method = next((one for one in self.agent.auth_methods if _method_id(one) == method_id), None)
        if method is None or _is_terminal(method):
            from_agent = f"authMethods with `{method_id}` of a type other than `terminal`"
            raise Unsupported("auth/login", from_agent)
        await self._live.connection.auth_login(LoginAuthRequest(method_id=AuthMethodId(method_id)))

    async def logout(self) -> None:
        """Log out (AUTH-24).

        Raises:
            Unsupported: the agent lists no way to log in (AUTH-03).
        """
        if not self.agent.auth_methods:
            raise Unsupported("auth/logout", "authMethods")
        await self._live.connection.auth_logout(LogoutAuthRequest())

    async def notify(self, method: str, params: JsonValue = None) -> None:
        """Send an extension notification by its exact name (EXT-12)."""
        await self._live.connection.notify(method, params)

    def _roots(self, directories: Sequence[Path]) -> tuple[str, ...]:
        roots = tuple(absolute(one, f"$.additionalDirectories[{i}]") for i, one in enumerate(directories))
        session = self.agent.capabilities.session
        if roots and (session is None or session.additional_directories is None):
            raise Unsupported("additionalDirectories", "session.additionalDirectories")
        return roots


def connect(
    agent: Sequence[str] | Transport,
    *,
    permission: Callable[[PermissionRequest, ClientContext], Awaitable[object]] | None = None,
    update: Callable[[UpdateSessionNotification, ClientContext], Awaitable[object]] | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    start_timeout: float = 60.0,
) -> AbstractAsyncContextManager[Client]:
    """Start an agent, or take a transport to one, with a client of default settings: `async with connect(...) as client`.

    Args:
        agent: a command with its arguments, or a transport.
        permission: answers permission requests, as `Client.permission`; without it nothing is ever approved.
        update: hears every update, as `Client.update`.
        cwd, env, start_timeout: as for `Client.connect`, which also says what is raised.
    """
    client = Client()
    if permission is not None:
        client.permission(permission)
    if update is not None:
        client.update(update)
    return client.connect(agent, cwd=cwd, env=env, start_timeout=start_timeout)


def _command(agent: Sequence[str]) -> Sequence[str]:
    if isinstance(agent, str) or not agent:
        raise TypeError(f"an agent is a command as a list of words, or a transport; not {agent!r}")
    return [os.fspath(word) for word in agent]


async def _watch(link: ClientLink) -> None:
    await link.connection.wait_closed()
    link.lost(link.connection.reason)


def _adopt_new(link: ClientLink, response: NewSessionResponse) -> None:
    link.connection.sessions.claim(response.session_id).state.adopt(response)


def _start_timeout(connection: Connection, transport: Transport, seconds: float) -> StartTimeout:
    return StartTimeout(transport.describe(), seconds, stderr=getattr(transport, "stderr", ""), noise=connection.noise)


def _method_id(method: AuthMethod) -> str:
    return str(method["methodId"]) if isinstance(method, Unknown) else method.method_id


def _is_terminal(method: AuthMethod) -> bool:
    return isinstance(method, AuthMethodTerminal)
