"""An agent on acpwire: it sends the updates that a prompt orders by the public calls of a turn.

`chunk COUNT PER_MESSAGE empty` empties each message when it is complete, as an agent does that streams without end.
"""

from __future__ import annotations

from workload import TEXT, TOOL_CALLS, TOOL_PATCH, usage

from acpwire import Agent, Turn
from acpwire.protocol.v2.content import TextContent
from acpwire.protocol.v2.message import AgentMessage
from acpwire.protocol.v2.tool_call import Content, ToolCallLocation, ToolCallUpdate

agent = Agent("bench", version="1")


@agent.prompt
async def obey(turn: Turn) -> None:
    kind, count, *rest = turn.text.split()
    if kind == "tool":
        await send_tool_updates(turn, int(count))
        return
    per_message = int(rest[0])
    for _ in range(int(count) // per_message):
        turn.new_message()
        for _ in range(per_message):
            await turn.say(TEXT)
        if "empty" in rest:
            await turn.update(AgentMessage(message_id=turn.reply_id, content=()))


async def send_tool_updates(turn: Turn, count: int) -> None:
    text = TOOL_PATCH["content"][0]["content"]["text"]
    for number in range(count):
        update = ToolCallUpdate(
            tool_call_id=f"call-{number % TOOL_CALLS:06}",
            title=TOOL_PATCH["title"],
            kind=TOOL_PATCH["kind"],
            status=TOOL_PATCH["status"],
            content=(Content(content=TextContent(text=text)),),
            locations=tuple(ToolCallLocation(**one) for one in TOOL_PATCH["locations"]),
            raw_input=TOOL_PATCH["rawInput"],
        )
        await turn.update(update)


@agent.request("_bench/echo")
async def echo(params, _context):
    return params


@agent.request("_bench/usage")
async def report(_params, _context):
    return usage()


agent.run()
