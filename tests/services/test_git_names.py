from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpwire.services._git_names import label, quote, split_pair, unquote, unquote_label

NAMES = st.text(min_size=1).map(lambda text: f"/{text}")


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("/tmp/a-b_c.txt", "/tmp/a-b_c.txt"),
        ("/tmp/a b", "/tmp/a b"),
        ("/tmp/é", r'"/tmp/\303\251"'),
        ("/tmp/a\tb\n", r'"/tmp/a\tb\n"'),
        ('/tmp/"x"', r'"/tmp/\"x\""'),
        ("C:\\tmp\\x", r'"C:\\tmp\\x"'),
        ("/\x01\x7f\x0b", r'"/\001\177\v"'),
    ],
)
@pytest.mark.req("DIFF-08")
def test_names_are_quoted_as_git_does(name, quoted):
    assert quote(name) == quoted
    assert unquote(quoted) == name


@given(NAMES)
def test_a_quoted_name_is_one_line_of_ascii_and_reads_back(name):
    quoted = quote(name)
    assert "\n" not in quoted
    assert quoted == name or quoted.isascii()
    assert unquote(quoted) == name
    assert unquote_label(label(name)) == name


@given(NAMES, NAMES)
def test_a_pair_of_names_reads_back_or_is_known_to_be_ambiguous(old, new):
    pair = split_pair(f"{quote(old)} {quote(new)}")
    if pair is None:
        assert " " in old + new
        assert old != new
    else:
        assert pair == (old, new) or " " in old + new
    assert split_pair(f"{quote(old)} {quote(old)}") == (old, old)


def test_a_name_with_a_space_is_ended_by_a_tab():
    assert label("/a b") == "/a b\t"
    assert label("/ab") == "/ab"
    assert unquote_label("/ab\t2020-01-01 00:00:00") == "/ab"


@pytest.mark.parametrize("text", [r'"\x41"', '"open', r'"\777"', '"a" b"', '"\\"'])
def test_a_wrong_quote_is_refused(text):
    with pytest.raises(ValueError):
        unquote(text)


def test_bytes_that_are_no_text_survive():
    assert unquote(r'"/\377"') == "/\udcff"
