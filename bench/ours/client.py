"""A client on acpwire. A stream is typed, applied to the session's state, and seen by an `async for`.

client.py decode FILE COUNT WARM_UP             counts in the public update handler
client.py stream ORDER WARM_UP -- COMMAND
client.py requests echo|list FLIGHT COUNT -- COMMAND
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

from workload import SESSION, TEXT, blocks, line, usage

import acpwire
from acpwire.protocol.v2.message import AgentMessageChunk
from acpwire.protocol.v2.tool_call import ToolCallUpdate
from acpwire.transports._ndjson import Splitter

COUNTED = frozenset({AgentMessageChunk, ToolCallUpdate})
ANSWERS = {
    "initialize": {
        "protocolVersion": 2,
        "info": {"name": "bench", "version": "1"},
        "capabilities": {"session": {}},
    },
    "session/new": {"sessionId": SESSION},
}


class Counter:
    def __init__(self):
        self.count = 0
        self.wanted = -1
        self.reached = asyncio.Event()

    async def update(self, _params, _context):
        self.count += 1
        if self.count == self.wanted:
            self.reached.set()

    def wait_for(self, count):
        self.wanted = self.count + count
        self.reached.clear()
        return self.reached.wait()


class ByteFed:
    """A transport that is fed bytes, which it splits as the one of stdio does, and that answers the first requests."""

    def __init__(self):
        self.splitter = Splitter()
        self.inbox = asyncio.Queue()

    def describe(self):
        return "memory"

    def feed(self, block):
        self.inbox.put_nowait(block)

    async def send(self, frames):
        for frame in frames:
            message = json.loads(frame)
            self.feed(line({"id": message["id"], "result": ANSWERS[message["method"]]}))

    async def receive(self):
        return self.splitter.feed(await self.inbox.get())

    async def aclose(self):
        pass

    def closed_error(self):
        return None


async def decode(path, count, warm_up):
    counter, transport = Counter(), ByteFed()
    async with acpwire.connect(transport, update=counter.update) as client:
        await client.new_session("/tmp")
        seen, cpu = 0, None
        for block, size in blocks(path):
            if cpu is None and seen >= warm_up:
                seen, cpu, wall = 0, time.process_time(), time.perf_counter()
            done = counter.wait_for(size)
            transport.feed(block)
            await done
            seen += size
        spent, wall = time.process_time() - cpu, time.perf_counter() - wall
        print(json.dumps({"wall": wall / seen * count, "cpu": spent / seen * count}), flush=True)
        os._exit(0)


async def measure(client, work):
    """What `work` costs on both sides."""
    before, clock, cpu = await client.request("_bench/usage", {}), time.perf_counter(), time.process_time()
    await work
    wall, mine = time.perf_counter() - clock, usage()
    after = await client.request("_bench/usage", {})
    return {
        "wall": wall,
        "cpu": mine["cpu"] - cpu,
        "peak": mine["peak"],
        "agent_cpu": after["cpu"] - before["cpu"],
        "agent_peak": after["peak"],
    }


async def take(session, order):
    count = 0
    async with session.prompt(order) as turn:
        async for update in turn:
            count += type(update) in COUNTED
    if count != int(order.split()[1]):
        sys.exit(f"{count} updates came for {order!r}")


def check(session, order):
    """The state has all of it: a stream that was dropped on the way would be cheap."""
    kind, count, *rest = order.split()
    if kind == "chunk" and "empty" not in rest:
        size = sum(len(message.text) for message in session.state.messages)
        if size < int(count) * len(TEXT):
            sys.exit(f"the state has {size} characters of {order!r}")


async def ask(client, method, flight, count):
    async def worker():
        for _ in range(count // flight):
            if method == "echo":
                await client.request("_bench/echo", {"text": TEXT})
            else:
                async for _ in client.list_sessions():
                    pass

    await asyncio.gather(*(worker() for _ in range(flight)))


async def main():
    mode, *rest = sys.argv[1:]
    if mode == "decode":
        await decode(rest[0], int(rest[1]), int(rest[2]))
    split = rest.index("--")
    arguments, command = rest[:split], rest[split + 1 :]
    async with acpwire.connect(command) as client:
        session = await client.new_session("/tmp")
        if mode == "stream":
            await take(session, arguments[1])
            result = await measure(client, take(session, arguments[0]))
            check(session, arguments[0])
        else:
            method, flight, count = arguments[0], int(arguments[1]), int(arguments[2])
            await ask(client, method, flight, count // 10)
            result = await measure(client, ask(client, method, flight, count))
        print(json.dumps(result), flush=True)


asyncio.run(main())
