"""Order and backpressure without I/O: lanes, mailboxes, and the account of what waits in them.

A *lane* is the queue of one session, or of what names no session. In it wait, in wire order: notification calls, which
run one at a time; requests, which start when they are reached and hold up nothing; and answers to our own calls, which
resolve when they are reached. A *mailbox* is the queue of a reader that is no handler: the loop over a turn.

All of them share one *backlog*. Above its soft marks reading pauses; but never while someone who holds up a queue is
itself waiting for the other side, for what it waits for could not be read any more. A *scope* is who is running: one
notification handler, one request handler, or the reader of one mailbox. A context variable carries the scopes that a
call is made in, also into the tasks that they start.

Above the hard marks the largest queue is overrun: its notification calls are replaced by one `Overrun`, its requests
are refused, and only the answers in it stay.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextvars import ContextVar, Token
from typing import Any, Final, TypeAlias
from weakref import WeakSet

from msgspec import Struct

from ..errors import Overrun
from .calls import Answer
from .messages import RequestId

__all__ = [
    "SCOPES",
    "Backlog",
    "Call",
    "Lane",
    "Limits",
    "Mailbox",
    "Notice",
    "Scope",
    "Scopes",
    "Serving",
    "begin_waiting",
    "end_waiting",
]

Call: TypeAlias = Callable[[], Awaitable[object]]
"""A handler bound to what it will be called with.

The call of a request may have a second call in its attribute `withdrawn`: that runs in its place when the request is
cancelled before its handler has started, for methods whose answer to that is no error (CANC-04).
"""

Notice: TypeAlias = tuple[Call, int, str]
"""A queued notification: its call, its size in bytes, its method."""

AnyAnswer: TypeAlias = Answer[Any]  # Any: each call has its own result

_MIB: Final = 1024 * 1024


class Limits(Struct, frozen=True, kw_only=True):
    """Bounds of one connection."""

    soft_calls: int = 4096
    """Queued handler calls above which reading pauses. That slows the peer, and on one stream all that is behind."""
    soft_bytes: int = 16 * _MIB
    """The same in bytes of their frames."""
    hard_calls: int = 65_536
    """Queued handler calls above which the largest queue is overrun; reached while a handler waits for the peer."""
    hard_bytes: int = 128 * _MIB
    """The same in bytes of their frames."""
    max_requests: int = 256
    """Request handlers that run at once; further requests wait in the order in which they came."""
    order_patience: float = 30.0
    """Seconds that a response waits for the handlers before it, and reading for queues that do not move."""
    write_high: int = _MIB
    """Bytes waiting to be written above which `notify` waits."""
    write_low: int = _MIB // 4
    """Bytes waiting to be written at which it goes on."""
    close_patience: float = 5.0
    """Seconds that closing gives to queued handlers, and again to what is still to be written."""


class Scope:
    """Who is running: a handler, or the reader of a mailbox.

    `among` is where it is listed while it waits for the other side; `None` once it holds up nothing any more.
    """

    __slots__ = ("among", "backlog", "key", "lane", "leaves", "used", "waiting")

    def __init__(self, backlog: Backlog, key: Hashable, among: set[Scope], lane: Lane | None = None) -> None:
        self.backlog = backlog
        self.key = key
        """The key of the lane that it belongs to."""
        self.lane = lane
        """The lane that it holds up, for a notification handler."""
        self.among: set[Scope] | None = among
        self.waiting = 0
        """How many of its calls wait for the other side."""
        self.used = False
        """Whether it made a call."""
        self.leaves = False
        """Whether it closes the connection, which then does not wait for it."""

    def wait(self) -> None:
        """One more call made in it waits for the other side."""
        self.used = True
        self.waiting += 1
        if self.waiting == 1 and self.among is not None:
            self.among.add(self)
            self.backlog.look()

    def go_on(self) -> None:
        """One call less waits."""
        self.waiting -= 1
        if not self.waiting and self.among is not None:
            self.among.discard(self)

    def end(self) -> None:
        """It holds up nothing any more, also if tasks that it started go on."""
        if self.among is not None:
            self.among.discard(self)
            self.among = None
        self.lane = None


Scopes: TypeAlias = tuple[Scope, ...]
"""The scopes of one call."""

SCOPES: Final[ContextVar[Scopes]] = ContextVar("acpwire_scopes", default=())
"""The scopes that the current code runs in, the outermost first."""


def begin_waiting(scopes: Scopes) -> None:
    """A call made in these scopes waits for the other side."""
    for scope in scopes:
        scope.wait()


def end_waiting(scopes: Scopes) -> None:
    """It waits no longer."""
    for scope in scopes:
        scope.go_on()


class Backlog:
    """What waits in all queues of one connection, and whether reading may go on."""

    __slots__ = (
        "bytes",
        "calls",
        "hard_bytes",
        "hard_calls",
        "mailboxes",
        "resume",
        "soft_bytes",
        "soft_calls",
        "waiting",
        "waiting_requests",
    )

    def __init__(self, limits: Limits) -> None:
        self.calls = 0
        self.bytes = 0
        self.soft_calls = limits.soft_calls
        self.soft_bytes = limits.soft_bytes
        self.hard_calls = limits.hard_calls
        self.hard_bytes = limits.hard_bytes
        self.waiting: set[Scope] = set()
        """Notification handlers and readers that wait for the other side."""
        self.waiting_requests: set[Scope] = set()
        """Request handlers that wait for the other side; they hold up something only while requests wait for them."""
        self.mailboxes: WeakSet[Mailbox] = WeakSet()
        self.resume: Callable[[], None] | None = None
        """Set while reading is paused; called when it may be time to go on."""

    @property
    def above_soft(self) -> bool:
        """Whether reading should pause."""
        return self.calls > self.soft_calls or self.bytes > self.soft_bytes

    @property
    def above_hard(self) -> bool:
        """Whether something must go. One call alone always may wait, whatever its size."""
        return self.calls > 1 and (self.calls > self.hard_calls or self.bytes > self.hard_bytes)

    @property
    def low(self) -> bool:
        """Whether enough is taken for a paused reader to go on: half of the soft marks."""
        return self.calls <= self.soft_calls // 2 and self.bytes <= self.soft_bytes // 2

    def look(self) -> None:
        """Something changed that a paused reader may wait for."""
        if self.resume is not None:
            self.resume()

    def release(self, calls: int, size: int) -> None:
        """Calls left the queues."""
        self.calls -= calls
        self.bytes -= size
        if self.resume is not None and self.low:
            self.resume()

    def largest(self, queues: Sequence[Lane | Mailbox]) -> Lane | Mailbox:
        """The queue that is overrun when a hard mark is passed: by calls when it is that mark, else by bytes."""
        if self.calls > self.hard_calls:
            return max(queues, key=_calls)
        return max(queues, key=_bytes)


def _calls(queue: Lane | Mailbox) -> int:
    return len(queue.sizes)


def _bytes(queue: Lane | Mailbox) -> int:
    return sum(queue.sizes)


class Serving:
    """A request of the other side from its arrival to its answer."""

    __slots__ = ("call", "cancelled", "id", "key", "method", "queue", "scope", "size", "task")

    def __init__(self, request_id: RequestId, method: str, call: Call, size: int, key: Hashable) -> None:
        self.id = request_id
        self.method = method
        self.call = call
        self.size = size
        self.key = key
        self.queue: Lane | None = None
        """Where it waits, if it does."""
        self.scope: Scope | None = None
        """Set when its handler has started."""
        self.task: Any = None  # Any: a task; nothing here knows of event loops
        self.cancelled = False
        """Whether it was asked to stop."""


class Lane:
    """One ordered queue of notification calls, requests and answers."""

    __slots__ = ("backlog", "blocks", "items", "key", "running", "scope", "task")

    def __init__(self, backlog: Backlog, key: Hashable) -> None:
        self.backlog = backlog
        self.key = key
        self.items: deque[Notice | Serving | AnyAnswer] = deque()
        self.running: Notice | None = None
        """The notification call that runs now."""
        self.scope: Scope | None = None
        self.task: Any = None  # Any: a task; nothing here knows of event loops
        self.blocks: list[Lane] = []
        """Lanes that hold an answer which the handler running here waits for."""

    @property
    def sizes(self) -> list[int]:
        """The bytes of each queued call."""
        return [
            item[1] if isinstance(item, tuple) else item.size for item in self.items if not isinstance(item, Answer)
        ]

    def put(self, item: Notice | Serving, size: int) -> None:
        """Queue a call."""
        self.items.append(item)
        backlog = self.backlog
        backlog.calls += 1
        backlog.bytes += size

    def take(self) -> Notice | Serving | AnyAnswer:
        """The next item.

        Raises:
            IndexError: there is none.
        """
        item = self.items.popleft()
        if type(item) is tuple:
            backlog = self.backlog  # as in `_release`, without the call
            backlog.calls -= 1
            backlog.bytes -= item[1]
            if backlog.resume is not None:
                backlog.release(0, 0)
        elif isinstance(item, Serving):
            item.queue = None
            self._release(item.size)
        return item

    def _release(self, size: int) -> None:
        backlog = self.backlog
        backlog.calls -= 1
        backlog.bytes -= size
        if backlog.resume is not None:
            backlog.release(0, 0)

    def withdraw(self, serving: Serving) -> None:
        """Take a queued request out of the middle."""
        self.items.remove(serving)
        serving.queue = None
        self._release(serving.size)

    def must_hold(self, answer: AnyAnswer) -> bool:
        """Whether an answer has to wait here for the handlers before it.

        It must not when its call was made in a handler of this lane, or when holding it would close a circle of
        handlers that wait for each other's lanes.
        """
        scopes = answer.scopes
        if not scopes:
            return True
        for scope in scopes:
            if scope.key == self.key and scope.backlog is self.backlog:
                return False
        holders = {scope.lane for scope in scopes if scope.lane is not None}
        return not (holders and self._leads_to(holders))

    def _leads_to(self, holders: set[Lane]) -> bool:
        seen: set[Lane] = set()
        ahead = [self]
        while ahead:
            lane = ahead.pop()
            if lane in holders:
                return True
            if lane not in seen:
                seen.add(lane)
                ahead += lane.blocks
        return False

    def hold(self, answer: AnyAnswer) -> None:
        """Queue an answer behind the handlers before it."""
        self.items.append(answer)
        answer.held = self
        for scope in answer.scopes:
            if scope.lane is not None:
                scope.lane.blocks.append(self)

    def let_go(self, answer: AnyAnswer) -> None:
        """An answer that was held is on its way."""
        answer.held = None
        for scope in answer.scopes:
            if scope.lane is not None and self in scope.lane.blocks:
                scope.lane.blocks.remove(self)

    def overrun(self) -> tuple[Overrun, list[Serving]]:
        """Drop all calls: how much that was, and the requests among it, which are to be refused."""
        refused = [item for item in self.items if isinstance(item, Serving)]
        sizes = self.sizes
        dropped = Overrun(len(sizes), sum(sizes))
        self.items = deque(item for item in self.items if isinstance(item, Answer))
        for serving in refused:
            serving.queue = None
        self.backlog.release(dropped.count, dropped.bytes)
        return dropped, refused


class Mailbox:
    """A queue for user code that is no handler, counted with everything else.

    Whoever reads it marks its context with `Connection.enter`: then reading from the transport does not pause while
    that code itself waits for the other side. Inside another scope, waiting for an empty mailbox is such a wait.
    """

    __slots__ = ("__weakref__", "_backlog", "_closed", "_dropped", "_items", "_outer", "_scope", "_sizes", "wake")

    def __init__(self, backlog: Backlog) -> None:
        self._backlog = backlog
        self._items: deque[object] = deque()
        self._sizes: deque[int] = deque()
        self._dropped: Overrun | None = None
        self._scope: Scope | None = None
        self._outer: Scopes = ()
        self._closed = False
        self.wake: Callable[[], None] | None = None
        """Called when something is put into the empty mailbox."""
        backlog.mailboxes.add(self)

    def __len__(self) -> int:
        return len(self._items) + (self._dropped is not None)

    @property
    def sizes(self) -> list[int]:
        """The bytes of each item."""
        return list(self._sizes)

    def put(self, item: object, size: int) -> None:
        """Add an item whose frame had `size` bytes. A closed mailbox takes nothing."""
        if self._closed:
            return
        items = self._items
        items.append(item)
        self._sizes.append(size)
        backlog = self._backlog
        backlog.calls += 1
        backlog.bytes += size
        if len(items) == 1 and self._dropped is None:
            if self._outer:
                end_waiting(self._outer)
            if self.wake is not None:
                self.wake()

    def take(self) -> Any:  # Any: whatever was put
        """The next item.

        Raises:
            IndexError: the mailbox is empty.
            Overrun: items that were here have been dropped; the next call goes on after them.
        """
        items = self._items
        if self._dropped is not None:
            raise self._take_overrun(self._dropped)
        item = items.popleft()
        backlog = self._backlog
        backlog.calls -= 1
        backlog.bytes -= self._sizes.popleft()
        if not items:
            self._emptied()
        if backlog.resume is not None:
            backlog.release(0, 0)
        return item

    def close(self) -> None:
        """Drop what is here and take nothing more."""
        if self._closed:
            return
        self._closed = True
        self.wake = None
        self._leave()
        sizes = self.sizes
        self._items.clear()
        self._sizes.clear()
        self._dropped = None
        self._backlog.release(len(sizes), sum(sizes))

    def __del__(self) -> None:
        self.close()

    def enter(self) -> Token[Scopes]:
        """Mark the current context as the reader; see `Connection.enter`."""
        outer = SCOPES.get()
        if self._scope is None and not self._closed:
            self._scope = Scope(self._backlog, self, self._backlog.waiting)
            self._outer = outer
            if not self:
                begin_waiting(outer)
        return SCOPES.set(outer if self._scope is None else (*outer, self._scope))

    def leave(self, token: Token[Scopes]) -> None:
        """Undo `enter`; in another context than the one it was called in, only the reader's mark ends."""
        self._leave()
        try:
            SCOPES.reset(token)
        except ValueError:
            return

    def overrun(self) -> tuple[Overrun, list[Serving]]:
        """Drop all items: how much that was. The reader is told when it takes the next one."""
        sizes = self.sizes
        dropped = Overrun(len(sizes), sum(sizes))
        before = self._dropped or Overrun(0, 0)
        self._items.clear()
        self._sizes.clear()
        self._dropped = Overrun(before.count + dropped.count, before.bytes + dropped.bytes)
        self._backlog.release(dropped.count, dropped.bytes)
        return dropped, []

    def _take_overrun(self, dropped: Overrun) -> Overrun:
        self._dropped = None
        self._emptied()
        return dropped

    def _emptied(self) -> None:
        if self._outer and not self._items:
            begin_waiting(self._outer)

    def _leave(self) -> None:
        if self._scope is None:
            return
        self._scope.end()
        if not self:
            end_waiting(self._outer)
        self._scope, self._outer = None, ()
