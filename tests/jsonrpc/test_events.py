"""What events promise to whoever keeps them."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from acpwire.jsonrpc.events import Event, Malformed, NotificationReceived


@pytest.mark.parametrize("kind", get_args(Event))
def test_events_cannot_be_changed(kind: type[msgspec.Struct]) -> None:
    assert kind.__struct_config__.frozen


def test_a_broken_message_fails_no_call_unless_it_says_so() -> None:
    assert Malformed("reason", b"", answered=False).fails is None


def test_params_stay_undecoded() -> None:
    event = NotificationReceived("m", msgspec.Raw(b'{"a":1.0}'), 9)
    assert bytes(event.params) == b'{"a":1.0}'
