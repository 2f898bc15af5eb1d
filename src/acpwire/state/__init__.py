"""Session state: what a client shows of one session, by applying its typed updates.

Names are resolved when first used: an agent never needs them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .compaction import Compaction
    from .info import Info
    from .message import Message, Messages, MessageType
    from .plan import Plan
    from .session import SessionState, TimelineEntry
    from .snapshot import ContextUsage, SessionSnapshot
    from .subagent import SessionMessage, Subagent
    from .terminal import Terminal
    from .tool_call import ToolCall

__all__ = [
    "Compaction",
    "ContextUsage",
    "Info",
    "Message",
    "MessageType",
    "Messages",
    "Plan",
    "SessionMessage",
    "SessionSnapshot",
    "SessionState",
    "Subagent",
    "Terminal",
    "TimelineEntry",
    "ToolCall",
]

_HOME = {
    "Compaction": ".compaction",
    "ContextUsage": ".snapshot",
    "Info": ".info",
    "Message": ".message",
    "MessageType": ".message",
    "Messages": ".message",
    "Plan": ".plan",
    "SessionMessage": ".subagent",
    "SessionSnapshot": ".snapshot",
    "SessionState": ".session",
    "Subagent": ".subagent",
    "Terminal": ".terminal",
    "TimelineEntry": ".session",
    "ToolCall": ".tool_call",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name], __name__), name)
    globals()[name] = value
    return value
