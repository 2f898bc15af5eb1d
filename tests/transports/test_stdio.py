"""Serving on standard streams of every kind, in real child processes."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acpwire.errors import ConnectionClosed
from acpwire.testing.driver import RawDriver
from acpwire.transports import stdio
from acpwire.transports.stdio import StdioTransport

from .ends import fill, read_all

PATIENCE = 20.0

ECHO = """
import asyncio
from acpwire.jsonrpc.transport import Oversized
from acpwire.transports.stdio import serve

async def main():
    transport = serve(limit=LIMIT)
    while frames := await transport.receive():
        await transport.send([b'"oversized"' if isinstance(f, Oversized) else f for f in frames])
    await transport.aclose()

asyncio.run(main())
"""


def agent(code: str, *, limit: int = 64 << 20) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code).replace("LIMIT", str(limit))]


class Stream:
    """One standard stream of a child: the descriptor it gets, and our way to feed or read it."""

    def __init__(self, kind: str, folder: Path, *, reading: bool) -> None:
        self.path = folder / "stream"
        if kind == "pipe":
            ends = os.pipe()
            self.theirs, self.ours = ends if reading else ends[::-1]
        elif kind == "socket":
            self.theirs, self.ours = (end.detach() for end in socket.socketpair())
        elif kind == "terminal":
            tty = pytest.importorskip("tty")
            self.ours, self.theirs = os.openpty()
            tty.setraw(self.theirs)
        else:
            self.ours = -1
            path = os.devnull if kind == "device" else self.path
            self.path.write_bytes(b'{"line":1}\n{"line":2}')
            self.theirs = os.open(path, os.O_RDONLY if reading else os.O_WRONLY | os.O_TRUNC)


@contextmanager
def running(command: list[str], stdin: int, stdout: int, **more: object) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, **more)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def read_lines(fd: int, count: int) -> list[bytes]:
    """`count` lines from a descriptor of any kind, bounded by the timeout of the test."""
    data = b""
    while data.count(b"\n") < count:
        chunk = os.read(fd, 1 << 16)
        assert chunk, f"the stream ended after {data!r}"
        data += chunk
    return data.splitlines()


KINDS = ["pipe", "socket", "terminal", "file", "device"]


@pytest.mark.req("TRAN-02", "TRAN-08")
@pytest.mark.parametrize("kind", KINDS)
def test_frames_come_from_every_kind_of_stdin(kind: str, tmp_path: Path) -> None:
    stdin = Stream(kind, tmp_path, reading=True)
    read_fd, write_fd = os.pipe()
    expected = {"device": []}.get(kind, [b'{"line":1}', b'{"line":2}'])
    with running(agent(ECHO), stdin.theirs, write_fd) as process:
        os.close(write_fd)
        if stdin.ours >= 0:
            os.write(stdin.ours, b'{"line":1}\n{"line":2}\n')
            assert read_lines(read_fd, 2) == expected
            assert os.get_blocking(stdin.theirs), "O_NONBLOCK was set on the description that was given"
            os.close(stdin.ours)
        else:
            with open(read_fd, "rb", closefd=False) as stream:
                assert stream.read().splitlines() == expected
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""
    os.close(stdin.theirs)
    os.close(read_fd)


@pytest.mark.req("TRAN-02")
@pytest.mark.parametrize("kind", KINDS)
def test_frames_go_to_every_kind_of_stdout(kind: str, tmp_path: Path) -> None:
    stdout = Stream(kind, tmp_path, reading=False)
    read_fd, write_fd = os.pipe()
    with running(agent(ECHO), read_fd, stdout.theirs) as process:
        os.close(read_fd)
        os.write(write_fd, b'{"line":1}\n{"line":2}\n')
        if stdout.ours >= 0:
            assert read_lines(stdout.ours, 2) == [b'{"line":1}', b'{"line":2}']
            assert os.get_blocking(stdout.theirs), "O_NONBLOCK was set on the description that was given"
        os.close(write_fd)
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""
    if kind == "file":
        assert stdout.path.read_bytes() == b'{"line":1}\n{"line":2}\n'
    for fd in {stdout.ours, stdout.theirs} - {-1}:
        os.close(fd)


@pytest.mark.parametrize("kind", ["pipe", "socket", "terminal"])
def test_a_burst_to_a_slow_reader_meets_no_eagain_though_somebody_set_o_nonblock(kind: str, tmp_path: Path) -> None:
    code = """
    import asyncio
    from acpwire.transports.stdio import serve

    async def main():
        transport = serve()
        await transport.receive()
        for number in range(20_000):
            await transport.send([b'{"update":%d}' % number])
        await transport.aclose()

    asyncio.run(main())
    """
    stdin, stdout = Stream(kind, tmp_path, reading=True), Stream(kind, tmp_path, reading=False)
    for fd in (stdin.theirs, stdout.theirs):
        os.set_blocking(fd, False)
    with running(agent(code), stdin.theirs, stdout.theirs) as process:
        os.write(stdin.ours, b"{}\n")
        assert read_lines(stdout.ours, 20_000) == [b'{"update":%d}' % number for number in range(20_000)]
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""
    for fd in (stdin.theirs, stdin.ours, stdout.theirs, stdout.ours):
        os.close(fd)


@pytest.mark.req("TRAN-05", "TRAN-06")
async def test_nothing_but_frames_reaches_the_streams_of_the_protocol() -> None:
    code = """
    import asyncio, os, subprocess, sys
    print("printed before")
    from acpwire.transports.stdio import serve

    async def main():
        transport = serve()
        await transport.receive()
        print("printed")
        os.write(1, b"written\\n")
        subprocess.run(["sh", "-c", "echo from a child; wc -c"])
        try:
            input()
        except EOFError:
            print("no input")
        await transport.send([b'"frame"'])
        print("printed after")
        await transport.aclose()
        print("printed at the end")

    asyncio.run(main())
    """
    async with RawDriver.spawn(agent(code), env={"PYTHONUNBUFFERED": ""}, patience=PATIENCE) as driver:
        await driver.send_line("{}")
        assert await driver.read_line() == b'"frame"'
        assert await driver.read_rest() == b""
        assert await driver.wait() == 0
        lines = driver.stderr.split("\n")
    order = ["printed before", "printed", "written", "from a child", "0", "no input", "printed after"]
    assert [line.strip() for line in lines] == [*order, "printed at the end", ""]


@pytest.mark.req("TRAN-01")
async def test_characters_that_arrive_one_byte_at_a_time_are_whole() -> None:
    text = json.dumps({"text": "漢字 🙂"}, ensure_ascii=False).encode()
    async with RawDriver.spawn(agent(ECHO), patience=PATIENCE) as driver:
        for byte in text + b"\n":
            await driver.send_bytes(bytes([byte]))
        assert await driver.read_line() == text


@pytest.mark.req("TRAN-09")
async def test_a_long_line_passes_a_longer_one_fails_alone_and_the_next_is_answered() -> None:
    async with RawDriver.spawn(agent(ECHO, limit=6 << 20), patience=PATIENCE) as driver:

        async def send_all() -> None:
            for size in (5 << 20, 7 << 20):
                await driver.send_line(b'"' + b"x" * size + b'"')
            await driver.send_line("{}")

        sending = asyncio.create_task(send_all())
        assert len(await driver.read_line()) == (5 << 20) + 2
        assert await driver.read_line() == b'"oversized"'
        assert await driver.read_line() == b"{}"
        await sending


async def test_the_end_of_input_is_the_end_and_what_was_sent_is_flushed_before_exit() -> None:
    code = """
    import asyncio
    from acpwire.transports.stdio import serve

    async def main():
        transport = serve()
        assert not await transport.receive()
        sending = asyncio.create_task(transport.send([b"x" * 4_000_000]))
        await asyncio.sleep(0)
        await transport.aclose()

    asyncio.run(main())
    """
    async with RawDriver.spawn(agent(code), patience=PATIENCE) as driver:
        await driver.close_stdin()
        assert len(await driver.read_rest()) == 4_000_001
        assert await driver.wait() == 0
        assert driver.stderr == ""


async def test_a_client_that_no_longer_reads_is_told_to_the_agent() -> None:
    code = """
    import asyncio, sys
    from acpwire.errors import ConnectionClosed
    from acpwire.transports.stdio import serve

    async def main():
        transport = serve()
        await transport.receive()
        for _ in range(2):
            try:
                await transport.send([b"x" * 1_000_000])
            except ConnectionClosed as error:
                print(error)
        await transport.aclose()

    asyncio.run(main())
    """
    read_fd, write_fd = os.pipe()
    back_fd, stdout = os.pipe()
    os.close(back_fd)
    with running(agent(code), read_fd, stdout) as process:
        os.write(write_fd, b"{}\n")
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert process.stderr.read().decode().splitlines() == ["stdio no longer reads"] * 2
    for fd in (read_fd, write_fd, stdout):
        os.close(fd)


@pytest.mark.parametrize("kind", ["pipe", "terminal"])
def test_the_process_can_exit_while_it_waits_for_input(kind: str, tmp_path: Path) -> None:
    code = """
    import asyncio, sys
    from acpwire.transports.stdio import serve

    async def main():
        transport = serve()
        receiving = asyncio.create_task(transport.receive())
        await asyncio.sleep(0)
        await transport.send([b"{}"])
        sys.exit(5)

    asyncio.run(main())
    """
    stdin = Stream(kind, tmp_path, reading=True)
    with running(agent(code), stdin.theirs, subprocess.DEVNULL) as process:
        assert process.wait(PATIENCE) == 5
        assert process.stderr is not None
        assert process.stderr.read() == b""
    os.close(stdin.theirs)
    os.close(stdin.ours)


@pytest.mark.parametrize(
    ("redirection", "message"),
    [("<&-", "standard input is closed"), (">&-", "standard output is closed")],
)
def test_a_closed_standard_stream_is_said_in_one_line(redirection: str, message: str) -> None:
    code = """
    import asyncio, sys
    from acpwire.errors import TransportError
    from acpwire.transports.stdio import serve

    async def main():
        serve()

    try:
        asyncio.run(main())
    except TransportError as error:
        sys.exit(str(error))
    """
    command = ["sh", "-c", f'exec "$0" "$@" {redirection}', *agent(code)]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert (result.returncode, result.stderr.decode().strip()) == (1, message)


def test_without_stderr_what_is_printed_vanishes() -> None:
    command = [
        "sh",
        "-c",
        'exec "$0" "$@" 2>&-',
        *agent(ECHO.replace("while", "print('lost'); import os; os.write(1, b'lost')\n    while")),
    ]
    result = subprocess.run(command, input=b"{}\n", stdout=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert (result.returncode, result.stdout) == (0, b"{}\n")


async def test_descriptors_may_be_given_more_than_once_in_a_process() -> None:
    for _ in range(3):
        there, back = os.pipe(), os.pipe()
        left = StdioTransport(back[0], there[1], name="left")
        right = StdioTransport(there[0], back[1])
        await left.send([b"{}"])
        assert await right.receive() == [b"{}"]
        await left.aclose()
        await right.aclose()
        assert (left.describe(), right.describe(), left.closed_error()) == ("left", "stdio", None)


async def test_closing_before_use_gives_the_descriptors_back() -> None:
    read_fd, write_fd = os.pipe()
    transport = StdioTransport(read_fd, write_fd)
    await transport.aclose()
    for fd in (read_fd, write_fd):
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)
    with pytest.raises(ConnectionClosed):
        await transport.receive()


async def test_closing_waits_a_bounded_time_for_a_side_that_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "FLUSH_PATIENCE", 0.05)
    read_fd, write_fd = os.pipe()
    fill(write_fd)
    transport = StdioTransport(os.open(os.devnull, os.O_RDONLY), write_fd)
    await transport.send([b"{}"])
    begin = asyncio.get_running_loop().time()
    await asyncio.gather(transport.aclose(), transport.aclose())
    assert 0.05 <= asyncio.get_running_loop().time() - begin < 5
    assert not (await read_all(read_fd)).strip(b"#")


def test_print_that_goes_elsewhere_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    for other in (io.StringIO(), io.TextIOWrapper(io.BytesIO()), None):
        monkeypatch.setattr(sys, "stdout", other)
        stdio._redirect_print()
        assert sys.stdout is other


def test_no_thread_is_left_behind() -> None:
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("acpwire-")]
