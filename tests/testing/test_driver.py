"""The raw driver: both roles, bounded waits, and nothing left running."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from acpwire.testing.driver import RawDriver, Rendezvous

ECHO = [
    sys.executable,
    "-c",
    "import sys\nout = open(1, 'wb')\nfor line in sys.stdin.buffer:\n  out.write(line)\n  out.flush()",
]


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


async def test_lines_of_any_kind_come_back_as_they_were_sent() -> None:
    async with RawDriver.spawn(ECHO) as driver:
        await driver.send_line({"text": "漢字"})
        assert await driver.read_line() == '{"text":"漢字"}'.encode()
        await driver.send_line("plain")
        assert await driver.read_line() == b"plain"
        await driver.send_line(b"\xff\xfe")
        assert await driver.read_line() == b"\xff\xfe"
        for byte in b'[1, "two"]\n':
            await driver.send_bytes(bytes([byte]))
        assert await driver.read_json() == [1, "two"]


async def test_a_line_of_5_mib_passes() -> None:
    async with RawDriver.spawn(ECHO) as driver:
        sending = asyncio.create_task(driver.send_line(b"x" * (5 << 20)))
        assert len(await driver.read_line()) == 5 << 20
        await sending


async def test_read_until_returns_the_message_and_what_came_before() -> None:
    async with RawDriver.spawn(ECHO) as driver:
        for message in ({"a": 1}, {"id": 7, "method": "x"}, {"id": 7, "result": {}}):
            await driver.send_line(message)
        found, before = await driver.read_until(lambda m: isinstance(m, dict) and "result" in m)
        assert (found, len(before)) == ({"id": 7, "result": {}}, 2)
        await driver.send_line({"id": 8, "method": "not the answer"})
        await driver.send_line({"id": 8, "result": None})
        assert await driver.read_response(8) == {"id": 8, "result": None}


async def test_the_end_of_the_stream_is_told_apart_from_silence() -> None:
    async with RawDriver.spawn(ECHO) as driver:
        with pytest.raises(TimeoutError):
            await driver.read_line(timeout=0.05)
        await driver.close_stdin()
        assert await driver.read_line() == b""
        with pytest.raises(EOFError):
            await driver.read_json()
        assert await driver.wait() == 0


async def test_exit_status_and_stderr_are_kept() -> None:
    async with RawDriver.spawn(python("import sys; sys.stderr.write('x' * 400_000 + 'boom'); sys.exit(3)")) as driver:
        assert await driver.wait() == 3
        assert driver.stderr.endswith("boom")
        assert len(driver.stderr) <= 256 * 1024


async def test_environment_and_directory_reach_the_process(tmp_path: Path) -> None:
    code = "import os; print(os.environ['EXTRA'], 'PATH' in os.environ, os.getcwd())"
    async with RawDriver.spawn(python(code), env={"EXTRA": "yes"}, cwd=tmp_path) as driver:
        assert await driver.read_line() == f"yes True {tmp_path}".encode()


async def test_leaving_the_block_ends_the_whole_group() -> None:
    code = (
        "import signal, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
        "print(child.pid, flush=True)\nsignal.pause()"
    )
    with pytest.raises(ValueError, match="from the body"):
        async with RawDriver.spawn(python(code)) as driver:
            pidfd = os.pidfd_open(int(await driver.read_line()))
            raise ValueError("from the body")
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(pidfd, ended.set)
    await asyncio.wait_for(ended.wait(), 5)
    asyncio.get_running_loop().remove_reader(pidfd)
    os.close(pidfd)


async def test_a_signal_can_be_sent() -> None:
    async with RawDriver.spawn(ECHO) as driver:
        driver.kill(signal.SIGTERM)
        assert await driver.wait() == -signal.SIGTERM


async def test_a_client_meets_the_test_through_its_agent_command() -> None:
    async with Rendezvous() as meeting, RawDriver.spawn(meeting.command) as client, await meeting.accept() as agent:
        await client.send_line({"id": 1, "method": "initialize"})
        assert await agent.read_json() == {"id": 1, "method": "initialize"}
        await agent.send_line({"id": 1, "result": {}})
        assert await client.read_json() == {"id": 1, "result": {}}
        await client.close_stdin()
        assert await agent.read_line() == b""
        assert await client.wait() == 0


async def test_a_lingering_agent_stays_until_the_test_closes_it() -> None:
    async with Rendezvous(linger=True) as meeting, RawDriver.spawn(meeting.command) as client:
        async with await meeting.accept() as agent:
            await client.close_stdin()
            assert await agent.read_line() == b""
            await agent.send_line("still here")
            assert await client.read_line() == b"still here"
        assert await client.wait() == 0
        assert await client.read_rest() == b""


async def test_waiting_for_an_agent_that_nobody_starts_is_bounded() -> None:
    async with Rendezvous() as meeting:
        begin = time.monotonic()
        with pytest.raises(TimeoutError):
            await meeting.accept(0.05)
        assert time.monotonic() - begin < 5
