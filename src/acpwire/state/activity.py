"""What a session is doing: the latest snapshot, whole. Nothing of the one before stays (STATE-03, STATE-08)."""

from __future__ import annotations

from typing import Final

from ..errors import ErrorObject
from ..patch.values import owned
from ..protocol.open import Unknown
from ..protocol.v2.state import BackgroundWork, ForegroundState
from .shown import shown, value_of

__all__ = ["UNKNOWN", "Activity"]

UNKNOWN: Final = "unknown"
"""The activity of a session whose state could not be read at all, or whose agent cannot observe it (STATE-23)."""

_KNOWN: Final = frozenset({"idle", "running", "requires_action"})


class Activity:
    """The foreground and background of a session as last reported; `idle` before any report (SESS-04)."""

    __slots__ = ("_latest",)

    def __init__(self, latest: ForegroundState | Unknown | None = None) -> None:
        self._latest = owned(latest)

    def __repr__(self) -> str:
        return f"<Activity {self.foreground}>"

    @property
    def foreground(self) -> str:
        """`idle`, `running`, `requires_action`, or the agent's own word: a busy state of its own (STATE-21)."""
        if self._latest is None:
            return "idle"
        if isinstance(self._latest, ForegroundState):
            return self._latest.state
        state = self._latest.get("state")
        return state if isinstance(state, str) and state != "idle" else UNKNOWN

    @property
    def busy(self) -> bool:
        """Whether anything but `idle` was reported last; what is not understood is busy (STATE-21)."""
        return self.foreground != "idle"

    @property
    def stop_reason(self) -> str | None:
        """While idle: why the last work stopped, verbatim; `None` is not reported (STATE-10, STATE-20)."""
        idle = self._idle()
        return None if idle is None else value_of(idle.stop_reason)

    @property
    def error(self) -> ErrorObject | None:
        """While idle with stop reason `error`: what failed, if the agent said so (STATE-18, STATE-19)."""
        idle = self._idle()
        return None if idle is None or idle.stop_reason != "error" else shown(idle.error)

    @property
    def background(self) -> tuple[BackgroundWork, ...] | None:
        """All work that runs beside the foreground; `None` is unknown, only `()` is none (BG-02, BG-13)."""
        if not isinstance(self._latest, ForegroundState) or self._latest.state not in _KNOWN:
            return None
        return owned(self._latest.background)

    def _idle(self) -> ForegroundState | None:
        latest = self._latest
        return latest if isinstance(latest, ForegroundState) and latest.state == "idle" else None
