"""Configuration options of a session: selects and switches, chosen by the client (CFG-01 to CFG-18)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from ..base import Object, Update
from ..ids import SessionId
from ..open import EMPTY_ON_ERROR, ON_ERROR, SKIP_INVALID, Open, Skipping, Unknown

__all__ = [
    "ConfigOptionUpdate",
    "SessionConfigBoolean",
    "SessionConfigOption",
    "SessionConfigOptionCategory",
    "SessionConfigSelect",
    "SessionConfigSelectOption",
    "SetSessionConfigOptionRequest",
    "SetSessionConfigOptionResponse",
]

if TYPE_CHECKING:
    SessionConfigOptionCategory: TypeAlias = Literal["mode", "model", "model_config", "thought_level"] | str
    """What an option is about, for presentation only (CFG-06)."""
else:
    SessionConfigOptionCategory = str


class SessionConfigSelectOption(Object, frozen=True, kw_only=True):
    """One value to choose, or a group of values; told apart by which member is there (CFG-03)."""

    name: str
    """What people see."""
    value: str | UnsetType = UNSET
    """The value's id, unique across groups."""
    description: Annotated[str | None, ON_ERROR] = None
    """More of the value, for people."""
    group_id: str | UnsetType = UNSET
    """The group's id."""
    options: Annotated[_Values | UnsetType, EMPTY_ON_ERROR] = UNSET
    """The values of the group, at least one; empty if they were malformed (DEC-06)."""

    def __post_init__(self) -> None:
        if (self.value is UNSET) == (self.group_id is UNSET):
            raise ValueError("expected exactly one of `value` and `groupId`")
        if self.group_id is not UNSET and self.options is UNSET:
            raise ValueError("Object missing required field `options`")
        if self.options is not UNSET and any(option.group_id is not UNSET for option in self.options):
            raise ValueError("expected values in a group, and no groups")


_Values: TypeAlias = Annotated[tuple[SessionConfigSelectOption, ...], SKIP_INVALID, Meta(min_length=1)]


class _Option(Object, frozen=True, kw_only=True, tag_field="type"):
    config_id: str
    """The key of the option."""
    name: str
    """What people see."""
    description: Annotated[str | None, ON_ERROR] = None
    """More of it, for people."""
    category: Annotated[SessionConfigOptionCategory | None, ON_ERROR] = None
    """What it is about, for presentation only (CFG-06)."""


class SessionConfigSelect(_Option, frozen=True, kw_only=True, tag="select"):
    """One of several values."""

    current_value: str
    """The id of the value in effect; one of `options` (CFG-03)."""
    options: Annotated[tuple[SessionConfigSelectOption, ...], Meta(min_length=1)]
    """What may be chosen: values, or groups of values, never both."""

    def __post_init__(self) -> None:
        if len({option.group_id is UNSET for option in self.options}) > 1:
            raise ValueError("expected values or groups of values, and not both")


class SessionConfigBoolean(_Option, frozen=True, kw_only=True, tag="boolean"):
    """A switch (CFG-04)."""

    current_value: bool
    """Whether it is on."""


if TYPE_CHECKING:
    SessionConfigOption: TypeAlias = SessionConfigSelect | SessionConfigBoolean | Unknown
    """An option by its `type`; an unknown one is kept and otherwise ignored (CFG-10)."""
else:
    SessionConfigOption = Annotated[
        SessionConfigSelect | SessionConfigBoolean,
        Open("type", required={"configId": str, "name": str}),
    ]


class ConfigOptionUpdate(Update, frozen=True, kw_only=True, tag="config_option_update"):
    """Replaces the list of options (CFG-16)."""

    config_options: Skipping[SessionConfigOption]
    """All of them, in the agent's order (CFG-07)."""


class SetSessionConfigOptionRequest(Object, frozen=True, kw_only=True):
    """Choose a value (CFG-11)."""

    session_id: SessionId
    """In which session."""
    config_id: str
    """Of which option."""
    type: str
    """What `value` is: `id` or `boolean`; another is answered -32602 (CFG-14)."""
    value: str | bool
    """The value's id for a select, the switch for a boolean."""

    def __post_init__(self) -> None:
        if type(self.value) is not _TYPES.get(self.type, type(self.value)):
            raise ValueError("expected a `value` of its `type`")


_TYPES = {"id": str, "boolean": bool}


class SetSessionConfigOptionResponse(Object, frozen=True, kw_only=True):
    """The complete list, for one choice may change others (CFG-15)."""

    config_options: Skipping[SessionConfigOption]
    """All options as they are now."""
