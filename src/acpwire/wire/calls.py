"""The typed calls of v2: one for each method, named as the method with `/` as `_`.

`on_result`, where a call takes it, is told the result when it is read, in wire order; see `Connection.call`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import msgspec

from ..protocol.v2 import methods as m
from ..protocol.v2.auth import LoginAuthRequest, LoginAuthResponse, LogoutAuthRequest, LogoutAuthResponse
from ..protocol.v2.cancel import (
    CancelSessionNotification,
    CancelTerminalRequest,
    CancelTerminalResponse,
    CancelToolCallRequest,
    CancelToolCallResponse,
)
from ..protocol.v2.config_option import SetSessionConfigOptionRequest, SetSessionConfigOptionResponse
from ..protocol.v2.initialize import InitializeRequest, InitializeResponse
from ..protocol.v2.methods import Method
from ..protocol.v2.permission import RequestPermissionRequest, RequestPermissionResponse
from ..protocol.v2.prompt import PromptRequest, PromptResponse
from ..protocol.v2.session import (
    CloseSessionRequest,
    CloseSessionResponse,
    DeleteSessionRequest,
    DeleteSessionResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    NewSessionRequest,
    NewSessionResponse,
    ResumeSessionRequest,
    ResumeSessionResponse,
)

__all__ = ["Calls"]

_T = TypeVar("_T")
Tell: TypeAlias = Callable[[_T], None] | None

_INITIALIZE = m.BY_NAME["agent", m.INITIALIZE]
_AUTH_LOGIN = m.BY_NAME["agent", m.AUTH_LOGIN]
_AUTH_LOGOUT = m.BY_NAME["agent", m.AUTH_LOGOUT]
_SESSION_NEW = m.BY_NAME["agent", m.SESSION_NEW]
_SESSION_LIST = m.BY_NAME["agent", m.SESSION_LIST]
_SESSION_RESUME = m.BY_NAME["agent", m.SESSION_RESUME]
_SESSION_CLOSE = m.BY_NAME["agent", m.SESSION_CLOSE]
_SESSION_DELETE = m.BY_NAME["agent", m.SESSION_DELETE]
_SESSION_PROMPT = m.BY_NAME["agent", m.SESSION_PROMPT]
_SESSION_SET_CONFIG_OPTION = m.BY_NAME["agent", m.SESSION_SET_CONFIG_OPTION]
_TOOL_CALL_CANCEL = m.BY_NAME["agent", m.TOOL_CALL_CANCEL]
_TERMINAL_CANCEL = m.BY_NAME["agent", m.TERMINAL_CANCEL]
_SESSION_REQUEST_PERMISSION = m.BY_NAME["client", m.SESSION_REQUEST_PERMISSION]
_SESSION_CANCEL = m.BY_NAME["agent", m.SESSION_CANCEL]


class Calls:
    """The calls of both roles; one in the wrong direction is refused before anything is sent (RPC-34)."""

    @abstractmethod
    async def call(
        self,
        method: Method,
        params: msgspec.Struct,
        on_result: Tell[Any] = None,  # Any: the method's result
    ) -> Any:  # Any: the method's result
        """Send a request; see `Connection.call`."""

    @abstractmethod
    async def tell(self, method: Method, params: msgspec.Struct) -> None:
        """Send a notification; see `Connection.tell`."""

    async def initialize(
        self, params: InitializeRequest, on_result: Tell[InitializeResponse] = None
    ) -> InitializeResponse:
        """Agree on a version and exchange capabilities; the first request of a connection (INIT-01)."""
        result: InitializeResponse = await self.call(_INITIALIZE, params, on_result)
        return result

    async def auth_login(
        self, params: LoginAuthRequest, on_result: Tell[LoginAuthResponse] = None
    ) -> LoginAuthResponse:
        """Log in by an advertised method (AUTH-21)."""
        result: LoginAuthResponse = await self.call(_AUTH_LOGIN, params, on_result)
        return result

    async def auth_logout(
        self, params: LogoutAuthRequest, on_result: Tell[LogoutAuthResponse] = None
    ) -> LogoutAuthResponse:
        """Log out (AUTH-24)."""
        result: LogoutAuthResponse = await self.call(_AUTH_LOGOUT, params, on_result)
        return result

    async def session_new(
        self, params: NewSessionRequest, on_result: Tell[NewSessionResponse] = None
    ) -> NewSessionResponse:
        """Create a session (SESS-01)."""
        result: NewSessionResponse = await self.call(_SESSION_NEW, params, on_result)
        return result

    async def session_list(
        self, params: ListSessionsRequest, on_result: Tell[ListSessionsResponse] = None
    ) -> ListSessionsResponse:
        """One page of the agent's sessions (SESS-25)."""
        result: ListSessionsResponse = await self.call(_SESSION_LIST, params, on_result)
        return result

    async def session_resume(
        self, params: ResumeSessionRequest, on_result: Tell[ResumeSessionResponse] = None
    ) -> ResumeSessionResponse:
        """Take up a session again, with or without replay (SESS-08)."""
        result: ResumeSessionResponse = await self.call(_SESSION_RESUME, params, on_result)
        return result

    async def session_close(
        self, params: CloseSessionRequest, on_result: Tell[CloseSessionResponse] = None
    ) -> CloseSessionResponse:
        """End a session on this connection (SESS-17)."""
        result: CloseSessionResponse = await self.call(_SESSION_CLOSE, params, on_result)
        return result

    async def session_delete(
        self, params: DeleteSessionRequest, on_result: Tell[DeleteSessionResponse] = None
    ) -> DeleteSessionResponse:
        """Delete a session (SESS-41)."""
        result: DeleteSessionResponse = await self.call(_SESSION_DELETE, params, on_result)
        return result

    async def session_prompt(self, params: PromptRequest, on_result: Tell[PromptResponse] = None) -> PromptResponse:
        """Send a prompt; answered when its message is inserted, not when the work is done (PROMPT-06)."""
        result: PromptResponse = await self.call(_SESSION_PROMPT, params, on_result)
        return result

    async def session_set_config_option(
        self, params: SetSessionConfigOptionRequest, on_result: Tell[SetSessionConfigOptionResponse] = None
    ) -> SetSessionConfigOptionResponse:
        """Choose a value of a configuration option (CFG-11)."""
        result: SetSessionConfigOptionResponse = await self.call(_SESSION_SET_CONFIG_OPTION, params, on_result)
        return result

    async def tool_call_cancel(
        self, params: CancelToolCallRequest, on_result: Tell[CancelToolCallResponse] = None
    ) -> CancelToolCallResponse:
        """Ask for the end of one tool call; answered when accepted (TOOL-32)."""
        result: CancelToolCallResponse = await self.call(_TOOL_CALL_CANCEL, params, on_result)
        return result

    async def terminal_cancel(
        self, params: CancelTerminalRequest, on_result: Tell[CancelTerminalResponse] = None
    ) -> CancelTerminalResponse:
        """Ask for the end of a terminal's process (TERM-24)."""
        result: CancelTerminalResponse = await self.call(_TERMINAL_CANCEL, params, on_result)
        return result

    async def session_request_permission(
        self, params: RequestPermissionRequest, on_result: Tell[RequestPermissionResponse] = None
    ) -> RequestPermissionResponse:
        """Ask the user whether work may go on (PERM-01)."""
        result: RequestPermissionResponse = await self.call(_SESSION_REQUEST_PERMISSION, params, on_result)
        return result

    async def session_cancel(self, params: CancelSessionNotification) -> None:
        """Ask for the end of a session's foreground work (CANC-11)."""
        await self.tell(_SESSION_CANCEL, params)
