"""`acpwire run` with real processes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from acpwire.testing.driver import RawDriver, RawLines, Rendezvous

PATIENCE = 20.0
RUN = [sys.executable, "-m", "acpwire", "run"]
AGENT = [sys.executable, "-m", "acpwire", "agent"]


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_message_goes_to_stdout_and_the_rest_to_stderr(cli) -> None:
    done = cli.run("-p", "/think hm\n/tool read\n/say hello \x1b[2J\n/say you")
    assert (done.returncode, done.stdout) == (0, "hello \\x1b[2Jyou\n")
    assert done.stderr.splitlines() == [
        "thought: hm", "tool [>] read: in_progress", "  read is done", "tool [x] read: completed",
    ]  # fmt: skip


def test_the_prompt_is_read_from_standard_input(cli) -> None:
    done = cli.run(stdin="from\nstdin ü\n")
    assert (done.returncode, done.stdout) == (0, "from\nstdin ü\n")


@pytest.mark.req("EXT-28")
def test_json_is_one_object_a_line_as_on_the_wire_and_an_end(cli) -> None:
    update = '{"sessionUpdate":"agent_message_chunk","messageId":"m" ,"content":{"type":"text","text":"x"},"new":1.0}'
    unknown = '{"sessionUpdate":"_own/one","a":null}'
    done = cli.run("--json", "-p", f"/update {update}\n/update {unknown}\n/stop refusal")
    lines = done.stdout.splitlines()
    assert lines[2:4] == [update, unknown]
    assert [one.get("sessionUpdate", one.get("type")) for one in objects(done.stdout)] == [
        "user_message", "state_update", "agent_message_chunk", "_own/one", "state_update", "end",
    ]  # fmt: skip
    assert objects(done.stdout)[-1] == {"type": "end", "stopReason": "refusal"}
    assert (done.returncode, done.stderr) == (3, "")


@pytest.mark.parametrize(
    ("prompt", "status", "stderr"),
    [
        pytest.param("/stop end_turn", 0, "", id="end_turn"),
        pytest.param("/fail 7 oh\x1b no", 1, "acpwire run: the turn failed: oh\\x1b no (7)\n", id="error"),
        pytest.param("/stop max_tokens", 3, "", id="max_tokens"),
        pytest.param("/stop cancelled", 130, "", id="cancelled"),
    ],
)
def test_the_exit_status_says_how_the_turn_ended(cli, prompt: str, status: int, stderr: str) -> None:
    done = cli.run("-p", prompt)
    assert (done.returncode, done.stderr) == (status, stderr)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param([], "permission: not allowed\n", id="without-a-terminal-it-is-denied"),
        pytest.param(["--permission", "deny"], "permission: not allowed\n", id="deny"),
        pytest.param(["--permission", "allow"], "permission: allowed (allow_once)\n", id="allow"),
    ],
)
def test_permissions_follow_the_option(cli, options: list[str], said: str) -> None:
    done = cli.run(*options, "-p", "/permission command")
    assert (done.returncode, done.stdout) == (0, said)
    assert "permission: May this command run? `make test` in " in done.stderr


def test_the_session_is_where_it_was_told_to_be(cli, tmp_path: Path) -> None:
    done = cli.run("--cwd", str(tmp_path), "-p", "/diff a.py")
    assert f"modify {tmp_path}/a.py" in done.stderr


def test_the_wire_is_shown_frame_by_frame(cli) -> None:
    done = cli.run("-p", "hello", env={"ACPWIRE_LOG": "wire"})
    frames = done.stderr.splitlines()
    assert all(re.match(r"[<>] \{", line) for line in frames)
    assert len(frames) == len(set(frames))
    sent = [json.loads(line[2:]).get("method") for line in frames if line[0] == ">"]
    assert sent == ["initialize", "session/new", "session/prompt"]
    got = [json.loads(line[2:]) for line in frames if line[0] == "<"]
    assert [one["id"] for one in got if "id" in one] == [1, 2, 3]
    assert sum(one.get("method") == "session/update" for one in got) == len(got) - 3 == 4
    assert done.stdout == "hello\n"


# -- agents that are none ---------------------------------------------------------------------------------------------


@pytest.fixture
def no_program(tmp_path: Path) -> str:
    path = tmp_path / "text"
    path.write_text("no program")
    return str(path)


BAD = [
    pytest.param(["no-such-agent-x"], r"agent command not found: no-such-agent-x", id="nowhere"),
    pytest.param(["NO_PROGRAM"], r"agent command \S+text is not executable", id="not-executable"),
    pytest.param(
        ["echo", "hello \x1b[2J"],
        r"agent `echo .*` exited with status 0; on stdout, not JSON: 'hello \\x1b\[2J'",
        id="prints-something-else",
    ),
    pytest.param(
        ["sh", "-c", "echo boom >&2; exit 3"], r"exited with status 3; its stderr ends: 'boom'", id="dies-with-words"
    ),
    pytest.param(["sh", "-c", "kill -9 $$"], r"was ended by SIGKILL$", id="is-killed"),
    pytest.param(["true"], r"agent `true` exited with status 0$", id="ends-at-once"),
    pytest.param(["cat"], r"agent `cat` refused to initialize", id="talks-to-itself"),
    pytest.param(
        ["sh", "-c", "echo late >&2; exec sleep 60"],
        r"did not answer `initialize` within 0\.5 s; its stderr ends: 'late'$",
        id="never-answers",
    ),
    pytest.param(
        [*AGENT[:1], "-c", 'print(input() and \'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}\')'],
        r"answered `initialize` with something that is not ACP version 2",
        id="speaks-something-else",
    ),
]


@pytest.mark.parametrize(("command", "message"), BAD)
def test_an_agent_that_is_none_gets_one_line_and_status_1(
    cli, command: list[str], message: str, no_program: str
) -> None:
    command = [no_program if word == "NO_PROGRAM" else word for word in command]
    done = cli.run("-p", "x", "--start-timeout", "0.5" if "sleep" in command[-1] else "15", agent=command)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("acpwire run: ")
    assert re.search(message, line)


def test_an_agent_that_dies_during_its_turn_gets_one_line_and_an_end(cli) -> None:
    done = cli.run("--json", "-p", "/say so far\n/stderr 5\n/exit 4")
    assert done.returncode == 1
    assert re.fullmatch(r"acpwire run: agent .* exited with status 4; its stderr ends: 'xxxx'\n", done.stderr)
    *_, said, end = objects(done.stdout)
    assert said["content"]["text"] == "so far"
    assert (end["type"], end["stopReason"]) == ("end", None)
    assert "exited with status 4" in end["error"]["message"]


# -- interrupts -------------------------------------------------------------------------------------------------------


@pytest.mark.req("CANC-11")
async def test_an_interrupt_cancels_the_turn() -> None:
    command = [*RUN, "--json", "-p", "/say ready\n/sleep 1000", "--", *AGENT]
    async with asyncio.timeout(PATIENCE), RawDriver.spawn(command) as driver:
        await driver.read_until(lambda m: m.get("content", {}) == {"type": "text", "text": "ready"})
        driver.kill(signal.SIGINT)
        end, _ = await driver.read_until(lambda m: m.get("type") == "end")
        assert end == {"type": "end", "stopReason": "cancelled"}
        assert await driver.wait() == 130
        assert driver.stderr == "cancelling; Ctrl-C again quits\n"


async def answer(agent: RawLines, method: str, result: dict[str, Any]) -> None:
    request, _ = await agent.read_until(lambda m: m.get("method") == method)
    await agent.send_line({"jsonrpc": "2.0", "id": request["id"], "result": result})


@contextlib.asynccontextmanager
async def a_turn_that_never_ends(*options: str) -> AsyncIterator[tuple[RawDriver, RawLines]]:
    async with asyncio.timeout(PATIENCE), Rendezvous() as meeting:
        command = [*RUN, *options, "-p", "x", "--", *meeting.command]
        async with RawDriver.spawn(command) as client, await meeting.accept() as agent:
            info = {"name": "stubborn", "version": "1"}
            initialized = {"protocolVersion": 2, "info": info, "capabilities": {"session": {}}}
            await answer(agent, "initialize", initialized)
            await answer(agent, "session/new", {"sessionId": "s"})
            await answer(agent, "session/prompt", {"messageId": "m"})
            yield client, agent


async def test_a_second_interrupt_quits_an_agent_that_does_not_obey() -> None:
    async with a_turn_that_never_ends("--json") as (client, agent):
        client.kill(signal.SIGINT)
        await agent.read_until(lambda m: m.get("method") == "session/cancel")
        client.kill(signal.SIGINT)
        assert await client.read_json() == {"type": "end", "stopReason": None}
        assert await client.wait() == 130
        assert "Traceback" not in client.stderr


async def test_an_interrupt_while_the_agent_starts_quits_at_once() -> None:
    async with asyncio.timeout(PATIENCE), Rendezvous() as meeting:
        command = [*RUN, "-p", "x", "--", *meeting.command]
        async with RawDriver.spawn(command) as client, await meeting.accept() as agent:
            await agent.read_until(lambda m: m.get("method") == "initialize")
            client.kill(signal.SIGINT)
            assert await client.wait() == 130
            assert client.stderr == ""


# -- on a terminal ----------------------------------------------------------------------------------------------------


class OnTerminal:
    """`acpwire run` with a pseudo-terminal for its standard streams."""

    def __init__(self, *options: str) -> None:
        self.fd, theirs = pty.openpty()
        command = [*RUN, *options, "--", *AGENT]
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        self.shown = ""

    def read_until(self, text: str | None) -> str:
        """Read on until a text was shown, or to the end."""
        while text is None or text not in self.shown:
            try:
                chunk = os.read(self.fd, 65536)
            except OSError:  # how Linux tells that the other side has closed
                chunk = b""
            if not chunk:
                assert text is None, f"{text!r} never came: {self.shown}"
                break
            self.shown += chunk.decode().replace("\r\n", "\n")
        return self.shown

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def wait(self) -> int:
        self.read_until(None)
        os.close(self.fd)
        return self.process.wait(timeout=PATIENCE)


def test_a_person_is_asked_on_a_terminal() -> None:
    terminal = OnTerminal("-p", "/say before\n/permission\n/permission\n/say after")
    shown = terminal.read_until("or nothing to decline:\n")
    assert "before\n" in shown
    assert "  1. Allow\n  2. Always allow\n  3. Reject\n  4. Always reject\n" in shown
    terminal.type("2\n")
    terminal.shown = ""
    terminal.read_until("or nothing to decline:\n")
    terminal.type("\n")
    assert terminal.wait() == 0
    assert "permission: allowed (allow_always)\n" in terminal.shown
    assert "permission: not allowed\n" in terminal.shown
    assert terminal.shown.endswith("\nafter\n")


@pytest.mark.req("SEC-02")
def test_json_on_a_terminal_is_escaped_and_stays_json() -> None:
    terminal = OnTerminal("--json", "-p", '/update {"sessionUpdate":"_x","t":"\x9b2J\u202e\\u001b"}')
    assert terminal.wait() == 0
    (update,) = [line for line in terminal.shown.splitlines() if '"_x"' in line and "user_message" not in line]
    assert "\x9b" not in terminal.shown
    assert "\x1b" not in terminal.shown
    assert json.loads(update) == {"sessionUpdate": "_x", "t": "\x9b2J\u202e\x1b"}


def test_a_prompt_is_not_waited_for_on_a_terminal() -> None:
    terminal = OnTerminal()
    assert terminal.wait() == 2
    assert terminal.shown == "acpwire run: the prompt is missing: give it with -p, or on standard input\n"


# -- a reader that has had enough -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "first"),
    [
        pytest.param(["--json"], b'{"sessionUpdate":"user_message"', id="json"),
        pytest.param([], b"ready\n", id="text"),
    ],
)
def test_a_reader_that_goes_away_ends_the_command_quietly(options: list[str], first: bytes) -> None:
    command = [*RUN, *options, "-p", "ready\n/burst 100000\n/sleep 1000", "--", *AGENT]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline().startswith(first)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=PATIENCE) == 1
