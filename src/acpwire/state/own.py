"""What is stored is the state's own: no dict or list in it can be reached from outside.

Structs and tuples are immutable, so a value made of them alone is shared. Only free JSON (`_meta`, raw tool
values, unknown arms) is copied, when it comes in and when it is handed out.
"""

from __future__ import annotations

from operator import is_
from typing import Any, TypeVar, cast

from msgspec import UNSET, Struct, UnsetType, structs

from ..patch import meta
from ..protocol.open import Unknown
from ..types import JsonValue, Meta

__all__ = ["own", "shown", "shown_meta", "value_of"]

_T = TypeVar("_T")
_SCALARS = frozenset({str, int, float, bool, bytes, type(None), UnsetType})


def own(value: _T) -> _T:
    """The value itself if nothing in it can be changed, else a copy that shares nothing changeable with it.

    JSON may be nested to any depth: it is copied without recursion (SEC-10).
    """
    if type(value) in _SCALARS:
        return value
    return cast("_T", _copy(value))


def value_of(field: _T | None | UnsetType) -> _T | None:
    """What a patch field shows: `None` for cleared and for never mentioned."""
    return None if field is UNSET else field


def shown(field: _T | None | UnsetType) -> _T | None:
    """The same to hand out, when it may hold what can be changed."""
    return None if field is UNSET else own(field)


def shown_meta(stored: Meta | None | UnsetType) -> Meta:
    """A copy of stored metadata to hand out; its three forms without keys are one (META-17)."""
    return own(stored) if isinstance(stored, dict) else {}


def _copy(value: Any) -> Any:  # Any: whatever a message can hold
    if isinstance(value, Struct):
        return _copy_struct(value)
    if isinstance(value, tuple):
        return _copy_tuple(cast("tuple[object, ...]", value))
    if isinstance(value, Unknown):
        if _SCALARS.issuperset(map(type, value.values())):
            return value
        return Unknown(value.tag, _copy_json(dict(value)))
    if isinstance(value, (dict, list)):
        return _copy_json(cast("JsonValue", value))
    return value


def _copy_tuple(value: tuple[object, ...]) -> tuple[object, ...]:
    copy = tuple(map(own, value))
    return value if all(map(is_, copy, value)) else copy


def _copy_struct(value: Struct) -> Struct:
    changed: dict[str, object] = {}
    for name in value.__struct_fields__:
        held: object = getattr(value, name)
        if type(held) not in _SCALARS:
            copy = _copy(held)
            if copy is not held:
                changed[name] = copy
    return structs.replace(value, **changed) if changed else value


def _copy_json(value: Any) -> Any:  # Any: a JSON object or array
    # The metadata algebra copies what it stores, at any depth; every JSON value may stand under a key.
    return cast("Meta", meta.apply(UNSET, {"": value}))[""]
