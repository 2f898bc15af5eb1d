"""The two ends of a byte stream whose descriptor only a blocking call can serve: terminal, file, device.

Each end has a daemon thread that makes the blocking calls and owns the descriptor: it alone closes it, so that no
number is reused under a call that is still running. Threads wait in `poll` for their stream *and* for a pipe of
their own, so that closing reaches them. One chunk at a time is under way from the reader to the loop.
"""

from __future__ import annotations

import asyncio
import os
import select
import threading
from collections import deque
from collections.abc import Callable
from typing import TypeVarTuple

from ._ends import LARGEST_READ, OnData, OnEnd, WriteEnd, is_orderly_end, stream_error

__all__ = ["ThreadReader", "ThreadWriter"]

Given = TypeVarTuple("Given")

JOIN_PATIENCE = 0.2
"""Seconds that closing waits for a thread; one that is inside a blocking call ends by itself when that returns."""

SAFE_WRITE = getattr(select, "PIPE_BUF", 4096)
"""Bytes that a pipe takes without blocking once `poll` calls it writable."""


class _Waker:
    """Waits until a descriptor is ready or `wake` was called, from any thread."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def wait(self, fd: int, writing: bool) -> None:
        """Return when `fd` is ready, or soon after `wake`. Where there is no `poll`, at once."""
        if not hasattr(select, "poll"):
            return
        poll = select.poll()
        poll.register(fd, select.POLLOUT if writing else select.POLLIN)
        poll.register(self._read, select.POLLIN)
        poll.poll()

    def wake(self) -> None:
        """End the `wait` that is running, and all later ones."""
        os.write(self._write, b"x")

    def close(self) -> None:
        """Give both descriptors back."""
        os.close(self._read)
        os.close(self._write)


class _Worker:
    """A daemon thread, its descriptor, and its way back into the loop."""

    def __init__(self, fd: int, run: Callable[[], None], name: str) -> None:
        self.fd = fd
        self.closed = False
        self._run = run
        self._loop = asyncio.get_running_loop()
        self._waker = _Waker()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wait(self, *, writing: bool) -> bool:
        """In the thread: wait for the descriptor; whether to go on."""
        self._waker.wait(self.fd, writing)
        return not self.closed

    def post(self, call: Callable[[*Given], None], *args: *Given) -> None:
        """In the thread: run `call` in the loop; the worker ends when the loop is gone."""
        try:
            self._loop.call_soon_threadsafe(call, *args)
        except RuntimeError:  # the loop is closed: nobody is left to tell
            self.closed = True

    def close(self) -> None:
        """In the loop: let the thread end and close the descriptor."""
        with self._lock:
            if self.closed or not self._thread.is_alive():
                self.closed = True
                return
            self.closed = True
            self._waker.wake()
        self._thread.join(JOIN_PATIENCE)

    def _main(self) -> None:
        try:
            self._run()
        finally:
            with self._lock:
                self.closed = True
                self._waker.close()
            os.close(self.fd)


class ThreadReader:
    """The `ReadEnd` of any descriptor; takes it over."""

    def __init__(self, fd: int, on_data: OnData, on_end: OnEnd) -> None:
        self._on_data = on_data
        self._on_end = on_end
        self._paused = False
        self._closed = False
        self._held: bytes | None = None
        self._owed = False
        self._taken = threading.Semaphore(0)
        self._worker = _Worker(fd, self._run, "acpwire-stdio-reader")
        self._worker.start()

    def pause(self) -> None:
        """See `ReadEnd.pause`."""
        self._paused = True

    def resume(self) -> None:
        """See `ReadEnd.resume`. A chunk that came meanwhile is handed over here."""
        if not self._paused:
            return
        self._paused = False
        if self._owed:
            self._owed = False
            self._taken.release()
        else:
            self._deliver()

    def drain(self) -> bool:
        """See `ReadEnd.drain`: only the thread can tell."""
        return self._paused

    def close(self) -> None:
        """See `ReadEnd.close`."""
        self._closed = True
        self._taken.release()
        self._worker.close()

    def _run(self) -> None:
        worker = self._worker
        while worker.wait(writing=False):
            try:
                chunk = os.read(worker.fd, LARGEST_READ)
            except BlockingIOError:  # somebody else took it, or set O_NONBLOCK on the description
                continue
            except OSError as error:
                worker.post(self._end, None if is_orderly_end(error) else error)
                return
            if not chunk:
                worker.post(self._end, None)
                return
            self._held = chunk
            worker.post(self._deliver)
            self._taken.acquire()

    def _deliver(self) -> None:
        if self._paused or self._closed or self._held is None:
            return
        chunk, self._held = self._held, None
        self._on_data(chunk)
        self._acknowledge()

    def _acknowledge(self) -> None:
        if self._paused:
            self._owed = True
        else:
            self._taken.release()

    def _end(self, error: OSError | None) -> None:
        if not self._closed:
            self._closed = True
            self._on_end(error)


class ThreadWriter(WriteEnd):
    """The `WriteEnd` of any descriptor; takes it over."""

    def __init__(self, fd: int, who: str) -> None:
        super().__init__(who)
        self._queue: deque[memoryview] = deque()
        self._more = threading.Semaphore(0)
        self._worker = _Worker(fd, self._run, "acpwire-stdio-writer")
        self._worker.start()

    def close(self) -> None:
        """See `WriteEnd.close`."""
        super().close()
        self._queue.clear()
        self._more.release()
        self._worker.close()

    def _begin(self, data: bytes) -> None:
        self._unsent += len(data)
        self._queue.append(memoryview(data))
        self._more.release()

    def _run(self) -> None:
        while not self._worker.closed:
            self._more.acquire()
            try:
                part = self._queue.popleft()
            except IndexError:  # closed, and the queue was dropped
                return
            if not self._write(part):
                return

    def _write(self, part: memoryview) -> bool:
        worker, size = self._worker, len(part)
        while part:
            if not worker.wait(writing=True):
                return False
            try:
                part = part[os.write(worker.fd, part[:SAFE_WRITE]) :]
            except BlockingIOError:  # somebody else set O_NONBLOCK on the description
                continue
            except OSError as error:
                worker.post(self._fail, stream_error(self._who, error))
                return False
        worker.post(self._sent, size)
        return True
