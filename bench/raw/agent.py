"""An agent without a library: it writes what is ordered as fast as the pipe takes it. `agent.py 1|2` is its version."""

from __future__ import annotations

import json
import os
import sys

from workload import SESSION, line, lines, update_line, usage


def write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def prompt(version: int, request: int, order: str) -> None:
    if version == 2:
        content = [{"type": "text", "text": order}]
        user = {"sessionUpdate": "user_message", "messageId": f"user-{request}", "content": content}
        write(line({"id": request, "result": {"messageId": user["messageId"]}}) + update_line(user))
        write(update_line({"sessionUpdate": "state_update", "state": "running"}))
    for block in lines(order):
        write(block)
    if version == 2:
        write(update_line({"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}))
    else:
        write(line({"id": request, "result": {"stopReason": "end_turn"}}))


def main() -> None:
    version = int(sys.argv[1])
    info = {"name": "raw", "version": "1"}
    more = {"info": info, "capabilities": {"session": {}}} if version == 2 else {"agentCapabilities": {}}
    for raw in sys.stdin.buffer:
        message = json.loads(raw)
        method, params = message.get("method"), message.get("params")
        if method == "session/prompt":
            prompt(version, message["id"], params["prompt"][0]["text"])
            continue
        if method == "initialize":
            result: object = {"protocolVersion": version, **more}
        elif method == "session/new":
            result = {"sessionId": SESSION}
        else:
            result = usage()
        write(line({"id": message["id"], "result": result}))


main()
