"""A client without a library: it reads as fast as the pipe gives. `client.py 1|2 ORDER WARM_UP -- COMMAND`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

from workload import line, usage

END = {1: b'"stopReason"', 2: b'"idle"'}


class Agent:
    def __init__(self, version: int, command: list[str]) -> None:
        self.version = version
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.source = self.process.stdout.fileno()
        self.count = 0

    def send(self, method: str, params: dict[str, object]) -> None:
        self.count += 1
        self.process.stdin.write(line({"id": self.count, "method": method, "params": params}))

    def ask(self, method: str, params: dict[str, object]) -> dict[str, object]:
        self.send(method, params)
        held = b""
        while True:
            held += self.read()
            for one in held.splitlines():
                if held.endswith(b"\n") and (message := json.loads(one)).get("id") == self.count:
                    return message["result"]

    def read(self) -> bytes:
        data = os.read(self.source, 1 << 20)
        if not data:
            sys.exit("the agent has gone")
        return data

    def order(self, session: str, order: str) -> int:
        """Prompts, and reads to the end of the turn; the lines that came."""
        self.send("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": order}]})
        count, tail = 0, b""
        while True:
            data = self.read()
            count += data.count(b"\n")
            tail = (tail + data)[-65536:]
            if END[self.version] in tail and tail.endswith(b"\n"):
                return count


def main() -> None:
    version, order, warm_up, command = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[5:]
    agent = Agent(version, command)
    info = {"name": "raw", "version": "1"}
    more = {"info": info, "capabilities": {}} if version == 2 else {"clientInfo": info, "clientCapabilities": {}}
    agent.ask("initialize", {"protocolVersion": version, **more})
    session = agent.ask("session/new", {"cwd": "/tmp", "mcpServers": []})["sessionId"]
    agent.order(session, warm_up)
    before, clock = agent.ask("_bench/usage", {}), time.perf_counter()
    count = agent.order(session, order)
    wall, mine = time.perf_counter() - clock, usage()
    after = agent.ask("_bench/usage", {})
    wanted = int(order.split()[1])
    if not wanted <= count <= wanted + 10:
        sys.exit(f"{count} lines came for {order!r}")
    agent_cpu = after["cpu"] - before["cpu"]
    print(json.dumps({"wall": wall, "peak": mine["peak"], "agent_cpu": agent_cpu, "agent_peak": after["peak"]}))
    agent.process.stdin.close()
    agent.process.kill()


main()
