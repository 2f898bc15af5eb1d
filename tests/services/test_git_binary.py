from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpwire.services import _git_binary
from acpwire.services._git_binary import BinaryHunk, apply_binary, write_literal


def parsed(text: str) -> BinaryHunk:
    head, *lines, blank = text.removesuffix("\n").split("\n")
    assert blank == ""
    method, size = head.split(" ")
    return BinaryHunk(method=method, size=int(size), lines=tuple(lines))


def delta(data: bytes) -> BinaryHunk:
    hunk = parsed("".join(write_literal(data)))
    return BinaryHunk(method="delta", size=hunk.size, lines=hunk.lines)


@given(st.binary(max_size=400))
def test_a_literal_reads_back(data):
    assert apply_binary(parsed("".join(write_literal(data))), b"whatever was there") == data


def test_a_delta_copies_and_inserts():
    old = bytes(range(256)) * 2
    made = delta(b"\x80\x04" + b"\x0a" + b"\x91\x03\x04" + b"\x03xyz" + b"\xb3\x00\x01\x03\x00")
    assert apply_binary(made, old) == old[3:7] + b"xyz" + old[256:259]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x01\x01\x00", "damaged"),
        (b"\x02\x01\x01x", "other contents"),
        (b"\x01\x05\x01x", "another size"),
        (b"\x01\x01\x02xy", "damaged"),
        (b"\x01\x01\x81", "too soon"),
        (b"", "too soon"),
    ],
)
def test_a_damaged_delta_is_refused(data, reason):
    with pytest.raises(ValueError, match=reason):
        apply_binary(delta(data), b"o")


@pytest.mark.parametrize(
    "hunk",
    [
        BinaryHunk(method="literal", size=1, lines=("Azzzzz",)),
        BinaryHunk(method="literal", size=1, lines=("z00000",)),
        BinaryHunk(method="literal", size=1, lines=("A\x00\x00\x00\x00\x00",)),
        BinaryHunk(method="literal", size=1, lines=()),
    ],
)
def test_a_damaged_literal_is_refused(hunk):
    with pytest.raises(ValueError):
        apply_binary(hunk, b"")


def test_what_unfolds_to_more_than_it_says_is_refused():
    hunk = parsed("".join(write_literal(bytes(1000))))
    with pytest.raises(ValueError, match="another size"):
        apply_binary(BinaryHunk(method="literal", size=999, lines=hunk.lines), b"")


def test_what_is_too_large_is_not_unfolded(monkeypatch):
    monkeypatch.setattr(_git_binary, "LIMIT", 999)
    monkeypatch.setattr(zlib, "decompressobj", None)
    with pytest.raises(ValueError, match="too large"):
        apply_binary(parsed("".join(write_literal(bytes(1000)))), b"")
