"""An agent of ours, against a client whose every message is written out."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from acpwire import Agent, LocalProtocolError, RequestError, Turn
from acpwire.protocol.v2.auth import AuthMethodAgent
from acpwire.protocol.v2.initialize import (
    AgentCapabilities,
    PromptCapabilities,
    PromptImageCapabilities,
    SessionCapabilities,
)
from acpwire.transports import memory

PATIENCE = 10.0
INITIALIZE = {"protocolVersion": 2, "info": {"name": "c", "version": "1"}}


class WrittenClient:
    """The client's end of a memory pair, frame by frame."""

    def __init__(self, transport: memory.MemoryTransport) -> None:
        self.transport = transport
        self.inbox: list[dict[str, Any]] = []
        self._id = 0

    async def send(self, *messages: dict[str, Any]) -> None:
        await self.transport.send([json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages])

    async def receive(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            while not self.inbox:
                frames = await self.transport.receive()
                if not frames:
                    raise EOFError
                self.inbox += [json.loads(frame) for frame in frames]  # type: ignore[arg-type]
        return self.inbox.pop(0)

    def message(self, method: str, params: Any) -> dict[str, Any]:
        self._id += 1
        return {"id": self._id, "method": method, "params": params}

    async def request(self, method: str, params: Any = None) -> dict[str, Any]:
        """Send a request and return its whole answer; what comes before it stays in the inbox."""
        message = self.message(method, {} if params is None else params)
        await self.send(message)
        return await self.answer(message["id"])

    async def answer(self, request_id: int) -> dict[str, Any]:
        skipped = []
        while True:
            message = await self.receive()
            if message.get("id") == request_id and "method" not in message:
                self.inbox = skipped + self.inbox
                return message
            skipped.append(message)

    async def until_idle(self) -> list[dict[str, Any]]:
        """The updates, up to and with the next idle."""
        updates = []
        while True:
            message = await self.receive()
            if message.get("method") == "session/update":
                updates.append(message["params"]["update"])
                if updates[-1].get("state") == "idle":
                    return updates
            else:
                updates.append(message)

    def prompt(self, text: str = "hello", **more: Any) -> dict[str, Any]:
        return self.message("session/prompt", {"sessionId": "s1", "prompt": [{"type": "text", "text": text}], **more})


@contextlib.asynccontextmanager
async def a_client_of(agent: Agent, *, ready: bool = True) -> AsyncIterator[WrittenClient]:
    ours, theirs = memory.pair()
    client = WrittenClient(ours)
    if "prompt" in agent.routes.builtin and "new_session" not in agent.routes.builtin:

        @agent.new_session
        async def fixed_id(_params: Any, _context: Any) -> Any:
            from acpwire.protocol.v2.session import NewSessionResponse

            return NewSessionResponse(session_id="s1")  # type: ignore[arg-type]

    serving = asyncio.create_task(agent.serve(theirs))
    if ready:
        assert "result" in await client.request("initialize", INITIALIZE)
        if "prompt" in agent.routes.builtin:
            assert (await client.request("session/new", {"cwd": "/tmp"}))["result"]["sessionId"] == "s1"
    yield client
    await ours.aclose()
    async with asyncio.timeout(PATIENCE):
        await serving


def an_agent(handler: Callable[[Turn], Awaitable[object]], **settings: Any) -> Agent:
    agent = Agent("test", version="1", **settings)
    agent.prompt(handler)
    return agent


def kinds(updates: list[dict[str, Any]]) -> list[str]:
    return [update.get("state") or update.get("sessionUpdate") or "answer" for update in updates]


async def says_hi(turn: Turn) -> None:
    await turn.say("hi")


# -- the lifecycle --------------------------------------------------------------------------------------------


@pytest.mark.req("PROMPT-08", "STATE-01", "STATE-09")
async def test_the_library_echoes_the_message_and_reports_running_and_idle() -> None:
    async with a_client_of(an_agent(says_hi)) as client:
        prompt = client.prompt()
        await client.send(prompt)
        updates = await client.until_idle()
        assert kinds([one for one in updates if "id" not in one]) == [
            "user_message",
            "running",
            "agent_message_chunk",
            "idle",
        ]
        (answer,) = [one for one in updates if "id" in one]
        assert answer["result"]["messageId"] == updates[0]["messageId"]
        assert updates[0]["content"] == prompt["params"]["prompt"]
        assert updates[-1]["stopReason"] == "end_turn"


@pytest.mark.req("PROMPT-06")
async def test_a_prompt_is_acknowledged_before_its_work_is_done() -> None:
    go = asyncio.Event()

    async def waits(turn: Turn) -> None:
        await go.wait()

    async with a_client_of(an_agent(waits)) as client:
        prompt = client.prompt()
        await client.send(prompt)
        assert "messageId" in (await client.answer(prompt["id"]))["result"]
        go.set()
        assert (await client.until_idle())[-1]["stopReason"] == "end_turn"


async def _raises(turn: Turn) -> None:
    raise ValueError("/home/me/secret")


async def _refuses(turn: Turn) -> None:
    raise RequestError(1001, "the model is gone", {"model": "m"})


@pytest.mark.parametrize(
    ("handler", "error"),
    [
        pytest.param(_raises, {"code": -32603, "message": "Internal error"}, marks=pytest.mark.req("PROMPT-15")),
        pytest.param(
            _refuses,
            {"code": 1001, "message": "the model is gone", "data": {"model": "m"}},
            marks=pytest.mark.req("STATE-18"),
        ),
    ],
)
async def test_a_handler_that_raises_ends_in_idle_with_error(
    handler: Callable[[Turn], Awaitable[object]], error: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    async with a_client_of(an_agent(handler)) as client:
        prompt = client.prompt()
        await client.send(prompt)
        idle = (await client.until_idle())[-1]
        assert (idle["stopReason"], idle["error"]) == ("error", error)
    assert ("secret" in caplog.text) == (handler is _raises)  # logged in full here, and never sent


async def _goes_down_with_it(turn: Turn) -> None:
    await asyncio.Event().wait()


async def _turns_it_into_another_error(turn: Turn) -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise TimeoutError from None


async def _swallows_it(turn: Turn) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    await turn.say("bye")


@pytest.mark.parametrize("handler", [_goes_down_with_it, _turns_it_into_another_error, _swallows_it])
@pytest.mark.req("STATE-16", "CANC-13", "CANC-15")
async def test_a_cancelled_handler_ends_in_idle_with_cancelled_whatever_it_raised(
    handler: Callable[[Turn], Awaitable[object]],
) -> None:
    async with a_client_of(an_agent(handler)) as client:
        prompt = client.prompt()
        await client.send(prompt)
        await client.answer(prompt["id"])
        while kinds(client.inbox)[-1:] != ["running"]:
            client.inbox.append((await client.receive())["params"]["update"])
        await client.send({"method": "session/cancel", "params": {"sessionId": "s1"}})
        client.inbox.clear()
        updates = await client.until_idle()
        assert updates[-1]["stopReason"] == "cancelled"
        assert "error" not in updates[-1]


@pytest.mark.req("CANC-13", "PROMPT-11")
async def test_a_cancel_right_behind_the_prompt_cancels_it_and_the_answer_is_a_success() -> None:
    started = []

    async def notes(turn: Turn) -> None:
        started.append(turn)
        await asyncio.Event().wait()

    async with a_client_of(an_agent(notes)) as client:
        prompt = client.prompt()
        await client.send(prompt, {"method": "session/cancel", "params": {"sessionId": "s1"}})
        updates = await client.until_idle()
        assert updates[-1]["stopReason"] == "cancelled"
        answer = next((one for one in updates if "id" in one), None) or await client.answer(prompt["id"])
        assert "messageId" in answer["result"]


@pytest.mark.req("PERM-26", "STATE-05")
async def test_the_session_requires_action_while_a_permission_is_open() -> None:
    answers = []

    async def asks(turn: Turn) -> None:
        async with turn.tool_call("Delete", kind="delete") as call:
            answers.append(await turn.request_permission("Delete it?", tool_call=call))

    async with a_client_of(an_agent(asks)) as client:
        await client.send(client.prompt())
        seen = []
        while (message := await client.receive()).get("method") != "session/request_permission":
            seen.append(message)
        updates = [one["params"]["update"] for one in seen if "params" in one]
        assert kinds(updates) == ["user_message", "running", "tool_call_update", "requires_action"]
        params = message["params"]
        assert params["subject"] == {"type": "tool_call", "toolCall": {"toolCallId": updates[2]["toolCallId"]}}
        outcome = {"outcome": "selected", "optionId": params["options"][0]["optionId"]}
        await client.send({"id": message["id"], "result": {"outcome": outcome}})
        after = await client.until_idle()
        assert kinds(after) == ["running", "tool_call_update", "idle"]
        assert after[1]["status"] == "completed"
    assert bool(answers[0])


@pytest.mark.parametrize(
    "result",
    [
        pytest.param({"result": {"outcome": {"outcome": "cancelled"}}}, marks=pytest.mark.req("PERM-17")),
        pytest.param(
            {"result": {"outcome": {"outcome": "selected", "optionId": "never offered"}}},
            marks=pytest.mark.req("PERM-16"),
        ),
        pytest.param({"result": {"outcome": {"outcome": "_waved_through", "x": 1}}}, marks=pytest.mark.req("PERM-18")),
        pytest.param({"result": {"outcome": {"outcome": "selected", "optionId": "reject_once"}}}, id="rejected"),
        pytest.param({"error": {"code": -32800, "message": "cancelled"}}, marks=pytest.mark.req("SEC-01")),
    ],
)
async def test_only_an_offered_option_that_allows_is_approval(result: dict[str, Any]) -> None:
    answers = []

    async def asks(turn: Turn) -> None:
        answers.append(await turn.request_permission("May I?"))

    async with a_client_of(an_agent(asks)) as client:
        await client.send(client.prompt())
        while (message := await client.receive()).get("method") != "session/request_permission":
            pass
        await client.send({"id": message["id"], **result})
        await client.until_idle()
    assert not answers[0]
    assert answers[0].option is None


@pytest.mark.req("PERM-20", "CANC-17")
async def test_a_cancel_withdraws_the_open_permission_request() -> None:
    async def asks(turn: Turn) -> None:
        await turn.request_permission("May I?")

    async with a_client_of(an_agent(asks)) as client:
        await client.send(client.prompt())
        while (message := await client.receive()).get("method") != "session/request_permission":
            pass
        await client.send({"method": "session/cancel", "params": {"sessionId": "s1"}})
        after = await client.until_idle()
        assert {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": message["id"]}} in after
        assert after[-1]["stopReason"] == "cancelled"
        await client.send({"id": message["id"], "result": {"outcome": {"outcome": "cancelled"}}})
        await client.send(client.prompt("again"))
        while (message := await client.receive()).get("method") != "session/request_permission":
            pass


@pytest.mark.req("CANC-14")
async def test_nothing_can_be_sent_for_a_turn_that_is_over() -> None:
    turns = []

    async def keeps(turn: Turn) -> None:
        turns.append(turn)

    async with a_client_of(an_agent(keeps)) as client:
        await client.send(client.prompt())
        await client.until_idle()
        with pytest.raises(LocalProtocolError, match="over"):
            await turns[0].say("late")


@pytest.mark.parametrize(
    ("error", "status"), [(None, "completed"), (ValueError, "failed"), (asyncio.CancelledError, "cancelled")]
)
@pytest.mark.req("TOOL-18")
async def test_a_tool_call_gets_the_final_status_of_its_block(error: type[BaseException] | None, status: str) -> None:
    async def calls(turn: Turn) -> None:
        async with turn.tool_call("Read", kind="read", raw_input={"path": "/a"}) as call:
            await call.add("3 notes")
            if error is not None:
                raise error

    async with a_client_of(an_agent(calls)) as client:
        await client.send(client.prompt())
        updates = [one for one in await client.until_idle() if one.get("toolCallId")]
        assert [one.get("status") for one in updates] == ["in_progress", None, status]
        assert updates[1]["content"] == {"type": "content", "content": {"type": "text", "text": "3 notes"}}
        assert (updates[0]["kind"], updates[0]["rawInput"]) == ("read", {"path": "/a"})


async def test_what_is_said_after_a_tool_call_is_a_message_of_its_own() -> None:
    async def talks(turn: Turn) -> None:
        await turn.say("a")
        await turn.say("b")
        async with turn.tool_call("Look"):
            pass
        await turn.think("hm")
        await turn.say("c")

    async with a_client_of(an_agent(talks)) as client:
        await client.send(client.prompt())
        chunks = [one for one in await client.until_idle() if one.get("sessionUpdate", "").endswith("_chunk")]
        texts = [(one["content"]["text"], one["messageId"]) for one in chunks]
        assert [text for text, _ in texts] == ["a", "b", "hm", "c"]
        assert texts[0][1] == texts[1][1]
        assert len({message_id for _, message_id in texts}) == 3


# -- prompts that overlap -------------------------------------------------------------------------------------


class Paced:
    """A handler whose turns end when they are told to."""

    def __init__(self) -> None:
        self.started: asyncio.Queue[Turn] = asyncio.Queue()
        self.go = asyncio.Event()

    async def __call__(self, turn: Turn) -> None:
        self.started.put_nowait(turn)
        await self.go.wait()

    async def next(self) -> Turn:
        async with asyncio.timeout(PATIENCE):
            return await self.started.get()


@pytest.mark.req("PROMPT-19")
async def test_by_default_a_second_prompt_waits_unanswered_until_the_first_is_done() -> None:
    paced = Paced()
    async with a_client_of(an_agent(paced)) as client:
        first, second = client.prompt("one"), client.prompt("two")
        await client.send(first, second)
        assert (await paced.next()).text == "one"
        await client.answer(first["id"])
        assert not any(one.get("id") == second["id"] for one in client.inbox)
        paced.go.set()
        updates = await client.until_idle()
        assert not any(one.get("id") == second["id"] for one in updates)
        assert (await paced.next()).text == "two"
        assert "messageId" in (await client.answer(second["id"]))["result"]
        assert (await client.until_idle())[-1]["stopReason"] == "end_turn"


@pytest.mark.req("PROMPT-12")
async def test_with_reject_a_second_prompt_is_refused_and_leaves_no_message() -> None:
    paced = Paced()
    async with a_client_of(an_agent(paced, overlap="reject")) as client:
        first, second = client.prompt("one"), client.prompt("two")
        await client.send(first, second)
        assert (await client.answer(second["id"]))["error"]["code"] == -32600
        paced.go.set()
        updates = await client.until_idle()
        assert kinds(updates).count("user_message") == 1


async def test_with_cancel_a_second_prompt_ends_the_first_and_runs() -> None:
    paced = Paced()
    async with a_client_of(an_agent(paced, overlap="cancel")) as client:
        await client.send(client.prompt("one"))
        await paced.next()
        await client.send(client.prompt("two"))
        assert (await client.until_idle())[-1]["stopReason"] == "cancelled"
        assert (await paced.next()).text == "two"
        paced.go.set()
        assert (await client.until_idle())[-1]["stopReason"] == "end_turn"


@pytest.mark.req("CANC-16", "CANC-11")
async def test_a_cancel_refuses_held_prompts_and_leaves_later_ones_alone() -> None:
    paced = Paced()
    async with a_client_of(an_agent(paced)) as client:
        first, second, third = (client.prompt(text) for text in ("one", "two", "three"))
        await client.send(first, second, {"method": "session/cancel", "params": {"sessionId": "s1"}}, third)
        assert (await client.answer(second["id"]))["error"]["code"] == -32800
        assert "result" in await client.answer(third["id"])
        while (await paced.next()).text != "three":
            pass
        paced.go.set()


@pytest.mark.req("PROMPT-20", "CANC-09")
async def test_a_held_prompt_can_be_withdrawn_and_an_inserted_one_cannot() -> None:
    paced = Paced()
    async with a_client_of(an_agent(paced)) as client:
        first, second = client.prompt("one"), client.prompt("two")
        await client.send(first, second)
        for prompt in (first, second):
            await client.send({"method": "$/cancel_request", "params": {"requestId": prompt["id"]}})
        assert (await client.answer(second["id"]))["error"]["code"] == -32800
        assert "messageId" in (await client.answer(first["id"]))["result"]
        paced.go.set()
        assert (await client.until_idle())[-1]["stopReason"] == "end_turn"


async def test_a_handler_that_takes_its_time_to_stop_delays_the_next_prompt_and_no_more() -> None:
    release, started = asyncio.Event(), asyncio.Event()

    async def stubborn(turn: Turn) -> None:
        if turn.text == "one":
            started.set()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            await release.wait()

    async with a_client_of(an_agent(stubborn)) as client:
        await client.send(client.prompt("one"))
        await started.wait()
        second = client.prompt("two")
        await client.send({"method": "session/cancel", "params": {"sessionId": "s1"}}, second)
        release.set()
        assert (await client.until_idle())[-1]["stopReason"] == "cancelled"
        assert "result" in await client.answer(second["id"])
        assert (await client.until_idle())[-1]["stopReason"] == "end_turn"


# -- sessions -------------------------------------------------------------------------------------------------


@pytest.mark.req("SESS-17", "SESS-19", "SESS-20")
async def test_closing_cancels_the_work_first_and_refuses_held_prompts() -> None:
    paced = Paced()
    async with a_client_of(an_agent(paced)) as client:
        first, second = client.prompt("one"), client.prompt("two")
        await client.send(first, second)
        await paced.next()
        close = client.message("session/close", {"sessionId": "s1"})
        await client.send(close)
        updates = await client.until_idle()
        assert updates[-1]["stopReason"] == "cancelled"
        assert not any(one.get("id") == close["id"] for one in updates)
        assert (await client.answer(close["id"]))["result"] == {}
        refused = next((one for one in updates if one.get("id") == second["id"]), None)
        assert (refused or await client.answer(second["id"]))["error"]["code"] == -32800
        again = await client.request("session/prompt", {"sessionId": "s1", "prompt": [{"type": "text", "text": "x"}]})
        assert (again["error"]["code"], again["error"]["data"]) == (-32002, {"sessionId": "s1"})


@pytest.mark.req("SESS-21")
async def test_closing_an_unknown_session_succeeds() -> None:
    async with a_client_of(an_agent(says_hi)) as client:
        assert (await client.request("session/close", {"sessionId": "nope"}))["result"] == {}


@pytest.mark.req("SESS-12", "RPLY-01")
async def test_a_current_state_comes_before_the_answer_to_resume() -> None:
    async with a_client_of(an_agent(says_hi)) as client:
        await client.request("session/close", {"sessionId": "s1"})
        answer = await client.request("session/resume", {"sessionId": "s1", "cwd": "/tmp"})
        assert answer["result"] == {}
        assert [one["params"]["update"] for one in client.inbox] == [{"sessionUpdate": "state_update", "state": "idle"}]
        await client.send(client.prompt())
        await client.until_idle()


@pytest.mark.parametrize(
    ("method", "params", "code", "data"),
    [
        pytest.param(
            "session/resume",
            {"sessionId": "zz", "cwd": "/tmp"},
            -32002,
            {"sessionId": "zz"},
            marks=pytest.mark.req("SESS-74"),
        ),
        pytest.param(
            "session/prompt",
            {"sessionId": "zz", "prompt": [{"type": "text", "text": "x"}]},
            -32002,
            {"sessionId": "zz"},
            marks=pytest.mark.req("ERR-04"),
        ),
        pytest.param(
            "session/prompt",
            {"sessionId": "s1", "prompt": []},
            -32602,
            {"path": "$.prompt"},
            marks=pytest.mark.req("PROMPT-01"),
        ),
        pytest.param(
            "session/prompt",
            {"sessionId": "s1", "prompt": [{"type": "image", "data": "", "mimeType": "image/png"}]},
            -32602,
            {"path": "$.prompt[0].type"},
            marks=pytest.mark.req("PROMPT-04"),
        ),
        pytest.param(
            "session/prompt",
            {"sessionId": "s1", "prompt": [{"type": "text", "text": "a"}, {"type": "_hologram"}]},
            -32602,
            {"path": "$.prompt[1].type"},
            marks=pytest.mark.req("PROMPT-04"),
        ),
        pytest.param("session/new", {"cwd": "relative"}, -32602, {"path": "$.cwd"}, marks=pytest.mark.req("SESS-01")),
        pytest.param("session/new", {}, -32602, {"path": "$"}, id="cwd is missing"),
        pytest.param(
            "session/new",
            {"cwd": "/a", "additionalDirectories": ["/b"]},
            -32602,
            {"path": "$.additionalDirectories"},
            marks=pytest.mark.req("ROOT-08"),
        ),
        pytest.param(
            "session/new",
            {"cwd": "/a", "additionalDirectories": ["/b", 5]},
            -32602,
            {"path": "$.additionalDirectories[1]"},
            marks=pytest.mark.req("ROOT-07"),
        ),
        pytest.param(
            "session/new",
            {"cwd": "/a", "mcpServers": [{"type": "http", "name": "n", "url": "http://x"}]},
            -32602,
            {"path": "$.mcpServers[0].type"},
            marks=pytest.mark.req("MCP-04"),
        ),
        pytest.param(
            "session/new",
            {"cwd": "/a", "mcpServers": [{"type": "stdio", "name": "n"}]},
            -32602,
            {"path": "$.mcpServers[0]"},
            marks=pytest.mark.req("MCP-05"),
        ),
        pytest.param(
            "session/resume",
            {"sessionId": "s1", "cwd": "/tmp", "replayFrom": {"type": "message", "messageId": "m"}},
            -32602,
            {"path": "$.replayFrom"},
            marks=pytest.mark.req("RPLY-04"),
        ),
        pytest.param(
            "session/resume",
            {"sessionId": "s1", "cwd": "/other"},
            -32602,
            {"path": "$.cwd"},
            marks=pytest.mark.req("SESS-09"),
        ),
        pytest.param(
            "session/list", {"cursor": "made up"}, -32602, {"path": "$.cursor"}, marks=pytest.mark.req("SESS-30")
        ),
        pytest.param("session/delete", {"sessionId": "s1"}, -32601, {"method": "session/delete"}, id="no handler"),
        pytest.param("_acme/none", {}, -32601, {"method": "_acme/none"}, marks=pytest.mark.req("EXT-15")),
        pytest.param(
            "tool_call/cancel",
            {"sessionId": "s1", "toolCallId": "t"},
            -32602,
            {"toolCallId": "t"},
            marks=pytest.mark.req("TOOL-34"),
        ),
    ],
)
async def test_a_request_that_cannot_be_served_is_answered_with_what_and_where(
    method: str, params: dict[str, Any], code: int, data: object
) -> None:
    async with a_client_of(an_agent(says_hi)) as client:
        error = (await client.request(method, params))["error"]
        assert (error["code"], error["data"]) == (code, data)
        await client.send(client.prompt())
        await client.until_idle()


@pytest.mark.req("SESS-26", "SESS-27", "SESS-31")
async def test_sessions_are_listed_by_page_and_by_directory() -> None:
    agent = Agent("test")
    agent.prompt(says_hi)

    @agent.new_session
    async def free_id(_params: Any, _context: Any) -> None:
        return None

    ours, theirs = memory.pair()
    client, serving = WrittenClient(ours), asyncio.create_task(agent.serve(theirs))
    await client.request("initialize", INITIALIZE)
    assert (await client.request("session/list"))["result"] == {"sessions": []}
    for number in range(120):
        await client.request("session/new", {"cwd": "/a" if number % 3 else "/a/b"})
    page = (await client.request("session/list"))["result"]
    rest = (await client.request("session/list", {"cursor": page["nextCursor"]}))["result"]
    assert len({one["sessionId"] for one in page["sessions"] + rest["sessions"]}) == 120
    assert "nextCursor" not in rest
    assert {one["cwd"] for one in (await client.request("session/list", {"cwd": "/a/"}))["result"]["sessions"]} == {
        "/a"
    }
    await ours.aclose()
    await serving


# -- initialize -----------------------------------------------------------------------------------------------


async def test_capabilities_follow_from_what_is_registered() -> None:
    bare = Agent("bare")
    assert bare.capabilities.session is None
    bare.prompt(says_hi)
    assert bare.capabilities.session is not None
    assert bare.capabilities.session.delete is None

    @bare.delete_session
    async def forget(params: Any, context: Any) -> None:
        return None

    assert bare.capabilities.session.delete is not None


@pytest.mark.req("CAP-07", "INIT-04")
async def test_initialize_says_name_version_and_capabilities() -> None:
    images = SessionCapabilities(prompt=PromptCapabilities(image=PromptImageCapabilities()))
    agent = an_agent(says_hi, capabilities=AgentCapabilities(session=images))
    agent.extend_capabilities({"example.org": {"fast": True}})
    async with a_client_of(agent, ready=False) as client:
        result = (await client.request("initialize", INITIALIZE))["result"]
        assert result == {
            "protocolVersion": 2,
            "info": {"name": "test", "version": "1"},
            "capabilities": {"session": {"prompt": {"image": {}}}, "_meta": {"example.org": {"fast": True}}},
        }


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        pytest.param(
            {"protocolVersion": 1, "clientCapabilities": {}},
            (-32022, {"requested": 1, "supported": [2]}),
            marks=pytest.mark.req("INIT-10"),
        ),
        pytest.param({"protocolVersion": 0}, (-32022, {"requested": 0, "supported": [2]}), id="version 0"),
        pytest.param({"protocolVersion": 3}, 2, marks=pytest.mark.req("INIT-09")),
        pytest.param(
            {"protocolVersion": 65535, "info": {"name": 5}, "capabilities": 7, "new": {}},
            2,
            marks=pytest.mark.req("INIT-24"),
        ),
        pytest.param({"protocolVersion": 2}, (-32602, {"path": "$"}), marks=pytest.mark.req("INIT-25")),
        pytest.param(
            {"protocolVersion": 2, "info": {"name": 5, "version": "1"}},
            (-32602, {"path": "$.info.name"}),
            id="bad info",
        ),
        pytest.param(
            {"protocolVersion": "2", "info": {"name": "c", "version": "1"}},
            (-32602, {"path": "$.protocolVersion"}),
            marks=pytest.mark.req("INIT-26"),
        ),
        pytest.param({"protocolVersion": 65536}, (-32602, {"path": "$.protocolVersion"}), id="version too high"),
        pytest.param({"protocolVersion": -1}, (-32602, {"path": "$.protocolVersion"}), id="negative version"),
        pytest.param({"protocolVersion": True}, (-32602, {"path": "$.protocolVersion"}), id="a boolean version"),
        pytest.param({}, (-32602, {"path": "$.protocolVersion"}), id="no version"),
    ],
)
async def test_the_version_is_chosen_as_x_02_says(params: dict[str, Any], expected: object) -> None:
    async with a_client_of(an_agent(says_hi), ready=False) as client:
        answer = await client.request("initialize", params)
        if isinstance(expected, int):
            assert answer["result"]["protocolVersion"] == expected
        else:
            assert (answer["error"]["code"], answer["error"]["data"]) == expected
            again = await client.request("initialize", INITIALIZE)  # a failed first attempt may be tried again
            assert again["result"]["protocolVersion"] == 2


@pytest.mark.req("INIT-20", "INIT-21")
async def test_nothing_is_served_before_initialize() -> None:
    noted = []
    agent = an_agent(says_hi)

    @agent.notification("_acme/note")
    async def note(params: Any, context: Any) -> None:
        noted.append(params)

    async with a_client_of(agent, ready=False) as client:
        await client.send({"method": "_acme/note", "params": {}})
        assert (await client.request("session/new", {"cwd": "/a"}))["error"]["code"] == -32600
        assert (await client.request("_acme/any"))["error"]["code"] == -32600
        await client.request("initialize", INITIALIZE)
        await client.send({"method": "_acme/note", "params": {"n": 1}})
        await client.request("session/list")
    assert noted == [{"n": 1}]


@pytest.mark.req("INIT-15", "INIT-16", "INIT-18")
async def test_initialize_may_be_repeated_until_another_request_was_served() -> None:
    async with a_client_of(an_agent(says_hi), ready=False) as client:
        for _ in range(2):
            assert "result" in await client.request("initialize", INITIALIZE)
        assert (await client.request("initialize", {"protocolVersion": "x"}))["error"]["code"] == -32602
        assert "result" in await client.request("session/list")
        assert (await client.request("initialize", INITIALIZE))["error"]["code"] == -32600
        assert "result" in await client.request("session/list")


# -- extensions -----------------------------------------------------------------------------------------------


@pytest.mark.req("EXT-12", "EXT-14")
async def test_extensions_are_served_by_their_exact_name() -> None:
    agent = an_agent(says_hi)
    notes = []

    @agent.request("_acme/ask")
    async def ask(params: Any, context: Any) -> Any:
        return {"asked": params, "id": context.request_id, "client": context.client.info.name}

    @agent.notification("_acme/note")
    async def note(params: Any, context: Any) -> None:
        notes.append((params, context.request_id))

    async with a_client_of(agent) as client:
        await client.send({"method": "_acme/note", "params": {"q": None, "_meta": {"session_id": "EVIL"}}})
        answer = await client.request("_acme/ask", {"q": [1, None], "_meta": {"context": 5}})
        asked = {"q": [1, None], "_meta": {"context": 5}}
        assert answer["result"] == {"asked": asked, "id": answer["id"], "client": "c"}
        assert (await client.request("_acme/ASK"))["error"]["code"] == -32601
        assert (await client.request("_acme/note"))["error"]["code"] == -32601
    assert notes == [({"q": None, "_meta": {"session_id": "EVIL"}}, None)]


@pytest.mark.req("EXT-03", "SEC-09")
async def test_metadata_of_params_arrives_as_it_is_and_replaces_no_argument() -> None:
    seen = []

    async def looks(turn: Turn) -> None:
        seen.append((turn.params.meta, turn.session_id, turn.client.capabilities.meta))

    meta = {"traceparent": "x", "sessionId": "EVIL", "session_id": "EVIL", "turn": None}
    async with a_client_of(an_agent(looks), ready=False) as client:
        await client.request("initialize", {**INITIALIZE, "capabilities": {"_meta": {"example.org": {"a": 1}}}})
        await client.request("session/new", {"cwd": "/tmp"})
        await client.send(client.prompt(_meta=meta))
        await client.until_idle()
    assert seen == [(meta, "s1", {"example.org": {"a": 1}})]


@pytest.mark.req("RPC-35")
def test_a_name_of_the_protocol_cannot_be_registered_as_an_extension() -> None:
    for name in ("session/prompt", "session/update", "$/progress"):
        with pytest.raises(LocalProtocolError, match="belongs to the protocol"):
            Agent("a").request(name)(_extension)


async def _extension(params: Any, context: Any) -> None:
    return None


def test_a_handler_is_checked_when_it_is_registered() -> None:
    agent = Agent("a")
    with pytest.raises(TypeError, match="async function"):
        agent.request("_a/b")(lambda params, context: None)  # type: ignore[type-var, arg-type, return-value]
    with pytest.raises(TypeError, match=r"\(turn\)"):
        agent.prompt(_extension)  # type: ignore[arg-type]
    agent.request("_a/b")(_extension)
    with pytest.raises(LocalProtocolError, match="already"):
        agent.request("_a/b")(_extension)


@pytest.mark.req("AUTH-02")
async def test_an_agent_that_lists_ways_to_log_in_must_have_handlers_for_them() -> None:
    agent = Agent("a", auth_methods=[AuthMethodAgent(method_id="m", name="M")])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`login` and `logout`"):
        await agent.serve(memory.pair()[0])


async def test_a_client_that_is_gone_ends_the_work(caplog: pytest.LogCaptureFixture) -> None:
    ended = asyncio.Event()

    async def waits(turn: Turn) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with caplog.at_level(logging.WARNING):
        async with a_client_of(an_agent(waits)) as client:
            prompt = client.prompt()
            await client.send(prompt)
            await client.answer(prompt["id"])
        async with asyncio.timeout(PATIENCE):
            await ended.wait()
    assert "never retrieved" not in caplog.text
