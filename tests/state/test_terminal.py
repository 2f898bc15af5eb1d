from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from acpwire.protocol.v2.terminal import (
    TerminalCancelCapabilities,
    TerminalCapabilities,
    TerminalExitStatus,
    TerminalOutput,
    TerminalOutputChunk,
    TerminalSize,
    TerminalUpdate,
)
from acpwire.state.terminal import Terminal


def b64(data: bytes) -> str:
    return b64encode(data).decode()


def update(**members: Any) -> dict[str, Any]:
    return {"sessionUpdate": "terminal_update", "terminalId": "t", **members}


def output(data: bytes, **members: Any) -> dict[str, Any]:
    return update(output={"data": b64(data), **members})


def chunk(data: bytes, **members: Any) -> dict[str, Any]:
    return {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": b64(data), **members}


FULL: dict[str, Any] = {
    "command": "make",
    "cwd": "/w",
    "exitStatus": {"exitCode": -1, "signal": "SIGKILL"},
    "size": {"cols": 80, "rows": 25},
    "capabilities": {"cancel": {}},
}
SHOWN: dict[str, Any] = {
    "command": "make",
    "cwd": "/w",
    "exit_status": TerminalExitStatus(exit_code=-1, signal="SIGKILL"),
    "size": TerminalSize(cols=80, rows=25),
    "capabilities": TerminalCapabilities(cancel=TerminalCancelCapabilities()),
}


def fields(terminal: Terminal) -> dict[str, Any]:
    return {name: getattr(terminal, name) for name in SHOWN}


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(update(), marks=pytest.mark.req("TERM-05")),
        pytest.param(chunk(b"x"), marks=pytest.mark.req("TERM-15", "TERM-04")),
    ],
    ids=["update", "chunk"],
)
def test_a_new_terminal_starts_with_nothing_known(show: Any, first: Any) -> None:
    (terminal,) = show(first).terminals.values()
    assert terminal.id == "t"
    assert fields(terminal) == dict.fromkeys(SHOWN)
    assert (terminal.exited, terminal.meta, terminal.undecodable) == (False, {}, 0)


@pytest.mark.req("TERM-05")
@pytest.mark.parametrize("wire", sorted(FULL))
def test_each_field_is_kept_when_omitted_cleared_by_null_and_replaced_by_a_value(show: Any, wire: str) -> None:
    name = {"exitStatus": "exit_status"}.get(wire, wire)
    state = show(update(**FULL), update())
    terminal = state.terminals["t"]
    assert fields(terminal) == SHOWN
    show(update(**{wire: None}), state=state)
    assert fields(terminal) == {**SHOWN, name: None}
    show(update(**{wire: FULL[wire]}), state=state)
    assert fields(terminal) == SHOWN


@pytest.mark.parametrize(
    ("updates", "data"),
    [
        pytest.param([chunk(b"a"), chunk(b"b")], b"ab", marks=pytest.mark.req("TERM-11")),
        pytest.param([chunk(b"a"), output(b"bc")], b"bc", marks=pytest.mark.req("TERM-08")),
        pytest.param([output(b"ab"), output(b"abc")], b"abc", marks=pytest.mark.req("TERM-08")),
        pytest.param([output(b"ab"), chunk(b"c"), chunk(b"d")], b"abcd", marks=pytest.mark.req("TERM-13")),
        pytest.param([chunk(b"a"), update(command="x")], b"a", marks=pytest.mark.req("TERM-05")),
        pytest.param([chunk(b"a"), output(b"")], b"", marks=pytest.mark.req("TERM-09")),
        pytest.param([chunk(b"a"), update(output=None)], b"", marks=pytest.mark.req("TERM-05")),
        pytest.param([chunk(b"a"), update(output=None), chunk(b"b")], b"b", marks=pytest.mark.req("TERM-13")),
        pytest.param([chunk(b"a"), update(output="x")], b"a", marks=pytest.mark.req("DEC-08")),
        pytest.param([chunk(b""), chunk(b"\x00\xff")], b"\x00\xff", marks=pytest.mark.req("TERM-12")),
    ],
    ids=str,
)
def test_output_is_replaced_by_snapshots_and_grows_by_chunks(show: Any, updates: Any, data: bytes) -> None:
    terminal = show(*updates).terminals["t"]
    assert terminal.output == data
    assert terminal.output == data  # read again
    assert terminal.undecodable == 0


@pytest.mark.req("TERM-12")
def test_a_character_split_between_chunks_reads_whole(show: Any) -> None:
    first, second = "é".encode()[:1], "é".encode()[1:]
    state = show(chunk(b"a" + first))
    assert state.terminals["t"].text == "a\ufffd"
    show(chunk(second + b"b\xff"), state=state)
    assert state.terminals["t"].text == "aéb\ufffd"


@pytest.mark.req("TERM-11")
@pytest.mark.parametrize("bad", ["YQ", "Y", "Y Q==", "YQ==\n", "YQ==YQ==", "a-_=", "é", "===="])
def test_what_is_no_base64_is_left_out_and_counted(show: Any, bad: str) -> None:
    state = show(chunk(b"a"), {**chunk(b""), "data": bad}, chunk(b"b"))
    terminal = state.terminals["t"]
    assert (terminal.output, terminal.undecodable) == (b"ab", 1)
    show(update(output={"data": bad}, command="x"), state=state)
    assert (terminal.output, terminal.undecodable, terminal.command) == (b"ab", 2, "x")
    assert terminal.patch.output == TerminalOutput(data=b64(b"ab"))


@pytest.mark.req("TERM-16")
def test_an_empty_exit_status_marks_the_exit_and_null_takes_it_back(show: Any) -> None:
    state = show(update(exitStatus={}))
    terminal = state.terminals["t"]
    assert (terminal.exited, terminal.exit_status) == (True, TerminalExitStatus())
    show(update(), state=state)
    assert terminal.exited
    show(update(exitStatus=None), state=state)
    assert (terminal.exited, terminal.exit_status) == (False, None)


@pytest.mark.req("TERM-21", "TERM-14", "TERM-10")
def test_the_metadata_of_a_terminal_is_patched_by_upserts_alone(show: Any) -> None:
    state = show(
        update(_meta={"a": 1, "b": {"x": 1}, "n": None}), output(b"x", _meta={"a": None}), chunk(b"", _meta=None)
    )
    assert state.terminals["t"].meta == {"a": 1, "b": {"x": 1}}
    show(update(_meta={"b": {"y": 2}, "a": None}), state=state)
    assert state.terminals["t"].meta == {"b": {"y": 2}}


@pytest.mark.req("TERM-18", "META-34")
def test_the_metadata_of_an_exit_belongs_to_it(show: Any) -> None:
    terminal = show(update(exitStatus={"_meta": {"e": None}}), update(_meta={"a": 1})).terminals["t"]
    assert terminal.exit_status == TerminalExitStatus(meta={"e": None})
    assert terminal.meta == {"a": 1}


@pytest.mark.req("TERM-22")
def test_malformed_capabilities_are_no_capabilities(show: Any) -> None:
    terminal = show(update(capabilities={"cancel": {}}), update(capabilities=[])).terminals["t"]
    assert terminal.capabilities == TerminalCapabilities()


@pytest.mark.req("TERM-28")
@pytest.mark.parametrize("wire", [*sorted(FULL), "output"])
def test_cleared_and_never_mentioned_can_be_told_apart(show: Any, wire: str) -> None:
    name = {"exitStatus": "exit_status"}.get(wire, wire)
    state = show(update())
    terminal = state.terminals["t"]
    assert getattr(terminal.patch, name) is UNSET
    show(update(**{wire: None}), state=state)
    assert getattr(terminal.patch, name) is None


@pytest.mark.parametrize(
    ("updates", "stored"),
    [
        ([chunk(b"a")], TerminalOutput(data="YQ==")),
        ([output(b"a", _meta={"o": None}), chunk(b"b")], TerminalOutput(data="YWI=", meta={"o": None})),
        ([output(b"", _meta={"o": None})], TerminalOutput(data="", meta={"o": None})),
        ([output(b"a"), update(output=None), chunk(b"b")], TerminalOutput(data="Yg==")),
    ],
    ids=str,
)
def test_the_patch_holds_all_bytes(show: Any, updates: Any, stored: TerminalOutput) -> None:
    assert show(*updates).terminals["t"].patch.output == stored


@pytest.mark.req("TERM-02")
def test_a_terminal_and_a_tool_call_of_one_id_have_nothing_in_common(show: Any) -> None:
    state = show(
        update(_meta={"a": 1}), {"sessionUpdate": "tool_call_update", "toolCallId": "t", "_meta": None, "title": "T"}
    )
    assert state.terminals["t"].meta == {"a": 1}
    assert state.tool_calls["t"].meta == {}


@pytest.mark.req("TERM-29")
@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("a\r\nb\r", "a\nb\r"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[?25l\x1b[2Jx\x1b[10;20H", "x"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r\x1b\\x\x1b_apc\x1b\\", "x"),
        ("\x1b(Bx\x1b=\x1b7", "x"),
        ("\x1b]0;left open\nnext line", "\nnext line"),
        ("a\x00\x07\x08\x7f\x9bb", "ab"),
        ("cut\x1b", "cut"),
        ("cut\x1b[1", "cut"),
        ("é\U0001f600", "é\U0001f600"),
    ],
    ids=ascii,
)
def test_a_transcript_has_no_control_sequences(show: Any, raw: str, shown: str) -> None:
    terminal = show(chunk(raw.encode())).terminals["t"]
    assert terminal.transcript == shown
    assert terminal.text == raw


@given(st.binary(max_size=60))
def test_no_transcript_can_control_a_terminal(data: bytes) -> None:
    terminal = Terminal("t")
    terminal.append(TerminalOutputChunk(terminal_id="t", data=b64(data)))
    allowed = {"\t", "\n", "\r"}
    assert all(
        letter in allowed or not (ord(letter) < 32 or 127 <= ord(letter) < 160) for letter in terminal.transcript
    )


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=5)), max_size=12))
def test_output_is_the_bytes_since_the_last_snapshot(steps: list[tuple[bool, bytes]]) -> None:
    terminal = Terminal("t")
    expected = b""
    for whole, data in steps:
        if whole:
            expected = data
            terminal.apply(TerminalUpdate(terminal_id="t", output=TerminalOutput(data=b64(data))))
        else:
            expected += data
            terminal.append(TerminalOutputChunk(terminal_id="t", data=b64(data)))
    assert terminal.output == expected


def test_metadata_of_its_parts_can_be_changed_by_nobody() -> None:
    given_meta: dict[str, Any] = {"a": 1}
    terminal = Terminal("t")
    terminal.apply(
        TerminalUpdate(
            terminal_id="t",
            exit_status=TerminalExitStatus(meta=given_meta),
            size=TerminalSize(cols=1, rows=1, meta=given_meta),
            capabilities=TerminalCapabilities(meta=given_meta),
            output=TerminalOutput(data="YQ==", meta=given_meta),
        )
    )
    given_meta.clear()
    for _ in range(2):
        for one in (terminal.exit_status, terminal.size, terminal.capabilities, terminal.patch.output):
            assert one.meta == {"a": 1}
            one.meta.clear()


def test_a_terminal_tells_what_it_is(show: Any) -> None:
    assert repr(show(update(command="make")).terminals["t"]) == "<Terminal 't': 'make'>"


def test_an_output_that_is_no_base64_counts_as_never_mentioned(show: Any) -> None:
    terminal = show(update(output={"data": "?"})).terminals["t"]
    assert (terminal.output, terminal.patch.output) == (b"", UNSET)
