"""A child process and its group: start, exit status, signals. What it says and hears is `_process`'s.

The child leads a process group of its own. A group's number stays taken while a member lives *or the leader has
not been reaped*, so the leader's status is looked at without reaping it (`WNOWAIT`), and it is reaped only after
the last signal that has to be right: no signal ever meets a stranger that inherited the number.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from ..errors import TransportError

__all__ = ["SIGKILL", "SIGTERM", "Child", "environment", "pipe", "start"]

SIGTERM: Final[int] = signal.SIGTERM
SIGKILL: Final[int] = getattr(signal, "SIGKILL", signal.SIGTERM)

PIPE_SIZE = 1024 * 1024
REAP_PATIENCE = 1.0
"""Seconds that a process may take to go after SIGKILL."""


def environment(env: Mapping[str, str | None] | None, inherit: bool) -> dict[str, str]:
    """Our own environment (unless not to be inherited) with `env` laid over it; `None` takes a name out."""
    merged: dict[str, str] = dict(os.environ) if inherit else {}
    for name, value in (env or {}).items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = value
    return merged


def pipe() -> tuple[int, int]:
    """A pipe that holds 1 MiB where the system allows it: (read end, write end)."""
    read_fd, write_fd = os.pipe()
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):  # this user's share of pipe memory is used up: the usual size works too
            fcntl.fcntl(write_fd, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    return read_fd, write_fd


def start(
    command: Sequence[str],
    *,
    streams: tuple[int, int, int | None],
    cwd: str | os.PathLike[str] | None,
    env: dict[str, str],
) -> subprocess.Popen[bytes]:
    """Start `command` in a process group of its own.

    Args:
        command: the program and its arguments.
        streams: descriptors for its standard input, output and error; `None`: it shares our stderr.
        cwd: its working directory, ours by default.
        env: its whole environment.

    Raises:
        TransportError: it could not be started; one line says why.
    """
    if not command or not command[0]:
        raise TransportError("the agent command is empty")
    stdin, stdout, stderr = streams
    try:
        return subprocess.Popen(
            list(command), stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, env=env, start_new_session=True
        )
    except (OSError, ValueError) as error:
        raise TransportError(_why_not(command[0], cwd, env, error)) from error


def _why_not(program: str, cwd: str | os.PathLike[str] | None, env: dict[str, str], error: Exception) -> str:
    if cwd is not None and not os.path.isdir(cwd):
        how = "is not a directory" if os.path.exists(cwd) else "does not exist"
        return f"working directory {os.fspath(cwd)} {how}"
    if isinstance(error, FileNotFoundError):
        folders = [cwd or os.curdir] if os.path.dirname(program) else env.get("PATH", os.defpath).split(os.pathsep)
        if not any(os.path.exists(os.path.join(folder, program)) for folder in folders):
            return f"agent command not found: {program}"
        return f"agent command {program}: the interpreter that its first line names was not found"
    if isinstance(error, PermissionError):
        return f"agent command {program} is not executable"
    reason = error.strerror if isinstance(error, OSError) else None
    return f"agent command {program} could not be started: {reason or error}"


class Child:
    """A started process and its group.

    Args:
        process: made by `start`.
        on_exit: called once in the loop when the leader has exited.
    """

    def __init__(self, process: subprocess.Popen[bytes], on_exit: Callable[[], None]) -> None:
        self._process = process
        self._on_exit = on_exit
        self._loop = asyncio.get_running_loop()
        self._exited = asyncio.Event()
        self._group_gone = False
        self._killed = False
        self._pidfd: int | None = None
        self.returncode: int | None = None
        """Exit status of the leader, negative for a signal; `None` while it runs."""
        self._watch()

    @property
    def pid(self) -> int:
        """The leader's process id, which is the group's id too."""
        return self._process.pid

    async def exits_within(self, seconds: float) -> bool:
        """Whether the leader exits within `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        except TimeoutError:
            return False
        return True

    async def group_ends_within(self, seconds: float) -> None:
        """After the leader was reaped: wait up to `seconds` until no other member of its group is left.

        It does not wait after SIGKILL, which nobody survives; who is left then is a zombie that init has to reap.
        """
        deadline = self._loop.time() + seconds
        pause = 0.002
        while not self._killed and self.signal(0) and self._loop.time() < deadline:
            await asyncio.sleep(pause)  # nothing tells when a group is empty
            pause = min(pause * 2, 0.05)

    def signal(self, number: int) -> bool:
        """Send a signal to the whole group; whether there was anybody to get it."""
        if self._group_gone:
            return False
        self._killed = self._killed or number == SIGKILL
        if sys.platform == "win32":
            return self._terminate(number)
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            self._group_gone = True
        except PermissionError:  # macOS says so of a group of zombies
            self._group_gone = self.returncode is not None
        return not self._group_gone

    def reap(self) -> None:
        """Take the leader out of the process table; waits for it, bounded, in a blocking way."""
        self._unwatch()
        try:
            status = self._process.wait(REAP_PATIENCE)
        except subprocess.TimeoutExpired:  # it sits in a system call that cannot be interrupted
            return
        if self.returncode is None:
            self.returncode = status

    def _terminate(self, number: int) -> bool:
        running = self._process.poll() is None
        if running and number:
            self._process.terminate()
        return running

    def _watch(self) -> None:
        try:
            self._pidfd = os.pidfd_open(self._process.pid)
            self._loop.add_reader(self._pidfd, self._note_exit)
        except (AttributeError, OSError, NotImplementedError):  # not Linux, or the loop cannot
            self._unwatch()
            threading.Thread(target=self._wait_in_thread, name="acpwire-exit-watch", daemon=True).start()

    def _unwatch(self) -> None:
        pidfd, self._pidfd = self._pidfd, None
        if pidfd is not None:
            self._loop.remove_reader(pidfd)
            os.close(pidfd)

    def _wait_in_thread(self) -> None:
        status = self._status(0)
        if status is None:
            status = self._process.wait()
        try:
            self._loop.call_soon_threadsafe(self._set_exit, status)
        except RuntimeError:  # the loop is closed: nobody is left to tell
            return

    def _note_exit(self) -> None:
        self._unwatch()
        status = self._status(os.WNOHANG)
        self._set_exit(self._process.wait() if status is None else status)

    def _status(self, flags: int) -> int | None:
        """The leader's exit status, leaving it unreaped; `None` where that cannot be done."""
        if not hasattr(os, "waitid"):
            return None
        try:
            result = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | flags)
        except ChildProcessError:  # somebody else reaped it
            return None
        if result is None:
            return None
        return result.si_status if result.si_code == os.CLD_EXITED else -result.si_status

    def _set_exit(self, status: int) -> None:
        if not self._exited.is_set():
            self.returncode = status
            self._exited.set()
            self._on_exit()
