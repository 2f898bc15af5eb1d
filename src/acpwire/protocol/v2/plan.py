"""Plans: each update replaces the plan of its id as a whole (PLAN-01 to PLAN-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from ..base import Object, Update
from ..ids import PlanId
from ..open import NoArm, Open, Skipping, Unknown

__all__ = ["PlanEntry", "PlanEntryPriority", "PlanEntryStatus", "PlanItems", "PlanUpdate", "PlanUpdateContent"]

if TYPE_CHECKING:
    PlanEntryPriority: TypeAlias = Literal["high", "medium", "low"] | str
    """How much a step matters."""
    PlanEntryStatus: TypeAlias = Literal["pending", "in_progress", "completed", "cancelled"] | str
    """How far a step is."""
else:
    PlanEntryPriority = str
    PlanEntryStatus = str


class PlanEntry(Object, frozen=True, kw_only=True):
    """One step (PLAN-05)."""

    content: str
    """What is to be done, for a person."""
    priority: PlanEntryPriority
    """How much it matters: `high`, `medium` or `low`; unknown values are kept."""
    status: PlanEntryStatus
    """How far it is: `pending`, `in_progress`, `completed` or `cancelled`; unknown values are kept."""


class PlanItems(Object, frozen=True, kw_only=True, tag_field="type", tag="items"):
    """A plan that is a list of steps."""

    plan_id: PlanId
    """Which plan of the session (PLAN-02)."""
    entries: Skipping[PlanEntry]
    """All steps, always (PLAN-03); one that is malformed is left out (PLAN-06)."""


if TYPE_CHECKING:
    PlanUpdateContent: TypeAlias = PlanItems | Unknown
    """A plan by its `type`; an unknown kind has a `planId` (PLAN-01, EXT-27)."""
else:
    PlanUpdateContent = Annotated[PlanItems | NoArm, Open("type", required={"planId": str})]


class PlanUpdate(Update, frozen=True, kw_only=True, tag="plan_update"):
    """Replaces one plan; its `_meta` is no patch (PLAN-04, PLAN-10)."""

    plan: PlanUpdateContent
    """The plan as it is now."""
