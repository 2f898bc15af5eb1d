"""The command line: which command runs, and what it says when it makes no sense."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import acpwire
from acpwire.cli.main import main


def test_help_names_the_commands_and_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--help"]):
        assert main(arguments) == 0
        shown = capsys.readouterr().out
        for word in ("Usage", "agent", "demo", "run", "Examples:", "acpwire demo"):
            assert word in shown


@pytest.mark.parametrize("command", ["demo", "run", "agent"])
def test_each_command_has_help_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert "Examples:" in capsys.readouterr().out


def test_the_help_of_run_says_what_the_exit_status_means(capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for status in ("0 the turn ended by itself", "1 it failed", "2 the command line", "3 the turn ended", "130 it was"):
        assert status in shown


def test_the_version_is_the_packages_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == acpwire.__version__


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["nope"], 'Unknown command "nope"', id="command"),
        pytest.param(["run", "--nope", "--", "x"], "Unknown option", id="option"),
        pytest.param(["run", "-p", "x"], "the agent's command is missing", id="no-agent"),
        pytest.param(["run", "-p", "", "--", "x"], "the prompt is empty", id="no-prompt"),
        pytest.param(["run", "-p", "x", "--protocol", "1", "--", "x"], "version 1 .* not supported yet", id="v1"),
        pytest.param(["run", "-p", "x", "--protocol", "3", "--", "x"], "Choose from: 1, 2", id="v3"),
        pytest.param(["run", "-p", "x", "--permission", "no", "--", "x"], "Choose from: .*ask", id="permission"),
        pytest.param(["run", "-p", "x", "--cwd", "/no/such", "--", "x"], "/no/such is not a directory", id="cwd"),
        pytest.param(["run", "-p", "x", "--start-timeout", "0", "--", "x"], "above 0", id="zero"),
        pytest.param(["run", "-p", "x", "--start-timeout", "soon", "--", "x"], "soon", id="no-number"),
        pytest.param(["demo", "x"], "x", id="too-much"),
        pytest.param(["agent", "x"], "takes no argument", id="agent"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_one_line_and_status_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert shown.err.startswith("acpwire")
    assert re.search(message, shown.err)


@pytest.mark.parametrize("missing", ["cyclopts", "rich"])
def test_without_the_extra_one_line_says_how_to_get_it(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(["demo"]) == 1
    assert capsys.readouterr().err == f"acpwire: this command needs {missing}: pip install 'acpwire[cli]'\n"


def test_the_agent_loads_no_extra_and_works_without_them() -> None:
    program = (
        "import sys; sys.modules['cyclopts'] = sys.modules['rich'] = None; "
        "from acpwire.cli.main import main; status = main(['agent']); "
        "print(sorted(name for name in sys.modules if name.split('.')[0] in ('cyclopts', 'rich')), file=sys.stderr); "
        "sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", program], input=b"", capture_output=True, timeout=20, check=False)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.strip() == b"['cyclopts', 'rich']"  # the two that were taken away
