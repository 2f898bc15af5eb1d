"""A client on the official Python SDK, counting in its public update handler.

client.py decode FILE COUNT WARM_UP
client.py stream ORDER WARM_UP -- COMMAND
client.py requests echo|list FLIGHT COUNT -- COMMAND
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

import acp
from workload import SESSION, TEXT, blocks, usage


class Client:
    def __init__(self):
        self.count = 0
        self.wanted = -1
        self.reached = asyncio.Event()

    def on_connect(self, agent):
        pass

    async def session_update(self, session_id, update, **_):  # noqa: ARG002 - passed by name
        self.count += 1
        if self.count == self.wanted:
            self.reached.set()

    async def request_permission(self, session_id, tool_call, options, **_):
        raise NotImplementedError

    def wait_for(self, count):
        self.wanted = self.count + count
        self.reached.clear()
        return self.reached.wait()


class Nowhere(asyncio.Transport):
    """The sending half of a stream that nobody answers."""

    def write(self, data):
        pass

    def is_closing(self):
        return False


async def decode(path, count, warm_up):
    client, reader = Client(), asyncio.StreamReader(limit=1 << 26)
    protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
    writer = asyncio.StreamWriter(Nowhere(), protocol, None, asyncio.get_running_loop())
    acp.connect_to_agent(client, writer, reader)
    seen, cpu = 0, None
    for block, size in blocks(path):
        if cpu is None and seen >= warm_up:
            seen, cpu, wall = 0, time.process_time(), time.perf_counter()
        done = client.wait_for(size)
        reader.feed_data(block)
        await done
        seen += size
    spent, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(json.dumps({"wall": wall / seen * count, "cpu": spent / seen * count}), flush=True)
    os._exit(0)


async def measure(agent, work):
    """What `work` costs on both sides."""
    before, clock, cpu = await agent.ext_method("bench/usage", {}), time.perf_counter(), time.process_time()
    await work
    wall, mine = time.perf_counter() - clock, usage()
    after = await agent.ext_method("bench/usage", {})
    return {
        "wall": wall,
        "cpu": mine["cpu"] - cpu,
        "peak": mine["peak"],
        "agent_cpu": after["cpu"] - before["cpu"],
        "agent_peak": after["peak"],
    }


async def take(client, agent, order):
    done = client.wait_for(int(order.split()[1]))
    await agent.prompt(session_id=SESSION, prompt=[acp.text_block(order)])
    await done


async def ask(agent, method, flight, count):
    async def worker():
        for _ in range(count // flight):
            if method == "echo":
                await agent.ext_method("bench/echo", {"text": TEXT})
            else:
                await agent.list_sessions()

    await asyncio.gather(*(worker() for _ in range(flight)))


async def main():
    mode, *rest = sys.argv[1:]
    if mode == "decode":
        await decode(rest[0], int(rest[1]), int(rest[2]))
    split = rest.index("--")
    arguments, command = rest[:split], rest[split + 1 :]
    client = Client()
    options = {"env": dict(os.environ), "transport_kwargs": {"stderr": None}}
    async with acp.spawn_agent_process(client, *command, **options) as (agent, _):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        await agent.new_session(cwd="/tmp", mcp_servers=[])
        if mode == "stream":
            await take(client, agent, arguments[1])
            work = take(client, agent, arguments[0])
        else:
            method, flight, count = arguments[0], int(arguments[1]), int(arguments[2])
            await ask(agent, method, flight, count // 10)
            work = ask(agent, method, flight, count)
        print(json.dumps(await measure(agent, work)), flush=True)


asyncio.run(main())
