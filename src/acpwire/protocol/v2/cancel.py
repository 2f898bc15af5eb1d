"""Cancelling: a session's work, one tool call, one terminal, one request (CANC-01, CANC-11, TOOL-31, TERM-23)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ..base import Object
from ..ids import SessionId, TerminalId, ToolCallId

__all__ = [
    "CancelRequestNotification",
    "CancelSessionNotification",
    "CancelTerminalRequest",
    "CancelTerminalResponse",
    "CancelToolCallRequest",
    "CancelToolCallResponse",
]


class CancelSessionNotification(Object, frozen=True, kw_only=True):
    """Stop the session's foreground work, and drop prompts that are held (CANC-11)."""

    session_id: SessionId
    """The session."""


class CancelToolCallRequest(Object, frozen=True, kw_only=True):
    """Stop one tool call that advertises `capabilities.cancel` (TOOL-31)."""

    session_id: SessionId
    """The session."""
    tool_call_id: ToolCallId
    """The call."""


class CancelToolCallResponse(Object, frozen=True, kw_only=True):
    """The cancellation was accepted; a final status follows (TOOL-32, TOOL-33)."""


class CancelTerminalRequest(Object, frozen=True, kw_only=True):
    """Stop a terminal's process where it advertises `capabilities.cancel` (TERM-23)."""

    session_id: SessionId
    """The session."""
    terminal_id: TerminalId
    """The terminal."""


class CancelTerminalResponse(Object, frozen=True, kw_only=True):
    """The cancellation was accepted; an `exitStatus` follows (TERM-24)."""


class CancelRequestNotification(Object, frozen=True, kw_only=True):
    """The sender no longer needs the answer to its own request (CANC-01)."""

    request_id: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | str
    """The id of that request, of the same JSON type (CANC-02)."""
