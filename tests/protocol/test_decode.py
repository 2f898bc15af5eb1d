"""Decoding: what is read strictly, what is repaired and reported, what is kept as it came, what is refused."""

from __future__ import annotations

import json
import math
import re
import traceback
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Meta, Struct, UnsetType

from acpwire.errors import LocalProtocolError, RemoteProtocolError
from acpwire.protocol import decode as decode_module
from acpwire.protocol.base import Object
from acpwire.protocol.decode import REPORTED, decoder, refuse_non_finite, validate
from acpwire.protocol.open import (
    EMPTY_ON_ERROR,
    NULL_AS_DEFAULT,
    ON_ERROR,
    SKIP_INVALID,
    LenientPatch,
    NoArm,
    Open,
    Skipping,
    Unknown,
)
from acpwire.protocol.v2 import (
    AgentMessage,
    AgentMessageChunk,
    ClientCapabilities,
    ForegroundState,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    ListSessionsResponse,
    McpServerStdio,
    NewSessionRequest,
    NewSessionResponse,
    PlanUpdate,
    PromptRequest,
    RequestPermissionRequest,
    RequestPermissionResponse,
    ResumeSessionRequest,
    SessionInfoUpdate,
    SetSessionConfigOptionRequest,
    SplitTextContent,
    StateUpdate,
    TerminalCapabilities,
    TerminalUpdate,
    TextContent,
    ToolCallCapabilities,
    ToolCallPermissionSubject,
    ToolCallUpdate,
    UpdateSessionNotification,
    UsageUpdate,
)
from acpwire.protocol.v2.methods import METHODS

DEEP = 100_000
HIGH, LOW = "\ud83d", "\ude00"


def read(kind: Any, value: Any) -> tuple[Any, list[str]]:
    """The decoded value, and the paths that were repaired."""
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    repairs: list[decode_module.Repair] = []
    decoded = decoder(kind, repairs.append)(raw)
    return decoded, [repair.path for repair in repairs]


def update(**members: Any) -> dict[str, Any]:
    return {"sessionId": "s", "update": members}


def read_update(**members: Any) -> tuple[Any, list[str]]:
    decoded, paths = read(UpdateSessionNotification, update(**members))
    return decoded.update, paths


def refusal(kind: Any, value: Any) -> RemoteProtocolError:
    with pytest.raises(RemoteProtocolError) as caught:
        read(kind, value)
    return caught.value


def plain(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))


CHUNK = {"sessionUpdate": "agent_message_chunk", "messageId": "m"}
TEXT = {"type": "text", "text": "x"}
CALL = {"sessionUpdate": "tool_call_update", "toolCallId": "t"}


# -- the strict pass --------------------------------------------------------------------------------------------


def test_a_valid_message_never_comes_to_the_second_pass(monkeypatch):
    monkeypatch.setattr(decode_module, "_second_pass", None)
    decoded, paths = read(UpdateSessionNotification, update(**CHUNK, content=TEXT))
    assert decoded.update == AgentMessageChunk(message_id="m", content=TextContent(text="x"))
    assert paths == []


def test_it_reads_bytes_and_raw_alike():
    text = b'{"messageId":"m","sessionUpdate":"agent_message"}'
    decode = decoder(AgentMessage)
    assert decode(text) == decode(msgspec.Raw(text)) == AgentMessage(message_id="m")
    broken = b'{"messageId":"m","sessionUpdate":"agent_message","content":5}'
    assert decode(broken) == decode(msgspec.Raw(broken)) == AgentMessage(message_id="m")


def test_a_decoder_is_built_once_and_when_it_is_first_used(monkeypatch):
    class Fresh(Object, frozen=True, kw_only=True):
        value: int

    built: list[object] = []
    make = msgspec.json.Decoder
    monkeypatch.setattr(msgspec.json, "Decoder", lambda kind: built.append(kind) or make(kind))
    first, second = decoder(Fresh), decoder(Fresh)
    assert built == []
    assert first(b'{"value":1}') == second(b'{"value":1}') == first(b'{"value":1}')
    assert built == [Fresh]


def test_an_escaped_pair_of_surrogates_is_one_character(monkeypatch):
    monkeypatch.setattr(decode_module, "_second_pass", None)
    decoded, _ = read(UpdateSessionNotification, update(**CHUNK, content={"type": "text", "text": "\U0001f600"}))
    assert decoded.update.content.text == "\U0001f600"


# -- lenient fields ---------------------------------------------------------------------------------------------


class Lenient(Object, frozen=True, kw_only=True):
    plain: Annotated[str | None, ON_ERROR] = None
    falls: Annotated[int, ON_ERROR] = 7
    patch: LenientPatch[str] = UNSET
    items: Skipping[int] = ()
    both: LenientPatch[Skipping[int]] = UNSET
    nullable: Annotated[tuple[str, ...], NULL_AS_DEFAULT] = ()
    inner: Annotated[TextContent | None | UnsetType, EMPTY_ON_ERROR] = UNSET
    emptied: Annotated[Implementation | Skipping[int] | UnsetType, EMPTY_ON_ERROR] = UNSET
    empty: Annotated[Skipping[int] | UnsetType, EMPTY_ON_ERROR] = UNSET


@pytest.mark.parametrize(
    ("member", "value", "expected", "paths"),
    [
        # default on error
        pytest.param("plain", 5, None, ["$.plain"], marks=pytest.mark.req("DEC-02"), id="on-error"),
        pytest.param("plain", None, None, [], id="null-is-a-value"),
        pytest.param("falls", "x", 7, ["$.falls"], marks=pytest.mark.req("DEC-02"), id="on-error-default"),
        pytest.param("falls", None, 7, ["$.falls"], id="on-error-null"),
        pytest.param("patch", 5, UNSET, ["$.patch"], marks=pytest.mark.req("DEC-08"), id="patch-malformed"),
        pytest.param("patch", None, None, [], marks=pytest.mark.req("DEC-13"), id="patch-null-clears"),
        # skip invalid items
        pytest.param("items", [1, "x", 2, None], (1, 2), ["$.items[1]", "$.items[3]"], id="skip"),
        pytest.param("items", [], (), [], id="skip-empty"),
        pytest.param("both", "x", UNSET, ["$.both"], marks=pytest.mark.req("DEC-04"), id="both-no-array"),
        pytest.param("both", [[], 4], (4,), ["$.both[0]"], marks=pytest.mark.req("DEC-04"), id="both-bad-item"),
        pytest.param("both", None, None, [], marks=pytest.mark.req("DEC-13"), id="both-null"),
        # null as default
        pytest.param("nullable", None, (), ["$.nullable"], marks=pytest.mark.req("DEC-07"), id="null-as-default"),
        # empty on error
        pytest.param("empty", "x", (), ["$.empty"], marks=pytest.mark.req("DEC-06"), id="empty-on-error"),
        pytest.param("empty", None, (), ["$.empty"], marks=pytest.mark.req("DEC-06"), id="empty-on-null"),
        pytest.param("empty", [1, "x"], (1,), ["$.empty[1]"], id="empty-skips"),
        pytest.param("inner", None, None, [], id="empty-null-is-a-value"),
    ],
)
def test_a_malformed_value_of_a_lenient_field_is_repaired_and_reported(member, value, expected, paths):
    decoded, repaired = read(Lenient, {member: value})
    assert (getattr(decoded, member), repaired) == (expected, paths)
    others = {name: getattr(Lenient(), name) for name in Lenient.__struct_fields__ if name != member}
    assert {name: getattr(decoded, name) for name in others} == others


@pytest.mark.parametrize(
    ("member", "value", "path"),
    [
        pytest.param("items", "x", "$.items", marks=pytest.mark.req("DEC-05"), id="skip-no-array"),
        pytest.param("items", None, "$.items", marks=pytest.mark.req("DEC-05"), id="skip-null"),
        pytest.param("nullable", "x", "$.nullable", marks=pytest.mark.req("DEC-07"), id="null-as-default-no-array"),
        pytest.param("nullable", ["a", 1], "$.nullable[1]", marks=pytest.mark.req("DEC-07"), id="null-as-default-item"),
    ],
)
def test_what_an_annotation_does_not_cover_fails_the_object(member, value, path):
    assert refusal(Lenient, {member: value}).path == path


@pytest.mark.req("DEC-01", "DEC-15")
def test_all_that_was_repaired_is_reported_with_its_reason():
    repairs: list[decode_module.Repair] = []
    raw = json.dumps({"plain": 1, "both": [1, "x"], "_meta": 4}).encode()
    assert decoder(Lenient, repairs.append)(raw) == Lenient(both=(1,))
    assert [tuple(repair) for repair in sorted(repairs)] == [
        ("$._meta", "Expected `object`, got `int`; read as omitted"),
        ("$.both[1]", "Expected `int`, got `str`; the item was left out"),
        ("$.plain", "Expected `str`, got `int`; read as omitted"),
    ]


def test_without_anybody_to_tell_it_repairs_all_the_same():
    assert decoder(Lenient)(b'{"plain":1}') == Lenient()


@pytest.mark.req("DEC-05")
@pytest.mark.parametrize(
    ("members", "path"),
    [
        ({"sessionUpdate": "available_commands_update"}, "$.update"),
        ({"sessionUpdate": "available_commands_update", "availableCommands": None}, "$.update.availableCommands"),
        ({"sessionUpdate": "config_option_update", "configOptions": {}}, "$.update.configOptions"),
        (
            {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "p", "entries": "x"}},
            "$.update.plan.entries",
        ),
    ],
)
def test_a_strict_list_fails_its_update_at_the_path_of_the_wire(members, path):
    assert refusal(UpdateSessionNotification, update(**members)).path == path


@pytest.mark.req("DEC-06")
@pytest.mark.parametrize(("value", "expected"), [(None, ()), ("x", ()), ([5], ()), ([], ())])
def test_a_required_lenient_list_reads_as_empty(value, expected):
    assert read(ListSessionsResponse, {"sessions": value})[0].sessions == expected


@pytest.mark.req("DEC-06")
def test_a_required_lenient_list_may_not_be_missing():
    error = refusal(ListSessionsResponse, {})
    assert (error.path, error.reason) == ("$", "Object missing required field `sessions`")


@pytest.mark.req("DEC-07", "MCP-05")
@pytest.mark.parametrize("member", ["mcpServers", "additionalDirectories"])
def test_only_null_reads_as_an_empty_setup_list(member):
    assert read(NewSessionRequest, {"cwd": "/", member: None})[0] == NewSessionRequest(cwd="/")
    assert refusal(NewSessionRequest, {"cwd": "/", member: [5]}).path == f"$.{member}[0]"


@pytest.mark.req("DEC-07")
def test_null_arguments_of_a_server_read_as_none_at_all():
    server = {"type": "stdio", "name": "n", "command": "/c", "args": None, "env": None}
    decoded, _ = read(NewSessionRequest, {"cwd": "/", "mcpServers": [server]})
    assert decoded.mcp_servers == (McpServerStdio(name="n", command="/c"),)


@pytest.mark.req("DEC-02", "CAP-05")
def test_malformed_capabilities_read_as_none():
    message = {"protocolVersion": 2, "info": {"name": "n", "version": "1"}, "capabilities": 5}
    assert read(InitializeRequest, message)[0].capabilities == ClientCapabilities()
    decoded, paths = read(InitializeResponse, message | {"capabilities": {"session": {"delete": True, "mcp": {}}}})
    assert decoded.capabilities.session.delete is None
    assert decoded.capabilities.session.mcp is not None
    assert paths == ["$.capabilities.session.delete"]


@pytest.mark.req("DEC-09", "TOOL-30", "TERM-22")
@pytest.mark.parametrize("value", [5, "x", [], True])
def test_malformed_controls_mean_no_controls(value):
    assert read_update(**CALL, capabilities=value)[0].capabilities == ToolCallCapabilities()
    terminal, paths = read_update(sessionUpdate="terminal_update", terminalId="t", capabilities=value)
    assert terminal == TerminalUpdate(terminal_id="t", capabilities=TerminalCapabilities())
    assert paths == ["$.update.capabilities"]


@pytest.mark.req("DEC-09", "DEC-13")
def test_controls_that_are_null_are_cleared_and_those_left_out_stay():
    assert read_update(**CALL, capabilities=None)[0].capabilities is None
    assert read_update(**CALL, title=5)[0].capabilities is UNSET


@pytest.mark.req("DEC-10")
@pytest.mark.parametrize(
    ("kind", "value", "path"),
    [
        (ListSessionsResponse, {"sessions": [], "nextCursor": 5}, "$.nextCursor"),
        (ResumeSessionRequest, {"sessionId": "s", "cwd": "/", "replayFrom": 5}, "$.replayFrom"),
        (
            RequestPermissionRequest,
            {
                "sessionId": "s",
                "title": "?",
                "subject": {"type": "command", "command": "ls"},
                "options": [{"optionId": "o", "name": "n", "kind": "k"}],
            },
            "$.subject",
        ),
    ],
)
def test_a_field_without_annotation_is_strict(kind, value, path):
    assert refusal(kind, value).path == path


def test_a_list_that_must_have_items_may_not_be_empty():
    assert refusal(PromptRequest, {"sessionId": "s", "prompt": []}).path == "$.prompt"


def test_leaving_out_items_does_not_get_a_list_below_its_least_length():
    kind = Annotated[tuple[int, ...], SKIP_INVALID, Meta(min_length=2)]
    assert read(kind, [1, "x", 2])[0] == (1, 2)
    assert refusal(kind, [1, "x"]).reason == "expected at least 2 items"


@pytest.mark.req("RPC-26", "TOOL-27")
def test_a_line_that_is_no_line_is_left_out_and_its_place_stays():
    decoded, paths = read_update(**CALL, locations=[{"path": "/a", "line": 0}, {"path": "/b", "line": 1}])
    assert [(place.path, place.line) for place in decoded.locations] == [("/a", None), ("/b", 1)]
    assert paths == ["$.update.locations[0].line"]


# -- open unions ------------------------------------------------------------------------------------------------


@pytest.mark.req("EXT-23", "EXT-28")
def test_an_unknown_update_keeps_every_member():
    members = {"sessionUpdate": "_x/dance", "steps": [1, {"a": None}], "_meta": 5, "__proto__": {"b": 2}}
    decoded, paths = read_update(**members)
    assert isinstance(decoded, Unknown)
    assert decoded.tag == "_x/dance"
    assert plain(decoded) == members
    assert paths == []


@pytest.mark.req("EXT-23")
@pytest.mark.parametrize(
    "value",
    [
        pytest.param({**CHUNK, "content": {"type": "hologram", "a": {"b": 1}}}, id="content"),
        pytest.param({**CALL, "content": [{"type": "graph", "x": 1}, {"type": "content", "content": TEXT}]}, id="call"),
        pytest.param({"sessionUpdate": "plan_update", "plan": {"type": "tree", "planId": "p", "x": 1}}, id="plan"),
        pytest.param(
            {"sessionUpdate": "state_update", "state": "running", "background": [{"type": "robot", "id": 1}]}, id="work"
        ),
        pytest.param({**CALL, "content": [{"type": "diff", "changes": [{"operation": "chmod", "to": 7}]}]}, id="diff"),
    ],
)
def test_an_unknown_arm_inside_an_update_is_kept_in_its_place(value):
    decoded, paths = read_update(**value)
    assert not isinstance(decoded, Unknown)
    assert plain(decoded) == value
    assert paths == []


@pytest.mark.req("EXT-26", "DEC-11")
@pytest.mark.parametrize(
    ("members", "path"),
    [
        ({**CHUNK, "content": {"type": "text"}}, "$.update.content"),
        ({**CHUNK, "content": {"type": "text", "text": 5}}, "$.update.content.text"),
        ({"sessionUpdate": "agent_message_chunk", "messageId": 5, "content": TEXT}, "$.update.messageId"),
        ({"sessionUpdate": "tool_call_update"}, "$.update"),
        ({"sessionUpdate": "notice", "severity": "info", "title": ""}, "$.update.title"),
    ],
)
def test_a_known_arm_with_a_bad_body_is_an_error_at_the_offending_value(members, path):
    assert refusal(UpdateSessionNotification, update(**members)).path == path


@pytest.mark.req("DEC-11")
def test_a_known_arm_with_a_bad_body_is_left_out_of_a_lenient_list():
    decoded, paths = read_update(
        **CALL, content=[{"type": "diff"}, {"type": "later"}, {"type": "content", "content": TEXT}]
    )
    assert [getattr(item, "tag", type(item).__name__) for item in decoded.content] == ["later", "Content"]
    assert paths == ["$.update.content[0]"]


@pytest.mark.req("EXT-27")
@pytest.mark.parametrize(
    ("kind", "value", "path"),
    [
        (UpdateSessionNotification, update(sessionUpdate="plan_update", plan={"type": "tree"}), "$.update.plan.planId"),
        (
            UpdateSessionNotification,
            update(sessionUpdate="plan_update", plan={"type": "tree", "planId": 5}),
            "$.update.plan.planId",
        ),
    ],
)
def test_an_unknown_arm_has_what_every_arm_has(kind, value, path):
    assert refusal(kind, value).path == path


@pytest.mark.req("EXT-27")
def test_an_unknown_arm_that_lacks_what_every_arm_has_is_left_out_of_a_lenient_list():
    methods = [{"type": "magic", "methodId": "m"}, {"type": "magic", "methodId": "m", "name": "n"}]
    message = {"protocolVersion": 2, "info": {"name": "n", "version": "1"}, "authMethods": methods}
    assert plain(read(InitializeResponse, message)[0].auth_methods) == methods[1:]
    commands = [{"type": "macro", "name": "n"}, {"type": "macro", "name": "n", "description": "d"}]
    decoded, _ = read(NewSessionResponse, {"sessionId": "s", "availableCommands": commands})
    assert plain(decoded.available_commands) == commands[1:]


def test_an_unknown_arm_with_members_that_exclude_each_other_has_exactly_one():
    kind = Annotated[TextContent | NoArm, Open("type", exclusive=("a", "b"))]
    assert isinstance(read(kind, {"type": "x", "a": 1})[0], Unknown)
    assert refusal(kind, {"type": "x"}).reason == "expected exactly one of a, b"
    assert refusal(kind, {"type": "x", "a": 1, "b": 1}).path == "$"


@pytest.mark.parametrize(
    "value", [{"foo": 1}, {"sessionUpdate": 5}, {"sessionUpdate": []}, {"sessionUpdate": None}, 5, []]
)
def test_without_a_string_tag_a_union_has_no_arm(value):
    assert refusal(UpdateSessionNotification, {"sessionId": "s", "update": value}).path == "$.update"


def test_a_struct_that_is_read_alone_still_minds_its_tag():
    assert read(AgentMessage, {"messageId": "m"})[0] == AgentMessage(message_id="m")
    assert refusal(AgentMessage, {"sessionUpdate": "user_message", "messageId": "m"}).path == "$.sessionUpdate"


def test_the_placeholder_of_a_union_of_one_is_no_arm():
    decoded, _ = read_update(sessionUpdate="plan_update", plan={"type": "\0", "planId": "p"})
    assert decoded == PlanUpdate(plan=Unknown("\0", {"type": "\0", "planId": "p"}))
    with pytest.raises(ValueError, match="no value"):
        NoArm()


@pytest.mark.req("EXT-23")
@pytest.mark.parametrize(
    ("member", "value"), [("kind", "_x/fly"), ("status", "hibernating"), ("kind", ""), ("status", "Ø")]
)
def test_an_unknown_word_of_an_open_set_is_kept_verbatim(member, value):
    decoded, paths = read_update(**CALL, **{member: value})
    assert (getattr(decoded, member), paths) == (value, [])


# -- two tags in one object -------------------------------------------------------------------------------------


@pytest.mark.req("STATE-10", "DEC-12")
@pytest.mark.parametrize("reason", [5, [], {}, True])
def test_a_malformed_stop_reason_is_not_reported_and_the_update_is_idle(reason):
    decoded, paths = read_update(sessionUpdate="state_update", state="idle", stopReason=reason)
    assert decoded == StateUpdate(state="idle")
    assert paths == ["$.update.stopReason"]


def test_an_unknown_stop_reason_is_kept_verbatim():
    decoded, paths = read_update(sessionUpdate="state_update", state="idle", stopReason="_x/bored")
    assert decoded == StateUpdate(state="idle", stop_reason="_x/bored")
    assert paths == []


@pytest.mark.req("EXT-23")
def test_an_unknown_state_is_kept_with_all_that_comes_with_it():
    members = {"sessionUpdate": "state_update", "state": "thinking", "about": [1], "background": 5}
    decoded, paths = read_update(**members)
    assert isinstance(decoded, Unknown)
    assert (decoded.tag, plain(decoded), paths) == ("state_update", members, [])


def test_the_state_of_a_child_is_the_same_without_the_tag():
    members = {"sessionUpdate": "subagent_update", "sessionId": "c"}
    known, _ = read_update(**members, state={"state": "idle", "stopReason": "refusal"})
    assert known.state == ForegroundState(state="idle", stop_reason="refusal")
    unknown, _ = read_update(**members, state={"state": "thinking", "x": 1})
    assert (unknown.state.tag, dict(unknown.state)) == ("thinking", {"state": "thinking", "x": 1})


@pytest.mark.parametrize("state", [5, None, [], {}])
def test_a_malformed_state_fails_the_update(state):
    error = refusal(UpdateSessionNotification, update(sessionUpdate="state_update", state=state))
    assert error.path == "$.update.state"


@pytest.mark.req("BG-10")
def test_malformed_background_work_is_unknown_and_not_nothing():
    work = [{"type": "terminal", "terminalId": "t"}, {"type": "terminal"}]
    decoded, paths = read_update(sessionUpdate="state_update", state="running", background=work)
    assert decoded.background is None
    assert paths == ["$.update.background[1]"]


@pytest.mark.req("PERM-08")
def test_a_tool_call_is_told_by_no_tag_in_a_permission_request():
    subject = {"type": "tool_call", "toolCall": {"toolCallId": "t", "title": None, "status": 5}}
    options = [{"optionId": "o", "name": "n", "kind": "allow_once"}]
    message = {"sessionId": "s", "title": "?", "subject": subject, "options": options}
    decoded, paths = read(RequestPermissionRequest, message)
    assert isinstance(decoded.subject, ToolCallPermissionSubject)
    assert decoded.subject.tool_call.title is None
    assert plain(decoded.subject.tool_call) == {"toolCallId": "t", "title": None}
    assert paths == ["$.subject.toolCall.status"]
    tagged = {**subject["toolCall"], "sessionUpdate": "tool_call_update"}
    assert read(RequestPermissionRequest, {**message, "subject": {**subject, "toolCall": tagged}})[0] == decoded


@pytest.mark.req("PERM-18")
def test_an_outcome_that_nobody_knows_is_kept_and_is_no_selection():
    decoded, _ = read(RequestPermissionResponse, {"outcome": {"outcome": "postponed", "until": "tomorrow"}})
    assert decoded.outcome == {"outcome": "postponed", "until": "tomorrow"}
    assert decoded.outcome.tag == "postponed"


# -- told apart by which member is there ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"uri": "u"}, "$.update.content.resource"),
        ({"uri": "u", "text": "a", "blob": ""}, "$.update.content.resource"),
        ({"uri": "u", "text": 5}, "$.update.content.resource.text"),
    ],
)
def test_a_resource_has_exactly_one_kind_of_contents(value, path):
    members = update(**CHUNK, content={"type": "resource", "resource": value})
    assert refusal(UpdateSessionNotification, members).path == path


@pytest.mark.req("CFG-11", "CFG-14")
@pytest.mark.parametrize(
    ("value_type", "value", "fits"),
    [
        ("id", "v", True),
        ("id", True, False),
        ("boolean", False, True),
        ("boolean", "true", False),
        ("_x", "v", True),
    ],
)
def test_a_chosen_value_fits_its_type(value_type, value, fits):
    message = {"sessionId": "s", "configId": "c", "type": value_type, "value": value}
    if fits:
        assert plain(read(SetSessionConfigOptionRequest, message)[0]) == message
    else:
        assert refusal(SetSessionConfigOptionRequest, message).reason == "expected a `value` of its `type`"


# -- numbers ----------------------------------------------------------------------------------------------------


@pytest.mark.req("DEC-14")
def test_an_integral_float_is_an_integer():
    raw = b'{"sessionUpdate":"usage_update","used":1.0,"size":1e3}'
    decoded, paths = read(UsageUpdate, raw)
    assert decoded == UsageUpdate(used=1, size=1000)
    assert (type(decoded.used), type(decoded.size)) == (int, int)
    assert paths == []


@pytest.mark.req("DEC-14")
@pytest.mark.parametrize("number", [1.5, -1, -1.0, "1", True])
def test_a_number_that_is_no_count_fails(number):
    assert refusal(UsageUpdate, {"sessionUpdate": "usage_update", "used": number, "size": 1}).path == "$.used"


@pytest.mark.req("DEC-14")
def test_an_integer_beyond_the_precision_of_a_double_is_exact():
    assert read(UsageUpdate, {"sessionUpdate": "usage_update", "used": 2**60 + 1, "size": 2**64 - 1})[0] == UsageUpdate(
        used=2**60 + 1, size=2**64 - 1
    )


@pytest.mark.parametrize("number", [b"1e400", b"-1e999", b"1" * 5000])
def test_a_number_out_of_range_is_left_out_of_untyped_data(number):
    raw = b'{"sessionUpdate":"agent_message","messageId":"m","_meta":{"a":%b,"b":[1,%b,2],"c":1}}' % (number, number)
    decoded, paths = read(AgentMessage, raw)
    assert decoded == AgentMessage(message_id="m", meta={"b": [1, 2], "c": 1})
    assert paths == ["$._meta.a", "$._meta.b[1]"]


def test_a_number_out_of_range_where_one_is_required_is_missing():
    assert refusal(UsageUpdate, b'{"sessionUpdate":"usage_update","used":1e400,"size":1}').path == "$"


def test_a_message_that_is_a_number_out_of_range_is_no_message():
    assert refusal(UsageUpdate, b"1e400").path == "$"


@pytest.mark.parametrize("constant", [b"NaN", b"Infinity", b"-Infinity"])
def test_constants_that_are_not_json_are_refused(constant):
    raw = b'{"sessionUpdate":"agent_message","messageId":"m\\ud800","_meta":{"a":%b}}' % constant
    assert refusal(AgentMessage, raw).reason == "malformed: not JSON"


# -- surrogates -------------------------------------------------------------------------------------------------


def chunk_of(text: str, kind: str = "agent_message_chunk") -> Any:
    decoded, paths = read(
        UpdateSessionNotification, update(sessionUpdate=kind, messageId="m", content={"type": "text", "text": text})
    )
    assert paths == []
    return decoded.update.content


@pytest.mark.parametrize("kind", ["agent_message_chunk", "user_message_chunk", "agent_thought_chunk"])
def test_halves_at_the_edges_of_a_chunk_are_handed_on_beside_the_text(kind):
    first, second = chunk_of("smile \ud83d", kind), chunk_of("\ude00!", kind)
    assert (first.text, second.text) == ("smile \ufffd", "\ufffd!")
    assert isinstance(first, SplitTextContent)
    assert isinstance(second, TextContent)
    assert (first.halves, second.halves) == ("smile \ud83d", "\ude00!")


@pytest.mark.parametrize("text", [LOW, HIGH, f"{LOW} and {HIGH}", LOW + HIGH], ids=ascii)
def test_a_chunk_may_begin_and_end_with_halves(text):
    assert chunk_of(text).halves == text


def test_the_content_of_a_tool_call_and_of_a_summary_are_chunks_too():
    item = {"type": "content", "content": {"type": "text", "text": "\ud83d"}}
    call, _ = read_update(sessionUpdate="tool_call_content_chunk", toolCallId="t", content=item)
    assert call.content.content.halves == "\ud83d"
    summary, _ = read_update(sessionUpdate="compaction_summary_chunk", compactionId="c", content=item["content"])
    assert summary.content.halves == "\ud83d"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("\ud83dx", "\ufffdx"), ("x\ude00", "x\ufffd"), ("a\ud83d b", "a\ufffd b"), ("\ud83d\ud83d", None)],
)
def test_halves_inside_a_text_are_replaced_and_reported(text, shown):
    decoded, paths = read_update(**CHUNK, content={"type": "text", "text": text})
    assert decoded.content.text == (shown or "\ufffd\ufffd")
    assert type(decoded.content) is (TextContent if shown else SplitTextContent)
    assert paths == ["$.update.content.text"]


def test_halves_anywhere_else_are_replaced_and_reported():
    decoded, paths = read_update(**CALL, title="\ud83d", _meta={"a\udc00": ["\ud83d", 1]})
    assert decoded == ToolCallUpdate(tool_call_id="t", title="\ufffd", meta={"a\ufffd": ["\ufffd", 1]})
    assert paths == ["$.update.title", "$.update._meta", "$.update._meta[...][0]"]


def test_a_text_with_halves_encodes():
    decoded, _ = read_update(**CHUNK, content={"type": "text", "text": "a\ud83d"})
    assert plain(decoded)["content"]["text"] == "a\ufffd"
    validate(decoded)


@given(st.text(st.characters(codec=None), max_size=8))
def test_any_text_is_shown_as_text_and_loses_nothing_at_its_edges(text):
    raw = json.dumps(update(**CHUNK, content={"type": "text", "text": text})).encode()
    block = decoder(UpdateSessionNotification)(raw).update.content
    joined = json.loads(json.dumps(text))
    assert block.text == re.sub("[\ud800-\udfff]", "\ufffd", joined)
    halves = block.halves if isinstance(block, SplitTextContent) else block.text
    assert halves[1:-1] == block.text[1:-1]
    assert all(halves[:1] == joined[:1] for _ in re.findall("^[\udc00-\udfff]", joined))
    assert all(halves[-1:] == joined[-1:] for _ in re.findall("[\ud800-\udbff]\\Z", joined))


# -- text that is no message ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"nope", b'{"a":1}}', b"\xff", b'"\xff"', b'"\x00a\x00"\x00', b'{"a":"\xed\xa0\xbd"}']
)
def test_what_is_not_json_is_refused(raw):
    error = refusal(AgentMessage, raw)
    assert (error.reason, error.path) == ("malformed: not JSON", "$")
    assert error.__cause__ is None


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * DEEP + b"]" * DEEP,
        b'{"sessionUpdate":"agent_message","messageId":"m","_meta":{"a":' + b"[" * DEEP + b"]" * DEEP + b"}}",
        b'{"sessionUpdate":"agent_message","messageId":"m","other":' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}",
        b'{"sessionUpdate":"agent_message","messageId":"m\\ud83d","_meta":{"a":' + b"[" * DEEP + b"]" * DEEP + b"}}",
    ],
    ids=["alone", "in-meta", "in-an-unknown-member", "beside-a-half"],
)
def test_deep_nesting_is_a_malformed_message_and_no_crash(raw):
    assert refusal(AgentMessage, raw).reason == "malformed: nested too deeply"


@pytest.mark.req("RPC-36")
@pytest.mark.parametrize(
    "members",
    [
        {"sessionUpdate": "usage_update", "used": "hunter2", "size": 1},
        {"sessionUpdate": "state_update", "state": ["hunter2"]},
        {**CHUNK, "content": {"type": "resource", "resource": {"uri": "hunter2"}}},
        {"sessionUpdate": "plan_update", "plan": {"type": "hunter2", "planId": 5}},
    ],
)
def test_no_refusal_echoes_a_value(members):
    error = refusal(UpdateSessionNotification, update(**members))
    assert "hunter2" not in f"{error} {error.__cause__!r} {error.__context__!r}"


@pytest.mark.req("RPC-36")
@pytest.mark.parametrize(
    "members",
    [
        {"sessionUpdate": "session_info_update", "updatedAt": "hunter2"},
        {**CALL, "status": ["hunter2"], "locations": [{"path": "/", "line": "hunter2"}]},
        {"sessionUpdate": "agent_message", "messageId": "m", "content": "hunter2"},
        {"sessionUpdate": "agent_message", "messageId": "m", "_meta": {"hunter2!": "\ud800"}},
    ],
)
def test_no_repair_echoes_a_value(members):
    repairs: list[decode_module.Repair] = []
    decoder(UpdateSessionNotification, repairs.append)(json.dumps(update(**members)).encode())
    assert repairs
    assert "hunter2" not in repr(repairs)


@pytest.mark.req("RPC-36")
def test_what_is_not_json_is_not_echoed():
    error = refusal(UpdateSessionNotification, b'{"key": "hunter2')
    assert "hunter2" not in f"{error} {error.__cause__!r} {error.__context__!r}"


def test_of_many_repairs_most_are_only_counted():
    repairs: list[decode_module.Repair] = []
    raw = json.dumps({"items": ["x"] * (REPORTED + 5)}).encode()
    assert decoder(Lenient, repairs.append)(raw) == Lenient()
    assert len(repairs) == REPORTED + 1
    assert repairs[-1] == ("$", "5 more were repaired")


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["type", "content", "text", "state", "plan", "messageId", "toolCallId", "_meta"])
                | st.text(max_size=2),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ),
    st.sampled_from(["agent_message", "tool_call_update", "state_update", "plan_update", "agent_message_chunk", "x"]),
)
def test_whatever_comes_is_read_or_refused_with_a_path(value, tag):
    members = {**value, "sessionUpdate": tag} if isinstance(value, dict) else value
    raw = json.dumps({"sessionId": "s", "update": members}).encode()
    decode = decoder(UpdateSessionNotification)
    try:
        decoded = decode(raw)
    except RemoteProtocolError as error:
        assert error.path.startswith("$.update")  # noqa: PT017  # one of two ways to go on
        return
    assert decode(msgspec.json.encode(decoded)) == decoded


# -- what is sent -----------------------------------------------------------------------------------------------


@pytest.mark.req("DEC-16")
@pytest.mark.parametrize(
    ("value", "path"),
    [
        (AgentMessage(message_id=5), "$.messageId"),
        (AgentMessage(message_id="m", content=(TextContent(text=None),)), "$.content[0].text"),
        (ToolCallUpdate(tool_call_id="t", status=5), "$.status"),
        (NewSessionRequest(cwd="/", mcp_servers=None), "$.mcpServers"),
        (SessionInfoUpdate(updated_at="yesterday"), "$.updatedAt"),
        (StateUpdate(state=None), "$.state"),
        (PlanUpdate(plan=Unknown("tree", {"type": "tree"})), "$.plan.planId"),
        (AgentMessage(message_id="m", meta={"a": [math.nan]}), "$._meta.a[0]"),
        (UsageUpdate(used=-1, size=1), "$.used"),
        (PromptRequest(session_id="s", prompt=()), "$.prompt"),
    ],
)
def test_a_value_that_would_not_be_read_as_it_is_meant_is_not_sent(value, path):
    with pytest.raises(LocalProtocolError) as caught:
        validate(value)
    assert caught.value.path == path


@pytest.mark.req("DEC-16")
@pytest.mark.parametrize(
    "value",
    [
        AgentMessage(message_id="m", meta={"a": object()}),
        AgentMessage(message_id="m", content=(TextContent(text="\ud83d"),)),
        AgentMessage(message_id="m", meta={("a", "b"): 1}),
    ],
)
def test_what_has_no_json_form_is_not_sent(value):
    with pytest.raises(LocalProtocolError, match="not JSON"):
        validate(value)


def test_what_is_nested_too_deeply_is_not_sent():
    deep: list[Any] = []
    for _ in range(DEEP):
        deep = [deep]
    with pytest.raises(LocalProtocolError, match="nested too deeply"):
        validate(AgentMessage(message_id="m", meta={"a": deep}))
    while deep:  # from the outside, for the interpreter would free it by recursion
        deep = deep.pop()


@pytest.mark.parametrize(
    "value",
    [
        AgentMessage(message_id="m", content=None),
        ToolCallUpdate(tool_call_id="t", raw_input={"a": None}, meta={"a": None}),
        PlanUpdate(plan=Unknown("_x", {"type": "_x", "planId": "p", "more": [1]})),
        StateUpdate(state="idle", stop_reason="_x/bored"),
        Unknown("_x", {"sessionUpdate": "_x"}),
    ],
)
def test_a_value_that_is_well_formed_may_be_sent(value):
    validate(UpdateSessionNotification(session_id="s", update=value))


class Holder(Struct):
    wire: Any = msgspec.field(name="onTheWire")


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("wrap", "path"),
    [
        (lambda n: n, "$"),
        (lambda n: {"a": [1.0, {"b": n}]}, "$.a[1].b"),
        (lambda n: (0, n), "$[1]"),
        (lambda n: Holder({"a": n}), "$.onTheWire.a"),
        (lambda n: Unknown("t", {"a": n}), "$.a"),
    ],
)
def test_a_number_that_is_not_finite_is_found_wherever_it_is(number, wrap, path):
    with pytest.raises(LocalProtocolError) as caught:
        refuse_non_finite(wrap(number))
    assert caught.value.path == path


@given(
    st.recursive(
        st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_numbers_that_are_finite_pass(value):
    refuse_non_finite(value)


# -- what the official TypeScript SDK was seen to do, and what we do ----------------------------------------------

SURVEY = [
    pytest.param({**CALL, "status": 5}, CALL, id="malformed status"),
    pytest.param({**CALL, "status": "zzz", "kind": "future"}, ..., id="unknown words"),
    pytest.param({**CALL, "status": None, "title": None, "content": None, "rawInput": None}, ..., id="null fields"),
    pytest.param({**CALL, "content": "x"}, CALL, id="content not an array"),
    pytest.param(
        {**CALL, "content": [{"type": "content", "content": TEXT}, {"type": "content"}, 5, {"type": "zzz", "a": 1}]},
        {**CALL, "content": [{"type": "content", "content": TEXT}, {"type": "zzz", "a": 1}]},
        id="content with bad items",
    ),
    pytest.param(
        {**CALL, "locations": [{"path": "/a", "line": 0}, {"path": "/b", "line": 2}, {"line": 3}]},
        {**CALL, "locations": [{"path": "/a"}, {"path": "/b", "line": 2}]},
        id="line 0",
    ),
    pytest.param({**CALL, "_meta": 5}, CALL, id="malformed metadata"),
    pytest.param({**CALL, "_meta": {"a": None, "b": {"c": 1}}}, ..., id="metadata with null"),
    pytest.param({**CALL, "_meta": None}, ..., id="metadata null"),
    pytest.param({**CALL, "capabilities": 5}, {**CALL, "capabilities": {}}, id="malformed capabilities: ours is safe"),
    pytest.param({**CALL, "zzz": 1}, CALL, id="extra member"),
    pytest.param({"sessionUpdate": "tool_call_update"}, "$.update", id="no key"),
    pytest.param({**CHUNK, "messageId": 5, "content": TEXT}, "$.update.messageId", id="known update, wrong payload"),
    pytest.param({**CHUNK, "content": {"type": "text"}}, "$.update.content", id="known content, wrong payload"),
    pytest.param({**CHUNK, "content": {"type": "hologram", "a": {"b": 1}}}, ..., id="unknown content"),
    pytest.param({**CHUNK, "content": {**TEXT, "zzz": 1}}, {**CHUNK, "content": TEXT}, id="extra member of content"),
    pytest.param({"sessionUpdate": "future", "x": [1], "_meta": 5}, ..., id="unknown update"),
    pytest.param(
        {"sessionUpdate": "future", "__proto__": {"a": 1}, "constructor": 2}, ..., id="hostile names: ours keeps"
    ),
    pytest.param({"foo": 1}, "$.update", id="no tag"),
    pytest.param(
        {"sessionUpdate": "state_update", "state": "idle", "stopReason": 5},
        {"sessionUpdate": "state_update", "state": "idle"},
        id="malformed stop reason",
    ),
    pytest.param(
        {
            "sessionUpdate": "state_update",
            "state": "idle",
            "stopReason": "error",
            "error": {"code": 1.5, "message": "m"},
        },
        {"sessionUpdate": "state_update", "state": "idle", "stopReason": "error"},
        id="malformed error",
    ),
    pytest.param(
        {"sessionUpdate": "state_update", "state": "running", "background": [{"type": "terminal"}]},
        {"sessionUpdate": "state_update", "state": "running"},
        id="malformed background",
    ),
    pytest.param(
        {"sessionUpdate": "state_update", "state": "running", "background": [{"type": "robot", "id": 1}]},
        ...,
        id="unknown background",
    ),
    pytest.param({"sessionUpdate": "state_update", "state": "thinking", "foo": 1}, ..., id="unknown state"),
    pytest.param(
        {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [
                {"name": "a", "description": "b"},
                {"type": "command", "name": "c", "description": "d"},
                {"type": "macro", "name": "e", "description": "f", "g": 1},
            ],
        },
        {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [
                {"type": "command", "name": "c", "description": "d"},
                {"type": "macro", "name": "e", "description": "f", "g": 1},
            ],
        },
        marks=pytest.mark.req("CMD-03"),
        id="commands without type, of unknown type",
    ),
    pytest.param({"sessionUpdate": "available_commands_update"}, "$.update", id="commands missing"),
    pytest.param(
        {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": "p", "content": "# x"}},
        ...,
        id="unknown plan",
    ),
    pytest.param(
        {"sessionUpdate": "plan_update", "plan": {"type": "graph", "x": 1}},
        "$.update.plan.planId",
        id="plan without id",
    ),
    pytest.param(
        {
            "sessionUpdate": "plan_update",
            "plan": {
                "type": "items",
                "planId": "p",
                "entries": [{"content": "a", "priority": "high", "status": "pending"}, {"content": 5}],
            },
        },
        {
            "sessionUpdate": "plan_update",
            "plan": {
                "type": "items",
                "planId": "p",
                "entries": [{"content": "a", "priority": "high", "status": "pending"}],
            },
        },
        marks=pytest.mark.req("PLAN-06"),
        id="bad entries",
    ),
    pytest.param(
        {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "p", "entries": "x"}},
        "$.update.plan.entries",
        id="entries not an array",
    ),
    pytest.param({"sessionUpdate": "notice", "severity": "info", "title": ""}, "$.update.title", id="empty notice"),
    pytest.param({"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "***"}, ..., id="bad base64"),
    pytest.param({"sessionUpdate": "usage_update", "used": -1, "size": 10}, "$.update.used", id="negative usage"),
    pytest.param({"sessionUpdate": "usage_update", "used": 1152921504606846977, "size": 10}, ..., id="2^60 + 1, exact"),
    pytest.param({"sessionUpdate": "usage_update", "used": 1.5, "size": 10}, "$.update.used", id="a fraction"),
    pytest.param(
        {"sessionUpdate": "session_info_update", "title": None, "updatedAt": "yesterday"},
        {"sessionUpdate": "session_info_update", "title": None},
        id="bad date",
    ),
    *(
        pytest.param({"sessionUpdate": tag, "x": 1}, ..., id=f"{tag} of version 1")
        for tag in ("plan", "tool_call", "current_mode_update")
    ),
]


@pytest.mark.req("DEC-01")
@pytest.mark.parametrize(("members", "expected"), SURVEY)
def test_the_survey_of_the_field(members, expected):
    """`...` is what came; a string is the path of a refusal."""
    if isinstance(expected, str):
        assert refusal(UpdateSessionNotification, update(**members)).path == expected
    else:
        decoded, paths = read(UpdateSessionNotification, update(**members))
        assert plain(decoded.update) == (members if expected is ... else expected)
        extra = members.keys() - {"zzz"} == CALL.keys() or members.get("content", {}) == {**TEXT, "zzz": 1}
        assert bool(paths) == (expected is not ... and not extra)


# -- messages of the protocol, damaged at random ------------------------------------------------------------------

SECRET = "hunter2"

RICH_TEXT = {"type": "text", "text": "x", "annotations": {"audience": ["user"], "priority": 0.5}, "_meta": {"a": None}}
BLOCKS = [
    RICH_TEXT,
    {"type": "image", "data": "AA==", "mimeType": "image/png", "uri": "file:///x"},
    {"type": "resource_link", "name": "n", "uri": "u", "size": 3, "icons": [{"src": "https://x", "sizes": ["any"]}]},
    {"type": "resource", "resource": {"uri": "u", "text": "t"}},
    {"type": "_hologram", "depth": [1, {"x": None}]},
]
ITEMS = [
    {"type": "content", "content": RICH_TEXT},
    {"type": "diff", "changes": [{"operation": "move", "path": "/b", "oldPath": "/a"}, {"operation": "_x"}]},
    {"type": "terminal", "terminalId": "t"},
]
RICH_CALL = {
    "toolCallId": "t",
    "status": "completed",
    "content": ITEMS,
    "locations": [{"path": "/a", "line": 3}],
    "rawInput": {"a": [1, 2]},
    "capabilities": {"cancel": {}},
    "_meta": {"a": None, "b": {"c": 1}},
}
UPDATES = [
    {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": RICH_TEXT},
    {"sessionUpdate": "user_message", "messageId": "m", "content": BLOCKS},
    {"sessionUpdate": "tool_call_update", **RICH_CALL},
    {"sessionUpdate": "state_update", "state": "idle", "stopReason": "error", "error": {"code": 1, "message": "m"}},
    {"sessionUpdate": "state_update", "state": "running", "background": [{"type": "terminal", "terminalId": "t"}]},
    {
        "sessionUpdate": "terminal_update",
        "terminalId": "t",
        "output": {"data": ""},
        "exitStatus": {"exitCode": -1},
        "size": {"cols": 80, "rows": 24},
    },
    {
        "sessionUpdate": "plan_update",
        "plan": {"type": "items", "planId": "p", "entries": [{"content": "c", "priority": "low", "status": "pending"}]},
    },
    {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 0.5, "currency": "EUR"}},
    {"sessionUpdate": "session_info_update", "title": None, "updatedAt": "2026-01-01T00:00:00Z"},
    {
        "sessionUpdate": "config_option_update",
        "configOptions": [
            {
                "type": "select",
                "configId": "c",
                "name": "n",
                "currentValue": "v",
                "options": [{"groupId": "g", "name": "n", "options": [{"value": "v", "name": "n"}]}],
            }
        ],
    },
    {"sessionUpdate": "subagent_update", "sessionId": "c", "state": {"state": "idle"}, "cwd": "/a"},
]
MESSAGES: dict[str, list[Any]] = {
    "session/update": [{"sessionId": "s", "update": update} for update in UPDATES],
    "session/request_permission": [
        {
            "sessionId": "s",
            "title": "t",
            "subject": {"type": "tool_call", "toolCall": RICH_CALL},
            "options": [{"optionId": "o", "name": "n", "kind": "allow_once"}],
        }
    ],
    "session/prompt": [{"sessionId": "s", "prompt": BLOCKS}],
    "session/new": [
        {
            "cwd": "/a",
            "additionalDirectories": ["/b"],
            "mcpServers": [
                {"type": "stdio", "name": "n", "command": "/c", "args": ["a"], "env": [{"name": "n", "value": "v"}]}
            ],
        }
    ],
    "initialize": [
        {
            "protocolVersion": 2,
            "info": {"name": "n", "version": "1"},
            "capabilities": {"auth": {"terminal": {}}, "elicitation": {"form": {}}},
        }
    ],
}
KINDS = {method.name: method.params for method in METHODS}
SAMPLES = [(KINDS[name], message) for name, messages in MESSAGES.items() for message in messages]

ANY_SCALAR = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 3),
    st.sampled_from([2**31, 2**64, -(2**70), 0.5, 2.0, -0.0, 1e308]),
    st.sampled_from(["", SECRET, "text", "\x00", "\ud83d", "\ude00x", "é"]),
)
ANY_JSON = st.recursive(
    ANY_SCALAR,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["type", "text", "_meta", f"{SECRET} key", "__proto__", "\udc00"]), inner, max_size=3
        ),
    ),
    max_leaves=6,
)


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *(found for key, item in inner for found in places(item, (*place, key)))]


@st.composite
def damaged(draw):
    """A message of the protocol in which up to three members were replaced or dropped, and its type."""
    kind, message = draw(st.sampled_from(SAMPLES))
    message = json.loads(json.dumps(message))
    for _ in range(draw(st.integers(0, 3))):
        *way, last = draw(st.sampled_from(places(message)[1:] or [("x",)]))
        here = message
        for step in way:
            here = here[step]
        if draw(st.integers(0, 4)) or isinstance(here, list):
            here[last] = draw(ANY_JSON)
        else:
            here.pop(last, None)
    return kind, message


@pytest.mark.req("RPC-36", "EXT-28")
@settings(max_examples=300)
@given(damaged())
def test_a_damaged_message_is_read_or_refused_and_never_echoed(drawn):
    kind, message = drawn
    repairs: list[decode_module.Repair] = []
    try:
        decoded = decoder(kind, repairs.append)(json.dumps(message).encode())
    except RemoteProtocolError as error:
        said = [str(error), "".join(traceback.format_exception(error))]
    else:
        said = []
        sent = msgspec.json.encode(decoded)
        again: list[decode_module.Repair] = []
        assert msgspec.json.encode(decoder(kind, again.append)(sent)) == sent
        # A group of options that leniency has emptied is the one thing that may not be sent so.
        assert {repair.reason for repair in again} <= {"expected at least 1 items; read as empty"}
        if not again:
            validate(decoded)
    assert SECRET not in "".join(said) + "".join(f"{repair.path} {repair.reason}" for repair in repairs)
