"""Lines that are no messages, in their place among the others."""

from __future__ import annotations

import msgspec

from acpwire.testing._verbatim import EXIT, LINE, VerbatimTransport
from acpwire.transports import memory


def notification(method: str, params: object) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "method": method, "params": params})


async def test_a_line_takes_the_place_of_its_notification() -> None:
    ours, theirs = memory.pair()
    transport = VerbatimTransport(ours, None)
    other = notification("_x", {"about": LINE})
    await transport.send([other, notification(LINE, {"text": 'no "json" ü'}), other])
    await transport.send([b"{}"])
    await transport.aclose()
    got: list[object] = []
    while frames := await theirs.receive():
        got += frames
    assert got == [other, 'no "json" ü'.encode(), other, b"{}"]


async def test_an_exit_comes_after_what_was_sent_before_it_and_nothing_comes_after() -> None:
    ours, theirs = memory.pair()
    statuses: list[int] = []
    await VerbatimTransport(ours, statuses.append).send([b"1", notification(EXIT, {"code": 7}), b"2"])
    assert statuses == [7]
    assert await theirs.receive() == [b"1"]
    assert not await theirs.receive()


async def test_all_else_is_the_other_transport() -> None:
    ours, theirs = memory.pair()
    transport = VerbatimTransport(ours, None)
    assert transport.describe() == ours.describe()
    await theirs.send([b"{}"])
    assert await transport.receive() == [b"{}"]
    await theirs.aclose()
    assert not await transport.receive()
    assert transport.closed_error() == ours.closed_error()
