"""Nothing of a stranger's text acts on the terminal that shows it."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpwire.cli._text import one_line, printable, printable_json

ANY = st.text(st.characters(exclude_categories=())) | st.text(st.sampled_from("a\x1b[2J\r\n\t\x9b\u202e\ud800"))
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@given(ANY)
@pytest.mark.req("SEC-02")
def test_no_control_sign_is_left_whatever_the_text(text: str) -> None:
    shown = printable(text)
    assert not HARMFUL.search(shown)
    assert {sign for sign in shown if unicodedata.category(sign) == "Cc"} <= {"\n", "\t"}
    shown.encode()


@given(ANY)
def test_a_line_stays_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1
    assert not HARMFUL.search(one_line(text))


@given(ANY, st.integers(0, 100))
def test_it_does_not_matter_where_a_chunk_was_cut(text: str, cut: int) -> None:
    cut = min(cut, len(text))
    whole = "".join(printable(part) for part in (text[:cut], text[cut:]))
    assert whole == printable(text) or text[cut - 1 : cut + 1] == "\r\n"


@given(st.recursive(st.none() | ANY | st.integers(-9, 9), lambda inner: st.lists(inner) | st.dictionaries(ANY, inner)))
def test_json_that_is_made_printable_keeps_its_value(value: object) -> None:
    data = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    shown = printable_json(data)
    assert not HARMFUL.search(shown)
    assert json.loads(shown) == json.loads(data)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain\ttext\nü 漢字 👩‍💻", "plain\ttext\nü 漢字 👩‍💻", id="harmless"),
        pytest.param("\x1b]0;title\x07", "\\x1b]0;title\\x07", id="title"),
        pytest.param("a\r\nb\rc", "a\nb\\rc", id="carriage-returns"),
        pytest.param("\x9b2J", "\\x9b2J", id="c1"),
        pytest.param("\u202eevil\ud83d", "\\u202eevil\\ud83d", id="bidi-and-half"),
    ],
)
def test_what_is_escaped_can_be_read(text: str, shown: str) -> None:
    assert printable(text) == shown
