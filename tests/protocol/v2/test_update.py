"""Golden JSON: each update as it is on the wire, what it reads as, and that it is written back the same."""

from __future__ import annotations

import json
from typing import Any, get_args

import msgspec
import pytest
from msgspec import UNSET

from acpwire.errors import ErrorObject
from acpwire.protocol import v2
from acpwire.protocol.v2.update import KnownUpdate, UpdateSessionNotification

TEXT = v2.TextContent(text="x")

GOLDEN: list[tuple[str, Any]] = [
    (
        '{"sessionUpdate":"user_message_chunk","messageId":"m","content":{"type":"text","text":"x"}}',
        v2.UserMessageChunk(message_id="m", content=TEXT),
    ),
    (
        (
            '{"sessionUpdate":"agent_message_chunk","_meta":{"a":null},"messageId":"m","content":'
            '{"type":"image","data":"AA==","mimeType":"image/png","uri":"file:///a.png"}}'
        ),
        v2.AgentMessageChunk(
            message_id="m",
            meta={"a": None},
            content=v2.ImageContent(data="AA==", mime_type="image/png", uri="file:///a.png"),
        ),
    ),
    (
        (
            '{"sessionUpdate":"agent_thought_chunk","messageId":"m","content":'
            '{"type":"audio","annotations":{"audience":["user"],"priority":0.5},"data":"","mimeType":"audio/wav"}}'
        ),
        v2.AgentThoughtChunk(
            message_id="m",
            content=v2.AudioContent(
                data="", mime_type="audio/wav", annotations=v2.Annotations(audience=("user",), priority=0.5)
            ),
        ),
    ),
    (
        (
            '{"sessionUpdate":"user_message","messageId":"m","content":'
            '[{"type":"resource_link","name":"n","uri":"u","icons":[{"src":"data:,","theme":"dark"}],"size":3}]}'
        ),
        v2.UserMessage(
            message_id="m",
            content=(v2.ResourceLink(name="n", uri="u", icons=(v2.Icon(src="data:,", theme="dark"),), size=3),),
        ),
    ),
    (
        '{"sessionUpdate":"agent_message","_meta":null,"messageId":"m","content":null}',
        v2.AgentMessage(message_id="m", content=None, meta=None),
    ),
    ('{"sessionUpdate":"agent_thought","messageId":"m"}', v2.AgentThought(message_id="m")),
    (
        (
            '{"sessionUpdate":"agent_message","messageId":"m","content":'
            '[{"type":"resource","resource":{"uri":"u","text":"t","mimeType":"text/plain"}},'
            '{"type":"resource","resource":{"uri":"u","blob":""}}]}'
        ),
        v2.AgentMessage(
            message_id="m",
            content=(
                v2.EmbeddedResource(
                    resource=v2.EmbeddedResourceResource(uri="u", text="t", mime_type="text/plain"),
                ),
                v2.EmbeddedResource(resource=v2.EmbeddedResourceResource(uri="u", blob="")),
            ),
        ),
    ),
    (
        (
            '{"sessionUpdate":"tool_call_update","toolCallId":"t","name":"grep","title":null,"kind":"search",'
            '"status":"in_progress","content":[],"locations":[{"path":"/a","line":1}],"rawInput":{"q":[1,null]},'
            '"rawOutput":null,"capabilities":{"cancel":{}},"_meta":{"k":null}}'
        ),
        v2.ToolCallUpdate(
            tool_call_id="t",
            name="grep",
            title=None,
            kind="search",
            status="in_progress",
            content=(),
            locations=(v2.ToolCallLocation(path="/a", line=1),),
            raw_input={"q": [1, None]},
            raw_output=None,
            capabilities=v2.ToolCallCapabilities(cancel=v2.ToolCallCancelCapabilities()),
            meta={"k": None},
        ),
    ),
    (
        (
            '{"sessionUpdate":"tool_call_update","toolCallId":"t","content":[{"type":"diff","changes":'
            '[{"operation":"add","path":"/a","fileType":"text"},{"operation":"delete","path":"/b"},'
            '{"operation":"modify","path":"/c"},{"operation":"move","path":"/d","oldPath":"/e"},'
            '{"operation":"copy","path":"/f","oldPath":"/g"}],"patch":{"format":"git_patch","text":"diff --git"}},'
            '{"type":"terminal","terminalId":"x"}]}'
        ),
        v2.ToolCallUpdate(
            tool_call_id="t",
            content=(
                v2.Diff(
                    changes=(
                        v2.DiffAdd(path="/a", file_type="text"),
                        v2.DiffDelete(path="/b"),
                        v2.DiffModify(path="/c"),
                        v2.DiffMove(path="/d", old_path="/e"),
                        v2.DiffCopy(path="/f", old_path="/g"),
                    ),
                    patch=v2.DiffPatch(format="git_patch", text="diff --git"),
                ),
                v2.Terminal(terminal_id="x"),
            ),
        ),
    ),
    (
        (
            '{"sessionUpdate":"tool_call_content_chunk","toolCallId":"t","content":'
            '{"type":"content","content":{"type":"text","text":"x"}}}'
        ),
        v2.ToolCallContentChunk(tool_call_id="t", content=v2.Content(content=TEXT)),
    ),
    (
        (
            '{"sessionUpdate":"terminal_update","terminalId":"t","command":"ls","cwd":"/","output":{"data":"YQ=="},'
            '"exitStatus":{"exitCode":-1,"signal":"SIGKILL"},"size":{"cols":80,"rows":24},"capabilities":{}}'
        ),
        v2.TerminalUpdate(
            terminal_id="t",
            command="ls",
            cwd="/",
            output=v2.TerminalOutput(data="YQ=="),
            exit_status=v2.TerminalExitStatus(exit_code=-1, signal="SIGKILL"),
            size=v2.TerminalSize(cols=80, rows=24),
            capabilities=v2.TerminalCapabilities(),
        ),
    ),
    (
        '{"sessionUpdate":"terminal_output_chunk","terminalId":"t","data":"YQ=="}',
        v2.TerminalOutputChunk(terminal_id="t", data="YQ=="),
    ),
    ('{"sessionUpdate":"state_update","state":"running"}', v2.StateUpdate(state="running")),
    (
        '{"sessionUpdate":"state_update","state":"requires_action","background":[]}',
        v2.StateUpdate(state="requires_action", background=()),
    ),
    (
        (
            '{"sessionUpdate":"state_update","state":"idle","background":[{"type":"terminal","terminalId":"t"},'
            '{"type":"tool_call","toolCallId":"c"},{"type":"subagent","sessionId":"s"}],"stopReason":"error",'
            '"error":{"code":-32603,"message":"m","data":[1]}}'
        ),
        v2.StateUpdate(
            state="idle",
            stop_reason="error",
            error=ErrorObject(code=-32603, message="m", data=[1]),
            background=(
                v2.BackgroundTerminal(terminal_id="t"),
                v2.BackgroundToolCall(tool_call_id="c"),
                v2.BackgroundSubagent(session_id="s"),
            ),
        ),
    ),
    (
        (
            '{"sessionUpdate":"plan_update","plan":{"type":"items","planId":"p","entries":'
            '[{"content":"a","priority":"high","status":"pending"}]}}'
        ),
        v2.PlanUpdate(
            plan=v2.PlanItems(plan_id="p", entries=(v2.PlanEntry(content="a", priority="high", status="pending"),))
        ),
    ),
    (
        (
            '{"sessionUpdate":"available_commands_update","availableCommands":'
            '[{"type":"command","name":"n","description":"d","input":{"type":"text","hint":"h"}}]}'
        ),
        v2.AvailableCommandsUpdate(
            available_commands=(v2.Command(name="n", description="d", input=v2.TextCommandInput(hint="h")),)
        ),
    ),
    (
        (
            '{"sessionUpdate":"config_option_update","configOptions":['
            '{"type":"boolean","configId":"b","name":"B","currentValue":true},'
            '{"type":"select","configId":"s","name":"S","category":"model","currentValue":"v",'
            '"options":[{"name":"V","value":"v"}]},'
            '{"type":"select","configId":"g","name":"G","currentValue":"v",'
            '"options":[{"name":"H","groupId":"h","options":[{"name":"V","value":"v","description":"d"}]}]}]}'
        ),
        v2.ConfigOptionUpdate(
            config_options=(
                v2.SessionConfigBoolean(config_id="b", name="B", current_value=True),
                v2.SessionConfigSelect(
                    config_id="s",
                    name="S",
                    category="model",
                    current_value="v",
                    options=(v2.SessionConfigSelectOption(name="V", value="v"),),
                ),
                v2.SessionConfigSelect(
                    config_id="g",
                    name="G",
                    current_value="v",
                    options=(
                        v2.SessionConfigSelectOption(
                            name="H",
                            group_id="h",
                            options=(v2.SessionConfigSelectOption(name="V", value="v", description="d"),),
                        ),
                    ),
                ),
            )
        ),
    ),
    (
        '{"sessionUpdate":"session_info_update","title":null,"updatedAt":"2026-10-07T08:09:10Z"}',
        v2.SessionInfoUpdate(title=None, updated_at="2026-10-07T08:09:10Z"),
    ),
    (
        '{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":0.5,"currency":"credits"}}',
        v2.UsageUpdate(used=1, size=2, cost=v2.Cost(amount=0.5, currency="credits")),
    ),
    ('{"sessionUpdate":"usage_update","used":0,"size":2,"cost":null}', v2.UsageUpdate(used=0, size=2, cost=None)),
    (
        '{"sessionUpdate":"notice","severity":"info","title":"t","description":"d"}',
        v2.Notice(severity="info", title="t", description="d"),
    ),
    (
        (
            '{"sessionUpdate":"compaction_update","compactionId":"c","status":"failed",'
            '"summary":[{"type":"text","text":"x"}],"error":"e"}'
        ),
        v2.CompactionUpdate(compaction_id="c", status="failed", summary=(TEXT,), error="e"),
    ),
    (
        '{"sessionUpdate":"compaction_summary_chunk","compactionId":"c","content":{"type":"text","text":"x"}}',
        v2.CompactionSummaryChunk(compaction_id="c", content=TEXT),
    ),
    (
        (
            '{"sessionUpdate":"subagent_update","sessionId":"c","title":"t","description":null,'
            '"capabilities":{"cancel":{}},"state":{"state":"idle","stopReason":"cancelled"},"cwd":null,'
            '"additionalDirectories":[]}'
        ),
        v2.SubagentUpdate(
            session_id="c",
            title="t",
            description=None,
            capabilities=v2.SubagentSessionCapabilities(cancel=v2.SessionCancelCapabilities()),
            state=v2.ForegroundState(state="idle", stop_reason="cancelled"),
            cwd=None,
            additional_directories=(),
        ),
    ),
    (
        (
            '{"sessionUpdate":"session_message","messageId":"m","senderSessionId":"a","recipientSessionId":"b",'
            '"senderMessageId":"x","recipientMessageId":"y","content":[{"type":"text","text":"x"}]}'
        ),
        v2.SessionMessage(
            message_id="m",
            sender_session_id="a",
            recipient_session_id="b",
            sender_message_id="x",
            recipient_message_id="y",
            content=(TEXT,),
        ),
    ),
    (
        '{"sessionUpdate":"session_message_chunk","messageId":"m","content":{"type":"text","text":"x"}}',
        v2.SessionMessageChunk(message_id="m", content=TEXT),
    ),
]


@pytest.mark.parametrize(("wire", "value"), GOLDEN, ids=[type(value).__name__ for _, value in GOLDEN])
def test_an_update_is_read_and_written_back(wire, value):
    message = f'{{"sessionId":"s","update":{wire}}}'.encode()
    decoded = msgspec.json.decode(message, type=UpdateSessionNotification)
    assert decoded == UpdateSessionNotification(session_id="s", update=value)
    assert json.loads(msgspec.json.encode(decoded)) == json.loads(message)


def test_every_known_update_has_golden_json():
    assert {type(value) for _, value in GOLDEN} == set(get_args(KnownUpdate))


def test_an_update_takes_its_tag_with_it_and_nothing_that_was_left_out():
    assert json.loads(msgspec.json.encode(v2.ToolCallUpdate(tool_call_id="t"))) == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
    }
    assert json.loads(msgspec.json.encode(v2.ToolCallPatch(tool_call_id="t", title=None))) == {
        "toolCallId": "t",
        "title": None,
    }


@pytest.mark.parametrize("member", ["title", "kind", "status", "content", "locations", "capabilities", "meta"])
def test_a_field_of_an_upsert_has_three_states(member):
    empty = v2.ToolCallUpdate(tool_call_id="t")
    cleared = v2.ToolCallUpdate(tool_call_id="t", **{member: None})
    assert getattr(empty, member) is UNSET
    for value in (empty, cleared):
        assert msgspec.json.decode(msgspec.json.encode(value), type=v2.ToolCallUpdate) == value
    assert empty != cleared
