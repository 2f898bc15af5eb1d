"""How a stored patch field is shown.

What is stored is the state's own: no dict or list in it can be reached from outside. Structs and tuples are immutable
and shared; free JSON (`_meta`, raw tool values, unknown arms) is copied when it comes in and when it is handed out.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec import UNSET, UnsetType

from ..patch.values import owned

__all__ = ["shown", "value_of"]

_T = TypeVar("_T")


def value_of(field: _T | None | UnsetType) -> _T | None:
    """What a patch field shows: `None` for cleared and for never mentioned."""
    return None if field is UNSET else field


def shown(field: _T | None | UnsetType) -> _T | None:
    """The same, to hand out what may hold free JSON."""
    return None if field is UNSET else owned(field)
