"""Diffs as the protocol has them: what changes, and a Git patch of it; made, read back, and applied.

    diff = git_patch.diff("/project/notes.txt", old, new)
    await call.add(diff)

    for section in git_patch.read(diff.patch.text):
        new = git_patch.apply(section, old)

The patch is what `git diff` writes, but for the paths: they are absolute and have no `a/` and `b/` (DIFF-08).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha1
from stat import S_IFMT
from typing import Final, TypeVar

from msgspec import Struct

from ..errors import LocalProtocolError
from ..protocol.v2.content import MediaType
from ..protocol.v2.diff import (
    Diff,
    DiffAdd,
    DiffChange,
    DiffCopy,
    DiffDelete,
    DiffFileType,
    DiffModify,
    DiffMove,
    DiffPatch,
)
from ..wire.paths import absolute
from ._git_binary import BinaryHunk, apply_binary, write_literal
from ._git_hunks import Hunk, apply_hunks, kept_bytes, make_hunks, write_hunk
from ._git_names import label, quote
from ._git_read import Operation, PatchSection, read

__all__ = [
    "DIRECTORY",
    "EXECUTABLE",
    "REGULAR",
    "SYMLINK",
    "BinaryHunk",
    "FileChange",
    "Hunk",
    "Operation",
    "PatchSection",
    "apply",
    "diff",
    "make",
    "read",
]

REGULAR: Final = 0o100644
EXECUTABLE: Final = 0o100755
SYMLINK: Final = 0o120000
"""A symbolic link; its contents are where it points to."""
DIRECTORY: Final = 0o040000

_T = TypeVar("_T", str, bytes)


class FileChange(Struct, frozen=True, kw_only=True):
    """A change of one file, with its contents before and after; made by `add`, `delete`, `modify`, `move` or `copy`.

    Contents are text or bytes; bytes are text when they are UTF-8 and hold no NUL in their first 8,000 (Git's rule).
    `None` means that they are not known: the change is listed, and has no patch text.
    """

    operation: Operation
    path: str
    old: str | bytes | None = None
    new: str | bytes | None = None
    old_path: str | None = None
    mode: int = REGULAR
    old_mode: int = REGULAR
    mime_type: MediaType | None = None

    def __post_init__(self) -> None:
        absolute(self.path, "$.path")
        if self.old_path is not None:
            absolute(self.old_path, "$.oldPath")

    @classmethod
    def add(
        cls, path: str, new: str | bytes | None, *, mode: int = REGULAR, mime_type: MediaType | None = None
    ) -> FileChange:
        """A new file. `mode` is Git's: `REGULAR`, `EXECUTABLE`, `SYMLINK` or `DIRECTORY`.

        Raises:
            LocalProtocolError: the path is not absolute.
        """
        return cls(operation="add", path=path, new=new, mode=mode, old_mode=mode, mime_type=mime_type)

    @classmethod
    def delete(
        cls, path: str, old: str | bytes | None, *, mode: int = REGULAR, mime_type: MediaType | None = None
    ) -> FileChange:
        """A file goes."""
        return cls(operation="delete", path=path, old=old, mode=mode, old_mode=mode, mime_type=mime_type)

    @classmethod
    def modify(
        cls,
        path: str,
        old: str | bytes | None,
        new: str | bytes | None,
        *,
        mode: int = REGULAR,
        old_mode: int | None = None,
        mime_type: MediaType | None = None,
    ) -> FileChange:
        """A file gets other contents, or another mode than `old_mode`."""
        before = mode if old_mode is None else old_mode
        return cls(operation="modify", path=path, old=old, new=new, mode=mode, old_mode=before, mime_type=mime_type)

    @classmethod
    def move(
        cls,
        old_path: str,
        path: str,
        old: str | bytes | None = None,
        new: str | bytes | None = None,
        *,
        mode: int = REGULAR,
        mime_type: MediaType | None = None,
    ) -> FileChange:
        """A file gets another path; its contents stay when `new` is left out."""
        after = old if new is None else new
        return cls(
            operation="move",
            path=path,
            old_path=old_path,
            old=old,
            new=after,
            mode=mode,
            old_mode=mode,
            mime_type=mime_type,
        )

    @classmethod
    def copy(
        cls,
        old_path: str,
        path: str,
        old: str | bytes | None = None,
        new: str | bytes | None = None,
        *,
        mode: int = REGULAR,
        mime_type: MediaType | None = None,
    ) -> FileChange:
        """A file is copied; the copy has the same contents when `new` is left out."""
        after = old if new is None else new
        return cls(
            operation="copy",
            path=path,
            old_path=old_path,
            old=old,
            new=after,
            mode=mode,
            old_mode=mode,
            mime_type=mime_type,
        )

    @property
    def file_type(self) -> DiffFileType | None:
        """What kind of file it is after the change, or was before a deletion; `None` if that is not known (DIFF-04)."""
        if (kind := _KINDS.get(S_IFMT(self.mode))) is not None:
            return kind
        contents = self.old if self.operation == "delete" else self.new
        if contents is None:
            return None
        raw = _raw(contents)
        if b"\0" in raw[:_SNIFFED]:
            return "binary"
        return None if _text(raw) is None else "text"

    @property
    def is_none(self) -> bool:
        """Whether nothing changes: contents and mode of a modification are the same."""
        return (
            self.operation == "modify"
            and self.mode == self.old_mode
            and self.old is not None
            and self.new is not None
            and _raw(self.old) == _raw(self.new)
        )

    def to_wire(self) -> DiffChange:
        """The entry of `changes`."""
        if self.operation in _PAIRS:
            return _PAIRS[self.operation](
                path=self.path, old_path=str(self.old_path), file_type=self.file_type, mime_type=self.mime_type
            )
        return _SINGLES[self.operation](path=self.path, file_type=self.file_type, mime_type=self.mime_type)


_KINDS: Final[dict[int, DiffFileType]] = {SYMLINK: "symlink", DIRECTORY: "directory"}
_SINGLES: Final[dict[str, type[DiffAdd | DiffDelete | DiffModify]]] = {
    "add": DiffAdd,
    "delete": DiffDelete,
    "modify": DiffModify,
}
_PAIRS: Final[dict[str, type[DiffMove | DiffCopy]]] = {"move": DiffMove, "copy": DiffCopy}


def diff(path: str, old: str | bytes | None, new: str | bytes | None, *, context: int = 3) -> Diff:
    """The diff of one file: new without `old`, deleted without `new`.

    Raises:
        LocalProtocolError: the path is not absolute, or there are neither contents.
    """
    if old is None and new is None:
        raise LocalProtocolError("a diff needs old contents, new contents, or both", path="$.changes")
    if old is None:
        change = FileChange.add(path, new)
    elif new is None:
        change = FileChange.delete(path, old)
    else:
        change = FileChange.modify(path, old, new)
    return make([change], context=context)


def make(changes: Iterable[FileChange], *, context: int = 3, binary: bool = False) -> Diff:
    """The diff of several changes; modifications that change nothing are left out.

    Args:
        changes: in the order in which they are to be shown.
        context: unchanged lines around a change.
        binary: whether the patch holds the contents of binary files, too, as `git diff --binary` does. Otherwise
            these are listed and have no section, so that the rest can be applied (DIFF-06).
    """
    real = [change for change in changes if not change.is_none]
    text = "".join(piece for change in real for piece in _section(change, context, binary))
    patch = DiffPatch(format="git_patch", text=text) if text else None
    return Diff(changes=tuple(change.to_wire() for change in real), patch=patch)


def apply(section: PatchSection, old: _T) -> _T:
    """The new contents of a file, exactly. A new file has empty ones before, a deleted file after.

    Bytes need not be UTF-8. Nothing is searched for: hunks apply where they say.

    Raises:
        ValueError: the section does not fit, or it has no contents of a binary file.
    """
    if section.binary:
        if section.binary_hunk is None or isinstance(old, str):
            raise ValueError("a binary file: its contents are bytes, or not part of the patch")
        return apply_binary(section.binary_hunk, old)
    if isinstance(old, str):
        return apply_hunks(section.hunks, old)
    text = old.decode("utf-8", "surrogateescape")
    return apply_hunks(section.hunks, text).encode("utf-8", "surrogateescape")


# -- Writing ----------------------------------------------------------------------------------------------

_SNIFFED: Final = 8000
_ABSENT: Final = "0" * 40


def _raw(contents: str | bytes) -> bytes:
    if isinstance(contents, bytes):
        return contents
    try:
        return contents.encode()
    except UnicodeEncodeError as error:
        raise LocalProtocolError(f"contents that are no Unicode text: {error}", path="$.patch.text") from error


def _text(raw: bytes) -> str | None:
    """The contents as text, or `None`: not for a patch of lines, which is JSON text."""
    if b"\0" in raw[:_SNIFFED]:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _section(change: FileChange, context: int, binary: bool) -> Iterator[str]:
    """The section of one change; nothing where the format has none for it."""
    if S_IFMT(change.mode) == DIRECTORY or S_IFMT(change.mode) != S_IFMT(change.old_mode):
        return
    old = b"" if change.operation == "add" else None if change.old is None else _raw(change.old)
    new = b"" if change.operation == "delete" else None if change.new is None else _raw(change.new)
    if old == new:  # unknown contents, too, of a file that is only moved, or gets only another mode
        if change.operation in _SINGLES and change.mode == change.old_mode and None in (old, new):
            return
        yield from _head(change, 100)
        if change.operation in {"add", "delete"}:
            yield _index(change, old or b"", new or b"")
        return
    if old is None or new is None:
        return
    before, after = _text(old), _text(new)
    if before is None or after is None:
        if binary:
            yield from _head(change, 0)
            yield _index(change, old, new, full=True)
            yield "GIT binary patch\n"
            yield from write_literal(new)
            yield from write_literal(old)
        return
    hunks = make_hunks(before, after, context)
    yield from _head(change, _similarity(hunks, before, max(len(old), len(new))))
    yield _index(change, old, new)
    yield f"--- {'/dev/null' if change.operation == 'add' else label(change.old_path or change.path)}\n"
    yield f"+++ {'/dev/null' if change.operation == 'delete' else label(change.path)}\n"
    for hunk in hunks:
        yield from write_hunk(hunk)


def _similarity(hunks: list[Hunk], old: str, size: int) -> int:
    return min(99, kept_bytes(hunks, old) * 100 // size)


def _head(change: FileChange, similarity: int) -> Iterator[str]:
    path, old_path = quote(change.path), quote(change.old_path or change.path)
    yield f"diff --git {old_path} {path}\n"
    if change.operation == "add":
        yield f"new file mode {change.mode:06o}\n"
    elif change.operation == "delete":
        yield f"deleted file mode {change.old_mode:06o}\n"
    elif change.mode != change.old_mode:
        yield f"old mode {change.old_mode:06o}\nnew mode {change.mode:06o}\n"
    if change.old_path is not None:
        verb = "rename" if change.operation == "move" else "copy"
        yield f"similarity index {similarity}%\n{verb} from {old_path}\n{verb} to {path}\n"


def _index(change: FileChange, old: bytes, new: bytes, *, full: bool = False) -> str:
    before = _ABSENT if change.operation == "add" else _object_id(old)
    after = _ABSENT if change.operation == "delete" else _object_id(new)
    shown = slice(None if full else 7)
    same = change.operation not in {"add", "delete"} and change.mode == change.old_mode
    return f"index {before[shown]}..{after[shown]}{f' {change.mode:06o}' if same else ''}\n"


def _object_id(contents: bytes) -> str:
    """The name that Git gives to these contents."""
    return sha1(b"blob %d\0" % len(contents) + contents, usedforsecurity=False).hexdigest()
