"""Identifiers: opaque strings, each named after its domain (EXT-35). Compared exactly, never parsed."""

from __future__ import annotations

from typing import NewType, TypeAlias

__all__ = [
    "AbsolutePath",
    "AuthMethodId",
    "CompactionId",
    "MessageId",
    "PermissionOptionId",
    "PlanId",
    "RequestId",
    "SessionId",
    "TerminalId",
    "ToolCallId",
]

SessionId = NewType("SessionId", str)
"""A conversation; made by the agent (SESS-02)."""

MessageId = NewType("MessageId", str)
"""A message; made by the agent, unique among messages of one type in a session (MSG-02, MSG-03)."""

ToolCallId = NewType("ToolCallId", str)
"""One invocation of a tool, unique in the session (TOOL-04)."""

TerminalId = NewType("TerminalId", str)
"""A terminal of the agent, unique in the session and never reused (TERM-01)."""

PlanId = NewType("PlanId", str)
"""A plan, unique in the session (PLAN-02)."""

CompactionId = NewType("CompactionId", str)
"""A compaction, unique in the session and never reused (CMPT-01)."""

AuthMethodId = NewType("AuthMethodId", str)
"""A way to log in, as the agent lists it (AUTH-05)."""

PermissionOptionId = NewType("PermissionOptionId", str)
"""A choice, unique within its permission request (PERM-02)."""

RequestId: TypeAlias = int | str
"""A JSON-RPC request id: `1` and `"1"` differ (RPC-07)."""

AbsolutePath: TypeAlias = str
"""An absolute path in the syntax of the agent's host, and no URI (RPC-23, RPC-24).

It is not checked when decoded: the host may be of another platform.
"""
