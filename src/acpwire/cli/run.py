"""`acpwire run`: one prompt to any agent, streamed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter

from .. import __version__
from ..app.client import Client
from ..app.prompt_turn import PromptTurn
from ..app.session import Session
from ..errors import AcpwireError, ErrorObject, StartTimeout
from ..protocol.open import Unknown
from ..protocol.v2.update import SessionUpdate
from ..transports.stdio import spawn
from ..types import JsonValue
from ..wire.options import Options
from ._outcome import CANCELLED, FAILURE, UsageError, complain, status_of
from ._output import Output
from ._permission import Desk, Mode
from ._text import printable_json
from ._updates import UpdateTap

__all__ = ["run"]

CANCEL_PATIENCE = 10.0
"""Seconds that an agent gets to confirm a cancel."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks for."""

    command: tuple[str, ...]
    prompt: str
    json: bool
    mode: Mode
    cwd: str
    start_timeout: float


def run(
    *command: Annotated[str, Parameter(help="The agent and its arguments, behind `--`.")],
    prompt: Annotated[
        str | None,
        Parameter(name=["--prompt", "-p"], help="The prompt; without it standard input is read, unless a terminal."),
    ] = None,
    json: Annotated[bool, Parameter(negative="", help="Print one JSON object a line.")] = False,
    permission: Annotated[
        Mode | None,
        Parameter(help="What happens to permission requests; `ask` on a terminal and `deny` without one."),
    ] = None,
    cwd: Annotated[Path | None, Parameter(help="The directory of the session; the current one by default.")] = None,
    protocol: Annotated[Literal[1, 2], Parameter(help="The version of the protocol.")] = 2,
    start_timeout: Annotated[float, Parameter(help="Seconds for the agent to answer at first.")] = 60.0,
) -> int:
    """Send one prompt to any agent, and print what it says as it comes; returns the exit status.

    Raises:
        UsageError: the command line makes no sense.
    """
    if protocol == 1:
        raise UsageError("version 1 of the protocol is not supported yet; leave `--protocol` out")
    if not command:
        raise UsageError("the agent's command is missing: acpwire run [OPTIONS] -- COMMAND")
    if not start_timeout > 0:
        raise UsageError("--start-timeout takes a number of seconds above 0")
    place = Path.cwd() if cwd is None else cwd.expanduser().absolute()
    if not place.is_dir():
        raise UsageError(f"--cwd {place} is not a directory")
    request = Request(
        command=command,
        prompt=_read_prompt(prompt),
        json=json,
        mode=_choose_mode(permission),
        cwd=os.fspath(place),
        start_timeout=start_timeout,
    )
    return asyncio.run(Run(request).run())


def _read_prompt(given: str | None) -> str:
    if given is None and sys.stdin.isatty():
        raise UsageError("the prompt is missing: give it with -p, or on standard input")
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if given is None else given
    if not text.strip():
        raise UsageError("the prompt is empty")
    return text


def _choose_mode(given: Mode | None) -> Mode:
    terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if given == "ask" and not terminal:
        raise UsageError("--permission ask needs a terminal on standard input and standard error")
    return given or ("ask" if terminal else "deny")


class Run:
    """One run of the command."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._output = Output(sys.stdout, sys.stderr)
        self._interrupt = Interrupt(self._output)
        self._broken: BrokenPipeError | None = None  # once nobody reads our output any more

    async def run(self) -> int:
        """Do it; returns the exit status."""
        with self._interrupt:
            try:
                return await self._converse()
            except asyncio.CancelledError:
                if self._broken is not None:
                    raise self._broken from None
                if not self._interrupt.quitting:
                    raise
                self._end(None, None)
                return CANCELLED
            except AcpwireError as error:
                self._output.finish()
                complain("acpwire run", error)
                self._end(None, {"message": str(error)})
                return FAILURE

    async def _converse(self) -> int:
        request = self._request
        process = await spawn(request.command)
        tap = UpdateTap(process, self._tell) if request.json else None
        client = Client("acpwire", version=__version__, options=Options(answer_noise=False))
        client.permission(Desk(request.mode, self._output).answer)
        try:
            async with client.connect(tap or process, start_timeout=request.start_timeout):
                session = await client.new_session(request.cwd)
                if tap is not None:
                    tap.session_id = session.id
                return await self._prompt(session, tap)
        except StartTimeout as error:
            error.stderr = error.stderr or process.stderr
            raise

    async def _prompt(self, session: Session, tap: UpdateTap | None) -> int:
        async with session.prompt(self._request.prompt) as turn:
            self._interrupt.watch(turn)
            async for update in turn:
                if tap is None:
                    self._show(update, session)
        if tap is not None:
            tap.session_id = None
        self._output.finish()
        self._end(turn.stop_reason, _plain(turn.error))
        if turn.stop_reason == "error":
            complain("acpwire run", f"the turn failed: {_describe(turn.error)}")
        return status_of(turn.stop_reason)

    def _show(self, update: SessionUpdate | Unknown, session: Session) -> None:
        try:
            self._output.show(update, session.state)
        except BrokenPipeError as error:
            self._leave(error)

    def _tell(self, update: bytes) -> None:
        try:
            if self._broken is None:
                _print_line(update)
        except BrokenPipeError as error:  # not for the connection, which is reading
            self._leave(error)

    def _leave(self, error: BrokenPipeError) -> None:
        self._broken = error
        self._interrupt.quit()

    def _end(self, stop_reason: str | None, error: JsonValue) -> None:
        if not self._request.json:
            self._output.finish()
            return
        end: dict[str, JsonValue] = {"type": "end", "stopReason": stop_reason}
        if error is not None:
            end["error"] = error
        _print_line(msgspec.json.encode(end))


class Interrupt:
    """Ctrl-C: the first cancels the turn, and the second, or an agent that does not confirm in time, ends the command."""

    def __init__(self, output: Output) -> None:
        self.quitting = False
        """Whether the command is to end."""
        self._output = output
        self._turn: PromptTurn | None = None
        self._task: asyncio.Task[object] | None = None
        self._cancelling: asyncio.Task[None] | None = None

    def __enter__(self) -> None:
        self._task = asyncio.current_task()
        with suppress(NotImplementedError, RuntimeError, ValueError):  # Windows: an interrupt ends the command at once
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._heard)
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.quit)

    def __exit__(self, *_: object) -> None:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
            asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)

    def watch(self, turn: PromptTurn) -> None:
        """From now on the first interrupt cancels this turn."""
        self._turn = turn

    def _heard(self) -> None:
        if self._turn is None or self._turn.done or self._cancelling is not None:
            self.quit()
            return
        self._output.note("cancelling; Ctrl-C again quits")
        loop = asyncio.get_running_loop()
        self._cancelling = loop.create_task(_quietly(self._turn.cancel))
        loop.call_later(CANCEL_PATIENCE, self._give_up)

    def _give_up(self) -> None:
        if self._turn is not None and not self._turn.done:
            self._output.note(f"the agent did not confirm within {CANCEL_PATIENCE:g} s")
            self.quit()

    def quit(self) -> None:
        """End the command now; an agent at work is left to the end of its connection."""
        self.quitting = True
        if self._turn is not None:
            self._turn.detach()
        if self._task is not None:
            self._task.cancel()


async def _quietly(act: Callable[[], Awaitable[None]]) -> None:
    with suppress(AcpwireError):  # the turn tells
        await act()


def _print_line(update: bytes) -> None:
    if sys.stdout.isatty():
        sys.stdout.write(f"{printable_json(update)}\n")
        sys.stdout.flush()
    else:
        sys.stdout.buffer.write(update + b"\n")
        sys.stdout.buffer.flush()


def _plain(error: ErrorObject | None) -> JsonValue:
    value: JsonValue = None if error is None else msgspec.to_builtins(error)
    return value


def _describe(error: ErrorObject | None) -> str:
    return "the agent does not say why" if error is None else f"{error.message} ({error.code})"
