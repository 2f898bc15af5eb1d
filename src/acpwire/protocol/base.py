"""The base structs of the wire.

Frozen, keyword-only, camelCase on the wire. Defaults are left out when encoding, so a field the schema
requires never has one. Every struct that may carry `_meta` has `meta`; where it is a patch (META-01) the
field is three-state, elsewhere omitted and `null` are one (EXT-07).

The garbage collector does not look at them (`gc=False`): frozen values made of JSON cannot be part of a cycle, and its
visits cost a seventh of the time of a stream of updates.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from ..types import Meta
from .open import ON_ERROR

__all__ = ["MetaField", "MetaPatch", "Object", "Update", "Upsert", "wire_name"]

MetaField: TypeAlias = Annotated[Meta | None, ON_ERROR]
"""`_meta` that describes its carrier only; a `null` under a key is data (META-33, META-34)."""

MetaPatch: TypeAlias = Annotated[Meta | None | UnsetType, ON_ERROR]
"""`_meta` of an upsert: omitted keeps, `null` clears, an object patches key by key (META-04 to META-06)."""


def wire_name(name: str) -> str:
    """The member name of a field: `message_id` is `messageId`, `meta` is `_meta`.

    >>> wire_name("session_update"), wire_name("meta")
    ('sessionUpdate', '_meta')
    """
    if name == "meta":
        return "_meta"
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


class Object(Struct, frozen=True, kw_only=True, rename=wire_name, omit_defaults=True, gc=False):
    """Any object of the protocol whose `_meta` describes just itself."""

    meta: MetaField = None
    """Extension data about this object (EXT-02)."""


class Update(Object, frozen=True, kw_only=True, tag_field="sessionUpdate"):
    """The `update` of a `session/update` that is no upsert: chunks, snapshots, events."""


class Upsert(
    Struct, frozen=True, kw_only=True, rename=wire_name, omit_defaults=True, gc=False, tag_field="sessionUpdate"
):
    """The `update` of a `session/update` that creates or patches an entity by its key.

    Each field but the key is three-state: omitted keeps, `null` clears, a value replaces.
    """

    meta: MetaPatch = UNSET
    """A patch of the entity's stored metadata, one top-level key at a time (META-06)."""
