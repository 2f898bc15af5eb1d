"""What all tests share: patience, Hypothesis profiles, the peers, and the count of requirements shown to hold."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / ".peers"
PEER_SCRIPTS = ROOT / "tests" / "peers"
REQUIREMENTS = ROOT / "tests" / "spec" / "requirement_ids.csv"
MAX_IDS = 3

PATIENCE = 10.0
"""Seconds a test waits for an event that must come; a test that gets there has failed."""

settings.register_profile(
    "dev", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors]
)
settings.register_profile(
    "ci", settings.get_profile("dev"), max_examples=100, derandomize=True, database=None, print_blob=True
)
settings.register_profile("long", settings.get_profile("dev"), max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


def peers_required() -> bool:
    """Whether a peer test that cannot run is a failure: in CI, and where ACPWIRE_REQUIRE_PEERS is set."""
    return any(os.environ.get(name, "") not in {"", "0", "false"} for name in ("CI", "ACPWIRE_REQUIRE_PEERS"))


@dataclass(frozen=True)
class TypeScriptPeer:
    """The official TypeScript SDK and our scripts on it."""

    node: str
    directory: Path

    def command(self, script: str, *arguments: str) -> list[str]:
        """The command line that runs one of the scripts of tests/peers."""
        return [self.node, str(self.directory / script), *arguments]


@dataclass(frozen=True)
class PythonPeer:
    """The official Python SDK, in an environment of its own."""

    python: str

    def command(self, script: str, *arguments: str) -> list[str]:
        """The command line that runs one of the scripts of tests/peers."""
        return [self.python, str(PEER_SCRIPTS / script), *arguments]


class Peers:
    """The foreign implementations that `make peers-install` has put into place; asking for one may skip the test."""

    @cached_property
    def node(self) -> str:
        node = shutil.which("node")
        if node is None:
            pytest.skip("no `node` on PATH: install Node 20 or newer to run the tests against the TypeScript SDK")
        version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        if int(version.lstrip("v").split(".")[0]) < 20:
            pytest.skip(f"Node {version} is too old: the TypeScript SDK needs 20 or newer")
        return node

    @cached_property
    def typescript(self) -> TypeScriptPeer:
        node = self.node
        if not (PEER_SCRIPTS / "node_modules" / "@agentclientprotocol" / "sdk" / "package.json").is_file():
            pytest.skip("the TypeScript SDK is not installed: run `make peers-install`")
        return TypeScriptPeer(node, PEER_SCRIPTS)

    @cached_property
    def python_sdk(self) -> PythonPeer:
        python = PEERS / "python-sdk" / "bin" / "python"
        if not python.exists():
            pytest.skip("the Python SDK is not installed: run `make peers-install`")
        return PythonPeer(str(python))


@pytest.fixture(scope="session")
def peers() -> Peers:
    """The installed peers: `peers.typescript` and `peers.python_sdk`; for tests marked `peer`."""
    return Peers()


@pytest.fixture(scope="session")
def patience() -> float:
    """Seconds to wait at most for an event that must come."""
    return PATIENCE


def requirement_ids(item: pytest.Item) -> set[str]:
    """The ids that all `req` markers of a test name."""
    return {str(identifier) for marker in item.iter_markers("req") for identifier in marker.args}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    crowded = [f"{item.nodeid}: {sorted(ids)}" for item in items if len(ids := requirement_ids(item)) > MAX_IDS]
    if crowded:
        raise pytest.UsageError(f"tests that name more than {MAX_IDS} requirements:\n" + "\n".join(crowded))


_shown: set[str] = set()
_broken: set[str] = set()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and item.get_closest_marker("peer") and peers_required():
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"a peer test may not be skipped here: {reason}"
    if report.failed:
        _broken.update(requirement_ids(item))
    elif report.passed and call.when == "call":
        _shown.update(requirement_ids(item))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    shown = _shown - _broken
    if not shown or terminalreporter.verbosity < 0:
        return
    with REQUIREMENTS.open(newline="", encoding="utf-8") as source:
        known = {row["id"] for row in csv.DictReader(source)}
    total, named = (Counter(identifier.rsplit("-", 1)[0] for identifier in ids) for ids in (known, shown & known))
    terminalreporter.section(f"requirements: {len(shown & known)} of {len(known)} named by passing tests")
    cells = [f"{area} {named[area]}/{total[area]}" for area in sorted(total) if named[area]]
    for start in range(0, len(cells), 8):
        terminalreporter.line("".join(f"{cell:<14}" for cell in cells[start : start + 8]).rstrip())
