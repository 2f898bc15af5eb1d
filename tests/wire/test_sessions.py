"""The sessions that a client's connection has heard of."""

from __future__ import annotations

from typing import Any

from acpwire.wire.sessions import SessionEntry, Sessions


def test_an_entry_is_made_at_first_sight_and_is_the_same_afterwards() -> None:
    sessions = Sessions(2)
    entry = sessions.entry("a")
    assert sessions.entry("a") is entry
    assert sessions.claim("a") is entry
    assert entry.claimed


def test_the_oldest_unclaimed_entry_goes_first_and_a_claimed_one_stays() -> None:
    sessions = Sessions(2)
    sessions.entry("a")
    sessions.claim("b")
    for name in "cde":
        sessions.entry(name)
    assert set(sessions.entries) == {"b", "d", "e"}


def test_a_dropped_session_is_forgotten_whether_it_was_claimed_or_not() -> None:
    sessions = Sessions(2)
    sessions.claim("a")
    sessions.entry("b")
    for name in ("a", "b", "never seen"):
        sessions.drop(name)
    assert not sessions.entries


def test_observers_are_shown_updates_until_they_are_taken_off() -> None:
    entry, shown = SessionEntry("a"), []

    def one(update: Any, size: int) -> None:
        shown.append(("one", size))

    def two(update: Any, size: int) -> None:
        shown.append(("two", size))

    entry.observe(one)
    entry.observe(two)
    for observer in entry.observers:
        observer(None, 1)  # type: ignore[arg-type]
    entry.unobserve(one)
    entry.unobserve(one)
    for observer in entry.observers:
        observer(None, 2)  # type: ignore[arg-type]
    assert shown == [("one", 1), ("two", 1), ("two", 2)]
