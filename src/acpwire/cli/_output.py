"""What a turn looks like in plain text: the agent's messages to one stream, everything else in lines to another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TextIO

from ..protocol.ids import MessageId, TerminalId, ToolCallId
from ..protocol.open import Unknown
from ..protocol.v2.content import ContentBlock, TextContent
from ..protocol.v2.diff import Diff, DiffChange
from ..protocol.v2.message import AgentMessage, AgentMessageChunk, AgentThought, AgentThoughtChunk
from ..protocol.v2.notice import Notice
from ..protocol.v2.plan import PlanItems, PlanUpdate
from ..protocol.v2.terminal import TerminalUpdate
from ..protocol.v2.tool_call import Content, Terminal, ToolCallContent, ToolCallContentChunk, ToolCallUpdate
from ..protocol.v2.update import SessionUpdate
from ..state.session import SessionState
from ._text import one_line, printable

__all__ = ["MARKS", "Output", "describe_block", "describe_content"]

MARKS: Final = {"completed": "x", "in_progress": ">", "failed": "!", "cancelled": "-"}
"""The sign of a status; a space for all others."""

_TERMINAL_LINES: Final = 20


class Output:
    """Prints one turn.

    Args:
        result: where the agent's messages go.
        notes: where the rest goes; may be the same.
    """

    def __init__(self, result: TextIO, notes: TextIO) -> None:
        self._result = result
        self._notes = notes
        self._shared = result is notes or (result.isatty() and notes.isatty())
        self._at_start = True  # of a line of the result
        self._message: MessageId | None = None
        self._printed: dict[MessageId, list[str]] = {}
        self._thought: list[str] = []
        self._statuses: dict[ToolCallId, object] = {}
        self._exited: set[TerminalId] = set()

    def note(self, text: str) -> None:
        """Print lines about what happens."""
        if self._shared and not self._at_start:
            self._write("\n")
        for line in printable(text).split("\n"):
            self._notes.write(f"{line}\n")
        self._notes.flush()

    def finish(self) -> None:
        """End the last line."""
        self._end_thought()
        if not self._at_start:
            self._write("\n")

    def show(self, update: SessionUpdate | Unknown, state: SessionState) -> None:
        """Print what there is to say about an update; the state has it already."""
        if isinstance(update, AgentThoughtChunk):
            self._thought.append(_text_of([update.content]))
            return
        self._end_thought()
        match update:
            case AgentMessageChunk():
                self._say(update.message_id, _text_of([update.content]))
            case AgentMessage():
                self._replace(update)
            case AgentThought():
                self.note(f"thought: {_text_of(update.content or ())}")
            case ToolCallUpdate():
                self._show_tool_call(update, state)
            case ToolCallContentChunk():
                self.note(f"  {describe_content(update.content)}")
            case TerminalUpdate():
                self._show_terminal(update, state)
            case PlanUpdate():
                self._show_plan(update)
            case Notice() | Unknown():
                self._show_rest(update)
            case _:  # states, options, usage: nothing that a reader waits for
                pass

    def _write(self, text: str) -> None:
        self._result.write(text)
        self._result.flush()
        self._at_start = text.endswith("\n")

    def _say(self, message_id: MessageId, text: str) -> None:
        if not text:
            return
        if message_id != self._message and not self._at_start:
            self._write("\n")
        self._message = message_id
        self._printed.setdefault(message_id, []).append(text)
        self._write(printable(text))

    def _replace(self, update: AgentMessage) -> None:
        text = _text_of(update.content or ())
        if text != "".join(self._printed.pop(update.message_id, [])):
            self._message = None
            self._say(update.message_id, text)

    def _end_thought(self) -> None:
        if self._thought:
            self.note(f"thought: {''.join(self._thought)}")
            self._thought = []

    def _show_tool_call(self, update: ToolCallUpdate, state: SessionState) -> None:
        call = state.tool_calls.get(update.tool_call_id)
        status = update.status if isinstance(update.status, str) else self._statuses.get(update.tool_call_id, "pending")
        if call is not None and status != self._statuses.get(update.tool_call_id):
            self._statuses[update.tool_call_id] = status
            self.note(one_line(f"tool [{MARKS.get(str(status), ' ')}] {call.title or call.name or 'a tool'}: {status}"))
        for item in update.content or ():
            self.note(f"  {describe_content(item)}")

    def _show_terminal(self, update: TerminalUpdate, state: SessionState) -> None:
        terminal = state.terminals.get(update.terminal_id)
        if terminal is None or not terminal.exited or update.terminal_id in self._exited:
            return
        self._exited.add(update.terminal_id)
        self.note(f"  $ {one_line(terminal.command or '')}")
        lines = terminal.transcript.rstrip("\n").split("\n")
        for line in lines[-_TERMINAL_LINES:]:
            self.note(f"  | {line}")
        status = terminal.exit_status
        if status is not None:
            self.note(f"  exit {status.exit_code if status.signal is None else one_line(status.signal)}")

    def _show_plan(self, update: PlanUpdate) -> None:
        if isinstance(update.plan, PlanItems):
            self.note("plan")
            for entry in update.plan.entries:
                self.note(f"  [{MARKS.get(entry.status, ' ')}] {one_line(entry.content)}")

    def _show_rest(self, update: Notice | Unknown) -> None:
        if isinstance(update, Unknown):
            self.note(f"update of a kind not known here: {one_line(update.tag)}")
        else:
            self.note(f"{one_line(update.severity)}: {one_line(update.title)}")


def _text_of(content: Iterable[ContentBlock]) -> str:
    return "".join(describe_block(block) for block in content)


def describe_block(block: ContentBlock) -> str:
    """The text of a text block; in brackets what any other one is."""
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, Unknown):
        return f"[{block.tag}]"
    return f"[{block.__struct_config__.tag}]"


def describe_content(item: ToolCallContent) -> str:
    """One item of a tool call's content, in a line or a few."""
    match item:
        case Content():
            return describe_block(item.content)
        case Diff():
            return "\n  ".join(_describe_change(change) for change in item.changes)
        case Terminal():
            return "[terminal]"
        case _:
            return f"[{item.tag}]"


def _describe_change(change: DiffChange) -> str:
    if isinstance(change, Unknown):
        return one_line(f"{change.tag} {change.get('path', '')}")
    return one_line(f"{change.__struct_config__.tag} {change.path}")
