"""Session state: what a client shows of one session, by applying its typed updates."""

from __future__ import annotations

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
