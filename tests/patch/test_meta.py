"""The `_meta` map of an upsert: the case files, a row for each rule, and the laws."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import reduce
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from acpwire.patch import meta
from acpwire.patch.meta import UNKNOWN
from acpwire.patch.values import same
from acpwire.protocol.decode import decoder
from acpwire.protocol.v2.tool_call import ToolCallUpdate

DATA = Path(__file__).resolve().parent.parent / "data"
DEPTH = 100_000


def cases(name: str) -> list[dict]:
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def rows(cases: list[dict], **wanted: str) -> list:
    """The cases that have what is wanted, each marked with its rules; three are the most that a test may name."""
    return [
        pytest.param(case, marks=pytest.mark.req(*case["rules"][:3]), id=case["name"])
        for case in cases
        if wanted.items() <= case.items()
    ]


def state(form):
    """One of the three states, as the case files write it."""
    return UNSET if form == {"$omitted": True} else form


def keys(form):
    return UNKNOWN if form == {"$unknown": True} else form


def in_turn(stored, updates):
    return reduce(meta.apply, updates, stored)


def means_the_same(one, other) -> bool:
    return same(meta.effective(one), meta.effective(other))


# The case files.

CASES = cases("meta_patch_cases.json")
COMBINE_CASES = cases("meta_patch_combine_cases.json")


@pytest.mark.parametrize("case", rows(CASES, level="helper"))
def test_an_update_of_the_case_file_is_applied(case):
    result = meta.apply(state(case["stored"]), state(case["update"]))
    assert same(result, state(case["result"]))
    assert same(meta.effective(result), case["effective"])


@pytest.mark.parametrize("case", rows(CASES, level="decode"))
def test_a_malformed_update_of_the_case_file_reads_as_omitted(case):
    message = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "kept", "_meta": case["update"]}
    decoded = decoder(ToolCallUpdate)(msgspec.json.encode(message))
    assert decoded.title == "kept"
    for update in (decoded.meta, meta.parse(case["update"])):
        assert update is UNSET
        assert same(meta.apply(state(case["stored"]), update), state(case["result"]))


def test_every_case_of_the_file_is_of_a_level_that_is_tested():
    assert {case["level"] for case in CASES} == {"helper", "decode"}
    assert {case["kind"] for case in COMBINE_CASES} == {"combine", "resync"}
    assert (len(CASES), len(COMBINE_CASES)) == (75, 47)


@pytest.mark.parametrize("case", rows(COMBINE_CASES, kind="combine"))
def test_updates_of_the_case_file_are_combined(case):
    updates = [state(update) for update in case["updates"]]
    combined = meta.combine(updates, keys(case["known"]))
    assert same(list(combined), [state(update) for update in case["combined"]])
    if len(updates) == 2:
        assert same(meta.compose(*updates).updates(keys(case["known"])), combined)


@pytest.mark.parametrize("case", rows(COMBINE_CASES, kind="resync"))
def test_a_receiver_of_the_case_file_is_resynchronized(case):
    updates = meta.resync(case["current"], keys(case["held"]))
    assert same(list(updates), [state(update) for update in case["updates"]])


# The conformance table, a row for each rule.

BOTH = {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("stored", "update", "result"),
    [
        pytest.param(BOTH, UNSET, BOTH, marks=pytest.mark.req("META-04"), id="omitted"),
        pytest.param(BOTH, None, None, marks=pytest.mark.req("META-05", "META-21"), id="null"),
        pytest.param(BOTH, {}, BOTH, marks=pytest.mark.req("META-08"), id="empty"),
        pytest.param(BOTH, {"a": 3}, {"a": 3, "b": 2}, marks=pytest.mark.req("META-06", "META-07"), id="one-key"),
        pytest.param(BOTH, {"a": None}, {"b": 2}, marks=pytest.mark.req("META-09"), id="removal"),
        pytest.param(BOTH, {"c": None}, BOTH, marks=pytest.mark.req("META-10"), id="removal-of-nothing"),
        pytest.param(UNSET, {"a": None}, {}, marks=pytest.mark.req("META-10", "META-15"), id="removal-first"),
        pytest.param(None, {"a": None}, {}, marks=pytest.mark.req("META-15"), id="removal-after-clear"),
        pytest.param({}, {"a": None}, {}, marks=pytest.mark.req("META-10"), id="removal-from-empty"),
        pytest.param(
            {"a": {"x": 1, "y": 2}}, {"a": {"x": 3}}, {"a": {"x": 3}}, marks=pytest.mark.req("META-11"), id="whole"
        ),
        pytest.param(
            {"a": {"x": 1}},
            {"a": {"y": 2}},
            {"a": {"y": 2}},
            marks=pytest.mark.req("META-12", "META-40"),
            id="no-merge",
        ),
        pytest.param({"a": [1, 2]}, {"a": [3]}, {"a": [3]}, marks=pytest.mark.req("META-12"), id="no-append"),
        pytest.param(UNSET, {"a": {"x": None}}, {"a": {"x": None}}, marks=pytest.mark.req("META-13"), id="inner-null"),
        pytest.param(
            {"a": {"x": 1}},
            {"a": {"x": None}},
            {"a": {"x": None}},
            marks=pytest.mark.req("META-13"),
            id="no-inner-removal",
        ),
        pytest.param({"a": 1}, {"a": False}, {"a": False}, marks=pytest.mark.req("META-14"), id="false"),
        pytest.param({"a": 1}, {"a": 0}, {"a": 0}, marks=pytest.mark.req("META-14"), id="zero"),
        pytest.param({"a": 1}, {"a": ""}, {"a": ""}, marks=pytest.mark.req("META-14"), id="empty-string"),
        pytest.param({"a": 1}, {"a": {}}, {"a": {}}, marks=pytest.mark.req("META-14"), id="empty-object"),
        pytest.param({"a": 1}, {"a": []}, {"a": []}, marks=pytest.mark.req("META-14"), id="empty-array"),
        pytest.param(
            UNSET, {"a": 1, "b": None}, {"a": 1}, marks=pytest.mark.req("META-15"), id="no-null-on-the-first-update"
        ),
        pytest.param(
            UNSET, {"a": {"value": None}}, {"a": {"value": None}}, marks=pytest.mark.req("META-16"), id="wrapped-null"
        ),
        pytest.param(
            {"mine": 1, "x.dev/theirs": 2},
            {"mine": None},
            {"x.dev/theirs": 2},
            marks=pytest.mark.req("META-18", "META-19", "META-27"),
            id="owner-of-one-key",
        ),
        pytest.param({"stale": 1}, {"new": 2}, {"stale": 1, "new": 2}, marks=pytest.mark.req("RPLY-18"), id="replay"),
        pytest.param({"a": {"b": 1}}, {"a.b": 2}, {"a": {"b": 1}, "a.b": 2}, marks=pytest.mark.req("EXT-06"), id="dot"),
        pytest.param({"A": 1}, {"a": None}, {"A": 1}, marks=pytest.mark.req("EXT-06"), id="case"),
        pytest.param({"é": 1}, {"e\u0301": None}, {"é": 1}, marks=pytest.mark.req("EXT-06"), id="composed"),
        pytest.param({"": 1}, {"": None}, {}, id="empty-key"),
        pytest.param(
            {"__proto__": 1, "constructor": 2},
            {"__proto__": {"x": 1}, "constructor": None},
            {"__proto__": {"x": 1}},
            marks=pytest.mark.req("SEC-10"),
            id="hostile-keys",
        ),
    ],
)
def test_one_update(stored, update, result):
    assert same(meta.apply(stored, update), result)


@pytest.mark.req("META-17")
@pytest.mark.parametrize("stored", [UNSET, None, {}])
def test_the_forms_without_keys_mean_no_metadata(stored):
    assert meta.effective(stored) == {}


@pytest.mark.req("META-20")
def test_of_two_updates_to_a_key_the_later_counts():
    assert in_turn(UNSET, [{"a": 1}, {"a": 2}]) == {"a": 2}
    assert in_turn(UNSET, [{"a": 2}, {"a": 1}]) == {"a": 1}


@pytest.mark.req("META-41", "META-30")
def test_an_object_after_a_clear_is_not_the_object_alone():
    stored = {"a": 1, "b": 2}
    assert in_turn(stored, [None, {"b": 9}]) == {"b": 9}
    assert meta.apply(stored, {"b": 9}) == {"a": 1, "b": 9}
    assert in_turn(stored, meta.combine([None, {"b": 9}])) == {"b": 9}


@pytest.mark.req("META-28", "META-30")
def test_a_clear_and_an_object_are_one_update_when_the_stale_keys_are_known():
    assert meta.combine([None, {"b": 9}], {"a", "b"}) == ({"a": None, "b": 9},)
    assert meta.apply({"a": 1, "b": 2}, {"a": None, "b": 9}) == {"b": 9}


def test_removals_of_known_keys_have_one_order():
    names = [f"key {number:02}" for number in range(20)]
    (update,) = meta.combine([None, {"z": 1}], set(names))
    assert list(update) == [*names, "z"]


@pytest.mark.req("META-28")
def test_a_stale_key_that_nobody_named_survives():
    (update,) = meta.combine([None, {"b": 9}], {"a"})
    assert meta.apply({"a": 1, "unknown": 2}, update) == {"b": 9, "unknown": 2}


@pytest.mark.req("META-29")
def test_what_is_set_and_then_removed_stays_a_removal():
    assert meta.compose({"a": 1}, {"a": None}) == (False, {"a": None})
    assert meta.apply({"a": "older"}, meta.combine([{"a": 1}, {"a": None}])[0]) == {}


@pytest.mark.req("META-25")
def test_between_the_two_updates_there_is_a_moment_without_metadata():
    first, second = meta.resync({"a": 1})
    between = meta.apply({"a": 1, "stale": 2}, first)
    assert between is None
    assert meta.apply(between, second) == {"a": 1}


@pytest.mark.req("META-26", "RPLY-21")
@pytest.mark.parametrize("current", [UNSET, None, {}, {"a": None}])
@pytest.mark.parametrize("held", [UNKNOWN, {"x"}, ["x"], {"x": 1}])
def test_that_there_is_no_metadata_is_said_with_null(current, held):
    assert meta.resync(current, held) == (None,)


@pytest.mark.req("META-27")
@pytest.mark.parametrize(
    ("old", "new", "update"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"b": 3}),
        ({"a": 1, "b": 2}, {"a": 1}, {"b": None}),
        ({"a": 1}, {"a": 1, "b": {"x": None}}, {"b": {"x": None}}),
        ({"a": 1}, {"a": True}, {"a": True}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"x": 1}}, {"a": {"x": 1}}),
        ({"a": 1}, {"a": 1}, UNSET),
        ({"a": 1}, {}, None),
        ({"a": 1}, UNSET, None),
        (UNSET, None, None),
        ({}, None, None),
        (None, None, UNSET),
        (None, UNSET, UNSET),
        (None, {}, UNSET),
        (UNSET, {"a": 1}, {"a": 1}),
    ],
)
def test_a_difference_says_only_what_changed(old, new, update):
    assert same(meta.diff(old, new), update)


@pytest.mark.req("RPLY-22", "META-24")
def test_a_fresh_receiver_gets_the_object_alone_and_a_returning_one_the_clear_first():
    assert meta.serve({"a": 1}, fresh=True) == ({"a": 1},)
    assert meta.serve({"a": 1}, fresh=False) == (None, {"a": 1})
    for nothing in (UNSET, None, {}):
        assert meta.serve(nothing, fresh=True) == (UNSET,)
        assert meta.serve(nothing, fresh=False) == (None,)


@pytest.mark.req("RPLY-23")
def test_the_recorded_updates_sent_again_change_nothing():
    history = [{"a": 1, "b": 1}, None, {"b": 2, "c": 3}, {"c": None}]
    once = in_turn(UNSET, history)
    assert in_turn(once, history) == once == {"b": 2}


@pytest.mark.req("META-35")
def test_a_snapshot_becomes_a_patch_without_its_nulls():
    entry = {"a": None, "b": {"x": None}}
    patch = meta.snapshot_to_patch(entry)
    assert patch == {"b": {"x": None}}
    assert in_turn({"a": 1}, meta.resync(patch)) == {"b": {"x": None}}
    assert meta.snapshot_to_patch(None) == {}


@pytest.mark.req("META-32", "META-19")
@pytest.mark.parametrize(
    ("update", "sent"),
    [
        (UNSET, ({"x.dev/route": "edge"},)),
        ({}, ({"x.dev/route": "edge"},)),
        ({"a": None}, ({"a": None, "x.dev/route": "edge"},)),
        ({"x.dev/route": None}, ({"x.dev/route": "edge"},)),
        (None, (None, {"x.dev/route": "edge"})),
    ],
)
def test_an_intermediary_adds_its_key_and_touches_no_other(update, sent):
    assert meta.add_key(update, "x.dev/route", "edge") == sent


def test_an_intermediary_removes_its_key():
    assert meta.add_key({"a": 1}, "x.dev/route", None) == ({"a": 1, "x.dev/route": None},)
    assert meta.add_key(UNSET, "x.dev/route", None) == ({"x.dev/route": None},)
    assert meta.add_key(None, "x.dev/route", None) == (None,)


@pytest.mark.req("META-38", "META-42")
@pytest.mark.parametrize("update", [UNSET, None, {}, {"a": None}, {"a": {"b": None}}])
def test_the_three_states_survive_the_wire(update):
    sent = msgspec.json.encode(ToolCallUpdate(tool_call_id="t", meta=update))
    assert same(decoder(ToolCallUpdate)(sent).meta, update)
    assert ("_meta" in json.loads(sent)) == (update is not UNSET)


@pytest.mark.req("META-43")
@pytest.mark.parametrize("member", [1, 0.5, True, "", "text", [], [{}]])
def test_what_is_neither_object_nor_null_is_no_update(member):
    assert meta.parse(member) is UNSET


@pytest.mark.parametrize("member", [None, {}, {"a": None}])
def test_an_object_and_null_are_updates_as_they_are(member):
    assert meta.parse(member) is member


@pytest.mark.req("EXT-04")
def test_the_keys_of_trace_context_are_reserved():
    assert {"traceparent", "tracestate", "baggage"} == meta.TRACE_KEYS
    assert {meta.TRACEPARENT, meta.TRACESTATE, meta.BAGGAGE} == meta.TRACE_KEYS


# The laws.

KEYS = st.sampled_from(["a", "b", "c", "é", "e\u0301", "__proto__", "constructor", "a.b", "/a/b", "A", ""])
SCALARS = st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, "", "x", "\u0000", "😀"])
INNER = st.recursive(
    SCALARS | st.none(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=5,
)
VALUES = INNER.filter(lambda value: value is not None)
MAPS = st.dictionaries(KEYS, VALUES, max_size=4)
STORED = st.just(UNSET) | st.none() | MAPS
UPDATES = st.one_of(st.just(UNSET), st.none(), st.dictionaries(KEYS, st.none() | VALUES, max_size=4))
SEQUENCES = st.lists(UPDATES, max_size=4)


@given(STORED)
def test_identity(stored):
    assert same(meta.apply(stored, UNSET), stored)
    assert means_the_same(meta.apply(stored, {}), stored)
    assert meta.combine([]) == meta.combine([UNSET, {}]) == (UNSET,)


@pytest.mark.req("META-39")
@given(STORED, UPDATES)
def test_the_rule_key_by_key(stored, update):
    """The rule as the protocol states it, for each key that either side mentions, and one that neither does."""
    before, after = meta.effective(stored), meta.effective(meta.apply(stored, update))
    mentioned = update if isinstance(update, dict) else {}
    for key in {*before, *mentioned, "neither"}:
        if update is None or (key in mentioned and mentioned[key] is None):
            assert key not in after
        elif key in mentioned:
            assert same(after[key], mentioned[key])
        else:
            assert same(after.get(key), before.get(key))
    assert set(after) <= {*before, *mentioned}


@given(STORED, UPDATES)
def test_the_form_of_the_result_follows_from_the_update(stored, update):
    result = meta.apply(stored, update)
    if update is UNSET:
        assert result is stored
    else:
        assert result is None if update is None else isinstance(result, dict)


@given(STORED, UPDATES)
def test_no_key_holds_null(stored, update):
    assert None not in (meta.apply(stored, update) or {}).values()


@given(SEQUENCES, SEQUENCES, SEQUENCES)
def test_composing_is_associative(a, b, c):
    def join(one, other):
        return meta.combine([*one, *other])

    whole = meta.combine([*a, *b, *c])
    assert same(join(join(a, b), c), whole)
    assert same(join(a, join(b, c)), whole)


@given(STORED, SEQUENCES)
def test_a_composition_does_what_its_parts_do_in_turn(stored, updates):
    combined = meta.combine(updates)
    assert means_the_same(in_turn(stored, combined), in_turn(stored, updates))
    assert len(combined) <= 2


@given(MAPS, SEQUENCES, st.sets(KEYS))
def test_with_known_keys_one_update_is_enough(stored, updates, more):
    known = {*stored, *more}
    combined = meta.combine(updates, known)
    assert len(combined) == 1
    assert means_the_same(in_turn(stored, combined), in_turn(stored, updates))


@given(SEQUENCES, SEQUENCES)
def test_sequences_of_one_normal_form_are_those_of_one_effect(one, other):
    """Two receivers tell any two effects apart: one that holds nothing, one that holds every key in question."""
    older = "no value of the strategy"
    every = {key: older for update in [*one, *other] for key in (update or ())}
    witnesses = [{}, {**every, "unmentioned": older}]
    one_effect = all(means_the_same(in_turn(held, one), in_turn(held, other)) for held in witnesses)
    assert same(meta.compose(*one), meta.compose(*other)) == one_effect


@given(MAPS.filter(bool))
def test_a_clear_and_an_object_cannot_be_one_update(entries):
    """Whatever one update says, some receiver ends with something else."""
    assert meta.combine([None, entries]) == (None, entries)
    stale = {"nobody knows": 1}
    for single in (UNSET, None, {}, entries):
        assert not means_the_same(meta.apply(stale, single), entries)


@given(STORED, SEQUENCES)
def test_repeating_a_sequence_changes_nothing(stored, updates):
    once = in_turn(stored, updates)
    assert means_the_same(in_turn(once, updates), once)


@given(STORED, MAPS, MAPS)
def test_objects_of_different_keys_commute(stored, one, other):
    other = {key: value for key, value in other.items() if key not in one}
    assert means_the_same(in_turn(stored, [one, other]), in_turn(stored, [other, one]))


@given(STORED, STORED)
def test_a_difference_leads_from_the_old_to_the_new(old, new):
    update = meta.diff(old, new)
    after = meta.apply(old, update)
    assert means_the_same(after, new)
    if isinstance(new, dict) and new:
        assert same(after, new)
    if new is None and old is not UNSET:
        assert after is None


@given(STORED, STORED)
def test_a_difference_mentions_only_keys_that_changed(old, new):
    update = meta.diff(old, new)
    before, after = meta.effective(old), meta.effective(new)
    for key in update or ():
        assert (key in before) != (key in after) or not same(before[key], after[key])
    if same(old, new):
        assert update is UNSET


@given(STORED, MAPS, st.sets(KEYS))
def test_resynchronizing_leaves_exactly_what_is_current(current, stored, more):
    for held in (UNKNOWN, {*stored, *more}, stored):
        updates = meta.resync(current, held)
        assert means_the_same(in_turn(stored, updates), current)
        assert len(updates) == 1 or held is UNKNOWN


@given(STORED)
def test_a_receiver_that_holds_nothing_needs_one_update(current):
    (update,) = meta.resync(current, ())
    assert means_the_same(meta.apply(UNSET, update), current)
    assert update is not None
    assert None not in (update or {}).values()


@given(STORED, UPDATES, KEYS, SCALARS)
def test_an_added_key_is_there_and_all_else_as_it_was(stored, update, key, value):
    plain, annotated = meta.apply(stored, update), in_turn(stored, meta.add_key(update, key, value))
    expected = {**meta.effective(plain), key: value}
    assert means_the_same(annotated, expected)


# Purity.

SHARED = {"deep": {"list": [1, {"x": 2}]}, "list": [[1], [2]]}
OPERATIONS = [
    pytest.param(lambda value: meta.apply(UNSET, value), id="apply-first"),
    pytest.param(lambda value: meta.apply({"other": 1}, value), id="apply"),
    pytest.param(meta.effective, id="effective"),
    pytest.param(lambda value: meta.compose(value).entries, id="compose"),
    pytest.param(lambda value: meta.compose(None, value).entries, id="compose-cleared"),
    pytest.param(lambda value: meta.Normal(False, value).updates()[0], id="normal"),
    pytest.param(lambda value: meta.Normal(True, value).updates()[1], id="normal-cleared"),
    pytest.param(lambda value: meta.Normal(True, value).updates({"x"})[0], id="normal-known"),
    pytest.param(lambda value: meta.combine([UNSET, value])[0], id="combine"),
    pytest.param(lambda value: meta.combine([None, value], {"x"})[0], id="combine-known"),
    pytest.param(lambda value: meta.diff({"x": 1}, value), id="diff"),
    pytest.param(lambda value: meta.resync(value)[1], id="resync"),
    pytest.param(lambda value: meta.resync(value, {"x": 1})[0], id="resync-exact"),
    pytest.param(meta.snapshot_to_patch, id="snapshot_to_patch"),
    pytest.param(lambda value: meta.add_key(value, "x", 1)[0], id="add_key"),
    pytest.param(lambda value: meta.add_key(UNSET, "deep", value)[0]["deep"], id="add_key-value"),
]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_result_shares_nothing_that_can_be_changed(operation):
    message = deepcopy(SHARED)
    result = operation(message)
    result["deep"]["list"][1]["x"] = "changed"
    result["deep"]["list"].append("more")
    result["list"][0].clear()
    result["new"] = 1
    assert message == SHARED


@given(STORED, SEQUENCES, st.sets(KEYS))
def test_arguments_are_never_changed(stored, updates, known):
    before = deepcopy((stored, updates, known))
    in_turn(stored, updates)
    meta.combine(updates, known)
    meta.compose(*updates).updates(known)
    for update in updates:
        meta.diff(stored, update)
        meta.add_key(update, "a", {"x": []})
    meta.resync(stored, known)
    meta.effective(stored)
    assert same((stored, updates), before[:2])
    assert known == before[2]


def test_what_is_stored_is_not_changed_by_a_later_update():
    stored = {"a": 1, "b": {"x": 1}}
    after = meta.apply(stored, {"a": None, "b": {"y": 2}, "c": 3})
    assert stored == {"a": 1, "b": {"x": 1}}
    assert after == {"b": {"y": 2}, "c": 3}


# Hostile values.


@pytest.mark.req("SEC-10")
@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"a": value}], ids=["list", "object"])
def test_metadata_of_any_depth_does_no_harm(wrap):
    deep: object = 0
    for _ in range(DEPTH):
        deep = wrap(deep)
    update = {"deep": deep}
    stored = meta.apply(UNSET, update)
    assert same(stored, update)
    assert meta.diff(stored, update) is UNSET
    assert len(meta.combine([None, update])) == 2
    assert len(meta.resync(stored)) == 2
    assert meta.apply(stored, {"deep": None}) == {}


@pytest.mark.req("SEC-10")
def test_metadata_of_many_keys_does_no_harm():
    many = {str(number): [number] for number in range(20_000)}
    assert len(meta.apply(meta.apply(UNSET, many), {"0": None})) == 19_999
