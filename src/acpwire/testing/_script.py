"""The directives of `acpwire.testing.directive`: how a line is read, and what each of them does."""

from __future__ import annotations

import asyncio
import re
import sys
from base64 import b64encode
from collections.abc import Awaitable, Callable
from math import isfinite
from typing import Final, TypeAlias, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ..app.tool_call import ToolCall
from ..app.turn import Turn
from ..errors import INTERNAL_ERROR, INVALID_PARAMS, RequestError
from ..protocol.base import wire_name
from ..protocol.ids import PermissionOptionId, SessionId, TerminalId
from ..protocol.v2.content import ContentBlock, TextContent
from ..protocol.v2.diff import Diff, DiffModify, DiffPatch
from ..protocol.v2.methods import BY_NAME, Method
from ..protocol.v2.permission import CommandPermissionSubject, PermissionOption
from ..protocol.v2.plan import PlanEntry
from ..protocol.v2.terminal import TerminalExitStatus, TerminalOutputChunk, TerminalUpdate
from ..protocol.v2.tool_call import Terminal
from ..types import JsonValue, Meta
from ..wire.paths import is_absolute
from ._verbatim import EXIT, LINE

__all__ = ["DIRECTIVES", "Directive", "Script", "Statement"]

_SHAPE: Final = re.compile(r"/([a-z]+)(?:[ \t](.*))?", re.DOTALL)
_NUMBER: Final = re.compile(r"-?[0-9]+")
_UNUSUAL: Final = re.compile(r"[^ !#-\[\]-~]")  # all but printable ASCII without `"` and `\`
_MANY: Final = 10_000_000
_GIGABYTE: Final = 2**30
_STDERR_LINE: Final = "x" * 79 + "\n"

_OPTIONS: Final = tuple(
    PermissionOption(option_id=PermissionOptionId(kind), name=name, kind=kind)
    for kind, name in (
        ("allow_once", "Allow"),
        ("allow_always", "Always allow"),
        ("reject_once", "Reject"),
        ("reject_always", "Always reject"),
    )
)


class Statement:
    """One line that is a directive."""

    __slots__ = ("argument", "name", "number")

    def __init__(self, number: int, name: str, argument: str) -> None:
        self.number = number
        """1-based line of the prompt."""
        self.name = name
        """The directive, without its slash."""
        self.argument = argument
        """All that follows it and one space."""

    def malformed(self, reason: str) -> RequestError:
        """The error that ends the turn: -32602, with the directive and the line."""
        usage = DIRECTIVES[self.name].usage
        message = f"line {self.number}: `/{self.name}`: {reason}; usage: /{self.name} {usage}".rstrip()
        return RequestError(INVALID_PARAMS, message, {"directive": f"/{self.name}", "line": self.number})

    def text(self) -> str:
        """The argument as it is; there must be one."""
        if not self.argument:
            raise self.malformed("an argument is missing")
        return self.argument

    def words(self, least: int, most: int) -> list[str]:
        """The argument's words."""
        words = self.argument.split()
        if len(words) < least:
            raise self.malformed("an argument is missing")
        if len(words) > most:
            raise self.malformed(f"{words[most]!r} is one argument too many")
        return words

    def whole(self, word: str, highest: int, lowest: int = 0) -> int:
        """A whole number within bounds."""
        if not _NUMBER.fullmatch(word) or len(word) > 20 or not lowest <= int(word) <= highest:
            raise self.malformed(f"{word[:40]!r} is no whole number from {lowest} to {highest}")
        return int(word)

    def one_of(self, word: str, *allowed: str) -> str:
        """A word of a closed set."""
        if word not in allowed:
            raise self.malformed(f"{word[:40]!r} is neither {' nor '.join(allowed)}")
        return word

    def json(self, text: str) -> tuple[Raw, JsonValue]:
        """JSON, as it was written and as plain data."""
        data = text.strip().encode()
        if not data:
            raise self.malformed("JSON is missing")
        try:
            return Raw(data), msgspec.json.decode(data)
        except (msgspec.DecodeError, RecursionError) as error:
            raise self.malformed(f"this is no JSON: {error}") from error

    def json_object(self, text: str) -> tuple[Raw, Meta]:
        """A JSON object."""
        raw, value = self.json(text)
        if not isinstance(value, dict):
            raise self.malformed("the JSON is no object")
        return raw, value

    def method_and_json(self) -> tuple[str, Raw]:
        """The name of a method, and its params."""
        method, _, rest = self.text().strip().partition(" ")
        return method, self.json(rest)[0]


class _AnyUpdate(msgspec.Struct, frozen=True, kw_only=True, rename=wire_name, omit_defaults=True):
    session_id: SessionId
    update: Raw
    meta: Meta | None = None


class Script:
    """A prompt at work: its lines, one after the other."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._meta: Meta | None = None
        self._number = 0
        self._stopped = False

    async def perform(self) -> None:
        """Do what the prompt says, until its end or a `/stop`."""
        for block in self._turn.prompt:
            if isinstance(block, TextContent):
                await self._perform_text(block.text)
            else:
                await self._report(block)
            if self._stopped:
                return

    async def _perform_text(self, text: str) -> None:
        plain: list[str] = []
        for line in text.split("\n"):
            self._number += 1
            statement = self._read(line.removesuffix("\r"))
            if isinstance(statement, str):
                plain.append(statement)
                continue
            await self._echo(plain)
            plain = []
            await DIRECTIVES[statement.name].perform(self, statement)
            if self._stopped:
                return
        await self._echo(plain)

    def _read(self, line: str) -> Statement | str:
        found = _SHAPE.fullmatch(line)
        if found is None or found[1] not in DIRECTIVES:
            return line
        return Statement(self._number, found[1], found[2] or "")

    async def _echo(self, lines: list[str]) -> None:
        text = "\n".join(lines)
        if text.strip():
            await self._report(text)

    async def _report(self, content: str | ContentBlock) -> None:
        """Say something as a message of its own."""
        self._turn.new_message()
        await self._turn.say(content, meta=self._take_meta())
        self._turn.new_message()

    def _take_meta(self) -> Meta | None:
        meta, self._meta = self._meta, None
        return meta

    def _take_patch(self) -> Meta | UnsetType:
        meta = self._take_meta()
        return UNSET if meta is None else meta

    def _absolute(self, path: str) -> str:
        if is_absolute(path):
            return path
        return f"{self._turn.session.cwd.rstrip('/')}/{path}"

    # -- messages -----------------------------------------------------------------------------------------

    async def say(self, statement: Statement) -> None:
        """`/say TEXT`."""
        await self._turn.say(statement.text(), meta=self._take_meta())

    async def think(self, statement: Statement) -> None:
        """`/think TEXT`."""
        await self._turn.think(statement.text(), meta=self._take_meta())

    async def burst(self, statement: Statement) -> None:
        """`/burst N [BYTES]`."""
        count, *rest = statement.words(1, 2)
        size = statement.whole(rest[0], _GIGABYTE, 1) if rest else 32
        say = self._turn.say
        for number in range(1, statement.whole(count, _MANY) + 1):
            await say(f"{number:0{size}d}"[-size:], meta=self._take_meta())

    async def help(self, statement: Statement) -> None:
        """`/help`."""
        statement.words(0, 0)
        lines = [f"/{name} {one.usage}".rstrip() + f": {one.help}" for name, one in DIRECTIVES.items()]
        await self._report("\n".join(lines))

    # -- tools and plans ----------------------------------------------------------------------------------

    async def tool(self, statement: Statement) -> None:
        """`/tool NAME [ok|fail]`."""
        name, *rest = statement.words(1, 2)
        failed = bool(rest) and statement.one_of(rest[0], "ok", "fail") == "fail"
        async with self._turn.tool_call(name, name=name, kind="other", meta=self._take_patch()) as call:
            await call.add(f"{name} failed" if failed else f"{name} is done")
            await call.finish("failed" if failed else "completed")

    async def permission(self, statement: Statement) -> None:
        """`/permission [tool|command]`."""
        words = statement.words(0, 1) or ["tool"]
        if statement.one_of(words[0], "tool", "command") == "tool":
            async with self._turn.tool_call("Touch something", kind="edit", meta=self._take_patch()) as call:
                allowed = await self._ask("May the tool run?", call=call)
                await call.finish("completed" if allowed else "cancelled")
        else:
            await self._ask("May this command run?")

    async def _ask(self, title: str, call: ToolCall | None = None) -> bool:
        subject = None
        if call is None:
            subject = CommandPermissionSubject(command="make test", cwd=self._turn.session.cwd)
        answer = await self._turn.request_permission(
            title, tool_call=call, subject=subject, options=_OPTIONS, meta=self._take_meta()
        )
        outcome = "not allowed" if answer.option is None else f"allowed ({answer.option.kind})"
        await self._report(f"permission: {outcome}")
        return answer.allowed

    async def plan(self, statement: Statement) -> None:
        """`/plan N [DONE]`."""
        count, *rest = statement.words(1, 2)
        total = statement.whole(count, 10_000)
        done = statement.whole(rest[0], total) if rest else 0
        entries = [
            PlanEntry(
                content=f"Step {number}",
                priority="medium",
                status="completed" if number <= done else "in_progress" if number == done + 1 and rest else "pending",
            )
            for number in range(1, total + 1)
        ]
        await self._turn.plan(entries, meta=self._take_meta())

    async def diff(self, statement: Statement) -> None:
        """`/diff PATH`."""
        path = self._absolute(statement.text().strip())
        shown = _quoted(path)
        patch = f"diff --git {shown} {shown}\n--- {shown}\n+++ {shown}\n@@ -1 +1 @@\n-old\n+new\n"
        change = DiffModify(path=path, file_type="text")
        diff = Diff(changes=(change,), patch=DiffPatch(format="git_patch", text=patch))
        async with self._turn.tool_call(f"Edit {path}", kind="edit", meta=self._take_patch()) as call:
            await call.add(diff)

    async def terminal(self, statement: Statement) -> None:
        """`/terminal TEXT`."""
        text = statement.text()
        terminal_id = TerminalId(self._turn.session.next_id("term"))
        async with self._turn.tool_call("Run a command", kind="execute", meta=self._take_patch()) as call:
            await self._turn.update(
                TerminalUpdate(terminal_id=terminal_id, command=f"echo {text}", cwd=self._turn.session.cwd)
            )
            await call.add(Terminal(terminal_id=terminal_id))
            data = b64encode(f"{text}\r\n".encode()).decode()
            await self._turn.update(TerminalOutputChunk(terminal_id=terminal_id, data=data))
            status = TerminalExitStatus(exit_code=0)
            await self._turn.update(TerminalUpdate(terminal_id=terminal_id, exit_status=status))

    # -- how the turn goes --------------------------------------------------------------------------------

    async def sleep(self, statement: Statement) -> None:
        """`/sleep SECONDS`."""
        (word,) = statement.words(1, 1)
        try:
            seconds = float(word)
        except ValueError:
            seconds = -1.0
        if not isfinite(seconds) or seconds < 0:
            raise statement.malformed(f"{word[:40]!r} is no number of seconds")
        await asyncio.sleep(seconds)

    async def fail(self, statement: Statement) -> None:
        """`/fail [CODE] [TEXT]`."""
        text = statement.argument.strip()
        code = INTERNAL_ERROR
        first, _, rest = text.partition(" ")
        if _NUMBER.fullmatch(first):
            code, text = statement.whole(first, 2**31 - 1, -(2**31)), rest.strip()
        raise RequestError(code, text or "This turn was told to fail")

    async def stop(self, statement: Statement) -> None:
        """`/stop REASON`."""
        (reason,) = statement.words(1, 1)
        self._turn.stop(reason)
        self._stopped = True

    async def meta(self, statement: Statement) -> None:
        """`/meta JSON`."""
        self._meta = statement.json_object(statement.argument)[1]

    # -- the wire and the process -------------------------------------------------------------------------

    async def update(self, statement: Statement) -> None:
        """`/update JSON`."""
        raw, _ = statement.json_object(statement.argument)
        params = _AnyUpdate(session_id=self._turn.session_id, update=raw, meta=self._take_meta())
        await self._turn.client.connection.send_update(params)

    async def notify(self, statement: Statement) -> None:
        """`/notify METHOD JSON`."""
        method, params = statement.method_and_json()
        if method in (LINE, EXIT):
            raise statement.malformed(f"{method} is never sent")
        # The typed call takes any name, and what is encoded need not be a struct.
        await self._turn.client.connection.tell(_row(method), cast("msgspec.Struct", params))

    async def request(self, statement: Statement) -> None:
        """`/request METHOD JSON`."""
        method, params = statement.method_and_json()
        connection = self._turn.client.connection
        try:
            if any((side, method) in BY_NAME for side in ("agent", "client", "both")) or method.startswith("$/"):
                result: JsonValue = await connection.call(_row(method), cast("msgspec.Struct", params))
            else:
                result = await connection.request(method, cast("JsonValue", params))
        except RequestError as error:
            await self._report(f"error {error.code}: {error.message}")
        else:
            await self._report(f"result: {msgspec.json.encode(result).decode()}")

    async def raw(self, statement: Statement) -> None:
        """`/raw TEXT`."""
        await self._turn.notify(LINE, {"text": statement.text()})

    async def stderr(self, statement: Statement) -> None:
        """`/stderr BYTES`."""
        (word,) = statement.words(1, 1)
        count = statement.whole(word, _GIGABYTE)
        for _ in range(count // len(_STDERR_LINE)):
            sys.stderr.write(_STDERR_LINE)
        sys.stderr.write(_STDERR_LINE[len(_STDERR_LINE) - count % len(_STDERR_LINE) :])
        sys.stderr.flush()

    async def exit(self, statement: Statement) -> None:
        """`/exit CODE`."""
        (word,) = statement.words(1, 1)
        await self._turn.notify(EXIT, {"code": statement.whole(word, 255)})
        await asyncio.get_running_loop().create_future()  # whatever stands behind it is never done


Perform: TypeAlias = Callable[[Script, Statement], Awaitable[None]]


class Directive(msgspec.Struct, frozen=True):
    """One row of the table."""

    usage: str
    """Its arguments."""
    help: str
    """What it does, for people."""
    perform: Perform
    """Does it."""


DIRECTIVES: Final[dict[str, Directive]] = {
    "say": Directive("TEXT", "append a chunk to the agent's message", Script.say),
    "think": Directive("TEXT", "append a chunk to the agent's thought", Script.think),
    "tool": Directive("NAME [ok|fail]", "report a tool call that succeeds or fails", Script.tool),
    "permission": Directive("[tool|command]", "ask for permission, and say what was answered", Script.permission),
    "plan": Directive("N [DONE]", "show a plan of N steps, the first DONE of them completed", Script.plan),
    "diff": Directive("PATH", "report a tool call that shows a diff of this file", Script.diff),
    "terminal": Directive("TEXT", "report a tool call with a terminal that prints this text", Script.terminal),
    "sleep": Directive("SECONDS", "wait", Script.sleep),
    "fail": Directive("[CODE] [TEXT]", "end the turn with this error", Script.fail),
    "stop": Directive("REASON", "end the turn with this stop reason", Script.stop),
    "update": Directive("JSON", "send this object as a session update, untouched", Script.update),
    "meta": Directive("JSON", "give the next update this metadata", Script.meta),
    "request": Directive("METHOD JSON", "send a request to the client, and say what was answered", Script.request),
    "notify": Directive("METHOD JSON", "send a notification to the client", Script.notify),
    "raw": Directive("TEXT", "put this line on the wire", Script.raw),
    "burst": Directive("N [BYTES]", "append N chunks of BYTES bytes to the agent's message", Script.burst),
    "stderr": Directive("BYTES", "write so many bytes to standard error", Script.stderr),
    "exit": Directive("CODE", "end the process with this status", Script.exit),
    "help": Directive("", "say what there is", Script.help),
}
"""Every directive, by its name."""


def _row(method: str) -> Method:
    """A row for a method of any name: its params are not looked at, and its result is any JSON."""
    return Method(name=method, side="client", params=msgspec.Struct, result=cast("type[msgspec.Struct]", object))


def _quoted(path: str) -> str:
    """A path as Git writes it in a patch (DIFF-08)."""
    if not _UNUSUAL.search(path):
        return path
    return '"' + _UNUSUAL.sub(_escape, path) + '"'


_ESCAPES: Final = {"\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def _escape(found: re.Match[str]) -> str:
    sign = found[0]
    return _ESCAPES.get(sign) or "".join(f"\\{byte:03o}" for byte in sign.encode())
