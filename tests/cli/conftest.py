"""The command as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

PATIENCE = 20.0


class Cli:
    """Runs `acpwire`; standard input, output and error are pipes."""

    command = (sys.executable, "-m", "acpwire")
    agent = (*command, "agent")

    def __call__(
        self, *arguments: str, stdin: str = "", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**os.environ, **(env or {})},
            timeout=PATIENCE,
            check=False,
        )

    def run(
        self, *options: str, agent: Sequence[str] | None = None, **settings: object
    ) -> subprocess.CompletedProcess[str]:
        """`acpwire run OPTIONS -- AGENT`, the directive agent unless told otherwise."""
        return self("run", *options, "--", *(self.agent if agent is None else agent), **settings)


@pytest.fixture(scope="session")
def cli() -> Cli:
    return Cli()
