"""Measures acpwire beside the official SDKs: `python bench/run.py [--quick] [--rows NAME ...]`.

Each row is run several times, the sides one after the other each time, so that a busy moment of the machine meets
all of them; the table has medians. A whole run also puts its table into `bench/README.md`.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from rows import BENCH, SIDES, Failed, Measure, Result, Row, Setup

README = BENCH / "README.md"
BEGIN, END = "<!-- results -->", "<!-- end of results -->"
HEAD = "| row | measure | acpwire | Python SDK | times | TypeScript SDK | times |\n|---|---|--:|--:|--:|--:|--:|"

Results = dict[str, list[Result]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="once, and a tenth of it: whether it runs, not how fast")
    parser.add_argument("--repeat", type=int, default=5, help="how often each row is run (5)")
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="only rows whose name contains one of these")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="acpwire-bench-") as scratch:
        return _bench(Setup(Path(scratch), quick=options.quick), options)


def _bench(setup: Setup, options: argparse.Namespace) -> int:
    missing = setup.missing()
    for side, why in missing.items():
        print(f"bench: {SIDES[side]} is left out: {why} (see `make peers-install`)", file=sys.stderr)
    rows = [row for row in setup.rows() if not options.rows or any(name in row.name for name in options.rows)]
    if not rows:
        print("bench: no such row; there are:", *(row.name for row in setup.rows()), sep="\n  ", file=sys.stderr)
        return 2
    failures: list[str] = []
    lines = [_describe(setup), "", HEAD]
    print("\n".join(lines), flush=True)
    for row in rows:
        results = _run(row, [side for side in row.sides if side not in missing], options, failures)
        for line in _lines(row, results):
            print(line, flush=True)
            lines.append(line)
    for failure in failures:
        print(f"bench: {failure}", file=sys.stderr)
    if not (options.quick or options.rows or missing or failures):
        _write("\n".join(lines))
    return 1 if failures else 0


def _run(row: Row, sides: list[str], options: argparse.Namespace, failures: list[str]) -> Results:
    results: Results = {side: [] for side in sides}
    failed: set[str] = set()
    for _ in range(1 if row.once or options.quick else options.repeat):
        for side in sides:
            if side in failed:
                continue
            try:
                results[side].append(row.run(side))
            except Failed as error:
                failed.add(side)
                failures.append(f"{row.name}: {error}")
    return {side: found for side, found in results.items() if side not in failed}


def _lines(row: Row, results: Results) -> list[str]:
    return [f"| {row.name} | {measure.label} | {' | '.join(_cells(measure, results))} |" for measure in row.measures]


def _cells(measure: Measure, results: Results) -> list[str]:
    ours = _value(measure, results, "acpwire")
    if ours is None:
        first = "failed"
    elif measure.limit is None:
        first = _number(ours)
    else:
        first = f"{_number(ours)} ({_mark(ours <= measure.limit)}at most {measure.limit:g})"
    return [first, *_peer(measure, results, "python", ours), *_peer(measure, results, "typescript", ours)]


def _peer(measure: Measure, results: Results, side: str, ours: float | None) -> tuple[str, str]:
    theirs = _value(measure, results, side)
    if theirs is None:
        return "", ""
    if ours is None:
        return _number(theirs), ""
    target = measure.python if side == "python" else measure.typescript
    times = theirs / ours
    return _number(theirs), f"{times:.1f}" if target is None else f"{times:.1f} ({_mark(times >= target)}of {target:g})"


def _value(measure: Measure, results: Results, side: str) -> float | None:
    try:
        return median(measure.read(one) for one in results[side])
    except KeyError:  # this side was not run, or has no such number
        return None


def _mark(met: bool) -> str:
    return "" if met else "missed, "


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _describe(setup: Setup) -> str:
    node = (
        subprocess.run([setup.node, "--version"], capture_output=True, text=True, check=False).stdout.strip()
        if (shutil.which(setup.node))
        else "none"
    )
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            line.split(":")[1].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    return (
        f"Python {platform.python_version()}, Node {node}, {platform.system()}, {os.cpu_count()} cores of {model}. "
        "Less is better; `times` is how often ours fits into theirs, with the figure it is held to."
    )


def _write(table: str) -> None:
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    README.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
