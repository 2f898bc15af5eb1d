from __future__ import annotations

import re
import sys
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from acpwire.protocol.open import Unknown
from acpwire.protocol.v2.content import Annotations, ContentBlock, ImageContent, TextContent
from acpwire.protocol.v2.tool_call import Content, Terminal, ToolCallContent
from acpwire.state.parts import Parts, cleared

HIGH, LOW, EMOJI = "\ud83d", "\ude00", "\U0001f600"
IMAGE = ImageContent(data="", mime_type="image/png")


def text(value: str) -> TextContent:
    return TextContent(text=value)


def decoded_text(value: str) -> TextContent:
    """As the decoder hands it on: halves are shown as U+FFFD, and kept beside."""
    return TextContent(text=re.sub("[\ud800-\udfff]", "\ufffd", value)).with_halves(value)


def parts_of(*blocks: Any) -> Parts[Any]:
    parts: Parts[Any] = Parts()
    for block in blocks:
        parts.append(block)
    return parts


def test_items_keep_their_order_and_text_is_joined() -> None:
    unknown = Unknown("_x", {"type": "_x", "text": "not shown"})
    parts = parts_of(text("a"), IMAGE, unknown, text(""), text("b"))
    assert parts.items == (text("a"), IMAGE, unknown, text(""), text("b"))
    assert parts.text == "ab"
    assert len(parts) == 5


def test_replacing_drops_what_was_there_also_from_what_was_read() -> None:
    parts = parts_of(text("a"), text("b"))
    assert (parts.text, len(parts.items)) == ("ab", 2)
    parts.replace((text("c"), text("d")))
    assert (parts.text, parts.items) == ("cd", (text("c"), text("d")))
    parts.replace(())
    assert (parts.text, parts.items, len(parts)) == ("", (), 0)


def test_a_half_does_not_outlive_what_it_was_part_of() -> None:
    parts = parts_of(text("a" + HIGH))
    assert parts.text == "a\ufffd"
    parts.replace((text(LOW + "b"),))
    assert (parts.text, parts.items) == ("\ufffdb", (text("\ufffdb"),))


def test_items_that_were_read_are_not_made_again() -> None:
    parts = parts_of(text("a"))
    assert parts.items is parts.items


def test_replacing_frees_what_was_held() -> None:
    block = text("a")
    before = sys.getrefcount(block)
    parts = parts_of(block)
    assert parts.items
    assert sys.getrefcount(block) > before
    parts.replace(())
    assert sys.getrefcount(block) == before


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        (("a" + HIGH, LOW + "b"), ("a", EMOJI + "b")),
        ((HIGH, LOW), ("", EMOJI)),
        ((HIGH, "", LOW), ("", "", EMOJI)),
        (("a" + HIGH,), ("a\ufffd",)),
        ((LOW + "a",), ("\ufffda",)),
        (("a" + HIGH, "b"), ("a\ufffd", "b")),
        ((HIGH, HIGH, LOW), ("\ufffd", "", EMOJI)),
        ((LOW, HIGH), ("\ufffd", "\ufffd")),
        ((HIGH, LOW + HIGH, LOW), ("", EMOJI, EMOJI)),
        (("é" + HIGH, "é"), ("é\ufffd", "é")),
        (("a" + HIGH + "b",), ("a\ufffdb",)),
        ((EMOJI, "é"), (EMOJI, "é")),
    ],
    ids=ascii,
)
@pytest.mark.parametrize("made", [text, decoded_text], ids=["bare", "decoded"])
def test_halves_of_a_character_are_joined_and_lone_ones_replaced(
    made: Any, texts: tuple[str, ...], shown: tuple[str, ...]
) -> None:
    for read_between in (False, True):
        parts = parts_of()
        for one in texts:
            parts.append(made(one))
            if read_between:
                assert parts.text == "".join(block.text for block in parts.items)
        assert tuple(block.text for block in parts.items) == shown
        assert parts.text == "".join(shown)


def test_halves_in_the_content_of_a_tool_call_are_joined_too() -> None:
    parts: Parts[ToolCallContent] = Parts()
    for item in (Content(content=text("a" + HIGH)), Terminal(terminal_id="t"), Content(content=text(LOW))):
        parts.append(item)
    first, _, last = parts.items
    assert (first, last) == (Content(content=text("a")), Content(content=text(EMOJI)))
    assert parts.text == "a" + EMOJI


def test_a_joined_block_keeps_its_other_members() -> None:
    hints = Annotations(priority=0.5)
    parts = parts_of(TextContent(text=HIGH, annotations=hints, meta={"a": None}), text(LOW))
    assert parts.items == (TextContent(text="", annotations=hints, meta={"a": None}), text(EMOJI))


@pytest.mark.parametrize("chunked", [True, False])
def test_metadata_of_a_block_can_be_changed_by_nobody(chunked: bool) -> None:
    meta: dict[str, Any] = {"a": [1], "gone": None}
    parts: Parts[ContentBlock] = Parts()
    block = TextContent(text="x", meta=meta)
    if chunked:
        parts.append(block)
    else:
        parts.replace((block,))
    meta["a"].append(2)
    for _ in range(2):
        (shown,) = parts.items
        assert isinstance(shown, TextContent)
        assert shown.meta == {"a": [1], "gone": None}
        shown.meta.clear()


@pytest.mark.parametrize("mentioned", [UNSET, None, ()], ids=repr)
def test_an_empty_content_shows_how_it_was_cleared(mentioned: Any) -> None:
    parts = parts_of()
    assert parts.patch(mentioned) is mentioned
    parts.append(text("a"))
    assert parts.patch(mentioned) == (text("a"),)


@pytest.mark.parametrize(("content", "left"), [(UNSET, UNSET), (None, None), ((), ()), ((text("a"),), ())], ids=repr)
def test_content_is_taken_out_of_an_upsert(content: Any, left: Any) -> None:
    assert cleared(content) == left


@given(st.text(alphabet=st.sampled_from(["a", "é", EMOJI])), st.lists(st.integers(0, 40), max_size=6))
def test_text_cut_between_utf16_units_reads_whole_again(whole: str, cuts: list[int]) -> None:
    units = whole.encode("utf-16-le")
    places = sorted({0, len(units), *(min(cut * 2, len(units)) for cut in cuts)})
    parts = parts_of()
    for start, end in pairwise(places):
        parts.append(text(units[start:end].decode("utf-16-le", "surrogatepass")))
    assert parts.text == whole == "".join(block.text for block in parts.items)


@given(
    st.lists(st.tuples(st.text(alphabet=st.sampled_from(["a", "é", HIGH, LOW]), max_size=3), st.booleans()), max_size=8)
)
def test_text_read_on_the_way_and_at_the_end_agree(chunks: list[tuple[str, bool]]) -> None:
    parts = parts_of()
    for chunk, read in chunks:
        parts.append(text(chunk))
        if read:
            parts.text.encode()  # can be sent: no half is left in it
    joined = "".join(chunk for chunk, _ in chunks)
    assert parts.text == joined.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert parts.text == "".join(block.text for block in parts.items)
