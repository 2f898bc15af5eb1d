"""Versions of the protocol, and how two sides agree on one; pure functions (INIT-09, INIT-12, X-02)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

__all__ = ["VERSIONS", "accept", "negotiate"]

VERSIONS: Final = (2,)
"""The versions that this package speaks."""


def negotiate(requested: int, supported: Collection[int]) -> int | None:
    """The version an agent chooses: the highest it supports that is at or below `requested`; `None` if there is none.

    >>> negotiate(3, (1, 2)), negotiate(1, (2,))
    (2, None)
    """
    return max((version for version in supported if version <= requested), default=None)


def accept(requested: int, returned: int, supported: Collection[int]) -> bool:
    """Whether a client can go on with the version that an agent returned: one it speaks, not above its request."""
    return returned <= requested and returned in supported
