"""What the sessions and turns of one client share: the connection under them, and who must hear of its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol.v2.initialize import PromptCapabilities
from ..wire.connection import Connection

if TYPE_CHECKING:
    from .prompt_turn import PromptTurn

__all__ = ["ClientLink"]


class ClientLink:
    """One connection of a client, with its open turns."""

    __slots__ = ("cancel_patience", "connection", "prompt_capabilities", "turns")

    def __init__(self, connection: Connection, cancel_patience: float) -> None:
        self.connection = connection
        self.cancel_patience = cancel_patience
        self.prompt_capabilities: PromptCapabilities | None = None
        self.turns: set[PromptTurn] = set()

    def cancel_asked(self, session_id: str) -> None:
        """The session's work is about to be cancelled: held prompts may be answered -32800 now (CANC-16)."""
        for turn in self.turns:
            if turn.session.id == session_id:
                turn.cancel_asked = True

    def lost(self, reason: Exception | None) -> None:
        """The connection is over: every open turn ends with the reason."""
        for turn in tuple(self.turns):
            turn.connection_lost(reason)
