from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from acpwire.protocol.open import Unknown
from acpwire.protocol.v2.tool_call import (
    Content,
    Diff,
    Terminal,
    ToolCallCancelCapabilities,
    ToolCallCapabilities,
    ToolCallLocation,
    ToolCallPatch,
    ToolCallUpdate,
)
from acpwire.state.tool_call import ToolCall

FULL: dict[str, Any] = {
    "title": "Read",
    "name": "read_file",
    "kind": "read",
    "status": "in_progress",
    "content": [{"type": "content", "content": {"type": "text", "text": "A"}}],
    "locations": [{"path": "/a", "line": 3}],
    "rawInput": {"path": "/a"},
    "rawOutput": [1, {"b": None}],
    "capabilities": {"cancel": {}},
    "_meta": {"a": 1},
}
EMPTY: dict[str, Any] = {
    "title": None,
    "name": None,
    "kind": "other",
    "status": "pending",
    "content": (),
    "locations": (),
    "raw_input": None,
    "raw_output": None,
    "capabilities": None,
    "meta": {},
}
SHOWN: dict[str, Any] = {
    "title": "Read",
    "name": "read_file",
    "kind": "read",
    "status": "in_progress",
    "locations": (ToolCallLocation(path="/a", line=3),),
    "raw_input": {"path": "/a"},
    "raw_output": [1, {"b": None}],
    "capabilities": ToolCallCapabilities(cancel=ToolCallCancelCapabilities()),
    "meta": {"a": 1},
}
SNAKE = {"rawInput": "raw_input", "rawOutput": "raw_output", "_meta": "meta"}


def update(**members: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": "tc", **members}


def chunk(text: str, **members: Any) -> dict[str, Any]:
    item = {"type": "content", "content": {"type": "text", "text": text}}
    return {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "tc", "content": item, **members}


def fields(call: ToolCall) -> dict[str, Any]:
    return {name: getattr(call, name) for name in EMPTY}


@pytest.mark.req("TOOL-02", "TOOL-07")
@pytest.mark.parametrize("first", [update(), {**chunk("A")}], ids=["update", "chunk"])
def test_a_new_call_has_the_defaults_of_the_protocol(show: Any, first: Any) -> None:
    (call,) = show(first).tool_calls.values()
    assert call.id == "tc"
    assert {**fields(call), "content": ()} == EMPTY


@pytest.mark.req("TOOL-05")
@pytest.mark.parametrize("wire", sorted(FULL))
def test_each_field_is_kept_when_omitted_cleared_by_null_and_replaced_by_a_value(show: Any, wire: str) -> None:
    name = SNAKE.get(wire, wire)
    state = show(update(**FULL), update())
    call = state.tool_calls["tc"]
    assert {key: value for key, value in fields(call).items() if key != "content"} == SHOWN
    kept = fields(call)
    show(update(**{wire: None}), state=state)
    assert fields(call) == {**kept, name: EMPTY[name]}
    show(update(**{wire: FULL[wire]}), state=state)
    assert fields(call) == kept


@pytest.mark.req("TOOL-08")
@pytest.mark.parametrize(("wire", "default"), [("kind", "other"), ("status", "pending")])
def test_null_resets_kind_and_status_to_their_defaults(show: Any, wire: str, default: str) -> None:
    call = show(update(kind="read", status="completed"), update(**{wire: None})).tool_calls["tc"]
    assert getattr(call, wire) == default


@pytest.mark.parametrize(
    ("updates", "texts"),
    [
        pytest.param([chunk("A")], ["A"], marks=pytest.mark.req("TOOL-21")),
        pytest.param([update(**FULL), chunk("B")], ["A", "B"], marks=pytest.mark.req("TOOL-21")),
        pytest.param([chunk("B"), update(**FULL)], ["A"], marks=pytest.mark.req("TOOL-22")),
        pytest.param([chunk("B"), update(**FULL), chunk("C")], ["A", "C"], marks=pytest.mark.req("TOOL-22")),
        pytest.param([chunk("B"), update(content=[])], [], marks=pytest.mark.req("TOOL-09")),
        pytest.param([chunk("B"), update(content=None)], [], marks=pytest.mark.req("TOOL-09")),
        pytest.param([chunk("B"), update(title="T")], ["B"], marks=pytest.mark.req("RPLY-09")),
        pytest.param([chunk("B"), update(content=None), chunk("C")], ["C"], marks=pytest.mark.req("TOOL-22")),
    ],
    ids=str,
)
def test_content_is_replaced_by_updates_and_grows_by_chunks(show: Any, updates: Any, texts: list[str]) -> None:
    call = show(*updates).tool_calls["tc"]
    assert [item.content.text for item in call.content] == texts
    assert call.text == "".join(texts)


@pytest.mark.req("TOOL-20")
def test_content_items_of_all_types_are_kept(show: Any) -> None:
    items = [
        *FULL["content"],
        {"type": "terminal", "terminalId": "t"},
        {"type": "diff", "changes": []},
        {"type": "_x", "n": 1},
    ]
    call = show(update(content=items)).tool_calls["tc"]
    assert [type(item) for item in call.content] == [Content, Terminal, Diff, Unknown]
    assert dict(call.content[3]) == {"type": "_x", "n": 1}


@pytest.mark.req("TOOL-23")
@pytest.mark.parametrize("meta", [None, {"a": None}, {"b": 2}], ids=str)
def test_metadata_of_a_chunk_is_not_stored(show: Any, meta: Any) -> None:
    assert show(update(_meta={"a": 1}), chunk("A", _meta=meta)).tool_calls["tc"].meta == {"a": 1}


@pytest.mark.req("TOOL-25", "META-06")
def test_metadata_is_patched_by_key(show: Any) -> None:
    call = show(update(_meta={"a": 1, "b": {"x": 1}}), update(_meta={"a": None, "b": {"y": 2}, "c": 0})).tool_calls[
        "tc"
    ]
    assert call.meta == {"b": {"y": 2}, "c": 0}


@pytest.mark.req("TOOL-28")
@pytest.mark.parametrize("wire", sorted(set(FULL) - {"_meta"}))
def test_cleared_and_never_mentioned_can_be_told_apart(show: Any, wire: str) -> None:
    state = show(update())
    call = state.tool_calls["tc"]
    name = SNAKE.get(wire, {"toolCallId": "tool_call_id"}.get(wire, wire))
    assert getattr(call.patch, name) is UNSET
    show(update(**{wire: None}), state=state)
    assert getattr(call.patch, name) is None
    assert fields(call) == EMPTY
    show(update(**{wire: FULL[wire]}), update(), state=state)
    assert getattr(call.patch, name) == getattr(call, name)


def test_the_patch_holds_what_chunks_brought(show: Any) -> None:
    call = show(update(content=[]), chunk("A")).tool_calls["tc"]
    assert call.patch == ToolCallPatch(tool_call_id="tc", content=call.content)
    assert len(call.content) == 1


@pytest.mark.req("TOOL-30", "DEC-09")
def test_malformed_capabilities_are_no_capabilities(show: Any) -> None:
    call = show(update(capabilities={"cancel": {}}), update(capabilities="all")).tool_calls["tc"]
    assert call.capabilities == ToolCallCapabilities()


@pytest.mark.req("TOOL-29")
def test_capabilities_are_replaced_whole(show: Any) -> None:
    assert show(update(capabilities={"cancel": {}}), update(capabilities={})).tool_calls["tc"].capabilities == (
        ToolCallCapabilities()
    )


@pytest.mark.parametrize(
    ("status", "done"),
    [
        ("pending", False),
        ("in_progress", False),
        pytest.param("paused", False, marks=pytest.mark.req("TOOL-16")),
        ("completed", True),
        ("failed", True),
        ("cancelled", True),
        pytest.param("_acme_waiting", False, marks=pytest.mark.req("TOOL-15")),
    ],
)
def test_a_call_is_done_with_a_final_status_alone(show: Any, status: str, done: bool) -> None:
    call = show(update(status=status)).tool_calls["tc"]
    assert (call.status, call.done) == (status, done)


@pytest.mark.req("TOOL-13")
def test_an_unknown_kind_is_kept_verbatim(show: Any) -> None:
    assert show(update(kind="_acme_paint")).tool_calls["tc"].kind == "_acme_paint"


@pytest.mark.parametrize("name", ["raw_input", "raw_output", "meta"])
def test_json_that_was_given_or_handed_out_changes_nothing(name: str) -> None:
    given: dict[str, Any] = {"a": {"b": [1]}}
    call = ToolCall("tc")
    call.apply(ToolCallUpdate(tool_call_id="tc", **{name: given}))
    given["a"]["b"].append(2)
    getattr(call, name)["a"]["b"].append(3)
    getattr(call.patch, name)["a"]["b"].append(4)
    getattr(call.snapshot(), name)["a"]["b"].append(5)
    assert getattr(call, name) == {"a": {"b": [1]}}


def test_metadata_of_its_parts_can_be_changed_by_nobody() -> None:
    given: dict[str, Any] = {"a": 1}
    call = ToolCall("tc")
    call.apply(
        ToolCallUpdate(
            tool_call_id="tc",
            content=(Diff(changes=(), meta=given),),
            locations=(ToolCallLocation(path="/a", meta=given),),
            capabilities=ToolCallCapabilities(meta=given),
        )
    )
    given.clear()
    for _ in range(2):
        shown = (call.content[0], call.locations[0], call.capabilities)
        for one in shown:
            assert isinstance(one, msgspec.Struct)
            assert one.meta == {"a": 1}
            one.meta.clear()


def test_a_call_tells_what_it_is(show: Any) -> None:
    assert repr(show(update(title="Read")).tool_calls["tc"]) == "<ToolCall 'tc' pending: 'Read'>"
