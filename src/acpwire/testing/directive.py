"""An agent that does what the prompt says, to test clients in any language: `acpwire agent` runs it on stdio.

A prompt is read line by line. A line that begins with one of these is a directive; the lines between are echoed as a
message of the agent, and so is every block of the prompt that is no text. The table is a contract: what stands in it
stays.

| directive | does |
| --- | --- |
| `/say TEXT` | appends TEXT as one `agent_message_chunk` to the agent's message |
| `/think TEXT` | appends TEXT as one `agent_thought_chunk` to the agent's thought |
| `/tool NAME [ok|fail]` | reports a tool call of that name and title: `in_progress`, one text, `completed` or `failed` |
| `/permission [tool|command]` | asks for permission with all four kinds of options, about a tool call (the default) or a \
command; then says `permission: allowed (KIND)` or `permission: not allowed`. The call ends `completed` or `cancelled` |
| `/plan N [DONE]` | sends the plan `main` of N steps; with DONE so many are completed and the next is in progress |
| `/diff PATH` | reports a tool call with a diff that modifies PATH, and its Git patch; a relative PATH is below the \
session's directory. No file is touched |
| `/terminal TEXT` | reports a tool call that shows a terminal: its command, TEXT and CR LF as output, exit code 0. \
Nothing is run |
| `/sleep SECONDS` | waits; a cancel ends it |
| `/fail [CODE] [TEXT]` | ends the turn as `idle` with stop reason `error` and this error; the code is -32603 unless given |
| `/stop REASON` | ends the turn as `idle` with this stop reason; nothing behind it is read |
| `/update JSON` | sends that object, byte for byte, as the `update` of a `session/update` |
| `/meta JSON` | gives the next update of this prompt that object as `_meta`: a chunk, a plan, the first report of a tool \
call, or the permission request about a command; with `/update` it becomes the `_meta` of the notification |
| `/request METHOD JSON` | sends a request to the client, of any name, with these params; then says `result: JSON` or \
`error CODE: MESSAGE` |
| `/notify METHOD JSON` | sends a notification to the client, of any name, with these params |
| `/raw TEXT` | puts TEXT on the wire as a line of its own, as it is |
| `/burst N [BYTES]` | appends N chunks of BYTES (32) bytes: the number of the chunk from 1, padded with zeros |
| `/stderr BYTES` | writes so many bytes to standard error, and waits like any program until somebody reads them |
| `/exit CODE` | ends the process with this status once everything before it was sent |
| `/help` | says all this in short |

TEXT goes to the end of the line. What the agent reports by itself (an echo, the answer to a permission or a request)
is a message of its own, one chunk; a `/say` appends to the message before it if that was begun by a `/say` and nothing
came between. A directive that is malformed ends the turn as `idle` with stop reason `error`: -32602, a message that
names directive and line, and both in `data` as `directive` and `line`. What stood before it was done.

Besides, the agent answers the request `_acpwire/echo` with its params, keeps the params of each notification
`_acpwire/note`, and shows them in the answer to the request `_acpwire/notes`, as `{"notes": [...]}`. Its capabilities
say so under `_meta["acpwire.dev"]`. It takes every kind of content and of MCP server, and lists the directives as the
commands of each session.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import Final

from .. import __version__
from ..app.agent import Agent
from ..app.context import AgentContext
from ..app.turn import Turn
from ..jsonrpc.transport import Transport
from ..protocol.ids import SessionId
from ..protocol.v2.command import Command, TextCommandInput
from ..protocol.v2.initialize import (
    AgentCapabilities,
    McpCapabilities,
    McpHttpCapabilities,
    McpStdioCapabilities,
    PromptAudioCapabilities,
    PromptCapabilities,
    PromptEmbeddedContextCapabilities,
    PromptImageCapabilities,
    SessionAdditionalDirectoriesCapabilities,
    SessionCapabilities,
)
from ..protocol.v2.session import NewSessionRequest, NewSessionResponse
from ..types import JsonValue
from ..wire.options import Options
from ._script import DIRECTIVES, Script
from ._verbatim import VerbatimTransport

__all__ = ["DirectiveAgent", "make_agent", "run"]

_NOTES_KEPT: Final = 1000
"""How many notes are kept: the latest."""


class DirectiveAgent(Agent):
    """The agent, to be served on any transport; `make_agent` makes one."""

    def __init__(self, name: str, exit: Callable[[int], object] | None) -> None:
        session = SessionCapabilities(
            prompt=PromptCapabilities(
                image=PromptImageCapabilities(),
                audio=PromptAudioCapabilities(),
                embedded_context=PromptEmbeddedContextCapabilities(),
            ),
            mcp=McpCapabilities(stdio=McpStdioCapabilities(), http=McpHttpCapabilities()),
            additional_directories=SessionAdditionalDirectoriesCapabilities(),
        )
        super().__init__(
            name,
            version=__version__,
            title="acpwire directive agent",
            capabilities=AgentCapabilities(session=session),
            options=Options(validate=False),  # what it is told to send may be wrong on purpose
        )
        self._exit = exit

    async def serve(self, transport: Transport) -> None:
        """Serve one client over any transport until it is gone."""
        await super().serve(VerbatimTransport(transport, self._exit))


def make_agent(name: str = "acpwire-directive", *, exit: Callable[[int], object] | None = None) -> Agent:
    """The directive agent.

    Args:
        name: what it says it is called.
        exit: what ends the process for `/exit`, given the status. Without it, as in a test that serves the agent in
            its own process, `/exit` only closes the connection.
    """
    agent = DirectiveAgent(name, exit)
    notes: deque[JsonValue] = deque(maxlen=_NOTES_KEPT)
    agent.extend_capabilities(
        {
            "acpwire.dev": {
                "directives": [*DIRECTIVES],
                "requests": ["_acpwire/echo", "_acpwire/notes"],
                "notifications": ["_acpwire/note"],
            }
        }
    )

    async def answer(turn: Turn) -> None:
        await Script(turn).perform()

    async def new_session(_params: NewSessionRequest, _context: AgentContext) -> NewSessionResponse:
        return NewSessionResponse(session_id=SessionId(f"sess-{os.urandom(8).hex()}"), available_commands=_COMMANDS)

    async def echo(params: JsonValue, _context: AgentContext) -> JsonValue:
        return params

    async def note(params: JsonValue, _context: AgentContext) -> None:
        notes.append(params)

    async def read_notes(_params: JsonValue, _context: AgentContext) -> JsonValue:
        return {"notes": [*notes]}

    agent.prompt(answer)
    agent.new_session(new_session)
    agent.request("_acpwire/echo")(echo)
    agent.notification("_acpwire/note")(note)
    agent.request("_acpwire/notes")(read_notes)
    return agent


def run() -> None:
    """Be the directive agent on stdio, until the client is gone."""
    make_agent(exit=os._exit).run()


_COMMANDS: Final = tuple(
    Command(name=name, description=one.help, input=TextCommandInput(hint=one.usage) if one.usage else None)
    for name, one in DIRECTIVES.items()
)
