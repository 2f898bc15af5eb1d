"""Which version a connection speaks, and when it may speak: the agent's side of `initialize`.

The gate is a small machine. `closed` until an `initialize` begins, `opening` while it is answered, `open` after
a success. Before it is open no other request is served (INIT-20) and no notification heard (INIT-21). Once
another request was served it may not be repeated (INIT-16); until then the latest success counts (INIT-15, X-03).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

import msgspec

from ..errors import INVALID_PARAMS, INVALID_REQUEST, UNSUPPORTED_PROTOCOL_VERSION, RemoteProtocolError, RequestError
from ..protocol.decode import decoder
from ..protocol.v2.initialize import InitializeRequest
from ..protocol.version import negotiate
from ..types import JsonValue

__all__ = ["Gate", "read_initialize"]

INITIALIZE = "initialize"
_HIGHEST = 65_535  # a version is an unsigned 16-bit number (INIT-07)
_UNNAMED: JsonValue = {"name": "unknown", "version": "unknown"}


class Gate:
    """Whether the agent's end of one connection may serve a request yet."""

    __slots__ = ("_opening", "_served", "selected")

    def __init__(self) -> None:
        self.selected: int | None = None
        """The version in effect; `None` until an `initialize` has succeeded."""
        self._opening = False
        self._served = False

    def admit(self, method: str) -> None:
        """Let a request other than `initialize` pass.

        Raises:
            RequestError: -32600; the connection is not initialized, or is just about to be (INIT-20).
        """
        if self.selected is None or self._opening:
            raise RequestError(INVALID_REQUEST, f"The connection must be initialized before `{method}`")
        self._served = True

    def begin(self) -> None:
        """An `initialize` has come.

        Raises:
            RequestError: -32600; another one is in progress, or other requests have been served (INIT-16).
        """
        if self._opening:
            raise RequestError(INVALID_REQUEST, "Another `initialize` is in progress")
        if self._served:
            raise RequestError(INVALID_REQUEST, "`initialize` must not be repeated after other requests")
        self._opening = True

    def end(self, selected: int | None) -> None:
        """The `initialize` was answered: with success for `selected`, or with an error for `None` (INIT-18)."""
        self._opening = False
        if selected is not None:
            self.selected = selected


def read_initialize(raw: msgspec.Raw | bytes, supported: Collection[int], current: int | None) -> InitializeRequest:
    """Decode the params of an `initialize`, with `protocol_version` replaced by the version selected for it.

    A request for a version above the selected one may be shaped by rules not known here: what parses is kept, and
    `info` that is missing or malformed reads as unknown (INIT-24).

    Raises:
        RequestError: -32602 for params that are no initialize (INIT-25, INIT-26), -32022 when no supported version
            is at or below the requested one (INIT-10), -32600 for a repeat below `current` (INIT-17).
    """
    plain = _plain_params(raw)
    requested = _requested_version(plain)
    selected = negotiate(requested, supported)
    if selected is None:
        data: JsonValue = {"requested": requested, "supported": list[JsonValue](sorted(supported))}
        raise RequestError(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data)
    if current is not None and selected < current:
        raise RequestError(INVALID_REQUEST, f"Version {current} is already in effect")
    plain["protocolVersion"] = selected
    try:
        return decoder(InitializeRequest)(msgspec.json.encode(plain))
    except RemoteProtocolError as error:
        if requested == selected:
            raise RequestError(INVALID_PARAMS, f"Invalid params: {error}", {"path": error.path}) from error
    plain["info"] = _UNNAMED
    return decoder(InitializeRequest)(msgspec.json.encode(plain))


def _plain_params(raw: msgspec.Raw | bytes) -> dict[str, JsonValue]:
    try:
        plain = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise RequestError(INVALID_PARAMS, "Invalid params: not readable") from error
    if not isinstance(plain, dict):
        raise RequestError(INVALID_PARAMS, "Invalid params: not an object")
    return cast("dict[str, JsonValue]", plain)


def _requested_version(plain: dict[str, JsonValue]) -> int:
    version = plain.get("protocolVersion")
    if isinstance(version, float) and version.is_integer():
        version = int(version)
    if isinstance(version, bool) or not isinstance(version, int) or not 0 <= version <= _HIGHEST:
        reason = f"Invalid params: protocolVersion must be an integer from 0 to {_HIGHEST}"
        raise RequestError(INVALID_PARAMS, reason, {"path": "$.protocolVersion"})
    return version
