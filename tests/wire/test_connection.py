"""Level 0: typed calls and handlers of one version, over a memory pair whose other end is written out."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from acpwire.errors import LocalProtocolError, RemoteProtocolError, RequestError, Unsupported
from acpwire.protocol.v2.cancel import CancelSessionNotification
from acpwire.protocol.v2.content import TextContent
from acpwire.protocol.v2.initialize import AgentCapabilities, Implementation, InitializeRequest, SessionCapabilities
from acpwire.protocol.v2.message import AgentMessageChunk
from acpwire.protocol.v2.permission import RequestPermissionRequest, RequestPermissionResponse
from acpwire.protocol.v2.prompt import PromptRequest, PromptResponse
from acpwire.protocol.v2.session import DeleteSessionRequest, ListSessionsRequest, NewSessionRequest
from acpwire.protocol.v2.tool_call import ToolCallUpdate
from acpwire.protocol.v2.update import UpdateSessionNotification
from acpwire.transports import memory
from acpwire.wire.connection import Connection, Side
from acpwire.wire.context import Context
from acpwire.wire.options import Options

PATIENCE = 10.0


class OtherEnd:
    """The other end of the pair, frame by frame."""

    def __init__(self, transport: memory.MemoryTransport) -> None:
        self.transport = transport
        self.inbox: list[Any] = []

    async def send(self, *messages: dict[str, Any]) -> None:
        await self.transport.send([json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages])

    async def receive(self) -> Any:
        async with asyncio.timeout(PATIENCE):
            while not self.inbox:
                self.inbox += [json.loads(frame) for frame in await self.transport.receive()]  # type: ignore[arg-type]
        return self.inbox.pop(0)


@contextlib.asynccontextmanager
async def a_connection(side: Side = "client", **settings: Any) -> AsyncIterator[tuple[Connection, OtherEnd]]:
    ours, theirs = memory.pair()
    connection = Connection(ours, side=side, **settings)
    connection.open = True
    connection.start()
    async with asyncio.timeout(PATIENCE):
        yield connection, OtherEnd(theirs)
        await connection.aclose()


def update(session_id: str = "s", **members: Any) -> dict[str, Any]:
    return {"method": "session/update", "params": {"sessionId": session_id, "update": members}}


def permission(request_id: int = 1, **tool_call: Any) -> dict[str, Any]:
    subject = {"type": "tool_call", "toolCall": {"toolCallId": "t", **tool_call}}
    options = [{"optionId": "a", "name": "A", "kind": "allow_once"}]
    params = {"sessionId": "s", "title": "?", "subject": subject, "options": options}
    return {"id": request_id, "method": "session/request_permission", "params": params}


async def test_a_typed_call_sends_its_params_and_returns_its_result() -> None:
    async with a_connection() as (connection, other):
        calling = asyncio.create_task(
            connection.session_prompt(PromptRequest(session_id="s", prompt=(TextContent(text="x"),)))  # type: ignore[arg-type]
        )
        sent = await other.receive()
        assert sent["method"] == "session/prompt"
        assert sent["params"] == {"sessionId": "s", "prompt": [{"type": "text", "text": "x"}]}
        await other.send({"id": sent["id"], "result": {"messageId": "m", "unknown": 1}})
        assert await calling == PromptResponse(message_id="m")  # type: ignore[arg-type]


async def test_a_result_that_is_null_reads_as_an_empty_object() -> None:
    async with a_connection() as (connection, other):
        calling = asyncio.create_task(connection.session_delete(DeleteSessionRequest(session_id="s")))  # type: ignore[arg-type]
        await other.send({"id": (await other.receive())["id"], "result": None})
        await calling
        calling = asyncio.create_task(connection.session_list(ListSessionsRequest()))  # type: ignore[arg-type]
        await other.send({"id": (await other.receive())["id"], "result": None})
        with pytest.raises(RemoteProtocolError, match="sessions"):
            await calling


@pytest.mark.req("RPC-34")
async def test_a_method_in_the_wrong_direction_is_refused_before_anything_is_sent() -> None:
    async with a_connection("agent") as (connection, _):
        with pytest.raises(LocalProtocolError, match="not sent by the agent"):
            await connection.session_cancel(CancelSessionNotification(session_id="s"))  # type: ignore[arg-type]
    with pytest.raises(LocalProtocolError, match="not received by the client"):
        Connection(memory.pair()[0], side="client", handlers={"session/prompt": _answer})


async def _answer(params: Any, context: Context) -> Any:
    return {"params": params, "method": context.method}


@pytest.mark.req("CAP-25", "CAP-09", "SESS-41")
async def test_a_call_whose_capability_was_not_advertised_is_refused_before_anything_is_sent() -> None:
    async with a_connection() as (connection, other):
        connection.peer_capabilities = AgentCapabilities()
        with pytest.raises(Unsupported, match="`session`"):
            await connection.session_new(NewSessionRequest(cwd="/"))
        connection.peer_capabilities = AgentCapabilities(session=SessionCapabilities())
        with pytest.raises(Unsupported, match=r"`session\.delete`"):
            await connection.session_delete(DeleteSessionRequest(session_id="s"))  # type: ignore[arg-type]
        await connection.notify("_mark")
        assert (await other.receive())["method"] == "_mark"


@pytest.mark.req("EXT-11", "RPC-35")
async def test_extensions_go_by_their_exact_name_and_names_of_the_protocol_are_refused() -> None:
    async with a_connection(handlers={"_a/ask": _answer}) as (connection, other):
        await other.send({"id": 7, "method": "_a/ask", "params": {"x": None}})
        assert (await other.receive())["result"] == {"params": {"x": None}, "method": "_a/ask"}
        for name in ("session/prompt", "session/update", "$/cancel_request"):
            with pytest.raises(LocalProtocolError, match="belongs to the protocol"):
                await connection.request(name, {})
        asking = asyncio.create_task(connection.request("_b/ask", {"q": 1}))
        sent = await other.receive()
        assert sent["params"] == {"q": 1}
        await other.send({"id": sent["id"], "result": [1, None]})
        assert await asking == [1, None]


@pytest.mark.req("RPC-31", "PERM-08", "META-20")
async def test_6a_a_permission_requests_patch_takes_effect_at_its_place_in_the_stream() -> None:
    seen: list[Any] = []

    async def ask(params: RequestPermissionRequest, context: Context) -> RequestPermissionResponse:
        seen.append("asked")
        await asyncio.Event().wait()
        raise AssertionError

    async with a_connection(handlers={"session/request_permission": ask}) as (connection, other):
        entry = connection.sessions.claim("s")

        def look(one: Any, size: int) -> None:
            call = entry.state.tool_calls.get("t")
            seen.append((call.title, call.meta) if call else None)

        entry.observe(look)
        await other.send(
            update(sessionUpdate="tool_call_update", toolCallId="t", title="before", _meta={"a": 1, "b": 1}),
            permission(title="asked", _meta={"a": None}),
            update(sessionUpdate="tool_call_update", toolCallId="t", _meta={"c": 3}),
            update(sessionUpdate="tool_call_update", toolCallId="t", title="after", _meta={"a": 4}),
        )
        while "asked" not in seen or len(seen) < 4:
            await asyncio.sleep(0)
        assert [one for one in seen if one != "asked"] == [
            ("before", {"a": 1, "b": 1}),
            ("asked", {"b": 1, "c": 3}),
            ("after", {"a": 4, "b": 1, "c": 3}),
        ]


async def test_6a_state_is_applied_as_it_is_read_and_not_when_a_handler_comes_to_it() -> None:
    go, first = asyncio.Event(), asyncio.Event()
    texts = []

    async def slow(params: UpdateSessionNotification, context: Context) -> None:
        first.set()
        await go.wait()
        texts.append(context.connection.sessions.entry("s").state.messages[0].text)

    async with a_connection(handlers={"session/update": slow}) as (connection, other):
        chunks = [
            update(sessionUpdate="agent_message_chunk", messageId="m", content={"type": "text", "text": text})
            for text in "abc"
        ]
        await other.send(*chunks)
        await first.wait()
        assert connection.sessions.entry("s").state.messages[0].text == "abc"
        go.set()
        await connection.aclose()
        assert texts == ["abc"] * 3


@pytest.mark.req("SESS-05")
async def test_updates_before_the_response_that_names_their_session_are_kept() -> None:
    async with a_connection() as (connection, other):
        calling = asyncio.create_task(
            connection.session_new(
                NewSessionRequest(cwd="/"), on_result=lambda new: connection.sessions.claim(new.session_id)
            )
        )
        new = await other.receive()
        await other.send(
            update("fresh", sessionUpdate="state_update", state="running"),
            {"id": new["id"], "result": {"sessionId": "fresh"}},
        )
        await calling
        assert connection.sessions.entry("fresh").state.activity == "running"


async def test_only_so_many_sessions_that_nobody_claimed_are_kept() -> None:
    async with a_connection(options=Options(max_unclaimed_sessions=3)) as (connection, other):
        connection.sessions.claim("mine")
        await other.send(*(update(f"s{n}", sessionUpdate="state_update", state="running") for n in range(10)))
        while "s9" not in connection.sessions.entries:
            await asyncio.sleep(0)
        assert set(connection.sessions.entries) == {"mine", "s7", "s8", "s9"}


@pytest.mark.req("DEC-15", "RPC-36")
async def test_what_was_repaired_is_logged_with_its_path_and_never_with_its_value(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        async with a_connection() as (connection, other):
            await other.send(update(sessionUpdate="tool_call_update", toolCallId="t", status=["secret"], title="ok"))
            while not connection.sessions.entries:
                await asyncio.sleep(0)
            assert connection.sessions.entry("s").state.tool_calls["t"].title == "ok"
    assert "$.update.status" in caplog.text
    assert "secret" not in caplog.text


async def test_a_malformed_notification_is_logged_and_costs_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with a_connection() as (connection, other):
            await other.send(
                update(sessionUpdate="agent_message_chunk", messageId=5, content={"type": "text", "text": "x"}),
                update(sessionUpdate="state_update", state="running"),
            )
            while not connection.sessions.entries:
                await asyncio.sleep(0)
            assert len(connection.sessions.entry("s").state.messages) == 0
    assert "$.update.messageId" in caplog.text


async def test_with_validate_a_malformed_value_is_refused_with_its_path_before_it_is_sent() -> None:
    bad = UpdateSessionNotification(session_id="s", update=ToolCallUpdate(tool_call_id="t", title=5))  # type: ignore[arg-type]
    async with a_connection("agent", options=Options(validate=True)) as (connection, other):
        with pytest.raises(LocalProtocolError) as caught:
            await connection.send_update(bad)
        assert caught.value.path == "$.update.title"
        await connection.notify("_mark")
        assert (await other.receive())["method"] == "_mark"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.req("SDK-10")
async def test_a_number_that_is_not_finite_is_refused_with_its_path_for_null_would_delete_a_key(value: float) -> None:
    chunk = AgentMessageChunk(message_id="m", content=TextContent(text="x"), meta={"a": [1, {"b": value}]})  # type: ignore[arg-type]
    async with a_connection("agent", options=Options(validate=False)) as (connection, other):
        with pytest.raises(LocalProtocolError) as caught:
            await connection.send_update(UpdateSessionNotification(session_id="s", update=chunk))  # type: ignore[arg-type]
        assert caught.value.path.endswith("update._meta.a[1].b")
        with pytest.raises(LocalProtocolError):
            await connection.request("_a/b", {"x": value})
        await connection.notify("_mark")
        assert (await other.receive())["method"] == "_mark"


@pytest.mark.req("INIT-22")
async def test_a_client_serves_nothing_before_it_is_initialized() -> None:
    async with a_connection(handlers={"_a/ask": _answer}) as (connection, other):
        connection.open = False
        await other.send(update(sessionUpdate="state_update", state="running"), {"id": 1, "method": "_a/ask"})
        assert (await other.receive())["error"]["code"] == -32600
        assert not connection.sessions.entries


async def test_an_initialize_handler_at_level_0_chooses_nothing_the_router_did_not() -> None:
    seen: list[InitializeRequest] = []

    async def initialize(params: InitializeRequest, context: Context) -> Any:
        seen.append(params)
        raise RequestError(-32000, "not today")

    async with a_connection("agent", handlers={"initialize": initialize}) as (connection, other):
        for request_id in (1, 2):
            params = {"protocolVersion": 7, "info": {"name": "c", "version": "1"}}
            await other.send({"id": request_id, "method": "initialize", "params": params})
            assert (await other.receive())["error"]["code"] == -32000
        assert connection.gate is not None
        assert connection.gate.selected is None
    assert [one.protocol_version for one in seen] == [2, 2]
    assert seen[0].info == Implementation(name="c", version="1")


async def test_frames_are_shown_with_one_sign_for_their_direction(capsys: pytest.CaptureFixture[str]) -> None:
    async with a_connection(options=Options(show_frames=True)) as (connection, other):
        asking = asyncio.create_task(connection.request("_a/b", {"é": 1}))
        await other.send({"id": (await other.receive())["id"], "result": {}})
        await asking
    sent, got = capsys.readouterr().err.splitlines()
    assert sent.startswith('> {"jsonrpc":"2.0","id":1,"method":"_a/b"')
    assert "é" in sent
    assert got == '< {"jsonrpc": "2.0", "id": 1, "result": {}}'


def test_every_method_of_the_table_has_a_typed_call_in_one_direction() -> None:
    from acpwire.protocol.v2.methods import CANCEL_REQUEST, METHODS, SESSION_UPDATE

    for method in METHODS:
        if method.name not in (CANCEL_REQUEST, SESSION_UPDATE):
            assert hasattr(Connection, method.name.replace("/", "_")), method.name
    assert msgspec.structs.fields(Options)
