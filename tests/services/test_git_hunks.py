from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpwire.services import _git_hunks
from acpwire.services._git_hunks import Hunk, apply_hunks, kept_bytes, make_hunks, split_lines, write_hunk

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "d\r\n", "\u2028\n", "e"]), max_size=30).map("".join)
TEXTS = st.one_of(LINES, st.text())


@given(TEXTS, TEXTS, st.integers(0, 4))
def test_hunks_make_the_new_text_of_the_old(old, new, context):
    assert apply_hunks(make_hunks(old, new, context), old) == new


@given(TEXTS, st.integers(0, 4))
def test_equal_texts_have_no_hunks(text, context):
    assert make_hunks(text, text, context) == []


@given(TEXTS)
def test_lines_join_to_the_text_and_end_with_line_feeds(text):
    lines = split_lines(text)
    assert "".join(lines) == text
    assert all(line.endswith("\n") for line in lines[:-1])


@given(TEXTS, TEXTS)
def test_no_more_of_the_old_text_is_kept_than_there_is(old, new):
    assert 0 <= kept_bytes(make_hunks(old, new, 3), old) <= len(old.encode())


def test_changes_far_apart_have_hunks_of_their_own():
    old = "".join(f"{n}\n" for n in range(30))
    new = old.replace("\n5\n", "\nfive\n").replace("\n20\n", "\n")
    first, second = make_hunks(old, new, 3)
    assert (first.old_start, first.old_count, first.new_start, first.new_count) == (3, 7, 3, 7)
    assert (second.old_start, second.old_count, second.new_start, second.new_count) == (18, 7, 18, 6)


def test_a_last_line_without_a_line_feed_is_marked():
    (hunk,) = make_hunks("a\nb", "a\nb\n", 3)
    assert "".join(write_hunk(hunk)) == "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"


def test_a_heading_is_written_behind_the_numbers():
    hunk = Hunk(old_start=3, new_start=3, lines=("-a\n",), heading="def f():")
    assert "".join(write_hunk(hunk)) == "@@ -3 +3,0 @@ def f():\n-a\n"


@pytest.mark.parametrize(
    "hunks",
    [
        pytest.param([Hunk(old_start=1, new_start=1, lines=(" b\n", "-a\n"))], id="other lines"),
        pytest.param([Hunk(old_start=9, new_start=9, lines=("-a\n",))], id="behind the end"),
        pytest.param([Hunk(old_start=9, new_start=9, lines=("+a\n",))], id="new lines behind the end"),
        pytest.param([Hunk(old_start=0, new_start=0, lines=("-a\n",))], id="before the beginning"),
        pytest.param([Hunk(old_start=2, new_start=2, lines=("-b\n",))] * 2, id="twice the same"),
    ],
)
def test_hunks_that_do_not_fit_are_refused(hunks):
    with pytest.raises(ValueError, match="does not fit"):
        apply_hunks(hunks, "a\nb\n")


def test_a_difference_that_would_take_seconds_is_one_replacement(monkeypatch):
    monkeypatch.setattr(_git_hunks, "PAIRS", 10)
    old = "x\n" + "a\nb\n" * 20 + "y\n"
    new = "x\n" + "b\na\n" * 20 + "y\n"
    (hunk,) = make_hunks(old, new, 1)
    assert hunk.lines[0] == " x\n"
    assert hunk.old_count == 42
    assert apply_hunks([hunk], old) == new


def test_what_texts_share_at_both_ends_is_not_searched(monkeypatch):
    monkeypatch.setattr(_git_hunks, "PAIRS", 0)
    old = "line\n\n" * 1000
    (hunk,) = make_hunks(old, f"{old[:3000]}new\n{old[3000:]}", 3)
    assert hunk.new_count == hunk.old_count + 1 == 7
