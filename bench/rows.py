"""The rows: what is run on each side, what is read from it, and which figure it is held to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

import workload

BENCH = Path(__file__).parent
ROOT = BENCH.parent
SIDES = {"acpwire": "acpwire", "python": "Python SDK", "typescript": "TypeScript SDK"}

Result = dict[str, float]


class Failed(Exception):
    """A command did not do its work; the text says which, and how it ended."""


@dataclass(frozen=True)
class Measure:
    """One number of a result; less is better."""

    label: str
    read: Callable[[Result], float]
    python: float | None = None
    """How many times the Python SDK's number ours is to be better."""
    typescript: float | None = None
    """How many times the TypeScript SDK's number ours is to be better."""
    limit: float | None = None
    """The most that ours is to be."""


@dataclass(frozen=True)
class Row:
    name: str
    run: Callable[[str], Result]
    measures: tuple[Measure, ...]
    sides: tuple[str, ...] = tuple(SIDES)
    once: bool = False


@dataclass(frozen=True)
class Setup:
    """Where things are, and how much is done of each."""

    scratch: Path
    """A folder for files that a run makes."""
    quick: bool = False
    python: str = sys.executable
    python_sdk: str = field(
        default_factory=partial(os.environ.get, "BENCH_PYTHON_SDK", ROOT / ".peers/python-sdk/bin/python")
    )
    node: str = field(default_factory=partial(os.environ.get, "BENCH_NODE", "node"))
    node_modules: str = field(
        default_factory=partial(os.environ.get, "BENCH_NODE_MODULES", ROOT / ".peers/typescript/node_modules")
    )

    def missing(self) -> dict[str, str]:
        """Sides that cannot be measured here, and why."""
        found = {}
        if not Path(self.python_sdk).exists():
            found["python"] = f"no {self.python_sdk}"
        if shutil.which(self.node) is None:
            found["typescript"] = f"no {self.node}"
        elif not Path(self.node_modules, "@agentclientprotocol/sdk").exists():
            found["typescript"] = f"no SDK in {self.node_modules}"
        return found

    def script(self, side: str, role: str) -> list[str]:
        """The command of a side's agent or client."""
        if side == "acpwire":
            return [self.python, str(BENCH / f"ours/{role}.py")]
        if side == "python":
            return [str(self.python_sdk), str(BENCH / f"peers/python_{role}.py")]
        return [self.node, str(BENCH / f"peers/typescript_{role}.mjs")]

    def raw(self, side: str, role: str) -> list[str]:
        """The command of the counterpart without a library, in the version that a side speaks."""
        return [self.python, str(BENCH / f"raw/{role}.py"), "1" if side == "python" else "2"]

    def environment(self, side: str) -> dict[str, str]:
        """Plain settings for all: compiled modules are kept, nothing is checked or shown that is not by default."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "ACPWIRE_", "NODE_"))}
        path = [str(BENCH), str(ROOT / "src")] if side == "acpwire" else [str(BENCH)]
        return {**kept, "PYTHONPATH": os.pathsep.join(path), "BENCH_NODE_MODULES": str(self.node_modules)}

    def count(self, full: int) -> int:
        return full // 10 if self.quick else full

    def rows(self) -> list[Row]:
        return [
            self._decode("decode chunk", "chunk", 50_000, 10),
            self._decode("decode 1 KB update", "tool", 10_000, 8),
            *self._streams(),
            self._memory(),
            *[self._requests(method, flight) for method in ("echo", "list") for flight in (1, 64)],
            Row("import", self._import, IMPORT),
            Row("start", self._start, START),
        ]

    # -- decoding, in one process ---------------------------------------------------------------------------

    def _decode(self, name: str, kind: str, full: int, python: float) -> Row:
        warm_up, count = 2_000, self.count(full)
        wire = self.scratch / f"{kind}.ndjson"

        def run(side: str) -> Result:
            if not wire.exists():
                wire.write_bytes(b"".join(workload.lines(f"{kind} {warm_up + count} 1000")))
            return self._json(side, [*self.script(side, "client"), "decode", str(wire), str(count), str(warm_up)])

        cpu = Measure("CPU, µs a message", lambda r: r["cpu"] / count * 1e6, python=python, typescript=10)
        return Row(name, run, (cpu,))

    # -- streams over stdio -----------------------------------------------------------------------------------

    def _streams(self) -> list[Row]:
        count = self.count(100_000)
        order, warm_up = f"chunk {count} {count // 100}", f"chunk 2000 {1000 if not self.quick else 100}"

        def pair(side: str) -> Result:
            command = [*self.script(side, "client"), "stream", order, warm_up, "--", *self.script(side, "agent")]
            return self._json(side, command)

        def client(side: str) -> Result:
            command = [*self.script(side, "client"), "stream", order, warm_up, "--", *self.raw(side, "agent")]
            return self._json(side, command)

        def agent(side: str) -> Result:
            return self._json(side, [*self.raw(side, "client"), order, warm_up, "--", *self.script(side, "agent")])

        each = 1e6 / count
        client_cpu = Measure("CPU of the client, µs a message", lambda r: r["cpu"] * each, 8, 10, limit=4)
        agent_cpu = Measure("CPU of the agent, µs a message", lambda r: r["agent_cpu"] * each, limit=4)
        wall = Measure("wall, µs a message", lambda r: r["wall"] * each, 6, 10)
        both = (
            Measure("CPU of both, µs a message", lambda r: (r["cpu"] + r["agent_cpu"]) * each, 8, 10),
            wall,
            client_cpu,
            agent_cpu,
            Measure("peak of the client, MiB", lambda r: r["peak"], limit=60),
            Measure("peak of the agent, MiB", lambda r: r["agent_peak"], limit=60),
        )
        return [
            Row("stream, its own agent and client", pair, both),
            Row("stream, client alone", client, (client_cpu, wall)),
            Row("stream, agent alone", agent, (agent_cpu, wall)),
        ]

    def _memory(self) -> Row:
        def run(side: str) -> Result:
            peaks = []
            for count in (100_000, self.count(1_000_000)):
                command = [*self.script(side, "client"), "stream", f"chunk {count} 1000 empty", "chunk 2000 1000", "--"]
                peaks.append(self._json(side, [*command, *self.script(side, "agent")]))
            small, large = peaks
            return {
                "client": large["peak"],
                "agent": large["agent_peak"],
                "client_more": large["peak"] - small["peak"],
                "agent_more": large["agent_peak"] - small["agent_peak"],
            }

        measures = (
            Measure("peak of the client, MiB", lambda r: r["client"], limit=60),
            Measure("peak of the agent, MiB", lambda r: r["agent"], limit=60),
            Measure("client: more than for 100,000, MiB", lambda r: r["client_more"], limit=5),
            Measure("agent: more than for 100,000, MiB", lambda r: r["agent_more"], limit=5),
        )
        return Row("stream of 1,000,000, emptied every 1,000", run, measures, sides=("acpwire",), once=True)

    # -- requests over stdio ------------------------------------------------------------------------------------

    def _requests(self, method: str, flight: int) -> Row:
        count = self.count(6_400)
        python, typescript = (1, 1) if flight == 1 else (2.5, 8)
        named = {"echo": "an extension request", "list": "`session/list`"}[method]

        def run(side: str) -> Result:
            work = ["requests", method, str(flight), str(count), "--"]
            return self._json(side, [*self.script(side, "client"), *work, *self.script(side, "agent")])

        measures = (
            Measure("wall, µs a request", lambda r: r["wall"] / count * 1e6, python, typescript),
            Measure("CPU of both, µs a request", lambda r: (r["cpu"] + r["agent_cpu"]) / count * 1e6),
        )
        return Row(f"{named}, {flight} in flight", run, measures)

    # -- starting ----------------------------------------------------------------------------------------------

    def _import(self, side: str) -> Result:
        """Four times, and for ours each beside a bare `import asyncio`."""
        sdk = "@agentclientprotocol/sdk/experimental/v2"
        module = f"const at = require.resolve('{sdk}', {{paths: [process.env.BENCH_NODE_MODULES]}}); import(at)"
        command = {
            "acpwire": [self.python, "-c", "from acpwire import Agent, Client, connect"],
            "python": [str(self.python_sdk), "-c", "import acp"],
            "typescript": [self.node, "-e", module],
        }[side]
        bare, ours = [], []
        for _ in range(4):
            if side == "acpwire":
                bare.append(self._spend(side, [self.python, "-c", "import asyncio"]))
            ours.append(self._spend(side, command))
        result = _medians(ours)
        return result if not bare else {**result, **{f"bare_{k}": v for k, v in _medians(bare).items()}}

    def _spend(self, side: str, command: list[str]) -> Result:
        clock = time.perf_counter()
        process = subprocess.Popen(command, env=self.environment(side))
        return _ended(process, command, clock)

    def _start(self, side: str) -> Result:
        command = [self.python, "-m", "acpwire", "agent"] if side == "acpwire" else self.script(side, "agent")
        info = {"name": "bench", "version": "1"}
        params = {"protocolVersion": 1 if side == "python" else 2, "info": info, "capabilities": {}}
        clock = time.perf_counter()
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": self.environment(side)}
        with subprocess.Popen(command, bufsize=0, **pipes) as process:
            try:
                process.stdin.write(workload.line({"id": 1, "method": "initialize", "params": params}))
            except BrokenPipeError:
                pass
            answer = process.stdout.readline()
            wall = time.perf_counter() - clock
            process.kill()
            result = _ended(process, command, clock, killed=True)
        if b'"result"' not in answer:
            raise Failed(f"{' '.join(command)} answered initialize with {answer!r}")
        return {**result, "wall": wall}

    # -- running -----------------------------------------------------------------------------------------------

    def _json(self, side: str, command: list[str]) -> Result:
        try:
            done = subprocess.run(command, env=self.environment(side), capture_output=True, timeout=300, check=False)
        except subprocess.TimeoutExpired:
            raise Failed(f"{' '.join(command)} did not end in 300 s") from None
        if done.returncode or not done.stdout:
            raise Failed(f"{' '.join(command)} exited with {done.returncode}: {done.stderr.decode()[-2000:]}")
        return json.loads(done.stdout.splitlines()[-1])


def _ended(process: subprocess.Popen[bytes], command: list[str], clock: float, *, killed: bool = False) -> Result:
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - clock
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode and not killed:
        raise Failed(f"{' '.join(command)} exited with {process.returncode}")
    return {"wall": wall, "cpu": used.ru_utime + used.ru_stime}


def _medians(results: list[Result]) -> Result:
    return {key: median(one[key] for one in results) for key in results[0]}


IMPORT = (
    Measure("wall, ms", lambda r: r["wall"] * 1e3),
    Measure("CPU, ms", lambda r: r["cpu"] * 1e3),
    Measure("wall, times `import asyncio`", lambda r: r["wall"] / r["bare_wall"], limit=1.6),
    Measure("CPU, times `import asyncio`", lambda r: r["cpu"] / r["bare_cpu"], limit=1.6),
)
START = (
    Measure("wall to the answer of `initialize`, ms", lambda r: r["wall"] * 1e3, typescript=2),
    Measure("CPU, ms", lambda r: r["cpu"] * 1e3),
)
