"""Starting processes, their exit status, and signals for the whole group."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from acpwire.errors import TransportError
from acpwire.transports import _child
from acpwire.transports._child import SIGKILL, SIGTERM, Child, environment, pipe, start

PATIENCE = 10.0


def sleeper() -> list[str]:
    return [sys.executable, "-c", "import signal; signal.pause()"]


def child_of(command: list[str]) -> tuple[Child, list[str]]:
    null = os.open(os.devnull, os.O_RDWR)
    exits: list[str] = []
    process = start(command, streams=(null, null, None), cwd=None, env=environment(None, inherit=True))
    os.close(null)
    return Child(process, lambda: exits.append("exited")), exits


ENVIRONMENTS = [
    pytest.param(None, True, {"HAVE": "1", "VIRTUAL_ENV": "/venv"}, id="None inherits"),
    pytest.param({}, True, {"HAVE": "1", "VIRTUAL_ENV": "/venv"}, id="empty adds nothing"),
    pytest.param({"A": "1"}, True, {"HAVE": "1", "VIRTUAL_ENV": "/venv", "A": "1"}, id="a name is added"),
    pytest.param({"HAVE": "2"}, True, {"HAVE": "2", "VIRTUAL_ENV": "/venv"}, id="a name is replaced"),
    pytest.param({"VIRTUAL_ENV": None, "NO": None}, True, {"HAVE": "1"}, id="None takes a name out"),
    pytest.param({"A": "1", "B": None}, False, {"A": "1"}, id="nothing is inherited"),
    pytest.param(None, False, {}, id="an empty environment"),
    pytest.param({"A": "x\ny"}, False, {"A": "x\ny"}, id="a newline survives"),
]


@pytest.mark.parametrize(("env", "inherit", "expected"), ENVIRONMENTS)
def test_the_environment_is_what_the_documentation_says(
    env: dict[str, str | None] | None, inherit: bool, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_child.os, "environ", {"HAVE": "1", "VIRTUAL_ENV": "/venv"})
    assert environment(env, inherit) == expected


def test_a_pipe_holds_a_mebibyte_where_the_system_allows_it() -> None:
    fcntl = pytest.importorskip("fcntl")
    read_fd, write_fd = pipe()
    if hasattr(fcntl, "F_GETPIPE_SZ"):
        assert fcntl.fcntl(write_fd, fcntl.F_GETPIPE_SZ) in {1 << 20, 1 << 16, 1 << 12}
    os.close(read_fd)
    os.close(write_fd)


def test_a_pipe_is_made_although_its_size_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_: object) -> int:
        raise PermissionError

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    read_fd, write_fd = pipe()
    os.write(write_fd, b"x")
    os.close(read_fd)
    os.close(write_fd)


def test_what_cannot_be_started_is_said_in_one_clear_line(tmp_path: Path) -> None:
    plain, script = tmp_path / "plain", tmp_path / "script"
    plain.write_text("no program")
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    garbage = tmp_path / "garbage"
    garbage.write_bytes(b"\x00\x01")
    garbage.chmod(0o755)
    cases: list[tuple[list[str], Path | None, str]] = [
        (["no-such-agent", "--acp"], None, "agent command not found: no-such-agent"),
        (["./no-such-agent"], tmp_path, "agent command not found: ./no-such-agent"),
        ([str(plain)], None, f"agent command {plain} is not executable"),
        ([str(script)], None, f"agent command {script}: the interpreter that its first line names was not found"),
        (["./script"], tmp_path, "agent command ./script: the interpreter that its first line names was not found"),
        ([str(garbage)], None, f"agent command {garbage} could not be started: Exec format error"),
        (["true"], tmp_path / "gone", f"working directory {tmp_path / 'gone'} does not exist"),
        (["true"], plain, f"working directory {plain} is not a directory"),
        (["a\0b"], None, "agent command a\0b could not be started: embedded null byte"),
        ([], None, "the agent command is empty"),
        ([""], None, "the agent command is empty"),
    ]
    for command, cwd, message in cases:
        with pytest.raises(TransportError) as caught:
            start(command, streams=(0, 1, None), cwd=cwd, env={"PATH": os.environ["PATH"]})
        assert str(caught.value) == message


def test_the_path_of_the_childs_environment_is_searched(tmp_path: Path) -> None:
    (tmp_path / "own-agent").write_text("#!/bin/sh\nexit 7\n")
    (tmp_path / "own-agent").chmod(0o755)
    process = start(["own-agent"], streams=(0, 1, None), cwd=None, env={"PATH": str(tmp_path)})
    assert process.wait(PATIENCE) == 7


@pytest.mark.parametrize("watch", ["pidfd", "thread"])
@pytest.mark.parametrize(("code", "status"), [("exit 3", 3), ("kill -KILL $$", -9)])
async def test_the_exit_status_is_known_before_the_process_is_reaped(
    watch: str, code: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if watch == "thread":
        monkeypatch.delattr(_child.os, "pidfd_open")
    child, exits = child_of(["sh", "-c", code])
    assert await child.exits_within(PATIENCE)
    assert (child.returncode, exits) == (status, ["exited"])
    assert child.signal(0), "an unreaped leader keeps the number of its group"
    child.reap()
    await child.group_ends_within(PATIENCE)
    assert not child.signal(0)
    assert not child.signal(SIGKILL)


async def test_without_waitid_the_status_is_known_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(_child.os, "waitid")
    child, _ = child_of(["sh", "-c", "exit 3"])
    assert await child.exits_within(PATIENCE)
    assert child.returncode == 3
    child.reap()


async def test_a_process_that_runs_does_not_exit_in_time_and_gets_signals() -> None:
    child, exits = child_of(sleeper())
    assert not await child.exits_within(0.01)
    assert (child.returncode, exits) == (None, [])
    assert child.signal(SIGTERM)
    assert await child.exits_within(PATIENCE)
    assert child.returncode == -signal.SIGTERM
    child.reap()


async def test_a_process_that_somebody_else_reaped_has_still_exited() -> None:
    child, _ = child_of(sleeper())
    child.signal(SIGKILL)
    os.waitpid(child.pid, 0)
    assert await child.exits_within(PATIENCE)
    assert child.returncode is not None
    child.reap()


async def test_reaping_waits_for_a_process_that_was_killed() -> None:
    child, _ = child_of(sleeper())
    child.signal(SIGKILL)
    child.reap()
    assert child.returncode == -SIGKILL


async def test_members_that_are_left_are_waited_for() -> None:
    child, _ = child_of(["sh", "-c", "sleep 100 & exit 0"])
    assert await child.exits_within(PATIENCE)
    child.reap()
    loop = asyncio.get_running_loop()
    begin = loop.time()
    await child.group_ends_within(0.05)
    assert loop.time() - begin >= 0.05
    assert child.signal(SIGKILL), "the member that was left gets it"
