from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from acpwire.protocol.v2.content import TextContent

A, B = ({"type": "text", "text": letter} for letter in "AB")


def update(status: str = "in_progress", **members: Any) -> dict[str, Any]:
    return {"sessionUpdate": "compaction_update", "compactionId": "c", "status": status, **members}


def chunk(block: Any = A, **members: Any) -> dict[str, Any]:
    return {"sessionUpdate": "compaction_summary_chunk", "compactionId": "c", "content": block, **members}


@pytest.mark.parametrize(
    ("updates", "status", "text", "error"),
    [
        pytest.param([update()], "in_progress", "", None, marks=pytest.mark.req("CMPT-02", "CMPT-05")),
        pytest.param([update(summary=None, error=None)], "in_progress", "", None, marks=pytest.mark.req("CMPT-05")),
        pytest.param([chunk()], "in_progress", "A", None, marks=pytest.mark.req("CMPT-09")),
        pytest.param([update("completed"), chunk()], "completed", "A", None, marks=pytest.mark.req("CMPT-08")),
        pytest.param(
            [chunk(), update("completed", summary=[B])], "completed", "B", None, marks=pytest.mark.req("CMPT-08")
        ),
        pytest.param([update(summary=[A]), chunk(B)], "in_progress", "AB", None, marks=pytest.mark.req("CMPT-08")),
        pytest.param([chunk(), update("completed")], "completed", "A", None, marks=pytest.mark.req("CMPT-04")),
        pytest.param([chunk(), update(summary=None)], "in_progress", "", None, marks=pytest.mark.req("CMPT-04")),
        pytest.param([chunk(), update(summary=[])], "in_progress", "", None, marks=pytest.mark.req("CMPT-04")),
        pytest.param(
            [update("failed", error="x"), update("failed")], "failed", "", "x", marks=pytest.mark.req("CMPT-04")
        ),
        pytest.param(
            [update(error="x"), update(error=None)], "in_progress", "", None, marks=pytest.mark.req("CMPT-04")
        ),
        pytest.param([update("completed", error="x")], "completed", "", "x", marks=pytest.mark.req("CMPT-11")),
        pytest.param([update("_paused")], "_paused", "", None, marks=pytest.mark.req("CMPT-12")),
        pytest.param([update("completed", summary=[A])], "completed", "A", None, marks=pytest.mark.req("RPLY-17")),
    ],
    ids=str,
)
def test_updates_and_chunks_apply_in_order(show: Any, updates: Any, status: str, text: str, error: str | None) -> None:
    (compaction,) = show(*updates).compactions.values()
    assert (compaction.id, compaction.status, compaction.text, compaction.error) == ("c", status, text, error)
    assert "".join(block.text for block in compaction.summary) == text


@pytest.mark.req("CMPT-06", "META-33")
def test_metadata_is_patched_by_updates_alone(show: Any) -> None:
    state = show(update(_meta={"a": 1, "n": None}), chunk(_meta={"a": None}), update(summary=[B], _meta={"b": 2}))
    assert state.compactions["c"].meta == {"a": 1, "b": 2}


@pytest.mark.req("CMPT-01", "CMPT-14")
def test_the_first_sight_fixes_the_place_of_a_compaction(show: Any) -> None:
    message = {"sessionUpdate": "agent_message_chunk", "messageId": "m1", "content": A}
    later = {**message, "messageId": "m2"}
    call = {"sessionUpdate": "tool_call_update", "toolCallId": "t"}
    state = show(message, call, chunk(), later, update("completed"), message, call)
    assert [(entry.type, entry.id) for entry in state.timeline] == [
        ("agent_message", "m1"),
        ("tool_call", "t"),
        ("compaction", "c"),
        ("agent_message", "m2"),
    ]


def test_the_patch_tells_cleared_from_never_mentioned(show: Any) -> None:
    state = show(update())
    compaction = state.compactions["c"]
    assert (compaction.patch.summary, compaction.patch.error) == (UNSET, UNSET)
    show(update(summary=None, error=None), state=state)
    assert (compaction.patch.summary, compaction.patch.error) == (None, None)
    show(chunk(), state=state)
    assert compaction.patch.summary == (TextContent(text="A"),)


def test_a_compaction_tells_what_it_is(show: Any) -> None:
    assert repr(show(chunk()).compactions["c"]) == "<Compaction 'c' in_progress>"
