"""Updates as they were on the wire."""

from __future__ import annotations

import json

import pytest

from acpwire.cli._updates import UpdateTap, read_updates
from acpwire.transports import memory

UPDATE = b'{"sessionUpdate":"_x" ,"a":1.0,"b":null}'


def frame(update: bytes = UPDATE, session: str = "s") -> bytes:
    return b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%b","update":%b}}' % (
        session.encode(),
        update,
    )


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(frame(), [("s", UPDATE)], id="one"),
        pytest.param(b"[%b,%b]" % (frame(), frame(session="t")), [("s", UPDATE), ("t", UPDATE)], id="an-array"),
        pytest.param(b"\x1b[1 q" + frame(), [("s", UPDATE)], id="noise-in-front"),
        pytest.param(frame(b'{"t":"\\ud83d"}'), [("s", b'{"t":"\\ud83d"}')], id="half-a-pair"),
        pytest.param(b'{"method":"session/prompt","params":{"session/update":1}}', [], id="another-method"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"result":"session/update"}', [], id="a-response"),
        pytest.param(b'["session/update"]', [], id="no-message"),
        pytest.param(b'"session/update"', [], id="text"),
        pytest.param(b"session/update", [], id="no-json"),
        pytest.param(frame(b'"\xff"'), [], id="broken-utf-8"),
        pytest.param(b"[" * 100_000, [], id="deep"),
    ],
)
def test_updates_are_read_out_of_a_frame(data: bytes, expected: list[tuple[str, bytes]]) -> None:
    found = list(read_updates(data))
    assert [(session, json.loads(update)) for session, update in found] == [
        (session, json.loads(update)) for session, update in expected
    ]


async def test_the_tap_tells_of_the_watched_session_alone_and_changes_nothing() -> None:
    ours, theirs = memory.pair()
    told: list[bytes] = []
    tap = UpdateTap(ours, told.append)
    await theirs.send([frame()])
    assert await tap.receive() == [frame()]
    tap.session_id = "s"
    frames = [frame(), frame(session="t"), b"session/update", b"{}"]
    await theirs.send(frames)
    assert await tap.receive() == frames
    assert told == [UPDATE]
    await tap.send([b"{}"])
    assert await theirs.receive() == [b"{}"]
    assert tap.describe() == ours.describe()
    await theirs.aclose()
    assert not await tap.receive()
    assert tap.closed_error() == ours.closed_error()
    await tap.aclose()
