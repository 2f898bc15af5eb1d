"""Handlers by name: a table that is checked when it is built.

Every handler is an async function of `(params, context)`; `prompt` alone takes `(turn)`. One params object, never
spread into arguments: a peer's `_meta` cannot name a parameter.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

from ..errors import LocalProtocolError
from ..protocol.v2.methods import BY_NAME

__all__ = ["Extension", "Handler", "Routes"]

Handler: TypeAlias = Callable[[Any, Any], Awaitable[Any]]  # Any: each method has params and a result of its own
"""An async function of `(params, context)`."""
Extension = TypeVar("Extension", bound=Callable[..., Awaitable[object]])
"""A handler that a decorator gives back as it is."""


class Routes:
    """The handlers of one agent or client."""

    def __init__(self) -> None:
        self.builtin: dict[str, Handler] = {}
        """By the name of the decorator."""
        self.prompt: Callable[[Any], Awaitable[object]]  # Any: a Turn, which this module need not know
        """The handler of prompts, once it is registered; the only one that takes one argument."""
        self.requests: dict[str, Handler] = {}
        """Extension requests by exact method name."""
        self.notifications: dict[str, Handler] = {}
        """Extension notifications by exact method name."""

    def add(self, name: str, handler: Extension, parameters: int = 2) -> Extension:
        """Register a built-in handler.

        Raises:
            LocalProtocolError: there is one already.
            TypeError: it is no async function of `parameters` arguments.
        """
        _check_signature(name, handler, parameters)
        if name in self.builtin:
            raise LocalProtocolError(f"there is a handler for `{name}` already")
        self.builtin[name] = handler
        if name == "prompt":
            self.prompt = handler
        return handler

    def add_extension(self, method: str, handler: Extension, table: dict[str, Handler]) -> Extension:
        """Register a handler of an extension method; names of ACP itself and double ones are refused (RPC-35)."""
        _check_signature(method, handler, 2)
        if method.startswith("$/") or any(method == name for _, name in BY_NAME):
            raise LocalProtocolError(f"{method} belongs to the protocol and cannot be an extension (RPC-35)")
        if method in table:
            raise LocalProtocolError(f"there is a handler for {method} already")
        table[method] = handler
        return handler


def _check_signature(name: str, handler: Callable[..., object], parameters: int) -> None:
    shape = "(turn)" if parameters == 1 else "(params, context)"
    target = handler if inspect.isroutine(handler) else getattr(handler, "__call__", handler)  # noqa: B004 - the function itself
    if not inspect.iscoroutinefunction(target) and not inspect.iscoroutinefunction(inspect.unwrap(handler)):
        raise TypeError(f"the handler of `{name}` must be an async function of {shape}")
    try:
        inspect.signature(handler).bind(*range(parameters))
    except TypeError as error:
        raise TypeError(f"the handler of `{name}` must take {shape}") from error
