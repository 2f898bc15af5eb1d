"""What people write, as type checkers see it. Checked by mypy and pyright in `make check`; never run."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import assert_type

from acpwire import (
    Agent,
    AgentContext,
    Client,
    ClientContext,
    JsonValue,
    PermissionRequest,
    PromptTurn,
    RequestError,
    Session,
    ToolCall,
    Turn,
    Unknown,
    connect,
)
from acpwire.app.permission import PermissionAnswer
from acpwire.protocol.ids import MessageId
from acpwire.protocol.v2.message import AgentMessage, AgentMessageChunk
from acpwire.protocol.v2.plan import PlanUpdate
from acpwire.protocol.v2.session import NewSessionRequest, NewSessionResponse
from acpwire.protocol.v2.state import StateUpdate
from acpwire.protocol.v2.tool_call import ToolCallUpdate
from acpwire.protocol.v2.update import SessionUpdate, UpdateSessionNotification

agent = Agent("typed", version="1.0.0", overlap="reject")


@agent.prompt
async def answer(turn: Turn) -> None:
    assert_type(turn.text, str)
    await turn.say("hello", meta={"a": None})
    await turn.plan(["one", "two"])
    async with turn.tool_call("Look", kind="read", raw_input={"path": "/a"}) as call:
        assert_type(call, ToolCall)
        await call.update(title=None, meta={"key": None})
    permission = await turn.request_permission("May I?", tool_call=call)
    assert_type(permission.allowed, bool)
    assert_type(await turn.request("_a/b", {"x": 1}), JsonValue)
    if not permission:
        turn.stop("refusal")


@agent.new_session
async def new(params: NewSessionRequest, context: AgentContext) -> NewSessionResponse | None:
    assert_type(params.cwd, str)
    assert_type(context.client.info.name, str)
    return None


@agent.request("_a/b")
async def extension(params: JsonValue, context: AgentContext) -> JsonValue:
    return params


client = Client("typed")


@client.permission
async def decide(request: PermissionRequest, context: ClientContext) -> PermissionAnswer:
    if request.tool_call is not None and request.tool_call.kind == "read":
        return request.choose("allow_once")
    return request.reject()


@client.update
async def hear(params: UpdateSessionNotification, context: ClientContext) -> None:
    assert_type(params.update, SessionUpdate)


@client.request("_c/d")
async def asked(params: JsonValue, context: ClientContext) -> JsonValue:
    return None


def what(update: SessionUpdate) -> str:
    """An open union is narrowed arm by arm; the unknown one is a dict with a tag."""
    match update:
        case AgentMessageChunk():
            return update.message_id
        case StateUpdate():
            return update.state
        case ToolCallUpdate() | AgentMessage() | PlanUpdate():
            return type(update).__name__
        case Unknown():
            return update.tag
        case _:
            return ""


async def main() -> None:
    async with connect(["agent"], permission=decide, env={"A": "1"}) as connected:
        assert_type(connected, Client)
        session = await connected.new_session("/tmp")
        assert_type(session, Session)
        async with session.prompt("Hello") as turn:
            assert_type(turn, PromptTurn)
            async for update in turn:
                assert_type(what(update), str)
        assert_type(turn.stop_reason, str | None)
        assert_type(turn.message_id, MessageId | None)
        assert_type(session.state.messages[-1].text, str)
        assert_type(await session.prompt("again"), PromptTurn)
        pending = connected.request("_a/b", {"x": [1, None]})
        assert_type(pending, Awaitable[JsonValue])
        try:
            await pending
        except RequestError as error:
            assert_type(error.code, int)
        async for info in connected.list_sessions():
            assert_type(info.cwd, str)


def wrong(turn: Turn, session: Session) -> None:
    """What must not type-check: each line is an error that the checkers are told to expect."""
    turn.say(5)  # type: ignore[arg-type, unused-coroutine]  # pyright: ignore[reportArgumentType, reportUnusedCoroutine]
    session.prompt(None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Agent("a", overlap="maybe")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    agent.prompt(extension)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
