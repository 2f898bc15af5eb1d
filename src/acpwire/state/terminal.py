"""Terminals: upserts by id, and output as bytes, of which each chunk is decoded on its own (TERM-05 to TERM-16)."""

from __future__ import annotations

import re
from binascii import a2b_base64, b2a_base64
from typing import Final

from msgspec import UNSET, UnsetType, structs

from ..patch import meta, record
from ..patch.values import owned
from ..protocol.ids import AbsolutePath, TerminalId
from ..protocol.v2.terminal import (
    TerminalCapabilities,
    TerminalExitStatus,
    TerminalOutput,
    TerminalOutputChunk,
    TerminalSize,
    TerminalUpdate,
)
from ..types import Meta
from .shown import shown, value_of
from .snapshot import TerminalSnapshot

__all__ = ["Terminal"]

_CONTROL: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]?"  # control sequences: colours, cursor movements
    r"|\x1b[P\]X^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # strings (titles, links, ...); one left open ends with its line
    r"|\x1b[ -/]*[0-~]?"  # all other escapes
    r"|\r(?=\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)


class Terminal:
    """One terminal of the agent, as it is now. Only the session's state calls `append` and `apply`."""

    __slots__ = ("_chunks", "_stored", "id", "undecodable")

    def __init__(self, id: TerminalId) -> None:
        self.id = id
        """Which terminal; unrelated to the ids of tool calls (TERM-02)."""
        self.undecodable = 0
        """How many chunks or snapshots of output were no base64; they are left out of `output`."""
        self._stored = TerminalUpdate(terminal_id=id)
        self._chunks: list[bytes] = []

    def __repr__(self) -> str:
        return f"<Terminal {self.id!r}: {self.command!r}>"

    @property
    def command(self) -> str | None:
        """What runs, as a description (TERM-06)."""
        return value_of(self._stored.command)

    @property
    def cwd(self) -> AbsolutePath | None:
        """Where it runs."""
        return value_of(self._stored.cwd)

    @property
    def output(self) -> bytes:
        """All bytes, in the order in which they came (TERM-11, TERM-13)."""
        if len(self._chunks) > 1:
            self._chunks = [b"".join(self._chunks)]
        return self._chunks[0] if self._chunks else b""

    @property
    def text(self) -> str:
        """The output as UTF-8, escape sequences and all; what is no UTF-8 reads as U+FFFD (TERM-12)."""
        return self.output.decode(errors="replace")

    @property
    def transcript(self) -> str:
        """The text without escape sequences and control characters, safe to print (TERM-29).

        Tabs, line feeds and lone carriage returns stay; a CR LF is one line feed.
        """
        return _CONTROL.sub("", self.text)

    @property
    def exit_status(self) -> TerminalExitStatus | None:
        """How the process ended (TERM-16, TERM-17)."""
        return shown(self._stored.exit_status)

    @property
    def exited(self) -> bool:
        """Whether the process has ended: an exit status was reported, be it an empty one (TERM-16)."""
        return isinstance(self._stored.exit_status, TerminalExitStatus)

    @property
    def size(self) -> TerminalSize | None:
        """The size to render at (TERM-20)."""
        return shown(self._stored.size)

    @property
    def capabilities(self) -> TerminalCapabilities | None:
        """What may be done to it now; nothing, when `None` or when the member in question is (TERM-22)."""
        return shown(self._stored.capabilities)

    @property
    def meta(self) -> Meta:
        """Its metadata, a copy; without keys there is none (META-17)."""
        return meta.effective(self._stored.meta)

    @property
    def patch(self) -> TerminalUpdate:
        """All that is stored, as one upsert; here a field that was cleared (`None`) and one never mentioned
        (`UNSET`) differ (TERM-28). Its output is all bytes, of snapshot and chunks.
        """
        return structs.replace(owned(self._stored), output=self._output_patch())

    def apply(self, update: TerminalUpdate) -> None:
        """Patch it; concrete output replaces all bytes (TERM-05, TERM-08)."""
        if update.output is not UNSET:
            update = structs.replace(update, output=self._replace(update.output))
        self._stored = record.apply(self._stored, update)

    def append(self, chunk: TerminalOutputChunk) -> None:
        """Add bytes; the chunk's metadata is not stored (TERM-11, TERM-14)."""
        data = _decoded(chunk.data)
        if data is None:
            self.undecodable += 1
        elif data:
            self._chunks.append(data)

    def snapshot(self) -> TerminalSnapshot:
        """As it is now."""
        return TerminalSnapshot(
            terminal_id=self.id,
            command=self.command,
            cwd=self.cwd,
            output=self.output,
            text=self.text,
            exit_status=self.exit_status,
            size=self.size,
            capabilities=self.capabilities,
            undecodable=self.undecodable,
            meta=self.meta,
        )

    def _replace(self, output: TerminalOutput | None) -> TerminalOutput | None | UnsetType:
        """Hold these bytes; what the record then keeps of the snapshot, without its bytes."""
        data = b"" if output is None else _decoded(output.data)
        if data is None:
            self.undecodable += 1
            return UNSET
        self._chunks = [data] if data else []
        return None if output is None else structs.replace(output, data="")

    def _output_patch(self) -> TerminalOutput | None | UnsetType:
        stored = self._stored.output
        if not self._chunks:
            return owned(stored)
        data = b2a_base64(self.output, newline=False).decode()
        return TerminalOutput(data=data, meta=owned(stored.meta) if isinstance(stored, TerminalOutput) else None)


def _decoded(data: str) -> bytes | None:
    """The bytes of one piece of base64, `None` if it is none; pieces are never joined before (TERM-11)."""
    try:
        return a2b_base64(data, strict_mode=True)
    except ValueError:
        return None
