"""A turn in plain text."""

from __future__ import annotations

import io

import msgspec
import pytest

from acpwire.cli._output import Output
from acpwire.protocol.decode import decoder
from acpwire.protocol.v2.update import SessionUpdate
from acpwire.state.session import SessionState

CHUNK = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text", "text": "a"}}
CALL = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "Read\nit"}
DIFF = {"type": "diff", "changes": [{"operation": "add", "path": "/a"}, {"operation": "_x", "path": "/b"}]}


def show(*updates: dict[str, object]) -> tuple[str, str]:
    result, notes = io.StringIO(), io.StringIO()
    output, state = Output(result, notes), SessionState("s")
    for plain in updates:
        update = decoder(SessionUpdate)(msgspec.json.encode(plain))
        state.apply(update)
        output.show(update, state)
    output.finish()
    return result.getvalue(), notes.getvalue()


def text(value: str) -> dict[str, object]:
    return {"type": "text", "text": value}


@pytest.mark.parametrize(
    ("updates", "result", "notes"),
    [
        pytest.param([CHUNK, CHUNK], "aa\n", "", id="chunks-join"),
        pytest.param([CHUNK, {**CHUNK, "messageId": "n"}], "a\na\n", "", id="messages-part"),
        pytest.param([{**CHUNK, "content": text("a\x1b[2J\n")}], "a\\x1b[2J\n", "", id="escaped"),
        pytest.param([{**CHUNK, "content": {"type": "image", "data": "", "mimeType": "x"}}], "[image]\n", "", id="image"),
        pytest.param([{**CHUNK, "content": {"type": "_own"}}], "[_own]\n", "", id="unknown-block"),
        pytest.param(
            [CHUNK, {"sessionUpdate": "agent_message", "messageId": "m", "content": [text("a")]}], "a\n", "", id="same"
        ),
        pytest.param(
            [CHUNK, {"sessionUpdate": "agent_message", "messageId": "m", "content": [text("b")]}],
            "a\nb\n",
            "",
            id="replaced",
        ),
        pytest.param(
            [{**CHUNK, "sessionUpdate": "agent_thought_chunk"}] * 2, "", "thought: aa\n", id="a-thought-is-one-note"
        ),
        pytest.param(
            [{**CALL, "status": "in_progress"}, {**CALL, "kind": "read"}, {**CALL, "status": "completed"}],
            "",
            "tool [>] Read / it: in_progress\ntool [x] Read / it: completed\n",
            id="a-tool-call-is-noted-when-its-status-changes",
        ),
        pytest.param([{**CALL, "content": [DIFF]}], "", "tool [ ] Read / it: pending\n  add /a\n  _x /b\n", id="diff"),
        pytest.param(
            [{"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "p", "entries": [
                {"content": "One\x07", "priority": "low", "status": "failed"}]}}],
            "",
            "plan\n  [!] One\\x07\n",
            id="plan",
        ),
        pytest.param(
            [
                {"sessionUpdate": "terminal_update", "terminalId": "t", "command": "make"},
                {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "YRtbMkoNCmI="},
                {"sessionUpdate": "terminal_update", "terminalId": "t", "exitStatus": {"exitCode": 2}},
            ],
            "",
            "  $ make\n  | a\n  | b\n  exit 2\n",
            id="terminal",
        ),
        pytest.param([{"sessionUpdate": "_own"}], "", "update of a kind not known here: _own\n", id="unknown"),
        pytest.param([{"sessionUpdate": "notice", "severity": "info", "title": "N"}], "", "info: N\n", id="notice"),
        pytest.param([{"sessionUpdate": "state_update", "state": "running"}], "", "", id="nothing-to-say"),
    ],
)  # fmt: skip
@pytest.mark.req("SEC-02")
def test_an_update_is_told(updates: list[dict[str, object]], result: str, notes: str) -> None:
    assert show(*updates) == (result, notes)


def test_notes_begin_a_line_where_both_streams_are_one() -> None:
    stream = io.StringIO()
    output, state = Output(stream, stream), SessionState("s")
    update = decoder(SessionUpdate)(msgspec.json.encode(CHUNK))
    for _ in range(2):
        output.show(update, state)
        output.note("note")
    assert stream.getvalue() == "a\nnote\na\nnote\n"
