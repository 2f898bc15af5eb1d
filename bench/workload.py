"""What is measured: the updates on the wire, and what a process has used.

A prompt is an order for updates: `chunk COUNT PER_MESSAGE` or `tool COUNT`. The updates are the same JSON in
version 1 and 2 of the protocol, so one text serves the SDKs of both.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

SESSION = "bench-session"
TEXT = "The quick brown fox jumps over !"
"""32 characters: about what a model says at a time."""
TOOL_CALLS = 100
"""Tool calls that a `tool` order spreads its updates over."""

TOOL_PATCH = {
    "title": "Search the sources for callers of the decoder",
    "kind": "search",
    "status": "in_progress",
    "content": [{"type": "content", "content": {"type": "text", "text": f"{TEXT} " * 14}}],
    "locations": [{"path": f"/home/me/project/src/decoder_{i}.py", "line": 10 * i} for i in range(1, 4)],
    "rawInput": {"pattern": "decode\\(", "path": "/home/me/project/src", "case": True, "limit": 100},
}
"""What a `tool` order patches each time: with its envelope, 1 KB on the wire."""


def chunk(message: int) -> dict[str, object]:
    content = {"type": "text", "text": TEXT}
    return {"sessionUpdate": "agent_message_chunk", "messageId": f"message-{message:06}", "content": content}


def tool(call: int) -> dict[str, object]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": f"call-{call:06}", **TOOL_PATCH}


def line(message: dict[str, object]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"


def update_line(update: dict[str, object], session: str = SESSION) -> bytes:
    return line({"method": "session/update", "params": {"sessionId": session, "update": update}})


def lines(order: str, session: str = SESSION) -> Iterator[bytes]:
    """The wire of an order, some lines at a time; made by copying, so that it costs next to nothing."""
    kind, count, *rest = order.split()
    if kind == "chunk":
        per_message = int(rest[0])
        block = update_line(chunk(0), session) * per_message
        for message in range(int(count) // per_message):
            yield block.replace(b"message-000000", b"message-%06d" % message)
    else:
        block = b"".join(update_line(tool(call), session) for call in range(TOOL_CALLS))
        for _ in range(int(count) // TOOL_CALLS):
            yield block


def blocks(path: str, size: int = 65536) -> list[tuple[bytes, int]]:
    """A recorded wire as a pipe would bring it, cut at line ends, each block with the number of its lines."""
    found, held = [], b""
    for one in Path(path).read_bytes().splitlines(keepends=True):
        if held and len(held) + len(one) > size:
            found.append((held, held.count(b"\n")))
            held = b""
        held += one
    return [*found, (held, held.count(b"\n"))]


def usage() -> dict[str, float]:
    """Seconds of CPU and the most MiB of memory this process has used."""
    return {"cpu": time.process_time(), "peak": _peak()}


def _peak() -> float:
    status = Path("/proc/self/status")
    if status.exists():  # unlike ru_maxrss, this does not begin with what the parent had
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)
