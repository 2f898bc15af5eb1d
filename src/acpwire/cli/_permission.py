"""Answers to permission requests for a command: allow, deny, or ask on the terminal."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Literal, TypeAlias

from ..app.context import ClientContext
from ..app.permission import PermissionRequest
from ..protocol.v2.permission import CommandPermissionSubject, RequestPermissionOutcome, SelectedPermissionOutcome
from ._output import Output
from ._text import one_line

__all__ = ["Desk", "Keyboard", "Mode"]

Mode: TypeAlias = Literal["ask", "allow", "deny"]
"""What happens to a permission request."""


class Keyboard:
    """What a person types on the terminal that is standard input."""

    def forget(self) -> None:
        """Drop what was typed before a question was asked."""
        if sys.platform != "win32":
            import termios

            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)

    async def read(self) -> str:
        """The next line; empty at the end of the input."""
        fd = sys.stdin.fileno()
        loop = asyncio.get_running_loop()
        ready = loop.create_future()
        loop.add_reader(fd, _set, ready)
        try:
            await ready
        finally:
            loop.remove_reader(fd)
        return os.read(fd, 4096).decode("utf-8", "replace")


class Desk:
    """Answers one request after the other, and notes each answer.

    `allow` picks what allows once, else always; `deny` what rejects once, else nothing; `ask` lets a person choose.
    """

    def __init__(self, mode: Mode, output: Output, keyboard: Keyboard | None = None) -> None:
        self._mode = mode
        self._output = output
        self._keyboard = keyboard or Keyboard()
        self._turn = asyncio.Lock()

    async def answer(self, request: PermissionRequest, _context: ClientContext) -> RequestPermissionOutcome:
        """What a permission handler returns."""
        if self._mode == "ask":
            async with self._turn:
                outcome = await self._ask(request)
        elif self._mode == "allow":
            outcome = request.choose("allow_once", "allow_always")
        else:
            outcome = request.reject()
        chosen = "cancelled"
        if isinstance(outcome, SelectedPermissionOutcome):
            chosen = next(one.name for one in request.options if one.option_id == outcome.option_id)
        self._output.note(f"permission: {one_line(_subject(request))}: {one_line(chosen)}")
        return outcome

    async def _ask(self, request: PermissionRequest) -> RequestPermissionOutcome:
        self._keyboard.forget()
        self._output.note(f"permission: {one_line(_subject(request))}")
        if request.description:
            self._output.note(f"  {one_line(request.description)}")
        for number, option in enumerate(request.options, 1):
            self._output.note(f"  {number}. {one_line(option.name)}")
        while True:
            self._output.note(f"  a number from 1 to {len(request.options)}, or nothing to decline:")
            typed = (await self._keyboard.read()).strip()
            if not typed:
                return request.cancel()
            if typed.isdecimal() and 1 <= int(typed) <= len(request.options):
                return request.select(request.options[int(typed) - 1].option_id)


def _subject(request: PermissionRequest) -> str:
    """The question, and what exactly it is about (SEC-14)."""
    subject = request.params.subject
    if isinstance(subject, CommandPermissionSubject):
        return f"{request.title} `{subject.command}` in {subject.cwd}"
    call = request.tool_call
    return f"{request.title} [{call.title}]" if call is not None and call.title else request.title


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
