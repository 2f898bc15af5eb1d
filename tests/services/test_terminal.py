"""Terminals that run real commands, and what the client's state makes of the reports."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpwire.errors import INVALID_PARAMS, LocalProtocolError, RequestError
from acpwire.protocol.ids import SessionId, TerminalId
from acpwire.protocol.v2.cancel import CancelTerminalRequest, CancelTerminalResponse
from acpwire.protocol.v2.terminal import TerminalExitStatus, TerminalOutputChunk, TerminalUpdate
from acpwire.services import Terminals, run_terminal
from acpwire.services.terminal import _Shown
from acpwire.state.session import SessionState

PATIENCE = 10.0
SLEEP = "echo ready; exec sleep 600"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")


class Screen:
    """A client: applies what it is sent, and can be waited for."""

    def __init__(self) -> None:
        self.updates: list[TerminalUpdate | TerminalOutputChunk] = []
        self.state = SessionState(SessionId("s"))
        self.news = asyncio.Event()

    async def send(self, update) -> None:
        self.updates.append(update)
        self.state.apply(update)
        self.news.set()

    def shown(self, terminal) -> bytes:
        return self.state.terminals[terminal.id].output

    async def shows(self, terminal, text: bytes) -> None:
        async with asyncio.timeout(PATIENCE):
            while text not in self.shown_so_far(terminal):
                self.news.clear()
                await self.news.wait()

    def shown_so_far(self, terminal) -> bytes:
        return self.shown(terminal) if terminal.id in self.state.terminals else b""


@pytest.fixture
async def screen():
    return Screen()


def gone(pid: int) -> bool:
    """Whether a process has ended; a zombie that nobody has reaped yet has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def run(screen, command, **options):
    async with asyncio.timeout(PATIENCE), run_terminal(screen.send, command, **options) as terminal:
        await terminal.wait()
    return terminal


@pytest.mark.req("TERM-06", "TERM-07", "TERM-17")
async def test_a_command_is_shown_from_its_start_to_its_exit(screen, tmp_path):
    terminal = await run(screen, "pwd; echo oops >&2; exit 3", cwd=tmp_path)
    first, *chunks, last = screen.updates
    assert first == TerminalUpdate(terminal_id=terminal.id, command="pwd; echo oops >&2; exit 3", cwd=str(tmp_path))
    assert all(isinstance(chunk, TerminalOutputChunk) for chunk in chunks)
    assert last == TerminalUpdate(terminal_id=terminal.id, exit_status=TerminalExitStatus(exit_code=3))
    assert screen.shown(terminal) == terminal.output == f"{tmp_path.resolve()}\noops\n".encode()
    assert terminal.exit_status == TerminalExitStatus(exit_code=3)
    assert not terminal.running


async def test_a_program_gets_its_arguments_as_they_are_and_the_environment(screen, monkeypatch):
    monkeypatch.setenv("GONE", "1")
    program = "import os, sys; print(sys.argv[1:], os.environ['NEW'], 'GONE' in os.environ)"
    command = [sys.executable, "-c", program, "a b", "$HOME"]
    terminal = await run(screen, command, env={"NEW": "2", "GONE": None})
    assert terminal.output == b"['a b', '$HOME'] 2 False\n"
    assert screen.updates[0].command.endswith("'a b' '$HOME'")


@pytest.mark.req("TERM-09", "TERM-12")
async def test_bytes_are_shown_as_they_are(screen):
    terminal = await run(screen, [sys.executable, "-c", "import sys; sys.stdout.buffer.write(bytes(range(256)))"])
    assert screen.shown(terminal) == bytes(range(256))


async def test_a_command_without_output_is_shown_by_two_updates(screen):
    await run(screen, "true")
    assert len(screen.updates) == 2


async def test_there_is_no_input(screen):
    terminal = await run(screen, "cat; echo end")
    assert terminal.output == b"end\n"


@pytest.mark.req("TERM-17")
async def test_the_signal_that_ended_it_is_reported_by_name(screen):
    terminal = await run(screen, "kill -USR1 $$")
    assert terminal.exit_status == TerminalExitStatus(signal="SIGUSR1")


@pytest.mark.req("TERM-23", "TERM-24", "TERM-27")
async def test_the_client_can_cancel_what_says_so(screen):
    terminals = Terminals()
    async with run_terminal(screen.send, SLEEP, cancellable=True) as terminal:
        terminals.add(terminal)
        await screen.shows(terminal, b"ready")
        assert screen.updates[0].capabilities.cancel is not None
        request = CancelTerminalRequest(session_id=SessionId("s"), terminal_id=terminal.id)
        assert await terminals.cancel(request) == CancelTerminalResponse()
        async with asyncio.timeout(PATIENCE):
            assert await terminal.wait() == TerminalExitStatus(signal="SIGTERM")
        assert screen.updates[-1].capabilities is None
        with pytest.raises(RequestError) as caught:
            await terminals.cancel(request)
        assert caught.value.code == INVALID_PARAMS


@pytest.mark.req("TERM-26")
async def test_what_cannot_be_cancelled_is_refused(screen):
    terminals = Terminals()
    unknown = CancelTerminalRequest(session_id=SessionId("s"), terminal_id=TerminalId("other"))
    with pytest.raises(RequestError) as caught:
        await terminals.cancel(unknown)
    assert (caught.value.code, caught.value.data) == (INVALID_PARAMS, {"terminalId": "other"})
    async with run_terminal(screen.send, SLEEP) as terminal:
        terminals.add(terminal)
        with pytest.raises(RequestError):
            await terminals.cancel(CancelTerminalRequest(session_id=SessionId("s"), terminal_id=terminal.id))
        assert terminal.running


async def test_terminals_that_have_exited_are_forgotten(screen):
    terminals = Terminals()
    terminals.add(await run(screen, "true", cancellable=True))
    last = terminals.add(run_terminal(screen.send, "true", cancellable=True))
    assert list(terminals._running) == [last.id]


async def test_the_end_of_the_block_ends_the_command(screen):
    async with run_terminal(screen.send, "echo $$; exec sleep 600") as terminal:
        await screen.shows(terminal, b"\n")
        pid = int(terminal.output)
    assert gone(pid)
    assert screen.updates[-1].exit_status == TerminalExitStatus(signal="SIGTERM")


async def test_a_command_that_does_not_listen_is_killed(screen, monkeypatch):
    monkeypatch.setattr("acpwire.services.terminal.STOP_GRACE", 0.05)
    async with run_terminal(screen.send, "trap '' TERM; echo ready; while :; do sleep 0.01; done") as terminal:
        await screen.shows(terminal, b"ready")
        async with asyncio.timeout(PATIENCE):
            assert await terminal.stop() == TerminalExitStatus(signal="SIGKILL")


async def test_what_a_command_leaves_behind_is_ended_and_does_not_delay_its_exit(screen, monkeypatch):
    monkeypatch.setattr("acpwire.services.terminal.EXIT_PATIENCE", 0.05)
    monkeypatch.setattr("acpwire.services.terminal.STOP_GRACE", 0.05)
    async with run_terminal(screen.send, "sleep 600 & echo $!") as terminal:
        async with asyncio.timeout(PATIENCE):
            assert await terminal.wait() == TerminalExitStatus(exit_code=0)
        pid = int(terminal.output)
        assert not gone(pid)
    assert gone(pid)


@pytest.mark.req("TERM-24")
async def test_a_cancelled_block_ends_the_command_and_reports_it(screen):
    terminal = run_terminal(screen.send, SLEEP)

    async def work() -> None:
        async with terminal:
            await terminal.wait()

    task = asyncio.create_task(work())
    await screen.shows(terminal, b"ready")
    task.cancel()
    async with asyncio.timeout(PATIENCE):
        await asyncio.wait([task])
    assert task.cancelled()
    assert screen.updates[-1].exit_status == TerminalExitStatus(signal="SIGTERM")


async def test_a_block_that_is_cancelled_twice_leaves_nothing(screen):
    terminal = run_terminal(screen.send, "trap '' TERM; echo $$; while :; do sleep 0.01; done")

    async def work() -> None:
        async with terminal:
            await terminal.wait()

    task = asyncio.create_task(work())
    await screen.shows(terminal, b"\n")
    pid = int(terminal.output)
    task.cancel()
    while terminal._stopping is None:
        await asyncio.sleep(0)
    task.cancel()
    async with asyncio.timeout(PATIENCE):
        await asyncio.wait([task])
    assert task.cancelled()
    assert gone(pid)


async def test_cancelling_a_wait_leaves_the_command_running(screen):
    async with run_terminal(screen.send, SLEEP) as terminal:
        await screen.shows(terminal, b"ready")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await terminal.wait()
        assert terminal.running


@pytest.mark.parametrize("allowed", [0, 1, 2])
async def test_a_report_that_fails_ends_the_command_and_is_raised(screen, allowed):
    async def send(update) -> None:
        if len(screen.updates) == allowed:
            raise LocalProtocolError("the turn is over")
        await screen.send(update)

    terminal = run_terminal(send, "echo $$")
    with pytest.raises(LocalProtocolError, match="the turn is over"):
        async with asyncio.timeout(PATIENCE), terminal:
            await terminal.wait()
    assert terminal.exit_status is None
    assert not terminal.running


async def test_an_error_of_the_block_counts_more_than_one_of_the_reports():
    async def send(update) -> None:
        raise LocalProtocolError("the turn is over")

    with pytest.raises(KeyError):
        async with run_terminal(send, SLEEP):
            raise KeyError


@pytest.mark.parametrize(
    ("command", "error"), [(["/no/such/program"], FileNotFoundError), (["/"], PermissionError), ([], IndexError)]
)
async def test_a_command_that_cannot_be_started_is_not_shown(screen, command, error):
    with pytest.raises((error, ValueError)):
        async with run_terminal(screen.send, command):
            pass
    assert screen.updates == []


@pytest.mark.req("TERM-07")
async def test_a_relative_directory_is_refused(screen):
    with pytest.raises(LocalProtocolError):
        run_terminal(screen.send, "true", cwd="here")
    assert run_terminal(screen.send, "true").cwd == str(Path.cwd())


@pytest.mark.req("TERM-01", "TERM-03")
async def test_a_terminal_has_an_id_of_its_own_and_runs_once(screen):
    terminal = await run(screen, "true")
    assert terminal.id != run_terminal(screen.send, "true").id
    assert terminal.anchor.terminal_id == terminal.id
    with pytest.raises(LocalProtocolError, match="once"):
        await terminal.__aenter__()
    with pytest.raises(LocalProtocolError, match="async with"):
        await run_terminal(screen.send, "true", terminal_id="mine").wait()


async def test_a_flood_is_shown_by_its_end_and_does_not_wait_for_a_slow_client(screen):
    release = asyncio.Event()

    async def send(update) -> None:
        if len(screen.updates) == 1:
            await release.wait()
        await screen.send(update)

    program = "import sys\nfor n in range(200_000): sys.stdout.write(f'{n}\\n')"
    async with asyncio.timeout(PATIENCE), run_terminal(send, [sys.executable, "-c", program], keep=1000) as terminal:
        while terminal.running:
            await asyncio.sleep(0)
        release.set()
        await terminal.wait()
    assert terminal.output_size == sum(len(f"{n}\n") for n in range(200_000))
    assert len(terminal.output) == 1000
    assert len(screen.shown(terminal)) <= 1000
    assert screen.shown(terminal).endswith(b"199998\n199999\n")
    assert len(screen.updates) < 10


async def test_much_output_comes_in_chunks_of_bounded_size(screen, monkeypatch):
    monkeypatch.setattr("acpwire.services.terminal.CHUNK", 100)
    terminal = await run(screen, "head -c 1000 /dev/zero")
    assert screen.shown(terminal) == bytes(1000)
    assert all(len(update.data) <= 136 for update in screen.updates if isinstance(update, TerminalOutputChunk))


@given(st.lists(st.one_of(st.none(), st.binary(max_size=20)), max_size=30), st.integers(1, 30))
@pytest.mark.req("TERM-08", "TERM-13")
def test_what_is_shown_is_the_end_of_what_was_written(events, keep):
    output, there, written = _Shown(keep), b"", b""
    for event in [*events, None]:
        if event is not None:
            written += event
            output.add(event)
            continue
        data, complete = output.take()
        there = data if complete else there + data
        assert written.endswith(there)
        assert len(there) <= keep
        assert len(there) >= min(len(written), max(1, keep // 2))
    assert output.tail == written[-keep:]
    assert output.total == len(written)


def test_nothing_is_not_kept():
    with pytest.raises(LocalProtocolError):
        _Shown(0)


async def test_a_real_time_signal_has_a_name(screen):
    if not hasattr(signal, "SIGRTMIN"):
        pytest.skip("no real-time signals here")
    terminal = await run(screen, f"kill -{int(signal.SIGRTMIN) + 3} $$")
    assert terminal.exit_status == TerminalExitStatus(signal="SIGRTMIN+3")
