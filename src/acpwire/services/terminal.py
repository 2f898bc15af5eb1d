"""Commands of the agent, shown to the client as terminals (TERM-01 to TERM-30).

    async with run_terminal(turn.update, "make test", cwd="/project") as terminal:
        await call.add(terminal.anchor)
        status = await terminal.wait()

What the command writes is read as it comes, and never makes the command wait. The client gets it in chunks, a few times
a second; when that becomes more than is kept, it gets the end of it as a snapshot instead, so that a command that
never stops writing costs a bounded amount of memory and traffic on both sides.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import subprocess
from binascii import b2a_base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Final, Self, TypeAlias
from uuid import uuid4

from msgspec import UNSET

from ..errors import INVALID_PARAMS, LocalProtocolError, RequestError
from ..protocol.ids import TerminalId
from ..protocol.v2.cancel import CancelTerminalRequest, CancelTerminalResponse
from ..protocol.v2.terminal import (
    TerminalCancelCapabilities,
    TerminalCapabilities,
    TerminalExitStatus,
    TerminalOutput,
    TerminalOutputChunk,
    TerminalUpdate,
)
from ..protocol.v2.tool_call import Terminal
from ..transports._child import SIGKILL, SIGTERM, Child, environment, pipe
from ..wire.paths import absolute

__all__ = ["RunningTerminal", "Send", "Terminals", "run_terminal"]

INTERVAL = 0.05
"""Seconds between two reports of output."""

CHUNK = 64 * 1024
"""Bytes of output in a chunk."""

KEEP = 256 * 1024
"""Bytes of output that are kept and shown."""

STOP_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""

EXIT_PATIENCE = 0.5
"""Seconds that output may come after the exit: processes that the command left behind may hold it open for ever."""

Send: TypeAlias = Callable[[TerminalUpdate | TerminalOutputChunk], Awaitable[object]]
"""Sends an update of the session, as `turn.update` does."""


_CANCELLABLE: Final = TerminalCapabilities(cancel=TerminalCancelCapabilities())


class RunningTerminal:
    """A command and the terminal that shows it; `run_terminal` makes one. It runs from the start of the `async with`.

    At the end of the block the command and all that it started are ended, and the exit status is reported.
    """

    def __init__(
        self,
        send: Send,
        command: str | Sequence[str],
        *,
        cwd: str,
        env: dict[str, str],
        terminal_id: str,
        cancellable: bool,
        keep: int,
    ) -> None:
        self.id = TerminalId(terminal_id)
        """Its id in the session."""
        self.command = command if isinstance(command, str) else shlex.join(command)
        """The command line, as it is shown."""
        self.cwd = cwd
        """Where it runs."""
        self.exit_status: TerminalExitStatus | None = None
        """How it ended, once that was reported."""
        self._send = send
        self._arguments = command if isinstance(command, str) else list(command)
        self._env = env
        self._cancellable = cancellable
        self._shown = _Shown(keep)
        self._news = asyncio.Event()
        self._exited = asyncio.Event()
        self._output_ended = asyncio.Event()
        self._child: Child | None = None
        self._output: asyncio.BaseTransport | None = None
        self._reporting: asyncio.Task[TerminalExitStatus] | None = None
        self._stopping: asyncio.Task[None] | None = None

    @property
    def anchor(self) -> Terminal:
        """The item of a tool call's content that shows this terminal (TERM-03)."""
        return Terminal(terminal_id=self.id)

    @property
    def running(self) -> bool:
        """Whether the command was started and has not exited."""
        return self._child is not None and not self._exited.is_set()

    @property
    def output(self) -> bytes:
        """The end of what it has written so far, standard error included; `keep` bytes at most."""
        return self._shown.tail

    @property
    def output_size(self) -> int:
        """How many bytes it has written so far; more than `output` has when the beginning was dropped."""
        return self._shown.total

    async def wait(self) -> TerminalExitStatus:
        """Wait for its exit and until that is reported. Cancelling the wait leaves the command running.

        Raises:
            Exception: what `send` raised, if the terminal could not be reported.
        """
        return await asyncio.shield(self._started())

    async def stop(self) -> TerminalExitStatus:
        """End it with SIGTERM, after two seconds with SIGKILL, and wait for that as `wait` does."""
        self._begin_stop()
        return await self.wait()

    async def cancel(self) -> None:
        """End it because the client asks for it; returns at once, the exit is reported when it comes (TERM-24).

        Raises:
            RequestError: -32602, when it has exited or was not announced as cancellable (TERM-26).
        """
        if not self._cancellable or not self.running:
            raise _not_cancellable(self.id)
        self._begin_stop()

    async def __aenter__(self) -> Self:
        if self._child is not None:
            raise LocalProtocolError("a terminal runs its command once (TERM-01)")
        loop = asyncio.get_running_loop()
        read_fd = self._start()
        self._reporting = loop.create_task(self._report(), name=f"terminal {self.id}: {self.command}")
        try:
            self._output, _ = await loop.connect_read_pipe(
                lambda: _Output(self._note_output, self._output_ended), os.fdopen(read_fd, "rb", 0)
            )
        except BaseException:
            self._release()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        reporting = self._started()
        try:
            self._begin_stop()
            await asyncio.wait([reporting])
            await self._end_group()
        finally:
            self._release()
        failure = reporting.exception()
        if error is None and failure is not None:
            raise failure

    # -- The process --------------------------------------------------------------------------------------

    def _start(self) -> int:
        """Start the command; the read end of its output."""
        read_fd, write_fd = pipe()
        try:
            process = subprocess.Popen(
                self._arguments,
                shell=isinstance(self._arguments, str),  # a command line of the agent's own making
                stdin=subprocess.DEVNULL,
                stdout=write_fd,
                stderr=subprocess.STDOUT,
                cwd=self.cwd,
                env=self._env,
                start_new_session=True,
            )
        except BaseException:
            os.close(read_fd)
            raise
        finally:
            os.close(write_fd)
        self._child = Child(process, self._note_exit)
        return read_fd

    def _started(self) -> asyncio.Task[TerminalExitStatus]:
        if self._reporting is None:
            raise LocalProtocolError("the terminal is not running yet: use it as `async with`")
        return self._reporting

    def _note_output(self, data: bytes) -> None:
        self._shown.add(data)
        self._news.set()

    def _note_exit(self) -> None:
        self._exited.set()
        self._news.set()

    def _begin_stop(self) -> None:
        if self._stopping is None and self.running:
            self._stopping = asyncio.get_running_loop().create_task(self._stop(), name=f"stop {self.command}")

    async def _stop(self) -> None:
        child = self._child
        assert child is not None
        child.signal(SIGTERM)
        if not await child.exits_within(STOP_GRACE):
            child.signal(SIGKILL)

    async def _end_group(self) -> None:
        """End what the command left behind; its number is ours until the command is reaped."""
        child = self._child
        assert child is not None
        if self._stopping is not None:
            await self._stopping
        child.signal(SIGTERM)
        child.reap()
        await child.group_ends_within(STOP_GRACE)

    def _release(self) -> None:
        """Whatever happened: nothing of the command stays."""
        for task in (self._stopping, self._reporting):
            if task is not None:
                task.cancel()
        if self._child is not None:
            self._child.signal(SIGKILL)
            self._child.reap()
        if self._output is not None:
            self._output.close()

    # -- The reports --------------------------------------------------------------------------------------

    async def _report(self) -> TerminalExitStatus:
        await self._send(
            TerminalUpdate(
                terminal_id=self.id,
                command=self.command,
                cwd=self.cwd,
                capabilities=_CANCELLABLE if self._cancellable else UNSET,
            )
        )
        while not self._exited.is_set():
            await self._news.wait()
            self._news.clear()
            await self._flush()
            await _happens_within(self._exited, INTERVAL)
        await _happens_within(self._output_ended, EXIT_PATIENCE)
        await self._flush()
        status = self._status()
        withdrawn = None if self._cancellable else UNSET  # TERM-27
        await self._send(TerminalUpdate(terminal_id=self.id, exit_status=status, capabilities=withdrawn))
        self.exit_status = status
        return status

    async def _flush(self) -> None:
        data, complete = self._shown.take()
        if complete:
            await self._send(TerminalUpdate(terminal_id=self.id, output=TerminalOutput(data=_base64(data))))
            return
        for start in range(0, len(data), CHUNK):
            await self._send(TerminalOutputChunk(terminal_id=self.id, data=_base64(data[start : start + CHUNK])))

    def _status(self) -> TerminalExitStatus:
        code = None if self._child is None else self._child.returncode
        if code is not None and code < 0:
            return TerminalExitStatus(signal=_signal_name(-code))
        return TerminalExitStatus(exit_code=code)


def run_terminal(
    send: Send,
    command: str | Sequence[str],
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str | None] | None = None,
    terminal_id: str | None = None,
    cancellable: bool = False,
    keep: int = KEEP,
) -> RunningTerminal:
    """A command to run as a terminal, in a process group of its own and without input: `async with run_terminal(...)`.

    Args:
        send: sends the updates, for instance `turn.update`.
        command: text is a line for the shell; a sequence is a program and its arguments.
        cwd: an absolute path, our working directory when left out (TERM-07).
        env: laid over our environment; a name with `None` is taken out of it.
        terminal_id: its id, never used before in the session; a random one when left out (TERM-01).
        cancellable: whether the client may ask for its end; `Terminals` finds it then.
        keep: bytes of output that are kept here and shown there; also the size of the largest report.

    Raises:
        LocalProtocolError: `cwd` is not absolute.
        OSError: on entering the block, when it cannot be started. Nothing was sent then.
    """
    return RunningTerminal(
        send,
        command,
        cwd=absolute(os.getcwd() if cwd is None else cwd, "$.update.cwd"),  # noqa: PTH109 - text is wanted
        env=environment(env, inherit=True),
        terminal_id=terminal_id or f"terminal-{uuid4().hex}",
        cancellable=cancellable,
        keep=keep,
    )


class Terminals:
    """The terminals of one session that run and that the client may cancel."""

    def __init__(self) -> None:
        self._running: dict[str, RunningTerminal] = {}

    def add(self, terminal: RunningTerminal) -> RunningTerminal:
        """Make a terminal known before it runs: `async with terminals.add(run_terminal(..., cancellable=True))`."""
        self._running = {id: one for id, one in self._running.items() if one.exit_status is None}
        self._running[terminal.id] = terminal
        return terminal

    async def cancel(self, request: CancelTerminalRequest) -> CancelTerminalResponse:
        """The answer to `terminal/cancel` (TERM-24).

        Raises:
            RequestError: -32602, when the terminal is unknown, has exited, or is not cancellable (TERM-26).
        """
        terminal = self._running.get(request.terminal_id)
        if terminal is None:
            raise _not_cancellable(request.terminal_id)
        await terminal.cancel()
        return CancelTerminalResponse()


class _Shown:
    """Output on its way: the end of all of it, and how much of that the other side has."""

    def __init__(self, keep: int) -> None:
        if keep < 1:
            raise LocalProtocolError("a terminal keeps at least one byte of its output")
        self.total = 0
        self._keep = keep
        self._bytes = bytearray()
        self._sent = 0
        self._there = 0  # bytes that the other side keeps

    @property
    def tail(self) -> bytes:
        return bytes(self._bytes[-self._keep :])

    def add(self, data: bytes) -> None:
        self.total += len(data)
        self._bytes += data[-self._keep :]
        if len(self._bytes) > 2 * self._keep:
            del self._bytes[: -self._keep]

    def take(self) -> tuple[bytes, bool]:
        """What is to be sent now, and whether it replaces what is there: half of what may be kept, to leave room."""
        waiting = self.total - self._sent
        self._sent = self.total
        complete = self._there + waiting > self._keep
        data = bytes(self._bytes[-max(1, self._keep // 2) if complete else len(self._bytes) - waiting :])
        self._there = len(data) if complete else self._there + waiting
        return data, complete


class _Output(asyncio.Protocol):
    def __init__(self, take: Callable[[bytes], None], ended: asyncio.Event) -> None:
        self._take = take
        self._ended = ended

    def data_received(self, data: bytes) -> None:
        self._take(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the end of the output, however it came
        self._ended.set()


async def _happens_within(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


def _base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"SIGRTMIN+{number - int(signal.SIGRTMIN)}" if hasattr(signal, "SIGRTMIN") else f"signal {number}"


def _not_cancellable(terminal_id: str) -> RequestError:
    return RequestError(INVALID_PARAMS, "This terminal cannot be cancelled", {"terminalId": terminal_id})
