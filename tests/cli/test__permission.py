"""Which answer a permission request gets."""

from __future__ import annotations

import io

import msgspec
import pytest

from acpwire.app.permission import PermissionRequest
from acpwire.cli._output import Output
from acpwire.cli._permission import Desk, Keyboard
from acpwire.protocol.decode import decoder
from acpwire.protocol.v2.permission import RequestPermissionRequest
from acpwire.state.session import SessionState

KINDS = ("reject_once", "allow_always", "allow_once")


class Typist(Keyboard):
    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.forgot = 0

    def forget(self) -> None:
        self.forgot += 1

    async def read(self) -> str:
        return self.lines.pop(0)


def request(kinds: tuple[str, ...] = KINDS, **more: object) -> PermissionRequest:
    options = [{"optionId": f"id-{kind}", "name": f"Name {kind}", "kind": kind} for kind in kinds]
    plain = {"sessionId": "s", "title": "May I?", "options": options, **more}
    return PermissionRequest(decoder(RequestPermissionRequest)(msgspec.json.encode(plain)), SessionState("s"))


@pytest.mark.parametrize(
    ("mode", "kinds", "typed", "chosen"),
    [
        pytest.param("allow", KINDS, [], "id-allow_once", id="allow-once-first"),
        pytest.param("allow", KINDS[:2], [], "id-allow_always", id="allow-always-else"),
        pytest.param("allow", KINDS[:1], [], None, id="nothing-allows"),
        pytest.param("allow", ("_own",), [], None, id="an-unknown-kind-is-not-chosen"),
        pytest.param("deny", KINDS, [], "id-reject_once", id="reject-once"),
        pytest.param("deny", ("reject_always", "allow_once"), [], None, id="never-for-always"),
        pytest.param("ask", KINDS, ["2\n"], "id-allow_always", id="asked"),
        pytest.param("ask", KINDS, ["0\n", "4\n", "yes\n", "١٢\n", " 1 \n"], "id-reject_once", id="asked-again"),
        pytest.param("ask", KINDS, ["\n"], None, id="declined"),
        pytest.param("ask", KINDS, [""], None, id="end-of-input"),
    ],
)
@pytest.mark.req("PERM-15", "PERM-17")
async def test_a_request_is_answered(mode: str, kinds: tuple[str, ...], typed: list[str], chosen: str | None) -> None:
    typist, notes = Typist(*typed), io.StringIO()
    outcome = await Desk(mode, Output(io.StringIO(), notes), typist).answer(request(kinds), None)
    assert getattr(outcome, "option_id", None) == chosen
    assert not typist.lines
    assert typist.forgot == (mode == "ask")
    last = "cancelled" if chosen is None else chosen.replace("id-", "Name ")
    assert notes.getvalue().splitlines()[-1] == f"permission: May I?: {last}"


@pytest.mark.req("SEC-14", "SEC-02")
async def test_the_question_shows_the_command_as_it_will_run_and_nothing_that_hides_it() -> None:
    notes = io.StringIO()
    subject = {"type": "command", "command": "rm -rf x\x1b[8m\nnext", "cwd": "/home"}
    asked = request(KINDS, subject=subject, description="because\r")
    await Desk("ask", Output(io.StringIO(), notes), Typist("")).answer(asked, None)
    assert notes.getvalue().splitlines()[:5] == [
        "permission: May I? `rm -rf x\\x1b[8m / next` in /home",
        "  because",
        "  1. Name reject_once",
        "  2. Name allow_always",
        "  3. Name allow_once",
    ]
