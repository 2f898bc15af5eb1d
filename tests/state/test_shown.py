from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from acpwire.state.shown import shown, value_of


@pytest.mark.parametrize("show", [shown, value_of])
def test_cleared_and_never_mentioned_show_nothing(show: Any) -> None:
    assert show(None) is None is show(UNSET)
    assert show("x") == "x"
    assert show(()) == ()


def test_free_json_is_handed_out_as_a_copy() -> None:
    stored: dict[str, Any] = {"a": {"b": [1]}}
    handed = shown(stored)
    handed["a"]["b"].append(2)
    assert stored == {"a": {"b": [1]}}
