from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

TIME = "2026-01-01T00:00:00Z"


def update(**members: Any) -> dict[str, Any]:
    return {"sessionUpdate": "session_info_update", **members}


@pytest.mark.req("SESS-42")
@pytest.mark.parametrize(
    ("updates", "title", "updated_at"),
    [
        ([], None, None),
        ([update(title="T"), update(updatedAt=TIME)], "T", TIME),
        ([update(title="T", updatedAt=TIME), update(title=None)], None, TIME),
        ([update(title="T"), update(title="U")], "U", None),
        ([update(title="T"), update(title=7, updatedAt=TIME)], "T", TIME),
        ([update(updatedAt=TIME), update(updatedAt="yesterday")], None, TIME),
    ],
    ids=str,
)
def test_omitted_stays_null_clears_and_a_value_replaces(show: Any, updates: Any, title: Any, updated_at: Any) -> None:
    info = show(*updates).info
    assert (info.title, info.updated_at) == (title, updated_at)


@pytest.mark.req("META-22", "META-09")
def test_the_metadata_of_the_session_is_patched_by_key(show: Any) -> None:
    state = show(
        update(title="T", _meta={"a": 1, "b": 2}), update(title=None, _meta={"a": None}), update(updatedAt=TIME)
    )
    assert state.info.meta == {"b": 2}
    show(update(_meta=None), state=state)
    assert state.info.meta == {}


def test_the_patch_tells_cleared_from_never_mentioned(show: Any) -> None:
    info = show(update(title=None)).info
    assert (info.patch.title, info.patch.updated_at) == (None, UNSET)


def test_info_tells_what_it_is(show: Any) -> None:
    assert repr(show(update(title="T")).info) == "<Info 'T'>"
