from __future__ import annotations

from typing import Any

import pytest

from acpwire.protocol.v2.content import TextContent
from acpwire.state.message import Message, Messages

KINDS = ("user_message", "agent_message", "agent_thought")


def whole(kind: str = "agent_message", id: str = "m", **members: Any) -> dict[str, Any]:
    return {"sessionUpdate": kind, "messageId": id, **members}


def chunk(text: str, kind: str = "agent_message", id: str = "m", **members: Any) -> dict[str, Any]:
    return {"sessionUpdate": f"{kind}_chunk", "messageId": id, "content": block(text), **members}


def block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


A, B, C = block("A"), block("B"), block("C")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("updates", "texts"),
    [
        pytest.param([whole()], [], marks=pytest.mark.req("MSG-07")),
        pytest.param([chunk("A")], ["A"], marks=pytest.mark.req("MSG-11")),
        pytest.param([chunk("A"), whole()], ["A"], marks=pytest.mark.req("MSG-08", "RPLY-09")),
        pytest.param([chunk("A"), whole(content=None)], [], marks=pytest.mark.req("MSG-09")),
        pytest.param([chunk("A"), whole(content=[])], [], marks=pytest.mark.req("MSG-09")),
        pytest.param([chunk("A"), chunk("B"), whole(content=[C])], ["C"], marks=pytest.mark.req("MSG-10")),
        pytest.param([whole(content=[A]), whole(content=[B, C])], ["B", "C"], marks=pytest.mark.req("MSG-10")),
        pytest.param(
            [whole(content=[A]), chunk("B"), whole(content=[C]), chunk("A")],
            ["C", "A"],
            marks=pytest.mark.req("MSG-13"),
        ),
        pytest.param([chunk("A"), whole(content=None), chunk("B")], ["B"], marks=pytest.mark.req("MSG-13")),
        pytest.param([chunk("A"), whole(content="x")], ["A"], marks=pytest.mark.req("MSG-17")),
        pytest.param([chunk("A"), whole(content=[B, 7, {"type": "text"}])], ["B"], marks=pytest.mark.req("MSG-17")),
    ],
    ids=str,
)
def test_updates_and_chunks_apply_in_order(show: Any, kind: str, updates: Any, texts: list[str]) -> None:
    renamed = [{**one, "sessionUpdate": one["sessionUpdate"].replace("agent_message", kind)} for one in updates]
    (message,) = show(*renamed).messages
    assert (message.type, message.id) == (kind, "m")
    assert [one.text for one in message.content] == texts
    assert message.text == "".join(texts)


@pytest.mark.req("MSG-03", "MSG-04")
def test_equal_ids_of_different_types_are_different_messages(show: Any) -> None:
    state = show(*(chunk(letter, kind) for letter in "AB" for kind in KINDS), chunk("z", id="other"), chunk("C"))
    assert [(message.type, message.id, message.text) for message in state.messages] == [
        ("user_message", "m", "AB"),
        ("agent_message", "m", "ABC"),
        ("agent_thought", "m", "AB"),
        ("agent_message", "other", "z"),
    ]
    assert state.message("agent_thought", "m") is state.messages[2]
    assert state.message("user_message", "other") is None


@pytest.mark.req("MSG-18")
def test_text_that_was_read_is_reset_by_a_whole_update(show: Any) -> None:
    state = show(chunk("A"), chunk("B"))
    (message,) = state.messages
    assert message.text == "AB"
    show(whole(content=[C]), state=state)
    assert message.text == "C"
    show(chunk("A"), state=state)
    assert message.text == "CA"


@pytest.mark.parametrize(
    ("updates", "meta"),
    [
        pytest.param([chunk("A", _meta={"a": 1})], {}, marks=pytest.mark.req("MSG-14", "META-33")),
        pytest.param([whole(_meta={"a": 1}), chunk("A", _meta={"a": None})], {"a": 1}, marks=pytest.mark.req("MSG-14")),
        pytest.param(
            [whole(_meta={"a": 1}), whole(content=[A])], {"a": 1}, marks=pytest.mark.req("RPLY-19", "META-22")
        ),
        pytest.param(
            [whole(_meta={"a": 1, "b": 2}), whole(content=[A], _meta={"a": None})],
            {"b": 2},
            marks=pytest.mark.req("MSG-15"),
        ),
        pytest.param([whole(_meta={"a": 1, "b": None})], {"a": 1}, marks=pytest.mark.req("META-15")),
        pytest.param([whole(_meta={"a": 1}), whole(_meta=None)], {}, marks=pytest.mark.req("META-05")),
        pytest.param([whole(_meta={"a": 1}), whole(_meta={})], {"a": 1}, marks=pytest.mark.req("META-08")),
        pytest.param([whole(_meta={"a": 1}), whole(_meta=7)], {"a": 1}, marks=pytest.mark.req("META-43")),
        pytest.param([whole(_meta={"a": {"x": None}})], {"a": {"x": None}}, marks=pytest.mark.req("META-13")),
    ],
    ids=str,
)
def test_metadata_is_patched_by_whole_updates_alone(show: Any, updates: Any, meta: dict[str, Any]) -> None:
    (message,) = show(*updates).messages
    assert message.meta == meta


@pytest.mark.req("MSG-16")
def test_an_update_may_change_metadata_alone(show: Any) -> None:
    (message,) = show(whole(content=[A]), whole(_meta={"a": 1})).messages
    assert (message.text, message.meta) == ("A", {"a": 1})


@pytest.mark.req("MSG-19")
def test_messages_of_the_user_are_shown_whoever_sent_them(show: Any) -> None:
    (message,) = show(whole("user_message", content=[A])).messages
    assert (message.type, message.text) == ("user_message", "A")


def test_metadata_that_was_handed_out_changes_nothing(show: Any) -> None:
    (message,) = show(whole(_meta={"a": {"b": 1}})).messages
    message.meta["a"]["b"] = 2
    message.meta.clear()
    assert message.meta == {"a": {"b": 1}}


def test_messages_are_a_sequence_that_stays_current(show: Any) -> None:
    state = show(chunk("A", id="1"), chunk("B", id="2"))
    messages = state.messages
    show(chunk("C", id="3"), state=state)
    assert isinstance(messages, Messages)
    assert [message.id for message in messages] == ["1", "2", "3"]
    assert messages[-1].text == "C"
    assert messages[:2] == [messages[0], messages[1]]
    assert len(messages) == 3
    assert messages[1] in messages
    assert repr(messages).count("<Message ") == 3


def test_a_chunk_split_inside_an_emoji_reads_whole(show: Any) -> None:
    (message,) = show(chunk("a\ud83d"), chunk("\ude00b")).messages
    assert message.text == "a\U0001f600b"
    assert "".join(one.text for one in message.content) == message.text


@pytest.mark.parametrize(("texts", "shown"), [(("a\ud83d",), "a\ufffd"), (("\ude00b", "c"), "\ufffdbc")], ids=ascii)
def test_half_an_emoji_that_stays_alone_is_replaced(show: Any, texts: Any, shown: str) -> None:
    (message,) = show(*map(chunk, texts)).messages
    assert message.text == shown == "".join(one.text for one in message.content)


def test_a_message_tells_what_it_is() -> None:
    message = Message("agent_thought", "m")
    message.append(TextContent(text="A"))
    assert repr(message) == "<Message agent_thought 'm': 1 blocks>"
