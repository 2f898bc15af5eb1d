from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpwire.protocol.open import ON_ERROR, SKIP_INVALID, Unknown

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def dance() -> Unknown:
    return Unknown("_x/dance", {"type": "_x/dance", "steps": [1, 2], "_meta": None})


def test_it_reads_like_the_object_that_came(dance):
    assert dance.tag == "_x/dance"
    assert dance["steps"] == [1, 2]
    assert dict(dance) == dance == {"type": "_x/dance", "steps": [1, 2], "_meta": None}
    assert repr(dance) == "Unknown('_x/dance', {'type': '_x/dance', 'steps': [1, 2], '_meta': None})"


WRITES: list[Any] = [
    lambda unknown: unknown.__setitem__("a", 1),
    lambda unknown: unknown.__delitem__("type"),
    lambda unknown: unknown.__ior__({"a": 1}),
    lambda unknown: unknown.clear(),
    lambda unknown: unknown.pop("type"),
    lambda unknown: unknown.popitem(),
    lambda unknown: unknown.setdefault("a", 1),
    lambda unknown: unknown.update(a=1),
]


@pytest.mark.parametrize("write", WRITES)
def test_it_is_read_only(dance, write):
    before = dict(dance)
    with pytest.raises(TypeError, match="read-only"):
        write(dance)
    assert dance == before


def test_joining_it_with_another_object_makes_a_plain_one(dance):
    joined = dance | {"a": 1}
    assert type(joined) is dict
    assert joined == {**dance, "a": 1}


def test_it_is_its_own_copy(dance):
    assert dance.copy() is dance


@pytest.mark.parametrize(
    "again", [lambda value: pickle.loads(pickle.dumps(value)), copy.copy, copy.deepcopy], ids=["pickle", "copy", "deep"]
)
def test_it_survives_pickling_and_copying(dance, again):
    made = again(dance)
    assert type(made) is Unknown
    assert (made, made.tag) == (dance, dance.tag)


def test_it_can_be_a_key_although_its_members_cannot(dance):
    assert {dance: 1}[Unknown("_x/dance", dict(dance))] == 1


@pytest.mark.req("EXT-28")
@given(st.dictionaries(st.text(max_size=3), json_values, max_size=4), st.text(max_size=3))
def test_it_encodes_to_equal_json(members, tag):
    members["type"] = tag
    encoded = msgspec.json.encode(Unknown(tag, members))
    assert json.loads(encoded) == members
    assert list(json.loads(encoded)) == list(members)


def test_marks_show_their_names():
    assert (repr(ON_ERROR), repr(SKIP_INVALID)) == ("ON_ERROR", "SKIP_INVALID")
