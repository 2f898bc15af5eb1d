from __future__ import annotations

from typing import Any

import pytest

from acpwire.protocol.open import Unknown
from acpwire.protocol.v2.plan import PlanEntry, PlanItems
from acpwire.state.plan import Plan


def update(*entries: str, plan: str = "p", **members: Any) -> dict[str, Any]:
    steps = [{"content": entry, "priority": "high", "status": "pending"} for entry in entries]
    return {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": plan, "entries": steps}, **members}


def other(**members: Any) -> dict[str, Any]:
    return {
        "sessionUpdate": "plan_update",
        "plan": {"type": "_acme_tree", "planId": "p", "root": {"n": None}, **members},
    }


def steps(plan: Plan) -> list[str]:
    return [entry.content for entry in plan.entries]


@pytest.mark.req("PLAN-02")
def test_plans_are_tracked_by_id(show: Any) -> None:
    state = show(update("a"), update("b", plan="q"), update("c"))
    assert {key: steps(plan) for key, plan in state.plans.items()} == {"p": ["c"], "q": ["b"]}
    assert [plan.id for plan in state.plans.values()] == ["p", "q"]


@pytest.mark.req("PLAN-03", "PLAN-04", "RPLY-10")
def test_an_update_replaces_all_entries(show: Any) -> None:
    state = show(update("a", "b", "c"))
    plan = state.plans["p"]
    show(update("b"), state=state)
    assert steps(plan) == ["b"]
    show(update(), state=state)
    assert steps(plan) == []


@pytest.mark.req("PLAN-04", "PLAN-07")
def test_a_plan_may_change_to_a_type_that_is_unknown_and_back(show: Any) -> None:
    state = show(update("a"), other())
    plan = state.plans["p"]
    assert plan.entries == ()
    assert isinstance(plan.content, Unknown)
    assert dict(plan.content) == {"type": "_acme_tree", "planId": "p", "root": {"n": None}}
    show(update("b"), state=state)
    assert steps(plan) == ["b"]
    assert len(state.plans) == 1


@pytest.mark.req("PLAN-06")
def test_malformed_entries_are_left_out(show: Any) -> None:
    good = {"content": "a", "priority": "_own", "status": "cancelled"}
    plan = {"type": "items", "planId": "p", "entries": [{"content": "x"}, good, 7]}
    state = show({"sessionUpdate": "plan_update", "plan": plan})
    assert state.plans["p"].entries == (PlanEntry(content="a", priority="_own", status="cancelled"),)


@pytest.mark.req("PLAN-10", "META-37")
def test_metadata_of_a_plan_is_its_own_and_does_not_carry_over(show: Any) -> None:
    first = update("a", _meta={"u": 1})
    first["plan"]["_meta"] = {"q": None}
    state = show(first)
    assert state.plans["p"].content.meta == {"q": None}
    show(update("a", _meta={"b": None}), state=state)
    assert state.plans["p"].content.meta is None


def test_metadata_of_a_plan_can_be_changed_by_nobody() -> None:
    meta: dict[str, Any] = {"a": 1}
    plan = Plan(
        "p", PlanItems(plan_id="p", entries=(PlanEntry(content="x", priority="low", status="pending", meta=meta),))
    )
    meta.clear()
    for _ in range(2):
        (entry,) = plan.entries
        assert entry.meta == {"a": 1}
        entry.meta.clear()


def test_a_plan_tells_what_it_is(show: Any) -> None:
    assert repr(show(update("a", "b")).plans["p"]) == "<Plan 'p': 2 entries>"
