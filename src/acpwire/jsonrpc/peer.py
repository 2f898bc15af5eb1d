"""One end of JSON-RPC 2.0 without I/O: frames in and events out, calls in and frames out.

    peer.receive_frame(frame)
    for event in peer.events_received():
        ...
    await transport.send(peer.frames_to_send())

Receiving never raises: what is wrong with a frame becomes an answer, an event, or both (RPC-10 to RPC-15). Sending
raises `LocalProtocolError` before anything is queued. What is allowed when stands in `lifecycle`.

Ids. Ours are integers from 1, never reused (RPC-09). An id that the other side reuses while its first request is not
answered yet gets -32600 with `id` null: an answer with that id would be taken for the first request's, and settle it.

Arrays (RPC-28, X-01). `_receive_entries` is the one place that knows them: their entries are read in order as if they
had come alone, and the answers to them go out in one array when the last is there. We never begin an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct as Layout
from typing import Final

import msgspec
from msgspec import UNSET, Raw

from ..errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, ErrorObject, LocalProtocolError
from .events import (
    CancelReceived,
    ErrorReceived,
    Event,
    Malformed,
    Noise,
    NotificationReceived,
    RequestReceived,
    ResponseReceived,
)
from .frames import HEAD, Broken, Encode, Entries, Finite, check_finite, encode, read_head, read_odd_frame, split_noise
from .lifecycle import CONNECTION, RECEIVED_REQUEST, SENT_REQUEST, ConnectionState, ReceivedState, SentState, step
from .messages import (
    CANCEL_REQUEST,
    EMPTY_PARAMS,
    CancelParams,
    Envelope,
    Failure,
    Notification,
    Request,
    RequestId,
    Success,
    is_id,
)
from .transport import Frame, Oversized

__all__ = ["Peer"]

_FORGOTTEN_KEPT: Final = 1024
"""Withdrawn requests that are remembered so that their late answers are dropped quietly; the oldest goes first."""

_decode_envelope: Final = msgspec.json.Decoder(Envelope).decode
_decode_error: Final = msgspec.json.Decoder(ErrorObject).decode
_decode_cancel: Final = msgspec.json.Decoder(CancelParams).decode
_first_byte: Final = Layout("B").unpack_from
_OBJECT: Final = (ord("{"),)
_NULL: Final = b"null"
_UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_UNENCODABLE: Final = (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError)


class _Batch:
    """A received array: the answers to its entries, sent as one array when none is missing."""

    __slots__ = ("answers", "missing")

    def __init__(self) -> None:
        self.answers: list[bytes] = []
        self.missing = 1  # the array itself, until all its entries are read


class Peer:
    """Correlates, answers what is malformed, and keeps each request to one answer.

    Args:
        encode: turns a message into JSON; msgspec's encoder unless told otherwise.
        check: asked about the value when its JSON holds a `null`, for msgspec writes floats that are not finite so.
        answer_noise: whether text that is no JSON is answered with -32700 (RPC-12). Toward a program that we started
            it is not: it may just be chatting. What begins like an object is answered all the same.
        null_ids: whether a request may have the id `null`, as in v1 (RPC-05, X-40).
    """

    def __init__(
        self,
        *,
        encode: Encode = encode,
        check: Finite = check_finite,
        answer_noise: bool = True,
        null_ids: bool = False,
    ) -> None:
        self._encoder = encode
        self._check = check
        self._answer_noise = answer_noise
        self._null_ids = null_ids
        self._state: ConnectionState = "open"
        self._next_id = 1
        self._sent: dict[RequestId, SentState] = {}
        self._forgotten: dict[RequestId, None] = {}
        self._received: dict[RequestId, ReceivedState] = {}
        self._batches: dict[RequestId, _Batch] = {}
        self._events: list[Event] = []
        self._frames: list[bytes] = []
        self.outgoing_size = 0
        """Bytes of the frames that wait in `frames_to_send`."""

    @property
    def state(self) -> ConnectionState:
        """Whether the connection is open, finished by the other side, or closed."""
        return self._state

    # -- sending ------------------------------------------------------------------------------------------

    def send_request(self, method: str, params: object = None) -> int:
        """Queue a request and return its id. `params` of `None` are left out.

        Raises:
            LocalProtocolError: the other side has finished, or the params are no JSON.
        """
        self._step("send_request")
        request_id = self._next_id
        message = Request(request_id, method, UNSET if params is None else params)
        self._queue(self._encode(message, params))
        self._next_id = request_id + 1
        self._sent[request_id] = "waiting"
        return request_id

    def send_notification(self, method: str, params: object = None) -> None:
        """Queue a notification. `params` of `None` are left out.

        Raises:
            LocalProtocolError: the connection is closed, or the params are no JSON.
        """
        if self._state != "open":
            self._step("send_notification")
        frame = self._encode(Notification(method, UNSET if params is None else params), params)
        self._frames.append(frame)
        self.outgoing_size += len(frame)

    def cancel_request(self, request_id: RequestId) -> None:
        """Ask the other side to stop working on one of our requests; its answer is still due (CANC-01, CANC-04).

        Raises:
            LocalProtocolError: we sent no such request, it is settled, or it is cancelled already.
        """
        self._step("send_notification")
        self._sent[request_id] = self._step_sent(request_id, "cancel")
        self._queue(self._encode(Notification(CANCEL_REQUEST, CancelParams(request_id)), None))

    def forget(self, request_id: RequestId) -> None:
        """Nobody waits for this request of ours any more: its answer will be dropped quietly.

        Raises:
            LocalProtocolError: we sent no such request, or it is settled.
        """
        self._sent[request_id] = self._step_sent(request_id, "forget")
        self._forgotten[request_id] = None
        if len(self._forgotten) > _FORGOTTEN_KEPT:
            oldest = next(iter(self._forgotten))
            del self._forgotten[oldest], self._sent[oldest]

    def awaits(self, request_id: RequestId) -> bool:
        """Whether the response to a request of ours is still to come."""
        return request_id in self._sent

    def respond(self, request_id: RequestId, result: object) -> None:
        """Answer a request of the other side with success (RPC-16, RPC-21).

        Raises:
            LocalProtocolError: there is no such request or it is answered, or the result is no JSON; then it is
                still to be answered.
        """
        self._respond(request_id, Success(request_id, result), result)

    def respond_error(self, request_id: RequestId, error: ErrorObject) -> None:
        """Answer a request of the other side with an error (ERR-01).

        Raises:
            LocalProtocolError: as for `respond`.
        """
        self._respond(request_id, Failure(request_id, error), error.data)

    def frames_to_send(self) -> list[bytes]:
        """What is to be sent, in order, without line ends in it; each frame is returned once."""
        frames, self._frames = self._frames, []
        self.outgoing_size = 0
        return frames

    # -- receiving ----------------------------------------------------------------------------------------

    def receive_frame(self, frame: Frame) -> None:
        """Take in one frame. Never raises: see `events_received` and `frames_to_send` for what follows from it."""
        self.receive_frames((frame,))

    def receive_frames(self, frames: Sequence[Frame]) -> None:
        """Take in frames, in order, as `receive_frame` does each."""
        append = self._events.append
        for frame in frames:
            if self._state != "open":
                self._drop("a frame after the end", b"")
                continue
            if isinstance(frame, Oversized):
                self._receive_oversized(frame)
                continue
            try:  # the same as `_receive_one`, and the most frequent end of it, without the calls
                if not frame.isascii():
                    frame.decode()
                message = _decode_envelope(frame)
            except _UNREADABLE:
                self._receive_odd(frame, None)
                continue
            method, params = message.method, message.params
            if (
                message.id is UNSET
                and method is not UNSET
                and _first_byte(params) == _OBJECT
                and method != CANCEL_REQUEST
            ):
                append(NotificationReceived(method, params, len(frame)))
            else:
                self._receive_message(message, frame, None)

    def events_received(self) -> list[Event]:
        """What the frames meant, in wire order; each event is returned once."""
        events, self._events = self._events, []
        return events

    def receive_end(self) -> None:
        """The other side sends no more: what we asked will not be answered, what is owed may still be."""
        self._step("end")
        self._sent.clear()
        self._forgotten.clear()

    def close(self) -> None:
        """Nothing is received, and nothing more can be sent; what is queued may still be drained."""
        self._step("close")
        self._sent.clear()
        self._forgotten.clear()
        self._received.clear()
        self._batches.clear()

    # -- reading one message ------------------------------------------------------------------------------

    def _receive_one(self, frame: bytes, batch: _Batch | None) -> None:
        try:
            # msgspec looks into strings that it decodes, not into what stays raw or is skipped.
            if not frame.isascii():
                frame.decode()
            message = _decode_envelope(frame)
        except _UNREADABLE:
            self._receive_odd(frame, batch)
        else:
            self._receive_message(message, frame, batch)

    def _receive_message(self, message: Envelope, frame: bytes, batch: _Batch | None) -> None:
        method, params = message.method, message.params
        if method is UNSET:
            self._receive_response(message, frame, batch)
            return
        good = _first_byte(params) == _OBJECT
        if not good and bytes(params) == _NULL:
            params, good = EMPTY_PARAMS, True
        if message.id is not UNSET:
            self._receive_request(RequestReceived(message.id, method, params, len(frame)), good, frame, batch)
        elif not good:
            self._drop("the params of a notification are not an object", frame)
        elif method == CANCEL_REQUEST:
            self._receive_cancel(params, frame)
        else:
            self._events.append(NotificationReceived(method, params, len(frame)))

    def _receive_request(self, event: RequestReceived, good_params: bool, frame: bytes, batch: _Batch | None) -> None:
        request_id = event.id
        if not is_id(request_id) or (request_id is None and not self._null_ids):
            self._refuse("the id is neither a string nor an integer of 64 bits", frame, batch)
        elif request_id in self._received:
            self._refuse("the id is in use by an unanswered request", frame, batch)
        elif not good_params:
            error = ErrorObject(code=INVALID_PARAMS, message="Invalid params: not an object", data={"path": "$"})
            self._refuse("the params of a request are not an object", frame, batch, error, request_id)
        else:
            self._received[request_id] = "running"
            if batch is not None:
                batch.missing += 1
                self._batches[request_id] = batch
            self._events.append(event)

    def _receive_cancel(self, params: Raw, frame: bytes) -> None:
        try:
            request_id = _decode_cancel(params).request_id
        except _UNREADABLE:
            self._drop("a cancellation without the id of a request", frame)
            return
        state = self._received.get(request_id, "answered")
        after = RECEIVED_REQUEST[state].get("cancel")
        if after is not None:  # else it is unknown, answered, or cancelled already: ignored (CANC-05)
            self._received[request_id] = after
            self._events.append(CancelReceived(request_id))

    def _receive_response(self, message: Envelope, frame: bytes, batch: _Batch | None) -> None:
        request_id, result = message.id, message.result
        if result is UNSET and message.error is UNSET:
            self._refuse("neither a method nor a result nor an error", frame, batch)
            return
        known = None if request_id is UNSET else request_id
        if result is not UNSET and message.error is not UNSET:
            self._drop("a response with both a result and an error", frame, known)
            return
        error: ErrorObject | None = None
        if message.error is not UNSET:
            try:
                error = _decode_error(message.error)
            except _UNREADABLE:
                self._drop("a response with a malformed error", frame, known)
                return
        if known is not None:
            self._settle(ResponseReceived(known, None if result is UNSET else result, error, len(frame)))
        elif request_id is None and error is not None:
            self._events.append(ErrorReceived(error))
        else:
            self._drop("a response without an id", frame)

    def _settle(self, event: ResponseReceived) -> None:
        state = self._sent.get(event.id, "settled")
        after = SENT_REQUEST[state].get("response")
        if after is None:
            self._drop("a response to a request that is unknown or settled", b"")
            return
        del self._sent[event.id]
        if after == "settled":
            self._events.append(event)
        else:
            del self._forgotten[event.id]

    # -- reading what is no single good message -----------------------------------------------------------

    def _receive_odd(self, frame: bytes, batch: _Batch | None) -> None:
        noise, rest = split_noise(frame)
        if noise:
            self._hear_noise(noise)
            self._receive_one(rest, batch)
            return
        found = read_odd_frame(frame)
        if isinstance(found, Envelope):
            self._receive_message(found, frame, batch)
        elif isinstance(found, Broken):
            self._receive_broken(found, frame, batch)
        elif batch is None:
            self._receive_entries(found, frame)
        else:
            self._refuse("an array in an array", frame, batch)

    def _receive_entries(self, entries: Entries, frame: bytes) -> None:
        if not entries.frames:
            self._refuse("an empty array", frame, None)
            return
        batch = _Batch()
        for entry in entries.frames:
            self._receive_one(entry, batch)
        self._arrived(batch)

    def _receive_broken(self, found: Broken, frame: bytes, batch: _Batch | None) -> None:
        if found.kind in ("response", "notification"):
            self._drop(found.reason, frame, found.id)
        elif found.kind == "shape":
            self._refuse(found.reason, frame, batch)
        elif self._answer_noise or frame.lstrip()[:1] == b"{":
            error = ErrorObject(code=PARSE_ERROR, message=f"Parse error: {found.reason}")
            self._refuse(found.reason, frame, batch, error)
        else:
            self._hear_noise(frame)

    def _receive_oversized(self, frame: Oversized) -> None:
        kind, request_id = read_head(frame.head)
        reason = f"a message of {frame.size} bytes, more than the {frame.limit} that are allowed"
        if kind == "response":
            self._drop(reason, frame.head, request_id)
        elif kind == "notification":
            self._drop(reason, frame.head)
        else:
            usable = kind == "request" and request_id not in self._received
            error = ErrorObject(code=INVALID_REQUEST, message=f"Invalid request: {reason}")
            self._refuse(reason, frame.head, None, error, request_id if usable else None)

    def _hear_noise(self, text: bytes) -> None:
        self._events.append(Noise(text[:HEAD].decode("utf-8", "backslashreplace")))

    def _drop(self, reason: str, frame: bytes, fails: RequestId = None) -> None:
        """Report what is never answered; a pending request that it was meant to answer fails (RPC-14)."""
        state = self._sent.get(fails, "settled")
        after = SENT_REQUEST[state].get("response")
        if after is not None:
            del self._sent[fails]
            self._forgotten.pop(fails, None)
        self._events.append(Malformed(reason, frame[:HEAD], False, fails if after == "settled" else None))

    def _refuse(
        self,
        reason: str,
        frame: bytes,
        batch: _Batch | None,
        error: ErrorObject | None = None,
        request_id: RequestId = None,
    ) -> None:
        """Report a message and answer it with an error, which has no id unless one is given (RPC-10)."""
        if error is None:
            error = ErrorObject(code=INVALID_REQUEST, message=f"Invalid request: {reason}")
        answer = self._encoder(Failure(request_id, error))
        if batch is None:
            self._queue(answer)
        else:
            batch.answers.append(answer)
        self._events.append(Malformed(reason, frame[:HEAD], True))

    # -- writing ------------------------------------------------------------------------------------------

    def _respond(self, request_id: RequestId, message: Success | Failure, value: object) -> None:
        self._step("respond")
        state = self._received.get(request_id, "answered")
        step(RECEIVED_REQUEST, state, "respond", f"the request with the id {request_id!r}")
        frame = self._encode(message, value)
        del self._received[request_id]
        batch = self._batches.pop(request_id, None) if self._batches else None
        if batch is None:
            self._queue(frame)
        else:
            batch.answers.append(frame)
            self._arrived(batch)

    def _arrived(self, batch: _Batch) -> None:
        batch.missing -= 1
        if not batch.missing and batch.answers:
            self._queue(b"[%b]" % b",".join(batch.answers))

    def _encode(self, message: object, value: object) -> bytes:
        try:
            frame = self._encoder(message)
        except _UNENCODABLE as error:
            raise LocalProtocolError(f"the value cannot be written as JSON: {error}") from error
        if _NULL in frame:
            self._check(value)
        # Only raw JSON can hold a line end, and only between its tokens, where a space says the same.
        return frame.replace(b"\n", b" ") if b"\n" in frame else frame

    def _queue(self, frame: bytes) -> None:
        self._frames.append(frame)
        self.outgoing_size += len(frame)

    def _step(self, event: str) -> None:
        self._state = step(CONNECTION, self._state, event, "the connection")

    def _step_sent(self, request_id: RequestId, event: str) -> SentState:
        state = self._sent.get(request_id, "settled")
        return step(SENT_REQUEST, state, event, f"the request with the id {request_id!r}")
