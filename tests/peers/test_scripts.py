"""That the peers are in working order, so that a failure against one of them is ours."""

from __future__ import annotations

import json
import subprocess

import pytest

pytestmark = pytest.mark.peer


def events(peers, patience, *options: str) -> list[dict]:
    """What the TypeScript client tells of its talk with the TypeScript agent; nothing on stderr means all was understood."""
    agent = peers.typescript.command("agent.mjs")
    command = peers.typescript.command("client.mjs", *options, "--", *agent)
    done = subprocess.run(command, capture_output=True, text=True, timeout=patience, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_typescript_scripts_understand_each_other(peers, patience):
    told = events(
        peers, patience, "--prompt", "hello", "--prompt", "permission", "--note", "_peer/note", "--ext", "_peer/notes"
    )
    texts = [event["update"].get("content", {}) for event in told if event["event"] == "update"]
    said = "".join(content.get("text", "") for content in texts if isinstance(content, dict))
    assert said == "echo: hello.outcome selected yes-once"
    assert [event["stopReason"] for event in told if event["event"] == "stop"] == ["end_turn", "end_turn"]
    assert {"event": "ext_response", "response": {"notes": [{"x": 1, "none": None}]}} in told
    assert told[-2:] == [{"event": "exited", "code": 0, "signal": None}, {"event": "done"}]


def test_the_typescript_scripts_can_cancel(peers, patience):
    told = events(peers, patience, "--prompt", "flood", "--cancel-after", "10", "--close")
    assert [event["stopReason"] for event in told if event["event"] == "stop"] == ["cancelled"]


def test_the_python_sdk_can_be_imported(peers, patience):
    program = "import acp, importlib.metadata as m; print(m.version('agent-client-protocol'))"
    done = subprocess.run(
        [peers.python_sdk.python, "-c", program], capture_output=True, text=True, timeout=patience, check=True
    )
    assert done.stdout == "0.12.1\n"
