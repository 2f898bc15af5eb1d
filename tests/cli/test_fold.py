"""`acpwire fold`: recordings into JSON."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from acpwire.cli.fold import _lines
from acpwire.cli.main import main

PATIENCE = 20.0
ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "tests" / "data" / "recordings"
TRANSCRIPTS = Path(os.environ.get("ACPWIRE_TRANSCRIPTS", ROOT.parent / "shared" / "transcripts"))
TURN = RECORDINGS / "turn.ndjson"


def test_a_recording_of_two_connections_leads_to_what_both_said(capfdbinary) -> None:
    assert main(["fold", str(TURN)]) == 0
    out, err = capfdbinary.readouterr()
    assert err == b""
    assert out.count(b"\n") == 1
    assert json.loads(out) == json.loads((RECORDINGS / "turn.json").read_text(encoding="utf-8"))


def test_bare_messages_with_equal_ids_of_both_sides_are_told_apart(capfd) -> None:
    assert main(["fold", str(RECORDINGS / "bare.ndjson")]) == 0
    sessions = json.loads(capfd.readouterr().out)["sessions"]
    assert {id: one["configOptions"][0]["currentValue"] for id, one in sessions.items()} == {
        "old": "auto",
        "new": "ask",
    }
    assert sessions["old"]["toolCalls"][0]["title"] == "Run"


def test_lines_that_cannot_be_used_are_named_by_number_and_left_out(capfd) -> None:
    assert main(["fold", str(RECORDINGS / "damaged.ndjson")]) == 1
    out, err = capfd.readouterr()
    result = json.loads(out)
    assert result["malformed"] == 5  # four that cannot be used, and one that was recorded as no message
    blocks = result["sessions"]["s"]["messages"][0]["content"]
    assert [block["text"] for block in blocks] == ["a", "b", "c"]
    assert [line.split(": ")[:2] for line in err.splitlines()] == [["acpwire fold", f"line {n}"] for n in (2, 5, 7, 8)]
    assert "secret" not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([str(RECORDINGS / "v1.ndjson")], "line 2: a recording of version 1 of the protocol", id="v1"),
        pytest.param(["/no/such"], "/no/such: No such file", id="missing"),
        pytest.param([str(RECORDINGS)], "Is a directory", id="directory"),
        pytest.param([], "FILE", id="none"),
        pytest.param(["a", "b"], "b", id="two"),
        pytest.param(["--nope"], "unknown option --nope", id="option"),
    ],
)
def test_what_cannot_be_folded_is_one_line_and_status_2(arguments: list[str], message: str, capfd) -> None:
    assert main(["fold", *arguments]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("acpwire fold: ")
    assert message in err


def test_a_dash_is_standard_input(cli) -> None:
    done = cli("fold", "-", stdin=TURN.read_text(encoding="utf-8"))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads((RECORDINGS / "turn.json").read_text(encoding="utf-8"))


def test_an_empty_recording_has_no_sessions(cli) -> None:
    done = cli("fold", "-")
    assert (done.returncode, done.stdout, done.stderr) == (0, '{"sessions":{},"malformed":0}\n', "")


def test_help_has_an_example_and_says_what_the_exit_status_means(capfd) -> None:
    assert main(["fold", "--help"]) == 0
    shown = " ".join(capfd.readouterr().out.split())
    for part in ("Examples: acpwire fold session.ndjson", "0 each line could be used; 1 some could not; 2 there is no"):
        assert part in shown


def test_a_terminal_gets_indented_json_that_cannot_move_its_cursor(tmp_path, monkeypatch, capsys) -> None:
    said = "\x1b[2J\u202e\n"
    update = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text", "text": said}}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}
    recording = tmp_path / "one.ndjson"
    recording.write_text(json.dumps(message), encoding="utf-8")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["fold", str(recording)]) == 0
    shown = capsys.readouterr().out
    assert not {"\x1b", "\u202e"} & set(shown)
    assert shown.startswith('{\n  "sessions": {\n')
    assert json.loads(shown)["sessions"]["s"]["messages"][0]["content"][0]["text"] == said


def test_a_stream_is_folded_line_by_line() -> None:
    """The first bad line is named while the rest is still to come."""
    command = [sys.executable, "-m", "acpwire", "fold", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"{\n")
        process.stdin.flush()
        assert process.stderr.readline() == b"acpwire fold: line 1: not valid JSON\n"
        assert process.poll() is None
        out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, json.loads(out)) == (1, {"sessions": {}, "malformed": 1})


def test_a_file_is_not_read_ahead_of_its_lines(tmp_path) -> None:
    recording = tmp_path / "long.ndjson"
    recording.write_bytes(b"{}\n" * 200_000)
    lines = _lines(str(recording))
    assert next(lines) == b"{}\n"
    assert isinstance(lines.gi_frame.f_locals["source"], io.BufferedReader)
    assert lines.gi_frame.f_locals["source"].raw.tell() <= 2 * io.DEFAULT_BUFFER_SIZE
    lines.close()


def transcript(name: str, capfd: Any) -> Any:
    recording = TRANSCRIPTS / f"{name}.ndjson"
    if not recording.is_file():
        pytest.skip(f"{recording} is not here: set ACPWIRE_TRANSCRIPTS to the folder that has it")
    assert main(["fold", str(recording)]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    return json.loads(out)


@pytest.mark.parametrize(
    ("name", "malformed", "counts"),
    [
        pytest.param("claude-agent-acp-v2-turn", 0, (15, 4, 2, 5, 40), id="claude-agent-acp"),
        pytest.param("codex-acp-v2-turn", 0, (13, 4, 3, 3, 16), id="codex-acp"),
        pytest.param("tssdk-v2-turn", 2, (3, 1, 0, 0, 0), id="tssdk"),
    ],
)
def test_real_agents_recordings_have_no_line_that_cannot_be_used(name: str, malformed: int, counts: Any, capfd) -> None:
    result = transcript(name, capfd)
    (session,) = result["sessions"].values()
    sections = ("messages", "toolCalls", "terminals", "configOptions", "commands")
    assert tuple(len(session[section]) for section in sections) == counts
    assert (result["malformed"], session["unknown"], session["state"]) == (malformed, 0, "idle")
