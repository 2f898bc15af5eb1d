"""acpwire: the Agent Client Protocol (ACP) for Python.

    from acpwire import Agent, Turn        # write an agent
    import acpwire; acpwire.connect(...)   # drive one

Names are resolved when first used, so that importing the package costs next to nothing. Types of the protocol
are in `acpwire.protocol.v2`; typed calls of one version (level 0) in `acpwire.wire`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .app.agent import Agent
    from .app.client import Client, connect
    from .app.context import AgentContext, ClientContext
    from .app.permission import PermissionRequest
    from .app.prompt_turn import PromptTurn
    from .app.session import Session
    from .app.tool_call import ToolCall
    from .app.turn import Turn
    from .errors import (
        AcpwireError,
        AgentExited,
        AuthRequired,
        ConnectionClosed,
        ErrorObject,
        LocalProtocolError,
        Overrun,
        ProtocolError,
        RemoteProtocolError,
        RequestError,
        SessionNotFound,
        SilenceTimeout,
        StartTimeout,
        TransportError,
        Unsupported,
    )
    from .protocol.open import Unknown
    from .types import JsonValue, Meta

__all__ = [
    "AcpwireError",
    "Agent",
    "AgentContext",
    "AgentExited",
    "AuthRequired",
    "Client",
    "ClientContext",
    "ConnectionClosed",
    "ErrorObject",
    "JsonValue",
    "LocalProtocolError",
    "Meta",
    "Overrun",
    "PermissionRequest",
    "PromptTurn",
    "ProtocolError",
    "RemoteProtocolError",
    "RequestError",
    "Session",
    "SessionNotFound",
    "SilenceTimeout",
    "StartTimeout",
    "ToolCall",
    "TransportError",
    "Turn",
    "Unknown",
    "Unsupported",
    "connect",
]

__version__ = "0.1.0"

_HOME = {
    "Agent": ".app.agent",
    "AgentContext": ".app.context",
    "Client": ".app.client",
    "ClientContext": ".app.context",
    "JsonValue": ".types",
    "Meta": ".types",
    "PermissionRequest": ".app.permission",
    "PromptTurn": ".app.prompt_turn",
    "Session": ".app.session",
    "ToolCall": ".app.tool_call",
    "Turn": ".app.turn",
    "Unknown": ".protocol.open",
    "connect": ".app.client",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME.get(name, ".errors"), __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
