from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from acpwire.protocol.open import Unknown
from acpwire.protocol.v2.content import TextContent
from acpwire.protocol.v2.state import ForegroundState
from acpwire.protocol.v2.subagent import SessionCancelCapabilities, SubagentSessionCapabilities

A, B = ({"type": "text", "text": letter} for letter in "AB")
FULL: dict[str, Any] = {
    "title": "Child",
    "description": "Reads",
    "capabilities": {"cancel": {}},
    "state": {"state": "running", "background": []},
    "cwd": "/w",
    "additionalDirectories": ["/x"],
}
SHOWN: dict[str, Any] = {
    "title": "Child",
    "description": "Reads",
    "capabilities": SubagentSessionCapabilities(cancel=SessionCancelCapabilities()),
    "state": ForegroundState(state="running", background=()),
    "cwd": "/w",
    "additional_directories": ("/x",),
}


def child(**members: Any) -> dict[str, Any]:
    return {"sessionUpdate": "subagent_update", "sessionId": "sess_c", **members}


def message(**members: Any) -> dict[str, Any]:
    return {"sessionUpdate": "session_message", "messageId": "m", **members}


def chunk(block: Any = A, **members: Any) -> dict[str, Any]:
    return {"sessionUpdate": "session_message_chunk", "messageId": "m", "content": block, **members}


def fields(entity: Any, names: Any) -> dict[str, Any]:
    return {name: getattr(entity, name) for name in names}


@pytest.mark.req("SUB-05", "SUB-08", "SUB-09")
@pytest.mark.parametrize("wire", sorted(FULL))
def test_each_field_is_kept_when_omitted_cleared_by_null_and_replaced_by_a_value(show: Any, wire: str) -> None:
    name = {"additionalDirectories": "additional_directories"}.get(wire, wire)
    state = show(child())
    (entity,) = state.subagents.values()
    assert fields(entity, SHOWN) == dict.fromkeys(SHOWN)
    assert getattr(entity.patch, name) is UNSET
    show(child(**FULL), child(), state=state)
    assert fields(entity, SHOWN) == SHOWN
    show(child(**{wire: None}), state=state)
    assert fields(entity, SHOWN) == {**SHOWN, name: None}
    assert getattr(entity.patch, name) is None


@pytest.mark.req("SUB-09", "STATE-21")
def test_an_unknown_state_of_a_child_replaces_the_one_before(show: Any) -> None:
    state = show(child(state={"state": "idle"}), child(state={"state": "_waiting", "n": 1}))
    shown = state.subagents["sess_c"].state
    assert isinstance(shown, Unknown)
    assert dict(shown) == {"state": "_waiting", "n": 1}


@pytest.mark.req("SUB-14")
def test_no_roots_and_inherited_roots_differ(show: Any) -> None:
    assert show(child(additionalDirectories=[])).subagents["sess_c"].additional_directories == ()


@pytest.mark.req("SUB-06", "META-02")
def test_the_metadata_of_the_tie_is_not_that_of_the_session(show: Any) -> None:
    state = show(child(_meta={"a": 1, "n": None}, state={"state": "running", "_meta": {"s": None}}))
    show({"sessionUpdate": "session_info_update", "_meta": {"i": 1}}, child(_meta={"a": None, "b": 3}), state=state)
    assert state.subagents["sess_c"].meta == {"b": 3}
    assert state.info.meta == {"i": 1}


@pytest.mark.parametrize(
    ("updates", "text"),
    [
        pytest.param([message()], "", marks=pytest.mark.req("SUB-20")),
        pytest.param([chunk()], "A", marks=pytest.mark.req("SUB-24")),
        pytest.param([chunk(), message(content=[B])], "B", marks=pytest.mark.req("SUB-19")),
        pytest.param([message(content=[A]), chunk(B)], "AB", marks=pytest.mark.req("SUB-24")),
        pytest.param([chunk(), message()], "A", marks=pytest.mark.req("SUB-19")),
        pytest.param([chunk(), message(content=None)], "", marks=pytest.mark.req("SUB-19")),
        pytest.param([chunk(), message(content=[])], "", marks=pytest.mark.req("SUB-19")),
    ],
    ids=str,
)
def test_session_messages_and_chunks_apply_in_order(show: Any, updates: Any, text: str) -> None:
    (entity,) = show(*updates).session_messages.values()
    assert (entity.id, entity.text, "".join(block.text for block in entity.content)) == ("m", text, text)


@pytest.mark.req("SUB-18", "SUB-22", "SUB-23")
def test_participants_of_a_session_message_are_patches_and_may_be_missing(show: Any) -> None:
    names = ("sender_session_id", "recipient_session_id", "sender_message_id", "recipient_message_id")
    state = show(message(content=[A]))
    (entity,) = state.session_messages.values()
    assert fields(entity, names) == dict.fromkeys(names)
    show(
        message(senderSessionId="s", recipientSessionId="r"),
        message(senderMessageId="1", recipientMessageId="2"),
        state=state,
    )
    assert fields(entity, names) == dict(zip(names, ("s", "r", "1", "2"), strict=True))
    show(message(senderSessionId=None, recipientMessageId=None), state=state)
    assert fields(entity, names) == dict(zip(names, (None, "r", "1", None), strict=True))
    assert entity.text == "A"


@pytest.mark.req("SUB-21", "SUB-24")
def test_the_metadata_of_a_session_message_is_patched_by_upserts_alone(show: Any) -> None:
    state = show(message(_meta={"a": 1}), chunk(_meta={"a": None}), message(content=None, _meta={"b": None, "c": []}))
    assert state.session_messages["m"].meta == {"a": 1, "c": []}


def test_the_patch_of_a_session_message_holds_its_content(show: Any) -> None:
    state = show(message())
    entity = state.session_messages["m"]
    assert entity.patch.content is UNSET
    show(message(content=None), state=state)
    assert entity.patch.content is None
    show(chunk(), state=state)
    assert entity.patch.content == (TextContent(text="A"),)


def test_entities_tell_what_they_are(show: Any) -> None:
    state = show(child(title="Child"), chunk())
    assert [repr(entry) for entry in state.timeline] == [
        "<Subagent 'sess_c': 'Child'>",
        "<SessionMessage 'm': 1 blocks>",
    ]
    assert [entry.type for entry in state.timeline] == ["subagent", "session_message"]
