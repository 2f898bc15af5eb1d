"""Notices: something to tell the user now, without an id and without consequences (NOTE-01 to NOTE-06)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from msgspec import Meta

from ..base import Update
from ..open import ON_ERROR

__all__ = ["Notice", "NoticeSeverity"]

if TYPE_CHECKING:
    NoticeSeverity: TypeAlias = Literal["info", "warning", "error"] | str
    """How urgent a notice looks (NOTE-03)."""
else:
    NoticeSeverity = str


class Notice(Update, frozen=True, kw_only=True, tag="notice"):
    """A live event; never replayed, and nothing depends on it (NOTE-02)."""

    severity: NoticeSeverity
    """How to present it; unknown values are kept, and none changes any state (NOTE-03)."""
    title: Annotated[str, Meta(min_length=1)]
    """The message, plain text."""
    description: Annotated[str | None, ON_ERROR] = None
    """More of it, plain text."""
