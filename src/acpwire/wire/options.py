"""Settings of one connection: one frozen struct, read once."""

from __future__ import annotations

import os
import sys

import msgspec

from ..jsonrpc.lanes import Limits

__all__ = ["Options"]


def _checks_by_default() -> bool:
    return sys.flags.dev_mode or os.environ.get("ACPWIRE_VALIDATE", "") not in ("", "0")


def _shows_frames_by_default() -> bool:
    return os.environ.get("ACPWIRE_LOG", "") == "wire"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How a connection behaves; the same on both sides."""

    limits: Limits = Limits()
    """Bounds of queued calls, of what is waiting to be written, and of patience, in calls, bytes and seconds."""
    validate: bool = msgspec.field(default_factory=_checks_by_default)
    """Check each message against its type before it is sent: structs are not checked when they are built.

    On under `python -X dev` and when the environment variable `ACPWIRE_VALIDATE` is set to anything but 0.
    """
    show_frames: bool = msgspec.field(default_factory=_shows_frames_by_default)
    """Write each frame to stderr: `<` got, `>` sent. On when the environment has `ACPWIRE_LOG=wire`."""
    answer_noise: bool = True
    """Answer a line that is no JSON with -32700 (RPC-12). Off toward an agent we started: it may just be chatting."""
    max_unclaimed_sessions: int = 256
    """Sessions whose updates are kept although nobody here created or resumed them; the oldest goes first."""
