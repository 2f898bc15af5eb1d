from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from acpwire.protocol.open import Unknown
from acpwire.protocol.v2.content import Annotations, EmbeddedResource, EmbeddedResourceResource, TextContent
from acpwire.protocol.v2.tool_call import Content
from acpwire.state.own import own, shown, shown_meta, value_of

PLAIN = TextContent(text="x")


@pytest.mark.parametrize(
    "value",
    [
        None,
        UNSET,
        1,
        "x",
        b"x",
        (),
        (1, "x", (None,)),
        PLAIN,
        (PLAIN, Content(content=PLAIN)),
        TextContent(text="x", annotations=Annotations(audience=("user",))),
        EmbeddedResource(resource=EmbeddedResourceResource(uri="file:///a", blob="")),
        Unknown("_x", {"type": "_x", "n": 1}),
    ],
    ids=repr,
)
def test_what_cannot_change_is_shared(value: object) -> None:
    assert own(value) is value


def test_json_in_any_depth_of_structs_is_copied() -> None:
    meta: dict[str, Any] = {"a": [1]}
    block = TextContent(text="x", meta=meta)
    kept = own((PLAIN, Content(content=block)))
    assert kept == (PLAIN, Content(content=block))
    assert kept[0] is PLAIN
    meta["a"].append(2)
    meta["b"] = 1
    assert isinstance(kept[1], Content)
    assert kept[1].content == TextContent(text="x", meta={"a": [1]})


@pytest.mark.parametrize("value", [{"a": {"b": []}}, [[], {}], {}, [], {"a": None, "b": [None]}], ids=repr)
def test_a_copy_is_equal_and_shares_no_container(value: Any) -> None:
    copy = own(value)
    assert copy == value
    assert not (containers(copy) & containers(value))


def containers(value: Any) -> set[int]:
    if isinstance(value, dict):
        return {id(value)}.union(*map(containers, value.values()))
    if isinstance(value, list):
        return {id(value)}.union(*map(containers, value))
    return set()


def test_the_inside_of_an_unknown_arm_is_copied() -> None:
    inner: list[int] = [1]
    arm = Unknown("_x", {"type": "_x", "inner": inner})
    kept = own(arm)
    inner.append(2)
    assert isinstance(kept, Unknown)
    assert (kept.tag, dict(kept)) == ("_x", {"type": "_x", "inner": [1]})


def test_json_deeper_than_the_stack_is_copied() -> None:
    deep: Any = "bottom"
    for _ in range(100_000):
        deep = [deep]
    copy = own(deep)
    depth = 0
    while isinstance(copy, list):
        copy, depth = copy[0], depth + 1
    assert (copy, depth) == ("bottom", 100_000)


def test_cleared_and_never_mentioned_show_nothing() -> None:
    assert value_of(None) is None is value_of(UNSET)
    assert shown(None) is None is shown(UNSET)
    assert value_of("x") == "x" == shown("x")


@pytest.mark.req("META-17")
@pytest.mark.parametrize("stored", [UNSET, None, {}], ids=repr)
def test_all_forms_of_no_metadata_show_the_same(stored: Any) -> None:
    assert shown_meta(stored) == {}


def test_metadata_is_handed_out_as_a_copy() -> None:
    stored: dict[str, Any] = {"a": {"b": 1}}
    handed = shown_meta(stored)
    handed["a"]["b"] = 2
    assert stored == {"a": {"b": 1}}
