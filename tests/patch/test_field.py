"""One field of three states: its laws."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from acpwire.patch import field
from acpwire.patch.values import same

VALUES = st.one_of(
    st.booleans(), st.integers(0, 2), st.sampled_from(["", "a", 1.0]), st.lists(st.booleans() | st.integers(0, 1))
)
PATCHES = st.one_of(st.just(UNSET), st.none(), VALUES, st.dictionaries(st.sampled_from("ab"), VALUES | st.none()))


@pytest.mark.parametrize("stored", [UNSET, None, "old", [], 0])
@pytest.mark.parametrize(
    "update",
    [
        pytest.param(UNSET, id="omitted-keeps"),
        pytest.param(None, marks=pytest.mark.req("TOOL-28", "TERM-28"), id="null-clears-and-is-kept-apart"),
        pytest.param("new", id="a-value-replaces"),
        pytest.param("", id="an-empty-string-is-a-value"),
        pytest.param([], id="an-empty-list-is-a-value"),
        pytest.param(False, id="false-is-a-value"),
        pytest.param(0, id="zero-is-a-value"),
        pytest.param({"a": None}, id="nothing-is-merged"),
    ],
)
def test_an_update_keeps_clears_or_replaces(stored, update):
    assert same(field.apply(stored, update), stored if update is UNSET else update)


@given(PATCHES)
def test_the_omitted_update_is_neutral(patch):
    assert same(field.apply(patch, UNSET), patch)
    assert same(field.apply(UNSET, patch), patch)
    assert same(field.compose(patch, UNSET), patch)
    assert same(field.compose(UNSET, patch), patch)


@given(PATCHES, PATCHES, PATCHES)
def test_composing_is_associative(a, b, c):
    left, right = field.compose(field.compose(a, b), c), field.compose(a, field.compose(b, c))
    assert same(left, right)
    assert same(left, field.combine([a, b, c]))


@given(PATCHES, st.lists(PATCHES, max_size=4))
def test_a_composition_does_what_its_parts_do_in_turn(stored, updates):
    in_turn = stored
    for update in updates:
        in_turn = field.apply(in_turn, update)
    assert same(field.apply(stored, field.combine(updates)), in_turn)


@given(PATCHES, PATCHES)
def test_a_difference_leads_from_the_old_to_the_new(old, new):
    expected = None if new is UNSET and old is not UNSET else new
    assert same(field.apply(old, field.diff(old, new)), expected)


@given(PATCHES)
def test_there_is_no_difference_between_equals(patch):
    assert field.diff(patch, deepcopy(patch)) is UNSET


@pytest.mark.parametrize(("old", "new"), [(1, True), (0, 0.0), ({"a": 1}, {"a": True}), (UNSET, None), (None, False)])
def test_a_change_of_type_alone_is_a_difference(old, new):
    assert field.diff(old, new) is new or same(field.diff(old, new), new)
    assert field.diff(old, new) is not UNSET


@given(PATCHES, st.lists(PATCHES, max_size=3))
def test_resynchronizing_brings_any_earlier_state_to_the_current_one(start, updates):
    """Whatever a receiver of the same updates holds, after any number of them."""
    states = [start]
    for update in updates:
        states.append(field.apply(states[-1], update))
    for held in states:
        assert same(field.apply(held, field.resync(states[-1])), states[-1])


@pytest.mark.parametrize(
    "make",
    [
        lambda value: field.apply(UNSET, value),
        lambda value: field.compose(value, UNSET),
        lambda value: field.compose(UNSET, value),
        lambda value: field.combine([value]),
        lambda value: field.diff(None, value),
        field.resync,
    ],
)
def test_a_result_shares_nothing_that_can_be_changed(make):
    value = {"a": [1, {"b": 2}]}
    made = make(value)
    made["a"][1]["b"] = "changed"
    made["a"].append("more")
    assert value == {"a": [1, {"b": 2}]}
