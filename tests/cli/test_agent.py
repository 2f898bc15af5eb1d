"""`acpwire agent` as a process."""

from __future__ import annotations

import json
import sys

from acpwire.cli.agent import HELP, agent
from acpwire.testing.driver import RawDriver

COMMAND = [sys.executable, "-m", "acpwire", "agent"]


async def test_it_answers_on_stdio_and_ends_with_its_input() -> None:
    async with RawDriver.spawn(COMMAND) as driver:
        params = {"protocolVersion": 2, "info": {"name": "t", "version": "1"}}
        await driver.send_line({"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": params})
        answer = await driver.read_response("a")
        assert answer["result"]["info"]["name"] == "acpwire-directive"
        assert "session" in json.dumps(answer["result"]["capabilities"])
        await driver.close_stdin()
        assert await driver.wait() == 0
        assert driver.stderr == ""


def test_it_has_help_of_its_own(capsys) -> None:
    assert agent(["--help"]) == agent(["-h"]) == 0
    assert capsys.readouterr().out == HELP * 2


def test_it_takes_no_argument(capsys) -> None:
    assert agent(["--journal", "x"]) == 2
    assert capsys.readouterr().err.startswith("acpwire agent: takes no argument, not '--journal'")
