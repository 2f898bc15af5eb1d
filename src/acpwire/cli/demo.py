"""`acpwire demo`: a client and the directive agent as two processes, and one whole turn between them."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.text import Text

from .. import __version__
from ..app.client import Client
from ..app.context import ClientContext
from ..app.permission import PermissionRequest
from ..app.prompt_turn import PromptTurn
from ..errors import AcpwireError
from ..protocol.open import Unknown
from ..protocol.v2.diff import Diff
from ..protocol.v2.permission import RequestPermissionOutcome, SelectedPermissionOutcome
from ..protocol.v2.plan import PlanItems
from ..protocol.v2.tool_call import Terminal, ToolCallContent
from ..protocol.v2.update import SessionUpdate
from ..state.message import Message
from ..state.session import SessionState
from ..state.tool_call import ToolCall
from ._outcome import FAILURE, complain, status_of
from ._output import MARKS, Output, describe_content
from ._text import one_line, printable

__all__ = ["demo"]

SCRIPT = """\
/think The greeting has no test yet. I will read it, change it, and run the tests.
/plan 3 0
/tool read_greeting
/plan 3 1
/permission tool
/diff src/greeting.py
/plan 3 2
/terminal 12 passed in 0.31s
/plan 3 3
/say The greeting is friendlier now, and its tests pass.
"""

PAUSE = 0.35
"""Seconds between two steps where somebody watches."""

_STYLES = {"completed": "green", "failed": "red", "cancelled": "yellow", "in_progress": "cyan"}


def demo() -> int:
    """Show one whole turn: plan, tool calls, permission, diff and terminal; returns the exit status."""
    return asyncio.run(_play(Console(highlight=False)))


async def _play(console: Console) -> int:
    client = Client("acpwire-demo", version=__version__)
    view: View = LiveView(console) if console.is_terminal else View()
    client.permission(view.decide)
    try:
        async with client.connect([sys.executable, "-m", "acpwire", "agent"]):
            session = await client.new_session(Path.cwd())
            view.state = session.state
            async with session.prompt(_script(console.is_terminal)) as turn:
                with view.screen():
                    async for update in turn:
                        view.show(update)
            view.summarize(turn)
    except AcpwireError as error:
        complain("acpwire demo", error)
        return FAILURE
    return status_of(turn.stop_reason)


def _script(slowly: bool) -> str:
    return SCRIPT.replace("\n", f"\n/sleep {PAUSE}\n").removesuffix("\n") if slowly else SCRIPT


class View:
    """The demo as plain lines, for a pipe."""

    def __init__(self) -> None:
        self.state = SessionState("")
        """What is shown; the session's own, once there is one."""
        self.answers: list[str] = []
        """How each permission request was answered."""
        self._output = Output(sys.stdout, sys.stdout)
        self.updates = 0
        """How many came."""

    async def decide(self, request: PermissionRequest, _context: ClientContext) -> RequestPermissionOutcome:
        """Allow once, and say so."""
        outcome = request.choose("allow_once")
        chosen = outcome.option_id if isinstance(outcome, SelectedPermissionOutcome) else "cancelled"
        self.answers.append(one_line(f"permission: {request.title} The demo answers {chosen}"))
        self.answered()
        return outcome

    def answered(self) -> None:
        """A permission request was answered."""
        self._output.note(self.answers[-1])

    def screen(self) -> AbstractContextManager[object]:
        """Where the turn is shown while it runs."""
        return nullcontext()

    def show(self, update: SessionUpdate | Unknown) -> None:
        """An update came; the state has it."""
        self.updates += 1
        self.draw(update)

    def draw(self, update: SessionUpdate | Unknown) -> None:
        """Show an update."""
        self._output.show(update, self.state)

    def summarize(self, turn: PromptTurn) -> None:
        """Say what happened, out of the session's state."""
        self._output.finish()
        for line in self.summary(turn):
            self._output.note(line)

    def summary(self, turn: PromptTurn) -> Iterator[str]:
        """The lines of the summary."""
        statuses = Counter(call.status for call in self.state.tool_calls.values())
        calls = ", ".join(f"{count} {one_line(status)}" for status, count in statuses.items())
        kinds = Counter(message.type for message in self.state.messages)
        messages = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        yield f"updates      {self.updates}"
        yield f"messages     {len(self.state.messages)} ({messages})"
        yield f"tool calls   {len(self.state.tool_calls)} ({calls})"
        yield f"stop reason  {one_line(turn.stop_reason or 'not reported')}"


class LiveView(View):
    """The demo on a terminal: the session as its state shows it, drawn again at each update."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="visible")

    def answered(self) -> None:
        """A permission request was answered."""
        self._draw()

    def screen(self) -> AbstractContextManager[object]:
        """Where the turn is shown while it runs."""
        return self._live

    def draw(self, update: SessionUpdate | Unknown) -> None:  # noqa: ARG002 - all is in the state
        """Show the state after an update."""
        self._draw()

    def summarize(self, turn: PromptTurn) -> None:
        """Say what happened, out of the session's state."""
        self._console.print()
        for line in self.summary(turn):
            self._console.print(Text(line, "bold"))

    def _draw(self) -> None:
        self._live.update(Group(*self._parts()), refresh=True)

    def _parts(self) -> Iterator[RenderableType]:
        for plan in self.state.plans.values():
            if isinstance(plan.content, PlanItems):
                yield Text("plan", "bold")
                for step in plan.content.entries:
                    yield Text(f"  {_mark(step.status)} {one_line(step.content)}", _STYLES.get(step.status, ""))
        for entry in self.state.timeline:
            if isinstance(entry, ToolCall):
                yield from self._draw_call(entry)
            elif isinstance(entry, Message) and entry.type != "user_message":
                yield Text(printable(entry.text), "italic dim" if entry.type == "agent_thought" else "")
        for answer in self.answers:
            yield Text(answer, "magenta")
        yield Text(one_line(self.state.activity), "dim")

    def _draw_call(self, call: ToolCall) -> Iterator[RenderableType]:
        title = one_line(call.title or call.name or "a tool")
        yield Text(f"{_mark(call.status)} {title}", _STYLES.get(call.status, ""))
        for item in call.content:
            yield Padding(self._draw_content(item), (0, 0, 0, 4))

    def _draw_content(self, item: ToolCallContent) -> RenderableType:
        if isinstance(item, Diff) and item.patch is not None:
            return Text("\n").join(_draw_patch_line(line) for line in printable(item.patch.text).rstrip().split("\n"))
        if isinstance(item, Terminal):
            terminal = self.state.terminals.get(item.terminal_id)
            if terminal is not None:
                return Text(
                    f"$ {one_line(terminal.command or '')}\n{printable(terminal.transcript.rstrip())}", "on grey11"
                )
        return Text(printable(describe_content(item)))


def _mark(status: str) -> str:
    return f"[{MARKS.get(status, ' ')}]"


def _draw_patch_line(line: str) -> Text:
    style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")
    return Text(line, style)
