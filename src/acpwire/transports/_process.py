"""An agent as a process of ours: started, listened to, and ended with all that it started."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, TypeAlias

from ..errors import AgentExited, ConnectionClosed
from ..jsonrpc.transport import Frame
from ._child import SIGKILL, SIGTERM, Child, environment, pipe, start
from ._inbox import CLOSED_HERE
from ._intake import Intake
from ._ndjson import LIMIT, join
from ._streams import open_private_reader, open_private_writer

__all__ = ["ProcessTransport", "Stderr", "spawn"]

TAIL = 64 * 1024
"""Bytes of stderr that are kept."""

STOP_GRACE = 2.0
"""Seconds that a process gets to end when it is closed."""

EXIT_PATIENCE = 0.5
"""Seconds between the end of the output and the exit status, in either order, before we stop waiting for the other."""

Stderr: TypeAlias = Literal["tail", "inherit"] | Callable[[bytes], None]
"""What becomes of the stderr of a spawned process: see `spawn`."""

_log = logging.getLogger(__name__)


class ProcessTransport:
    """Lines on the standard streams of a process; `spawn` makes one.

    The stream ends when the process closes its output or exits, whichever comes first; output that is in the pipe
    then is still received. A launcher that exits and leaves a background process with the output has exited.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        streams: tuple[int, int, int | None],
        *,
        command: str,
        limit: int,
        grace: float,
        on_stderr: Callable[[bytes], None] | None,
    ) -> None:
        stdin, stdout, stderr = streams
        self._command = command
        self._grace = grace
        self._on_stderr = on_stderr
        self._loop = asyncio.get_running_loop()
        self._tail = bytearray()
        self._timer: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None
        self._child = Child(process, self._exited)
        self._writer = open_private_writer(stdin, self.describe())
        self._stderr = None if stderr is None else open_private_reader(stderr, self._keep_stderr, _ignore_end)
        self._intake = Intake(self.describe(), limit, self._output_ended)
        self._intake.start(partial(open_private_reader, stdout))

    @property
    def pid(self) -> int:
        """Process id of the command, which is its process group's id too."""
        return self._child.pid

    @property
    def returncode(self) -> int | None:
        """Exit status, negative for the signal that ended it; `None` while it runs."""
        return self._child.returncode

    @property
    def stderr(self) -> str:
        """The end of what the process wrote to its stderr, at most 64 KiB; empty when that is inherited."""
        return self._tail[-TAIL:].decode("utf-8", "replace")

    def describe(self) -> str:
        """The agent and its command line."""
        return f"agent `{self._command}`"

    async def send(self, frames: Sequence[bytes]) -> None:
        """See `Transport.send`."""
        if self._closing is not None:
            raise ConnectionClosed(CLOSED_HERE)
        await self._writer.write(join(frames))

    async def receive(self) -> Sequence[Frame]:
        """See `Transport.receive`. The end waits up to half a second for the exit status."""
        return await self._intake.receive()

    async def aclose(self) -> None:
        """End the process and all of its group, and reap it.

        Its stdin is closed after what was sent; after half of the grace period SIGTERM follows, after the other
        half SIGKILL. Processes that it left behind get the same two signals. Cancelled, it sends SIGKILL at once,
        and still returns only when all is gone.
        """
        if self._closing is None:
            self._closing = self._loop.create_task(self._shut_down(), name=f"close {self.describe()}")
        try:
            await asyncio.shield(self._closing)
        except asyncio.CancelledError:
            self._child.signal(SIGKILL)
            while not self._closing.done():
                await _outlast(self._closing)
            raise

    def closed_error(self) -> AgentExited | None:
        """Exit status and the end of stderr, when the process ended the stream; `None` when we did."""
        if not self._intake.finished:
            return None
        return AgentExited(self._command, self._child.returncode, stderr=self.stderr)

    def _keep_stderr(self, chunk: bytes) -> None:
        tail = self._tail
        tail += chunk[-TAIL:]
        if len(tail) > 2 * TAIL:
            del tail[:-TAIL]
        if self._on_stderr is not None:
            try:
                self._on_stderr(chunk)
            except Exception:  # noqa: BLE001 - the caller's callback: its failure must not stop the draining
                _log.exception("the callback for the stderr of %s failed", self.describe())

    def _exited(self) -> None:
        if self._intake.ended:
            self._conclude()
        else:
            self._check_later()

    def _output_ended(self) -> None:
        if self._child.returncode is not None:
            self._conclude()
        else:
            self._timer = self._loop.call_later(EXIT_PATIENCE, self._conclude)

    def _check_later(self) -> None:
        """The process is gone but its output has not ended: either it is still unread, or others hold it open."""
        self._timer = self._loop.call_later(EXIT_PATIENCE, self._check)

    def _check(self) -> None:
        if self._closing is None and not self._intake.ended:
            if self._intake.drain():
                self._check_later()
            else:
                self._conclude()

    def _conclude(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._closing is None and not self._intake.finished:
            if self._stderr is not None:
                self._stderr.drain()
            self._intake.finish()

    async def _shut_down(self) -> None:
        child, half = self._child, self._grace / 2
        self._intake.discard()
        try:
            deadline = self._loop.time() + half
            await self._writer.flush(half)
            self._writer.close()
            if not await child.exits_within(deadline - self._loop.time()):
                child.signal(SIGTERM)
                if not await child.exits_within(half):
                    child.signal(SIGKILL)
                    await child.exits_within(half)
            child.signal(SIGTERM)
            child.reap()
            await child.group_ends_within(half)
        finally:
            child.signal(SIGKILL)
            child.reap()
            self._release()

    def _release(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._writer.close()
        self._intake.close()
        if self._stderr is not None:
            self._stderr.drain()
            self._stderr.close()


async def spawn(
    command: Sequence[str],
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str | None] | None = None,
    inherit_env: bool = True,
    stderr: Stderr = "tail",
    limit: int = LIMIT,
    stop_grace: float = STOP_GRACE,
) -> ProcessTransport:
    """Start an agent and speak to its standard streams (TRAN-03).

    Args:
        command: the program and its arguments; no shell is involved.
        cwd: its working directory, ours by default.
        env: laid over the inherited environment; a name with `None` is taken out of it.
        inherit_env: whether it starts from our environment; otherwise `env` is all it has.
        stderr: always read to its end, the last 64 KiB kept for errors; a function also gets each chunk of it, in
            the event loop. With `"inherit"` it shares our stderr, and nothing is kept.
        limit: bytes of the largest frame.
        stop_grace: seconds that the process gets when closed, half after the end of its input, half after SIGTERM.

    Raises:
        TransportError: it could not be started; one line says why.
    """
    ours: list[int] = []
    theirs: list[int] = []
    captured = stderr != "inherit"
    try:
        for writing in (True, False, False)[: 3 if captured else 2]:
            read_fd, write_fd = pipe()
            ours.append(write_fd if writing else read_fd)
            theirs.append(read_fd if writing else write_fd)
        streams = (theirs[0], theirs[1], theirs[2] if captured else None)
        process = start(command, streams=streams, cwd=cwd, env=environment(env, inherit_env))
    except BaseException:
        _close_all(ours)
        raise
    finally:
        _close_all(theirs)
    return ProcessTransport(
        process,
        (ours[0], ours[1], ours[2] if captured else None),
        command=shlex.join(command),
        limit=limit,
        grace=stop_grace,
        on_stderr=stderr if callable(stderr) else None,
    )


def _close_all(fds: list[int]) -> None:
    for fd in fds:
        os.close(fd)


def _ignore_end(error: OSError | None) -> None:
    """The end of stderr says nothing: a process may close it and go on."""


async def _outlast(task: asyncio.Task[None]) -> None:
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        return  # cancelled again; the wait is bounded, and what is not reaped now is never reaped
