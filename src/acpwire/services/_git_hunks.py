"""Hunks: the lines that differ between two texts, with some around them; made, written, and applied.

Lines end with a line feed and nothing else: a carriage return, a form feed or U+2028 is a character like others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from msgspec import Struct

__all__ = ["Hunk", "apply_hunks", "kept_bytes", "make_hunks", "split_lines", "write_hunk"]

NO_END = "\\ No newline at end of file\n"

PAIRS = 4_000_000
"""Pairs of equal lines beyond which no smallest difference is looked for: that would take seconds."""

Change = tuple[int, int, int, int]
"""Old lines `[0:1]` become new lines `[2:3]`; counted from 0."""


class Hunk(Struct, frozen=True, kw_only=True):
    """One run of changed lines, with unchanged ones around it.

    Args:
        old_start: 1-based number of the first line in the old text; with no old lines, of the line before.
        new_start: the same in the new text.
        lines: each with its sign (` `, `-` or `+`) and its line feed; a last line of a text may have none.
        heading: what stands behind the numbers, in Git the function around.
    """

    old_start: int
    new_start: int
    lines: tuple[str, ...]
    heading: str = ""

    @property
    def old_count(self) -> int:
        """How many old lines it covers."""
        return sum(not line.startswith("+") for line in self.lines)

    @property
    def new_count(self) -> int:
        """How many new lines it covers."""
        return sum(not line.startswith("-") for line in self.lines)


def split_lines(text: str) -> list[str]:
    """The lines of a text, with their line feeds."""
    *lines, last = text.split("\n")
    ended = [f"{line}\n" for line in lines]
    return [*ended, last] if last else ended


def make_hunks(old: str, new: str, context: int) -> list[Hunk]:
    """The hunks that make `new` of `old`, with `context` lines around each change."""
    a, b = split_lines(old), split_lines(new)
    return [_hunk(a, b, group, context) for group in _grouped(_changes(a, b), context)]


def write_hunk(hunk: Hunk) -> Iterator[str]:
    """The text of a hunk, piece by piece."""
    old, new = (
        f"{start},{count}" if count != 1 else f"{start}"
        for start, count in ((hunk.old_start, hunk.old_count), (hunk.new_start, hunk.new_count))
    )
    yield f"@@ -{old} +{new} @@{hunk.heading and ' '}{hunk.heading}\n"
    for line in hunk.lines:
        yield line
        if not line.endswith("\n"):
            yield f"\n{NO_END}"


def apply_hunks(hunks: Sequence[Hunk], old: str) -> str:
    """The text that the hunks make of `old`.

    Raises:
        ValueError: a line is not where and what the hunk says. Nothing is searched for elsewhere.
    """
    lines = split_lines(old)
    made: list[str] = []
    at = 0
    for hunk in hunks:
        wanted = [line[1:] for line in hunk.lines if not line.startswith("+")]
        start = hunk.old_start - 1 if wanted else hunk.old_start
        if start < at or lines[start : start + len(wanted)] != wanted or start > len(lines):
            raise ValueError(f"the hunk at line {hunk.old_start} does not fit the text")
        made += lines[at:start]
        made += [line[1:] for line in hunk.lines if not line.startswith("-")]
        at = start + len(wanted)
    return "".join(made) + "".join(lines[at:])


def kept_bytes(hunks: Sequence[Hunk], old: str) -> int:
    """How many bytes of `old` survive the hunks."""
    gone = sum(len(line[1:].encode()) for hunk in hunks for line in hunk.lines if line.startswith("-"))
    return len(old.encode()) - gone


def _changes(a: list[str], b: list[str]) -> list[Change]:
    """What differs, in order; what the texts share at both ends is not looked at."""
    limit = min(len(a), len(b))
    head = next((n for n in range(limit) if a[n] != b[n]), limit)
    limit -= head
    tail = next((n for n in range(limit) if a[-1 - n] != b[-1 - n]), limit)
    old, new = a[head : len(a) - tail], b[head : len(b) - tail]
    if not old and not new:
        return []
    if not old or not new or _equal_pairs(old, new) > PAIRS:
        return [(head, len(a) - tail, head, len(b) - tail)]
    found = SequenceMatcher(None, old, new).get_opcodes()
    return [(head + i, head + j, head + k, head + m) for tag, i, j, k, m in found if tag != "equal"]


def _equal_pairs(old: list[str], new: list[str]) -> int:
    """What a search costs; lines that make up over a hundredth of a long text do not count, as in `difflib`."""
    popular = len(new) // 100 + 1 if len(new) >= 200 else len(new)
    counts = Counter(new)
    return sum(count for line in old if (count := counts[line]) <= popular)


def _grouped(changes: list[Change], context: int) -> Iterator[list[Change]]:
    group: list[Change] = []
    for change in changes:
        if group and change[0] - group[-1][1] > 2 * context:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(a: list[str], b: list[str], group: list[Change], context: int) -> Hunk:
    old_start = group[0][0] - min(context, group[0][0])
    new_start = group[0][2] - (group[0][0] - old_start)
    old_end = min(len(a), group[-1][1] + context)
    new_end = group[-1][3] + (old_end - group[-1][1])
    lines: list[str] = []
    at = old_start
    for i, j, k, m in group:
        lines += [f" {line}" for line in a[at:i]]
        lines += [f"-{line}" for line in a[i:j]]
        lines += [f"+{line}" for line in b[k:m]]
        at = j
    lines += [f" {line}" for line in a[at:old_end]]
    return Hunk(
        old_start=old_start + (old_end > old_start), new_start=new_start + (new_end > new_start), lines=tuple(lines)
    )
