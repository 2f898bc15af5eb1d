"""Absolute paths, in the syntax of this host or of another one (RPC-23, RPC-24)."""

from __future__ import annotations

import os
from pathlib import PurePosixPath, PureWindowsPath

from ..errors import LocalProtocolError

__all__ = ["absolute"]


def absolute(path: str | os.PathLike[str], where: str) -> str:
    """The text of an absolute path, POSIX or Windows, unchanged.

    Raises:
        LocalProtocolError: it is relative or no Unicode text; `where` is its JSON path.
    """
    text = os.fspath(path)
    if not (PurePosixPath(text).is_absolute() or PureWindowsPath(text).is_absolute()):
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
