from __future__ import annotations

import copy
import pickle

import msgspec
import pytest
from msgspec import structs

from acpwire.protocol.v2.content import (
    Annotations,
    EmbeddedResourceResource,
    ImageContent,
    SplitTextContent,
    TextContent,
)

HIGH = "\ud83d"


@pytest.mark.req("CONT-05")
@pytest.mark.parametrize("contents", [{}, {"text": "a", "blob": "YQ=="}], ids=["none", "both"])
def test_a_resource_is_text_or_bytes(contents):
    with pytest.raises(ValueError, match="exactly one of `text` and `blob`"):
        EmbeddedResourceResource(uri="u", **contents)


def test_an_empty_text_is_a_text():
    assert EmbeddedResourceResource(uri="u", text="").text == ""


def test_a_block_that_knows_how_its_text_came_is_a_text_block_all_the_same():
    hints = Annotations(priority=1)
    block = TextContent(text="a\ufffd", annotations=hints, meta={"k": 1}).with_halves("a" + HIGH)
    assert isinstance(block, TextContent)
    assert (block.text, block.halves, block.annotations, block.meta) == ("a\ufffd", "a" + HIGH, hints, {"k": 1})
    plain = TextContent(text="a\ufffd", annotations=hints, meta={"k": 1})
    assert msgspec.json.encode(block) == msgspec.json.encode(plain)


@pytest.mark.parametrize(
    "made",
    [
        lambda block: structs.replace(block, text="b"),
        lambda _: SplitTextContent(text="b"),
        lambda block: copy.copy(structs.replace(block, text="b")),
        lambda block: pickle.loads(pickle.dumps(structs.replace(block, text="b"))),
    ],
)
def test_a_block_made_from_it_has_no_halves(made):
    assert made(TextContent(text="\ufffd").with_halves(HIGH)).halves == "b"


@pytest.mark.parametrize("kind", [TextContent, ImageContent])
def test_a_block_cannot_be_changed(kind):
    block = msgspec.json.decode(
        msgspec.json.encode({"type": kind.__struct_config__.tag, "text": "x", "data": "", "mimeType": "m"}), type=kind
    )
    with pytest.raises(AttributeError):
        block.meta = {}
