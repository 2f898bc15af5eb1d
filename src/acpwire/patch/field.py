"""One field that has three states: omitted (`UNSET`), `null` (`None`), a value.

Stored and update have the same form; `UNSET` stored means that no update ever mentioned the field, which is not the
same as an explicit clear (TOOL-28, TERM-28). The laws: the omitted update changes nothing; `compose` is associative;
applying a composition is applying in turn; `apply(old, diff(old, new))` is `new` wherever an update can say `new`.
"""

from __future__ import annotations

from typing import TypeAlias, TypeVar

from msgspec import UNSET, UnsetType

__all__ = ["Patch", "apply", "compose", "diff"]

_T = TypeVar("_T")

Patch: TypeAlias = _T | None | UnsetType
"""A three-state field of `T`."""


def apply(stored: Patch[_T], update: Patch[_T]) -> Patch[_T]:
    """The stored field after an update: omitted keeps it, all else replaces it.

    >>> apply("old", None), apply("old", UNSET)
    (None, 'old')
    """
    return stored if update is UNSET else update


def compose(first: Patch[_T], second: Patch[_T]) -> Patch[_T]:
    """The one update that does what `first` and then `second` do."""
    return first if second is UNSET else second


def diff(old: Patch[_T], new: Patch[_T]) -> Patch[_T]:
    """The update that takes `old` to `new`; omitted when they are equal.

    No update takes a field back to never mentioned: from there to `UNSET` the nearest is `null`.
    """
    if new is UNSET:
        return UNSET if old is UNSET else None
    return UNSET if old is not UNSET and type(old) is type(new) and old == new else new
