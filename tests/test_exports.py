"""The public names: each is there, each has one home, and none costs an extra that nobody asked for."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import inspect
import json
import pkgutil
import subprocess
import sys

import pytest

import acpwire

EXTRAS = {"cyclopts", "httpx2", "mcp", "nats", "opentelemetry", "rich", "starlette", "uvicorn", "websockets"}
MODULES = ["acpwire", *sorted(module.name for module in pkgutil.walk_packages(acpwire.__path__, "acpwire."))]


def load(name: str):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing in EXTRAS and importlib.util.find_spec(missing) is None:
            pytest.skip(f"the extra that installs `{missing}` is not here")
        raise


def modules_after(statement: str) -> set[str]:
    """What a fresh interpreter has loaded after a statement."""
    program = f"import json, sys; {statement}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    return set(json.loads(done.stdout))


def roots(modules: set[str]) -> set[str]:
    return {name.split(".")[0] for name in modules}


@pytest.mark.parametrize("name", MODULES)
def test_every_exported_name_is_there(name):
    module = load(name)
    missing = [exported for exported in getattr(module, "__all__", []) if not hasattr(module, exported)]
    assert not missing


def defined(module) -> dict[str, str]:
    """The classes and functions that a module exports, and where each is defined; other values do not know."""
    values = {exported: getattr(module, exported) for exported in getattr(module, "__all__", [])}
    homes = {
        name: value.__module__ for name, value in values.items() if inspect.isclass(value) or inspect.isfunction(value)
    }
    return {name: home for name, home in homes.items() if home.startswith("acpwire")}


def is_private(name: str) -> bool:
    return name.rsplit(".", 1)[-1].startswith("_")


@pytest.mark.parametrize("name", [name for name in MODULES if name != "acpwire"])
def test_a_module_exports_what_is_its_own(name):
    """Only a package, or a module in front of an underscored one, passes on names, and only of its own room."""
    module = load(name)
    room = ".".join(name.split(".")[:2])
    strangers = {
        exported: home
        for exported, home in defined(module).items()
        if home != name and not (home.startswith(f"{room}.") and (hasattr(module, "__path__") or is_private(home)))
    }
    assert not strangers


def test_every_name_is_public_in_one_place():
    places: dict[tuple[str, str], list[str]] = {}
    for name in MODULES:
        if is_private(name) or importlib.util.find_spec(name).submodule_search_locations is not None:
            continue
        for exported, home in defined(importlib.import_module(name)).items():
            places.setdefault((home, exported), []).append(name)
    assert not {what: where for what, where in places.items() if len(where) > 1}


def test_the_front_page_has_no_surprises():
    assert set(acpwire.__all__) <= set(dir(acpwire))
    with pytest.raises(AttributeError, match="no_such_name"):
        acpwire.no_such_name  # noqa: B018


def test_importing_the_package_costs_next_to_nothing():
    loaded = modules_after("import acpwire")
    assert not roots(loaded) & (EXTRAS | {"asyncio", "msgspec"})
    assert {name for name in loaded if name.startswith("acpwire")} == {"acpwire"}


def test_no_public_name_loads_an_extra():
    loaded = modules_after("import acpwire; [getattr(acpwire, name) for name in acpwire.__all__]")
    assert "acpwire.app.agent" in loaded
    assert not roots(loaded) & EXTRAS


def test_no_public_name_loads_what_only_tests_and_commands_use():
    loaded = modules_after("import acpwire; [getattr(acpwire, name) for name in acpwire.__all__]")
    assert not {name for name in loaded if name.startswith(("acpwire.testing", "acpwire.cli", "acpwire.protocol.v1."))}


def test_the_version_is_the_installed_one():
    try:
        installed = importlib.metadata.version("acpwire")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("acpwire is not installed, only on the path")
    assert acpwire.__version__ == installed
