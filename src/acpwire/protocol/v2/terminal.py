"""Terminals of the agent: upserts by `terminalId`, and chunks of raw bytes (TERM-01 to TERM-30)."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from ..base import Object, Update, Upsert
from ..ids import AbsolutePath, TerminalId
from ..open import EMPTY_ON_ERROR, ON_ERROR, LenientPatch

__all__ = [
    "TerminalCancelCapabilities",
    "TerminalCapabilities",
    "TerminalExitStatus",
    "TerminalOutput",
    "TerminalOutputChunk",
    "TerminalSize",
    "TerminalUpdate",
]


class TerminalOutput(Object, frozen=True, kw_only=True):
    """All the bytes of a terminal; its `_meta` is about this snapshot (TERM-08, TERM-10)."""

    data: str
    """Base64 of the bytes; empty means none (TERM-09)."""


class TerminalExitStatus(Object, frozen=True, kw_only=True):
    """The process has ended, also when nothing more is said (TERM-16)."""

    exit_code: Annotated[Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None, ON_ERROR] = None
    """Its exit code, where there is one (TERM-17)."""
    signal: Annotated[str | None, ON_ERROR] = None
    """The signal that ended it, by the platform's name."""


class TerminalSize(Object, frozen=True, kw_only=True):
    """The size the command runs with (TERM-20)."""

    cols: Annotated[int, Meta(ge=1, le=65_535)]
    """Columns of characters."""
    rows: Annotated[int, Meta(ge=1, le=65_535)]
    """Rows of characters."""


class TerminalCancelCapabilities(Object, frozen=True, kw_only=True):
    """The process can be stopped; its presence says so."""


class TerminalCapabilities(Object, frozen=True, kw_only=True):
    """What may be done to a terminal while its process runs."""

    cancel: Annotated[TerminalCancelCapabilities | None, ON_ERROR] = None
    """`terminal/cancel` may be sent (TERM-23)."""


class TerminalUpdate(Upsert, frozen=True, kw_only=True, tag="terminal_update"):
    """Creates a terminal, or changes what it names and leaves the rest (TERM-05)."""

    terminal_id: TerminalId
    """The key; never reused in the session (TERM-01)."""
    command: LenientPatch[str] = UNSET
    """What runs, as a description; it asks nobody to run it (TERM-06)."""
    cwd: LenientPatch[AbsolutePath] = UNSET
    """Where it runs; absolute (TERM-07)."""
    output: LenientPatch[TerminalOutput] = UNSET
    """All bytes to show; replaces what chunks brought (TERM-08)."""
    exit_status: LenientPatch[TerminalExitStatus] = UNSET
    """The process has ended; `null` takes that back (TERM-16)."""
    size: LenientPatch[TerminalSize] = UNSET
    """The size to render at."""
    capabilities: Annotated[TerminalCapabilities | None | UnsetType, EMPTY_ON_ERROR] = UNSET
    """What may be done to it now; a malformed value means nothing may (TERM-22, X-17)."""


class TerminalOutputChunk(Update, frozen=True, kw_only=True, tag="terminal_output_chunk"):
    """Appends bytes; a first-seen id creates the terminal (TERM-11, TERM-15)."""

    terminal_id: TerminalId
    """Which terminal."""
    data: str
    """Base64 of these bytes alone; a character may be split between chunks (TERM-12)."""
