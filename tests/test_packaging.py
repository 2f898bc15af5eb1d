"""What a user gets: the wheel, installed into an environment of its own, and the documentation that runs there.

A page of documentation is run like this. A `python` block whose first line is `# file: NAME` is written to that
file in an empty folder. In a `console` block, a line that starts with `$ ` is a command, run in that folder with
the fresh environment first on PATH; the lines behind it, if any, are what it must print, where `...` stands for
anything. In README.md every `python` block has a name, and every file is used by a command or by another file.
"""

from __future__ import annotations

import ast
import doctest
import email
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SETUP_PATIENCE = 240
COMMAND_PATIENCE = 60

pytestmark = pytest.mark.timeout(SETUP_PATIENCE)

FENCE = re.compile(r"^```(?P<kind>\w*)[^\n]*\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"\A# file: (?P<name>[\w./-]+)\n")


@dataclass
class Command:
    line: str
    expected: str


@dataclass
class Page:
    """What one page of documentation says to write and to run."""

    files: dict[str, str] = field(default_factory=dict)
    nameless: list[str] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)

    def unused(self) -> list[str]:
        """Files that no command and no other file mentions."""
        return [
            name
            for name in self.files
            if not any(name in command.line for command in self.commands)
            and not any(name in text for other, text in self.files.items() if other != name)
        ]


def read_page(text: str) -> Page:
    page = Page()
    for fence in FENCE.finditer(text):
        body = fence["body"]
        if fence["kind"] == "console":
            page.commands += read_console(body)
        elif fence["kind"] == "python" and (name := NAME.match(body)):
            page.files[name["name"]] = body
        elif fence["kind"] == "python":
            page.nameless.append(body)
    return page


def read_console(body: str) -> list[Command]:
    commands: list[Command] = []
    for line in body.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            commands.append(Command(line[2:], ""))
        elif commands:
            commands[-1].expected += f"{line}\n"
    return commands


def run_page(page: Page, folder: Path, bin_folder: Path) -> None:
    for name, text in page.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for command in page.commands:
        run_command(command, folder, bin_folder)


def run_command(command: Command, folder: Path, bin_folder: Path) -> None:
    done = subprocess.run(
        command.line,
        shell=True,
        cwd=folder,
        env=clean_environment() | {"PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=COMMAND_PATIENCE,
        check=False,
    )
    report = f"$ {command.line}\n{done.stdout}\n--- stderr\n{done.stderr}"
    assert done.returncode == 0, report
    if command.expected.strip():
        assert matches(command.expected, done.stdout), f"{report}\n--- expected\n{command.expected}"


def matches(expected: str, got: str) -> bool:
    return doctest.OutputChecker().check_output(expected, got, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)


def clean_environment() -> dict[str, str]:
    """Ours without what would let the sources or another environment shine through."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "PYTHONWARNINGS", "VIRTUAL_ENV"}
    return {name: value for name, value in os.environ.items() if name not in hidden}


@dataclass
class Installed:
    wheel: Path
    bin: Path

    def run(self, *arguments: str, cwd: Path) -> str:
        command = [str(self.bin / arguments[0]), *arguments[1:]]
        done = subprocess.run(
            command,
            cwd=cwd,
            env=clean_environment(),
            capture_output=True,
            text=True,
            timeout=COMMAND_PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    setup(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel with its `cli` extra and the versions that we test with, in a fresh environment."""
    folder = tmp_path_factory.mktemp("fresh")
    versions = folder / "constraints.txt"
    pinned = [line.removesuffix("\\").strip() for line in read_lines(ROOT / "constraints-demo.txt") if "==" in line]
    versions.write_text("\n".join(pinned), encoding="utf-8")
    venv.create(folder / "venv", with_pip=True, symlinks=True)
    bin_folder = folder / "venv" / "bin"
    setup(
        str(bin_folder / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet",
        "--constraint", str(versions), f"{wheel}[cli]",
    )  # fmt: skip
    return Installed(wheel, bin_folder)


def setup(*command: str) -> None:
    done = subprocess.run(
        command, env=clean_environment(), capture_output=True, text=True, timeout=SETUP_PATIENCE, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    inside = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in inside}
    assert {"acpwire", wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info"} == top
    assert "acpwire/py.typed" in inside
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "acpwire").rglob("*.py")}
    assert {name for name in inside if name.endswith(".py")} == sources


def test_the_wheel_says_who_it_is(wheel):
    archive = zipfile.ZipFile(wheel)
    folder = f"{wheel.name.removesuffix('-py3-none-any.whl')}.dist-info"
    metadata = email.message_from_bytes(archive.read(f"{folder}/METADATA"))
    required = {
        re.split(r"[ \[<>=!~;]", line)[0] for line in metadata.get_all("Requires-Dist") if "extra ==" not in line
    }
    assert metadata["Name"] == "acpwire"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert required == {"msgspec"}
    assert {"all", "cli", "cluster", "http", "mcp", "otel"} == set(metadata.get_all("Provides-Extra"))
    assert "Apache License" in archive.read(f"{folder}/licenses/LICENSE").decode()


def test_the_installed_package_is_the_wheel(installed, tmp_path):
    program = "import acpwire; print(acpwire.__version__, acpwire.__file__)"
    version, path = installed.run("python", "-c", program, cwd=tmp_path).split(maxsplit=1)
    assert f"-{version}-" in installed.wheel.name
    assert Path(path.strip()).is_relative_to(installed.bin.parent)


def test_the_command_is_there(installed, tmp_path):
    assert "Usage" in installed.run("acpwire", "--help", cwd=tmp_path)


def test_without_the_extra_the_command_says_what_is_missing(wheel, tmp_path):
    """The console script is installed either way, so its failure is something a user will see."""
    shutil.unpack_archive(wheel, tmp_path / "site", "zip")
    program = (
        "import sys; sys.path.insert(0, 'site'); sys.modules['cyclopts'] = sys.modules['rich'] = None; "
        "from acpwire.cli.main import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "demo"],
        cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, timeout=COMMAND_PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "acpwire[cli]" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_example_of_the_readme_runs(installed, tmp_path):
    page = read_page((ROOT / "README.md").read_text(encoding="utf-8"))
    assert page.files, "the README has no example"
    assert not page.nameless, "a `python` block does not begin with `# file: NAME`:\n" + "\n".join(page.nameless)
    assert not page.unused()
    run_page(page, tmp_path, installed.bin)


DOCUMENTS = sorted((ROOT / "docs").rglob("*.md"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_example_of_the_documentation_runs(document, installed, tmp_path):
    page = read_page(document.read_text(encoding="utf-8"))
    for fragment in page.nameless:
        compile(fragment, str(document), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert not page.unused()
    run_page(page, tmp_path, installed.bin)


# The extractor itself.

SAMPLE = """
Text with `$ inline` code.

```python
# file: tools/number.py
print("one")
print("two", 3.14159)
```

```bash
$ never-run
```

```console
$ python tools/number.py
one
two 3.14...
$ python \\
  -c "import sys; print('a'); print('b'); print('c')"
a
...
c
$ true
```
"""


def test_a_page_is_read_as_it_is_written():
    page = read_page(SAMPLE)
    assert list(page.files) == ["tools/number.py"]
    assert [command.line.split()[0] for command in page.commands] == ["python", "python", "true"]
    assert page.commands[0].expected == "one\ntwo 3.14...\n"
    assert page.unused() == page.nameless == []


def test_a_page_runs_as_it_is_written(tmp_path):
    run_page(read_page(SAMPLE), tmp_path, Path(sys.executable).parent)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        pytest.param("two 3.14...", "two 3.15...", id="another-output"),
        pytest.param("\n$ true", "\n$ false", id="a-status"),
        pytest.param('print("one")', "import nowhere", id="an-exception"),
    ],
)
def test_a_page_that_lies_is_caught(good, bad, tmp_path):
    assert good in SAMPLE
    with pytest.raises(AssertionError):
        run_page(read_page(SAMPLE.replace(good, bad)), tmp_path, Path(sys.executable).parent)


def test_a_block_that_nothing_runs_is_caught():
    assert read_page(SAMPLE.replace("$ python tools/number.py", "$ true")).unused() == ["tools/number.py"]
    assert read_page(SAMPLE.replace("# file: tools/number.py\n", "")).nameless
