"""How bytes travel: in memory, over stdio, to a spawned process.

Each module keeps the contract of `acpwire.jsonrpc.transport`. They are loaded when first used, so that a program pays
only for the transport it needs: `acpwire.transports.memory`, `acpwire.transports.stdio`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from . import memory, stdio

__all__ = ["memory", "stdio"]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f".{name}", __name__)
