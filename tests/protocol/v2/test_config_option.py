from __future__ import annotations

import msgspec
import pytest

from acpwire.errors import LocalProtocolError
from acpwire.protocol.decode import decoder, validate
from acpwire.protocol.v2.config_option import (
    ConfigOptionUpdate,
    SessionConfigSelect,
    SessionConfigSelectOption,
    SetSessionConfigOptionRequest,
)

VALUE = SessionConfigSelectOption(name="V", value="v")
GROUP = SessionConfigSelectOption(name="G", group_id="g", options=(VALUE,))


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({}, "exactly one of `value` and `groupId`"),
        ({"value": "v", "group_id": "g", "options": (VALUE,)}, "exactly one of `value` and `groupId`"),
        ({"group_id": "g"}, "missing required field `options`"),
        ({"group_id": "g", "options": (GROUP,)}, "and no groups"),
    ],
    ids=["neither", "both", "without-options", "nested"],
)
def test_a_choice_is_a_value_or_a_group_of_values(members, reason):
    with pytest.raises(ValueError, match=reason):
        SessionConfigSelectOption(name="n", **members)


@pytest.mark.req("CFG-03")
def test_the_options_of_a_select_are_all_values_or_all_groups():
    with pytest.raises(ValueError, match="and not both"):
        SessionConfigSelect(config_id="c", name="n", current_value="v", options=(VALUE, GROUP))


@pytest.mark.req("CFG-03")
@pytest.mark.parametrize("options", [(), (SessionConfigSelectOption(name="G", group_id="g", options=()),)])
def test_a_select_has_at_least_one_value_and_so_has_each_group(options):
    with pytest.raises(LocalProtocolError):
        validate(SessionConfigSelect(config_id="c", name="n", current_value="v", options=options))


def options_of(*options: object) -> ConfigOptionUpdate:
    entry = {"type": "select", "configId": "c", "name": "n", "currentValue": "v", "options": options}
    raw = msgspec.json.encode({"sessionUpdate": "config_option_update", "configOptions": [entry]})
    return decoder(ConfigOptionUpdate)(raw)


@pytest.mark.req("CFG-18")
@pytest.mark.parametrize("options", [[], [{"name": "n"}], [5], [VALUE, GROUP]], ids=["none", "neither", "bad", "mixed"])
def test_a_malformed_option_is_skipped(options):
    assert options_of(*options).config_options == ()


@pytest.mark.req("DEC-06")
@pytest.mark.parametrize(
    ("values", "kept"),
    [([VALUE], (VALUE,)), ("x", ()), (None, ()), ([5], ()), ([], ()), ([5, VALUE], (VALUE,))],
    ids=["good", "no-array", "null", "no-good-one", "empty", "one-good-one"],
)
def test_malformed_values_of_a_group_are_left_out(values, kept):
    (option,) = options_of({"name": "G", "groupId": "g", "options": values}).config_options
    assert isinstance(option, SessionConfigSelect)
    assert option.options[0].options == kept


@pytest.mark.req("DEC-06")
def test_the_values_of_a_group_may_not_be_missing():
    assert options_of({"name": "G", "groupId": "g"}).config_options == ()


@pytest.mark.req("CFG-11")
@pytest.mark.parametrize(("value_type", "value"), [("id", True), ("boolean", "v"), ("boolean", 1)])
def test_a_value_fits_its_type(value_type, value):
    with pytest.raises(ValueError, match="expected a `value` of its `type`"):
        SetSessionConfigOptionRequest(session_id="s", config_id="c", type=value_type, value=value)


def test_a_type_that_nobody_knows_takes_any_value():
    assert SetSessionConfigOptionRequest(session_id="s", config_id="c", type="_x", value="v").value == "v"
