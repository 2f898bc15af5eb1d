"""Records of patch fields: shapes of our own with their rows and laws, then every upsert of the protocol."""

from __future__ import annotations

from copy import deepcopy
from functools import reduce
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Struct, UnsetType

from acpwire.patch import UNKNOWN, Patch, meta, record
from acpwire.patch.values import same
from acpwire.protocol.base import Upsert
from acpwire.protocol.open import Unknown
from acpwire.protocol.v2.content import TextContent
from acpwire.protocol.v2.tool_call import Content, ToolCallPatch, ToolCallUpdate
from acpwire.protocol.v2.update import KnownUpdate

MetaPatch = dict | None | UnsetType


class Item(Struct, frozen=True):
    text: str
    meta: dict | None = None


class Call(Struct, frozen=True, kw_only=True):
    """Shaped as a tool call's upsert is."""

    call_id: str
    title: Patch[str] = UNSET
    status: Patch[str] = UNSET
    content: Patch[tuple[Item, ...]] = UNSET
    raw_input: Patch[object] = UNSET
    meta: MetaPatch = UNSET


class Screen(Struct, frozen=True, kw_only=True):
    """Shaped as a terminal's upsert is, with its inherited `meta` in front."""

    meta: MetaPatch = UNSET
    screen_id: str
    output: Patch[Item] = UNSET
    size: Patch[tuple[int, int]] = UNSET


class Job(Struct, frozen=True, kw_only=True):
    """Two required fields, of which the first is the key, and a field with a default of its own."""

    job_id: str
    status: str
    priority: int = 0
    tags: list[str] = msgspec.field(default_factory=list)
    error: Patch[str] = UNSET
    meta: MetaPatch = UNSET


class Info(Struct, frozen=True, kw_only=True):
    """No key: there is one of it."""

    title: Patch[str] = UNSET
    meta: MetaPatch = UNSET


class Plain(Struct, frozen=True, kw_only=True):
    """Its metadata is about itself, and no patch."""

    plain_id: str
    title: Patch[str] = UNSET
    meta: dict | None = None


class Bare(Struct, frozen=True, kw_only=True):
    """No metadata at all."""

    bare_id: str
    title: Patch[str] = UNSET


LOCAL = [Call, Screen, Job, Info]
WIRE = [
    kind
    for kind in get_args(KnownUpdate)
    if "meta" in kind.__struct_fields__
    and kind(**{field.name: "x" for field in msgspec.structs.fields(kind) if field.required}).meta is UNSET
]
KINDS = [*LOCAL, *WIRE, ToolCallPatch]

VALUES = st.one_of(
    st.booleans(),
    st.integers(0, 1),
    st.sampled_from(["", "a", 1.0]),
    st.lists(st.integers(0, 1), max_size=2),
    st.dictionaries(st.sampled_from(["x", "__proto__"]), st.none() | st.lists(st.booleans(), max_size=1), max_size=2),
    st.tuples(st.builds(Item, st.sampled_from("ab"), st.none() | st.just({}) | st.just({"a": [None]}))),
)
FIELDS = st.one_of(st.just(UNSET), st.none(), VALUES)
KEYS = st.sampled_from(["a", "b", "é", "e\u0301", "a.b"])
METAS = st.one_of(
    st.just(UNSET),
    st.none(),
    st.dictionaries(KEYS, st.none() | st.booleans() | st.lists(st.none(), max_size=1), max_size=3),
)


@st.composite
def records(draw, kind, *, stored=False):
    """Any record of a kind, always with the same key; if `stored`, as a history of updates leaves it."""
    values, key = {}, None
    for field in msgspec.structs.fields(kind):
        if field.name == "meta":
            drawn = draw(METAS)
            values["meta"] = meta.apply(UNSET, drawn) if stored else drawn
        elif field.required and key is None:
            key = values[field.name] = "the key"
        elif field.default is UNSET:
            values[field.name] = draw(FIELDS)
        else:
            values[field.name] = draw(st.sampled_from(["p", "q", 1, ["t"]]))
    return kind(**values)


def of_any_kind(*shapes):
    """For each kind in turn, records as `shapes` asks: `"stored"`, `"update"` or `"updates"`."""

    @st.composite
    def build(draw):
        kind = draw(st.sampled_from(KINDS))
        of = {
            "stored": records(kind, stored=True),
            "update": records(kind),
            "updates": st.lists(records(kind), min_size=1, max_size=4),
        }
        return tuple(draw(of[shape]) for shape in shapes)

    return build()


def in_turn(stored, updates):
    return reduce(record.apply, updates, stored)


def without_meta(value):
    return msgspec.structs.replace(value, meta=UNSET)


def means_the_same(one, other) -> bool:
    return same(without_meta(one), without_meta(other)) and same(meta.effective(one.meta), meta.effective(other.meta))


def possible(new, old):
    """What `new` is, seen from where `old` is stored: no update takes a field back to never mentioned."""
    lost = {
        field.name: None
        for field in msgspec.structs.fields(type(new))
        if field.default is UNSET
        and field.name != "meta"
        and getattr(new, field.name) is UNSET
        and getattr(old, field.name) is not UNSET
    }
    return msgspec.structs.replace(new, **lost)


def test_every_upsert_of_the_protocol_is_covered():
    assert {kind.__name__ for kind in WIRE} == {
        "AgentMessage",
        "AgentThought",
        "CompactionUpdate",
        "SessionInfoUpdate",
        "SessionMessage",
        "SubagentUpdate",
        "TerminalUpdate",
        "ToolCallUpdate",
        "UserMessage",
    }
    assert {kind for kind in get_args(KnownUpdate) if issubclass(kind, Upsert)} <= set(WIRE)


# Rows.


@pytest.mark.parametrize(
    ("stored", "update", "result"),
    [
        pytest.param(Call(call_id="c"), Call(call_id="c"), Call(call_id="c"), id="nothing-mentioned"),
        pytest.param(
            Call(call_id="c", title="old", status="pending"),
            Call(call_id="c", status="completed"),
            Call(call_id="c", title="old", status="completed"),
            marks=pytest.mark.req("TOOL-05"),
            id="omitted-keeps",
        ),
        pytest.param(
            Call(call_id="c", title="old"),
            Call(call_id="c", title=None),
            Call(call_id="c", title=None),
            marks=pytest.mark.req("TOOL-28"),
            id="null-clears-and-is-kept-apart",
        ),
        pytest.param(
            Call(call_id="c"),
            Call(call_id="c", title=None),
            Call(call_id="c", title=None),
            marks=pytest.mark.req("TOOL-28"),
            id="null-is-kept-apart-from-never-mentioned",
        ),
        pytest.param(
            Screen(screen_id="s", output=Item("x")),
            Screen(screen_id="s", output=None),
            Screen(screen_id="s", output=None),
            marks=pytest.mark.req("TERM-28"),
            id="a-terminal-keeps-an-explicit-clear",
        ),
        pytest.param(
            Call(call_id="c", content=(Item("a"), Item("b"))),
            Call(call_id="c", content=(Item("c"),)),
            Call(call_id="c", content=(Item("c"),)),
            id="a-list-is-replaced-whole",
        ),
        pytest.param(
            Call(call_id="c", content=(Item("a"),)),
            Call(call_id="c", content=()),
            Call(call_id="c", content=()),
            id="an-empty-list-is-a-value",
        ),
        pytest.param(
            Call(call_id="c", raw_input={"a": {"x": 1}}),
            Call(call_id="c", raw_input={"a": {"y": None}}),
            Call(call_id="c", raw_input={"a": {"y": None}}),
            id="free-json-is-not-merged",
        ),
        pytest.param(
            Call(call_id="c", meta={"a": 1, "b": {"x": 1}}),
            Call(call_id="c", meta={"a": None, "b": {"y": 2}, "c": None}),
            Call(call_id="c", meta={"b": {"y": 2}}),
            marks=pytest.mark.req("META-06", "META-12", "META-39"),
            id="metadata-is-patched-by-key",
        ),
        pytest.param(
            Call(call_id="c", content=(Item("a"),), meta={"a": 1}),
            Call(call_id="c", content=(Item("b"),)),
            Call(call_id="c", content=(Item("b"),), meta={"a": 1}),
            marks=pytest.mark.req("META-22", "RPLY-19"),
            id="another-field-leaves-metadata",
        ),
        pytest.param(
            Screen(screen_id="s", meta={"a": 1}),
            Screen(screen_id="s", output=Item("x", {"a": None})),
            Screen(screen_id="s", output=Item("x", {"a": None}), meta={"a": 1}),
            marks=pytest.mark.req("META-33", "META-34"),
            id="metadata-further-in-is-data",
        ),
        pytest.param(
            Job(job_id="j", status="running", priority=3, tags=["t"], error="e"),
            Job(job_id="j", status="done"),
            Job(job_id="j", status="done", priority=0, tags=[], error="e"),
            id="what-every-upsert-has-is-replaced",
        ),
        pytest.param(Info(title="a", meta={"a": 1}), Info(title=None), Info(title=None, meta={"a": 1}), id="no-key"),
        pytest.param(
            Plain(plain_id="p", meta={"a": 1}),
            Plain(plain_id="p", meta={"b": None}),
            Plain(plain_id="p", meta={"b": None}),
            marks=pytest.mark.req("META-34"),
            id="metadata-that-is-no-patch-is-data",
        ),
        pytest.param(Bare(bare_id="b", title="x"), Bare(bare_id="b"), Bare(bare_id="b", title="x"), id="no-metadata"),
    ],
)
def test_one_update(stored, update, result):
    before = deepcopy((stored, update))
    assert same(record.apply(stored, update), result)
    assert same((stored, update), before)


@pytest.mark.req("META-15")
def test_the_first_upsert_is_stored_without_its_removals():
    update = Call(call_id="c", title=None, meta={"a": None, "b": {"x": None}})
    assert record.first(update) == Call(call_id="c", title=None, meta={"b": {"x": None}})
    assert record.first(Plain(plain_id="p", meta={"a": None})) == Plain(plain_id="p", meta={"a": None})


@pytest.mark.req("PERM-08", "META-01")
def test_the_tool_call_of_a_permission_request_patches_the_one_that_is_stored():
    stored = ToolCallUpdate(tool_call_id="t", title="Read", meta={"a": 1, "b": 2})
    asked = ToolCallPatch(tool_call_id="t", status="pending", meta={"a": None})
    after = record.apply(stored, asked)
    assert after == ToolCallUpdate(tool_call_id="t", title="Read", status="pending", meta={"b": 2})
    back = record.apply(ToolCallPatch(tool_call_id="t"), stored)
    assert type(back) is ToolCallPatch
    assert back.meta == {"a": 1, "b": 2}


OTHER_ENTITY = [
    lambda one, other: record.apply(one, other),
    lambda one, other: record.compose(one, other),
    lambda one, other: record.diff(one, other),
    lambda one, other: record.resync(one, other),
]


@pytest.mark.parametrize("operation", OTHER_ENTITY)
def test_records_of_two_entities_are_refused(operation):
    with pytest.raises(ValueError, match="`call_id` differs"):
        operation(Call(call_id="c"), Call(call_id="d"))


@pytest.mark.req("META-30")
def test_a_clear_of_metadata_and_new_metadata_are_two_upserts():
    cleared = Job(job_id="j", status="running", error="e", meta=None)
    annotated = Job(job_id="j", status="done", error=None, priority=2, meta={"a": 1, "b": None})
    assert record.compose(cleared, annotated) == (
        Job(job_id="j", status="done", error=None, priority=2, meta=None),
        Job(job_id="j", status="done", priority=2, meta={"a": 1}),
    )
    assert record.compose(cleared, annotated, {"x"}) == (
        Job(job_id="j", status="done", error=None, priority=2, meta={"x": None, "a": 1}),
    )


@pytest.mark.req("META-29")
def test_a_combination_keeps_clears_and_removals():
    first = Call(call_id="c", title="x", meta={"a": 1})
    second = Call(call_id="c", title=None, meta={"a": None})
    assert record.compose(first, second) == (Call(call_id="c", title=None, meta={"a": None}),)


def test_of_no_updates_there_is_no_combination():
    assert record.combine([]) == ()
    assert record.combine([Bare(bare_id="b", title="x"), Bare(bare_id="b")]) == (Bare(bare_id="b", title="x"),)


def test_a_difference_says_only_what_changed():
    old = Call(call_id="c", title="a", status="pending", raw_input={"a": 1}, meta={"a": 1, "b": 2})
    new = Call(call_id="c", title="b", status="pending", raw_input={"a": True}, meta={"a": 1})
    assert same(record.diff(old, new), Call(call_id="c", title="b", raw_input={"a": True}, meta={"b": None}))
    assert record.diff(old, old) == Call(call_id="c")
    bare = record.diff(Bare(bare_id="b", title="x"), Bare(bare_id="b"))
    assert bare == Bare(bare_id="b", title=None)


@pytest.mark.req("META-24", "RPLY-20", "RPLY-22")
def test_a_record_is_served_by_what_the_receiver_may_hold():
    current = Call(call_id="c", title="x", status=None, meta={"a": 1})
    assert record.resync(current) == (
        Call(call_id="c", title="x", status=None, meta=None),
        Call(call_id="c", meta={"a": 1}),
    )
    assert record.resync(current, ()) == (current,)
    assert record.resync(current, {"b"}) == (Call(call_id="c", title="x", status=None, meta={"b": None, "a": 1}),)
    assert record.resync(current, Call(call_id="c", title="x", meta={"b": 1})) == (
        Call(call_id="c", status=None, meta={"b": None, "a": 1}),
    )
    assert record.resync(Bare(bare_id="b", title="x")) == (Bare(bare_id="b", title="x"),)


def test_a_record_shares_nothing_that_can_be_changed_with_a_message():
    content = (Content(content=TextContent(text="x", meta={"deep": [1]})), Unknown("_x", {"type": "_x", "list": [1]}))
    update = ToolCallUpdate(tool_call_id="t", raw_input={"a": [1]}, content=content, meta={"deep": {"list": [1]}})
    before = deepcopy(update)
    for result in (
        record.first(update),
        record.apply(ToolCallUpdate(tool_call_id="t"), update),
        record.combine([update])[0],
        record.diff(ToolCallUpdate(tool_call_id="t"), update),
        record.resync(update, ())[0],
    ):
        assert same(result, before)
        result.raw_input["a"].append("changed")
        result.content[0].content.meta["deep"].clear()
        result.content[1]["list"].append("changed")
        result.meta["deep"]["list"].append("changed")
        assert same(update, before)
    job = Job(job_id="j", status="s", tags=["t"])
    for result in (record.apply(job, job), record.combine([job])[0], record.diff(job, job), record.resync(job, ())[0]):
        result.tags.append("changed")
        assert job.tags == ["t"]


# Laws.


@given(of_any_kind("stored"))
def test_identity(drawn):
    (stored,) = drawn
    empty = record.diff(stored, stored)
    assert all(
        getattr(empty, field.name) is UNSET for field in msgspec.structs.fields(type(stored)) if field.default is UNSET
    )
    assert same(record.apply(stored, empty), stored)


@given(of_any_kind("stored", "update"))
def test_the_rule_field_by_field(drawn):
    """The rule as the protocol states it, on each field by itself."""
    stored, update = drawn
    after = record.apply(stored, update)
    for field in msgspec.structs.fields(type(stored)):
        before, said, now = (getattr(one, field.name) for one in (stored, update, after))
        if field.name == "meta":
            assert same(now, meta.apply(before, said))
        else:
            assert same(now, before if said is UNSET else said)


@given(of_any_kind("update"))
def test_the_first_upsert_is_one_applied_to_nothing(drawn):
    (update,) = drawn
    nothing = msgspec.structs.replace(
        update, **{field.name: UNSET for field in msgspec.structs.fields(type(update)) if field.default is UNSET}
    )
    assert same(record.first(update), record.apply(nothing, update))


@given(of_any_kind("stored", "updates"))
def test_a_composition_does_what_its_parts_do_in_turn(drawn):
    stored, updates = drawn
    combined = record.combine(updates)
    assert len(combined) <= 2
    assert means_the_same(in_turn(stored, combined), in_turn(stored, updates))
    one = record.combine(updates, set(meta.effective(stored.meta)))
    assert len(one) == 1
    assert means_the_same(in_turn(stored, one), in_turn(stored, updates))


@given(of_any_kind("updates", "updates", "updates"))
def test_composing_is_associative(drawn):
    a, b, c = drawn
    whole = record.combine([*a, *b, *c])
    assert same(record.combine([*record.combine([*a, *b]), *c]), whole)
    assert same(record.combine([*a, *record.combine([*b, *c])]), whole)
    assert same(record.compose(a[0], b[0]), record.combine([a[0], b[0]]))


@given(of_any_kind("stored", "stored"))
def test_a_difference_leads_from_the_old_to_the_new(drawn):
    old, new = drawn
    assert means_the_same(record.apply(old, record.diff(old, new)), possible(new, old))


@given(of_any_kind("stored", "updates"))
def test_resynchronizing_brings_any_earlier_state_to_the_current_one(drawn):
    start, updates = drawn
    states = [start]
    for update in updates:
        states.append(record.apply(states[-1], update))
    current = states[-1]
    for held in states:
        for known in (UNKNOWN, set(meta.effective(held.meta)), held):
            assert means_the_same(in_turn(held, record.resync(current, known)), current)


@given(of_any_kind("stored", "updates"))
def test_arguments_are_never_changed(drawn):
    before = deepcopy(drawn)
    stored, updates = drawn
    in_turn(stored, updates)
    record.combine(updates)
    record.diff(stored, updates[0])
    record.resync(stored)
    record.first(updates[0])
    assert same(drawn, before)


@pytest.mark.req("META-01", "META-02", "META-38")
@pytest.mark.parametrize("kind", WIRE, ids=lambda kind: kind.__name__)
def test_an_upsert_of_the_protocol_has_a_key_and_patched_metadata(kind):
    required = {field.name: "k" for field in msgspec.structs.fields(kind) if field.required}
    stored = record.apply(kind(**required, meta={"a": 1, "b": 2}), kind(**required, meta={"a": None}))
    assert stored.meta == {"b": 2}
    assert record.apply(stored, kind(**required)).meta == {"b": 2}
    assert record.apply(stored, kind(**required, meta=None)).meta is None
    for name in [name for name in required if name.endswith("_id")]:
        with pytest.raises(ValueError, match=name):
            record.apply(stored, kind(**{**required, name: "another"}))
