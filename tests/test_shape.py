"""The shape of the sources: who may import whom, how long things may be, what must be said about them.

The checks are functions from a module's syntax tree to findings, so that `OFFENDERS` below can show that each of
them finds something.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parent.parent / "src" / "acpwire"

# Room: rooms that it may import from besides itself. Rows from the bottom; never sideways, never up.
GROUND = {"errors", "types"}
ROOMS: dict[str, set[str]] = {
    "types": set(),
    "errors": {"types"},
    "patch": GROUND,
    "protocol": GROUND | {"patch"},
    "jsonrpc": GROUND,
    "state": GROUND | {"patch", "protocol"},
    "transports": GROUND | {"jsonrpc.transport"},
    "journal": GROUND,
    "bridge": GROUND | {"patch", "protocol", "state"},
    "wire": GROUND | {"patch", "protocol", "jsonrpc", "state", "transports", "journal", "bridge"},
}
ROOMS["app"] = ROOMS["services"] = ROOMS["wire"] | {"wire"}
ROOMS["proxy"] = ROOMS["app"] | {"app", "services"}
ROOMS["gateway"] = ROOMS["inspector"] = ROOMS["testing"] = ROOMS["proxy"] | {"proxy"}
ROOMS["cli"] = ROOMS["gateway"] | {"gateway", "inspector", "testing"}
ROOMS["__main__"] = {"cli"}
ROOMS[""] = ROOMS["app"] | {"app"}  # `acpwire/__init__.py`, which resolves its names lazily

# What a room may import of other packages, besides msgspec: what its extra installs.
PACKAGES: dict[str, set[str]] = {
    "transports": {"httpx2", "websockets"},
    "journal": {"nats"},
    "proxy": {"mcp"},
    "gateway": {"starlette", "uvicorn", "httpx2", "websockets", "nats", "opentelemetry"},
    "inspector": {"starlette", "uvicorn"},
    "testing": {"httpx2", "websockets"},
    "cli": {"cyclopts", "rich"},
}

# Time, chance and the outside world are passed in everywhere else.
WORLDLY = {"asyncio", "time", "random", "os", "socket"}
WORLDLY_ROOMS = set(ROOMS) - {"", "types", "errors", "patch", "protocol", "jsonrpc", "state", "bridge"}
WORLDLY_MODULES = {"jsonrpc.connection"}
SPLITTERS = {"transports._ndjson", "transports._sse"}

# Imports inside functions are for extras. Apart from those:
LATE = {
    ("errors", "signal"): "needed to word one error only; import time counts",
    ("*", "fcntl"): "POSIX alone",
    ("*", "termios"): "POSIX alone",
    ("*", "msvcrt"): "Windows alone",
}

MODULE_LINES, HALF_OF_MODULES = 500, 150
FUNCTION_LINES, MOST_FUNCTIONS = 50, 30
CLASS_LINES = 300
BRANCHES = 12
PARAMETERS = 7
TABLE_LINES = 10
"""A collection of at least so many lines, bound to a name of the module, is a table and does not count."""

FORBIDDEN_MODULES = re.compile(r"^_?(utils?|helpers?|common|core|misc)$|_part\d+$")
FORBIDDEN_NAMES = re.compile(r"Manager|Helper|^Base[A-Z]")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One module: its dotted name below `acpwire`, whether it is a package, and its text."""

    name: str
    text: str
    package: bool = False

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def room(self) -> str:
        return self.name.split(".")[0]

    @cached_property
    def code(self) -> frozenset[int]:
        """The numbers of the lines that hold code: not blank, no comment, no docstring."""
        silent = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
        lines: set[int] = set()
        for token in self.tokens:
            if token.type not in silent:
                lines.update(range(token.start[0], token.end[0] + 1))
        for node in ast.walk(self.tree):
            if is_docstring(node):
                lines.difference_update(span(node))
        return frozenset(lines)

    @cached_property
    def tokens(self) -> list[tokenize.TokenInfo]:
        return [t for t in tokenize.generate_tokens(io.StringIO(self.text).readline) if t.type != tokenize.ENDMARKER]

    @cached_property
    def exported(self) -> list[str]:
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["__all__"]:
                return list(ast.literal_eval(node.value))
        return []

    @cached_property
    def functions(self) -> list[Function]:
        return [node for node in ast.walk(self.tree) if isinstance(node, Function)]

    def length(self, node: ast.AST) -> int:
        return len(self.code.intersection(span(node)))

    def imports(self) -> Iterator[tuple[str, list[str], bool]]:
        """Each imported module as an absolute dotted name, the names taken from it, and whether that happens late."""
        late = {id(inner) for function in self.functions for inner in ast.walk(function)}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, [], id(node) in late) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield self._absolute(node), [alias.name for alias in node.names], id(node) in late

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = ["acpwire", *filter(None, self.name.split("."))]
        parts = parts[: len(parts) - node.level + (1 if self.package else 0)]
        return ".".join([*parts, *filter(None, [node.module])])


def is_docstring(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def span(node: ast.AST) -> range:
    return range(node.lineno, node.end_lineno + 1)


def load() -> list[Module]:
    modules = []
    for path in sorted(SOURCES.rglob("*.py")):
        *folders, stem = path.relative_to(SOURCES).with_suffix("").parts
        package = stem == "__init__"
        name = ".".join(folders if package else [*folders, stem])
        modules.append(Module(name, path.read_text(encoding="utf-8"), package))
    return modules


def below(name: str, roots: set[str]) -> bool:
    return any(name == root or name.startswith(f"{root}.") for root in roots)


# The checks: each yields what is wrong with a module.


def imports_of_rooms(module: Module) -> Iterator[str]:
    allowed = ROOMS.get(module.room)
    if allowed is None:
        yield f"`{module.room}` is no room: give it a row in ROOMS"
        return
    for target, names, _ in module.imports():
        root, _, inside = target.partition(".")
        if root != "acpwire":
            continue
        wanted = [inside] if inside else [name for name in names if name != "__version__"]
        for want in wanted:
            if not below(want, allowed | ({module.room} if module.room else set())):
                yield f"imports `{want}`, which is not below `{module.room or 'acpwire'}`"


def imports_across_versions(module: Module) -> Iterator[str]:
    own = module.name.split(".")[1:2] if module.room == "protocol" else []
    banned = {"v1": {"v2"}, "v2": {"v1"}, "shared": {"v1", "v2"}}.get(own[0], set()) if own else set()
    if module.room == "state":
        banned = {"v1"}
    for target, names, _ in module.imports():
        reached = set(target.split(".")) | ({*names} if target.endswith("protocol") else set())
        if target.startswith("acpwire.protocol") and (both := reached & banned):
            yield f"imports the other version: {', '.join(sorted(both))}"


def imports_of_packages(module: Module) -> Iterator[str]:
    allowed = PACKAGES.get(module.room, set()) | {"msgspec", "acpwire", "__future__"}
    for target, _, _ in module.imports():
        root = target.split(".")[0]
        if root not in allowed and root not in sys.stdlib_module_names:
            yield f"imports the package `{root}`, which `{module.room}` may not"


def imports_of_the_world(module: Module) -> Iterator[str]:
    if module.name in WORLDLY_MODULES or (module.room in WORLDLY_ROOMS and module.name not in SPLITTERS):
        return
    for target, _, _ in module.imports():
        if (root := target.split(".")[0]) in WORLDLY:
            yield f"imports `{root}`: pass in what it is wanted for"


def late_imports(module: Module) -> Iterator[str]:
    if module.room == "cli":
        return  # a command loads what it runs, and no other command's
    extras = PACKAGES.get(module.room, set())
    for target, _, late in module.imports():
        root = target.split(".")[0]
        if late and root not in extras and (module.name, root) not in LATE and ("*", root) not in LATE:
            yield f"imports `{target}` inside a function, and it is no extra"


def lengths(module: Module) -> Iterator[str]:
    tables = sum(module.length(node) for node in module.tree.body if is_table(node))
    if (lines := len(module.code) - tables) > MODULE_LINES:
        yield f"has {lines} lines of code: {MODULE_LINES} are allowed"
    for node in ast.walk(module.tree):
        if isinstance(node, Function) and (lines := module.length(node)) > FUNCTION_LINES:
            yield f"function `{node.name}` has {lines} lines: {FUNCTION_LINES} are allowed"
        if isinstance(node, ast.ClassDef) and (lines := module.length(node)) > CLASS_LINES:
            yield f"class `{node.name}` has {lines} lines: {CLASS_LINES} are allowed"


def is_table(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None or len(span(node)) < TABLE_LINES:
        return False
    calls = any(isinstance(inner, ast.Lambda | ast.comprehension) for inner in ast.walk(node.value))
    return not calls


def widths(module: Module) -> Iterator[str]:
    for function in module.functions:
        if (count := parameters(function)) > PARAMETERS:
            yield f"function `{function.name}` has {count} parameters: {PARAMETERS} are allowed"
        if (count := branches(function)) > BRANCHES:
            yield f"function `{function.name}` has {count} branches: {BRANCHES} are allowed"


def parameters(function: Function) -> int:
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len(names[1:] if names[:1] in (["self"], ["cls"]) else names)


def branches(function: Function) -> int:
    """The branches of a function; those of functions inside it are theirs, and a `match` of single steps is a table."""
    count = 0
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, Function | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Match):
            count += sum(len(case.body) > 1 for case in node.cases) or 1
        count += isinstance(node, ast.If | ast.For | ast.AsyncFor | ast.While | ast.ExceptHandler)
        waiting.extend(ast.iter_child_nodes(node))
    return count


def names(module: Module) -> Iterator[str]:
    if FORBIDDEN_MODULES.search(module.name.rsplit(".", 1)[-1]):
        yield "has a name that says nothing"
    for name in module.exported:
        if FORBIDDEN_NAMES.search(name):
            yield f"`{name}` is no public name: no Manager, Helper or Base..."


def exports(module: Module) -> Iterator[str]:
    if module.exported != sorted(module.exported, key=export_order):
        yield f"`__all__` is not sorted: {sorted(module.exported, key=export_order)}"
    if len(set(module.exported)) != len(module.exported):
        yield "`__all__` names something twice"


def export_order(name: str) -> tuple[int, list[tuple[str, int]]]:
    """Constants, then classes, then the rest; numbers inside by value. The order that ruff applies."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, [(text, int(number or 0)) for text, number in re.findall(r"(\D*)(\d*)", name)]


def docstrings(module: Module) -> Iterator[str]:
    if not ast.get_docstring(module.tree) and module.code:
        yield "has no docstring"
    exported = set(module.exported)
    for node, after in followed(module.tree.body):
        if isinstance(node, Function | ast.ClassDef) and node.name in exported:
            yield from undocumented(module, node)
        for name, documented in bound(node, after):
            if name in exported and not name.isupper() and not documented:
                yield f"`{name}` is exported and has no docstring"


def followed(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, ast.stmt | None]]:
    """Each statement with the one behind it, where the docstring of a name would be."""
    return zip_longest(body, body[1:])


def bound(node: ast.stmt, after: ast.stmt | None) -> Iterator[tuple[str, bool]]:
    """The names that a statement of a module binds, each with whether a docstring follows.

    A type that looks different to a checker and at run time is bound in both arms of an `if`; its docstring stands
    behind it in the first arm, or behind the whole.
    """
    if isinstance(node, ast.Assign):
        yield from ((target.id, is_docstring(after)) for target in node.targets if isinstance(target, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, is_docstring(after)
    elif isinstance(node, ast.If):
        for inner, following in followed(node.body):
            yield from bound(inner, after if following is None else following)


def undocumented(module: Module, node: Function | ast.ClassDef) -> Iterator[str]:
    if not ast.get_docstring(node) and not is_overload(node):
        yield f"`{node.name}` is exported and has no docstring"
    if not isinstance(node, ast.ClassDef):
        return
    for inner, after in followed(node.body):
        if isinstance(inner, Function) and not inner.name.startswith("_") and not is_overload(inner):
            if not ast.get_docstring(inner):
                yield f"`{node.name}.{inner.name}` has no docstring"
        elif module.room == "protocol" and is_struct(node) and is_wire_field(inner) and not is_docstring(after):
            yield f"the field `{node.name}.{ast.unparse(inner.target)}` has no docstring"


def is_overload(node: Function | ast.ClassDef) -> bool:
    words = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
    return bool(words & {"overload", "override", "setter"})


def is_struct(node: ast.ClassDef) -> bool:
    return any(keyword.arg == "frozen" for keyword in node.keywords)


def is_wire_field(node: ast.stmt) -> bool:
    if not isinstance(node, ast.AnnAssign):
        return False
    name = ast.unparse(node.target)
    # What `_meta` is does not change from struct to struct; see `protocol.base`.
    return not name.startswith("_") and name != "meta" and "ClassVar" not in ast.unparse(node.annotation)


def reasons(module: Module) -> Iterator[str]:
    comments = {token.start[0] for token in module.tokens if token.type == tokenize.COMMENT}
    imported = {n for node in ast.walk(module.tree) if isinstance(node, ast.ImportFrom) for n in span(node)}
    for token in module.tokens:
        line = token.start[0]
        if token.type == tokenize.NAME and token.string == "Any" and line not in comments | imported:
            yield f"line {line} has an `Any` without its reason"


def prints(module: Module) -> Iterator[str]:
    if module.room in {"cli", "testing"}:
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
            yield f"line {node.lineno} prints"


CHECKS = [
    imports_of_rooms,
    imports_across_versions,
    imports_of_packages,
    imports_of_the_world,
    late_imports,
    lengths,
    widths,
    names,
    exports,
    docstrings,
    reasons,
    prints,
]

MODULES = load()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_module_has_the_shape_that_was_agreed(check):
    findings = [f"acpwire.{module.name}: {finding}" for module in MODULES for finding in check(module)]
    assert not findings, "\n".join(["", *findings])


def test_half_of_the_modules_are_short():
    sizes = sorted(len(module.code) for module in MODULES)
    assert sizes[len(sizes) // 2] < HALF_OF_MODULES, sizes


def test_nearly_all_functions_are_short():
    sizes = [module.length(function) for module in MODULES for function in module.functions]
    long = sum(size >= MOST_FUNCTIONS for size in sizes)
    assert long <= 0.05 * len(sizes), f"{long} of {len(sizes)} functions have {MOST_FUNCTIONS} lines or more"


# The test of the test: what each check must find, and what it must let pass.

LONG = "    x = 1\n"
OFFENDERS = [
    pytest.param(imports_of_rooms, "patch.meta", "from ..protocol.base import Object", id="up"),
    pytest.param(imports_of_rooms, "jsonrpc.peer", "from ..protocol import v2", id="sideways"),
    pytest.param(imports_of_rooms, "services.files", "from ..app.agent import Agent", id="app-and-services"),
    pytest.param(imports_of_rooms, "transports.stdio", "from ..jsonrpc.peer import Peer", id="more-than-the-contract"),
    pytest.param(imports_of_rooms, "wire.router", "import acpwire.app.agent", id="absolute"),
    pytest.param(imports_of_rooms, "wire.router", "from .. import app", id="from-the-package"),
    pytest.param(imports_of_rooms, "app.agent", "from .. import Agent", id="the-lazy-face"),
    pytest.param(imports_of_rooms, "gateway.hub", "from ..testing.pair import pair", id="testing"),
    pytest.param(imports_of_rooms, "testing.pair", "from ..cli.main import main", id="cli"),
    pytest.param(
        imports_of_rooms,
        "state.session",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..wire.connection import Connection",
        id="for-type-checkers",
    ),
    pytest.param(imports_of_rooms, "state.session", "def f():\n    from ..wire import connection", id="late"),
    pytest.param(imports_of_rooms, "attic.trunk", "x = 1", id="no-room"),
    pytest.param(imports_across_versions, "protocol.v2.plan", "from ..v1.plan import Plan", id="v1-in-v2"),
    pytest.param(imports_across_versions, "protocol.v1.plan", "from .. import v2", id="v2-in-v1"),
    pytest.param(imports_across_versions, "protocol.shared.text", "from ..v2.plan import Plan", id="v2-in-shared"),
    pytest.param(imports_across_versions, "state.session", "from ..protocol.v1.plan import Plan", id="v1-in-state"),
    pytest.param(imports_of_packages, "wire.connection", "import httpx2", id="package"),
    pytest.param(imports_of_packages, "app.agent", "from rich.console import Console", id="package-of-another-room"),
    pytest.param(imports_of_the_world, "state.session", "import time", id="clock"),
    pytest.param(imports_of_the_world, "jsonrpc.peer", "from asyncio import Queue", id="loop"),
    pytest.param(imports_of_the_world, "transports._ndjson", "import os.path", id="splitter"),
    pytest.param(late_imports, "wire.connection", "def f():\n    import json", id="late-standard-library"),
    pytest.param(late_imports, "app.agent", "async def f():\n    from .turn import Turn", id="late-own-room"),
    pytest.param(lengths, "wire.x", "x = 1\n" * 501, id="module"),
    pytest.param(lengths, "wire.x", f"def f():\n{LONG * 50}", id="function"),
    pytest.param(lengths, "wire.x", f"class X:\n{LONG * 300}", id="class"),
    pytest.param(widths, "wire.x", "def f(a, b, c, d, /, e, *, f, g, h): ...", id="parameters"),
    pytest.param(widths, "wire.x", "class X:\n    async def f(self, a, b, c, d, e, f, g, h): ...", id="method"),
    pytest.param(widths, "wire.x", "def f(x):\n" + "    if x: pass\n" * 13, id="branches"),
    pytest.param(
        widths, "wire.x", "def f(x):\n  match x:\n" + "    case 1:\n      x = 2\n      x = 3\n" * 13, id="cases"
    ),
    pytest.param(names, "wire.utils", "x = 1", id="utils"),
    pytest.param(names, "app._helpers", "x = 1", id="helpers"),
    pytest.param(names, "app.session_part2", "x = 1", id="part-two"),
    pytest.param(names, "app.session", '__all__ = ["SessionManager"]', id="manager"),
    pytest.param(names, "app.session", '__all__ = ["BaseSession"]', id="base"),
    pytest.param(exports, "app.session", '__all__ = ["b", "a"]', id="unsorted"),
    pytest.param(exports, "app.session", '__all__ = ["Class", "CONSTANT"]', id="constants-first"),
    pytest.param(exports, "app.session", '__all__ = ["a", "a"]', id="twice"),
    pytest.param(docstrings, "app.x", "x = 1", id="module-docstring"),
    pytest.param(docstrings, "app.x", '"""X."""\n__all__ = ["f"]\ndef f(): ...', id="function-docstring"),
    pytest.param(docstrings, "app.x", '"""X."""\n__all__ = ["X"]\nclass X: ...', id="class-docstring"),
    pytest.param(docstrings, "app.x", '"""X."""\n__all__ = ["Id"]\nId = int | str', id="alias-docstring"),
    pytest.param(
        docstrings,
        "app.x",
        '"""X."""\n__all__ = ["X"]\nclass X:\n    """X."""\n    def f(self): ...',
        id="method-docstring",
    ),
    pytest.param(
        docstrings,
        "protocol.x",
        '"""X."""\n__all__ = ["X"]\nclass X(S, frozen=True):\n    """X."""\n    a: int\n    b: int\n    """B."""',
        id="field-docstring",
    ),
    pytest.param(reasons, "app.x", "from typing import Any\nx: Any = 1", id="any"),
    pytest.param(prints, "app.x", "def f():\n    print(1)", id="print"),
]

PASSES = [
    pytest.param("wire.router", "from ..jsonrpc.peer import Peer\nfrom ..protocol import v1, v2", id="downwards"),
    pytest.param("wire.router", "from .. import __version__", id="version"),
    pytest.param("transports.websocket", "def f():\n    import websockets", id="late-extra"),
    pytest.param("transports.stdio", "import asyncio, os\nfrom ..jsonrpc.transport import Frame", id="world"),
    pytest.param("jsonrpc.connection", "import asyncio", id="shell"),
    pytest.param("cli.main", "def f():\n    from ..gateway.server import serve\n    print(1)", id="cli"),
    pytest.param("wire.x", "X = {\n" + "".join(f"    {n}: {n},\n" for n in range(600)) + "}", id="table"),
    pytest.param("wire.x", "def f():\n" + "    # why\n\n" * 60 + '    """Long."""\n    x = 1', id="comments"),
    pytest.param("wire.x", "def f(x):\n  match x:\n" + "    case 1:\n      x = 2\n" * 20, id="table-of-cases"),
    pytest.param("wire.x", "class X:\n    def f(self, a, b, c, d, e, f, g, *h, **i): ...", id="seven-parameters"),
    pytest.param("app.x", "from typing import Any\nx: Any = 1  # any: it is passed on", id="any-with-its-reason"),
    pytest.param("app.x", '__all__ = ["A_B", "Ab", "Ac2", "Ac10", "a"]', id="sorted"),
]


@pytest.mark.parametrize(("check", "name", "text"), OFFENDERS)
def test_an_offence_is_found(check, name, text):
    assert list(check(Module(name, text)))


@pytest.mark.parametrize(("name", "text"), PASSES)
def test_what_is_allowed_passes(name, text):
    module = Module(name, f'"""A module."""\n{text}')
    assert [finding for check in CHECKS if check is not docstrings for finding in check(module)] == []


def test_every_check_has_an_offender():
    assert {case.values[0] for case in OFFENDERS} == set(CHECKS)
