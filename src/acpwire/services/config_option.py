"""Typed configuration options: what an agent offers in a session, and the values in effect (CFG-01 to CFG-16)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Generic, TypeAlias, TypeVar

from msgspec import UNSET

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

__all__ = ["Boolean", "ConfigOptions", "Select", "Values"]

V = TypeVar("V", bound=str | Enum)

Values: TypeAlias = "type[V] | Iterable[V | SessionConfigSelectOption] | Mapping[V, str] | Mapping[str, Mapping[V, str]]"
"""What may be chosen, in order: an enumeration, plain values, values with their names, or groups of such by name.

A value of an enumeration is known to the other side by its `value`, which must be text. The name of a member is made
from its Python name: `DEEP_THOUGHT` is shown as "Deep thought". Wire options are taken as they are.
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

    type = "id"

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

    type = "boolean"

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


class ConfigOptions:
    """The options of one session, in the order of preference (CFG-07). Each session needs its own.

    Raises:
        LocalProtocolError: two options have the same `config_id`.
    """

    def __init__(self, *options: Select[str] | Select[Enum] | Boolean) -> None:
        self._options: dict[str, Select[str] | Select[Enum] | Boolean] = {}
        for option in options:
            if option.config_id in self._options:
                raise LocalProtocolError(f"two options are called `{option.config_id}`", path="$.configOptions")
            self._options[option.config_id] = option

    def __iter__(self) -> Iterator[Select[str] | Select[Enum] | Boolean]:
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
            data = {"configId": config_id, "type": type, "expected": option.type}
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


_Known: TypeAlias = "tuple[tuple[SessionConfigSelectOption, ...], dict[str, V]]"


def _read(values: Values[V], where: str) -> _Known[V]:
    """The options on the wire, and each value by its id."""
    known: dict[str, V] = {}
    options = tuple(_entries(values, known, where))
    if not options:
        raise LocalProtocolError("a select needs at least one value", path=where)
    if len({option.group_id is UNSET for option in options}) > 1:
        raise LocalProtocolError("values stand in groups or outside, and not both", path=where)
    return options, known


def _entries(values: Values[V], known: dict[str, V], where: str) -> Iterator[SessionConfigSelectOption]:
    if isinstance(values, Mapping):
        for key, named in values.items():
            if isinstance(named, Mapping):
                yield _group(str(key), named, known, where)
            else:
                yield _value(key, named, known, where)  # type: ignore[arg-type]
        return
    for value in values:
        yield _value(value, None, known, where)


def _group(name, named, known, where): ...
