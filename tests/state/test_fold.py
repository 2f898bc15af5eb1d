"""Recorded messages into states, a line at a time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpwire.errors import RemoteProtocolError
from acpwire.protocol.decode import decoder
from acpwire.protocol.v2.update import UpdateSessionNotification
from acpwire.state import SessionState
from acpwire.state.fold import Fold

_decode = decoder(UpdateSessionNotification)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def chunk(value: str = "a", id: str = "m") -> dict[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "messageId": id, "content": text(value)}


def call(**members: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": "t", **members}


def option(value: str) -> dict[str, Any]:
    return {"configId": "o", "name": "O", "type": "boolean", "currentValue": value == "on"}


def message(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", **members}


def update(of: dict[str, Any], session: str = "s") -> dict[str, Any]:
    return message(method="session/update", params={"sessionId": session, "update": of})


def ask(id: Any = 1, session: str = "s", **subject: Any) -> dict[str, Any]:
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    subject = subject or {"type": "tool_call", "toolCall": {"toolCallId": "t", "title": "asked"}}
    params = {"sessionId": session, "title": "May I?", "subject": subject, "options": options}
    return message(id=id, method="session/request_permission", params=params)


def a2c(inner: Any) -> dict[str, Any]:
    return {"t": 0.5, "dir": "a2c", "msg": inner}


def c2a(inner: Any) -> dict[str, Any]:
    return {"t": 0.5, "dir": "c2a", "msg": inner}


def folded(*lines: Any) -> Fold:
    fold = Fold()
    for line in lines:
        fold.feed(line if isinstance(line, bytes) else json.dumps(line).encode())
    return fold


def shown(fold: Fold, session: str = "s") -> Any:
    return fold.to_builtins()["sessions"][session]


# -- what is applied --------------------------------------------------------------------------------------------


def test_a_bare_message_and_a_recorded_one_say_the_same() -> None:
    assert shown(folded(update(chunk()))) == shown(folded(a2c(update(chunk()))))
    assert shown(folded(update(chunk())))["messages"] == [
        {"type": "agent_message", "messageId": "m", "content": [text("a")]}
    ]


def test_every_section_is_there_when_nothing_was_said() -> None:
    assert shown(folded(update({"sessionUpdate": "session_info_update"}))) == {
        "state": "idle", "info": {}, "messages": [], "toolCalls": [], "terminals": [], "plans": [], "compactions": [],
        "subagents": [], "configOptions": [], "commands": [], "usage": None, "notices": [], "background": None,
        "unknown": 0,
    }  # fmt: skip


def test_nothing_folds_to_no_session() -> None:
    assert folded(b"", b"\n", b"  \r\n").to_builtins() == {"sessions": {}, "malformed": 0}


def test_messages_are_in_the_order_of_the_timeline_whatever_their_type() -> None:
    between = {"sessionUpdate": "session_message", "messageId": "m", "content": [text("b")]}
    thought = {"sessionUpdate": "agent_thought", "messageId": "m", "content": []}
    fold = folded(*map(update, (between, thought, call(), {**chunk(), "sessionUpdate": "user_message_chunk"}, chunk())))
    assert [(one["type"], one["messageId"]) for one in shown(fold)["messages"]] == [
        ("session_message", "m"), ("agent_thought", "m"), ("user_message", "m"), ("agent_message", "m"),
    ]  # fmt: skip


@pytest.mark.req("META-17")
def test_metadata_is_what_is_stored_and_left_out_without_keys() -> None:
    fold = folded(update(call(_meta={"k": 1, "l": None})), update(call(_meta={"m": {"n": None}})))
    assert shown(fold)["toolCalls"][0]["_meta"] == {"k": 1, "m": {"n": None}}
    fold = folded(update(call(_meta={"k": 1})), update(call(_meta={"k": None})))
    assert "_meta" not in shown(fold)["toolCalls"][0]


@pytest.mark.req("TERM-11", "TERM-12")
def test_the_output_of_a_terminal_is_all_its_bytes_in_base64() -> None:
    pieces = ("4oI=", "rP8=")  # a character split between them, and a byte that is no UTF-8
    fold = folded(*(update({"sessionUpdate": "terminal_output_chunk", "terminalId": "x", "data": d}) for d in pieces))
    assert shown(fold)["terminals"] == [{"terminalId": "x", "output": {"data": "4oKs/w=="}}]


@pytest.mark.req("EXT-28")
def test_unknown_updates_are_counted_and_harm_nothing() -> None:
    fold = folded(update({"sessionUpdate": "_x"}), a2c(update({"sessionUpdate": "newer", "a": 1})), update(chunk()))
    assert (shown(fold)["unknown"], fold.malformed) == (2, 0)
    assert len(shown(fold)["messages"]) == 1


def test_why_the_work_stopped_is_shown_when_it_is_known() -> None:
    error = {"code": -32603, "message": "no"}
    fold = folded(update({"sessionUpdate": "state_update", "state": "idle", "stopReason": "error", "error": error}))
    assert [shown(fold)[name] for name in ("state", "stopReason", "error")] == ["idle", "error", error]


@pytest.mark.req("RPC-31", "PERM-08")
@pytest.mark.parametrize("wrap", [a2c, lambda message: message], ids=["recorded", "bare"])
def test_the_tool_call_of_a_permission_request_is_applied_at_its_place(wrap: Any) -> None:
    fold = folded(wrap(update(call(title="before", name="n"))), wrap(ask()))
    assert shown(fold)["toolCalls"][0] | {"title": "asked", "name": "n"} == shown(fold)["toolCalls"][0]
    assert shown(folded(wrap(ask()), wrap(update(call(title="after")))))["toolCalls"][0]["title"] == "after"


@pytest.mark.req("RPC-28")
def test_the_entries_of_an_array_are_taken_in_their_order() -> None:
    batch = [update(chunk("a")), update(chunk("b"))]
    assert shown(folded(batch)) == shown(folded(a2c(batch))) == shown(folded(*batch))


def test_a_character_that_was_split_between_chunks_is_whole() -> None:
    halves = [json.dumps(a2c(update(chunk(half)))).encode() for half in ("\ud83d", "\ude00")]
    assert b"\\ud83d" in halves[0]
    content = shown(folded(*halves))["messages"][0]["content"]
    assert "".join(block["text"] for block in content) == "\U0001f600"
    bare = [json.dumps(update(chunk(half))).encode() for half in ("\ud83d", "\ude00")]
    batch = b"[" + b",".join(bare) + b"]"
    assert shown(folded(*bare))["messages"][0]["content"] == shown(folded(batch))["messages"][0]["content"] == content


def test_an_unused_message_with_half_a_character_does_no_harm() -> None:
    assert folded(c2a(message(id=1, method="_x", params={"a": "\ud83d"}))).malformed == 0


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    assert folded(b"\xef\xbb\xbf" + json.dumps(update(chunk())).encode()).sessions.keys() == {"s"}


def test_members_that_are_not_known_are_ignored() -> None:
    assert "s" in folded({**a2c({**update(chunk()), "trace": [1]}), "pid": 7, "note": {}}).sessions


def test_a_member_dir_of_a_bare_message_means_nothing() -> None:
    assert "s" in folded({**update(chunk()), "dir": ["x"], "msg": 1}).sessions


def test_what_a_client_sends_changes_nothing() -> None:
    prompt = message(id=1, method="session/prompt", params={"sessionId": "s", "prompt": [text("hi")]})
    answer = message(id=1, result={"messageId": "u"})
    fold = folded(c2a(update(chunk())), c2a(ask(2)), c2a(prompt), a2c(answer), c2a(message(method="session/cancel")))
    assert fold.to_builtins() == {"sessions": {}, "malformed": 0}


# -- answers ----------------------------------------------------------------------------------------------------

NEW = message(id=1, method="session/new", params={"cwd": "/"})
CREATED = message(id=1, result={"sessionId": "s", "configOptions": [option("on")]})
RESUME = message(id=1, method="session/resume", params={"sessionId": "s", "cwd": "/"})
RESUMED = message(id=1, result={"configOptions": [option("on")]})
SET = message(id=1, method="session/set_config_option", params={"sessionId": "s", "configId": "o", "value": True})


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        pytest.param(NEW, CREATED, id="new", marks=pytest.mark.req("SESS-06")),
        pytest.param(RESUME, RESUMED, id="resume", marks=pytest.mark.req("SESS-06")),
        pytest.param(SET, RESUMED, id="set", marks=pytest.mark.req("CFG-15")),
    ],
)
@pytest.mark.parametrize(
    "wraps", [(c2a, a2c), (lambda one: one, lambda one: one), (lambda one: one, a2c)], ids=["recorded", "bare", "mixed"]
)
def test_options_are_adopted_from_the_answer_to_a_clients_request(request_: Any, answer: Any, wraps: Any) -> None:
    fold = folded(wraps[0](request_), wraps[1](answer))
    assert shown(fold)["configOptions"] == [option("on")]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([a2c(CREATED)], id="nobody-asked"),
        pytest.param([c2a(NEW), a2c({**CREATED, "id": "1"})], id="id-of-another-type"),
        pytest.param([c2a(NEW), c2a(CREATED)], id="from-the-one-who-asked"),
        pytest.param([a2c(NEW), c2a(CREATED)], id="asked-by-the-agent"),
        pytest.param([c2a(NEW), a2c(message(id=1, error={"code": -32602, "message": "no"})), a2c(CREATED)], id="late"),
        pytest.param([c2a(NEW), c2a(message(id=1, method="_x")), a2c(CREATED)], id="id-used-again"),
        pytest.param([c2a(SET | {"params": {}}), a2c(RESUMED)], id="no-session"),
        pytest.param([a2c(message(id=None, error={"code": -32700, "message": "no"}))], id="null"),
    ],
)
def test_other_answers_change_nothing(lines: Any) -> None:
    assert folded(*lines).to_builtins() == {"sessions": {}, "malformed": 0}


@pytest.mark.req("SESS-05", "SESS-07")
def test_what_an_update_said_before_the_answer_came_is_newer() -> None:
    news = a2c(update({"sessionUpdate": "config_option_update", "configOptions": [option("off")]}))
    assert shown(folded(c2a(NEW), news, a2c(CREATED)))["configOptions"] == [option("off")]
    assert shown(folded(news, c2a(RESUME), a2c(RESUMED)))["configOptions"] == [option("on")]
    assert shown(folded(news, c2a(RESUME), news, a2c(RESUMED)))["configOptions"] == [option("off")]


@pytest.mark.parametrize("first", ["agent", "client"])
def test_equal_ids_of_the_two_sides_are_told_apart_without_a_direction(first: str) -> None:
    chosen = message(id=1, result={"outcome": {"outcome": "cancelled"}})
    answers = [CREATED, chosen] if first == "agent" else [chosen, CREATED]
    fold = folded(NEW, ask(session="other"), *answers)
    assert shown(fold)["configOptions"] == [option("on")]


@pytest.mark.req("RPLY-10")
def test_a_replay_after_a_restart_leads_to_the_same_state() -> None:
    live = [a2c(update(chunk("a"))), a2c(update(chunk("b"))), a2c(update(call(title="t", status="completed")))]
    whole = {"sessionUpdate": "agent_message", "messageId": "m", "content": [text("a"), text("b")]}
    replay = [a2c(update(whole)), a2c(update(call(title="t", status="completed")))]
    restart = {"dir": "note", "raw": "process restarted"}
    assert shown(folded(*live)) == shown(folded(*live, restart, c2a(RESUME), *replay, a2c(message(id=1, result={}))))


# -- lines that hold no message ---------------------------------------------------------------------------------


def test_text_that_a_peer_sent_is_counted_and_a_remark_is_not() -> None:
    fold = folded({"dir": "c2a", "raw": '{"bad'}, {"dir": "a2c", "raw": "[]", "msg": None}, {"dir": "note", "raw": "x"})
    assert fold.malformed == 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param(b'{"jsonrpc":"2.0","met', "not valid JSON", id="cut"),
        pytest.param(b"hello", "not valid JSON", id="text"),
        pytest.param(b'{"jsonrpc":"2.0","method":"_x","params":NaN}', "not valid JSON", id="nan"),
        pytest.param(b'{"dir":"a2c","raw":"\xff"}', "not valid UTF-8", id="utf-8"),
        pytest.param(b"[" * 100_000, "nested too deeply|not valid JSON", id="deep"),
        pytest.param(
            b'{"jsonrpc":"2.0","method":"_x","params":' + b"[" * 100_000, "deeply|not valid", id="deep-inside"
        ),
        pytest.param(7, "neither a JSON-RPC message nor", id="number"),
        pytest.param({"hello": "secret"}, "neither a JSON-RPC message nor", id="object"),
        pytest.param({"jsonrpc": "1.0", "method": "secret"}, "neither a JSON-RPC message nor", id="version"),
        pytest.param({"dir": "a2c"}, "neither a JSON-RPC message nor", id="nothing-inside"),
        pytest.param({"dir": "secret", "msg": update(chunk())}, r"neither `a2c` nor .* `\$\.dir`", id="direction"),
        pytest.param({"dir": ["secret"], "raw": ""}, r"neither `a2c` nor .* `\$\.dir`", id="no-direction"),
        pytest.param(a2c({"method": "secret"}), "no .jsonrpc.", id="no-jsonrpc"),
        pytest.param(a2c(None), "neither a JSON-RPC message nor", id="null"),
        pytest.param(a2c({**message(), "id": True, "result": {}}), "neither a JSON-RPC message nor", id="id"),
        pytest.param(message(id=1), "neither a call nor an answer", id="neither"),
        pytest.param(message(result="secret"), "neither a call nor an answer", id="no-id"),
        pytest.param(message(id=1, result={}, error={}), "neither a call nor an answer", id="both"),
        pytest.param(
            update({"sessionUpdate": "agent_message_chunk", "content": text("secret")}), "messageId", id="bad"
        ),
        pytest.param(update({"sessionUpdate": ["secret"]}), "sessionUpdate", id="no-tag"),
        pytest.param(message(method="session/update", params=["secret"]), "object", id="params"),
        pytest.param(message(id=1, method="session/request_permission", params={}), "sessionId", id="permission"),
    ],
)
@pytest.mark.req("RPC-36")
def test_a_line_that_cannot_be_used_says_why_without_its_values_and_is_counted(line: Any, reason: str) -> None:
    fold = folded(update(chunk("a")))
    with pytest.raises(RemoteProtocolError, match=reason) as caught:
        fold.feed(line if isinstance(line, bytes) else json.dumps(line).encode())
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    fold.feed(json.dumps(update(chunk("b"))).encode())
    assert fold.malformed == 1
    assert fold.sessions.keys() == {"s"}
    assert fold.sessions["s"].messages[0].text == "ab"


def test_an_answer_that_cannot_be_read_is_such_a_line() -> None:
    fold = folded(c2a(NEW))
    with pytest.raises(RemoteProtocolError, match="sessionId"):
        fold.feed(json.dumps(a2c(message(id=1, result={}))).encode())
    assert fold.malformed == 1


def test_of_an_array_the_good_entries_are_taken_and_the_line_counts_once() -> None:
    fold = Fold()
    with pytest.raises(RemoteProtocolError, match=r"no .jsonrpc."):
        fold.feed(json.dumps([update(chunk("a")), {}, 7, update(chunk("b"))]).encode())
    assert (fold.sessions["s"].messages[0].text, fold.malformed) == ("ab", 1)


# -- the version ------------------------------------------------------------------------------------------------


def initialized(version: int, id: int = 0) -> list[Any]:
    asked = message(id=id, method="initialize", params={"protocolVersion": 2})
    return [c2a(asked), a2c(message(id=id, result={"protocolVersion": version}))]


@pytest.mark.parametrize("version", [1, 3])
def test_an_agent_that_answers_with_another_version_ends_it(version: int) -> None:
    fold = folded(*initialized(version), a2c(update(chunk())), b"not even JSON")
    assert (fold.foreign, fold.version, fold.sessions, fold.malformed) == (True, version, {}, 0)


@pytest.mark.parametrize(
    "line",
    [
        c2a(message(id=1, method="session/load", params={})),
        message(id=1, method="session/set_mode", params={}),
        a2c(message(id=1, method="fs/read_text_file", params={})),
        message(id=1, method="terminal/create", params={}),
        update({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "T"}),
        a2c(update({"sessionUpdate": "plan", "entries": []})),
    ],
)
def test_what_only_version_1_has_gives_it_away_until_version_2_was_agreed_on(line: Any) -> None:
    assert folded(line).version == 1
    fold = folded(*initialized(2), line)
    assert (fold.version, fold.foreign) == (2, False)


def test_a_second_connection_of_version_1_ends_it_too() -> None:
    assert folded(*initialized(2), a2c(update(chunk())), *initialized(1, 5)).foreign


def test_a_refused_initialize_says_nothing_about_the_version() -> None:
    refusal = message(id=0, error={"code": -32022, "message": "no"})
    assert folded(initialized(2)[0], a2c(refusal)).version is None


# -- laws -------------------------------------------------------------------------------------------------------

ids = st.sampled_from("ab")
words = st.sampled_from(["", "x", "yz", "ü\u2028", "\U0001f600"])
metas = st.none() | st.dictionaries(ids, st.none() | st.integers(0, 2), max_size=2)
updates = st.one_of(
    st.builds(chunk, words, ids),
    st.builds(lambda i, w, m: {"sessionUpdate": "user_message", "messageId": i, "content": [text(w)], "_meta": m}, ids, words, metas),
    st.builds(lambda i, w, m: {"sessionUpdate": "tool_call_update", "toolCallId": i, "title": w, "_meta": m}, ids, words, metas),
    st.builds(lambda i, w: {"sessionUpdate": "tool_call_content_chunk", "toolCallId": i, "content": {"type": "content", "content": text(w)}}, ids, words),
    st.builds(lambda i, d: {"sessionUpdate": "terminal_output_chunk", "terminalId": i, "data": d}, ids, st.sampled_from(["", "YQ==", "!"])),
    st.builds(lambda s: {"sessionUpdate": "state_update", "state": s}, st.sampled_from(["idle", "running", "_odd"])),
    st.builds(lambda n: {"sessionUpdate": "usage_update", "used": n, "size": 9}, st.integers(0, 9)),
    st.builds(lambda i: {"sessionUpdate": f"_{i}"}, ids),
)  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(["s", "t"]), updates, st.booleans(), st.booleans())))
def test_folding_recorded_updates_is_applying_them(steps: list[tuple[str, dict[str, Any], bool, bool]]) -> None:
    states: dict[str, SessionState] = {}
    fold = Fold()
    for session, one, recorded, escaped in steps:
        inner = update(one, session)
        fold.feed(json.dumps(a2c(inner) if recorded else inner, ensure_ascii=escaped).encode())
        params = json.dumps(inner["params"]).encode()
        states.setdefault(session, SessionState(session)).apply(_decode(params).update)
    assert {id: state.snapshot() for id, state in fold.sessions.items()} == {
        id: state.snapshot() for id, state in states.items()
    }
    json.dumps(fold.to_builtins(), allow_nan=False)


@given(st.binary(max_size=60) | st.text(alphabet='{}[]",:ajsonrpc2.0dirmsg \\', max_size=60).map(str.encode))
def test_any_bytes_are_used_or_refused(line: bytes) -> None:
    fold = Fold()
    try:
        fold.feed(line)
    except RemoteProtocolError:
        assert fold.malformed == 1
