"""Slash commands that an agent offers (CMD-01 to CMD-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from ..base import Object, Update
from ..open import ON_ERROR, NoArm, Open, Skipping, Unknown

__all__ = ["AvailableCommand", "AvailableCommandInput", "AvailableCommandsUpdate", "Command", "TextCommandInput"]


class TextCommandInput(Object, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """The command takes all text after its name (CMD-06)."""

    hint: str
    """What to type there, for people."""


if TYPE_CHECKING:
    AvailableCommandInput: TypeAlias = TextCommandInput | Unknown
    """What a command takes after its name (CMD-06)."""
else:
    AvailableCommandInput = Annotated[TextCommandInput | NoArm, Open("type")]


class Command(Object, frozen=True, kw_only=True, tag_field="type", tag="command"):
    """A command that is run by sending it as prompt text: `/name rest` (CMD-09)."""

    name: str
    """Without a leading `/` and without whitespace; unique in the list (CMD-04)."""
    description: str
    """What it does, for people."""
    input: Annotated[AvailableCommandInput | None, ON_ERROR] = None
    """What it takes; `None` is nothing."""


if TYPE_CHECKING:
    AvailableCommand: TypeAlias = Command | Unknown
    """A command; an unknown kind has `name` and `description` (CMD-03, EXT-27)."""
else:
    AvailableCommand = Annotated[Command | NoArm, Open("type", required={"name": str, "description": str})]


class AvailableCommandsUpdate(Update, frozen=True, kw_only=True, tag="available_commands_update"):
    """Replaces the list of commands (CMD-02)."""

    available_commands: Skipping[AvailableCommand]
    """All of them."""
