"""Be an agent whose standard streams are a socket of a test: `python _relay.py SOCKET [--linger]`.

A program by itself, which imports nothing of this package: it runs under any environment that a client gives it,
and starts fast.
"""

from __future__ import annotations

import os
import socket
import sys
import threading

__all__ = ["relay"]

CHUNK = 64 * 1024


def relay(path: str, *, linger: bool) -> None:
    """Carry standard input to the socket at `path`, and what comes from there to standard output.

    Args:
        path: a listening Unix socket.
        linger: whether to go on after the end of the input, until the other side of the socket closes.
    """
    ended = threading.Event()
    with socket.socket(socket.AF_UNIX) as there:
        there.connect(path)
        threading.Thread(target=_pump_input, args=(there, ended, linger), daemon=True).start()
        threading.Thread(target=_pump_output, args=(there, ended), daemon=True).start()
        ended.wait()


def _pump_input(there: socket.socket, ended: threading.Event, linger: bool) -> None:
    try:
        while chunk := os.read(0, CHUNK):
            there.sendall(chunk)
        there.shutdown(socket.SHUT_WR)
    except OSError:  # the test closed its end
        pass
    if not linger:
        ended.set()


def _pump_output(there: socket.socket, ended: threading.Event) -> None:
    try:
        while chunk := there.recv(CHUNK):
            while chunk:
                chunk = chunk[os.write(1, chunk) :]
    except OSError:  # the client closed its end
        pass
    ended.set()


if __name__ == "__main__":
    relay(sys.argv[1], linger="--linger" in sys.argv[2:])
