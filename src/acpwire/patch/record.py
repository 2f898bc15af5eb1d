"""A record of patch fields: a later upsert applied to a stored one.

Works on any struct whose fields without a default are its key, and whose `meta`, if it is three-state, is patched by
the rule of `meta`. A field with the default `UNSET` is a patch field; one with another default is a snapshot, which the
later record replaces. A stored record has the type of its upserts, so an explicit `null` stays distinct from a field
that was never mentioned (TOOL-28, TERM-28).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from . import field as one_field
from . import meta as meta_map

__all__ = ["apply", "compose", "diff", "first"]

_R = TypeVar("_R", bound=Struct)


class _Shape(NamedTuple):
    key: tuple[str, ...]
    patches: tuple[str, ...]
    snapshots: tuple[str, ...]
    has_meta: bool


def first(update: _R) -> _R:
    """The stored record after the first upsert of an entity: no `null` key of `_meta` is stored (META-15)."""
    if not _shape(type(update)).has_meta:
        return update
    return _with_meta(update, meta_map.apply(UNSET, _meta_of(update)))


def apply(stored: _R, update: Struct) -> _R:
    """A stored record after a later upsert of the same entity; every field but the key is three-state.

    `update` may be of another struct with the same fields, as a tool call in a permission request is (PERM-08).

    Raises:
        ValueError: the two have different keys.
    """
    shape = _shape(type(stored))
    _check_keys(stored, update, shape.key)
    changes: dict[str, Any] = {}  # Any: each field's own type
    for name in shape.patches:
        value = getattr(update, name)
        if value is not UNSET:
            changes[name] = value
    for name in shape.snapshots:
        changes[name] = getattr(update, name)
    if shape.has_meta and _meta_of(update) is not UNSET:
        changes["meta"] = meta_map.apply(_meta_of(stored), _meta_of(update))
    return replace(stored, **changes) if changes else stored


def compose(earlier: _R, later: _R) -> tuple[_R, ...]:
    """The shortest upserts that do to any receiver what both do in turn: one, or two where `_meta` needs it (META-30).

    Raises:
        ValueError: the two have different keys.
    """
    shape = _shape(type(earlier))
    _check_keys(earlier, later, shape.key)
    changes: dict[str, Any] = {  # Any: each field's own type
        name: one_field.compose(getattr(earlier, name), getattr(later, name)) for name in shape.patches
    }
    changes |= {name: getattr(later, name) for name in shape.snapshots}
    merged = replace(earlier, **changes)
    if not shape.has_meta:
        return (merged,)
    metas = meta_map.compose(_meta_of(earlier), _meta_of(later))
    if len(metas) == 1:
        return (_with_meta(merged, metas[0]),)
    follow_up = type(earlier)(**{name: getattr(merged, name) for name in (*shape.key, *shape.snapshots)}, meta=metas[1])
    return (_with_meta(merged, metas[0]), follow_up)


def diff(old: _R, new: _R) -> _R:
    """The upsert that takes a receiver that holds exactly `old` to `new`; only the key when they are equal.

    Raises:
        ValueError: the two have different keys.
    """
    shape = _shape(type(old))
    _check_keys(old, new, shape.key)
    changes: dict[str, Any] = {  # Any: each field's own type
        name: one_field.diff(getattr(old, name), getattr(new, name)) for name in shape.patches
    }
    if shape.has_meta:
        changes["meta"] = meta_map.diff(_meta_of(old), _meta_of(new))
    return replace(new, **changes)


@lru_cache(maxsize=None)
def _shape(kind: type[Struct]) -> _Shape:
    key, patches, snapshots = [], [], []
    has_meta = False
    for info in msgspec.structs.fields(kind):
        if info.name == "meta" and info.default is UNSET:
            has_meta = True
        elif info.required:
            key.append(info.name)
        elif info.default is UNSET:
            patches.append(info.name)
        else:
            snapshots.append(info.name)
    # Of several required fields the first is the key; the others (a compaction's status) come with every upsert.
    return _Shape(tuple(key[:1]), tuple(patches), (*key[1:], *snapshots), has_meta)


def _check_keys(one: Struct, other: Struct, key: tuple[str, ...]) -> None:
    for name in key:
        if getattr(one, name) != getattr(other, name):
            raise ValueError(f"two entities: `{name}` differs")


def _meta_of(record: Struct) -> meta_map.MetaUpdate:
    value: meta_map.MetaUpdate = record.meta  # type: ignore[attr-defined]  # the shape says that it is there
    return value


def _with_meta(record: _R, meta: meta_map.MetaUpdate) -> _R:
    return replace(record, meta=meta)
