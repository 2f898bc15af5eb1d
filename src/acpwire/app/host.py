"""An agent at work for one client: what each method does, and what the library does where the author says nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..errors import INVALID_PARAMS, LocalProtocolError, RequestError, SessionNotFound
from ..jsonrpc.transport import Transport
from ..protocol.ids import SessionId
from ..protocol.open import Unknown
from ..protocol.v2 import methods as m
from ..protocol.v2.cancel import (
    CancelSessionNotification,
    CancelTerminalRequest,
    CancelToolCallRequest,
)
from ..protocol.v2.content import AudioContent, EmbeddedResource, ImageContent
from ..protocol.v2.info import SessionInfo
from ..protocol.v2.initialize import ClientCapabilities, Implementation, InitializeRequest, InitializeResponse
from ..protocol.v2.mcp_server import McpServer, McpServerHttp, McpServerStdio
from ..protocol.v2.prompt import PromptRequest
from ..protocol.v2.session import (
    CloseSessionRequest,
    CloseSessionResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    NewSessionRequest,
    NewSessionResponse,
    ReplayFromStart,
    ResumeSessionRequest,
    ResumeSessionResponse,
)
from ..protocol.v2.update import SessionUpdate, UpdateSessionNotification
from ..types import JsonValue, Meta
from ..wire.connection import Call, Connection
from ..wire.context import Context
from ..wire.options import Options
from ..wire.paths import absolute
from .context import AgentContext
from .hosted import HostedSession, Work
from .routes import Handler
from .turn import Turn

if TYPE_CHECKING:
    from .agent import Agent

__all__ = ["ConnectedClient", "Host"]

_PAGE: Final = 100


class ConnectedClient:
    """The client at the other end of one connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        """The typed calls of level 0, for what has no verb here."""
        self.info = Implementation(name="unknown", version="unknown")
        """What the client says of itself (INIT-27)."""
        self.capabilities = ClientCapabilities()
        """What it advertised; extensions are in `capabilities.meta` (EXT-33)."""

    async def request(self, method: str, params: JsonValue = None) -> JsonValue:
        """Send an extension request by its exact name (EXT-11); returns its result as plain JSON."""
        return await self.connection.request(method, params)

    async def notify(self, method: str, params: JsonValue = None) -> None:
        """Send an extension notification by its exact name (EXT-12)."""
        await self.connection.notify(method, params)

    async def update(self, session_id: SessionId, update: SessionUpdate | Unknown, *, meta: Meta | None = None) -> None:
        """Send an update of a session, at any time while it is open (PROMPT-24)."""
        await self.connection.send_update(UpdateSessionNotification(session_id=session_id, update=update, meta=meta))


class Host:
    """Serves one connection for an `Agent`."""

    def __init__(self, agent: Agent, transport: Transport, options: Options) -> None:
        self._agent = agent
        self._builtin: Mapping[str, Handler] = agent.routes.builtin
        self._sessions: dict[str, HostedSession] = {}
        routes = agent.routes
        requests = {method: partial(self._tap, handler) for method, handler in routes.requests.items()}
        self.connection = Connection(
            transport,
            side="agent",
            handlers={m.INITIALIZE: self._initialize, **self._handlers()},
            notifications={name: partial(self._serve, handler) for name, handler in routes.notifications.items()},
            taps={**requests, **self._taps()},
            options=options,
        )
        self.client = ConnectedClient(self.connection)

    async def run(self) -> None:
        """Serve until the client is gone, then stop what is at work."""
        self.connection.start()
        try:
            await self.connection.wait_closed()
        finally:
            for session in tuple(self._sessions.values()):
                await session.drop()
            await self.connection.aclose()

    def _handlers(self) -> dict[str, Handler]:
        simple = {m.AUTH_LOGIN: "login", m.AUTH_LOGOUT: "logout", m.SESSION_SET_CONFIG_OPTION: "set_config_option"}
        handlers: dict[str, Handler] = {
            method: partial(self._serve, self._builtin[name])
            for method, name in {**simple, m.SESSION_DELETE: "delete_session"}.items()
            if name in self._builtin
        }
        if "prompt" not in self._builtin:
            return handlers
        return {
            m.SESSION_NEW: self._new_session,
            m.SESSION_LIST: self._list_sessions,
            m.SESSION_RESUME: self._resume_session,
            m.SESSION_CLOSE: self._close_session,
            m.TOOL_CALL_CANCEL: _refuse_tool_call_cancel,
            m.TERMINAL_CANCEL: _refuse_terminal_cancel,
            **handlers,
        }

    def _taps(self) -> dict[str, Any]:  # Any: each tap has params of its own
        if "prompt" not in self._builtin:
            return {}
        return {m.SESSION_PROMPT: self._tap_prompt, m.SESSION_CANCEL: self._tap_cancel}

    # -- connection ---------------------------------------------------------------------------------------

    async def _initialize(self, params: InitializeRequest, _context: Context) -> InitializeResponse:
        self.client.info = params.info
        self.client.capabilities = params.capabilities
        return InitializeResponse(
            protocol_version=params.protocol_version,
            info=self._agent.info,
            capabilities=self._agent.capabilities,
            auth_methods=self._agent.auth_methods,
        )

    def _tap(self, handler: Handler, params: Any, context: Context) -> Call:  # Any: an extension's own JSON
        return partial(handler, params, AgentContext(context, self.client))

    async def _serve(self, handler: Handler, params: Any, context: Context) -> Any:  # Any: the method's own
        return await handler(params, AgentContext(context, self.client))

    # -- sessions -----------------------------------------------------------------------------------------

    async def _new_session(self, params: NewSessionRequest, context: Context) -> NewSessionResponse:
        self._check_setup(params.cwd, params.additional_directories, params.mcp_servers)
        handler = self._builtin.get("new_session")
        answer = None if handler is None else await self._serve(handler, params, context)
        if answer is None:
            answer = NewSessionResponse(session_id=SessionId(f"sess-{os.urandom(8).hex()}"))
        session = HostedSession(answer.session_id, params.cwd, params.additional_directories)
        self._sessions[answer.session_id] = session
        return answer

    async def _list_sessions(self, params: ListSessionsRequest, context: Context) -> ListSessionsResponse:
        handler = self._builtin.get("list_sessions")
        if handler is not None:
            listed: ListSessionsResponse = await self._serve(handler, params, context)
            return listed
        first = _read_cursor(params.cursor)
        found = [one for one in self._sessions.values() if params.cwd is None or _same_place(one.cwd, params.cwd)]
        infos = tuple(
            SessionInfo(session_id=one.id, cwd=one.cwd, additional_directories=one.additional_directories)
            for one in found[first : first + _PAGE]
        )
        following = first + _PAGE
        return ListSessionsResponse(sessions=infos, next_cursor=str(following) if following < len(found) else None)

    async def _resume_session(self, params: ResumeSessionRequest, context: Context) -> ResumeSessionResponse:
        self._check_setup(params.cwd, params.additional_directories, params.mcp_servers)
        if params.replay_from is not None and not isinstance(params.replay_from, ReplayFromStart):
            raise RequestError(INVALID_PARAMS, "Unsupported replay cursor", {"path": "$.replayFrom"})
        session = self._sessions.get(params.session_id)
        handler = self._builtin.get("resume_session")
        if session is None and handler is None:
            raise SessionNotFound(params.session_id)
        if session is not None and not _same_place(session.cwd, params.cwd):
            raise RequestError(INVALID_PARAMS, "The session has another cwd", {"path": "$.cwd"})
        answer = None if handler is None else await self._serve(handler, params, context)
        if session is None:
            session = self._sessions[params.session_id] = HostedSession(params.session_id, params.cwd)
        session.additional_directories = params.additional_directories
        session.active = True
        await self.client.update(session.id, session.state)
        return ResumeSessionResponse() if answer is None else answer

    async def _close_session(self, params: CloseSessionRequest, context: Context) -> CloseSessionResponse:
        session = self._sessions.get(params.session_id)
        if session is not None:
            await session.quiet()
            session.active = False
        handler = self._builtin.get("close_session")
        answer = None if handler is None else await self._serve(handler, params, context)
        return CloseSessionResponse() if answer is None else answer

    def _active(self, session_id: SessionId) -> HostedSession:
        session = self._sessions.get(session_id)
        if session is None or not session.active:
            raise SessionNotFound(session_id)
        return session

    def _check_setup(self, cwd: str, roots: tuple[str, ...], servers: tuple[McpServer, ...]) -> None:
        offered = self._agent.capabilities.session
        try:
            absolute(cwd, "$.cwd")
            for i, root in enumerate(roots):
                absolute(root, f"$.additionalDirectories[{i}]")
        except LocalProtocolError as error:
            raise RequestError(INVALID_PARAMS, f"Invalid params: {error.reason}", {"path": error.path}) from error
        if roots and (offered is None or offered.additional_directories is None):
            raise _invalid("additional directories are not supported", "$.additionalDirectories")
        taken = offered.mcp if offered is not None else None
        names: set[str] = set()
        for i, server in enumerate(servers):
            if isinstance(server, Unknown) or getattr(taken, _mcp_kind(server), None) is None:
                raise _invalid("this MCP transport is not supported", f"$.mcpServers[{i}].type")
            if server.name in names:
                raise RequestError(INVALID_PARAMS, "Two MCP servers have one name", {"name": server.name})
            names.add(server.name)

    # -- prompts ------------------------------------------------------------------------------------------

    def _tap_prompt(self, params: PromptRequest, context: Context) -> Call:
        """A prompt is taken in as it is read, so that a cancel behind it finds it (fault 20)."""
        session = self._active(params.session_id)
        self._check_prompt(params)
        turn = Turn(session, params, AgentContext(context, self.client))
        work = Work(turn, self._agent.routes.prompt)
        session.admit(work, self._agent.overlap)
        return work

    def _tap_cancel(self, params: CancelSessionNotification, context: Context) -> Call | None:
        session = self._sessions.get(params.session_id)
        if session is None:
            return None
        session.cancel()
        handler = self._builtin.get("cancel")
        return None if handler is None else partial(self._serve, handler, params, context)

    def _check_prompt(self, params: PromptRequest) -> None:
        if not params.prompt:
            raise _invalid("the prompt is empty", "$.prompt")
        session = self._agent.capabilities.session
        taken = session.prompt if session is not None else None
        for i, block in enumerate(params.prompt):
            name = _PROMPT_GATES.get(type(block))
            if isinstance(block, Unknown) or (name is not None and getattr(taken, name, None) is None):
                raise _invalid("this kind of content is not supported", f"$.prompt[{i}].type")


_PROMPT_GATES: Final[dict[type, str]] = {
    ImageContent: "image",
    AudioContent: "audio",
    EmbeddedResource: "embedded_context",
}


def _mcp_kind(server: McpServerHttp | McpServerStdio) -> str:
    return "http" if isinstance(server, McpServerHttp) else "stdio"


def _invalid(reason: str, path: str) -> RequestError:
    return RequestError(INVALID_PARAMS, f"Invalid params: {reason}", {"path": path})


def _read_cursor(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isdecimal():
        raise _invalid("this cursor is not one of ours", "$.cursor")
    return int(cursor)


def _same_place(one: str, other: str) -> bool:
    return one.rstrip("/\\") == other.rstrip("/\\")


async def _refuse_tool_call_cancel(params: CancelToolCallRequest, _context: Context) -> None:
    raise RequestError(INVALID_PARAMS, "This tool call cannot be cancelled", {"toolCallId": params.tool_call_id})


async def _refuse_terminal_cancel(params: CancelTerminalRequest, _context: Context) -> None:
    raise RequestError(INVALID_PARAMS, "This terminal cannot be cancelled", {"terminalId": params.terminal_id})
