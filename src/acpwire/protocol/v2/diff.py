"""Diffs: which files change and how, with a Git patch where there is one (DIFF-01 to DIFF-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from ..base import Object
from ..ids import AbsolutePath
from ..open import ON_ERROR, Open, Skipping, Unknown
from .content import MediaType

__all__ = [
    "Diff",
    "DiffAdd",
    "DiffChange",
    "DiffCopy",
    "DiffDelete",
    "DiffFileType",
    "DiffModify",
    "DiffMove",
    "DiffPatch",
    "DiffPatchFormat",
]

if TYPE_CHECKING:
    DiffFileType: TypeAlias = Literal["text", "binary", "directory", "symlink"] | str
    """What kind of file changes (DIFF-04)."""
    DiffPatchFormat: TypeAlias = Literal["git_patch"] | str
    """How the text of a patch is to be read (DIFF-07)."""
else:
    DiffFileType = str
    DiffPatchFormat = str


class DiffPathChange(Object, frozen=True, kw_only=True, tag_field="operation"):
    """A change of one path (DIFF-02)."""

    path: AbsolutePath
    """The file that changes; absolute."""
    file_type: Annotated[DiffFileType | None, ON_ERROR] = None
    """What the file is after the change, or was before a deletion (DIFF-04)."""
    mime_type: Annotated[MediaType | None, ON_ERROR] = None
    """The same as a MIME type."""


class DiffPathPairChange(DiffPathChange, frozen=True, kw_only=True):
    """A change that takes one path to another (DIFF-02)."""

    old_path: AbsolutePath
    """Where the file was; absolute."""


class DiffAdd(DiffPathChange, frozen=True, kw_only=True, tag="add"):
    """A new file."""


class DiffDelete(DiffPathChange, frozen=True, kw_only=True, tag="delete"):
    """A file goes."""


class DiffModify(DiffPathChange, frozen=True, kw_only=True, tag="modify"):
    """A file gets other contents."""


class DiffMove(DiffPathPairChange, frozen=True, kw_only=True, tag="move"):
    """A file gets another path, and perhaps other contents."""


class DiffCopy(DiffPathPairChange, frozen=True, kw_only=True, tag="copy"):
    """A file is copied, and perhaps changed."""


if TYPE_CHECKING:
    DiffChange: TypeAlias = DiffAdd | DiffDelete | DiffModify | DiffMove | DiffCopy | Unknown
    """One change, by its `operation` (DIFF-02)."""
else:
    DiffChange = Annotated[DiffAdd | DiffDelete | DiffModify | DiffMove | DiffCopy, Open("operation")]


class DiffPatch(Object, frozen=True, kw_only=True):
    """The changes as text."""

    format: DiffPatchFormat
    """How to read it: `git_patch` is Git's patch format with absolute paths (DIFF-07, DIFF-08)."""
    text: str
    """One or more `diff --git` sections, without commit metadata."""


class Diff(Object, frozen=True, kw_only=True, tag_field="type", tag="diff"):
    """Changes of files, as an item of a tool call's content."""

    changes: Skipping[DiffChange]
    """The complete list of what changes; it is what counts (DIFF-01)."""
    patch: Annotated[DiffPatch | None, ON_ERROR] = None
    """The text of some or all of them; `None` for what has none, such as binary files (DIFF-06)."""
