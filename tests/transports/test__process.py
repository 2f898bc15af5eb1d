"""Spawned agents: what they say and hear, how they end, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import logging
import os
import select
import signal
import sys
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from acpwire.errors import AgentExited, ConnectionClosed, TransportError
from acpwire.transports import _process
from acpwire.transports.stdio import ProcessTransport, spawn

PATIENCE = 20.0


def python(code: str) -> list[str]:
    return [sys.executable, "-c", "import os, signal, subprocess, sys\n" + textwrap.dedent(code)]


async def soon(awaitable: Awaitable[object]) -> object:
    return await asyncio.wait_for(awaitable, PATIENCE)


async def frame(transport: ProcessTransport) -> bytes:
    async with asyncio.timeout(PATIENCE):
        (only,) = await transport.receive()
    assert isinstance(only, bytes)
    return only


async def end_of(transport: ProcessTransport) -> AgentExited:
    async with asyncio.timeout(PATIENCE):
        while await transport.receive():
            pass
    error = transport.closed_error()
    assert error is not None
    return error


class Watched:
    """A process that is not our child: whether it is gone, without polling and without mistaking its number."""

    def __init__(self, pid: int) -> None:
        self.fd = os.pidfd_open(pid)

    def gone_within(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        gone = bool(poll.poll(seconds * 1000))
        os.close(self.fd)
        return gone


@pytest.mark.req("TRAN-03")
async def test_frames_go_there_and_back() -> None:
    transport = await spawn(["cat"])
    await transport.send([b'{"a":1}', b'{"b":2}'])
    got: list[object] = []
    while len(got) < 2:
        got += await transport.receive()
    assert got == [b'{"a":1}', b'{"b":2}']
    assert transport.describe() == "agent `cat`"
    assert (transport.returncode, transport.pid > 0) == (None, True)
    await transport.aclose()
    assert transport.returncode == 0
    assert transport.closed_error() is None


async def test_a_burst_before_reading_meets_a_large_prompt_and_both_complete() -> None:
    code = """
    sys.stdout.buffer.write((b"x" * 4095 + b"\\n") * 1024)
    sys.stdout.buffer.flush()
    print(len(sys.stdin.buffer.readline()), flush=True)
    """
    transport = await spawn(python(code))
    sending = asyncio.create_task(transport.send([b"y" * (8 << 20)]))
    got: list[object] = []
    async with asyncio.timeout(PATIENCE):
        while len(got) < 1025:
            got += await transport.receive()
    await soon(sending)
    assert got[-1] == str((8 << 20) + 1).encode()
    await transport.aclose()


async def test_an_agent_that_closed_its_input_fails_every_send() -> None:
    transport = await spawn(python("os.close(0); print(1, flush=True); signal.pause()"), stop_grace=0.1)
    assert await frame(transport) == b"1"
    for _ in range(3):
        with pytest.raises(ConnectionClosed, match="no longer reads"):
            await soon(transport.send([b"{}"]))
    await transport.aclose()


async def test_stderr_is_drained_before_the_agent_reads_anything() -> None:
    transport = await spawn(python("sys.stderr.write('e' * 3_000_000); print(len(sys.stdin.readline()), flush=True)"))
    await transport.send([b"{}"])
    assert await frame(transport) == b"3"
    await transport.aclose()


async def test_a_flood_of_stderr_is_kept_in_bounded_memory_and_its_end_is_in_the_error() -> None:
    code = """
    for _ in range(50): os.write(2, b"e" * (1 << 20))
    os.write(2, "é boom".encode()); sys.exit(3)
    """
    transport = await spawn(python(code))
    error = await end_of(transport)
    assert len(transport._tail) <= 2 * _process.TAIL
    assert len(error.stderr.encode()) <= _process.TAIL + 2
    assert (error.returncode, error.stderr.endswith("é boom")) == (3, True)
    assert str(error).startswith(f"agent `{sys.executable} -c")
    assert "exited with status 3" in str(error)
    await transport.aclose()


async def test_an_agent_that_is_killed_ends_the_stream_with_its_signal_and_its_last_words() -> None:
    transport = await spawn(python("os.write(2, b'last words'); print(1, flush=True); signal.pause()"))
    assert await frame(transport) == b"1"
    waiting = asyncio.create_task(transport.receive())
    await asyncio.sleep(0)
    os.kill(transport.pid, signal.SIGKILL)
    assert await asyncio.wait_for(waiting, 1) == []
    error = transport.closed_error()
    assert error is not None
    assert (error.returncode, error.stderr) == (-9, "last words")
    with pytest.raises(ConnectionClosed):
        await transport.send([b"{}"])
    await transport.aclose()
    assert transport.closed_error() is not None, "the first reason stays"


async def test_an_agent_that_closes_its_output_but_lives_ends_the_stream_within_a_second() -> None:
    code = "os.write(2, b'oops'); os.write(1, b'{}'); os.close(1); signal.pause()"
    transport = await spawn(python(code), stop_grace=0.1)
    assert await frame(transport) == b"{}"
    assert await asyncio.wait_for(transport.receive(), 1) == []
    error = transport.closed_error()
    assert error is not None
    assert (error.returncode, error.stderr) == (None, "oops")
    assert "closed its output but still runs" in str(error)
    await transport.aclose()


async def test_output_that_others_hold_open_does_not_hide_that_the_agent_exited() -> None:
    transport = await spawn(["sh", "-c", "echo first; sleep 100 & echo $!; exit 4"], stop_grace=0.2)
    got: list[object] = []
    async with asyncio.timeout(PATIENCE):
        while frames := await transport.receive():
            got += frames
    leaf = Watched(int(bytes(got[1])))  # type: ignore[arg-type]
    error = transport.closed_error()
    assert error is not None
    assert (got[0], error.returncode) == (b"first", 4)
    await transport.aclose()
    assert leaf.gone_within(3)


async def test_what_an_agent_said_before_it_exited_is_received_at_leisure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_process, "EXIT_PATIENCE", 0.01)
    checked, check = asyncio.Event(), ProcessTransport._check

    def check_and_tell(transport: ProcessTransport) -> None:
        check(transport)
        checked.set()

    monkeypatch.setattr(ProcessTransport, "_check", check_and_tell)
    code = 'import subprocess; subprocess.Popen(["sleep", "100"])\nsys.stdout.write("1234567\\n" * 14_000)'
    transport = await spawn(python(code), stop_grace=0.2)
    transport._intake._inbox._capacity = 1
    assert await transport._child.exits_within(PATIENCE)
    count, turns = 0, 0
    async with asyncio.timeout(PATIENCE):
        while frames := await transport.receive():
            count += len(frames)
            turns += 1
            if turns <= 2:  # the patience with a process that is gone runs out before we receive again
                checked.clear()
                await checked.wait()
    assert (count, turns > 1) == (14_000, True)
    await transport.aclose()


@pytest.mark.req("TRAN-08")
async def test_a_last_line_without_an_end_is_received() -> None:
    transport = await spawn(["printf", '{"a":1}\\n{"b":2}'])
    got: list[object] = []
    while frames := await transport.receive():
        got += frames
    assert got == [b'{"a":1}', b'{"b":2}']
    await transport.aclose()


LEAF = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(__import__("os").getpid(), flush=True)
while True: signal.pause()
"""


async def stubborn(tmp_path: Path, wrapper: str, grace: float = 0.4) -> tuple[ProcessTransport, Watched]:
    """An agent behind a wrapper: it ignores the end of its input, and SIGTERM."""
    leaf = tmp_path / "leaf.py"
    leaf.write_text(LEAF)
    transport = await spawn(["sh", "-c", wrapper.format(f"{sys.executable} {leaf}")], stop_grace=grace)
    return transport, Watched(int(await frame(transport)))


WRAPPERS = {
    "direct": "exec {}",
    "background": "exec 3<&0; {} <&3 & wait",
    "two levels": "sh -c 'sh -c \"{}; true\"; true'; true",
    "leader exits": "{} & cat; exit 0",
}


@pytest.mark.req("TRAN-07")
@pytest.mark.parametrize("wrapper", WRAPPERS.values(), ids=WRAPPERS.keys())
async def test_closing_ends_every_process_of_the_agent(wrapper: str, tmp_path: Path) -> None:
    transport, leaf = await stubborn(tmp_path, wrapper)
    await soon(transport.aclose())
    assert leaf.gone_within(3)


async def test_with_the_usual_grace_a_stubborn_agent_is_gone_within_three_seconds(tmp_path: Path) -> None:
    transport, leaf = await stubborn(tmp_path, WRAPPERS["background"], _process.STOP_GRACE)
    async with asyncio.timeout(3):
        await transport.aclose()
        assert leaf.gone_within(0.5)


@pytest.mark.parametrize("how", ["cancelled owner", "cancelled aclose", "exception", "loop ends"])
async def test_every_way_out_ends_every_process_of_the_agent(how: str, tmp_path: Path) -> None:
    transport, leaf = await stubborn(tmp_path, WRAPPERS["background"])
    inside = asyncio.Event()

    async def body() -> None:
        try:
            inside.set()
            if how == "exception":
                raise ValueError("from the body")
            if how == "cancelled owner":
                await transport.receive()
        finally:
            if how == "cancelled aclose":
                transport._grace = 100
            await transport.aclose()

    owner = asyncio.create_task(body())
    await inside.wait()
    await asyncio.sleep(0)
    if how.startswith("cancelled"):
        owner.cancel()
    elif how == "loop ends":
        assert transport._closing is not None
        transport._closing.cancel()
    await asyncio.wait([owner], timeout=5)
    assert owner.done()
    if how == "exception":
        assert isinstance(owner.exception(), ValueError)
    assert leaf.gone_within(3)
    assert transport.returncode in {-signal.SIGTERM, -signal.SIGKILL}


async def test_closing_again_and_again_cancelled_still_ends_and_reaps(tmp_path: Path) -> None:
    transport, leaf = await stubborn(tmp_path, WRAPPERS["direct"])
    closing = asyncio.create_task(transport.aclose())
    while not closing.done():
        await asyncio.sleep(0)
        closing.cancel()
    assert closing.cancelled()
    assert leaf.gone_within(3)
    assert transport.returncode == -signal.SIGKILL
    await transport.aclose()


async def test_an_agent_that_ignores_sigterm_is_closed_in_bounded_time(tmp_path: Path) -> None:
    transport, leaf = await stubborn(tmp_path, WRAPPERS["direct"])
    begin = asyncio.get_running_loop().time()
    await transport.aclose()
    assert 0.4 <= asyncio.get_running_loop().time() - begin < 2
    assert leaf.gone_within(3)


async def test_an_agent_that_ends_with_its_input_is_not_signalled() -> None:
    code = """
    signal.signal(signal.SIGTERM, lambda *_: os.write(2, b"TERM"))
    print(1, flush=True)
    for line in sys.stdin: os.write(2, b"got a line ")
    sys.stdout.write("x" * 3_000_000)
    sys.stdout.flush()
    os.write(2, b"bye"); sys.exit(6)
    """
    transport = await spawn(python(code), stop_grace=20)
    assert await frame(transport) == b"1"
    await transport.send([b"{}"])
    await soon(transport.aclose())
    assert (transport.returncode, transport.stderr) == (6, "got a line bye")


async def test_two_agents_close_in_any_order_and_from_other_tasks() -> None:
    first, second = await spawn(["cat"]), await spawn(["cat"])
    await soon(first.aclose())
    await soon(asyncio.create_task(second.aclose()))
    await soon(asyncio.gather(first.aclose(), second.aclose(), second.aclose()))
    assert (first.returncode, second.returncode) == (0, 0)
    with pytest.raises(ConnectionClosed, match="closed on this side"):
        await first.send([b"{}"])


async def test_a_function_gets_stderr_as_it_comes_and_its_failure_is_only_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    chunks: list[bytes] = []

    def take(chunk: bytes) -> None:
        chunks.append(chunk)
        raise ValueError("a broken callback")

    transport = await spawn(["sh", "-c", "printf one >&2; echo; read line; printf two >&2"], stderr=take)
    await transport.send([b"{}"])
    with caplog.at_level(logging.CRITICAL, "acpwire"), pytest.MonkeyPatch.context() as patch:
        logged: list[str] = []
        patch.setattr(_process._log, "exception", lambda text, *args: logged.append(text % args))
        error = await end_of(transport)
    assert b"".join(chunks) == b"onetwo"
    assert error.stderr == "onetwo"
    assert logged
    assert "callback for the stderr" in logged[-1]
    await transport.aclose()


async def test_inherited_stderr_is_ours_and_nothing_is_kept(capfd: pytest.CaptureFixture[str]) -> None:
    transport = await spawn(["sh", "-c", "echo shown >&2"], stderr="inherit")
    error = await end_of(transport)
    await transport.aclose()
    assert (capfd.readouterr().err, error.stderr) == ("shown\n", "")


async def test_directory_and_environment_reach_the_agent(tmp_path: Path) -> None:
    code = "print(os.getcwd(), sorted(k for k in os.environ if k in ('A', 'HOME', 'PATH')), os.environ['A'])"
    transport = await spawn(python(code), cwd=tmp_path, env={"A": "1", "HOME": None})
    assert (await frame(transport)).decode() == f"{tmp_path} ['A', 'PATH'] 1"
    await transport.aclose()


async def test_the_agent_leads_a_group_of_its_own() -> None:
    transport = await spawn(python("print(os.getpgid(0) == os.getpid(), flush=True); sys.stdin.read()"))
    assert await frame(transport) == b"True"
    assert os.getpgid(transport.pid) != os.getpgid(0)
    await transport.aclose()


@pytest.mark.parametrize("stderr", ["tail", "inherit"])
async def test_a_command_that_cannot_start_leaves_no_descriptor(stderr: _process.Stderr) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(TransportError, match="agent command not found: no-such-agent"):
        await spawn(["no-such-agent"], stderr=stderr)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


async def test_reading_pauses_when_nobody_receives() -> None:
    code = """
    count = 0
    os.set_blocking(1, False)
    while count < 64 << 20:
        try: count += os.write(1, b"x" * 65535 + b"\\n")
        except BlockingIOError:
            os.write(2, b"full")
            break
    sys.stdin.read()
    """
    full = asyncio.Event()
    transport = await spawn(python(code), stderr=lambda chunk: full.set())
    await soon(full.wait())
    assert transport._intake._inbox._size < 8 << 20
    await transport.aclose()


def run_everywhere(run: Callable[[object], object]) -> None:
    async def main() -> None:
        transport = await spawn(["sh", "-c", "cat; exit 3"])
        await transport.send([b"x" * 1_000_000])
        got = b""
        while len(got) < 1_000_000:
            got += b"".join(part for part in await transport.receive() if isinstance(part, bytes))
        await transport.aclose()
        assert transport.returncode == 3

    run(main())


def test_it_works_under_uvloop() -> None:
    uvloop = pytest.importorskip("uvloop")
    run_everywhere(uvloop.run)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with Python 3.12")
def test_it_works_with_eager_tasks() -> None:
    def run(main: object) -> None:
        with asyncio.Runner() as runner:
            runner.get_loop().set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]
            runner.run(main)  # type: ignore[arg-type]

    run_everywhere(run)
