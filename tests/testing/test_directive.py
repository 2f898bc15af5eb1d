"""The directive agent, through raw lines as any client meets it, and through our own client."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from acpwire import AgentExited, Client, ConnectionClosed, PermissionRequest, Session, SessionNotFound, Unknown, connect
from acpwire.protocol.v2.content import ImageContent, TextContent
from acpwire.protocol.v2.diff import Diff
from acpwire.protocol.v2.message import AgentMessageChunk
from acpwire.protocol.v2.permission import RequestPermissionOutcome
from acpwire.protocol.v2.tool_call import Terminal
from acpwire.testing import directive
from acpwire.testing._script import DIRECTIVES
from acpwire.testing.driver import RawDriver
from acpwire.transports import memory

PATIENCE = 10.0
AGENT = [sys.executable, "-m", "acpwire", "agent"]

Json = dict[str, Any]


class RawSession:
    """A session with the agent in a process of its own, in raw lines."""

    def __init__(self, driver: RawDriver, initialized: Json, created: Json) -> None:
        self.driver = driver
        self.initialized = initialized
        self.created = created
        self.id = created["sessionId"]
        self._next = 10

    @classmethod
    @contextlib.asynccontextmanager
    async def start(cls) -> AsyncIterator[RawSession]:
        async with asyncio.timeout(2 * PATIENCE), RawDriver.spawn(AGENT) as driver:
            info = {"name": "raw", "version": "1"}
            await driver.send_line(
                {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 2, "info": info}}
            )
            initialized = await driver.read_response(1)
            await driver.send_line({"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "/tmp"}})
            created = await driver.read_response(2)
            yield cls(driver, initialized["result"], created["result"])

    async def ask(self, text: str) -> None:
        self._next += 1
        params = {"sessionId": self.id, "prompt": [{"type": "text", "text": text}]}
        await self.driver.send_line({"jsonrpc": "2.0", "id": self._next, "method": "session/prompt", "params": params})

    async def turn(self, text: str) -> list[bytes]:
        """The lines of one turn, from the `running` to the `idle`, without both."""
        await self.ask(text)
        lines = []
        while b'"state":"idle"' not in (line := await self.driver.read_line()):
            assert line, self.driver.stderr
            lines.append(line)
        lines.append(line)
        start = next(i for i, line in enumerate(lines) if b'"state":"running"' in line)
        return [line for line in lines[start + 1 :] if not line.startswith(b'{"jsonrpc":"2.0","id":')]

    async def said(self, text: str) -> None:
        """Read on until the agent has said this."""
        await self.driver.read_until(
            lambda m: (
                isinstance(m, dict)
                and m.get("params", {}).get("update", {}).get("sessionUpdate") == "agent_message_chunk"
                and m["params"]["update"]["content"]["text"] == text
            )
        )

    async def updates(self, text: str) -> list[Json]:
        return [json.loads(line)["params"]["update"] for line in (await self.turn(text))]


@contextlib.asynccontextmanager
async def a_session(set_up: Callable[[Client], object] | None = None) -> AsyncIterator[tuple[Client, Session]]:
    """A session with the agent in this process, through our own client."""
    ours, theirs = memory.pair()
    client = Client("tester")
    if set_up is not None:
        set_up(client)
    serving = asyncio.create_task(directive.make_agent().serve(theirs))
    async with asyncio.timeout(PATIENCE):
        async with client.connect(ours):
            yield client, await client.new_session("/tmp")
        await serving


def texts(session: Session) -> list[str]:
    return [message.text for message in session.state.messages if message.type == "agent_message"]


async def run(session: Session, text: str) -> list[Any]:
    async with session.prompt(text) as turn:
        return [update async for update in turn]


# -- in raw lines -----------------------------------------------------------------------------------------------------


async def test_a_raw_client_meets_the_whole_agent() -> None:
    """One process for all of it: each start takes its time."""
    async with RawSession.start() as raw:
        assert raw.initialized["capabilities"]["_meta"]["acpwire.dev"]["directives"] == [*DIRECTIVES]
        assert {one["name"] for one in raw.created["availableCommands"]} == {*DIRECTIVES}

        echoed, idle = await raw.updates("hello\nworld")
        assert (echoed["sessionUpdate"], echoed["content"]["text"]) == ("agent_message_chunk", "hello\nworld")
        assert (idle["state"], idle["stopReason"]) == ("idle", "end_turn")

        update = '{"sessionUpdate":"tool_call_update" , "toolCallId":"t","new":[1.0,1e2,{"x":null}],"title":null}'
        (line, _) = await raw.turn(f"/update {update}")
        assert line.endswith(b',"update":' + update.encode() + b"}}")

        lines = await raw.turn("/say a\n/raw  not  JSON \xe9 \n/notify session/update [1, null]\n/say b")
        assert [
            line if b"chunk" not in line else json.loads(line)["params"]["update"]["content"] for line in lines[:-1]
        ] == [
            {"type": "text", "text": "a"},
            " not  JSON \xe9 ".encode(),
            b'{"jsonrpc":"2.0","method":"session/update","params":[1, null]}',
            {"type": "text", "text": "b"},
        ]

        await raw.ask('/request _ext/any {"a": 1.0}')
        request, _ = await raw.driver.read_until(lambda m: isinstance(m, dict) and m.get("method") == "_ext/any")
        assert request["params"] == {"a": 1.0}
        await raw.driver.send_line({"jsonrpc": "2.0", "id": request["id"], "result": [None]})
        await raw.said("result: [null]")
        await raw.driver.read_until(lambda m: '"idle"' in json.dumps(m))

        await raw.ask("/stderr 100000\n/say last words\n/exit 7")
        await raw.said("last words")
        assert await raw.driver.read_rest() == b""
        assert await raw.driver.wait() == 7
        assert len(raw.driver.stderr) == 100_000


@pytest.mark.req("CANC-11", "STATE-16")
async def test_a_cancel_ends_a_sleep_and_the_end_of_input_ends_the_agent() -> None:
    async with RawSession.start() as raw:
        await raw.ask("/say asleep\n/sleep 1000\n/say never")
        await raw.said("asleep")
        await raw.driver.send_line({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": raw.id}})
        idle, before = await raw.driver.read_until(lambda m: '"stopReason"' in json.dumps(m))
        assert idle["params"]["update"]["stopReason"] == "cancelled"
        assert "never" not in json.dumps(before)
        await raw.driver.close_stdin()
        assert await raw.driver.wait() == 0
        assert raw.driver.stderr == ""


# -- through our client -----------------------------------------------------------------------------------------------


async def test_says_join_thoughts_part_and_echoes_stand_alone() -> None:
    async with a_session() as (_, session):
        await session.prompt(
            "plain\n\n/nothing of ours\n/say a\n/say b \n/think hm\n/think !\n/say c\r\nmore\n\n/say d"
        )
        assert texts(session) == ["plain\n\n/nothing of ours", "ab ", "c", "more\n", "d"]
        assert [m.text for m in session.state.messages if m.type == "agent_thought"] == ["hm!"]


async def test_what_is_no_text_is_echoed_as_it_came() -> None:
    async with a_session() as (_, session):
        image = ImageContent(data="AAAA", mime_type="image/png")
        await session.prompt(["/say one", image, TextContent(text="/say two")])
        first, echoed, last = [m for m in session.state.messages if m.type == "agent_message"]
        assert echoed.content == (image,)
        assert (first.text, last.text) == ("one", "two")


@pytest.mark.req("TOOL-02", "TOOL-25")
async def test_a_tool_is_reported_from_its_beginning_to_its_end() -> None:
    async with a_session() as (_, session):
        updates = await run(session, '/meta {"a": null, "b": [1]}\n/tool first\n/tool second fail')
        statuses = [one.status for one in updates if type(one).__name__ == "ToolCallUpdate"]
        assert statuses == ["in_progress", "completed", "in_progress", "failed"]
        first, second = session.state.tool_calls.values()
        assert (first.name, first.title, first.text, first.meta) == ("first", "first", "first is done", {"b": [1]})
        assert (second.status, second.text, second.meta) == ("failed", "second failed", {})


@pytest.mark.parametrize(
    ("kind", "said", "status"),
    [
        pytest.param("allow_once", "permission: allowed (allow_once)", "completed", id="once"),
        pytest.param("allow_always", "permission: allowed (allow_always)", "completed", id="always"),
        pytest.param("reject_once", "permission: not allowed", "cancelled", id="rejected"),
        pytest.param("made_up", "permission: not allowed", "cancelled", id="nothing"),
    ],
)
@pytest.mark.req("PERM-16", "PERM-17")
async def test_what_was_answered_to_a_permission_is_said(kind: str, said: str, status: str) -> None:
    asked: list[Any] = []

    async def decide(request: PermissionRequest, context: Any) -> RequestPermissionOutcome:
        asked.append(
            (type(request.params.subject).__name__, [one.kind for one in request.options], request.params.meta)
        )
        return request.choose(kind)

    async with a_session(lambda client: client.permission(decide)) as (_, session):
        await session.prompt('/permission\n/meta {"k": 1}\n/permission command')
        kinds = ["allow_once", "allow_always", "reject_once", "reject_always"]
        assert asked == [("ToolCallPermissionSubject", kinds, None), ("CommandPermissionSubject", kinds, {"k": 1})]
        assert texts(session) == [said, said]
        assert [call.status for call in session.state.tool_calls.values()] == [status]


@pytest.mark.req("PLAN-03", "DIFF-01", "TERM-11")
async def test_a_plan_a_diff_and_a_terminal_are_shown() -> None:
    async with a_session() as (_, session):
        await session.prompt("/plan 2\n/plan 3 1\n/diff src/a.py\n/diff /b c\n/terminal 12 passed")
        (plan,) = session.state.plans.values()
        assert [entry.status for entry in plan.content.entries] == ["completed", "in_progress", "pending"]
        relative, absolute, ran = session.state.tool_calls.values()
        for call, path in ((relative, "/tmp/src/a.py"), (absolute, "/b c")):
            (diff,) = call.content
            assert isinstance(diff, Diff)
            assert [change.path for change in diff.changes] == [path]
            assert diff.patch.text.startswith(f"diff --git {path} {path}\n--- {path}\n+++ {path}\n@@ ")
        (shown,) = ran.content
        assert isinstance(shown, Terminal)
        terminal = session.state.terminals[shown.terminal_id]
        assert (terminal.command, terminal.cwd, terminal.output) == ("echo 12 passed", "/tmp", b"12 passed\r\n")
        assert terminal.exit_status.exit_code == 0


@pytest.mark.req("EXT-28")
async def test_an_update_of_any_kind_arrives_whole_with_metadata_beside_it() -> None:
    heard: list[Any] = []

    def set_up(client: Client) -> None:
        @client.update
        async def hear(params: Any, context: Any) -> None:
            if isinstance(params.update, Unknown):
                heard.append(params)

    async with a_session(set_up) as (_, session):
        await session.prompt('/meta {"n": null}\n/update {"sessionUpdate":"_new/one","a":null,"b":{"c":[1.5]}}')
        (params,) = heard
        assert params.update == {"sessionUpdate": "_new/one", "a": None, "b": {"c": [1.5]}}
        assert params.meta == {"n": None}


async def test_a_burst_is_counted_and_padded() -> None:
    async with a_session() as (_, session):
        updates = await run(session, '/meta {"only": "first"}\n/burst 12 4\n/burst 1')
        chunks = [one for one in updates if isinstance(one, AgentMessageChunk)]
        assert [chunk.content.text for chunk in chunks[:-1]] == [f"{number:04d}" for number in range(1, 13)]
        assert len(chunks[-1].content.text) == 32
        assert [chunk.meta for chunk in chunks] == [{"only": "first"}, *[None] * 12]


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        pytest.param("/fail", -32603, "This turn was told to fail", id="nothing"),
        pytest.param("/fail out of luck", -32603, "out of luck", id="text"),
        pytest.param("/fail 42", 42, "This turn was told to fail", id="code"),
        pytest.param("/fail -32000  log in", -32000, "log in", id="both"),
    ],
)
@pytest.mark.req("STATE-18", "PROMPT-15")
async def test_a_turn_fails_as_it_is_told(line: str, code: int, message: str) -> None:
    async with a_session() as (_, session):
        async with session.prompt(f"{line}\n/say never") as turn:
            await turn.wait()
        assert (turn.stop_reason, turn.error.code, turn.error.message) == ("error", code, message)
        assert texts(session) == []


@pytest.mark.parametrize("reason", ["end_turn", "max_tokens", "refusal", "_own"])
async def test_a_turn_stops_for_the_given_reason_and_reads_no_further(reason: str) -> None:
    async with a_session() as (_, session):
        turn = await session.prompt(f"/say before\n/stop {reason}\n/say after")
        assert turn.stop_reason == reason
        assert texts(session) == ["before"]


@pytest.mark.parametrize(
    "line",
    [
        "/say", "/think ", "/tool", "/tool a maybe", "/tool a ok b", "/permission file", "/permission tool x", "/plan",
        "/plan x", "/plan -1", "/plan 1 2", "/diff", "/terminal", "/sleep", "/sleep soon", "/sleep -1", "/sleep nan",
        "/sleep inf", "/fail 99999999999 x", "/stop", "/stop a b", "/update", "/update {", "/update []", "/meta", "/meta 1",
        "/request", "/request _x", "/request _x {", "/notify", "/notify _x", "/notify _x nope", "/raw", "/burst",
        "/burst x", "/burst 1 0", "/stderr", "/stderr x", "/exit", "/exit 256", "/exit x", "/help me",
        '/notify _acpwire/verbatim/line {"no":1}',
    ],
)  # fmt: skip
async def test_a_malformed_directive_ends_its_turn_with_an_error_that_names_it(
    line: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_session() as (_, session):
        turn = await session.prompt(f"first\n{line}\n/say never")
        assert turn.stop_reason == "error"
        assert turn.error.code == -32602
        name = line.split(maxsplit=1)[0]
        assert turn.error.data == {"directive": name, "line": 2}
        assert turn.error.message.startswith(f"line 2: `{name}`: ")
        assert texts(session) == ["first"]
        await session.prompt("still here")
        assert texts(session)[-1] == "still here"
    assert not caplog.records


async def test_requests_of_any_name_reach_the_client_and_their_answers_are_said() -> None:
    def set_up(client: Client) -> None:
        @client.request("_ext/ask")
        async def ask(params: Any, context: Any) -> Any:
            return None if params == {} else {"got": params}

    async with a_session(set_up) as (_, session):
        await session.prompt(
            '/request _ext/ask {"a":[1]}\n/request _ext/ask {}\n/request _no/such {}\n/request session/new {}\n'
            '/request session/request_permission {"sessionId":"s","title":"t","options":[]}'
        )
        assert texts(session)[:4] == [
            'result: {"got":{"a":[1]}}',
            "result: null",
            "error -32601: Method not found",
            "error -32601: Method not found",
        ]
        assert texts(session)[4].startswith("error -32602: ")


async def test_a_notification_reaches_the_client() -> None:
    heard: asyncio.Queue[Any] = asyncio.Queue()

    def set_up(client: Client) -> None:
        @client.notification("_ext/tell")
        async def tell(params: Any, context: Any) -> None:
            heard.put_nowait(params)

    async with a_session(set_up) as (_, session):
        await session.prompt('/notify _ext/tell {"a": null}')
        assert await heard.get() == {"a": None}


@pytest.mark.req("EXT-11", "EXT-12", "CAP-29")
async def test_the_extension_echoes_params_and_keeps_notes() -> None:
    async with a_session() as (client, _):
        extension = client.agent.capabilities.meta["acpwire.dev"]
        assert extension["requests"] == ["_acpwire/echo", "_acpwire/notes"]
        assert extension["notifications"] == ["_acpwire/note"]
        params = {"a": None, "b": [1, 1.5, "ü"], "_meta": {"x": 1}}
        assert await client.request("_acpwire/echo", params) == params
        await client.notify("_acpwire/note", {"n": 1})
        await client.notify("_acpwire/note", {"n": 2})
        assert await client.request("_acpwire/notes", {}) == {"notes": [{"n": 1}, {"n": 2}]}


async def test_help_names_every_directive() -> None:
    async with a_session() as (_, session):
        await session.prompt("/help")
        lines = texts(session)[0].splitlines()
        assert [line.split()[0].strip("/:") for line in lines] == [*DIRECTIVES]


def test_the_documentation_names_every_directive_and_its_arguments() -> None:
    table = directive.__doc__
    for name, one in DIRECTIVES.items():
        assert f"| `/{name} {one.usage}".rstrip() + "` |" in table


async def test_an_exit_without_a_process_of_its_own_closes_the_connection() -> None:
    ours, theirs = memory.pair()
    serving = asyncio.create_task(directive.make_agent().serve(theirs))
    async with asyncio.timeout(PATIENCE), Client("tester").connect(ours) as client:
        session = await client.new_session("/tmp")
        with pytest.raises(ConnectionClosed):
            await session.prompt("/say bye\n/exit 3")
        assert texts(session) == ["bye"]
        await serving


async def test_a_session_that_it_does_not_know_is_not_found() -> None:
    async with a_session() as (client, session):
        await client.resume_session(session.id, "/tmp")
        with pytest.raises(SessionNotFound):
            await client.resume_session("sess-unknown", "/tmp")


async def test_our_client_hears_of_its_exit() -> None:
    async with asyncio.timeout(PATIENCE), connect(AGENT) as client:
        session = await client.new_session("/tmp")
        with pytest.raises(AgentExited) as caught:
            await session.prompt("/stderr 10\n/say bye\n/exit 9")
        assert (caught.value.returncode, caught.value.stderr) == (9, "x" * 9 + "\n")
        assert texts(session) == ["bye"]
