"""Public aliases: the words that signatures of this package are written in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, Union

__all__ = ["JsonValue", "Meta"]

if TYPE_CHECKING:
    JsonValue: TypeAlias = Union[None, bool, int, float, str, list["JsonValue"], dict[str, "JsonValue"]]
else:
    JsonValue = Any  # msgspec decodes it without looking inside; a recursive alias it cannot resolve
"""Any JSON value, as plain Python data. Non-finite floats are not JSON and are refused when sent."""

Meta: TypeAlias = dict[str, JsonValue]
"""A `_meta` object: opaque string keys to any JSON values (EXT-01).

Keys are compared exactly; no key is a path. Whether a `null` under a key is data or a removal depends
on the object that carries the map: see `acpwire.patch.meta`.
"""
