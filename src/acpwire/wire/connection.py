"""Level 0: typed calls and handlers of one version on one connection.

For gateways, for tools that want the bare protocol, and for what is new in it; `acpwire.app` is built on this.
It never helps authors: no turn is tracked, no permission is answered, nothing is sent that was not asked for.

What is read passes one function here, `_Routes`, synchronously and in wire order: each message is decoded once,
applied to the state of its session, shown to observers, and only then queued for its handler.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, TypeVar, cast

import msgspec

from ..errors import INVALID_REQUEST, METHOD_NOT_FOUND, LocalProtocolError, RequestError, Unsupported
from ..jsonrpc.connection import Connection as RpcConnection
from ..jsonrpc.events import NotificationReceived, RequestReceived
from ..jsonrpc.lanes import Mailbox
from ..jsonrpc.transport import Transport
from ..protocol.decode import Repair, decoder, validate
from ..protocol.v2.initialize import InitializeRequest
from ..protocol.v2.methods import BY_NAME, INITIALIZE, SESSION_REQUEST_PERMISSION, SESSION_UPDATE, Method
from ..protocol.v2.update import UpdateSessionNotification
from ..protocol.version import VERSIONS
from ..types import JsonValue
from .calls import Calls
from .context import Context
from .options import Options
from .router import Gate, read_initialize
from .sessions import Sessions

__all__ = ["Call", "Connection", "Handler", "Side", "Tap"]

Side: TypeAlias = Literal["agent", "client"]
"""Which role this end plays."""

Handler: TypeAlias = Callable[[Any, Context], Awaitable[object]]  # Any: each method has params of its own
"""Takes the params of its method and the context of the message; returns the result of a request."""

Call: TypeAlias = Callable[[], Awaitable[object]]
"""A handler bound to what it will be called with."""

Tap: TypeAlias = Callable[[Any, Context], "Call | None"]  # Any: as above
"""Called when a message is read, in wire order, before any handler of it; returns the call to queue."""

_T = TypeVar("_T")
_log = logging.getLogger("acpwire.wire")
_NULL = b"null"
_BUILT_IN = frozenset(name for _, name in BY_NAME)
_plain: Callable[[msgspec.Raw], Any] = decoder(object)  # Any: an extension's own JSON
_EMPTY = msgspec.Raw(b"{}")


class Connection(Calls):
    """One ACP v2 connection: either end of it.

    `handlers` are called in lanes (one a session), `taps` at once when their message is read; both are keyed by the
    method's string. Extension requests stand among the `handlers` by their exact name, extension notifications in
    `notifications`; both take plain JSON. A request without a handler is answered with -32601, a notification without
    one is ignored (RPC-17, RPC-18).
    """

    def __init__(
        self,
        transport: Transport,
        *,
        side: Side,
        handlers: Mapping[str, Handler] = MappingProxyType({}),
        notifications: Mapping[str, Handler] = MappingProxyType({}),
        taps: Mapping[str, Tap] = MappingProxyType({}),
        options: Options | None = None,
    ) -> None:
        self.side: Side = side
        self.options = options or Options()
        self.peer_capabilities: msgspec.Struct | None = None
        """What the other side advertised; calls are checked against it once it is set (CAP-25, CAP-26)."""
        self.gate = Gate() if side == "agent" else None
        """An agent's: which version is in effect, and whether requests are served yet (INIT-20)."""
        self._open = False
        self.sessions = Sessions(self.options.max_unclaimed_sessions)
        self._lane: str | None = None
        self._validate = validate if self.options.validate else None
        self._requests: dict[str, Callable[[RequestReceived], Call]] = {}
        self._notifications: dict[str, Callable[[NotificationReceived], Call | None]] = {}
        self._heard = self._notifications.copy()  # nothing, until the connection is open (INIT-21, INIT-22)
        self._rpc = RpcConnection(
            transport,
            tap=self._tap,
            lane=self._lane_of,
            limits=self.options.limits,
            answer_noise=self.options.answer_noise,
        )
        if self.options.show_frames:
            self._rpc.trace = _show
        for name, tap in taps.items():
            self._register(name, tap, tapped=True)
        for name, handler in handlers.items():
            self._register(name, handler, tapped=False)
        for name, handler in notifications.items():
            self._register_notification(name, handler)
        if side == "agent" and INITIALIZE in handlers:
            self._requests[INITIALIZE] = partial(self._route_initialize, handlers[INITIALIZE])
        else:
            route = self._route_update(handlers.get(SESSION_UPDATE), taps.get(SESSION_UPDATE))
            self._notifications[SESSION_UPDATE] = route

    # -- life ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to read. Nothing is read before, so a connection is whole when its first message comes."""
        self._rpc.start()

    async def wait_closed(self) -> None:
        """Return when the connection is over, for whatever reason."""
        await self._rpc.wait_closed()

    async def aclose(self) -> None:
        """End the connection: running handlers are cancelled, queued ones drained, what was accepted is sent.

        Bounded in time; may be called from any task, twice, and in a cancelled task.
        """
        await self._rpc.aclose()

    @property
    def open(self) -> bool:
        """Whether `initialize` has succeeded: until then notifications are not heard, and a client serves nothing."""
        return self._open

    @open.setter
    def open(self, value: bool) -> None:
        self._open = value
        self._heard = self._notifications if value else {}

    @property
    def closed(self) -> bool:
        """Whether the connection is over."""
        return self._rpc.closed

    @property
    def reason(self) -> Exception | None:
        """Why it is over: the first real error, `None` for an orderly end."""
        return self._rpc.reason

    @property
    def noise(self) -> str:
        """The end of the text that came from the other side and was no message."""
        return self._rpc.noise

    # -- calls --------------------------------------------------------------------------------------------

    async def call(
        self,
        method: Method,
        params: msgspec.Struct,
        on_result: Callable[[Any], None] | None = None,  # Any: the method's result
    ) -> Any:  # Any: the method's result
        """Send a request of the protocol and return its typed result.

        `on_result` is called with the result when it is read, in wire order; the call itself resolves after the
        notification handlers queued before it in its lane. Cancelling sends `$/cancel_request`.

        Raises:
            RequestError: the other side answered with an error.
            Unsupported: the other side did not advertise it; nothing was sent.
            LocalProtocolError: wrong direction, or (with `validate`) a malformed value; nothing was sent.
            RemoteProtocolError: the result could not be understood.
            ConnectionClosed: the connection is over.
        """
        self._check_outgoing(method, params)
        result_type: type[Any] | None = method.result  # Any: the method's
        decode: Callable[[msgspec.Raw], Any] = partial(_decode_result, decoder(result_type))  # Any: as above
        if on_result is not None:
            decode = partial(_decode_and_tell, decode, on_result)
        lane = getattr(params, "session_id", None)
        return await self._rpc.request(method.name, params, lane=lane, decode=decode)

    async def tell(self, method: Method, params: msgspec.Struct) -> None:
        """Send a notification of the protocol. Waits only while too much is waiting to be written.

        Raises:
            Unsupported, LocalProtocolError, ConnectionClosed: as for `call`.
        """
        self._check_outgoing(method, params)
        await self._rpc.notify(method.name, params)

    async def request(self, method: str, params: JsonValue = None, *, lane: str | None = None) -> JsonValue:
        """Send an extension request by its exact name and return its result as plain JSON (EXT-11 to EXT-14).

        Raises:
            LocalProtocolError: the name belongs to the protocol.
        """
        self._check_extension(method)
        return await self._rpc.request(method, params, lane=lane, decode=_plain)

    async def notify(self, method: str, params: JsonValue = None) -> None:
        """Send an extension notification by its exact name (EXT-12).

        Raises:
            LocalProtocolError: the name belongs to the protocol.
        """
        self._check_extension(method)
        await self._rpc.notify(method, params)

    def send_update(self, params: msgspec.Struct) -> Awaitable[None]:
        """Send a `session/update`: the shortest way there is, for it is the hottest. To be awaited at once."""
        if self._validate is not None:
            self._validate(params)
        return self._rpc.notify(SESSION_UPDATE, params)

    def mailbox(self) -> Mailbox:
        """A queue for messages that wait for user code outside handlers, bounded with everything else."""
        return self._rpc.mailbox()

    def enter(self, mailbox: Mailbox) -> object:
        """Mark the current context as the reader of `mailbox`: while it waits for the peer, reading goes on."""
        return self._rpc.enter(mailbox)

    def leave(self, token: object) -> None:
        """Undo `enter`."""
        self._rpc.leave(token)

    # -- what may be sent ---------------------------------------------------------------------------------

    def _check_outgoing(self, method: Method, params: msgspec.Struct) -> None:
        if method.side not in ("both", _other(self.side)):
            raise LocalProtocolError(f"{method.name} is not sent by the {self.side} (RPC-34)")
        if method.gate is not None and self.peer_capabilities is not None:
            require(self.peer_capabilities, method.gate, method.name)
        if self._validate is not None:
            self._validate(params)

    def _check_extension(self, method: str) -> None:
        if method in _BUILT_IN or method.startswith("$/"):
            raise LocalProtocolError(f"{method} belongs to the protocol: use its typed call (RPC-35)")

    # -- what is received ---------------------------------------------------------------------------------

    def _tap(self, event: RequestReceived | NotificationReceived) -> Call | None:
        if type(event) is NotificationReceived:
            hear = self._heard.get(event.method)
            return None if hear is None else hear(event)
        self._lane = None
        serve = self._requests.get(event.method)
        if event.method != INITIALIZE:
            self._admit(event.method)
        if serve is None:
            raise RequestError(METHOD_NOT_FOUND, "Method not found", {"method": event.method})
        return serve(event)  # type: ignore[arg-type]

    def _admit(self, method: str) -> None:
        if self.gate is not None:
            self.gate.admit(method)
        elif not self.open:
            raise RequestError(INVALID_REQUEST, "The connection is not initialized")

    def _lane_of(self, _event: object) -> str | None:
        return self._lane  # set by the tap, which has just decoded the message

    def _register(self, name: str, serve: Handler | Tap, *, tapped: bool) -> None:
        method = BY_NAME.get((self.side, name)) or BY_NAME.get(("both", name))
        if method is None and (_other(self.side), name) in BY_NAME:
            raise LocalProtocolError(f"{name} is not received by the {self.side} (RPC-34)")
        decode = _plain if method is None else decoder(method.params, self._report_repairs(name))
        if method is not None and method.result is not None and not tapped:
            serve = partial(_answer, cast(Handler, serve), method.result)
        route = partial(self._route, decode, serve, tapped)
        if method is not None and method.kind == "notification":
            self._notifications.setdefault(name, route)
        else:
            self._requests.setdefault(name, cast("Callable[[RequestReceived], Call]", route))

    def _register_notification(self, name: str, handler: Handler) -> None:
        self._check_extension(name)
        self._notifications[name] = partial(self._route, _plain, handler, False)

    def _route(
        self,
        decode: Callable[[msgspec.Raw], Any],  # Any: each method has params of its own
        serve: Callable[[Any, Context], Any],  # Any: as above, and a tap or a handler
        tapped: bool,
        event: RequestReceived | NotificationReceived,
    ) -> Call | None:
        params = decode(event.params)
        self._lane = session_id = _session_of(params)
        if event.method == SESSION_REQUEST_PERMISSION:
            self.sessions.entry(session_id or "").state.apply_permission(params)
        context = Context(self, event.method, event.id if type(event) is RequestReceived else None)
        if tapped:
            call: Call | None = serve(params, context)
            return call
        return partial(serve, params, context)

    def _route_initialize(self, handler: Handler, event: RequestReceived) -> Call:
        gate = self.gate
        assert gate is not None  # only an agent has this route
        gate.begin()
        try:
            params = read_initialize(event.params, VERSIONS, gate.selected)
        except BaseException:
            gate.end(None)
            raise
        return partial(self._initialize, gate, handler, params, Context(self, event.method, event.id))

    async def _initialize(self, gate: Gate, handler: Handler, params: InitializeRequest, context: Context) -> object:
        selected = None
        try:
            result = await handler(params, context)
            selected = params.protocol_version
            self.peer_capabilities = params.capabilities
            self.open = True
        finally:
            gate.end(selected)
        return result

    def _route_update(self, handler: Handler | None, tap: Tap | None) -> Callable[[NotificationReceived], Call | None]:
        """The route of `session/update`, the hottest there is: no work that this one message does not need."""
        decode = decoder(UpdateSessionNotification, self._report_repairs(SESSION_UPDATE))
        entries = self.sessions.entries
        entry_of = self.sessions.entry
        context = Context(self, SESSION_UPDATE, None)

        def receive(event: NotificationReceived) -> Call | None:
            params = decode(event.params)
            self._lane = session_id = params.session_id
            entry = entries.get(session_id) or entry_of(session_id)
            update = params.update
            entry.state.apply(update)
            for observe in entry.observers:
                observe(update, event.size)
            if entry.watchers and type(update) in entry.watchers:
                entry.tell(update)
            if tap is not None:
                return tap(params, context)
            return None if handler is None else partial(handler, params, context)

        return receive

    def _report_repairs(self, method: str) -> Callable[[Repair], None]:
        return partial(_log_repair, method)


def require(capabilities: msgspec.Struct, path: str, what: str) -> None:
    """Check that `capabilities` has every member of the dotted `path`: `{}` is support, `None` is not (CAP-04).

    Raises:
        Unsupported: a member is missing.
    """
    here: object = capabilities
    for name in path.split("."):
        here = getattr(here, name, None)
        if here is None:
            raise Unsupported(what, path)


async def _answer(handler: Handler, result: type[msgspec.Struct], params: Any, context: Context) -> object:  # Any: each
    """What a handler returns; nothing at all stands for the empty result that most methods have (RPC-21)."""
    answer = await handler(params, context)
    return result() if answer is None else answer


def _other(side: Side) -> Side:
    return "client" if side == "agent" else "agent"


def _session_of(params: object) -> str | None:
    if isinstance(params, msgspec.Struct):
        return getattr(params, "session_id", None)
    session_id: object = cast("dict[str, object]", params).get("sessionId") if isinstance(params, dict) else None
    return session_id if isinstance(session_id, str) else None


def _decode_result(decode: Callable[[msgspec.Raw], _T], raw: msgspec.Raw) -> _T:
    # Agents in the field answer `null` where an object is due; it says no more than `{}`.
    return decode(_EMPTY if bytes(raw) == _NULL else raw)


def _decode_and_tell(decode: Callable[[msgspec.Raw], _T], tell: Callable[[_T], None], raw: msgspec.Raw) -> _T:
    result = decode(raw)
    tell(result)
    return result


def _log_repair(method: str, repair: Repair) -> None:
    _log.warning("%s: %s at %s", method, repair.reason, repair.path)


def _show(sign: str, frame: bytes) -> None:
    text = frame.decode("utf-8", "backslashreplace")
    if not text.isprintable():  # what an agent prints must not reach a terminal as it is (SEC-02)
        text = "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)
    sys.stderr.write(f"{sign} {text}\n")
