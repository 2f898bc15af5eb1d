"""A client on the official TypeScript SDK against our directive agent, as two processes over stdio."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest

PATIENCE = 30.0

pytestmark = pytest.mark.peer

AGENT = [sys.executable, "-m", "acpwire", "agent"]


async def events(peers: Any, *options: str) -> list[dict[str, Any]]:
    """Everything the client prints while it drives the agent."""
    command = peers.typescript.command("client.mjs", *options, "--", *AGENT)
    client = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(PATIENCE):
        out, err = await client.communicate()
    assert client.returncode == 0, err.decode()
    return [json.loads(line) for line in out.splitlines()]


def all_of(seen: list[dict[str, Any]], event: str) -> list[dict[str, Any]]:
    return [one for one in seen if one["event"] == event]


def updates(seen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one["update"] for one in all_of(seen, "update")]


def text(seen: list[dict[str, Any]]) -> str:
    chunks = [one for one in updates(seen) if one["sessionUpdate"] == "agent_message_chunk"]
    return "".join(chunk["content"]["text"] for chunk in chunks)


async def test_a_turn_of_chunks_thoughts_and_a_tool_call(peers: Any) -> None:
    seen = await events(peers, "--prompt", "/think hm\n/say Hello \n/tool Look ok\n/burst 50 32", "--close")
    assert all_of(seen, "initialized")[0]["response"]["protocolVersion"] == 2
    assert [one["stopReason"] for one in all_of(seen, "stop")] == ["end_turn"]
    (answer,) = all_of(seen, "prompt_response")
    shown = updates(seen)
    assert shown[0]["sessionUpdate"] == "user_message"
    assert shown[0]["messageId"] == answer["response"]["messageId"]
    calls = [one for one in shown if one["sessionUpdate"] == "tool_call_update"]
    assert [one.get("status") for one in calls] == ["in_progress", "completed"]
    assert text(seen).startswith("Hello")
    assert sum(one["sessionUpdate"] == "agent_message_chunk" for one in shown) == 51
    assert all_of(seen, "closed")
    assert all_of(seen, "exited")[0]["code"] == 0


@pytest.mark.parametrize(("kind", "verdict"), [("allow_once", "allowed (allow_once)"), ("reject_once", "not allowed")])
async def test_a_tool_call_with_a_permission(peers: Any, kind: str, verdict: str) -> None:
    seen = await events(peers, "--permission", kind, "--prompt", "/permission tool", "--prompt", "/permission command")
    states = [one["state"] for one in updates(seen) if one["sessionUpdate"] == "state_update"]
    assert states == ["running", "requires_action", "running", "idle"] * 2
    tool, command = all_of(seen, "permission")
    assert tool["subject"]["type"] == "tool_call"
    assert (command["subject"]["type"], command["subject"]["cwd"][0]) == ("command", "/")
    assert text(seen).count(verdict) == 2


async def test_a_cancel_in_the_stream_and_while_a_permission_is_open(peers: Any) -> None:
    seen = await events(peers, "--cancel-after", "3", "--prompt", "/say one\n/sleep 60", "--prompt", "/say two")
    assert [one["stopReason"] for one in all_of(seen, "stop")] == ["cancelled", "end_turn"]
    seen = await events(peers, "--permission", "interrupt", "--prompt", "/permission tool", "--prompt", "/say after")
    assert [one["stopReason"] for one in all_of(seen, "stop")] == ["cancelled", "end_turn"]
    assert all_of(seen, "withdrawn")


@pytest.mark.req("EXT-12", "EXT-14", "EXT-09")
async def test_extensions_both_ways_with_their_metadata(peers: Any) -> None:
    script = '/request _peer/ask {"q": 1, "_meta": {"traceparent": "x", "none": null}}\n/notify _peer/tell {"a": null}'
    seen = await events(peers, "--note", "_acpwire/note", "--ext", "_acpwire/notes", "--prompt", script)
    assert {"x": 1, "none": None} in all_of(seen, "ext_response")[0]["response"]["notes"]
    (asked,) = all_of(seen, "ext_request")
    assert asked["params"] == {"q": 1, "_meta": {"traceparent": "x", "none": None}}
    (told,) = all_of(seen, "ext_notification")
    assert told["params"] == {"a": None}


@pytest.mark.req("META-38", "SDK-10")
async def test_metadata_patches_reach_the_client_as_they_were_sent(peers: Any) -> None:
    patches = [{"a": 1, "b": {"x": None}}, {"a": None}, None]
    lines = [
        json.dumps({"sessionUpdate": "tool_call_update", "toolCallId": "t", "_meta": patch, "title": None})
        for patch in patches
    ]
    seen = await events(peers, "--prompt", "\n".join(f"/update {line}" for line in lines))
    shown = [one for one in updates(seen) if one.get("toolCallId") == "t"]
    assert [one["_meta"] for one in shown] == patches
    assert all(one["title"] is None for one in shown)


async def test_a_plan_a_diff_and_a_terminal_are_read_by_the_sdk(peers: Any) -> None:
    seen = await events(peers, "--prompt", "/plan 2\n/diff /tmp/a.txt\n/terminal hi")
    names = {one["sessionUpdate"] for one in updates(seen)}
    assert {"plan_update", "terminal_update", "terminal_output_chunk", "tool_call_update"} <= names
    contents = [item for one in updates(seen) for item in (one.get("content") or []) if isinstance(item, dict)]
    contents += [one["content"] for one in updates(seen) if one["sessionUpdate"] == "tool_call_content_chunk"]
    assert {"diff", "terminal"} <= {item.get("type") for item in contents}
    assert [one["stopReason"] for one in all_of(seen, "stop")] == ["end_turn"]


@pytest.mark.req("PROMPT-15", "STATE-12")
async def test_failures_and_stop_reasons_arrive(peers: Any) -> None:
    prompts = ["/fail 1001 the model is gone", "/stop refusal", "/stop _quota", "/fail"]
    seen = await events(peers, *[word for prompt in prompts for word in ("--prompt", prompt)])
    assert [one["stopReason"] for one in all_of(seen, "stop")] == ["error", "refusal", "_quota", "error"]
    failed = [one for one in updates(seen) if one.get("stopReason") == "error"]
    assert (failed[0]["error"]["code"], failed[0]["error"]["message"]) == (1001, "the model is gone")


async def test_list_resume_and_close(peers: Any) -> None:
    seen = await events(peers, "--prompt", "/say hi", "--list", "--resume", "--close")
    (session,) = all_of(seen, "session")
    (listed,) = all_of(seen, "sessions")
    assert session["response"]["sessionId"] in [one["sessionId"] for one in listed["response"]["sessions"]]
    assert all_of(seen, "resumed")
    assert all_of(seen, "closed")
    assert updates(seen)[-1].get("state") == "idle"


@pytest.mark.req("CANC-09")
async def test_withdrawing_a_prompt_that_is_inserted_leaves_it_a_success(peers: Any) -> None:
    seen = await events(peers, "--withdraw", "--prompt", "/say hi")
    assert "messageId" in all_of(seen, "prompt_response")[0]["response"]
    assert [one["stopReason"] for one in all_of(seen, "stop")] == ["end_turn"]
