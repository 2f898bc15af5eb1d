"""An agent command that is no agent: one clear line says which, with the exit status and the end of its stderr."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from acpwire import AcpwireError, AgentExited, StartTimeout, TransportError, connect

PATIENCE = 20.0
PYTHON = sys.executable

CASES = [
    pytest.param(["no-such-agent-anywhere"], TransportError, ["not found", "no-such-agent-anywhere"], id="not there"),
    pytest.param(["{dir}/plain.txt"], TransportError, ["not executable", "plain.txt"], id="not executable"),
    pytest.param(["{dir}/missing/agent"], TransportError, ["not found", "missing/agent"], id="no such path"),
    pytest.param(["echo", "hello there"], AgentExited, ["status 0", "not JSON", "hello there"], id="prints and ends"),
    pytest.param(
        ["sh", "-c", "echo one >&2; echo boom >&2; exit 3"], AgentExited, ["status 3", "boom"], id="dies with a status"
    ),
    pytest.param(["sh", "-c", "kill -9 $$"], AgentExited, ["SIGKILL"], id="dies of a signal"),
    pytest.param(
        [PYTHON, "-c", "import sys; print('usage: agent --acp', file=sys.stderr); sys.exit(2)"],
        AgentExited,
        ["status 2", "usage: agent --acp"],
        id="wants another flag",
    ),
    pytest.param(
        ["sh", "-c", "echo 'Log in at the console'; echo waiting >&2; exec sleep 60"],
        StartTimeout,
        ["within 0.5 s", "not JSON: 'Log in at the console'", "stderr ends: 'waiting'"],
        id="prints something else and waits",
    ),
    pytest.param(["sleep", "60"], StartTimeout, ["sleep 60", "did not answer `initialize`"], id="never answers"),
    pytest.param(
        ["sh", "-c", "exec 1>&-; exec sleep 60"], AgentExited, ["closed its output"], id="closes its output and lives"
    ),
]


@pytest.mark.parametrize(("command", "kind", "words"), CASES)
async def test_a_command_that_is_no_agent_gives_one_clear_line(
    command: list[str], kind: type[AcpwireError], words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "plain.txt").write_text("no program\n")
    command = [word.replace("{dir}", str(tmp_path)) for word in command]
    with pytest.raises(kind) as caught:
        async with asyncio.timeout(PATIENCE), connect(command, start_timeout=0.5 if kind is StartTimeout else 15.0):
            pass
    line = str(caught.value)
    assert "\n" not in line
    for word in words:
        assert word in line, line


async def test_a_working_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TransportError, match=r"working directory .*nowhere does not exist"):
        async with connect([PYTHON], cwd=tmp_path / "nowhere"):
            pass


@pytest.mark.parametrize("command", ["python agent.py", []])
async def test_a_command_is_a_list_of_words(command: Any) -> None:
    with pytest.raises(TypeError, match="list of words"):
        async with connect(command):
            pass


DIES_LATER = """
import json, sys
def answer(result):
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(sys.stdin.readline())["id"], "result": result}), flush=True)
answer({"protocolVersion": 2, "info": {"name": "a", "version": "1"}, "capabilities": {"session": {}}})
answer({"sessionId": "s"})
sys.stdin.readline()
print("out of memory", file=sys.stderr)
sys.exit(9)
"""


async def test_an_agent_that_dies_in_a_turn_fails_it_with_its_status_and_last_words() -> None:
    with pytest.raises(AgentExited) as caught:
        async with asyncio.timeout(PATIENCE), connect([PYTHON, "-c", DIES_LATER]) as client:
            session = await client.new_session("/tmp")
            await session.prompt("hello")
    assert caught.value.returncode == 9
    assert "out of memory" in caught.value.stderr
    assert "out of memory" in str(caught.value)


WAITS = """
import asyncio
from acpwire import Agent

agent = Agent("waits")


@agent.prompt
async def wait(turn):
    await turn.say("at work")
    try:
        await asyncio.Event().wait()
    finally:
        import sys
        print("stopped", file=sys.stderr)


agent.run()
"""


@pytest.mark.parametrize("how", ["end of input", "SIGTERM", "SIGINT"])
async def test_an_agent_with_a_prompt_at_work_ends_with_its_client(how: str) -> None:
    import os
    import signal

    from acpwire.testing.driver import RawDriver

    async with RawDriver.spawn([PYTHON, "-c", WAITS]) as agent:
        for number, (method, params) in enumerate(
            [
                ("initialize", {"protocolVersion": 2, "info": {"name": "raw", "version": "1"}}),
                ("session/new", {"cwd": "/tmp"}),
            ]
        ):
            await agent.send_line({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            answer = await agent.read_response(number)
        session_id = answer["result"]["sessionId"]  # type: ignore[index, call-overload]
        prompt = {"sessionId": session_id, "prompt": [{"type": "text", "text": "x"}]}
        await agent.send_line({"jsonrpc": "2.0", "id": 9, "method": "session/prompt", "params": prompt})
        await agent.read_until(lambda message: "at work" in str(message))
        if how == "end of input":
            await agent.close_stdin()
        else:
            os.kill(agent.pid, getattr(signal, how))
        assert await agent.wait() == 0
        assert "stopped" in agent.stderr
        assert "Traceback" not in agent.stderr
