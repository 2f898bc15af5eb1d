"""Values that patches carry: owned, so that nobody else can change them, and compared as JSON is.

A value is free JSON, which may be nested to any depth by whoever sent it, or is made of structs and tuples, whose
depth their types bound. JSON is walked with a stack of our own: a hostile depth must not exhaust Python's (SEC-10).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cache
from operator import attrgetter
from types import UnionType
from typing import (
    Any,
    Final,
    Literal,
    NewType,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import Struct, UnsetType
from msgspec.structs import replace

__all__ = ["SCALARS", "owned", "same"]

_T = TypeVar("_T")
_Setter: TypeAlias = Callable[[Any, Any, Any], None]  # Any: a container, a place in it, what to put there
_set_item: _Setter = list[Any].__setitem__  # Any: as above
_set_key: _Setter = dict[Any, Any].__setitem__  # Any: as above; a read-only kind of dict refuses its own

SCALARS: Final = frozenset({str, int, float, bool, bytes, type(None), UnsetType})
"""Types whose values cannot change and hold nothing that can."""

_only_scalars: Final = SCALARS.issuperset


def owned(value: _T) -> _T:
    """The value itself if nothing in it can be changed, else an equal one that shares nothing changeable with it.

    Objects of a kind of their own (a `dict` subclass) stay of that kind.
    """
    kind = type(value)
    if kind in SCALARS:
        return value
    way = _ways.get(kind)
    if way is None:
        way = _ways[kind] = _way(kind)
    mine: _T = way(value)
    return mine


def same(one: object, other: object) -> bool:
    """Equality as JSON has it, which Python's is not: there `True` is `1`, and `1` is `1.0`.

    >>> same({"a": [1]}, {"a": [1]}), same({"a": [1]}, {"a": [True]})
    (True, False)
    """
    work: list[tuple[Any, Any]] = [(one, other)]  # Any: two values, seen from inside
    while work:
        left, right = work.pop()
        kind: type[object] = left.__class__
        its_kind: type[object] = right.__class__
        if left is right:
            continue
        if kind is not its_kind:
            return False
        if issubclass(kind, dict):
            if left.keys() != right.keys():
                return False
            work.extend([(left[key], right[key]) for key in left])
        elif issubclass(kind, (list, tuple)):
            if len(left) != len(right):
                return False
            work.extend(zip(left, right, strict=True))
        elif issubclass(kind, Struct):
            work.extend([(getattr(left, name), getattr(right, name)) for name in kind.__struct_fields__])
        elif left != right:
            return False
    return True


_ways: dict[type, Callable[[Any], Any]] = {}  # Any: a value of the type, and its like; found once for each type


def _way(kind: type) -> Callable[[Any], Any]:  # Any: as above
    if issubclass(kind, Struct):
        return _way_of_struct(kind)
    if kind is dict:
        return _owned_object
    if issubclass(kind, (dict, list)):
        return _copied
    return _owned_tuple if kind is tuple else _same_value


def _same_value(value: Any) -> Any:  # Any: something that is no JSON; it is not ours to copy
    return value


def _owned_object(value: Any) -> Any:  # Any: a JSON object, and its copy
    return value.copy() if _only_scalars(map(type, value.values())) else _copied(value)


def _way_of_struct(kind: type[Struct]) -> Callable[[Any], Any]:  # Any: as above
    names = _fields_that_may_change(kind)
    if len(names) != 1 or not kind.__struct_config__.frozen:
        return _owned_struct
    held_by = attrgetter(names[0])

    def way(value: Any) -> Any:  # Any: as above
        held: object = held_by(value)  # `meta`, nearly always, and nearly always without anything
        return value if held is None or type(held) in SCALARS else _owned_struct(value)

    return way


def _owned_tuple(value: Any) -> Any:  # Any: a tuple
    for item in value:
        if type(item) not in SCALARS and owned(item) is not item:
            return tuple([owned(one) for one in value])
    return value


@cache
def _fields_that_may_change(kind: type[Struct]) -> tuple[str, ...]:
    """The fields of a struct whose type allows something that can be changed, directly or further in."""
    hints = get_type_hints(kind, include_extras=False)
    return tuple(name for name in kind.__struct_fields__ if not _is_unchanging(hints[name]))


def _is_unchanging(hint: object) -> bool:
    if get_origin(hint) is Literal or isinstance(hint, NewType):
        return True
    arms = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return all(arm in SCALARS or (isinstance(arm, NewType) or get_origin(arm) is Literal) for arm in arms)


def _owned_struct(value: Any) -> Any:  # Any: a struct, and one of its type
    kind = cast("type[Struct]", type(value))
    changes: dict[str, object] = {}
    for name in _fields_that_may_change(kind):
        held: object = getattr(value, name)
        if held is not None and type(held) not in SCALARS:
            its_own = owned(held)
            if its_own is not held:
                changes[name] = its_own
    if not changes and kind.__struct_config__.frozen:
        return value
    mine: Any = replace(value, **changes)  # Any: as above
    if kind.__struct_config__.dict:
        mine.__dict__.update(value.__dict__)  # what it carries beside its fields, which `replace` leaves behind
    return mine


def _copied(value: Any) -> Any:  # Any: a JSON object or array, and its copy
    holder: list[Any] = [None]  # Any: the copy to be
    # What to copy, and where to put it: a setter, the container, the place in it. `dict.__setitem__` and not the
    # container's own, which a read-only kind of dict refuses.
    work: list[tuple[Any, _Setter, Any, Any]] = [(value, _set_item, holder, 0)]  # Any: as above
    while work:
        source, put, target, place = work.pop()
        kind: type[object] = source.__class__
        mine: Any  # Any: as above
        if issubclass(kind, dict):
            mine = source.copy() if kind is dict else copy(source)
            for key, item in source.items():
                if type(item) not in SCALARS:
                    work.append((item, _set_key, mine, key))
        elif issubclass(kind, list):
            mine = source[:]
            for index, item in enumerate(source):
                if type(item) not in SCALARS:
                    work.append((item, _set_item, mine, index))
        else:
            mine = owned(source)
        put(target, place, mine)
    return holder[0]
