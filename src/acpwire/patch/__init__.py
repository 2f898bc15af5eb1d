"""The patch algebra: absent, null, value; of one field, of a record, and of the `_meta` map. Pure and total."""

from __future__ import annotations

from . import field, meta, record, values
from .field import Patch
from .meta import UNKNOWN, MetaUpdate, Receiver

__all__ = ["UNKNOWN", "MetaUpdate", "Patch", "Receiver", "field", "meta", "record", "values"]
