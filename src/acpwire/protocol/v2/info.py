"""What a session is called and when it was last at work: as an update, and as an entry of the list (SESS-35, SESS-42)."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta

from ..base import Object, Upsert
from ..ids import AbsolutePath, SessionId
from ..open import NULL_AS_DEFAULT, ON_ERROR, LenientPatch

__all__ = ["SessionInfo", "SessionInfoUpdate", "Timestamp"]

Timestamp: TypeAlias = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$")]
"""An RFC 3339 timestamp (SESS-36)."""


class SessionInfoUpdate(Upsert, frozen=True, kw_only=True, tag="session_info_update"):
    """A patch of the session itself; id, directory and roots never change (SESS-43)."""

    title: LenientPatch[str] = UNSET
    """What people call it."""
    updated_at: LenientPatch[Timestamp] = UNSET
    """When it was last at work."""


class SessionInfo(Object, frozen=True, kw_only=True):
    """One entry of `session/list`; its `_meta` is a snapshot and no patch (META-35)."""

    session_id: SessionId
    """The session."""
    cwd: AbsolutePath
    """Its directory; absolute."""
    additional_directories: Annotated[tuple[AbsolutePath, ...], NULL_AS_DEFAULT] = ()
    """Its further roots, the complete list in order (SESS-32)."""
    title: Annotated[str | None, ON_ERROR] = None
    """What people call it."""
    updated_at: Annotated[Timestamp | None, ON_ERROR] = None
    """When it was last at work."""
