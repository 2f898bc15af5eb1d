from __future__ import annotations

from typing import Any

import pytest

from acpwire.errors import ErrorObject
from acpwire.protocol.open import Unknown
from acpwire.protocol.v2.state import BackgroundTerminal, BackgroundToolCall, StateUpdate
from acpwire.state.activity import Activity

TERMINAL = {"type": "terminal", "terminalId": "t"}
CALL = {"type": "tool_call", "toolCallId": "c"}


def update(state: Any, **members: Any) -> dict[str, Any]:
    return {"sessionUpdate": "state_update", "state": state, **members}


@pytest.mark.req("SESS-04")
def test_a_session_is_idle_before_any_report(show: Any) -> None:
    state = show()
    assert (state.activity, state.busy, state.stop_reason, state.error, state.background) == (
        "idle",
        False,
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("updates", "activity", "busy"),
    [
        pytest.param(["running"], "running", True, marks=pytest.mark.req("STATE-01")),
        pytest.param(["requires_action"], "requires_action", True, marks=pytest.mark.req("STATE-04")),
        pytest.param(["running", "idle"], "idle", False, marks=pytest.mark.req("STATE-02")),
        pytest.param(["running", "running"], "running", True, marks=pytest.mark.req("STATE-08")),
        pytest.param(["idle", "_acme_waiting"], "_acme_waiting", True, marks=pytest.mark.req("STATE-21")),
        pytest.param(["running", "_acme_waiting"], "_acme_waiting", True, marks=pytest.mark.req("STATE-21")),
        pytest.param(["_acme_waiting", "idle"], "idle", False, marks=pytest.mark.req("STATE-21")),
        pytest.param(["idle", "unknown"], "unknown", True, marks=pytest.mark.req("STATE-23", "STATE-24")),
        pytest.param(["unknown", "running"], "running", True, marks=pytest.mark.req("STATE-24")),
    ],
    ids=str,
)
def test_the_latest_report_is_what_is_shown(show: Any, updates: list[str], activity: str, busy: bool) -> None:
    state = show(*map(update, updates))
    assert (state.activity, state.busy) == (activity, busy)


@pytest.mark.parametrize("payload", [{}, {"state": 7}, {"state": None}, {"state": "idle"}], ids=str)
@pytest.mark.req("STATE-21")
def test_a_state_that_cannot_be_read_is_never_idle(payload: Any) -> None:
    activity = Activity(Unknown("state_update", payload))
    assert (activity.foreground, activity.busy, activity.background) == ("unknown", True, None)


@pytest.mark.parametrize(
    ("updates", "reason", "error"),
    [
        pytest.param([update("idle")], None, None, marks=pytest.mark.req("STATE-10")),
        pytest.param([update("idle", stopReason=None)], None, None, marks=pytest.mark.req("STATE-10")),
        pytest.param([update("idle", stopReason=7)], None, None, marks=pytest.mark.req("STATE-10", "DEC-12")),
        pytest.param([update("idle", stopReason="end_turn")], "end_turn", None, marks=pytest.mark.req("STATE-12")),
        pytest.param([update("idle", stopReason="_acme")], "_acme", None, marks=pytest.mark.req("STATE-20")),
        pytest.param([update("idle", stopReason="cancelled"), update("running")], None, None),
        pytest.param(
            [update("idle", stopReason="end_turn"), update("idle")],
            None,
            None,
            marks=pytest.mark.req("STATE-11", "RPLY-10"),
        ),
        pytest.param([update("running", stopReason="end_turn")], None, None),
        pytest.param(
            [update("idle", stopReason="error", error={"code": -1, "message": "x"})],
            "error",
            ErrorObject(code=-1, message="x"),
            marks=pytest.mark.req("STATE-18", "STATE-19"),
        ),
        pytest.param(
            [update("idle", stopReason="error", error=None)], "error", None, marks=pytest.mark.req("STATE-18")
        ),
        pytest.param([update("idle", stopReason="error", error="x")], "error", None),
        pytest.param([update("idle", stopReason="refusal", error={"code": -1, "message": "x"})], "refusal", None),
    ],
    ids=str,
)
def test_reason_and_error_are_those_of_the_latest_idle(show: Any, updates: Any, reason: Any, error: Any) -> None:
    state = show(*updates)
    assert (state.stop_reason, state.error) == (reason, error)


@pytest.mark.parametrize(
    ("updates", "background"),
    [
        pytest.param([update("idle")], None, marks=pytest.mark.req("BG-02")),
        pytest.param([update("idle", background=None)], None, marks=pytest.mark.req("BG-02")),
        pytest.param([update("idle", background=[])], (), marks=pytest.mark.req("BG-02")),
        pytest.param(
            [update("running", background=[TERMINAL, CALL])],
            (BackgroundTerminal(terminal_id="t"), BackgroundToolCall(tool_call_id="c")),
            marks=pytest.mark.req("BG-01"),
        ),
        pytest.param([update("running", background=[TERMINAL]), update("idle")], None, marks=pytest.mark.req("BG-13")),
        pytest.param(
            [update("running", background=[]), update("_x", background=[])], None, marks=pytest.mark.req("BG-13")
        ),
        pytest.param(
            [update("running", background=[{"type": "_x"}])], ({"type": "_x"},), marks=pytest.mark.req("BG-09")
        ),
        pytest.param(
            [update("running", background=[TERMINAL, {"type": "terminal"}])], None, marks=pytest.mark.req("BG-10")
        ),
        pytest.param(
            [update("idle", background=[]), update("idle", background=[CALL])], 1, marks=pytest.mark.req("STATE-08")
        ),
    ],
    ids=str,
)
def test_background_work_is_that_of_the_latest_report(show: Any, updates: Any, background: Any) -> None:
    shown = show(*updates).background
    assert (len(shown) if background == 1 else shown) == background


@pytest.mark.req("STATE-07", "TOOL-19", "BG-14")
def test_updates_while_idle_change_no_state(show: Any) -> None:
    state = show(
        update("idle", stopReason="end_turn", background=[]),
        {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "in_progress"},
        {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": ""},
        {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text", "text": "x"}},
        {"sessionUpdate": "notice", "severity": "error", "title": "N"},
    )
    assert (state.activity, state.stop_reason, state.background) == ("idle", "end_turn", ())


@pytest.mark.req("STATE-26")
def test_metadata_of_a_report_is_no_patch(show: Any) -> None:
    state = show(
        {"sessionUpdate": "session_info_update", "_meta": {"a": 1}}, update("running", _meta={"a": None, "b": 2})
    )
    assert state.info.meta == {"a": 1}


def test_a_state_built_in_python_keeps_its_own_word() -> None:
    activity = Activity(StateUpdate(state="_own", background=()))
    assert (activity.foreground, activity.background) == ("_own", None)
    assert repr(activity) == "<Activity _own>"


def test_an_unknown_state_keeps_its_payload(show: Any) -> None:
    state = show(update("_acme_waiting", until={"h": 3}))
    (kept,) = state.unknown
    assert kept["until"] == {"h": 3}
    assert state.unknown_count == 1
