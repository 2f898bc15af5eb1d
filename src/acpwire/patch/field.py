"""One field that has three states: omitted (`UNSET`), `null` (`None`), a value.

Stored and update have the same form; `UNSET` stored means that no update ever mentioned the field, which is not the
same as an explicit clear (TOOL-28, TERM-28). The laws: the omitted update changes nothing; `compose` is associative;
applying a composition is applying in turn; `apply(old, diff(old, new))` is `new` wherever an update can say `new`.
No result shares anything that can be changed with an update, nor an update with what it was made of.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, TypeVar

from msgspec import UNSET, UnsetType

from .values import owned, same

__all__ = ["Patch", "apply", "combine", "compose", "diff", "resync"]

_T = TypeVar("_T")

Patch: TypeAlias = _T | None | UnsetType
"""A three-state field of `T`."""


def apply(stored: Patch[_T], update: Patch[_T]) -> Patch[_T]:
    """The stored field after an update: omitted keeps it, all else replaces it.

    >>> apply("old", None), apply("old", UNSET)
    (None, 'old')
    """
    return stored if update is UNSET else owned(update)


def compose(first: Patch[_T], second: Patch[_T]) -> Patch[_T]:
    """The one update that does what `first` and then `second` do."""
    return owned(first if second is UNSET else second)


def combine(updates: Iterable[Patch[_T]]) -> Patch[_T]:
    """The one update that does what all of `updates` do in turn: the last that is not omitted."""
    last: Patch[_T] = UNSET
    for update in updates:
        if update is not UNSET:
            last = update
    return owned(last)


def diff(old: Patch[_T], new: Patch[_T]) -> Patch[_T]:
    """The update that takes `old` to `new`; omitted when they are equal.

    No update takes a field back to never mentioned: where a value was, the nearest is `null`.
    """
    if new is UNSET:
        return UNSET if old is UNSET else None
    return UNSET if same(old, new) else owned(new)


def resync(current: Patch[_T]) -> Patch[_T]:
    """The update that leaves `current` with a receiver that followed the same updates, up to any point.

    It is `current` itself: a field that nobody ever mentioned cannot be held anywhere, so it stays omitted.
    """
    return owned(current)
