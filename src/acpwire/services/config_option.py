"""Typed configuration options: what an agent offers in a session, and the values in effect (CFG-01 to CFG-16)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast

from msgspec import UNSET, Struct

from ..errors import INVALID_PARAMS, LocalProtocolError, RequestError
from ..protocol.v2.config_option import (
    ConfigOptionUpdate,
    SessionConfigBoolean,
    SessionConfigOption,
    SessionConfigOptionCategory,
    SessionConfigSelect,
    SessionConfigSelectOption,
    SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
)
from ..types import JsonValue

__all__ = ["Boolean", "Choice", "ConfigOptions", "Group", "Option", "Select", "Values"]

V = TypeVar("V", bound=str | Enum)


class Choice(Struct, Generic[V], frozen=True):
    """A value with what people see of it.

    Args:
        value: the value.
        name: what people see; made from the value when left out.
        description: more of it, for people.
    """

    value: V
    name: str | None = None
    description: str | None = None


class Group(Struct, Generic[V], frozen=True):
    """Values that belong together.

    Args:
        name: what people see.
        values: at least one.
        group_id: its id; the name when left out.
    """

    name: str
    values: Iterable[V | Choice[V]]
    group_id: str | None = None


Values: TypeAlias = "Iterable[V | Choice[V] | Group[V]] | Mapping[V, str]"
"""What may be chosen, in order: an enumeration, plain values, choices, groups of these, or values with their names.

A member of an enumeration is known to the other side by its `value`, which must be text; its name is made from the
one in Python: `DEEP_THOUGHT` is shown as "Deep thought".
"""


class Select(Generic[V]):
    """One of several values; `current` is of their type.

        class Model(Enum):
            FAST = "fast"
            DEEP_THOUGHT = "deep-thought"

        model = Select("model", "Model", Model, current=Model.FAST, category="model")

    Args:
        config_id: its key.
        name: what people see.
        values: what may be chosen; at least one, each once, in groups or without (CFG-03).
        current: the value in effect; the first when left out (CFG-09).
        description: more of it, for people.
        category: what it is about, for presentation: `mode`, `model`, `model_config`, `thought_level`, or `_yours`.

    Raises:
        LocalProtocolError: one of these rules is broken.
    """

    type: Final = "id"

    def __init__(
        self,
        config_id: str,
        name: str,
        values: Values[V],
        *,
        current: V | None = None,
        description: str | None = None,
        category: SessionConfigOptionCategory | None = None,
    ) -> None:
        self.config_id = config_id
        self.name = name
        self.description = description
        self.category = category
        self._options: tuple[SessionConfigSelectOption, ...] = ()
        self._values: dict[str, V] = {}
        self._current = ""
        self.offer(values, current=current)

    def offer(self, values: Values[V], *, current: V | None = None) -> None:
        """Offer other values, for instance after another option changed (CFG-15).

        Without `current` the value in effect stays if it is still offered; otherwise the first one takes its place.

        Raises:
            LocalProtocolError: a rule of CFG-03 is broken; nothing has changed then.
        """
        options, known = _read(values, f"$[{self.config_id!r}]")
        chosen = self._current if current is None else _id(current)
        if chosen not in known:
            if current is not None:
                raise self._unknown(current)
            chosen = next(iter(known))
        self._options, self._values, self._current = options, known, chosen

    @property
    def values(self) -> tuple[V, ...]:
        """What may be chosen, in order, without groups."""
        return tuple(self._values.values())

    @property
    def current(self) -> V:
        """The value in effect; one that is not offered cannot be assigned."""
        return self._values[self._current]

    @current.setter
    def current(self, value: V) -> None:
        if not self.choose(_id(value)):
            raise self._unknown(value)

    def choose(self, value: object) -> bool:
        """Take a value by its id on the wire; whether it is one of those offered. If not, nothing changes (CFG-14)."""
        if not isinstance(value, str) or value not in self._values:
            return False
        self._current = value
        return True

    def to_wire(self) -> SessionConfigSelect:
        """The option as the other side gets it."""
        return SessionConfigSelect(
            config_id=self.config_id,
            name=self.name,
            description=self.description,
            category=self.category,
            current_value=self._current,
            options=self._options,
        )

    def _unknown(self, value: V) -> LocalProtocolError:
        return LocalProtocolError(f"{value!r} is not offered by `{self.config_id}`", path="$.currentValue")


class Boolean:
    """A switch (CFG-04). For its arguments see `Select`."""

    type: Final = "boolean"

    def __init__(
        self,
        config_id: str,
        name: str,
        *,
        current: bool = False,
        description: str | None = None,
        category: SessionConfigOptionCategory | None = None,
    ) -> None:
        self.config_id = config_id
        self.name = name
        self.description = description
        self.category = category
        self.current = current

    @property
    def current(self) -> bool:
        """Whether it is on."""
        return self._current

    @current.setter
    def current(self, value: bool) -> None:
        if not self.choose(value):
            raise LocalProtocolError(f"{value!r} is no value for the switch `{self.config_id}`", path="$.currentValue")

    def choose(self, value: object) -> bool:
        """Take `True` or `False`; whether it was one of them. If not, nothing changes (CFG-14)."""
        if not isinstance(value, bool):
            return False
        self._current = value
        return True

    def to_wire(self) -> SessionConfigBoolean:
        """The option as the other side gets it."""
        return SessionConfigBoolean(
            config_id=self.config_id,
            name=self.name,
            description=self.description,
            category=self.category,
            current_value=self._current,
        )


Option: TypeAlias = Select[Any] | Boolean  # Any: selects of all types of values stand in one list
"""A select or a switch."""


class ConfigOptions:
    """The options of one session, in the order of preference (CFG-07). Each session needs its own.

    Raises:
        LocalProtocolError: two options have the same `config_id`.
    """

    def __init__(self, *options: Option) -> None:
        self._options: dict[str, Option] = {}
        for option in options:
            if option.config_id in self._options:
                raise LocalProtocolError(f"two options are called `{option.config_id}`", path="$.configOptions")
            self._options[option.config_id] = option

    def __iter__(self) -> Iterator[Option]:
        return iter(self._options.values())

    def __len__(self) -> int:
        return len(self._options)

    def set(self, config_id: str, type: str, value: object) -> None:
        """Choose a value, as the other side asks for it.

        Args:
            config_id: of which option.
            type: `id` for a select, `boolean` for a switch.
            value: the id of the value, or the switch.

        Raises:
            RequestError: -32602, when there is no such option, or its type or values are others; nothing has changed
                then (CFG-14). The message is for the other side; `data` names the option.
        """
        option = self._options.get(config_id)
        if option is None:
            raise RequestError(INVALID_PARAMS, "Unknown configuration option", {"configId": config_id})
        if option.type != type:
            data: JsonValue = {"configId": config_id, "type": type, "expected": option.type}
            raise RequestError(INVALID_PARAMS, "Unsupported type of value for this configuration option", data)
        if not option.choose(value):
            shown = value if isinstance(value, (str, bool, int, float)) else None
            raise RequestError(
                INVALID_PARAMS, "Invalid value for this configuration option", {"configId": config_id, "value": shown}
            )

    def answer(self, request: SetSessionConfigOptionRequest) -> SetSessionConfigOptionResponse:
        """Do what `session/set_config_option` asks for; all options as they are then (CFG-15). Raises as `set` does."""
        self.set(request.config_id, request.type, request.value)
        return SetSessionConfigOptionResponse(config_options=self.to_wire())

    def update(self) -> ConfigOptionUpdate:
        """The update that tells of a change from our side: always the complete list (CFG-16)."""
        return ConfigOptionUpdate(config_options=self.to_wire())

    def to_wire(self) -> tuple[SessionConfigOption, ...]:
        """The complete list, as it goes into a response or an update."""
        return tuple(option.to_wire() for option in self._options.values())


def _read(values: Values[V], where: str) -> tuple[tuple[SessionConfigSelectOption, ...], dict[str, V]]:
    """The options on the wire, and each value by its id."""
    known: dict[str, V] = {}
    options = tuple(
        _group(item, known, where) if isinstance(item, Group) else _value(item, known, where) for item in _items(values)
    )
    if not options:
        raise LocalProtocolError("a select needs at least one value", path=where)
    if len({option.group_id is UNSET for option in options}) > 1:
        raise LocalProtocolError("values stand in groups or outside, and not both", path=where)
    ids = [option.group_id for option in options if option.group_id is not UNSET]
    if len(set(ids)) < len(ids):
        raise LocalProtocolError("two groups have the same id", path=where)
    return options, known


def _items(values: Values[V]) -> Iterable[V | Choice[V] | Group[V]]:
    if isinstance(values, Mapping):
        return [Choice(value, name) for value, name in cast("Mapping[V, str]", values).items()]
    return values


def _group(group: Group[V], known: dict[str, V], where: str) -> SessionConfigSelectOption:
    options = tuple(_value(value, known, where) for value in group.values)
    if not options:
        raise LocalProtocolError(f"the group `{group.name}` needs at least one value", path=where)
    return SessionConfigSelectOption(name=group.name, group_id=group.group_id or group.name, options=options)


def _value(value: V | Choice[V], known: dict[str, V], where: str) -> SessionConfigSelectOption:
    choice = value if isinstance(value, Choice) else Choice(value)
    id = _id(choice.value)
    if id in known:
        raise LocalProtocolError(f"the value `{id}` is offered twice", path=where)
    known[id] = choice.value
    return SessionConfigSelectOption(value=id, name=choice.name or _name(choice.value), description=choice.description)


def _id(value: str | Enum) -> str:
    id = value.value if isinstance(value, Enum) else value
    if not isinstance(id, str):
        raise LocalProtocolError(f"{value!r} is known by {id!r}, which is no text", path="$.value")
    return str(id)


def _name(value: str | Enum) -> str:
    return value.name.replace("_", " ").capitalize() if isinstance(value, Enum) else value
