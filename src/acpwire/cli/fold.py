"""`acpwire fold`: the state that a recording leads to, as JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from ..errors import RemoteProtocolError
from ..state.fold import Fold
from ._outcome import FAILURE, OK, UsageError, complain
from ._text import printable_json

__all__ = ["fold"]


def fold(
    file: Annotated[str, Parameter(help="The recording; `-` is standard input.", allow_leading_hyphen=True)], /
) -> int:
    """Print the sessions that a recording leads to; returns the exit status.

    Raises:
        UsageError: there is no such file, or it is of a version of the protocol that is not known here.
    """
    if file.startswith("-") and file != "-":
        raise UsageError(f"unknown option {file}; a file of that name is ./{file}")
    folded, status = Fold(), OK
    for number, line in enumerate(_lines(file), 1):
        try:
            folded.feed(line)
        except RemoteProtocolError as error:
            complain("acpwire fold", f"line {number}: {error}")
            status = FAILURE
        if folded.foreign:
            raise UsageError(
                f"line {number}: a recording of version {folded.version} of the protocol; only version 2 can be folded"
            )
    _print(msgspec.json.encode(folded.to_builtins()))
    return status


def _lines(file: str) -> Iterator[bytes]:
    """The lines of a file as they are read: it may be long, or not have ended yet."""
    try:
        if file == "-":
            yield from sys.stdin.buffer
        else:
            with Path(file).open("rb") as source:
                yield from source
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from error


def _print(form: bytes) -> None:
    if sys.stdout.isatty():
        sys.stdout.write(f"{msgspec.json.format(printable_json(form), indent=2)}\n")
        sys.stdout.flush()
    else:
        sys.stdout.buffer.write(form + b"\n")
        sys.stdout.buffer.flush()
