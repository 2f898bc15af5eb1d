"""The agent's side of a prompt: what the author's handler is given.

The library keeps the lifecycle: it echoes the user's message, reports `running`, `requires_action` around a
permission, and `idle` with a stop reason at the end (`host.py`). The author says what there is to say.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING, TypeAlias

from msgspec import UNSET, UnsetType

from ..errors import REQUEST_CANCELLED, LocalProtocolError, RequestError
from ..protocol.ids import MessageId, PermissionOptionId, SessionId
from ..protocol.open import Unknown
from ..protocol.v2.content import ContentBlock, TextContent
from ..protocol.v2.message import AgentMessageChunk, AgentThoughtChunk
from ..protocol.v2.permission import (
    CancelledPermissionOutcome,
    PermissionOption,
    RequestPermissionOutcome,
    RequestPermissionRequest,
    RequestPermissionSubject,
    ToolCallPermissionSubject,
)
from ..protocol.v2.plan import PlanEntry, PlanItems, PlanUpdate
from ..protocol.v2.prompt import PromptRequest
from ..protocol.v2.state import StateUpdate
from ..protocol.v2.tool_call import ToolCallLocation, ToolKind
from ..protocol.v2.update import SessionUpdate, UpdateSessionNotification
from ..types import JsonValue, Meta
from .content import block, text_of
from .permission import approved
from .tool_call import ToolCall, first_report, permission_patch

if TYPE_CHECKING:
    from .context import AgentContext
    from .host import ConnectedClient
    from .hosted import HostedSession

__all__ = ["Permission", "Turn"]

Entries: TypeAlias = "Iterable[PlanEntry | str]"

_ALLOW_OR_REJECT = (
    PermissionOption(option_id=PermissionOptionId("allow_once"), name="Allow", kind="allow_once"),
    PermissionOption(option_id=PermissionOptionId("reject_once"), name="Reject", kind="reject_once"),
)


class Permission:
    """The answer to a permission request; true only when an offered option that allows was selected (SEC-01)."""

    __slots__ = ("option", "outcome")

    def __init__(self, outcome: RequestPermissionOutcome, option: PermissionOption | None) -> None:
        self.outcome = outcome
        """What the client answered, as it came."""
        self.option = option
        """The option that was approved; `None` when nothing was."""

    @property
    def allowed(self) -> bool:
        """Whether the agent may go on."""
        return self.option is not None

    def __bool__(self) -> bool:
        return self.allowed

    def __repr__(self) -> str:
        return f"Permission(allowed={self.allowed}, outcome={self.outcome!r})"


class Turn:
    """One prompt, and the means to answer it. It ends when the handler returns, raises, or is cancelled."""

    def __init__(self, session: HostedSession, params: PromptRequest, context: AgentContext) -> None:
        self.session = session
        """The session that was prompted: its `id`, `cwd` and `data`, a dict of the author's own."""
        self.params = params
        """The prompt as it was on the wire, `params.meta` included."""
        self.context = context
        """The request, and the client behind it."""
        self.message_id: MessageId = session.next_message_id()
        """The id of the user's message."""
        self.cancelled = False
        """Whether the client asked for the end of this work; the handler is cancelled too."""
        self.ended = False
        """Whether the last update of this turn was sent; nothing may follow it (CANC-14)."""
        self.stop_reason = "end_turn"
        """What the turn will end with if the handler returns: `stop` sets it."""
        self._connection = context.client.connection
        self._send_update = self._connection.send_update
        self._session_id = params.session_id
        self._reply_id: MessageId | None = None
        self._thought_id: MessageId | None = None
        self._questions = 0

    @property
    def session_id(self) -> SessionId:
        """The session's id."""
        return self.params.session_id

    @property
    def client(self) -> ConnectedClient:
        """The client: what it says of itself, and calls to it."""
        return self.context.client

    @property
    def prompt(self) -> tuple[ContentBlock, ...]:
        """What the user sent, block by block."""
        return self.params.prompt

    @property
    def text(self) -> str:
        """The text blocks of the prompt, joined."""
        return text_of(self.params.prompt)

    # -- saying -------------------------------------------------------------------------------------------

    @property
    def reply_id(self) -> MessageId:
        """The id of the agent's message that `say` appends to; a new one after a tool call or a thought."""
        if self._reply_id is None:
            self._thought_id = None
            self._reply_id = self.session.next_message_id()
        return self._reply_id

    def new_message(self) -> None:
        """Let the next `say` or `think` begin a message of its own."""
        self._reply_id = self._thought_id = None

    async def say(self, content: str | ContentBlock, *, meta: Meta | None = None) -> None:
        """Append text or a block to the agent's message. `meta` describes this chunk only (MSG-14).

        Raises:
            LocalProtocolError: the turn is over.
            ConnectionClosed: the client is gone.
        """
        one = TextContent(text=content) if isinstance(content, str) else content
        await self._send(AgentMessageChunk(message_id=self._reply_id or self.reply_id, content=one, meta=meta))

    async def think(self, content: str | ContentBlock, *, meta: Meta | None = None) -> None:
        """Append text or a block to the agent's thought. `meta` describes this chunk only."""
        if self._thought_id is None:
            self._reply_id = None
            self._thought_id = self.session.next_message_id()
        await self._send(AgentThoughtChunk(message_id=self._thought_id, content=block(content), meta=meta))

    def tool_call(
        self,
        title: str,
        *,
        kind: ToolKind | UnsetType = UNSET,
        name: str | UnsetType = UNSET,
        raw_input: JsonValue | UnsetType = UNSET,
        locations: tuple[ToolCallLocation, ...] | UnsetType = UNSET,
        meta: Meta | UnsetType = UNSET,
    ) -> ToolCall:
        """A tool call to report: `async with turn.tool_call("Read notes", kind="read") as call`.

        Args:
            title: what it does, for a person.
            kind: what it is like, which picks an icon; `other` when left out (TOOL-13).
            name: the tool's programmatic name (TOOL-10).
            raw_input: what the tool was given, any JSON but `null` (TOOL-12).
            locations: absolute paths it works on.
            meta: a patch of the call's metadata (TOOL-25).
        """
        self.new_message()
        tool_call_id = self.session.next_id("call")
        first = first_report(
            tool_call_id, title, kind=kind, name=name, raw_input=raw_input, locations=locations, meta=meta
        )
        return ToolCall(self, first)

    async def plan(self, entries: Entries, *, plan_id: str = "main", meta: Meta | None = None) -> None:
        """Show a plan, or replace the one of that id: always the complete list (PLAN-03).

        Text stands for an entry that is pending and of medium priority.
        """
        items = tuple(
            PlanEntry(content=one, priority="medium", status="pending") if isinstance(one, str) else one
            for one in entries
        )
        await self._send(PlanUpdate(plan=PlanItems(plan_id=self.session.plan_id(plan_id), entries=items), meta=meta))

    async def update(self, update: SessionUpdate | Unknown, *, meta: Meta | None = None) -> None:
        """Send any update of the session, as it is. `meta` is about this notification, not the entity (META-36)."""
        await self._send(update, meta)

    def _send(self, update: SessionUpdate | Unknown, meta: Meta | None = None) -> Awaitable[None]:
        if self.ended:
            raise LocalProtocolError("the turn is over: nothing may be sent for it any more (CANC-14)")
        return self._send_update(UpdateSessionNotification(session_id=self._session_id, update=update, meta=meta))

    # -- asking -------------------------------------------------------------------------------------------

    async def request_permission(
        self,
        title: str,
        *,
        tool_call: ToolCall | None = None,
        subject: RequestPermissionSubject | None = None,
        options: Iterable[PermissionOption] = _ALLOW_OR_REJECT,
        description: str | None = None,
        meta: Meta | None = None,
    ) -> Permission:
        """Ask the user, and wait for the answer; the session is `requires_action` meanwhile (PERM-26).

        Args:
            title: the question (PERM-01).
            tool_call: the call that it is about, instead of `subject`.
            subject: what it is about otherwise: a command, or a tool call with a patch (PERM-04).
            options: what may be answered; allow once or reject once when left out (PERM-02).
            description: more of the question.
            meta: about this request.
        """
        if tool_call is not None:
            subject = ToolCallPermissionSubject(tool_call=permission_patch(tool_call.id))
        request = RequestPermissionRequest(
            session_id=self.session_id,
            title=title,
            description=description,
            subject=subject,
            options=tuple(options),
            meta=meta,
        )
        await self._begin_question()
        try:
            outcome = (await self._connection.session_request_permission(request)).outcome
        except RequestError as error:
            if error.code != REQUEST_CANCELLED:  # some clients answer a withdrawn request so
                raise
            outcome = CancelledPermissionOutcome()
        finally:
            self._questions -= 1
        await self._end_question()
        return Permission(outcome, approved(request, outcome))

    async def request(self, method: str, params: JsonValue = None) -> JsonValue:
        """Send an extension request to the client by its exact name (EXT-11); returns its result as plain JSON."""
        return await self.context.request(method, params)

    async def notify(self, method: str, params: JsonValue = None) -> None:
        """Send an extension notification to the client by its exact name (EXT-12)."""
        await self.context.notify(method, params)

    def stop(self, reason: str) -> None:
        """End with this stop reason instead of `end_turn` when the handler returns (STATE-12 to STATE-20)."""
        self.stop_reason = reason

    async def _begin_question(self) -> None:
        self._questions += 1
        if self._questions == 1:
            await self._send(StateUpdate(state="requires_action"))

    async def _end_question(self) -> None:
        if self._questions == 0 and not self.ended and not self.cancelled:
            await self._send(StateUpdate(state="running"))
