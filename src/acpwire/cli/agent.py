"""`acpwire agent`: the directive agent on stdio. It needs no extra, and loads none, for clients wait for its answer."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["HELP", "agent"]

HELP = """Usage: acpwire agent

An agent that does what the prompt says, on standard input and output: a test double for clients in any language.
A prompt of the one line `/help` lists what it can do; other lines are echoed.

Examples:
  acpwire run -p "/say hello" -- acpwire agent
  my-client --agent "acpwire agent"
"""


def agent(arguments: Sequence[str]) -> int:
    """Be the agent until the client is gone; returns the exit status."""
    if arguments and arguments[0] in ("-h", "--help"):
        sys.stdout.write(HELP)
        return 0
    if arguments:
        sys.stderr.write(f"acpwire agent: takes no argument, not {arguments[0]!r}; see `acpwire agent --help`\n")
        return 2
    from ..testing.directive import run

    run()
    return 0
