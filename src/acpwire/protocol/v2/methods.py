"""The methods of v2: one table. All else that needs to know a method reads it."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from . import auth, cancel, config_option, initialize, permission, prompt, session, update

__all__ = [
    "AUTH_LOGIN",
    "AUTH_LOGOUT",
    "BY_NAME",
    "CANCEL_REQUEST",
    "INITIALIZE",
    "METHODS",
    "SESSION_CANCEL",
    "SESSION_CLOSE",
    "SESSION_DELETE",
    "SESSION_LIST",
    "SESSION_NEW",
    "SESSION_PROMPT",
    "SESSION_REQUEST_PERMISSION",
    "SESSION_RESUME",
    "SESSION_SET_CONFIG_OPTION",
    "SESSION_UPDATE",
    "TERMINAL_CANCEL",
    "TOOL_CALL_CANCEL",
    "Method",
    "Receiver",
]

INITIALIZE: Final = "initialize"
AUTH_LOGIN: Final = "auth/login"
AUTH_LOGOUT: Final = "auth/logout"
SESSION_NEW: Final = "session/new"
SESSION_LIST: Final = "session/list"
SESSION_RESUME: Final = "session/resume"
SESSION_CLOSE: Final = "session/close"
SESSION_DELETE: Final = "session/delete"
SESSION_PROMPT: Final = "session/prompt"
SESSION_CANCEL: Final = "session/cancel"
SESSION_SET_CONFIG_OPTION: Final = "session/set_config_option"
TOOL_CALL_CANCEL: Final = "tool_call/cancel"
TERMINAL_CANCEL: Final = "terminal/cancel"
SESSION_UPDATE: Final = "session/update"
SESSION_REQUEST_PERMISSION: Final = "session/request_permission"
CANCEL_REQUEST: Final = "$/cancel_request"

Receiver: TypeAlias = Literal["agent", "client", "both"]
"""Which side handles the method."""


class Method(Struct, frozen=True, kw_only=True):
    """One row of the table."""

    name: str
    """The method's string."""
    side: Receiver
    """Who receives it (RPC-34)."""
    params: type[Struct]
    """The type of its params."""
    result: type[Struct] | None = None
    """The type of its result; `None` for a notification."""
    gate: str | None = None
    """What the receiver must have advertised, as a dotted path of field names (CAP-25, CAP-26)."""

    @property
    def kind(self) -> Literal["request", "notification"]:
        """Whether it is answered."""
        return "notification" if self.result is None else "request"


def _row(name: str, side: Receiver, params: type[Struct], result: type[Struct] | None, gate: str | None) -> Method:
    return Method(name=name, side=side, params=params, result=result, gate=gate)


METHODS: Final[tuple[Method, ...]] = (
    _row(INITIALIZE, "agent", initialize.InitializeRequest, initialize.InitializeResponse, None),
    _row(AUTH_LOGIN, "agent", auth.LoginAuthRequest, auth.LoginAuthResponse, None),
    _row(AUTH_LOGOUT, "agent", auth.LogoutAuthRequest, auth.LogoutAuthResponse, None),
    _row(SESSION_NEW, "agent", session.NewSessionRequest, session.NewSessionResponse, "session"),
    _row(SESSION_LIST, "agent", session.ListSessionsRequest, session.ListSessionsResponse, "session"),
    _row(SESSION_RESUME, "agent", session.ResumeSessionRequest, session.ResumeSessionResponse, "session"),
    _row(SESSION_CLOSE, "agent", session.CloseSessionRequest, session.CloseSessionResponse, "session"),
    _row(SESSION_DELETE, "agent", session.DeleteSessionRequest, session.DeleteSessionResponse, "session.delete"),
    _row(SESSION_PROMPT, "agent", prompt.PromptRequest, prompt.PromptResponse, "session"),
    _row(SESSION_CANCEL, "agent", cancel.CancelSessionNotification, None, "session"),
    _row(
        SESSION_SET_CONFIG_OPTION,
        "agent",
        config_option.SetSessionConfigOptionRequest,
        config_option.SetSessionConfigOptionResponse,
        "session",
    ),
    _row(TOOL_CALL_CANCEL, "agent", cancel.CancelToolCallRequest, cancel.CancelToolCallResponse, "session"),
    _row(TERMINAL_CANCEL, "agent", cancel.CancelTerminalRequest, cancel.CancelTerminalResponse, "session"),
    _row(SESSION_UPDATE, "client", update.UpdateSessionNotification, None, None),
    _row(
        SESSION_REQUEST_PERMISSION,
        "client",
        permission.RequestPermissionRequest,
        permission.RequestPermissionResponse,
        None,
    ),
    _row(CANCEL_REQUEST, "both", cancel.CancelRequestNotification, None, None),
)
"""Every method of v2 that this version knows."""

BY_NAME: Final[dict[tuple[str, str], Method]] = {(method.side, method.name): method for method in METHODS}
"""By receiver (`agent`, `client` or `both`) and name."""
