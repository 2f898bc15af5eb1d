"""The relay, run as a program and in this process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from acpwire.testing import _relay

PATIENCE = 10.0


@pytest.mark.parametrize("linger", [False, True])
def test_it_carries_both_directions_and_ends_with_its_input_unless_it_lingers(linger: bool, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.settimeout(PATIENCE)
        listening.bind(str(tmp_path / "socket"))
        listening.listen()
        command = [sys.executable, "-I", _relay.__file__, str(tmp_path / "socket"), *(["--linger"] if linger else [])]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            there, _ = listening.accept()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"to the test")
            process.stdin.flush()
            assert there.recv(100) == b"to the test"
            there.sendall(b"to the client")
            assert os.read(process.stdout.fileno(), 100) == b"to the client"
            process.stdin.close()
            assert there.recv(100) == b""
            if linger:
                there.sendall(b"still here")
                assert os.read(process.stdout.fileno(), 100) == b"still here"
                there.close()
            assert process.wait(PATIENCE) == 0
            there.close()


def test_it_ends_when_the_client_no_longer_reads(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.settimeout(PATIENCE)
        listening.bind(str(tmp_path / "socket"))
        listening.listen()
        command = [sys.executable, "-I", _relay.__file__, str(tmp_path / "socket"), "--linger"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            there, _ = listening.accept()
            assert process.stdout is not None
            process.stdout.close()
            there.sendall(b"nobody reads this")
            assert process.wait(PATIENCE) == 0
            there.close()
