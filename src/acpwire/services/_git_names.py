"""Names in Git patches: Git quotes those that hold control characters, quotes, backslashes or other than ASCII."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["label", "quote", "split_pair", "unquote", "unquote_label"]

_UNUSUAL: Final = re.compile(rb'[\x00-\x1f"\\\x7f-\xff]')
_LETTERS: Final = {
    0x07: b"\\a",
    0x08: b"\\b",
    0x09: b"\\t",
    0x0A: b"\\n",
    0x0B: b"\\v",
    0x0C: b"\\f",
    0x0D: b"\\r",
    0x22: b'\\"',
    0x5C: b"\\\\",
}
_BYTES: Final = {escape[1:]: bytes([byte]) for byte, escape in _LETTERS.items()}
_ESCAPE: Final = re.compile(rb'\\(?:([0-3][0-7]{2})|([abtnvfr"\\])|)')
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')


def quote(name: str) -> str:
    r"""A name as Git writes it.

    >>> print(quote("/tmp/plain name"), quote("/tmp/é"))
    /tmp/plain name "/tmp/\303\251"
    """
    raw = name.encode()
    if not _UNUSUAL.search(raw):
        return name
    inner = _UNUSUAL.sub(lambda found: _LETTERS.get(found[0][0]) or b"\\%03o" % found[0][0], raw)
    return f'"{inner.decode("ascii")}"'


def label(name: str) -> str:
    """A name behind `---` or `+++`: Git ends one that has a space with a tab."""
    quoted = quote(name)
    return f"{quoted}\t" if " " in quoted else quoted


def unquote(text: str) -> str:
    """The name that a header says; bytes that are no UTF-8 become lone surrogates, as in `os.fsdecode`.

    Raises:
        ValueError: a quoted name with an escape that Git does not write.
    """
    if not text.startswith('"'):
        return text
    if not _QUOTED.fullmatch(text):
        raise ValueError("a quoted name without its end")
    return _ESCAPE.sub(_unescape, text[1:-1].encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def unquote_label(text: str) -> str:
    """The name behind `---` or `+++`; whatever follows a tab is no part of it."""
    return unquote(text.partition("\t")[0])


def split_pair(text: str) -> tuple[str, str] | None:
    """The two names of a `diff --git` line, or `None` where spaces make that ambiguous and the names are not equal."""
    if (first := _QUOTED.match(text)) and text[first.end() : first.end() + 1] == " ":
        return unquote(first[0]), unquote(text[first.end() + 1 :])
    if text.endswith('"') and (begin := text.find(' "')) >= 0:
        return text[:begin], unquote(text[begin + 1 :])
    middle = len(text) // 2
    if text[:middle] == text[middle + 1 :] and text[middle : middle + 1] == " ":
        return text[:middle], text[:middle]
    left, _, right = text.partition(" ")
    return (left, right) if right and " " not in right else None


def _unescape(found: re.Match[bytes]) -> bytes:
    octal, letter = found[1], found[2]
    if octal is not None:
        return bytes([int(octal, 8)])
    if letter is not None:
        return _BYTES[letter]
    raise ValueError("a quoted name with an unknown escape")
