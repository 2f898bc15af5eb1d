"""What a session is called and when it was last at work; its metadata is the session's (SESS-42)."""

from __future__ import annotations

from ..patch import meta, record
from ..patch.values import owned
from ..protocol.v2.info import SessionInfoUpdate
from ..types import Meta
from .shown import value_of
from .snapshot import InfoSnapshot

__all__ = ["Info"]


class Info:
    """The session itself, as it is now. Only the session's state calls `apply`."""

    __slots__ = ("_stored",)

    def __init__(self) -> None:
        self._stored = SessionInfoUpdate()

    def __repr__(self) -> str:
        return f"<Info {self.title!r}>"

    @property
    def title(self) -> str | None:
        """What people call it."""
        return value_of(self._stored.title)

    @property
    def updated_at(self) -> str | None:
        """When it was last at work, RFC 3339."""
        return value_of(self._stored.updated_at)

    @property
    def meta(self) -> Meta:
        """The session's metadata, a copy; without keys there is none (META-17)."""
        return meta.effective(self._stored.meta)

    @property
    def patch(self) -> SessionInfoUpdate:
        """All that is stored, as one upsert: `None` is cleared, `UNSET` never mentioned."""
        return owned(self._stored)

    def apply(self, update: SessionInfoUpdate) -> None:
        """Patch it: omitted stays, `null` clears (SESS-42)."""
        self._stored = record.apply(self._stored, update)

    def snapshot(self) -> InfoSnapshot:
        """As it is now."""
        return InfoSnapshot(title=self.title, updated_at=self.updated_at, meta=self.meta)
