"""When a client's turn ends, against an agent whose every message is written out."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

import acpwire
from acpwire import Client, RequestError, Session
from acpwire.protocol.v2.state import StateUpdate
from acpwire.transports import memory

PATIENCE = 10.0


class WrittenAgent:
    """The agent's end of a memory pair, frame by frame."""

    def __init__(self, transport: memory.MemoryTransport) -> None:
        self.transport = transport
        self._inbox: list[dict[str, Any]] = []

    async def send(self, *messages: dict[str, Any]) -> None:
        await self.transport.send([json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages])

    async def receive(self, method: str) -> dict[str, Any]:
        """The next message of that method; others on the way are dropped."""
        async with asyncio.timeout(PATIENCE):
            while True:
                while not self._inbox:
                    frames = await self.transport.receive()
                    if not frames:
                        raise EOFError(method)
                    self._inbox = [json.loads(frame) for frame in frames]  # type: ignore[arg-type]
                message = self._inbox.pop(0)
                if message.get("method") == method:
                    return message

    async def play(self, *steps: str | dict[str, Any], prompt: dict[str, Any]) -> None:
        """Send the steps of a turn; words stand for the usual ones."""
        words: dict[str, dict[str, Any]] = {
            "echo": update(sessionUpdate="user_message", messageId="u1", content=prompt["params"]["prompt"]),
            "echo chunk": update(
                sessionUpdate="user_message_chunk", messageId="u1", content=prompt["params"]["prompt"][0]
            ),
            "other echo": update(sessionUpdate="user_message", messageId="u0", content=[]),
            "running": update(sessionUpdate="state_update", state="running"),
            "requires_action": update(sessionUpdate="state_update", state="requires_action"),
            "idle": update(sessionUpdate="state_update", state="idle", stopReason="end_turn"),
            "refusal": update(sessionUpdate="state_update", state="idle", stopReason="refusal"),
            "bare idle": update(sessionUpdate="state_update", state="idle"),
            "thinking": update(sessionUpdate="state_update", state="_thinking"),
            "chunk": update(
                sessionUpdate="agent_message_chunk", messageId="a1", content={"type": "text", "text": "hi"}
            ),
            "response": {"id": prompt["id"], "result": {"messageId": "u1"}},
            "error": {"id": prompt["id"], "error": {"code": -32602, "message": "no", "data": {"why": "because"}}},
        }
        await self.send(*(words[step] if isinstance(step, str) else step for step in steps))


def update(**members: Any) -> dict[str, Any]:
    return {"method": "session/update", "params": {"sessionId": "s1", "update": members}}


@contextlib.asynccontextmanager
async def a_session(**settings: Any) -> AsyncIterator[tuple[Session, WrittenAgent, Client]]:
    ours, theirs = memory.pair()
    agent = WrittenAgent(theirs)
    client = Client("test", **settings)

    async def welcome() -> None:
        hello = await agent.receive("initialize")
        result = {"protocolVersion": 2, "info": {"name": "a", "version": "1"}, "capabilities": {"session": {}}}
        await agent.send({"id": hello["id"], "result": result})
        new = await agent.receive("session/new")
        await agent.send({"id": new["id"], "result": {"sessionId": "s1"}})

    async with asyncio.TaskGroup() as group:
        group.create_task(welcome())
        async with client.connect(ours):
            session = await client.new_session("/tmp")
            yield session, agent, client
        await theirs.aclose()


ENDS = [
    pytest.param(["echo", "response", "running", "chunk", "idle"], 4, "end_turn", id="echo, response, idle"),
    pytest.param(["response", "echo", "running", "idle"], 3, "end_turn", id="response, echo, idle"),
    pytest.param(
        ["echo", "running", "idle", "response"],
        3,
        "end_turn",
        id="an idle between echo and response counts",
        marks=pytest.mark.req("PROMPT-09"),
    ),
    pytest.param(["running", "echo", "idle", "chunk", "response"], 4, "end_turn", id="and what came after it is shown"),
    pytest.param(["echo chunk", "response", "idle"], 2, "end_turn", id="a chunk is an echo too"),
    pytest.param(
        ["idle", "echo", "response", "idle"],
        3,
        "end_turn",
        id="an idle before the echo does not count",
        marks=pytest.mark.req("PROMPT-21"),
    ),
    pytest.param(
        ["other echo", "idle", "response", "echo", "refusal"],
        4,
        "refusal",
        id="another message's idle does not count",
        marks=pytest.mark.req("PROMPT-21"),
    ),
    pytest.param(["response", "running", "bare idle"], 2, None, id="no echo: an idle after running"),
    pytest.param(["response", "requires_action", "bare idle"], 2, None, id="no echo: an idle after requires_action"),
    pytest.param(["response", "bare idle", "idle"], 2, "end_turn", id="no echo: an idle with a stop reason"),
    pytest.param(["running", "response", "bare idle"], 2, None, id="no echo: running before the response"),
    pytest.param(["running", "idle", "response", "bare idle", "idle"], 4, "end_turn", id="no echo: an older idle"),
    pytest.param(["echo", "response", "thinking", "idle"], 3, "end_turn", id="an unknown state is no idle"),
    pytest.param(
        ["echo", "response", "running", "bare idle"],
        3,
        None,
        id="a stop reason may be missing",
        marks=pytest.mark.req("STATE-10"),
    ),
]


@pytest.mark.parametrize(("steps", "shown", "reason"), ENDS)
async def test_a_turn_ends_where_the_protocol_says(steps: list[str], shown: int, reason: str | None) -> None:
    async with a_session() as (session, agent, _), asyncio.timeout(PATIENCE):
        async with session.prompt("hello") as turn:
            prompt = await agent.receive("session/prompt")
            assert turn.stop_reason is None
            await agent.play(*steps, prompt=prompt)
            seen = [update async for update in turn]
        assert len(seen) == shown
        assert turn.done
        assert turn.stop_reason == reason
        assert turn.message_id == "u1"


@pytest.mark.parametrize("cut", range(1, 5))
async def test_a_turn_does_not_end_before_all_its_marks_are_seen(cut: int) -> None:
    steps = ["echo", "response", "running", "chunk", "idle"]
    async with a_session() as (session, agent, _), asyncio.timeout(PATIENCE):
        async with session.prompt("hello") as turn:
            prompt = await agent.receive("session/prompt")
            await agent.play(*steps[:cut], prompt=prompt)
            await _read_so_far(session)
            assert not turn.done
            await agent.play(*steps[cut:], prompt=prompt)
            await turn.wait()
        assert turn.done


async def _read_so_far(session: Session) -> None:
    """Return when all that was sent before is read: the client reads in order, so a later unknown update tells."""
    agent_end = session._link.connection._rpc._transport._other  # type: ignore[attr-defined]
    before = session.state.unknown_count
    await agent_end.send([json.dumps({"jsonrpc": "2.0", **update(sessionUpdate="_mark")}).encode()])
    while session.state.unknown_count == before:
        await asyncio.sleep(0)


@pytest.mark.req("PROMPT-11")
async def test_an_error_response_ends_the_turn_with_that_error() -> None:
    async with a_session() as (session, agent, _), asyncio.timeout(PATIENCE):
        seen: list[Any] = []
        with pytest.raises(RequestError) as caught:
            async with session.prompt("hello") as turn:
                prompt = await agent.receive("session/prompt")
                await agent.play("chunk", "error", prompt=prompt)
                async for one in turn:
                    seen.append(one)  # noqa: PERF401 - what came before the error is what is asked
        assert len(seen) == 1
        assert (caught.value.code, caught.value.message, caught.value.data) == (-32602, "no", {"why": "because"})


async def test_an_error_that_nobody_iterated_is_raised_at_the_end_of_the_block() -> None:
    async with a_session() as (session, agent, _), asyncio.timeout(PATIENCE):
        with pytest.raises(RequestError):
            async with session.prompt("hello") as turn:
                prompt = await agent.receive("session/prompt")
                await agent.play("error", prompt=prompt)
                while not turn.done:
                    await asyncio.sleep(0)


@pytest.mark.req("CANC-11")
async def test_leaving_the_block_early_cancels_and_waits_for_the_idle() -> None:
    async with a_session() as (session, agent, _), asyncio.timeout(PATIENCE):
        order: list[str] = []

        async def confirm(prompt: dict[str, Any]) -> None:
            await agent.receive("session/cancel")
            order.append("cancel came")
            cancelled = update(sessionUpdate="state_update", state="idle", stopReason="cancelled")
            await agent.play(cancelled, prompt=prompt)

        async with session.prompt("hello") as turn:
            prompt = await agent.receive("session/prompt")
            await agent.play("echo", "response", "running", "chunk", prompt=prompt)
            async for one in turn:
                if isinstance(one, StateUpdate):
                    break
            confirming = asyncio.create_task(confirm(prompt))
        order.append("block left")
        await confirming
        assert order == ["cancel came", "block left"]
        assert turn.stop_reason == "cancelled"


async def test_a_turn_left_before_anything_happened_still_sends_its_prompt_first() -> None:
    async with a_session() as (session, agent, _), asyncio.timeout(PATIENCE):

        async def confirm() -> None:
            prompt = await agent.receive("session/prompt")
            await agent.receive("session/cancel")
            error = {"id": prompt["id"], "error": {"code": -32800, "message": "cancelled"}}
            await agent.send(error)

        confirming = asyncio.create_task(confirm())
        async with session.prompt("hello") as turn:
            pass
        await confirming
        assert turn.stop_reason == "cancelled"
        assert turn.message_id is None


async def test_an_exception_in_the_block_comes_out_and_the_work_is_cancelled() -> None:
    async with a_session() as (session, agent, _), asyncio.timeout(PATIENCE):

        async def confirm() -> None:
            prompt = await agent.receive("session/prompt")
            await agent.receive("session/cancel")
            await agent.play("echo", "response", "idle", prompt=prompt)

        confirming = asyncio.create_task(confirm())
        with pytest.raises(ZeroDivisionError):
            async with session.prompt("hello"):
                raise ZeroDivisionError
        await confirming


async def test_an_agent_that_never_confirms_holds_the_block_no_longer_than_the_patience() -> None:
    async with a_session(cancel_patience=0.05) as (session, agent, _), asyncio.timeout(PATIENCE):
        async with session.prompt("hello") as turn:
            await agent.receive("session/prompt")
        await agent.receive("session/cancel")
        assert turn.done
        assert turn.stop_reason is None


async def test_a_detached_turn_goes_on_and_its_updates_reach_the_state() -> None:
    async with a_session() as (session, agent, _), asyncio.timeout(PATIENCE):
        async with session.prompt("hello") as turn:
            prompt = await agent.receive("session/prompt")
            turn.detach()
        await agent.play("echo", "response", "running", "chunk", "idle", prompt=prompt)
        while not turn.done:
            await asyncio.sleep(0)
        assert turn.stop_reason == "end_turn"
        assert session.state.messages[-1].text == "hi"


@pytest.mark.req("EXT-23", "SDK-12")
async def test_a_turn_shows_every_update_of_its_session_in_order_unknown_ones_too() -> None:
    async with a_session() as (session, agent, _), asyncio.timeout(PATIENCE):
        async with session.prompt("hello") as turn:
            prompt = await agent.receive("session/prompt")
            odd = update(sessionUpdate="_acme_thing", payload={"a": [1, None]})
            elsewhere = {
                "method": "session/update",
                "params": {"sessionId": "s2", "update": {"sessionUpdate": "_other"}},
            }
            await agent.play("echo", "response", odd, elsewhere, "chunk", "idle", prompt=prompt)
            names = [type(one).__name__ async for one in turn]
        assert names == ["UserMessage", "Unknown", "AgentMessageChunk", "StateUpdate"]
        assert session.state.unknown_count == 1


async def test_a_lost_connection_ends_the_turn_with_its_reason() -> None:
    async with a_session() as (session, agent, _), asyncio.timeout(PATIENCE):
        with pytest.raises(acpwire.ConnectionClosed):
            async with session.prompt("hello") as turn:
                prompt = await agent.receive("session/prompt")
                await agent.play("echo", "response", "running", prompt=prompt)
                await agent.transport.aclose()
                async for _ in turn:
                    pass


@pytest.mark.req("PROMPT-15", "STATE-18")
async def test_a_failure_after_insertion_is_a_stop_reason_with_its_error() -> None:
    async with a_session() as (session, agent, _), asyncio.timeout(PATIENCE):
        async with session.prompt("hello") as turn:
            prompt = await agent.receive("session/prompt")
            error = {"code": 1001, "message": "boom", "data": [1]}
            failed = update(sessionUpdate="state_update", state="idle", stopReason="error", error=error)
            await agent.play("echo", "response", failed, prompt=prompt)
            await turn.wait()
        assert turn.stop_reason == "error"
        assert turn.error is not None
        assert (turn.error.code, turn.error.message, turn.error.data) == (1001, "boom", [1])


@pytest.mark.req("PROMPT-06")
async def test_a_response_without_a_message_id_is_an_invalid_response_of_that_call() -> None:
    async with a_session() as (session, agent, _), asyncio.timeout(PATIENCE):
        with pytest.raises(acpwire.RemoteProtocolError, match="messageId"):
            async with session.prompt("hello") as turn:
                prompt = await agent.receive("session/prompt")
                await agent.send({"id": prompt["id"], "result": {}})
                await turn.wait()


async def test_awaiting_a_prompt_runs_it_to_its_end() -> None:
    async with a_session() as (session, agent, _), asyncio.timeout(PATIENCE):

        async def answer() -> None:
            prompt = await agent.receive("session/prompt")
            await agent.play("echo", "response", "running", "chunk", "idle", prompt=prompt)

        answering = asyncio.create_task(answer())
        turn = await session.prompt("hello")
        await answering
        assert turn.stop_reason == "end_turn"


async def test_a_turn_runs_once_and_is_iterated_inside_its_block() -> None:
    async with a_session() as (session, agent, _), asyncio.timeout(PATIENCE):
        turn = session.prompt("hello")
        with pytest.raises(acpwire.LocalProtocolError):
            await turn.__anext__()
        async with turn:
            prompt = await agent.receive("session/prompt")
            await agent.play("echo", "response", "idle", prompt=prompt)
            await turn.wait()
        with pytest.raises(acpwire.LocalProtocolError):
            async with turn:
                pass


@pytest.mark.req("PROMPT-01")
async def test_an_empty_prompt_is_refused_before_anything_is_sent() -> None:
    async with a_session() as (session, _, _):
        with pytest.raises(acpwire.LocalProtocolError, match="at least one"):
            session.prompt([])


@pytest.mark.req("PROMPT-03", "CONT-12")
async def test_content_that_the_agent_did_not_advertise_is_refused_before_anything_is_sent() -> None:
    from acpwire.protocol.v2.content import ImageContent

    async with a_session() as (session, _, _):
        with pytest.raises(acpwire.Unsupported, match=r"session\.prompt\.image"):
            session.prompt(ImageContent(data="", mime_type="image/png"))
