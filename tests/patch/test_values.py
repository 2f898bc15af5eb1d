"""Values are owned at any depth, and compared as JSON is."""

from __future__ import annotations

import json
from collections import OrderedDict
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Struct
from msgspec.structs import force_setattr

from acpwire.patch.values import owned, same
from acpwire.protocol.open import Unknown

DEPTH = 100_000

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, "", "é", "e\u0301", "1"])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "__proto__"]), inner),
    max_leaves=8,
)


class Block(Struct, frozen=True):
    text: str
    meta: dict | None = None


class Open(Struct):
    items: list


class Counter(Struct):
    count: int


class Carrier(Struct, frozen=True, dict=True):
    text: str
    meta: dict | None = None


def containers(value) -> set[int]:
    """The identities of all that can be changed in a value."""
    if isinstance(value, dict):
        return {id(value)}.union(*map(containers, value.values()))
    if isinstance(value, list):
        return {id(value)}.union(*map(containers, value))
    if isinstance(value, tuple):
        return set().union(*map(containers, value))
    if isinstance(value, Struct):
        own = set() if value.__struct_config__.frozen else {id(value)}
        return own.union(*(containers(getattr(value, name)) for name in value.__struct_fields__))
    return set()


def nested(depth: int, kind: type) -> object:
    value: object = "bottom"
    for _ in range(depth):
        value = [value] if kind is list else {"a": value}
    return value


@given(JSON)
def test_what_is_owned_is_equal_and_shares_nothing_that_can_be_changed(value):
    before = deepcopy(value)
    mine = owned(value)
    assert same(mine, before)
    assert same(value, before)
    assert not containers(mine) & containers(value)


@given(JSON, JSON)
def test_two_values_are_the_same_if_their_json_is(one, other):
    assert same(one, other) == (json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (0, False),
        (1, 1.0),
        ({"a": [1]}, {"a": [True]}),
        ([], ()),
        (None, UNSET),
        (None, False),
        ("é", "e\u0301"),
        ({"a": None}, {}),
        (Block("x"), Block("x", {})),
        (Block("x", {"a": 0}), Block("x", {"a": False})),
        ((Block("x"),), (Block("x"), Block("x"))),
    ],
)
def test_what_json_tells_apart_is_not_the_same(one, other):
    assert not same(one, other)
    assert not same(other, one)


def test_structs_of_equal_fields_are_the_same():
    assert same((Block("x", {"a": [1]}),), (Block("x", {"a": [1]}),))


@pytest.mark.parametrize(
    "value", ["text", 7, None, UNSET, b"bytes", (), ("a", 1), Block("x"), (Block("x"), (Block("y"),))]
)
def test_what_cannot_be_changed_is_not_copied(value):
    assert owned(value) is value


@pytest.mark.parametrize(
    "value",
    [
        Block("x", {"a": {"b": [1]}}),
        (Block("x"), Block("y", {"a": []})),
        Open([1, [2]]),
        Open([]),
        Counter(0),
        [Block("x", {"a": []}), (1, [2])],
        {"a": Open([{}])},
    ],
)
def test_what_can_be_changed_inside_structs_and_tuples_is_copied(value):
    mine = owned(value)
    assert same(mine, value)
    assert containers(value)
    assert not containers(mine) & containers(value)


def test_the_unchangeable_parts_of_a_changeable_value_are_shared():
    quiet, loud = Block("quiet"), Block("loud", {"a": []})
    mine = owned((quiet, loud))
    assert mine[0] is quiet
    assert mine[1] is not loud


def test_an_object_of_a_kind_of_its_own_stays_of_that_kind():
    strange = Unknown("_x", {"type": "_x", "deep": {"list": [1, {"a": 2}]}})
    mine = owned((strange,))[0]
    assert type(mine) is Unknown
    assert mine.tag == "_x"
    assert mine == strange
    assert not containers(mine) & containers(strange)
    ordered = owned(OrderedDict(b=[], a=[]))
    assert type(ordered) is OrderedDict
    assert list(ordered) == ["b", "a"]


@pytest.mark.req("SEC-10")
@pytest.mark.parametrize("kind", [list, dict])
def test_depth_does_no_harm(kind):
    value = nested(DEPTH, kind)
    mine = owned(value)
    assert same(mine, value)
    assert not same(mine, nested(DEPTH - 1, kind))


@pytest.mark.parametrize("carried", [None, {"a": [1]}])
def test_what_a_struct_carries_beside_its_fields_stays_with_it(carried):
    """A chunk's text that was cut inside a character carries how it came."""
    value = Carrier("x", carried)
    force_setattr(value, "halves", "\ud83d")
    assert owned(value).halves == "\ud83d"
    assert (owned(value) is value) == (carried is None)
