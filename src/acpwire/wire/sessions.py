"""The sessions that a client's connection has heard of, each with its state and its observers.

Updates may come before the response that names their session (SESS-05), so an entry is made at first sight. One
that nobody here created or resumed is unclaimed; only so many of those are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from .. import state
from ..protocol.open import Unknown
from ..protocol.v2.update import SessionUpdate

__all__ = ["Observer", "SessionEntry", "Sessions", "Watcher"]

Observer: TypeAlias = "Callable[[SessionUpdate | Unknown, int], None]"
"""Shown each update of a session when it is read, in wire order, with the size of its frame in bytes."""

Watcher: TypeAlias = "Callable[[SessionUpdate | Unknown], None]"
"""Told of the updates of some types when they are read, after the observers."""


class SessionEntry:
    """One session: what it shows, and who is watching."""

    __slots__ = ("claimed", "observers", "state", "watchers")

    def __init__(self, session_id: str) -> None:
        self.state = state.SessionState(session_id)
        self.observers: tuple[Observer, ...] = ()
        self.watchers: dict[type, tuple[Watcher, ...]] = {}
        self.claimed = False
        """Whether it was created or resumed on this connection."""

    def observe(self, observer: Observer) -> None:
        """Show `observer` each update from the next one on."""
        self.observers = (*self.observers, observer)

    def watch(self, watcher: Watcher, kinds: Iterable[type]) -> None:
        """Tell `watcher` of each update of these types from the next one on; the frequent types cost it nothing."""
        for kind in kinds:
            self.watchers[kind] = (*self.watchers.get(kind, ()), watcher)

    def tell(self, update: SessionUpdate | Unknown) -> None:
        """Tell the watchers of an update's type."""
        for watcher in self.watchers[type(update)]:
            watcher(update)

    def unwatch(self, watcher: Watcher) -> None:
        """Tell it no more; unknown ones are ignored."""
        left = {kind: tuple(one for one in told if one != watcher) for kind, told in self.watchers.items()}
        self.watchers = {kind: told for kind, told in left.items() if told}

    def unobserve(self, observer: Observer) -> None:
        """Show it no more; unknown ones are ignored."""
        self.observers = tuple(one for one in self.observers if one != observer)


class Sessions:
    """By session id."""

    __slots__ = ("_max_unclaimed", "_unclaimed", "entries")

    def __init__(self, max_unclaimed: int) -> None:
        self.entries: dict[str, SessionEntry] = {}
        self._unclaimed: dict[str, None] = {}
        self._max_unclaimed = max_unclaimed

    def entry(self, session_id: str) -> SessionEntry:
        """The entry of a session, made when it is not there yet."""
        entry = self.entries.get(session_id)
        if entry is None:
            entry = self.entries[session_id] = SessionEntry(session_id)
            self._unclaimed[session_id] = None
            if len(self._unclaimed) > self._max_unclaimed:
                oldest = next(iter(self._unclaimed))
                del self._unclaimed[oldest], self.entries[oldest]
        return entry

    def claim(self, session_id: str) -> SessionEntry:
        """The entry of a session that was created or resumed here; it stays until it is dropped."""
        entry = self.entry(session_id)
        entry.claimed = True
        self._unclaimed.pop(session_id, None)
        return entry

    def drop(self, session_id: str) -> None:
        """Forget a session, for instance after it was closed (SESS-18)."""
        self.entries.pop(session_id, None)
        self._unclaimed.pop(session_id, None)
