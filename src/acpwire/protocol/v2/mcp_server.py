"""MCP servers that a client hands to an agent (MCP-01 to MCP-09)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from ..base import Object
from ..ids import AbsolutePath
from ..open import NULL_AS_DEFAULT, Open, Unknown
from .auth import EnvVariable

__all__ = ["HttpHeader", "McpServer", "McpServerHttp", "McpServerStdio"]


class HttpHeader(Object, frozen=True, kw_only=True):
    """One header; its value may be a secret and stays out of logs (SEC-07)."""

    name: str
    """Its name."""
    value: str
    """Its value."""


class McpServerHttp(Object, frozen=True, kw_only=True, tag_field="type", tag="http"):
    """A server over HTTP (MCP-08)."""

    name: str
    """Unique in the request (MCP-11)."""
    url: str
    """Where it is."""
    headers: Annotated[tuple[HttpHeader, ...], NULL_AS_DEFAULT] = ()
    """Headers to send, but for those that MCP defines itself."""


class McpServerStdio(Object, frozen=True, kw_only=True, tag_field="type", tag="stdio"):
    """A server that the agent starts (MCP-06)."""

    name: str
    """Unique in the request (MCP-11)."""
    command: AbsolutePath
    """What to start; absolute."""
    args: Annotated[tuple[str, ...], NULL_AS_DEFAULT] = ()
    """Its arguments."""
    env: Annotated[tuple[EnvVariable, ...], NULL_AS_DEFAULT] = ()
    """Variables to set; of two with one name the last counts (MCP-07)."""


if TYPE_CHECKING:
    McpServer: TypeAlias = McpServerHttp | McpServerStdio | Unknown
    """A server, by its transport; an agent refuses one that it does not know (MCP-05, X-22)."""
else:
    McpServer = Annotated[McpServerHttp | McpServerStdio, Open("type")]
