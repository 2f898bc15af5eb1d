"""Paths as the protocol wants them: absolute, in the syntax of the agent's host (RPC-23, RPC-24)."""

from __future__ import annotations

import os
import re
from typing import Final

from ..errors import LocalProtocolError

__all__ = ["absolute", "is_absolute"]

_ABSOLUTE: Final = re.compile(r"/|[A-Za-z]:[\\/]|\\\\[^\\]")  # POSIX, a drive, or a share


def is_absolute(path: str) -> bool:
    """Whether a path is absolute on POSIX or on Windows."""
    return _ABSOLUTE.match(path) is not None


def absolute(path: str | os.PathLike[str], where: str) -> str:
    """The text of an absolute path, POSIX or Windows; it is not changed, for it belongs to another host perhaps.

    Raises:
        LocalProtocolError: it is relative, empty, has a NUL or is no Unicode text; `where` is its JSON path.
    """
    text = os.fspath(path)
    if not is_absolute(text):
        raise LocalProtocolError(f"{text!r} is not an absolute path", path=where)
    if "\0" in text or not _is_unicode(text):
        raise LocalProtocolError(f"{text!r} cannot be written as JSON text or is no path", path=where)
    return text


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a file name of other bytes than UTF-8, as `os.fsdecode` gives it
        return False
    return True
