"""The kind of end that suits a descriptor: the loop's where it can be watched without blocking, else a thread's."""

from __future__ import annotations

import sys
from typing import Final

from ._descriptors import PipeDescriptor, unblocked
from ._ends import LoopReader, LoopWriter, OnData, OnEnd, ReadEnd, WriteEnd
from ._threads import ThreadReader, ThreadWriter

__all__ = ["open_private_reader", "open_private_writer", "open_reader", "open_writer"]

_WATCHABLE: Final[bool] = sys.platform != "win32"
"""Whether event loops can watch pipes: those of Windows cannot."""


def open_reader(fd: int, on_data: OnData, on_end: OnEnd) -> ReadEnd:
    """Read from a descriptor that may be shared with others; takes it over."""
    descriptor = unblocked(fd, writing=False) if _WATCHABLE else None
    if descriptor is None:
        return ThreadReader(fd, on_data, on_end)
    return LoopReader(descriptor, on_data, on_end)


def open_writer(fd: int, who: str) -> WriteEnd:
    """Write to a descriptor that may be shared with others; takes it over."""
    descriptor = unblocked(fd, writing=True) if _WATCHABLE else None
    return ThreadWriter(fd, who) if descriptor is None else LoopWriter(descriptor, who)


def open_private_reader(fd: int, on_data: OnData, on_end: OnEnd) -> ReadEnd:
    """Read from a pipe end that nobody else has; takes it over."""
    if not _WATCHABLE:
        return ThreadReader(fd, on_data, on_end)
    return LoopReader(PipeDescriptor(fd), on_data, on_end)


def open_private_writer(fd: int, who: str) -> WriteEnd:
    """Write to a pipe end that nobody else has; takes it over."""
    return LoopWriter(PipeDescriptor(fd), who) if _WATCHABLE else ThreadWriter(fd, who)
