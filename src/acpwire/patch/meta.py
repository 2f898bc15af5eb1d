"""The `_meta` map of an upsert: patched one top-level key at a time (META-01 to META-44, RPLY-18 to RPLY-23).

Stored metadata and an update have the same three states: omitted (`UNSET`), `null` (`None`), an object. All three
stored forms without keys mean "no metadata" (META-17); `effective` is that meaning, and the laws hold for it:

- the omitted and the empty update change nothing;
- `compose` is associative, and applying `combine(updates)` is applying `updates` in turn;
- `apply(old, diff(old, new))` means what `new` means;
- applying all of `resync(current, held)` to anything that `held` allows means what `current` means.

A sequence of updates has the normal form *(cleared?, entries)*; two sequences do the same to every receiver exactly
if their normal forms are the same. Nothing below the top level is merged (META-12), so this is no JSON Merge Patch
(META-40). Keys are opaque and compared exactly (EXT-06).

Every function is pure, total on JSON values, and safe for values of any depth (SEC-10). No result shares anything
that can be changed with an argument; but what `apply` keeps, it keeps as it was stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from typing import Final, NamedTuple, TypeAlias, cast

from msgspec import UNSET, UnsetType

from ..types import JsonValue, Meta
from .values import SCALARS, owned, same

__all__ = [
    "BAGGAGE",
    "TRACEPARENT",
    "TRACESTATE",
    "TRACE_KEYS",
    "UNKNOWN",
    "Held",
    "Keys",
    "MetaUpdate",
    "Normal",
    "Receiver",
    "add_key",
    "apply",
    "combine",
    "compose",
    "diff",
    "effective",
    "parse",
    "resync",
    "serve",
    "snapshot_to_patch",
]

TRACEPARENT: Final = "traceparent"
TRACESTATE: Final = "tracestate"
BAGGAGE: Final = "baggage"
TRACE_KEYS: Final = frozenset({TRACEPARENT, TRACESTATE, BAGGAGE})
"""Root keys that are reserved for W3C trace context (EXT-04). They speak of one message: `params._meta` (META-36)."""

MetaUpdate: TypeAlias = Meta | None | UnsetType
"""Metadata in one of its three states: omitted, `null`, an object (META-38)."""


class Receiver(Enum):
    """What is known of the receiver of an update, when not even its possible keys are."""

    UNKNOWN = "unknown"
    """It may hold any keys."""


UNKNOWN: Final = Receiver.UNKNOWN

Keys: TypeAlias = Receiver | Collection[str]
"""Which keys a receiver may hold: unknown, or none but these. A key that is missing here may survive with it."""

Held: TypeAlias = Keys | Mapping[str, JsonValue]
"""What a receiver holds: unknown, no other keys than these, or exactly this map."""


class Normal(NamedTuple):
    """What a sequence of updates comes to."""

    cleared: bool
    """Whether all keys of all writers were removed on the way (META-21)."""
    entries: Meta
    """What became of each key after that; `None` is a removal, which only stands where nothing was cleared."""

    def updates(self, known: Keys = UNKNOWN) -> tuple[MetaUpdate, ...]:
        """The shortest updates of this effect: one, or a clear and an object.

        A clear that values follow cannot be one update, unless `known` tells what to remove (META-28, META-30). It
        covers what the receiver may hold before; keys that only the combined updates would have set are not in it.
        """
        if not self.cleared:
            return (owned(self.entries) or UNSET,)
        if not self.entries:
            return (None,)
        return _replacing(self.entries, known)


def parse(member: object) -> MetaUpdate:
    """The update that a `_meta` member of an upsert is: what is neither object nor `null` reads as omitted (META-43)."""
    return cast("Meta | None", member) if member is None or isinstance(member, dict) else UNSET


def apply(stored: MetaUpdate, update: MetaUpdate) -> MetaUpdate:
    """Stored metadata after an update; the first update of an entity goes through the same rule (META-15).

    >>> apply({"a": 1, "b": {"x": 1}}, {"a": None, "b": {"y": 2}})
    {'b': {'y': 2}}
    """
    if update is UNSET:
        return stored
    if update is None:
        return None
    result = stored.copy() if isinstance(stored, dict) else {}
    for key, value in update.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = value if type(value) in SCALARS else owned(value)
    return result


def effective(stored: MetaUpdate) -> Meta:
    """The plain map that stored metadata means, as a copy: without keys there is no metadata (META-17).

    A key that holds `null` is left out: on upserts none can (META-16).
    """
    if not isinstance(stored, dict):
        return {}
    return {
        key: value if type(value) in SCALARS else owned(value) for key, value in stored.items() if value is not None
    }


def compose(*updates: MetaUpdate) -> Normal:
    """The normal form of updates applied in turn (META-29 to META-31).

    Set and then removed is a removal, for the receiver may hold an older value.

    >>> compose({"a": 1}, {"a": None}), compose({"a": 1}, None, {"b": 2})
    (Normal(cleared=False, entries={'a': None}), Normal(cleared=True, entries={'b': 2}))
    """
    cleared = False
    entries: Meta = {}
    for update in updates:
        if update is None:
            cleared, entries = True, {}
        elif update is not UNSET:
            entries.update(update)
    # After a clear there is nothing left to remove.
    return Normal(cleared, effective(entries) if cleared else owned(entries))


def combine(updates: Iterable[MetaUpdate], known: Keys = UNKNOWN) -> tuple[MetaUpdate, ...]:
    """The shortest updates that do to a receiver what all of `updates` do in turn: one, or two.

    Only updates between which nothing else about the entity stood (a chunk, a permission request) may be combined.

    >>> combine([None, {"a": 1}]), combine([None, {"a": 1}], {"a", "b"})
    ((None, {'a': 1}), ({'b': None, 'a': 1},))
    """
    return compose(*updates).updates(known)


def diff(old: MetaUpdate, new: MetaUpdate) -> MetaUpdate:
    """The update that takes a receiver of exactly `old` to `new`: only what differs, omitted if nothing does (META-27).

    That metadata is gone is said with `null` (META-26). A form without keys is kept where another one means the same,
    but that `null` is said once where nothing was ever mentioned, so that an explicit clear stays one.

    >>> diff({"a": 1, "b": 2}, {"b": 3})
    {'a': None, 'b': 3}
    """
    before, after = effective(old), effective(new)
    if not after:
        return None if before or (new is None and old is not None) else UNSET
    changes: Meta = {key: None for key in before if key not in after}
    changes.update({key: value for key, value in after.items() if key not in before or not same(before[key], value)})
    return changes or UNSET


def resync(current: MetaUpdate, held: Held = UNKNOWN) -> tuple[MetaUpdate, ...]:
    """The shortest updates that leave a receiver with exactly `current`, given what it may hold (META-24, RPLY-20).

    Unknown: `null`, and the object in a second update. The two are not atomic: a reader may see the entity without
    metadata in between (META-25). Keys: one object, with `null` for each that is gone. A map: only what differs. An
    empty collection, nothing held: the object alone (RPLY-22). No keys left: `null`, never `{}` (RPLY-21).

    >>> resync({"a": 1}), resync({"a": 1}, {"b"}), resync({"a": 1}, {"a": 1, "b": 2}), resync({"a": 1}, ())
    ((None, {'a': 1}), ({'b': None, 'a': 1},), ({'b': None},), ({'a': 1},))
    """
    wanted = effective(current)
    if isinstance(held, Mapping):
        return (diff(dict(cast("Mapping[str, JsonValue]", held)), wanted),)
    if wanted:
        return _replacing(wanted, held)
    return (None,) if held is UNKNOWN or held else (UNSET,)


def serve(merged: MetaUpdate, *, fresh: bool) -> tuple[MetaUpdate, ...]:
    """What someone who holds the merged map of an entity sends of it to another receiver.

    A fresh one certainly holds nothing and gets the object alone (RPLY-22). What a returning one kept from an earlier
    connection nobody knows, so it gets the clear first; who does know its keys says so with `resync`.
    """
    return resync(merged, () if fresh else UNKNOWN)


def snapshot_to_patch(meta: Meta | None) -> Meta:
    """Metadata that spoke of its carrier only, made fit for an upsert, where a `null` would be a removal (META-35).

    Such keys are dropped; an extension that needs one wraps it, as `{"value": null}` (META-16). The receiver may hold
    more than this, so send what `resync` makes of it.
    """
    return effective(meta)


def add_key(update: MetaUpdate, key: str, value: JsonValue) -> tuple[MetaUpdate, ...]:
    """A forwarded update with an intermediary's own key, for which it needs to know no other (META-19, META-32).

    A clear passes unchanged, and the key follows in a second update. `None` as the value removes the key.
    """
    own: Meta = {key: owned(value)}
    if update is None:
        # A clear has removed it already.
        return (None,) if value is None else (None, own)
    if update is UNSET:
        return (own,)
    return ({**owned(update), **own},)


def _replacing(values: Meta, known: Keys) -> tuple[MetaUpdate, ...]:
    """Updates after which a receiver holds `values` and nothing else."""
    mine = owned(values)
    if isinstance(known, Receiver):
        return (None, mine)
    # Sorted, so that equal sets give equal bytes.
    removals: Meta = dict.fromkeys(sorted(known))
    return ({**removals, **mine},)
