"""Raw lines to and from any command: for tests that must send what no library would.

Nothing here uses the transports or the JSON-RPC of this package, so that a test never checks a parser by itself.

An agent is started and spoken to directly:

    async with RawDriver.spawn([sys.executable, "agent.py"]) as agent:
        await agent.send_line({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
        answer = await agent.read_json()

A client starts its agent itself. It is given a command that connects its standard streams to the test:

    async with Rendezvous() as meeting:
        client = start_the_client(meeting.command)
        async with await meeting.accept() as raw:
            request = await raw.read_json()
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Self

from ..types import JsonValue
from . import _relay

__all__ = ["PATIENCE", "RawDriver", "RawLines", "Rendezvous"]

PATIENCE = 10.0
"""Seconds that every wait of a driver may take, unless told otherwise."""

_LONGEST_LINE = 256 * 1024 * 1024
_STDERR_TAIL = 256 * 1024
_CHUNK = 64 * 1024


class RawLines:
    """Lines to and from somebody, as bytes; every wait is bounded."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, patience: float = PATIENCE) -> None:
        self._reader = reader
        self._writer = writer
        self._patience = patience

    async def send_bytes(self, data: bytes) -> None:
        """Write exactly these bytes.

        Raises:
            ConnectionError: the other side no longer reads.
            TimeoutError: the other side does not read.
        """
        self._writer.write(data)
        async with asyncio.timeout(self._patience):
            await self._writer.drain()

    async def send_line(self, line: bytes | str | JsonValue) -> None:
        """Write a line: bytes and text as they are, everything else as compact JSON."""
        if isinstance(line, str):
            line = line.encode()
        elif not isinstance(line, bytes):
            line = json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode()
        await self.send_bytes(line + b"\n")

    async def read_line(self, timeout: float | None = None) -> bytes:
        """The next line without its line end; empty when the stream has ended.

        Raises:
            TimeoutError: none came in time.
        """
        async with asyncio.timeout(self._patience if timeout is None else timeout):
            line = await self._reader.readline()
        return line.removesuffix(b"\n")

    async def read_json(self, timeout: float | None = None) -> JsonValue:
        """The next line as JSON.

        Raises:
            EOFError: the stream has ended.
            ValueError: the line is not JSON.
            TimeoutError: none came in time.
        """
        line = await self.read_line(timeout)
        if not line:
            raise EOFError("the stream ended where a message was expected")
        value: JsonValue = json.loads(line)
        return value

    async def read_until(
        self, wanted: Callable[[JsonValue], bool], timeout: float | None = None
    ) -> tuple[JsonValue, list[JsonValue]]:
        """The first message that `wanted` accepts, and those that came before it.

        Raises:
            EOFError: the stream has ended before it.
            TimeoutError: it did not come in time, other messages or not.
        """
        passed: list[JsonValue] = []
        async with asyncio.timeout(self._patience if timeout is None else timeout):
            while not wanted(message := await self.read_json()):
                passed.append(message)
        return message, passed

    async def read_response(self, request_id: JsonValue, timeout: float | None = None) -> dict[str, JsonValue]:
        """The answer to a request that was sent with `request_id`; what comes before it is dropped."""

        def answers(message: JsonValue) -> bool:
            return isinstance(message, dict) and "method" not in message and message.get("id") == request_id

        found, _ = await self.read_until(answers, timeout)
        assert isinstance(found, dict)
        return found

    async def read_rest(self, timeout: float | None = None) -> bytes:
        """Everything up to the end of the stream."""
        async with asyncio.timeout(self._patience if timeout is None else timeout):
            return await self._reader.read(-1)

    async def close_stdin(self) -> None:
        """End the stream to the other side; its own can still be read."""
        with suppress(OSError):
            if self._writer.can_write_eof():
                self._writer.write_eof()
            await self._writer.drain()

    async def aclose(self) -> None:
        """Close both directions. Idempotent."""
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class RawDriver(RawLines):
    """A process in a group of its own, spoken to in lines; `spawn` starts it."""

    def __init__(self, process: asyncio.subprocess.Process, patience: float) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        super().__init__(process.stdout, process.stdin, patience)
        self._process = process
        self._tail = bytearray()
        self._draining = asyncio.create_task(self._drain(process.stderr))

    @classmethod
    @asynccontextmanager
    async def spawn(
        cls,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        patience: float = PATIENCE,
    ) -> AsyncGenerator[Self, None]:
        """Start a command; its whole process group is killed and reaped at the end of the block.

        Args:
            command: the program and its arguments.
            env: added to the environment of this process.
            cwd: its working directory.
            patience: seconds that each wait may take.
        """
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            limit=_LONGEST_LINE,
            start_new_session=True,
        )
        driver = cls(process, patience)
        try:
            yield driver
        finally:
            await driver.aclose()

    @property
    def pid(self) -> int:
        """Process id of the command."""
        return self._process.pid

    @property
    def stderr(self) -> str:
        """The end of what was written to stderr so far; all of it once `wait` has returned."""
        return self._tail.decode("utf-8", "replace")

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal to the process and its group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def close_stdin(self) -> None:
        """Close its standard input."""
        self._writer.close()

    async def wait(self, timeout: float | None = None) -> int:
        """The exit status, once it has exited and its stderr has been read.

        Raises:
            TimeoutError: it still runs.
        """
        async with asyncio.timeout(self._patience if timeout is None else timeout):
            status = await self._process.wait()
            await asyncio.wait([self._draining])
        return status

    async def aclose(self) -> None:
        """Kill the whole group and reap the process. Idempotent."""
        self.kill()
        await self._process.wait()
        self._draining.cancel()
        await asyncio.wait([self._draining])
        await super().aclose()

    async def _drain(self, stderr: asyncio.StreamReader) -> None:
        while chunk := await stderr.read(_CHUNK):
            self._tail += chunk
            del self._tail[:-_STDERR_TAIL]


class Rendezvous:
    """A place where a test meets the agent processes that a client starts.

    `command` is the command line of an agent whose standard streams are connected to the test.

    Args:
        linger: whether the process stays when its input has ended, until the test closes its end; otherwise it
            exits then, as an agent should.
    """

    def __init__(self, *, linger: bool = False) -> None:
        self._linger = linger
        self._folder = tempfile.mkdtemp(prefix="acpwire-")
        self._path = f"{self._folder}/socket"
        self._arrived: asyncio.Queue[socket.socket] = asyncio.Queue()
        self._socket: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None

    @property
    def command(self) -> list[str]:
        """The agent command line to give to the client."""
        return [sys.executable, _relay.__file__, self._path, *(["--linger"] if self._linger else [])]

    async def accept(self, patience: float = PATIENCE) -> RawLines:
        """The standard streams of the next process that runs `command`.

        Raises:
            TimeoutError: none came in time.
        """
        made = await self.accept_socket(patience)
        reader, writer = await asyncio.open_unix_connection(sock=made, limit=_LONGEST_LINE)
        return RawLines(reader, writer, patience)

    async def accept_socket(self, patience: float = PATIENCE) -> socket.socket:
        """The same, as a socket that the caller closes."""
        async with asyncio.timeout(patience):
            return await self._arrived.get()

    async def __aenter__(self) -> Self:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.setblocking(False)
        self._socket.bind(self._path)
        self._socket.listen()
        self._accepting = asyncio.create_task(self._accept_all(self._socket))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._accepting is not None:
            self._accepting.cancel()
            await asyncio.wait([self._accepting])
        if self._socket is not None:
            self._socket.close()
        while not self._arrived.empty():
            self._arrived.get_nowait().close()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _accept_all(self, listening: socket.socket) -> None:
        while True:
            made, _ = await asyncio.get_running_loop().sock_accept(listening)
            self._arrived.put_nowait(made)
