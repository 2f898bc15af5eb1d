"""Reading Git patches: sections, each of one file, with their headers and hunks.

Libraries for unified diffs read the names of a section from `---` and `+++` only: they have no word for a move
without changes, leave quoted names as they are, and split lines at characters that are part of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from ..errors import RemoteProtocolError
from ._git_binary import BinaryHunk
from ._git_hunks import Hunk
from ._git_names import split_pair, unquote, unquote_label

__all__ = ["Operation", "PatchSection", "read"]

Operation: TypeAlias = Literal["add", "delete", "modify", "move", "copy"]
"""What a section does, by the names that `changes` of a diff has (DIFF-02)."""

_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)", re.DOTALL)
_BINARY: Final = re.compile(r"(literal|delta) (\d+)")
_NULL: Final = "/dev/null"


class PatchSection(Struct, frozen=True, kw_only=True):
    """What a patch does to one file.

    Args:
        operation: add, delete, modify, move or copy.
        path: the file after the change, or the deleted one; unquoted, as in `changes` (DIFF-09).
        old_path: where it was, of a move or copy.
        mode: its mode in octal after the change, or before a deletion, where it is said.
        old_mode: its mode before, where the patch changes it.
        similarity: per cent, of a move or copy.
        hunks: changes of lines, in order.
        binary: whether contents change that are not shown as lines.
        binary_hunk: those contents, where the patch has them.
    """

    operation: Operation
    path: str
    old_path: str | None = None
    mode: int | None = None
    old_mode: int | None = None
    similarity: int | None = None
    hunks: tuple[Hunk, ...] = ()
    binary: bool = False
    binary_hunk: BinaryHunk | None = None


def read(text: str) -> tuple[PatchSection, ...]:
    """The sections of a Git patch, in order. What stands before or between them is passed over.

    Raises:
        RemoteProtocolError: it is damaged; the reason names the line.
    """
    reader = _Reader(text)
    try:
        return tuple(reader.sections())
    except ValueError as error:
        raise RemoteProtocolError(f"line {reader.at} of the patch: {error}", path="$.patch.text") from error


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        if self.lines[-1] == "":
            self.lines.pop()
        self.at = 0

    def sections(self) -> list[PatchSection]:
        found: list[PatchSection] = []
        while (line := self.take()) is not None:
            if line.startswith("diff --git "):
                found.append(self.section(line[11:]))
        return found

    def peek(self) -> str | None:
        return self.lines[self.at] if self.at < len(self.lines) else None

    def take(self) -> str | None:
        line = self.peek()
        self.at += line is not None
        return line

    def section(self, names: str) -> PatchSection:
        draft = _Draft(names)
        while (line := self.peek()) is not None and not line.startswith("diff --git "):
            self.at += 1
            if line.startswith("@@ "):
                draft.hunks.append(self.hunk(line))
            elif line == "GIT binary patch":
                draft.binary = True
                draft.binary_hunk = self.binary_hunk()
                self.binary_hunk()  # the way back
            elif not draft.hunks:
                draft.header(line)
        return draft.finish()

    def hunk(self, line: str) -> Hunk:
        numbers = _HUNK.fullmatch(line)
        if numbers is None:
            raise ValueError("not the head of a hunk")
        old, new = (int(count) if (count := numbers[group]) else 1 for group in (2, 4))
        lines: list[str] = []
        while old > 0 or new > 0:
            body = self.take()
            sign = (body or " ")[0] if body is not None else ""
            if sign not in {" ", "-", "+"}:
                raise ValueError("a hunk that is shorter than it says")
            old -= sign != "+"
            new -= sign != "-"
            text = body or " "
            lines.append(text if self.unended() else f"{text}\n")
        if old or new:
            raise ValueError("a hunk of other counts than it says")
        return Hunk(old_start=int(numbers[1]), new_start=int(numbers[3]), lines=tuple(lines), heading=numbers[5])

    def unended(self) -> bool:
        """Whether the next line says that the last one has no line feed; that line is taken."""
        if (line := self.peek()) is None or not line.startswith("\\"):
            return False
        self.at += 1
        return True

    def binary_hunk(self) -> BinaryHunk | None:
        head = _BINARY.fullmatch(self.peek() or "")
        if head is None:
            return None
        self.at += 1
        lines: list[str] = []
        while line := self.take():
            lines.append(line)
        return BinaryHunk(method=head[1], size=int(head[2]), lines=tuple(lines))


class _Draft:
    """A section of which the headers are being read."""

    def __init__(self, names: str) -> None:
        self.pair = split_pair(names)
        self.operation: Operation = "modify"
        self.names: dict[str, str] = {}
        self.modes: dict[str, int] = {}
        self.similarity: int | None = None
        self.hunks: list[Hunk] = []
        self.binary = False
        self.binary_hunk: BinaryHunk | None = None

    def header(self, line: str) -> None:
        for prefix, read_value in _HEADERS.items():
            if line.startswith(prefix):
                read_value(self, line[len(prefix) :])
                return

    def name(self, side: str, text: str, operation: Operation) -> None:
        self.names[side] = unquote(text)
        self.operation = operation

    def label(self, side: str, text: str) -> None:
        if (name := unquote_label(text)) != _NULL:
            self.names.setdefault(side, name)

    def mode(self, side: str, text: str, operation: Operation = "modify") -> None:
        self.modes[side] = int(text, 8)
        if operation != "modify":
            self.operation = operation

    def index(self, text: str) -> None:
        _, _, mode = text.partition(" ")
        if mode:
            self.mode("new", mode)

    def percent(self, text: str) -> None:
        self.similarity = int(text.removesuffix("%"))

    def is_binary(self, _text: str) -> None:
        self.binary = True

    def finish(self) -> PatchSection:
        old, new = self.pair or (None, None)
        old, new = self.names.get("old", old), self.names.get("new", new)
        path = old if self.operation == "delete" else new
        if path is None:
            raise ValueError("a section that does not say its path")
        deleted = self.operation == "delete"
        return PatchSection(
            operation=self.operation,
            path=path,
            old_path=old if self.operation in {"move", "copy"} else None,
            mode=self.modes.get("old" if deleted else "new"),
            old_mode=None if deleted else self.modes.get("old"),
            similarity=self.similarity,
            hunks=tuple(self.hunks),
            binary=self.binary,
            binary_hunk=self.binary_hunk,
        )


_HEADERS: Final[dict[str, Callable[[_Draft, str], None]]] = {
    "--- ": lambda draft, text: draft.label("old", text),
    "+++ ": lambda draft, text: draft.label("new", text),
    "old mode ": lambda draft, text: draft.mode("old", text),
    "new mode ": lambda draft, text: draft.mode("new", text),
    "deleted file mode ": lambda draft, text: draft.mode("old", text, "delete"),
    "new file mode ": lambda draft, text: draft.mode("new", text, "add"),
    "rename from ": lambda draft, text: draft.name("old", text, "move"),
    "rename to ": lambda draft, text: draft.name("new", text, "move"),
    "copy from ": lambda draft, text: draft.name("old", text, "copy"),
    "copy to ": lambda draft, text: draft.name("new", text, "copy"),
    "similarity index ": _Draft.percent,
    "index ": _Draft.index,
    "Binary files ": _Draft.is_binary,
}
