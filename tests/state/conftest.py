"""A way from wire JSON to session state, as a connection goes it."""

from __future__ import annotations

import json
from typing import Any, Protocol

import pytest

from acpwire.protocol.decode import decoder
from acpwire.protocol.v2.update import UpdateSessionNotification
from acpwire.state import SessionState

_decode = decoder(UpdateSessionNotification)


class Show(Protocol):
    def __call__(self, *updates: dict[str, Any], state: SessionState | None = None) -> SessionState: ...


def _show(*updates: dict[str, Any], state: SessionState | None = None) -> SessionState:
    state = SessionState("sess_1") if state is None else state
    for update in updates:
        params = {"sessionId": state.session_id, "update": update}
        state.apply(_decode(json.dumps(params).encode()).update)
    return state


@pytest.fixture(scope="session")
def show() -> Show:
    """Applies updates, given as the JSON of the wire, to a state: a fresh one unless told otherwise."""
    return _show
