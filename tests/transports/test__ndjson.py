"""The splitter of lines: however the bytes were cut, the same frames; bounded memory; linear time."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Self

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acpwire.jsonrpc.transport import Frame, Oversized
from acpwire.transports._ndjson import HEAD, Splitter, join


def split(data: bytes, *, limit: int = 1 << 20, step: int = 1 << 20) -> list[Frame]:
    splitter = Splitter(limit)
    frames: list[Frame] = []
    for start in range(0, len(data), step):
        frames += splitter.feed(data[start : start + step])
    return frames + splitter.finish()


def expected(data: bytes, limit: int) -> list[Frame]:
    """The same rules, said slowly: one line at a time, all bytes at hand."""
    frames: list[Frame] = []
    for line in data.split(b"\n"):
        text = line[:-1] if line.endswith(b"\r") else line
        if len(text) > limit:
            frames.append(Oversized(len(text), limit, text[:HEAD]))
        elif text.strip():
            frames.append(text)
    return frames


LINES = [
    pytest.param(b'{"a":1}\n{"b":2}\n', [b'{"a":1}', b'{"b":2}'], id="two lines", marks=pytest.mark.req("TRAN-04")),
    pytest.param(b'{"a":1}\r\n{}\r\n', [b'{"a":1}', b"{}"], id="CRLF", marks=pytest.mark.req("TRAN-04")),
    pytest.param(b"\n\r\n  \n\t\n{}\n\n", [b"{}"], id="blank lines", marks=pytest.mark.req("TRAN-04")),
    pytest.param(b'{}\n{"last":1}', [b"{}", b'{"last":1}'], id="unterminated", marks=pytest.mark.req("TRAN-08")),
    pytest.param(b"{}\r", [b"{}"], id="unterminated with CR", marks=pytest.mark.req("TRAN-08")),
    pytest.param(b"  {}  \n", [b"  {}  "], id="inner bytes are left alone"),
    pytest.param(b"a\rb\n", [b"a\rb"], id="a CR inside is no line end"),
    pytest.param(b"", [], id="nothing"),
]


@pytest.mark.parametrize(("data", "frames"), LINES)
@pytest.mark.parametrize("step", [1, 2, 3, 100])
def test_lines_become_frames(data: bytes, frames: list[bytes], step: int) -> None:
    assert split(data, step=step) == frames


@pytest.mark.req("TRAN-09")
@pytest.mark.parametrize("step", [1, 7, 1000, 100_000])
def test_an_oversized_line_is_replaced_and_the_next_one_arrives(step: int) -> None:
    line = bytes(range(33, 127)) * 100
    frames = split(b"{}\n" + line + b'\r\n{"next":1}\n', limit=2000, step=step)
    assert frames == [b"{}", Oversized(len(line), 2000, line[:HEAD]), b'{"next":1}']


@pytest.mark.parametrize("step", [1, 5, 64])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b""])
def test_the_limit_counts_the_frame_without_its_line_end(step: int, ending: bytes) -> None:
    assert split(b"x" * 10 + ending, limit=10, step=step) == [b"x" * 10]
    assert split(b"x" * 11 + ending, limit=10, step=step) == [Oversized(11, 10, b"x" * 11)]


@given(
    data=st.lists(st.sampled_from([b"\n", b"\r", b" ", b"{}", b"x" * 5, "é🙂".encode(), b"y" * 9])).map(b"".join),
    cuts=st.lists(st.integers(0, 60)),
    limit=st.integers(1, 20),
)
@example(data=b"x" * 11 + b"\r\n", cuts=[11, 12], limit=10)
@example(data=b"x" * 10 + b"\r\n", cuts=[11], limit=10)
def test_any_chunking_of_any_bytes_yields_the_same_frames(data: bytes, cuts: list[int], limit: int) -> None:
    splitter = Splitter(limit)
    frames: list[Frame] = []
    for start, end in pairwise([0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]):
        frames += splitter.feed(data[start:end])
    assert frames + splitter.finish() == expected(data, limit)


@given(data=st.binary(max_size=300), step=st.integers(1, 40), limit=st.sampled_from([3, 50, 1 << 20]))
def test_arbitrary_bytes_follow_the_same_rules(data: bytes, step: int, limit: int) -> None:
    assert split(data, step=step, limit=limit) == expected(data, limit)


def test_an_endless_line_is_held_in_bounded_memory() -> None:
    splitter = Splitter(1 << 16)
    for _ in range(2000):
        assert splitter.feed(b"x" * 4096) == []
    assert sys.getsizeof(splitter._held) <= 1 << 17
    (frame,) = splitter.feed(b"\n")
    assert frame == Oversized(2000 * 4096, 1 << 16, b"x" * HEAD)


def test_a_line_in_many_pieces_is_not_copied_for_each_piece() -> None:
    class Counting(bytearray):
        grown = 0

        def __iadd__(self, part: object) -> Self:
            Counting.grown += len(part)  # type: ignore[arg-type]
            return super().__iadd__(part)  # type: ignore[arg-type, return-value]

    splitter = Splitter()
    splitter._held = Counting()
    for _ in range(3000):
        splitter.feed(b"x" * 100)
    (frame,) = splitter.feed(b"\n")
    assert len(frame) == Counting.grown == 300_000  # type: ignore[arg-type]


@given(st.lists(st.binary(min_size=1, max_size=20).filter(lambda b: b"\n" not in b and b"\r" not in b and b.strip())))
def test_what_is_joined_is_split_again(frames: list[bytes]) -> None:
    assert split(join(frames)) == frames
