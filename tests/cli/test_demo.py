"""The demo: one whole turn, in a pipe and on a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest

from acpwire.cli import demo


def test_in_a_pipe_it_prints_plain_lines_and_a_summary(cli) -> None:
    done = cli("demo")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    for shown in (
        "thought: ",
        "  [x] Step 3",
        "tool [x] read_greeting: completed",
        "permission: May the tool run? The demo answers allow_once",
        "permission: allowed (allow_once)",
        "/src/greeting.py",
        "  | 12 passed in 0.31s",
        "its tests pass.",
        "tool calls   4 (4 completed)",
        "stop reason  end_turn",
    ):
        assert shown in done.stdout
    assert re.search(r"^updates +\d\d$", done.stdout, re.MULTILINE)
    assert re.search(r"^messages +4 \(1 user_message, 1 agent_thought, 2 agent_message\)$", done.stdout, re.MULTILINE)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_on_a_terminal_it_is_drawn_live() -> None:
    program = "from acpwire.cli import demo; demo.PAUSE = 0; raise SystemExit(demo.demo())"
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "60", "NO_COLOR": ""}
    process = subprocess.Popen([sys.executable, "-c", program], stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:  # how Linux tells that the other side has closed
        pass
    os.close(ours)
    assert process.wait(timeout=20) == 0
    text = shown.decode()
    assert "\x1b[2K" in text, "nothing was drawn over"
    for part in ("+new", "12 passed in 0.31s", "requires_action", "4 completed", "end_turn"):
        assert part in text


def test_an_agent_that_cannot_be_started_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert demo.demo() == 1
    assert capsys.readouterr().err == "acpwire demo: agent command not found: /no/such/python\n"
