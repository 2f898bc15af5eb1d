"""The `_meta` map of an upsert: patched one top-level key at a time (META-01 to META-44, RPLY-18 to RPLY-23).

Stored metadata and an update have the same three states: omitted (`UNSET`), `null` (`None`), an object. All three
stored forms without keys mean "no metadata" (META-17). A sequence of updates has a normal form, *(clear?, entries)*:
whether everything was cleared on the way, and what each key came to afterwards, `None` for a removal.

Nothing below the top level is merged (META-12), so this is no JSON Merge Patch (META-40). Results share no mutable
value with what was given. Every function is total on JSON values, pure, and safe for values of any depth.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias, cast

from msgspec import UNSET, UnsetType

from ..types import JsonValue, Meta

__all__ = [
    "TRACE_KEYS",
    "UNKNOWN",
    "Held",
    "MetaUpdate",
    "Unknown",
    "annotate",
    "apply",
    "combine",
    "compose",
    "diff",
    "effective",
    "from_snapshot",
    "resync",
]

MetaUpdate: TypeAlias = Meta | None | UnsetType
"""Metadata in one of its three states: omitted, `null`, an object."""

Unknown: TypeAlias = Literal["unknown"]
UNKNOWN: Final[Unknown] = "unknown"
"""Nothing is known about the keys that a receiver may hold."""

Held: TypeAlias = Unknown | Mapping[str, JsonValue] | Collection[str]
"""What a receiver holds: unknown, exactly this map, or at most these keys."""

TRACE_KEYS: Final = ("traceparent", "tracestate", "baggage")
"""Root keys that are reserved for W3C trace context (EXT-04); they belong into `params._meta` (EXT-05)."""

_SCALARS: Final = frozenset({str, int, float, bool, type(None)})


def apply(stored: MetaUpdate, update: MetaUpdate) -> MetaUpdate:
    """Stored metadata after an update; the first update of an entity goes through the same rule (META-15).

    >>> apply({"a": 1, "b": {"x": 1}}, {"a": None, "b": {"y": 2}})
    {'b': {'y': 2}}
    """
    if update is UNSET:
        return stored
    if update is None:
        return None
    result = dict(stored) if isinstance(stored, dict) else {}
    for key, value in update.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = value if type(value) in _SCALARS else _copied(value)
    return result


def effective(stored: MetaUpdate) -> Meta:
    """The plain map that stored metadata means: a copy, without the keys that only a removal mentions (META-17)."""
    if not isinstance(stored, dict):
        return {}
    return {key: value if type(value) in _SCALARS else _copied(value) for key, value in stored.items() if value is not None}


def compose(first: MetaUpdate, second: MetaUpdate, known: Unknown | Collection[str] = UNKNOWN) -> tuple[MetaUpdate, ...]:
    """The shortest updates that do to any receiver what `first` and then `second` do; see `combine`."""
    return combine((first, second), known)


def combine(updates: Iterable[MetaUpdate], known: Unknown | Collection[str] = UNKNOWN) -> tuple[MetaUpdate, ...]:
    """The shortest updates that do to a receiver what all of `updates` do in turn: one, or two (META-29 to META-31).

    A removal stays a removal also of a key that was set on the way, for the receiver may hold an older value. A clear
    that is followed by an object stays two updates, unless `known` names all keys that the receiver may hold.

    >>> combine([{"a": 1}, {"a": None}]), combine([None, {"a": 1}]), combine([None, {"a": 1}], {"a", "b"})
    (({'a': None},), (None, {'a': 1}), ({'b': None, 'a': 1},))
    """
    cleared = False
    entries: Meta = {}
    for update in updates:
        if update is UNSET:
            continue
        if update is None:
            cleared, entries = True, {}
            continue
        for key, value in update.items():
            entries.pop(key, None)
            entries[key] = value if type(value) in _SCALARS else _copied(value)
    if not cleared:
        return (entries or UNSET,)
    values = {key: value for key, value in entries.items() if value is not None}
    if not values:
        return (None,)
    if known == UNKNOWN:
        return (None, values)
    return ({**{key: None for key in _ordered(known) if key not in values}, **values},)


def diff(old: MetaUpdate, new: MetaUpdate) -> MetaUpdate:
    """The update that takes a receiver that holds exactly `old` to exactly `new`, form included where it can.

    A map with keys that becomes empty is said with `null` (META-26). `apply(old, diff(old, new))` means the same as
    `new`, and equals it unless `new` is omitted or empty where `old` was not.

    >>> diff({"a": 1, "b": 2}, {"b": 3})
    {'a': None, 'b': 3}
    """
    before, after = effective(old), effective(new)
    if not after:
        return None if before or (new is None and old is not None) else UNSET
    changes: Meta = {key: None for key in before if key not in after}
    changes.update({key: value for key, value in after.items() if key not in before or not _same(before[key], value)})
    return changes or UNSET


def resync(current: MetaUpdate, held: Held = UNKNOWN) -> tuple[MetaUpdate, ...]:
    """The shortest updates that leave a receiver with exactly `current`, given what it may hold (META-24, RPLY-20).

    Unknown: `null` first, and the object in a later update; the two are not atomic, a reader may see the entity
    without metadata in between (META-25). A collection of keys: one object with `null` for each that vanished; it must
    cover all that the receiver may hold. A mapping, held exactly: only what differs. Nothing held, an empty collection:
    the object alone (RPLY-22). Keys of `current` that hold `null` are dropped: no update can store them (META-16).

    >>> resync({"a": 1}), resync({"a": 1}, {"old"}), resync({}, {"a"}), resync({"a": 1}, ())
    ((None, {'a': 1}), ({'old': None, 'a': 1},), (None,), ({'a': 1},))
    """
    wanted = effective(current)
    if isinstance(held, Mapping):
        return (diff(dict(held), wanted),)
    if held == UNKNOWN:
        return (None, wanted) if wanted else (None,)
    if not wanted:
        return (None,) if held else (UNSET,)
    return ({**{key: None for key in _ordered(held) if key not in wanted}, **wanted},)


def from_snapshot(meta: Meta | None) -> Meta:
    """Metadata that described its carrier only, made fit for an upsert: `null` keys would turn into removals (META-35).

    They are dropped; who needs one wraps it, for instance as `{"value": null}` (META-16). Resynchronize with the result.
    """
    return effective(meta)


def annotate(update: MetaUpdate, key: str, value: JsonValue) -> tuple[MetaUpdate, ...]:
    """A forwarded update with an intermediary's own key, which needs to know no other (META-19, META-32).

    A clear passes through unchanged, and the key follows in an update of its own.
    """
    own: Meta = {key: _copied(value)}
    if update is None:
        return (None, own)
    return (apply_entries(update, own),)


def apply_entries(update: Meta | UnsetType, entries: Meta) -> Meta:
    """An object update with `entries` set over it, removals kept."""
    base = {} if isinstance(update, UnsetType) else {key: _copied(value) for key, value in update.items()}
    return {**base, **entries}


def _ordered(keys: Iterable[str]) -> list[str]:
    return sorted(keys) if isinstance(keys, (set, frozenset)) else list(keys)


def _copied(value: JsonValue) -> JsonValue:
    """A deep copy of a JSON value, by a stack of our own: hostile depth must not exhaust Python's (SEC-10)."""
    if type(value) in _SCALARS:
        return value
    holder: list[Any] = [None]  # Any: JSON values on their way
    work: list[tuple[Any, Any, Any]] = [(value, holder, 0)]  # Any: a value, and where its copy goes
    while work:
        source, target, place = work.pop()
        if isinstance(source, dict):
            target[place] = copy = dict.fromkeys(source)
            work.extend((item, copy, key) for key, item in source.items())
        elif isinstance(source, (list, tuple)):
            target[place] = items = [None] * len(source)
            work.extend((item, items, index) for index, item in enumerate(source))
        else:
            target[place] = source
    return cast("JsonValue", holder[0])


def _same(one: JsonValue, other: JsonValue) -> bool:
    """Equality of JSON values, which Python's is not: `1 == True` there, and `1 == 1.0`."""
    work: list[tuple[JsonValue, JsonValue]] = [(one, other)]
    while work:
        left, right = work.pop()
        if type(left) is not type(right):
            return False
        if isinstance(left, dict) and isinstance(right, dict):
            if left.keys() != right.keys():
                return False
            work.extend((item, right[key]) for key, item in left.items())
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            work.extend(zip(left, right, strict=True))
        elif left != right:
            return False
    return True
