from __future__ import annotations

import json
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpwire.protocol.decode import decoder
from acpwire.protocol.open import Unknown
from acpwire.protocol.v2.command import Command
from acpwire.protocol.v2.config_option import SessionConfigBoolean, SetSessionConfigOptionResponse
from acpwire.protocol.v2.content import TextContent
from acpwire.protocol.v2.message import AgentMessageChunk
from acpwire.protocol.v2.permission import RequestPermissionRequest
from acpwire.protocol.v2.session import ListSessionsResponse, NewSessionResponse, ResumeSessionResponse
from acpwire.protocol.v2.update import UpdateSessionNotification
from acpwire.protocol.v2.usage import Cost
from acpwire.state import ContextUsage, SessionState
from acpwire.state.session import KEPT_EVENTS

A, B = ({"type": "text", "text": letter} for letter in "AB")


def chunk(id: str = "m", block: Any = A) -> dict[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "messageId": id, "content": block}


def call(id: str = "tc", **members: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": id, **members}


# -- permission requests --------------------------------------------------------------------------------------


def ask(state: SessionState, subject: Any, **members: Any) -> None:
    option = {"optionId": "o", "name": "Yes", "kind": "allow_once"}
    params = {"sessionId": state.session_id, "title": "May I?", "options": [option], "subject": subject, **members}
    state.apply_permission(decoder(RequestPermissionRequest)(json.dumps(params).encode()))


def about(id: str = "tc", **members: Any) -> dict[str, Any]:
    return {"type": "tool_call", "toolCall": {"toolCallId": id, **members}}


@pytest.mark.req("PERM-08", "PERM-09")
def test_the_tool_call_of_a_permission_request_is_an_upsert_at_its_place(show: Any) -> None:
    state = show(call(title="Read", status="pending", _meta={"a": 1, "b": 1}))
    ask(state, about(status="paused", title=None, _meta={"a": None, "c": 1}))
    shown = state.tool_calls["tc"]
    assert (shown.title, shown.status, shown.meta) == (None, "paused", {"b": 1, "c": 1})
    show(call(status="in_progress", _meta={"b": None}), state=state)
    assert (shown.status, shown.meta) == ("in_progress", {"c": 1})
    ask(state, about(content=[{"type": "content", "content": B}]))
    assert shown.text == "B"


@pytest.mark.req("PERM-08")
def test_a_permission_request_creates_a_tool_call_that_is_new(show: Any) -> None:
    state = show(chunk())
    ask(state, about("new", kind="execute"))
    assert state.tool_calls["new"].kind == "execute"
    assert [entry.id for entry in state.timeline] == ["m", "new"]


@pytest.mark.req("PERM-09", "META-33")
def test_other_metadata_of_a_permission_request_is_no_patch(show: Any) -> None:
    state = show(call(_meta={"a": 1}))
    ask(state, {**about(), "_meta": {"a": None}}, _meta={"a": None})
    assert state.tool_calls["tc"].meta == {"a": 1}


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(
            {
                "type": "command",
                "command": "rm",
                "cwd": "/",
                "toolCallId": "tc",
                "terminalId": "t",
                "_meta": {"a": None},
            },
            marks=pytest.mark.req("PERM-12"),
        ),
        pytest.param(
            {"type": "_acme", "toolCall": {"toolCallId": "tc", "title": "x"}}, marks=pytest.mark.req("PERM-06")
        ),
        pytest.param(None, marks=pytest.mark.req("PERM-04")),
    ],
    ids=str,
)
def test_other_subjects_patch_nothing(show: Any, subject: Any) -> None:
    state = show(call(title="Read", _meta={"a": 1}))
    before = state.snapshot()
    ask(state, subject)
    assert state.snapshot() == before


# -- lists and usage ------------------------------------------------------------------------------------------


def commands(*names: str) -> dict[str, Any]:
    listed = [{"type": "command", "name": name, "description": "d"} for name in names]
    return {"sessionUpdate": "available_commands_update", "availableCommands": listed}


def options(*names: str) -> dict[str, Any]:
    listed = [{"type": "boolean", "configId": name, "name": name, "currentValue": True} for name in names]
    return {"sessionUpdate": "config_option_update", "configOptions": listed}


def answer(commands: str = "", options: str = "", kind: Any = NewSessionResponse) -> Any:
    return kind(
        **({"session_id": "sess_1"} if kind is NewSessionResponse else {}),
        available_commands=tuple(Command(name=name, description="d") for name in commands),
        config_options=tuple(option(name) for name in options),
    )


def option(name: str) -> SessionConfigBoolean:
    return SessionConfigBoolean(config_id=name, name=name, current_value=True)


def lists(state: SessionState) -> tuple[str, str]:
    names = "".join(one["name"] if isinstance(one, Unknown) else one.name for one in state.commands)
    return names, "".join(
        one["configId"] if isinstance(one, Unknown) else one.config_id for one in state.config_options
    )


@pytest.mark.req("CMD-02", "CFG-16")
def test_each_update_replaces_the_whole_list(show: Any) -> None:
    state = show(commands("a", "b"), options("x", "y"))
    assert lists(state) == ("ab", "xy")
    show(commands("c"), options(), state=state)
    assert lists(state) == ("c", "")


@pytest.mark.req("SESS-06")
@pytest.mark.parametrize("kind", [NewSessionResponse, ResumeSessionResponse])
def test_the_lists_of_a_setup_answer_are_taken(kind: Any) -> None:
    state = SessionState("sess_1")
    assert lists(state) == ("", "")
    state.adopt(answer("ab", "x", kind))
    assert lists(state) == ("ab", "x")


@pytest.mark.req("SESS-05", "SESS-07")
def test_what_updates_reported_before_a_setup_answer_stays(show: Any) -> None:
    state = show(commands("a"))
    state.adopt(answer("z", "x"))
    assert lists(state) == ("a", "x")
    show(commands("b"), options("y"), state=state)
    assert lists(state) == ("b", "y")


@pytest.mark.req("SESS-05")
def test_an_empty_list_that_was_reported_stays_too(show: Any) -> None:
    state = show(commands(), options())
    state.adopt(answer("z", "x"))
    assert lists(state) == ("", "")


def test_a_second_setup_is_newer_than_what_was_reported_before_it_began(show: Any) -> None:
    state = show(commands("a"), options("x"))
    state.begin_setup()
    show(options("y"), state=state)
    state.adopt(answer("b", "z", ResumeSessionResponse))
    assert lists(state) == ("b", "y")


@pytest.mark.req("CFG-15")
def test_the_answer_to_setting_an_option_has_the_complete_list(show: Any) -> None:
    state = show(options("x", "y"))
    state.adopt(SetSessionConfigOptionResponse(config_options=(option("z"),)))
    assert lists(state) == ("", "z")
    state.adopt(answer("", "old"))
    assert lists(state) == ("", "z")


def usage(**members: Any) -> dict[str, Any]:
    return {"sessionUpdate": "usage_update", "used": 30, "size": 100, **members}


EURO = Cost(amount=1.5, currency="EUR")


@pytest.mark.parametrize(
    ("updates", "cost"),
    [
        pytest.param([usage()], None, marks=pytest.mark.req("USE-03")),
        pytest.param([usage(cost={"amount": 1.5, "currency": "EUR"}), usage()], EURO, marks=pytest.mark.req("USE-03")),
        pytest.param(
            [usage(cost={"amount": 1.5, "currency": "EUR"}), usage(cost=None)], None, marks=pytest.mark.req("USE-03")
        ),
        pytest.param(
            [usage(cost={"amount": 1.5, "currency": "EUR"}), usage(cost="x")], EURO, marks=pytest.mark.req("DEC-08")
        ),
        pytest.param(
            [usage(cost={"amount": 1, "currency": "x"}), usage(cost={"amount": 1.5, "currency": "EUR"})],
            EURO,
            marks=pytest.mark.req("USE-03"),
        ),
    ],
    ids=str,
)
def test_the_cost_is_a_patch_and_the_counts_a_snapshot(show: Any, updates: Any, cost: Cost | None) -> None:
    shown = show(usage(used=1, size=2), *updates).usage
    assert shown == ContextUsage(used=30, size=100, cost=cost)


@pytest.mark.req("USE-05")
def test_what_remains_is_computed(show: Any) -> None:
    assert show(usage()).usage.remaining == 70
    assert show(usage(used=120)).usage.remaining == 0
    assert show().usage is None


# -- events and what is not understood ------------------------------------------------------------------------


@pytest.mark.req("NOTE-05", "NOTE-06", "NOTE-03")
def test_notices_are_events_of_their_own(show: Any) -> None:
    notice = {"sessionUpdate": "notice", "severity": "_own", "title": "N", "_meta": {"a": None}}
    state = show(notice, notice)
    assert [(one.severity, one.title, one.meta) for one in state.notices] == [("_own", "N", {"a": None})] * 2
    assert (state.activity, state.timeline) == ("idle", ())


def test_only_so_many_events_are_kept_and_all_unknown_ones_counted(show: Any) -> None:
    state = SessionState("sess_1")
    for number in range(KEPT_EVENTS + 3):
        show(
            {"sessionUpdate": "_acme", "number": number},
            {"sessionUpdate": "notice", "severity": "info", "title": str(number)},
            state=state,
        )
    assert [one["number"] for one in state.unknown] == list(range(3, KEPT_EVENTS + 3))
    assert [one.title for one in state.notices] == [str(number) for number in range(3, KEPT_EVENTS + 3)]
    assert state.unknown_count == KEPT_EVENTS + 3


@pytest.mark.parametrize(
    "update",
    [
        {"sessionUpdate": "plan", "entries": []},
        pytest.param(
            {"sessionUpdate": "tool_call", "toolCallId": "tc", "title": "T"}, marks=pytest.mark.req("TOOL-03")
        ),
        pytest.param({"sessionUpdate": "current_mode_update", "currentModeId": "m"}, marks=pytest.mark.req("CFG-19")),
        pytest.param({"sessionUpdate": "_acme.dev/x", "a": {"b": None}}, marks=pytest.mark.req("EXT-28")),
    ],
    ids=lambda update: update["sessionUpdate"],
)
def test_updates_that_are_not_understood_are_kept_and_change_nothing_else(show: Any, update: Any) -> None:
    state = show(update)
    (kept,) = state.unknown
    assert (kept.tag, dict(kept), state.unknown_count) == (update["sessionUpdate"], update, 1)
    assert (state.timeline, state.plans, state.tool_calls, state.config_options) == ((), {}, {}, ())


def test_what_was_handed_in_and_out_changes_nothing() -> None:
    inner: dict[str, Any] = {"n": 1}
    state = SessionState("sess_1")
    state.apply(Unknown("_acme", {"sessionUpdate": "_acme", "inner": inner}))
    state.apply(AgentMessageChunk(message_id="m", content=TextContent(text="x", meta=inner)))
    inner["n"] = 2
    state.unknown[0]["inner"]["n"] = 2
    before = state.snapshot()
    assert state.unknown[0]["inner"] == {"n": 1}
    before.messages[0].content[0].meta["n"] = 3
    before.unknown[0]["inner"]["n"] = 3
    again = state.snapshot()
    assert again.messages[0].content[0].meta == {"n": 1}
    assert again.unknown[0]["inner"] == {"n": 1}


# -- the whole ------------------------------------------------------------------------------------------------


def test_views_stay_current_and_cannot_be_written(show: Any) -> None:
    state = show()
    views = (state.tool_calls, state.terminals, state.plans, state.compactions, state.subagents, state.session_messages)
    show(call(), state=state)
    assert list(views[0]) == ["tc"]
    for view in views:
        with pytest.raises(TypeError):
            view["x"] = None


@pytest.mark.req("RPLY-10")
def test_whole_updates_that_are_replayed_change_nothing(show: Any) -> None:
    updates = [
        {"sessionUpdate": "user_message", "messageId": "m", "content": [A], "_meta": {"a": 1}},
        call(title="T", status="completed", content=[], _meta={"a": 1}),
        {"sessionUpdate": "terminal_update", "terminalId": "t", "output": {"data": "YQ=="}, "exitStatus": {}},
        {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "p", "entries": []}},
        {"sessionUpdate": "compaction_update", "compactionId": "c", "status": "completed", "summary": [A]},
        {"sessionUpdate": "session_info_update", "title": "T"},
        {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn", "background": []},
        usage(cost={"amount": 1, "currency": "EUR"}),
        commands("a"),
        options("x"),
    ]
    state = show(*updates)
    before = state.snapshot()
    show(*updates, state=state)
    assert state.snapshot() == before


def test_every_known_update_is_understood(show: Any) -> None:
    state = show(
        *({"sessionUpdate": f"{kind}_chunk", "messageId": "m", "content": A} for kind in MESSAGES),
        *({"sessionUpdate": kind, "messageId": "m"} for kind in MESSAGES),
        call(),
        {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "tc", "content": {"type": "content", "content": A}},
        {"sessionUpdate": "terminal_update", "terminalId": "t"},
        {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": ""},
        {"sessionUpdate": "compaction_update", "compactionId": "c", "status": "completed"},
        {"sessionUpdate": "compaction_summary_chunk", "compactionId": "c", "content": A},
        {"sessionUpdate": "session_message", "messageId": "m"},
        {"sessionUpdate": "session_message_chunk", "messageId": "m", "content": A},
        {"sessionUpdate": "subagent_update", "sessionId": "s"},
    )
    assert state.unknown_count == 0
    assert [entry.type for entry in state.timeline] == [
        *MESSAGES,
        "tool_call",
        "compaction",
        "session_message",
        "subagent",
    ]
    assert list(state.terminals) == ["t"]
    assert repr(state) == "<SessionState 'sess_1' idle: 7 entries>"


def test_an_update_of_a_type_of_somebodys_own_is_what_it_extends() -> None:
    class Marked(AgentMessageChunk, frozen=True, kw_only=True, tag="agent_message_chunk"):
        mark: int

    state = SessionState("sess_1")
    state.apply(Marked(message_id="m", content=TextContent(text="x"), mark=1))
    assert state.messages[0].text == "x"


# -- the published cases of metadata patches ------------------------------------------------------------------

MESSAGES = ("user_message", "agent_message", "agent_thought")
STREAMS = json.loads((Path(__file__).parent.parent / "data" / "meta_patch_stream_cases.json").read_text())
KEYS = {
    "tool_call": ("tool_call_update", "toolCallId"),
    "terminal": ("terminal_update", "terminalId"),
    "compaction": ("compaction_update", "compactionId"),
    "subagent": ("subagent_update", "sessionId"),
    "session_message": ("session_message", "messageId"),
    **{kind: (kind, "messageId") for kind in MESSAGES},
}


def entities(state: SessionState) -> dict[tuple[str, str | None], Any]:
    """All with metadata of their own, by kind and id."""
    found: dict[tuple[str, str | None], Any] = {("session", None): state.info}
    found |= {(message.type, message.id): message for message in state.messages}
    for kind in ("tool_call", "terminal", "compaction", "subagent", "session_message"):
        found |= {(kind, key): entity for key, entity in getattr(state, f"{kind}s").items()}
    return found


def creation(entity: dict[str, Any]) -> dict[str, Any]:
    if entity["kind"] == "session":
        return {"sessionUpdate": "session_info_update", "_meta": entity["meta"]}
    tag, key = KEYS[entity["kind"]]
    return {"sessionUpdate": tag, key: entity["id"], "_meta": entity["meta"]}


def receive(states: dict[str, SessionState], message: dict[str, Any]) -> Any:
    """Decode one message, apply it where it belongs, and return it."""
    raw = json.dumps(message.get("params", message.get("result"))).encode()
    if message.get("method") == "session/update":
        update = decoder(UpdateSessionNotification)(raw)
        states.setdefault(update.session_id, SessionState(update.session_id)).apply(update.update)
        return update
    if message.get("method") == "session/request_permission":
        request = decoder(RequestPermissionRequest)(raw)
        states.setdefault(request.session_id, SessionState(request.session_id)).apply_permission(request)
        return request
    return decoder(ListSessionsResponse)(raw)


def follow(value: Any, pointer: str) -> Any:
    """What a JSON pointer into params or result points to, in what was decoded."""
    for step in pointer.split("/")[2:]:
        if isinstance(value, (dict, tuple, list)):
            value = value[int(step) if step.isdigit() else step]
        else:
            fields = dict(zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True))
            value = getattr(value, fields[step])
    return value


def check_stream(show: Any, case: dict[str, Any]) -> None:
    states: dict[str, SessionState] = {}
    for entity in case["initial"]:
        show(creation(entity), state=states.setdefault(entity["session"], SessionState(entity["session"])))
    received = [receive(states, message) for message in case["messages"]]

    stored = {(session, *key): one.meta for session, state in states.items() for key, one in entities(state).items()}
    expected = {(one["session"], one["kind"], one["id"]): one["meta"] for one in case["stored"]}
    assert {key: meta for key, meta in stored.items() if meta or key in expected} == expected
    for plain in case["plain"]:
        assert follow(received[plain["message"]], plain["pointer"]) == plain["meta"], plain["pointer"]


def of_streams(*, replayed: bool) -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in STREAMS if case["name"].startswith("replay-") is replayed]


@pytest.mark.req("META-01", "META-02", "META-33")
@pytest.mark.parametrize("case", of_streams(replayed=False))
def test_live_streams_of_metadata_patches(show: Any, case: dict[str, Any]) -> None:
    check_stream(show, case)


@pytest.mark.req("RPLY-18", "RPLY-20", "RPLY-23")
@pytest.mark.parametrize("case", of_streams(replayed=True))
def test_replayed_streams_of_metadata_patches(show: Any, case: dict[str, Any]) -> None:
    check_stream(show, case)


# -- any history, against a model that is slow and obvious ----------------------------------------------------


class Model:
    """Sessions as plain JSON, rebuilt by the letter of the rules."""

    def __init__(self) -> None:
        self.order: list[tuple[str, str]] = []
        self.content: dict[tuple[str, str], list[str]] = {}
        self.meta: dict[tuple[str, str], dict[str, Any]] = {}
        self.fields: dict[tuple[str, str], dict[str, Any]] = {}
        self.output: dict[tuple[str, str], bytes] = {}

    def entity(self, kind: str, id: str) -> tuple[str, str]:
        key = (kind, id)
        if key not in self.order:
            self.order.append(key)
            self.content[key], self.meta[key], self.fields[key], self.output[key] = [], {}, {}, b""
        return key

    def apply(self, update: dict[str, Any]) -> None:
        tag = update["sessionUpdate"]
        if tag.endswith("_chunk"):
            self.apply_chunk(tag, update)
            return
        kind = next(kind for kind, (name, _) in KEYS.items() if name == tag)
        key = self.entity(kind, update[KEYS[kind][1]])
        for name in ("content", "summary"):
            if name in update:
                self.content[key] = [text_of(item) for item in update[name] or []]
        if "output" in update:
            self.output[key] = b64decode((update["output"] or {"data": ""})["data"])
        self.fields[key] |= {name: update[name] for name in ("title", "status", "command") if name in update}
        if "_meta" in update:
            merged = {**self.meta[key], **update["_meta"]} if update["_meta"] is not None else {}
            self.meta[key] = {name: value for name, value in merged.items() if value is not None}

    def apply_chunk(self, tag: str, chunk: dict[str, Any]) -> None:
        if tag == "terminal_output_chunk":
            self.output[self.entity("terminal", chunk["terminalId"])] += b64decode(chunk["data"])
            return
        kind = {"tool_call_content_chunk": "tool_call", "compaction_summary_chunk": "compaction"}.get(
            tag, tag.removesuffix("_chunk")
        )
        self.content[self.entity(kind, chunk[KEYS[kind][1]])].append(text_of(chunk["content"]))


def text_of(item: dict[str, Any]) -> str:
    return str(item["text"]) if item["type"] == "text" else text_of(item["content"])


texts = st.sampled_from(["", "a", "bé", "\U0001f600"])
blocks = texts.map(lambda text: {"type": "text", "text": text})
items = blocks.map(lambda block: {"type": "content", "content": block})
metas = st.none() | st.dictionaries(
    st.sampled_from("abc"), st.none() | st.integers(0, 3) | st.just({"x": None}), max_size=2
)
data = st.binary(max_size=4).map(lambda raw: b64encode(raw).decode())


def lists_of(item: Any) -> Any:
    return st.none() | st.lists(item, max_size=3)


def object_of(tag: str, key: str, required: dict[str, Any], optional: dict[str, Any]) -> Any:
    ids = st.sampled_from(["1", "2"])
    return st.fixed_dictionaries(
        {"sessionUpdate": st.just(tag), key: ids, **required}, optional={"_meta": metas, **optional}
    )


updates = st.one_of(
    *(object_of(kind, "messageId", {}, {"content": lists_of(blocks)}) for kind in (*MESSAGES, "session_message")),
    *(object_of(f"{kind}_chunk", "messageId", {"content": blocks}, {}) for kind in (*MESSAGES, "session_message")),
    object_of(
        "tool_call_update",
        "toolCallId",
        {},
        {
            "content": lists_of(items),
            "title": st.none() | texts,
            "status": st.none() | st.sampled_from(["pending", "completed"]),
        },
    ),
    object_of("tool_call_content_chunk", "toolCallId", {"content": items}, {}),
    object_of(
        "compaction_update",
        "compactionId",
        {"status": st.sampled_from(["in_progress", "_x"])},
        {"summary": lists_of(blocks)},
    ),
    object_of("compaction_summary_chunk", "compactionId", {"content": blocks}, {}),
    object_of(
        "terminal_update",
        "terminalId",
        {},
        {"command": st.none() | texts, "output": st.none() | data.map(lambda one: {"data": one})},
    ),
    object_of("terminal_output_chunk", "terminalId", {"data": data}, {}),
)


@given(st.lists(st.tuples(updates, st.booleans()), max_size=25))
def test_any_history_shows_what_the_rules_say(history: list[tuple[dict[str, Any], bool]]) -> None:
    decode = decoder(UpdateSessionNotification)
    state, model = SessionState("sess_1"), Model()
    for update, look in history:
        state.apply(decode(json.dumps({"sessionId": "sess_1", "update": update}).encode()).update)
        model.apply(update)
        if look:  # what was read before must not show in what is read later
            state.snapshot()
    found = entities(state)
    assert found.keys() - {("session", None)} == set(model.order)
    timeline = [(entry.type, entry.id) for entry in state.timeline]
    assert timeline == [key for key in model.order if key[0] != "terminal"]
    for key in model.order:
        shown = found[key]
        assert shown.meta == model.meta[key]
        fields = model.fields[key]
        if key[0] == "terminal":
            assert (shown.output, shown.command) == (model.output[key], fields.get("command"))
            continue
        assert shown.text == "".join(model.content[key])
        parts = shown.summary if key[0] == "compaction" else shown.content
        assert [getattr(part, "content", part).text for part in parts] == model.content[key]
        if key[0] == "tool_call":
            assert (shown.title, shown.status) == (fields.get("title"), fields.get("status") or "pending")
        if key[0] == "compaction":
            assert shown.status == fields.get("status", "in_progress")
