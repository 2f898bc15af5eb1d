"""A client of ours with an agent of ours, over a memory pair."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from acpwire import (
    Agent,
    AuthRequired,
    Client,
    ConnectionClosed,
    LocalProtocolError,
    PermissionRequest,
    RemoteProtocolError,
    RequestError,
    StartTimeout,
    Turn,
    Unsupported,
    connect,
)
from acpwire.protocol.v2.auth import AuthMethodAgent, AuthMethodTerminal
from acpwire.protocol.v2.config_option import (
    SessionConfigBoolean,
    SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
)
from acpwire.protocol.v2.permission import PermissionOption
from acpwire.protocol.v2.session import ListSessionsResponse, NewSessionResponse
from acpwire.protocol.v2.update import UpdateSessionNotification
from acpwire.transports import memory

PATIENCE = 10.0


@contextlib.asynccontextmanager
async def connected(agent: Agent, client: Client | None = None) -> AsyncIterator[Client]:
    ours, theirs = memory.pair()
    client = client or Client("test")
    serving = asyncio.create_task(agent.serve(theirs))
    async with asyncio.timeout(PATIENCE):
        async with client.connect(ours):
            yield client
        await serving


def an_agent() -> Agent:
    agent = Agent("test", version="1.0.0")

    @agent.prompt
    async def answer(turn: Turn) -> None:
        await turn.say(f"You said: {turn.text}")

    return agent


# -- permissions ----------------------------------------------------------------------------------------------


def asking_agent(**request: Any) -> tuple[Agent, list[Any]]:
    agent, answers = Agent("asks"), []

    @agent.prompt
    async def ask(turn: Turn) -> None:
        async with turn.tool_call("Read notes", kind="read") as call:
            answers.append(await turn.request_permission("Read?", tool_call=call, **request))

    return agent, answers


@pytest.mark.req("PERM-17")
async def test_without_a_handler_the_answer_is_cancelled_and_one_warning_names_what_to_register(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent, answers = asking_agent()
    with caplog.at_level(logging.WARNING, "acpwire"):
        async with connected(agent) as client:
            session = await client.new_session("/tmp")
            await session.prompt("go")
            await session.prompt("go")
    assert [bool(answer) for answer in answers] == [False, False]
    warnings = [one.message for one in caplog.records if "permission" in one.message]
    assert len(warnings) == 1
    assert "@client.permission" in warnings[0]


CHOICES = [
    pytest.param(lambda request: request.choose("allow_once"), True, id="choose"),
    pytest.param(lambda request: request.choose("allow_always", "allow_once"), True, id="choose the next best"),
    pytest.param(lambda request: request.choose("nothing_like_it"), False, id="choose what is not offered"),
    pytest.param(lambda request: request.select("allow_once"), True, id="select"),
    pytest.param(lambda request: request.reject(), False, id="reject"),
    pytest.param(lambda request: request.cancel(), False, id="cancel"),
    pytest.param(lambda request: None, False, id="nothing"),
]


@pytest.mark.parametrize(("choose", "allowed"), CHOICES)
@pytest.mark.req("PERM-15")
async def test_a_handler_answers_with_what_was_offered(choose: Any, allowed: bool) -> None:
    agent, answers = asking_agent()

    async def decide(request: PermissionRequest, context: Any) -> Any:
        return choose(request)

    ours, theirs = memory.pair()
    serving = asyncio.create_task(agent.serve(theirs))
    async with asyncio.timeout(PATIENCE), connect(ours, permission=decide) as client:
        session = await client.new_session("/tmp")
        await session.prompt("go")
    await serving
    assert answers[0].allowed is allowed


@pytest.mark.req("PERM-16", "SEC-01")
async def test_an_option_that_was_not_offered_cannot_be_selected(caplog: pytest.LogCaptureFixture) -> None:
    agent, answers = asking_agent()
    client = Client("test")

    @client.permission
    async def invent(request: PermissionRequest, context: Any) -> Any:
        return request.select("allow_everything")

    async with connected(agent, client):
        turn = await (await client.new_session("/tmp")).prompt("go")
    assert turn.stop_reason == "error"
    assert not answers
    assert "was not offered" in caplog.text


@pytest.mark.req("PERM-08", "RPC-31")
async def test_a_handler_sees_the_tool_call_as_the_session_shows_it() -> None:
    agent, _ = asking_agent(description="the notes of today")
    client, seen = Client("test"), []

    @client.permission
    async def look(request: PermissionRequest, context: Any) -> Any:
        call = request.tool_call
        assert call is not None
        seen.append((request.title, request.description, call.title, call.kind, call.status, request.session_id))
        assert context.client is client
        return request.reject()

    async with connected(agent, client):
        session = await client.new_session("/tmp")
        await session.prompt("go")
    assert seen == [("Read?", "the notes of today", "Read notes", "read", "in_progress", session.id)]


@pytest.mark.req("PERM-21", "CANC-10")
async def test_a_withdrawn_request_is_answered_cancelled_and_the_handler_is_cancelled() -> None:
    agent, answers = asking_agent()
    client, asked, ended = Client("test"), asyncio.Event(), asyncio.Event()

    @client.permission
    async def dither(request: PermissionRequest, context: Any) -> Any:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with connected(agent, client):
        session = await client.new_session("/tmp")
        async with session.prompt("go") as turn:
            await asked.wait()
            await session.cancel()
            await turn.wait()
        assert turn.stop_reason == "cancelled"
        await ended.wait()
    assert not answers


async def test_options_of_an_agents_own_are_found_by_kind_and_answered_by_id() -> None:
    own = [
        PermissionOption(option_id="abort", name="No", kind="reject_always"),  # type: ignore[arg-type]
        PermissionOption(option_id="proceed", name="Go", kind="_acme_go"),  # type: ignore[arg-type]
    ]
    agent, answers = asking_agent(options=own)
    client = Client("test")

    @client.permission
    async def go(request: PermissionRequest, context: Any) -> Any:
        return request.choose("_acme_go")

    async with connected(agent, client):
        await (await client.new_session("/tmp")).prompt("go")
    assert answers[0].outcome.option_id == "proceed"
    assert not answers[0]  # a kind that is not known to allow is no approval


# -- updates and state ----------------------------------------------------------------------------------------


@pytest.mark.req("RPC-30")
async def test_the_update_handler_hears_every_update_in_order_before_the_call_returns() -> None:
    agent = Agent("chatty")

    @agent.prompt
    async def chat(turn: Turn) -> None:
        for number in range(50):
            await turn.say(f"{number} ")

    client, heard = Client("test"), []

    @client.update
    async def hear(params: UpdateSessionNotification, context: Any) -> None:
        await asyncio.sleep(0)
        heard.append(params.update)

    async with connected(agent, client):
        session = await client.new_session("/tmp")
        await session.prompt("go")
        await client.notify("_mark", {})
        await session.close()
    texts = [one.content.text for one in heard if type(one).__name__ == "AgentMessageChunk"]  # type: ignore[union-attr]
    assert texts == [f"{number} " for number in range(50)]


async def test_two_sessions_of_one_connection_keep_their_own_state() -> None:
    async with connected(an_agent()) as client:
        one, two = await client.new_session("/one"), await client.new_session("/two")
        await asyncio.gather(one.prompt("a"), two.prompt("b"), one.prompt("c"))
        assert [message.text for message in one.state.messages] == ["a", "You said: a", "c", "You said: c"]
        assert [message.text for message in two.state.messages] == ["b", "You said: b"]
        assert one.id != two.id


async def test_a_call_made_inside_the_loop_over_a_turn_does_not_wait_for_the_loop() -> None:
    agent = Agent("chatty")

    @agent.request("_a/ask")
    async def ask(params: Any, context: Any) -> Any:
        return params

    @agent.prompt
    async def chat(turn: Turn) -> None:
        for number in range(20_000):
            await turn.say(f"{number} ")

    async with connected(agent) as client:
        session = await client.new_session("/tmp")
        asked = 0
        async with session.prompt("go") as turn:
            async for _ in turn:
                if asked < 3:
                    asked += 1
                    assert await client.request("_a/ask", {"n": asked}) == {"n": asked}
        assert asked == 3
        assert turn.stop_reason == "end_turn"


# -- sessions -------------------------------------------------------------------------------------------------


@pytest.mark.req("SESS-28", "SESS-29")
async def test_sessions_are_listed_over_all_pages_an_empty_cursor_included() -> None:
    agent = an_agent()
    pages = {None: ("a", ""), "": ("b", "2"), "2": ("c", None)}

    @agent.list_sessions
    async def page(params: Any, context: Any) -> ListSessionsResponse:
        from acpwire.protocol.v2.info import SessionInfo

        session_id, cursor = pages[params.cursor]
        return ListSessionsResponse(sessions=(SessionInfo(session_id=session_id, cwd="/"),), next_cursor=cursor)  # type: ignore[arg-type]

    async with connected(agent) as client:
        assert [info.session_id async for info in client.list_sessions()] == ["a", "b", "c"]
        pages["2"] = ("c", "")
        with pytest.raises(RemoteProtocolError, match="repeats a cursor"):
            [info async for info in client.list_sessions()]


@pytest.mark.req("SESS-11")
async def test_a_closed_session_can_be_resumed_and_prompted() -> None:
    async with connected(an_agent()) as client:
        session = await client.new_session("/tmp")
        await session.prompt("one")
        await session.close()
        await session.close()
        with pytest.raises(RequestError):
            await session.prompt("two")
        again = await client.resume_session(session.id, "/tmp")
        assert again.state.activity == "idle"
        await again.prompt("three")
        assert again.state.messages[-1].text == "You said: three"


@pytest.mark.req("ROOT-04", "ROOT-05")
async def test_roots_are_checked_before_anything_is_sent() -> None:
    async with connected(an_agent()) as client:
        with pytest.raises(LocalProtocolError, match="not an absolute path"):
            await client.new_session("relative")
        with pytest.raises(LocalProtocolError) as caught:
            await client.new_session("/a", additional_directories=["/b", "c"])
        assert caught.value.path == "$.additionalDirectories[1]"
        with pytest.raises(Unsupported, match="additionalDirectories"):
            await client.new_session("/a", additional_directories=["/b"])
        assert (await client.new_session(r"C:\Users\me")).cwd == r"C:\Users\me"
        with pytest.raises(Unsupported, match=r"session\.delete"):
            await client.delete_session("x")


@pytest.mark.req("CFG-11", "CFG-15", "SESS-06")
async def test_config_options_come_with_the_session_and_can_be_set() -> None:
    agent = an_agent()

    def option(value: bool) -> SessionConfigBoolean:
        return SessionConfigBoolean(config_id="fast", name="Fast", current_value=value)

    @agent.new_session
    async def new(params: Any, context: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id="s", config_options=(option(False),))  # type: ignore[arg-type]

    @agent.set_config_option
    async def choose(params: SetSessionConfigOptionRequest, context: Any) -> SetSessionConfigOptionResponse:
        assert (params.config_id, params.type, params.value) == ("fast", "boolean", True)
        return SetSessionConfigOptionResponse(config_options=(option(True),))

    async with connected(agent) as client:
        session = await client.new_session("/tmp")
        assert session.state.config_options == (option(False),)
        assert await session.set_config_option("fast", True) == (option(True),)
        assert session.state.config_options == (option(True),)


# -- authentication -------------------------------------------------------------------------------------------


@pytest.mark.req("AUTH-21", "AUTH-22", "AUTH-24")
async def test_login_and_logout_by_an_advertised_method() -> None:
    terminal = AuthMethodTerminal(method_id="tty", name="T")  # type: ignore[arg-type]
    agent = Agent("careful", auth_methods=[AuthMethodAgent(method_id="key", name="Key"), terminal])  # type: ignore[arg-type]
    known = []

    @agent.login
    async def login(params: Any, context: Any) -> None:
        known.append(params.method_id)

    @agent.logout
    async def logout(params: Any, context: Any) -> None:
        known.clear()

    @agent.new_session
    async def new(params: Any, context: Any) -> None:
        if not known:
            raise AuthRequired

    @agent.prompt
    async def answer(turn: Turn) -> None:
        await turn.say("ok")

    async with connected(agent) as client:
        with pytest.raises(AuthRequired):
            await client.new_session("/tmp")
        for wrong in ("tty", "nothing"):
            with pytest.raises(Unsupported):
                await client.login(wrong)
        await client.login("key")
        await client.new_session("/tmp")
        await client.logout()
        with pytest.raises(AuthRequired):
            await client.new_session("/tmp")


@pytest.mark.req("AUTH-03")
async def test_login_and_logout_are_refused_where_no_method_is_listed() -> None:
    async with connected(an_agent()) as client:
        with pytest.raises(Unsupported):
            await client.login("key")
        with pytest.raises(Unsupported):
            await client.logout()


# -- the connection -------------------------------------------------------------------------------------------


async def test_a_client_is_connected_inside_its_block_and_nowhere_else() -> None:
    client = Client("test")
    with pytest.raises(ConnectionClosed):
        await client.new_session("/tmp")
    for _ in range(2):  # and it may connect again
        async with connected(an_agent(), client):
            session = await client.new_session("/tmp")
            with pytest.raises(LocalProtocolError, match="already"):
                async with client.connect(memory.pair()[0]):
                    pass
    with pytest.raises(ConnectionClosed):
        await session.prompt("late")


async def answering(transport: memory.MemoryTransport, reply: dict[str, Any] | None) -> None:
    """Answer the first request with `reply`, or never."""
    frames = await transport.receive()
    if reply is not None:
        message = json.loads(frames[0])  # type: ignore[arg-type]
        await transport.send([json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}).encode()])


BAD_WELCOMES = [
    pytest.param(
        {"result": {"protocolVersion": 1, "agentCapabilities": {}}}, "not ACP version 2", id="a body of version 1"
    ),
    pytest.param(
        {"result": {"protocolVersion": 2, "agentCapabilities": {}}},
        "not ACP version 2",
        id="version 2 with such a body",
    ),
    pytest.param(
        {"result": {"protocolVersion": 3, "info": {"name": "a", "version": "1"}}},
        "speaks ACP version 3",
        marks=pytest.mark.req("INIT-13"),
    ),
    pytest.param(
        {"result": {"protocolVersion": 1, "info": {"name": "a", "version": "1"}}},
        "speaks ACP version 1",
        marks=pytest.mark.req("INIT-12"),
    ),
    pytest.param({"result": None}, "not ACP version 2", id="null"),
    pytest.param({"error": {"code": -32022, "message": "Unsupported"}}, "refused to initialize", id="an error"),
]


@pytest.mark.parametrize(("reply", "message"), BAD_WELCOMES)
async def test_an_agent_of_another_version_is_left_with_one_clear_error(reply: dict[str, Any], message: str) -> None:
    ours, theirs = memory.pair()
    answer = asyncio.create_task(answering(theirs, reply))
    with pytest.raises(RemoteProtocolError, match=message):
        async with asyncio.timeout(PATIENCE), connect(ours):
            pass
    await answer
    assert await theirs.receive() == []  # it was disconnected


async def test_an_agent_that_never_answers_is_left_after_the_start_timeout() -> None:
    ours, theirs = memory.pair()
    answer = asyncio.create_task(answering(theirs, None))
    with pytest.raises(StartTimeout, match=r"did not answer `initialize` within 0\.05 s"):
        async with asyncio.timeout(PATIENCE), connect(ours, start_timeout=0.05):
            pass
    await answer


async def test_the_users_own_exception_is_the_one_that_comes_out() -> None:
    with pytest.raises(ZeroDivisionError):
        async with connected(an_agent()) as client:
            session = await client.new_session("/tmp")
            async with session.prompt("hello") as turn:
                async for _ in turn:
                    raise ZeroDivisionError


@pytest.mark.req("EXT-15", "RPC-18")
async def test_extensions_of_the_client_are_served_and_unknown_ones_are_not() -> None:
    agent, seen = Agent("asks"), []

    @agent.prompt
    async def ask(turn: Turn) -> None:
        seen.append(await turn.request("_c/ask", {"x": 1}))
        await turn.notify("_c/tell", {"y": 2})
        await turn.notify("_c/unknown", {})
        with pytest.raises(RequestError) as caught:
            await turn.request("_c/unknown", {})
        seen.append(caught.value.code)

    client, told = Client("test"), []

    @client.request("_c/ask")
    async def answer(params: Any, context: Any) -> Any:
        return {"got": params, "method": context.method}

    @client.notification("_c/tell")
    async def hear(params: Any, context: Any) -> None:
        told.append(params)

    async with connected(agent, client):
        await (await client.new_session("/tmp")).prompt("go")
    assert seen == [{"got": {"x": 1}, "method": "_c/ask"}, -32601]
    assert told == [{"y": 2}]
