"""What an exit status says."""

from __future__ import annotations

import pytest

from acpwire.cli._outcome import complain, status_of


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("end_turn", 0),
        (None, 0),
        ("error", 1),
        ("refusal", 3),
        ("max_tokens", 3),
        ("max_turn_requests", 3),
        ("_own", 3),
        ("cancelled", 130),
    ],
)
def test_each_stop_reason_has_a_status(reason: str | None, status: int) -> None:
    assert status_of(reason) == status


def test_a_complaint_is_one_line_whatever_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    complain("acpwire run", "one\n two \x1b[2J\n")
    assert capsys.readouterr().err == "acpwire run: one / two \\x1b[2J\n"
