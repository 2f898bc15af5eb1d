"""What a handler is told besides its params, and the way back to the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol.ids import RequestId
from ..types import JsonValue
from ..wire.context import Context

if TYPE_CHECKING:
    from .client import Client
    from .host import ConnectedClient

__all__ = ["AgentContext", "ClientContext"]


class _Message:
    __slots__ = ("_wire",)

    def __init__(self, wire: Context) -> None:
        self._wire = wire

    @property
    def method(self) -> str:
        """The method that is handled."""
        return self._wire.method

    @property
    def request_id(self) -> RequestId | None:
        """The id of the request as it was on the wire; `None` for a notification."""
        return self._wire.request_id

    async def request(self, method: str, params: JsonValue = None) -> JsonValue:
        """Send an extension request to the other side by its exact name (EXT-11); returns its result as plain JSON."""
        return await self._wire.connection.request(method, params)

    async def notify(self, method: str, params: JsonValue = None) -> None:
        """Send an extension notification to the other side by its exact name (EXT-12)."""
        await self._wire.connection.notify(method, params)


class AgentContext(_Message):
    """The context of a handler of an agent."""

    __slots__ = ("client",)

    def __init__(self, wire: Context, client: ConnectedClient) -> None:
        super().__init__(wire)
        self.client = client
        """The client at the other end: what it says of itself, and calls to it."""


class ClientContext(_Message):
    """The context of a handler of a client."""

    __slots__ = ("client",)

    def __init__(self, wire: Context, client: Client) -> None:
        super().__init__(wire)
        self.client = client
        """The client whose handler runs, and the way back to its agent."""
