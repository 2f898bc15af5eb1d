"""What breaks in the field, first part: framing and byte streams (faults 1 to 4), over real processes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import acpwire
from acpwire.testing.driver import RawDriver

PATIENCE = 20.0
MIB = 1024 * 1024

AGENT = """
import os, subprocess, sys
from acpwire import Agent

agent = Agent("faulty")


@agent.request("_t/size")
async def size(params, context):
    return {"size": len(params["text"])}


@agent.prompt
async def answer(turn):
    print("a print in a handler")
    os.write(1, b"a write to descriptor 1\\n")
    subprocess.run([sys.executable, "-c", "import sys; print('a child'); sys.exit(len(sys.stdin.read()))"], check=True)
    await turn.say(turn.text)


agent.run()
"""


@contextlib.asynccontextmanager
async def an_agent() -> AsyncIterator[RawDriver]:
    async with RawDriver.spawn([sys.executable, "-c", AGENT]) as agent:
        params = {"protocolVersion": 2, "info": {"name": "raw", "version": "1"}}
        await agent.send_line(request(0, "initialize", params))
        assert (await agent.read_response(0))["result"]["protocolVersion"] == 2  # type: ignore[index, call-overload]
        yield agent


def request(request_id: Any, method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


async def alive(agent: RawDriver, request_id: int = 1000) -> None:
    await agent.send_line(request(request_id, "_t/size", {"text": "four"}))
    assert (await agent.read_response(request_id))["result"] == {"size": 4}


# -- fault 1: long lines --------------------------------------------------------------------------------------


@pytest.mark.req("TRAN-09")
async def test_a_line_of_5_mib_is_answered_and_one_above_the_limit_is_refused_alone() -> None:
    async with an_agent() as agent:
        await agent.send_line(request(1, "_t/size", {"text": "x" * (5 * MIB)}))
        assert (await agent.read_response(1))["result"] == {"size": 5 * MIB}
        await alive(agent)
        await agent.send_bytes(b'{"jsonrpc":"2.0","id":2,"method":"_t/size","params":{"text":"')
        for _ in range(33):
            await agent.send_bytes(b"x" * MIB)
        await agent.send_bytes(b'"}}\n')
        answer = await agent.read_json()
        assert isinstance(answer, dict)
        assert (answer["id"], answer["error"]["code"]) == (2, -32600)  # type: ignore[index, call-overload]
        assert "33554432 that are allowed" in str(answer["error"])
        await alive(agent)


# -- fault 2: noise -------------------------------------------------------------------------------------------


@pytest.mark.req("TRAN-05")
async def test_what_a_handler_prints_or_writes_never_reaches_the_protocol() -> None:
    async with an_agent() as agent:
        await agent.send_line(request(1, "session/new", {"cwd": "/tmp"}))
        created = await agent.read_response(1)
        session_id = created["result"]["sessionId"]  # type: ignore[index, call-overload]
        prompt = [{"type": "text", "text": "hi"}]
        await agent.send_line(request(2, "session/prompt", {"sessionId": session_id, "prompt": prompt}))

        def idle(message: Any) -> bool:
            return message.get("params", {}).get("update", {}).get("state") == "idle"

        found, before = await agent.read_until(idle)  # every line on the way was JSON
        assert found["params"]["update"]["stopReason"] == "end_turn"  # type: ignore[index, call-overload]
        assert any("messageId" in str(one) for one in before)
        await agent.close_stdin()
        assert await agent.wait() == 0
        assert {"a print in a handler", "a write to descriptor 1", "a child"} <= set(agent.stderr.splitlines())


NOISY = r"""
import json, sys
out = sys.stdout
print("Loaded credentials")
print()
hello = json.loads(sys.stdin.readline())
result = {"protocolVersion": 2, "info": {"name": "noisy", "version": "1"}, "capabilities": {"session": {}}}
out.write("\x1b[1 q" + json.dumps({"jsonrpc": "2.0", "id": hello["id"], "result": result}) + "\n")
out.write("npm notice: a new version is there\n")
out.flush()
new = json.loads(sys.stdin.readline())
if new.get("method") != "session/new":
    sys.exit(7)
out.write(json.dumps({"jsonrpc": "2.0", "id": new["id"], "result": {"sessionId": "s"}}) + "\n")
out.flush()
sys.stdin.read()
"""


async def test_noise_of_an_agent_is_logged_and_not_answered_and_json_behind_an_escape_is_found(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "acpwire"):
        async with asyncio.timeout(PATIENCE), acpwire.connect([sys.executable, "-c", NOISY]) as client:
            assert client.agent.info.name == "noisy"
            session = await client.new_session("/tmp")  # the agent got no answer to its noise, or it would have left
            assert session.id == "s"
    for noise in ("Loaded credentials", "[1 q", "npm notice: a new version is there"):
        assert noise in caplog.text


# -- fault 3: characters that straddle reads ------------------------------------------------------------------


async def test_text_that_comes_one_byte_at_a_time_is_the_same_text() -> None:
    text = "中文 — ελληνικά — 😀👩‍👩‍👧"
    async with an_agent() as agent:
        line = json.dumps(request(1, "_t/size", {"text": text}), ensure_ascii=False).encode() + b"\n"
        for byte in line:
            await agent.send_bytes(bytes([byte]))
        assert (await agent.read_response(1))["result"] == {"size": len(text)}


ONE_BYTE = r"""
import json, os, sys
TEXT = "中文 😀 ende"
def send(message):
    for byte in json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n":
        os.write(1, bytes([byte]))
def update(**members):
    send({"method": "session/update", "params": {"sessionId": "s", "update": members}})
def answer(result):
    send({"id": json.loads(sys.stdin.readline())["id"], "result": result})
answer({"protocolVersion": 2, "info": {"name": "slow", "version": "1"}, "capabilities": {"session": {}}})
answer({"sessionId": "s"})
prompt = json.loads(sys.stdin.readline())
update(sessionUpdate="user_message", messageId="u", content=prompt["params"]["prompt"])
send({"id": prompt["id"], "result": {"messageId": "u"}})
update(sessionUpdate="agent_message_chunk", messageId="a", content={"type": "text", "text": TEXT})
import base64
for byte in TEXT.encode():
    update(sessionUpdate="terminal_output_chunk", terminalId="t", data=base64.b64encode(bytes([byte])).decode())
update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
sys.stdin.read()
"""


@pytest.mark.req("TERM-11", "TERM-12")
async def test_updates_that_come_one_byte_at_a_time_are_the_same_updates(tmp_path: Path) -> None:
    script = tmp_path / "one_byte.py"
    script.write_text(textwrap.dedent(ONE_BYTE), encoding="utf-8")
    async with asyncio.timeout(PATIENCE), acpwire.connect([sys.executable, str(script)]) as client:
        session = await client.new_session("/tmp")
        await session.prompt("grüß dich 😀")
        assert session.state.messages[0].text == "grüß dich 😀"
        assert session.state.messages[-1].text == "中文 😀 ende"
        assert session.state.terminals["t"].output.decode() == "中文 😀 ende"


# -- fault 4: malformed frames --------------------------------------------------------------------------------

MALFORMED = [
    pytest.param(b"not json", -32700, marks=pytest.mark.req("RPC-12")),
    pytest.param(b"\xff\xfe", -32700, id="bytes that are no UTF-8"),
    pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"_t/size","params":{"text":"\xff"}}', -32700, id="UTF-8 inside"),
    pytest.param(b'{"jsonrpc":"2.0","id":1,', -32700, id="half a message"),
    pytest.param(b"[" * 100_000, -32700, id="very deep"),
    pytest.param(b"42", -32600, marks=pytest.mark.req("RPC-13")),
    pytest.param(b"null", -32600, id="null"),
    pytest.param(b'"x"', -32600, id="a string"),
    pytest.param(b"[]", -32600, marks=pytest.mark.req("RPC-28")),
    pytest.param(b'{"jsonrpc":"2.0","id":1,"method":5}', -32600, id="a numeric method"),
    pytest.param(b'{"id":1,"method":"_t/size"}', -32600, marks=pytest.mark.req("RPC-01")),
    pytest.param(b'{"jsonrpc":"2.0","id":1.5,"method":"_t/size"}', -32600, marks=pytest.mark.req("RPC-11")),
    pytest.param(b'{"jsonrpc":"2.0","id":null,"method":"_t/size"}', -32600, marks=pytest.mark.req("RPC-04")),
    pytest.param(b'{"jsonrpc":"2.0","id":{"a":1},"result":{}}', None, marks=pytest.mark.req("RPC-14")),
    pytest.param(b'{"jsonrpc":"2.0","id":77,"result":{}}', None, marks=pytest.mark.req("RPC-15")),
    pytest.param(b'{"jsonrpc":"2.0","method":"_t/unknown"}', None, marks=pytest.mark.req("RPC-18")),
    pytest.param(b'{"jsonrpc":"2.0","method":"_t/size","params":[1]}', None, marks=pytest.mark.req("RPC-03")),
    pytest.param(b"", None, marks=pytest.mark.req("TRAN-04")),
]


async def test_every_malformed_frame_costs_itself_and_nothing_else() -> None:
    async with an_agent() as agent:
        for number, case in enumerate(MALFORMED):
            frame, code = case.values
            assert isinstance(frame, bytes)
            await agent.send_line(frame)
            await agent.send_line(request(number, "_t/size", {"text": "four"}))
            first = await agent.read_json()
            assert isinstance(first, dict)
            if code is None:
                assert first == {"jsonrpc": "2.0", "id": number, "result": {"size": 4}}, frame[:60]
                continue
            assert (first["id"], first["error"]["code"]) == (None, code), frame[:60]  # type: ignore[index, call-overload]
            assert (await agent.read_response(number))["result"] == {"size": 4}
        await agent.send_line(b'\r\n  {"jsonrpc":"2.0","id":"x","method":"_t/size","params":{"text":"\\u00e9"}}  \r')
        assert (await agent.read_response("x"))["result"] == {"size": 1}


@pytest.mark.parametrize(("frame", "code"), MALFORMED)
async def test_a_malformed_frame_is_answered_as_its_kind_demands(frame: bytes, code: int | None) -> None:
    from acpwire import Agent
    from acpwire.transports import memory

    ours, theirs = memory.pair()
    serving = asyncio.create_task(Agent("x").serve(theirs))
    hello = request(0, "initialize", {"protocolVersion": 2, "info": {"name": "raw", "version": "1"}})
    frames = [json.dumps(hello).encode(), frame, json.dumps(request(9, "_t/none", {})).encode()]
    await ours.send([one for one in frames if one])
    answers: list[Any] = []
    async with asyncio.timeout(PATIENCE):
        while not any(answer["id"] == 9 for answer in answers):
            answers += [json.loads(one) for one in await ours.receive()]  # type: ignore[arg-type]
    odd = [answer["error"]["code"] for answer in answers if answer["id"] not in (0, 9)]
    assert odd == ([] if code is None else [code])
    await ours.aclose()
    await serving
