"""A record of patch fields: a later upsert applied to a stored one.

Works on any struct. Of its fields

- the first that has no default is the key: it must be the same on both sides. A struct without one (the update of a
  session's info) is its own key;
- each with the default `UNSET` is a patch field: omitted keeps, all else replaces; `meta` is patched by the rule of
  the module `meta`;
- all others, with another default or required as a compaction's status is, come with every upsert: the later wins.

A stored record has the type of its upserts, so an explicit `null` stays distinct from a field that was never mentioned
(TOOL-28, TERM-28). No result shares anything that can be changed with an update, nor an update with what it was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from msgspec import UNSET, Struct, structs

from . import field as one_field
from . import meta as meta_map
from .meta import UNKNOWN, Keys, MetaUpdate
from .values import SCALARS, owned

__all__ = ["apply", "combine", "compose", "diff", "first", "mentioned", "resync"]

_R = TypeVar("_R", bound=Struct)


def first(update: _R) -> _R:
    """The record that is stored after the first upsert of an entity: a removal in it leaves no trace (META-15)."""
    mine = owned(update)
    if not _shape(type(update)).has_meta:
        return mine
    return structs.replace(mine, meta=meta_map.apply(UNSET, _meta(update)))


def apply(stored: _R, update: Struct) -> _R:
    """A stored record after a later upsert of the same entity.

    `update` may be of another struct that has the same fields and more: a tool call's upsert in a permission request
    is not tagged as the one in an update is (PERM-08).

    Raises:
        ValueError: the two have different keys.
    """
    kind = type(stored)
    shape = _shape(kind)
    if shape.key:
        _same_entity(stored, update, shape.key)
    changes = mentioned(update, kind)
    if shape.has_meta:
        patch = _meta(update)
        if patch is not UNSET:
            changes["meta"] = meta_map.apply(_meta(stored), patch)
    return structs.replace(stored, **changes) if changes else stored


def mentioned(update: Struct, kind: type[Struct]) -> dict[str, object]:
    """What an upsert says of an entity that is stored as `kind`, by field: without the key, and without metadata.

    For who gathers many upserts before the record is read; metadata is patched by `meta.apply`.
    """
    shape = _shape(kind)
    found = {
        name: value if type(value) in SCALARS else owned(value)
        for name, value in zip(shape.patches, shape.read(update), strict=True)
        if value is not UNSET
    }
    for name in shape.snapshots:
        found[name] = owned(getattr(update, name))
    return found


def compose(earlier: _R, later: _R, known: Keys = UNKNOWN) -> tuple[_R, ...]:
    """The upserts that do what both do in turn: `combine` of two."""
    return combine((earlier, later), known)


def combine(updates: Iterable[_R], known: Keys = UNKNOWN) -> tuple[_R, ...]:
    """The shortest upserts that do to a receiver what all of `updates` do in turn.

    One, or two where metadata was cleared and set, and `known`, its keys that the receiver may hold, does not help
    (META-30): the first has all else, the second the new metadata. None if there were none. Nothing else about the
    entity (a chunk, a permission request) may have stood between them.

    Raises:
        ValueError: they have different keys.
    """
    parts = tuple(updates)
    if not parts:
        return ()
    shape = _shape(type(parts[0]))
    for part in parts:
        _same_entity(parts[0], part, shape.key)
    changes: dict[str, Any] = {  # Any: each field's own type
        name: one_field.combine(getattr(part, name) for part in parts) for name in shape.patches
    }
    for name in shape.snapshots:
        changes[name] = owned(getattr(parts[-1], name))
    combined = structs.replace(parts[0], **changes)
    if not shape.has_meta:
        return (combined,)
    return _with_metadata(combined, meta_map.combine(map(_meta, parts), known))


def diff(old: _R, new: _R) -> _R:
    """The upsert that takes a receiver of exactly `old` to `new`: beside the key, only what differs.

    Nothing takes a field back to never mentioned: where a value was, the nearest is `null`.

    Raises:
        ValueError: the two have different keys.
    """
    shape = _shape(type(new))
    _same_entity(old, new, shape.key)
    changes: dict[str, Any] = {  # Any: each field's own type
        name: one_field.diff(getattr(old, name), getattr(new, name)) for name in shape.patches
    }
    for name in shape.snapshots:
        changes[name] = owned(getattr(new, name))
    if shape.has_meta:
        changes["meta"] = meta_map.diff(_meta(old), _meta(new))
    return structs.replace(new, **changes)


def resync(current: _R, held: _R | Keys = UNKNOWN) -> tuple[_R, ...]:
    """The shortest upserts that leave `current` with a receiver that followed the same entity, up to any point.

    `held` is what the receiver holds exactly, or the keys of metadata that it may hold; an empty collection if the
    entity is new to it. If unknown, metadata may take a second upsert, as in `meta.resync`.

    Raises:
        ValueError: `held` has another key.
    """
    if isinstance(held, Struct):
        return (diff(held, current),)
    mine = owned(current)
    if not _shape(type(current)).has_meta:
        return (mine,)
    return _with_metadata(mine, meta_map.resync(_meta(current), held))


class _Shape(NamedTuple):
    key: tuple[str, ...]
    patches: tuple[str, ...]
    snapshots: tuple[str, ...]
    has_meta: bool
    read: Callable[[Struct], tuple[object, ...]]
    """All patch fields of a record at once."""


class _HasMeta(Protocol):
    meta: MetaUpdate


@cache
def _shape(kind: type[Struct]) -> _Shape:
    fields = structs.fields(kind)
    required = [field.name for field in fields if field.required]
    patches = [field.name for field in fields if field.default is UNSET]
    snapshots = [field.name for field in fields if not field.required and field.default is not UNSET]
    names = tuple(name for name in patches if name != "meta")
    return _Shape(
        key=tuple(required[:1]),
        patches=names,
        snapshots=(*required[1:], *snapshots),
        has_meta="meta" in patches,
        read=_reader(names),
    )


def _reader(names: tuple[str, ...]) -> Callable[[Struct], tuple[object, ...]]:
    """Reads all these fields at once; `attrgetter` of one name alone would give no tuple."""

    def read(record: Struct) -> tuple[object, ...]:
        return tuple([getattr(record, name) for name in names])

    return attrgetter(*names) if len(names) > 1 else read


def _same_entity(one: Struct, other: Struct, key: tuple[str, ...]) -> None:
    for name in key:
        if getattr(one, name) != getattr(other, name):
            raise ValueError(f"two entities: `{name}` differs")


def _meta(record: Struct) -> MetaUpdate:
    return cast("_HasMeta", record).meta


def _with_metadata(record: _R, metas: Sequence[MetaUpdate]) -> tuple[_R, ...]:
    """The record with the first of `metas`, and one that has only the rest for each further."""
    whole = structs.replace(record, meta=metas[0])
    if len(metas) == 1:
        return (whole,)
    bare: dict[str, Any] = dict.fromkeys(_shape(type(record)).patches, UNSET)  # Any: each field's own type
    return (whole, *(structs.replace(record, **bare, meta=meta) for meta in metas[1:]))
