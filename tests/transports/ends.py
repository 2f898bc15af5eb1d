"""What the tests of the stream ends share: a recorder, and reading from outside the loop."""

from __future__ import annotations

import asyncio
import os

PATIENCE = 10.0


class Recorder:
    """The two callbacks of a read end, and a way to wait for what they got."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.ends: list[OSError | None] = []
        self._changed = asyncio.Event()

    def on_data(self, chunk: bytes) -> None:
        self.data += chunk
        self._changed.set()

    def on_end(self, error: OSError | None) -> None:
        self.ends.append(error)
        self._changed.set()

    async def until(self, size: int, ends: int = 0) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(self.data) < size or len(self.ends) < ends:
                self._changed.clear()
                await self._changed.wait()


async def readable(fd: int) -> None:
    """Wait until the loop says that there is something to read, whoever else watches; reads nothing."""
    witness, told = os.dup(fd), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(witness, told.set)
    try:
        await asyncio.wait_for(told.wait(), PATIENCE)
    finally:
        loop.remove_reader(witness)
        os.close(witness)


async def read_all(fd: int) -> bytes:
    """Everything up to the end, read in a thread; closes the descriptor."""

    def read() -> bytes:
        with open(fd, "rb") as stream:
            return stream.read()

    return await asyncio.wait_for(asyncio.to_thread(read), PATIENCE)


def fill(fd: int) -> int:
    """Write until a pipe is full; how many bytes it took."""
    os.set_blocking(fd, False)
    size = 0
    try:
        while True:
            size += os.write(fd, b"#" * 4096)
    except BlockingIOError:
        return size
    finally:
        os.set_blocking(fd, True)
