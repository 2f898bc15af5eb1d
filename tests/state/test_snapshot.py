from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from acpwire.protocol.v2.state import BackgroundTerminal
from acpwire.state.snapshot import InfoSnapshot, SessionSnapshot

BLOCK = {"type": "text", "text": "A"}
UPDATES: list[dict[str, Any]] = [
    {"sessionUpdate": "session_info_update", "title": "T", "_meta": {"s": 1}},
    {"sessionUpdate": "user_message", "messageId": "u", "content": [BLOCK, {"type": "_x", "n": None}]},
    {"sessionUpdate": "agent_message_chunk", "messageId": "a", "content": {"type": "text", "text": "\ud83d"}},
    {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "tc",
        "title": "Read",
        "kind": "read",
        "rawInput": {"p": None},
        "locations": [{"path": "/a"}],
        "content": [{"type": "terminal", "terminalId": "t"}],
        "_meta": {"a": {"b": None}},
    },
    {"sessionUpdate": "terminal_update", "terminalId": "t", "command": "make", "exitStatus": {"exitCode": 0}},
    {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "aMM="},
    {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "?"},
    {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "p", "entries": []}},
    {"sessionUpdate": "compaction_update", "compactionId": "c", "status": "failed", "error": "x"},
    {"sessionUpdate": "subagent_update", "sessionId": "child", "state": {"state": "running"}},
    {"sessionUpdate": "session_message", "messageId": "m", "senderSessionId": "child", "content": [BLOCK]},
    {
        "sessionUpdate": "available_commands_update",
        "availableCommands": [{"type": "command", "name": "a", "description": "d"}],
    },
    {
        "sessionUpdate": "config_option_update",
        "configOptions": [{"type": "boolean", "configId": "x", "name": "X", "currentValue": True}],
    },
    {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 1.5, "currency": "EUR"}},
    {"sessionUpdate": "notice", "severity": "info", "title": "N"},
    {"sessionUpdate": "_acme", "n": 1},
    {
        "sessionUpdate": "state_update",
        "state": "idle",
        "stopReason": "error",
        "error": {"code": -1, "message": "x"},
        "background": [{"type": "terminal", "terminalId": "t"}],
    },
]
SHOWN: dict[str, Any] = {
    "sessionId": "sess_1",
    "activity": "idle",
    "stopReason": "error",
    "error": {"code": -1, "message": "x"},
    "background": [{"type": "terminal", "terminalId": "t"}],
    "info": {"title": "T", "_meta": {"s": 1}},
    "timeline": [
        ["user_message", "u"],
        ["agent_message", "a"],
        ["tool_call", "tc"],
        ["compaction", "c"],
        ["subagent", "child"],
        ["session_message", "m"],
    ],
    "messages": [
        {"type": "user_message", "messageId": "u", "text": "A", "content": [BLOCK, {"type": "_x", "n": None}]},
        {"type": "agent_message", "messageId": "a", "text": "\ufffd", "content": [{"type": "text", "text": "\ufffd"}]},
    ],
    "toolCalls": [
        {
            "toolCallId": "tc",
            "title": "Read",
            "kind": "read",
            "status": "pending",
            "rawInput": {"p": None},
            "locations": [{"path": "/a"}],
            "content": [{"type": "terminal", "terminalId": "t"}],
            "_meta": {"a": {"b": None}},
        }
    ],
    "terminals": [
        {
            "terminalId": "t",
            "command": "make",
            "output": "aMM=",
            "text": "h\ufffd",
            "exitStatus": {"exitCode": 0},
            "undecodable": 1,
        }
    ],
    "plans": [{"type": "items", "planId": "p", "entries": []}],
    "compactions": [{"compactionId": "c", "status": "failed", "error": "x"}],
    "subagents": [{"sessionId": "child", "state": {"state": "running"}}],
    "sessionMessages": [{"messageId": "m", "senderSessionId": "child", "text": "A", "content": [BLOCK]}],
    "commands": [{"type": "command", "name": "a", "description": "d"}],
    "configOptions": [{"type": "boolean", "configId": "x", "name": "X", "currentValue": True}],
    "usage": {"used": 1, "size": 2, "cost": {"amount": 1.5, "currency": "EUR"}},
    "notices": [{"sessionUpdate": "notice", "severity": "info", "title": "N"}],
    "unknown": [{"sessionUpdate": "_acme", "n": 1}],
    "unknownCount": 1,
}


def test_a_snapshot_shows_everything_as_json(show: Any) -> None:
    snapshot = show(*UPDATES).snapshot()
    assert snapshot.to_builtins() == SHOWN
    assert json.loads(snapshot.to_json()) == SHOWN
    assert json.loads(json.dumps(snapshot.to_builtins())) == SHOWN
    assert b"\n" not in snapshot.to_json()


def test_an_empty_session_shows_nothing_but_that_it_is_idle(show: Any) -> None:
    assert show().snapshot().to_builtins() == {"sessionId": "sess_1", "activity": "idle", "info": {}}


def test_a_snapshot_stays_as_it_was_taken(show: Any) -> None:
    state = show(*UPDATES)
    taken = state.snapshot()
    later = [
        {"sessionUpdate": "agent_message_chunk", "messageId": "a", "content": BLOCK},
        {"sessionUpdate": "tool_call_update", "toolCallId": "tc", "_meta": {"a": 1}},
        {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "aMM="},
        {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "q", "entries": []}},
        {"sessionUpdate": "state_update", "state": "running"},
    ]
    show(*later, state=state)
    assert taken.to_builtins() == SHOWN
    assert state.snapshot() != taken


def test_a_snapshot_is_frozen_and_independent(show: Any) -> None:
    state = show(*UPDATES)
    taken = state.snapshot()
    with pytest.raises(AttributeError):
        taken.activity = "running"
    taken.tool_calls[0].raw_input["p"] = 1
    taken.tool_calls[0].meta["a"]["b"] = 1
    taken.info.meta.clear()
    assert state.snapshot().to_builtins() == SHOWN


@pytest.mark.req("BG-02")
def test_unknown_and_no_background_work_differ_in_json() -> None:
    unknown = SessionSnapshot(session_id="s", activity="idle", info=InfoSnapshot())
    nothing = msgspec.structs.replace(unknown, background=())
    some = msgspec.structs.replace(unknown, background=(BackgroundTerminal(terminal_id="t"),))
    assert "background" not in unknown.to_builtins()
    assert nothing.to_builtins()["background"] == []
    assert some.to_builtins()["background"] == [{"type": "terminal", "terminalId": "t"}]
