"""An agent on the official Python SDK: it sends the updates that a prompt orders by the SDK's public call."""

from __future__ import annotations

import asyncio

import acp
from acp import schema
from workload import SESSION, TEXT, TOOL_CALLS, TOOL_PATCH, usage


class Agent:
    def on_connect(self, client):
        self.client = client

    async def initialize(self, protocol_version, **_):
        return schema.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd, **_):  # noqa: ARG002 - passed by name
        return schema.NewSessionResponse(session_id=SESSION)

    async def list_sessions(self, **_):
        return schema.ListSessionsResponse(sessions=[schema.SessionInfo(session_id=SESSION, cwd="/tmp")])

    async def cancel(self, session_id, **_):
        pass

    async def prompt(self, prompt, session_id, **_):
        kind, count, *rest = prompt[0].text.split()
        if kind == "chunk":
            await self.send_chunks(session_id, int(count), int(rest[0]))
        else:
            await self.send_tool_updates(session_id, int(count))
        return schema.PromptResponse(stop_reason="end_turn")

    async def send_chunks(self, session_id, count, per_message):
        for number in range(count):
            update = schema.AgentMessageChunk(
                session_update="agent_message_chunk",
                message_id=f"message-{number // per_message:06}",
                content=acp.text_block(TEXT),
            )
            await self.client.session_update(session_id, update)

    async def send_tool_updates(self, session_id, count):
        text = TOOL_PATCH["content"][0]["content"]["text"]
        for number in range(count):
            update = acp.update_tool_call(
                f"call-{number % TOOL_CALLS:06}",
                title=TOOL_PATCH["title"],
                kind=TOOL_PATCH["kind"],
                status=TOOL_PATCH["status"],
                content=[acp.tool_content(acp.text_block(text))],
                locations=[schema.ToolCallLocation(**one) for one in TOOL_PATCH["locations"]],
                raw_input=TOOL_PATCH["rawInput"],
            )
            await self.client.session_update(session_id, update)

    async def ext_method(self, method, params):
        return usage() if method == "bench/usage" else params

    async def ext_notification(self, method, params):
        pass


asyncio.run(acp.run_agent(Agent()))
