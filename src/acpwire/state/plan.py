"""Plans: each update replaces the plan of its id as a whole, also when its type changes (PLAN-02 to PLAN-04)."""

from __future__ import annotations

from ..patch.values import owned
from ..protocol.ids import PlanId
from ..protocol.open import Unknown
from ..protocol.v2.plan import PlanEntry, PlanItems, PlanUpdateContent

__all__ = ["Plan", "plan_id"]


class Plan:
    """One plan, as it is now. Only the session's state calls `apply`."""

    __slots__ = ("_content", "id")

    def __init__(self, id: PlanId, content: PlanUpdateContent) -> None:
        self.id = id
        """Which plan of the session (PLAN-02)."""
        self.apply(content)

    def __repr__(self) -> str:
        return f"<Plan {self.id!r}: {len(self.entries)} entries>"

    @property
    def content(self) -> PlanUpdateContent:
        """The plan as the last update brought it, its `_meta` included; an `Unknown` when its type is (PLAN-07)."""
        return owned(self._content)

    @property
    def entries(self) -> tuple[PlanEntry, ...]:
        """Its steps; none when it is of another type than `items`."""
        return owned(self._content.entries) if isinstance(self._content, PlanItems) else ()

    def apply(self, content: PlanUpdateContent) -> None:
        """Replace it; nothing of what it was before stays, metadata neither (PLAN-10, META-37)."""
        self._content: PlanUpdateContent = owned(content)


def plan_id(content: PlanUpdateContent) -> PlanId:
    """Which plan it is; plans of unknown types have an id too (PLAN-07)."""
    return PlanId(str(content["planId"])) if isinstance(content, Unknown) else content.plan_id
