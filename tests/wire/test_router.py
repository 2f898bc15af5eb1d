"""The agent's side of `initialize`: which version, and from when on requests are served."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acpwire.errors import RequestError
from acpwire.wire.router import Gate, read_initialize

INFO = {"name": "c", "version": "1"}


def code_of(action: Any, *arguments: Any) -> int | None:
    try:
        action(*arguments)
    except RequestError as error:
        return error.code
    return None


def test_the_gate_is_a_machine_of_three_states() -> None:
    gate = Gate()
    assert code_of(gate.admit, "session/new") == -32600  # closed
    assert code_of(gate.begin) is None
    assert code_of(gate.begin) == -32600  # opening
    assert code_of(gate.admit, "session/new") == -32600
    gate.end(None)
    assert gate.selected is None
    assert code_of(gate.admit, "session/new") == -32600  # closed again: the attempt failed
    gate.begin()
    gate.end(2)
    assert code_of(gate.begin) is None  # open, and nothing was served yet
    gate.end(None)
    assert gate.selected == 2  # a failed repeat leaves the version in effect
    assert code_of(gate.admit, "session/new") is None
    assert code_of(gate.begin) == -32600  # other requests were served


@pytest.mark.parametrize(
    ("requested", "supported", "current", "outcome"),
    [
        pytest.param(2, (2,), None, 2, id="the same"),
        pytest.param(3, (2,), None, 2, id="a newer one"),
        pytest.param(2.0, (2,), None, 2, marks=pytest.mark.req("DEC-14")),
        pytest.param(65535, (1, 2), None, 2, marks=pytest.mark.req("INIT-09")),
        pytest.param(1, (2,), None, -32022, marks=pytest.mark.req("INIT-10")),
        pytest.param(1, (1, 2), 2, -32600, marks=pytest.mark.req("INIT-17")),
        pytest.param(2, (2,), 2, 2, marks=pytest.mark.req("INIT-15")),
        pytest.param(2.5, (2,), None, -32602, id="a fraction"),
        pytest.param(None, (2,), None, -32602, id="null"),
        pytest.param(False, (2,), None, -32602, marks=pytest.mark.req("INIT-26")),
    ],
)
def test_the_highest_supported_version_at_or_below_the_request_is_selected(
    requested: object, supported: tuple[int, ...], current: int | None, outcome: int
) -> None:
    raw = json.dumps({"protocolVersion": requested, "info": INFO}).encode()
    if outcome < 0:
        assert code_of(read_initialize, raw, supported, current) == outcome
    else:
        assert read_initialize(raw, supported, current).protocol_version == outcome


@pytest.mark.parametrize("info", [None, 5, {}, {"name": "x"}, {"name": 1, "version": "1"}])
@pytest.mark.req("INIT-24", "INIT-25")
def test_a_newer_request_with_bad_info_is_served_and_one_at_the_version_is_not(info: object) -> None:
    def raw(version: int) -> bytes:
        return json.dumps({"protocolVersion": version, "info": info, "capabilities": {"auth": 5}}).encode()

    assert code_of(read_initialize, raw(2), (2,), None) == -32602
    served = read_initialize(raw(3), (2,), None)
    assert (served.info.name, served.info.version) == ("unknown", "unknown")
    assert served.capabilities.auth is None


@pytest.mark.parametrize("raw", [b"[]", b"5", b"null", b"{", b"[" * 100_000])
def test_params_that_are_no_object_are_invalid(raw: bytes) -> None:
    assert code_of(read_initialize, raw, (2,), None) == -32602
