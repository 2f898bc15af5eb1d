from __future__ import annotations

from enum import Enum, IntEnum

import msgspec
import pytest

from acpwire.errors import INVALID_PARAMS, LocalProtocolError, RequestError
from acpwire.protocol.ids import SessionId
from acpwire.protocol.v2.config_option import SetSessionConfigOptionRequest
from acpwire.services import Boolean, Choice, ConfigOptions, Group, Select


class Model(Enum):
    FAST = "fast"
    DEEP_THOUGHT = "deep-thought"


def wire(option) -> dict:
    return msgspec.json.decode(msgspec.json.encode(option.to_wire()))


def options() -> ConfigOptions:
    return ConfigOptions(
        Select("model", "Model", Model, current=Model.FAST, category="model"),
        Select("mode", "Mode", ["ask", "code"]),
        Boolean("web", "Web search", description="Searches the web"),
    )


@pytest.mark.req("CFG-01", "CFG-03")
def test_an_enumeration_is_offered_by_its_values():
    assert wire(Select("model", "Model", Model, current=Model.DEEP_THOUGHT, category="model")) == {
        "type": "select",
        "configId": "model",
        "name": "Model",
        "category": "model",
        "currentValue": "deep-thought",
        "options": [{"value": "fast", "name": "Fast"}, {"value": "deep-thought", "name": "Deep thought"}],
    }


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a", "b"], [{"value": "a", "name": "a"}, {"value": "b", "name": "b"}]),
        ({"a": "Letter A"}, [{"value": "a", "name": "Letter A"}]),
        (
            ["a", Choice("b", "B", "the second")],
            [{"value": "a", "name": "a"}, {"value": "b", "name": "B", "description": "the second"}],
        ),
        (
            [Group("One", ["a"]), Group("Two", [Choice("b", "B")], group_id="2")],
            [
                {"groupId": "One", "name": "One", "options": [{"value": "a", "name": "a"}]},
                {"groupId": "2", "name": "Two", "options": [{"value": "b", "name": "B"}]},
            ],
        ),
    ],
)
@pytest.mark.req("CFG-03", "CFG-09")
def test_values_are_offered_in_order_and_the_first_is_in_effect(values, expected):
    select = Select("x", "X", values)
    assert wire(select)["options"] == expected
    assert select.current == "a"
    assert select.values[0] == "a"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "at least one"),
        ({}, "at least one"),
        (["a", "a"], "twice"),
        ([Group("One", ["a"]), Group("Two", ["a"])], "twice"),
        ([Group("One", ["a"]), Group("One", ["b"])], "same id"),
        ([Group("One", [])], "at least one"),
        (["a", Group("One", ["b"])], "not both"),
        (IntEnum("Number", {"ONE": 1}), "no text"),
    ],
)
@pytest.mark.req("CFG-03")
def test_values_that_break_a_rule_are_refused_and_change_nothing(values, reason):
    select = Select("x", "X", ["old"])
    before = select.to_wire()
    with pytest.raises(LocalProtocolError, match=reason):
        select.offer(values)
    assert select.to_wire() == before
    with pytest.raises(LocalProtocolError, match=reason):
        Select("x", "X", values)


@pytest.mark.req("CFG-03", "CFG-09")
def test_only_what_is_offered_can_be_in_effect():
    with pytest.raises(LocalProtocolError, match="not offered"):
        Select("x", "X", ["a"], current="b")
    select = Select("x", "X", Model)
    with pytest.raises(LocalProtocolError, match="not offered"):
        select.current = "other"
    assert select.current is Model.FAST
    select.current = Model.DEEP_THOUGHT
    assert select.current is Model.DEEP_THOUGHT


@pytest.mark.req("CFG-09", "CFG-15")
def test_other_values_keep_the_choice_where_they_can():
    select = Select("x", "X", ["a", "b"], current="b")
    select.offer(["c", "b"])
    assert select.current == "b"
    select.offer(["c", "d"])
    assert select.current == "c"
    select.offer(["c", "d"], current="d")
    assert select.current == "d"


@pytest.mark.req("CFG-04")
def test_a_switch_is_on_or_off_and_nothing_else():
    switch = Boolean("web", "Web", current=True)
    assert wire(switch) == {"type": "boolean", "configId": "web", "name": "Web", "currentValue": True}
    switch.current = False
    assert switch.current is False
    for value in (1, "true", None):
        with pytest.raises(LocalProtocolError):
            switch.current = value
    with pytest.raises(LocalProtocolError):
        Boolean("web", "Web", current="yes")


@pytest.mark.req("CFG-11", "CFG-15")
def test_a_request_is_answered_with_the_complete_list():
    mine = options()
    request = SetSessionConfigOptionRequest(
        session_id=SessionId("s"), config_id="model", type="id", value="deep-thought"
    )
    answer = mine.answer(request)
    assert [option.current_value for option in answer.config_options] == ["deep-thought", "ask", False]
    mine.set("web", "boolean", True)
    assert [option.current_value for option in mine.update().config_options] == ["deep-thought", "ask", True]
    model, *_ = mine
    assert model.current is Model.DEEP_THOUGHT


@pytest.mark.parametrize(
    ("config_id", "type", "value", "data"),
    [
        ("other", "id", "fast", {"configId": "other"}),
        ("model", "boolean", True, {"configId": "model", "type": "boolean", "expected": "id"}),
        ("model", "_mine", "fast", {"configId": "model", "type": "_mine", "expected": "id"}),
        ("web", "id", "true", {"configId": "web", "type": "id", "expected": "boolean"}),
        ("model", "id", "slow", {"configId": "model", "value": "slow"}),
        ("model", "id", True, {"configId": "model", "value": True}),
        ("model", "id", ["fast"], {"configId": "model", "value": None}),
        ("web", "boolean", "true", {"configId": "web", "value": "true"}),
    ],
)
@pytest.mark.req("CFG-14")
def test_what_cannot_be_set_is_refused_and_changes_nothing(config_id, type, value, data):
    mine = options()
    before = mine.to_wire()
    with pytest.raises(RequestError) as caught:
        mine.set(config_id, type, value)
    assert (caught.value.code, caught.value.data) == (INVALID_PARAMS, data)
    assert mine.to_wire() == before


@pytest.mark.req("CFG-01", "CFG-07")
def test_options_keep_their_order_and_have_ids_of_their_own():
    mine = options()
    assert [option.config_id for option in mine.to_wire()] == ["model", "mode", "web"]
    assert len(mine) == 3
    with pytest.raises(LocalProtocolError, match="`web`"):
        ConfigOptions(Boolean("web", "A"), Boolean("web", "B"))
