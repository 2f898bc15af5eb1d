"""`acpwire`: finds the command, runs it, and turns what goes wrong into one line and an exit status.

`agent` comes first: it needs neither the extra `cli` nor the time that loading it takes.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, cast

from .. import __version__
from ._outcome import CANCELLED, FAILURE, OK, USAGE, UsageError, complain

if TYPE_CHECKING:
    from cyclopts import App

__all__ = ["main"]

_HELP: Final = {
    "demo": """One whole turn between a client and an agent, drawn live.

The client is this process, the agent another one that does what its prompt says (see `acpwire agent --help`). They \
speak version 2 of the protocol over standard input and output. The permission is answered by the demo itself. In a \
pipe it prints plain lines.""",
    "run": """One prompt to any agent, streamed.

Standard output holds the agent's message, standard error the rest: thoughts, tools, plans, permissions. With --json \
standard output holds each update of the turn as it was on the wire, and at last an object of the type `end` with the \
`stopReason`, and `error` if there is one. Ctrl-C cancels the turn, a second one quits.

Exit status: 0 the turn ended by itself; 1 it failed, or the agent could not be started, died, or does not speak the \
protocol; 2 the command line makes no sense; 3 the turn ended early (refusal, max_tokens, ...); 130 it was cancelled.""",
    "fold": """The state that a recording leads to, as JSON.

Each line of FILE is a JSON-RPC message, or an object with the sender in `dir` (`c2a` client, `a2c` agent, `note` for \
a remark) and the message in `msg`, or in `raw` a text that was none. Standard output holds one object: in `sessions` \
what each session shows, by its id, and in `malformed` how many lines held no message. A line that cannot be used is \
named on standard error, and left out.

Exit status: 0 each line could be used; 1 some could not; 2 there is no such file, or it is of version 1 of the \
protocol.""",
}
"""What `--help` says: it stands here so that listing the commands does not load them."""

_EXAMPLES: Final = {
    "": (
        "acpwire demo",
        'acpwire run -p "What is in this folder?" -- my-agent --acp',
        'acpwire run -p "/help" -- acpwire agent',
        "ACPWIRE_LOG=wire acpwire demo    # each frame on standard error",
    ),
    "demo": ("acpwire demo", "acpwire demo | cat"),
    "run": (
        'acpwire run -p "Fix the failing test" -- my-agent --acp',
        "git diff | acpwire run --permission deny -- my-agent",
        'acpwire run --json -p "/plan 3" -- acpwire agent | jq .plan',
    ),
    "fold": (
        "acpwire fold session.ndjson",
        "acpwire fold - < session.ndjson | jq '.sessions[].messages'",
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line, without the program's name; returns the exit status."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        return _dispatch(arguments)
    except KeyboardInterrupt:
        return CANCELLED
    except BrokenPipeError:  # whoever read our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["agent"]:
        from .agent import agent

        return agent(arguments[1:])
    missing = [name for name in ("cyclopts", "rich") if find_spec(name) is None]
    if missing:
        complain("acpwire", f"this command needs {' and '.join(missing)}: pip install 'acpwire[cli]'")
        return FAILURE
    _set_up_streams()
    return _run(arguments)


def _run(arguments: list[str]) -> int:
    from cyclopts import CycloptsError

    name = f"acpwire {arguments[0]}" if arguments and arguments[0] in _HELP else "acpwire"
    try:
        status = _make_app()(arguments, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        complain(name, f"{error} See `{name} --help`")
        return USAGE
    except UsageError as error:
        complain(name, error)
        return USAGE
    return status if isinstance(status, int) else OK


def _make_app() -> App:
    from cyclopts import App

    app = App(
        name="acpwire",
        version=__version__,
        help="The Agent Client Protocol for Python: try agents, and be one.",
        help_epilogue=_examples(""),
        help_format="plaintext",
        result_action="return_value",
    )
    for name, text in _HELP.items():
        app.command(f"acpwire.cli.{name}:{name}", name=name, help=text, help_epilogue=_examples(name))
    app.command(_agent, name="agent")
    return app


def _examples(name: str) -> str:
    return "\n  ".join(("Examples:", *_EXAMPLES[name]))


def _agent() -> int:
    """Be the directive agent on standard input and output: a test double for clients."""
    from .agent import agent

    return agent([])


def _set_up_streams() -> None:
    """What was not meant for people goes nowhere, and no sign of a stranger's is too much for the encoding."""
    if not os.environ.get("ACPWIRE_LOG"):
        log = logging.getLogger("acpwire")
        log.addHandler(logging.NullHandler())
        log.propagate = False
    for stream in (sys.stdout, sys.stderr):
        reconfigure = cast("Callable[..., None] | None", getattr(stream, "reconfigure", None))
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
