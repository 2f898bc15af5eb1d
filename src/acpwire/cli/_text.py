"""Text of a stranger, made safe to print: nothing in it moves the cursor, changes the terminal, or reorders what is read.

Signs are escaped one by one, so it does not matter where a chunk was cut.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["one_line", "printable", "printable_json"]

_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but for tab and line feed, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks, embeddings, overrides and isolates of direction
    "\u2028\u2029\ufeff\ufff9-\ufffb"  # separators and annotations that terminals treat each in their own way
    "\ud800-\udfff]"  # halves of a surrogate pair, which no encoding takes
)
_BREAK: Final = re.compile(r"\s*\n\s*")


def printable(text: str) -> str:
    r"""The text with control signs escaped, but for line feeds and tabs; CR LF is a line feed (SEC-02).

    >>> printable("a\x1b[2Jb\r\n\u202e")
    'a\\x1b[2Jb\n\\u202e'
    """
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    r"""The same without line feeds and tabs.

    >>> one_line(" a\n\n b\tc ")
    'a / b c'
    """
    return _BREAK.sub(" / ", printable(text.strip()).replace("\t", " "))


def printable_json(data: bytes) -> str:
    r"""JSON whose strings hold such signs as escapes: the value stays equal.

    >>> printable_json(b'{"a":"\xc2\x9b"}')
    '{"a":"\\u009b"}'
    """
    return _UNSAFE.sub(_escape_json, data.decode("utf-8", "replace")).replace("\n", " ")


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return "\\r" if code == 13 else f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def _escape_json(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
