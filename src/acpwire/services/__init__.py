"""Batteries: media and files as content, Git patches, commands shown as terminals, typed configuration options.

Names are resolved when first used. `git_patch` is a module to be used by its name: `git_patch.make`, `git_patch.read`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import git_patch
    from .config_option import Boolean, Choice, ConfigOptions, Group, Select
    from .media import Audio, File, Image, decode
    from .terminal import RunningTerminal, Terminals, run_terminal

__all__ = [
    "Audio",
    "Boolean",
    "Choice",
    "ConfigOptions",
    "File",
    "Group",
    "Image",
    "RunningTerminal",
    "Select",
    "Terminals",
    "decode",
    "git_patch",
    "run_terminal",
]

_HOME = {
    "Audio": ".media",
    "Boolean": ".config_option",
    "Choice": ".config_option",
    "ConfigOptions": ".config_option",
    "File": ".media",
    "Group": ".config_option",
    "Image": ".media",
    "RunningTerminal": ".terminal",
    "Select": ".config_option",
    "Terminals": ".terminal",
    "decode": ".media",
    "run_terminal": ".terminal",
}


def __getattr__(name: str) -> object:
    if name == "git_patch":
        return import_module(".git_patch", __name__)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
