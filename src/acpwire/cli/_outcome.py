"""How a command ends: its exit status, and the one line that says what went wrong."""

from __future__ import annotations

import sys
from typing import Final

from ._text import one_line

__all__ = ["CANCELLED", "FAILURE", "LIMITED", "OK", "USAGE", "UsageError", "complain", "status_of"]

OK: Final = 0
"""The turn ended by itself: `end_turn`, or an agent that does not say why."""

FAILURE: Final = 1
"""The turn ended as `error`, or the agent could not be started, died, or does not speak the protocol."""

USAGE: Final = 2
"""The command line makes no sense."""

LIMITED: Final = 3
"""The turn ended early: `refusal`, `max_tokens`, `max_turn_requests`, or a reason that is not known here."""

CANCELLED: Final = 130
"""The turn was cancelled, or the command interrupted."""

_STATUSES: Final = {None: OK, "end_turn": OK, "error": FAILURE, "cancelled": CANCELLED}


class UsageError(Exception):
    """The command line makes no sense; the text says what, in one line."""


def status_of(stop_reason: str | None) -> int:
    """The exit status for a stop reason.

    >>> status_of("end_turn"), status_of("refusal"), status_of("cancelled")
    (0, 3, 130)
    """
    return _STATUSES.get(stop_reason, LIMITED)


def complain(command: str, text: object) -> None:
    """Write one line to standard error, whatever the text holds."""
    sys.stderr.write(f"{command}: {one_line(str(text))}\n")
    sys.stderr.flush()
