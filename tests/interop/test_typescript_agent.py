"""Our client against an agent on the official TypeScript SDK, as two processes over stdio."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from acpwire import Client, PermissionRequest, RequestError, Session, Unknown, Unsupported
from acpwire.protocol.v2.message import AgentMessageChunk
from acpwire.protocol.v2.state import StateUpdate

PATIENCE = 30.0

pytestmark = pytest.mark.peer


@contextlib.asynccontextmanager
async def a_session(peers: Any, client: Client | None = None) -> AsyncIterator[tuple[Client, Session]]:
    client = client or Client("interop", version="1.0.0")
    async with asyncio.timeout(PATIENCE), client.connect(peers.typescript.command("agent.mjs")):
        yield client, await client.new_session("/tmp")


async def test_a_turn_of_chunks(peers: Any) -> None:
    async with a_session(peers) as (client, session):
        assert client.agent.info.name
        async with session.prompt("chunks 50 32") as turn:
            updates = [update async for update in turn]
        assert sum(isinstance(update, AgentMessageChunk) for update in updates) == 50
        assert len(session.state.messages[-1].text) == 50 * 32
        assert session.state.messages[0].text == "chunks 50 32"
        assert turn.message_id == session.state.messages[0].id
        assert turn.stop_reason == "end_turn"
        echoed = await session.prompt("grüße 😀")
        assert session.state.messages[-1].text == "echo: grüße 😀."
        assert echoed.done


@pytest.mark.req("TOOL-25", "META-12", "META-09")
async def test_metadata_patches_of_a_tool_call_and_a_message(peers: Any) -> None:
    async with a_session(peers) as (_, session):
        frames: list[Any] = []
        async with session.prompt("tool") as turn:
            frames = [update async for update in turn]
        (call,) = session.state.tool_calls.values()
        assert call.status == "completed"
        expected: dict[str, Any] = {}
        for update in frames:
            patch = getattr(update, "meta", None) if getattr(update, "tool_call_id", None) else None
            if type(update).__name__ == "ToolCallUpdate" and isinstance(patch, dict):
                expected = {key: value for key, value in {**expected, **patch}.items() if value is not None}
        assert expected
        assert call.meta == expected
        await session.prompt("meta")
        assert any(message.meta for message in session.state.messages)


@pytest.mark.parametrize(("kind", "outcome"), [("allow_once", "yes-once"), ("reject_once", "no-once")])
async def test_a_tool_call_with_a_permission(peers: Any, kind: str, outcome: str) -> None:
    client, asked = Client("interop"), []

    @client.permission
    async def decide(request: PermissionRequest, context: Any) -> Any:
        asked.append((request.tool_call.title if request.tool_call else None, session.state.activity))
        return request.choose(kind)

    async with a_session(peers, client) as (_, session):
        async with session.prompt("permission tool") as turn:
            states = [update.state async for update in turn if isinstance(update, StateUpdate)]
        assert outcome in session.state.messages[-1].text
        assert states == ["running", "requires_action", "running", "idle"]
        assert asked
        assert asked[0][0]


async def test_a_permission_without_a_handler_is_answered_cancelled(peers: Any) -> None:
    async with a_session(peers) as (_, session):
        await session.prompt("permission command")
        assert "cancelled" in session.state.messages[-1].text


async def test_a_cancel_in_the_stream(peers: Any) -> None:
    async with a_session(peers) as (_, session):
        async with session.prompt("flood") as turn:
            async for update in turn:
                if isinstance(update, AgentMessageChunk):
                    break
        assert turn.stop_reason == "cancelled"
        await session.prompt("still there?")
        assert session.state.messages[-1].text == "echo: still there?."


async def test_a_cancel_while_a_permission_is_open(peers: Any) -> None:
    client, withdrawn = Client("interop"), asyncio.Event()

    @client.permission
    async def dither(request: PermissionRequest, context: Any) -> Any:
        await session.cancel()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            withdrawn.set()
            raise

    async with a_session(peers, client) as (_, session):
        turn = await session.prompt("permission tool")
        assert turn.stop_reason == "cancelled"
        assert withdrawn.is_set()


async def test_a_prompt_that_is_never_inserted_is_taken_back_by_a_cancel(peers: Any) -> None:
    async with a_session(peers) as (_, session):
        async with session.prompt("hold") as turn:
            pass
        assert turn.stop_reason == "cancelled"
        assert turn.message_id is None


async def test_a_prompt_that_is_refused_and_one_that_fails(peers: Any) -> None:
    async with a_session(peers) as (_, session):
        with pytest.raises(RequestError) as refused:
            await session.prompt("reject")
        assert refused.value.code == -32602
        failed = await session.prompt("error")
        assert failed.stop_reason == "error"
        assert failed.error is not None
        assert failed.error.message


@pytest.mark.req("EXT-12", "EXT-13", "EXT-15")
async def test_extensions_both_ways(peers: Any) -> None:
    client, heard = Client("interop"), []

    @client.request("_peer/ask")
    async def ask(params: Any, context: Any) -> Any:
        return {"answer": params}

    @client.notification("_peer/tell")
    async def tell(params: Any, context: Any) -> None:
        heard.append(params)

    async with a_session(peers, client) as (_, session):
        sent = {"q": [1, None, {"a": "é"}], "_meta": {"traceparent": "00", "x": None}}
        assert await client.request("_peer/echo", sent) == {"echoed": sent}
        await client.notify("_peer/note", {"n": 1})
        assert {"n": 1} in (await client.request("_peer/notes", {}))["notes"]  # type: ignore[index, call-overload, operator]
        with pytest.raises(RequestError) as unknown:
            await client.request("_peer/none", {})
        assert unknown.value.code == -32601
        await session.prompt("ext")
        assert heard
        assert "answer" in session.state.messages[-1].text


async def test_unknown_updates_and_content_are_kept(peers: Any) -> None:
    async with a_session(peers) as (_, session):
        async with session.prompt("unknown") as turn:
            updates = [update async for update in turn]
        assert any(isinstance(update, Unknown) for update in updates)
        assert session.state.unknown_count > 0


async def test_a_plan_and_a_terminal(peers: Any) -> None:
    async with a_session(peers) as (_, session):
        await session.prompt("plan")
        assert session.state.plans
        await session.prompt("terminal")
        (terminal,) = session.state.terminals.values()
        assert terminal.output


async def test_list_resume_with_replay_close_and_delete(peers: Any) -> None:
    async with a_session(peers) as (client, session):
        await session.prompt("chunks 3 4")
        before = session.state.snapshot().messages
        assert session.id in [info.session_id async for info in client.list_sessions()]
        await session.close()
        again = await client.resume_session(session.id, "/tmp", replay=True)
        assert again.state.snapshot().messages == before
        await again.close()
        await client.delete_session(session.id)
        assert session.id not in [info.session_id async for info in client.list_sessions()]
        with pytest.raises(Unsupported):
            await client.logout()
