"""Usage of the context, and what it cost so far (USE-01 to USE-07)."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta

from ..base import Object, Update
from ..open import LenientPatch

__all__ = ["Cost", "UsageUpdate"]


class Cost(Object, frozen=True, kw_only=True):
    """What the session cost so far; cumulative (USE-02)."""

    amount: float
    """How much."""
    currency: str
    """Of what: an ISO 4217 code or another unit (X-38)."""


class UsageUpdate(Update, frozen=True, kw_only=True, tag="usage_update"):
    """How full the context is now; its `_meta` is no patch (USE-07)."""

    used: Annotated[int, Meta(ge=0)]
    """Tokens in use, cached ones included (USE-04)."""
    size: Annotated[int, Meta(ge=0)]
    """Tokens that fit."""
    cost: LenientPatch[Cost] = UNSET
    """Omitted keeps the last one, `null` clears it (USE-03)."""
