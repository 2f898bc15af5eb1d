"""The ledger of requirements: what tests name exists, and no test claims too much.

`requirement_ids.csv` lists the requirements of both versions of the protocol. A test names those that it shows to
hold with the marker `req`; the summary of a run counts them.
"""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
MAX_IDS = 3

with (TESTS / "spec" / "requirement_ids.csv").open(newline="", encoding="utf-8") as source:
    ROWS = list(csv.DictReader(source))
KNOWN = {row["id"] for row in ROWS}


def named(text: str) -> Iterator[tuple[int, list[str]]]:
    """The line of each `req` marker in a module, and the ids it has; what is no plain string stands as its source.

    Ids that come out of a case file (`*case["rules"]`) are seen when the tests are collected: see below.
    """
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.req"):
            if any(isinstance(value, ast.Starred) for value in node.args):
                continue
            yield (
                node.lineno,
                [value.value if isinstance(value, ast.Constant) else ast.unparse(value) for value in node.args],
            )


def faults(text: str) -> list[str]:
    found = []
    for line, ids in named(text):
        if not 1 <= len(ids) <= MAX_IDS:
            found.append(f"{line}: one to {MAX_IDS} ids, not {len(ids)}")
        found += [f"{line}: there is no requirement {identifier}" for identifier in ids if identifier not in KNOWN]
    return found


def test_the_ledger_is_well_formed():
    assert len(KNOWN) == len(ROWS) == 884
    assert all(re.fullmatch(r"[A-Z0-9]+-\d\d", row["id"]) for row in ROWS)
    assert {row["strength"] for row in ROWS} == {"MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY"}
    assert {row["version"] for row in ROWS} == {"v1", "v2", "v1+v2"}
    assert {row["stability"] for row in ROWS} == {"stable", "unstable"}


def test_every_requirement_that_a_test_names_exists():
    modules = sorted(TESTS.rglob("test_*.py"))
    found = [
        f"{path.relative_to(TESTS)}:{fault}"
        for path in modules
        if "node_modules" not in path.parts
        for fault in faults(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


def test_no_test_of_this_run_names_more_than_three_or_one_that_is_not_there(request):
    for item in request.session.items:
        ids = {identifier for marker in item.iter_markers("req") for identifier in marker.args}
        assert len(ids) <= MAX_IDS, item.nodeid
        assert ids <= KNOWN, (item.nodeid, ids - KNOWN)


@pytest.mark.parametrize(
    "marker",
    [
        pytest.param('pytest.mark.req("META-99")', id="unknown"),
        pytest.param('pytest.mark.req("X-05")', id="a-contradiction-is-no-requirement"),
        pytest.param('pytest.mark.req("META-01", "META-02", "META-03", "META-04")', id="four"),
        pytest.param("pytest.mark.req()", id="none"),
        pytest.param('pytest.mark.req("META-" + NUMBER)', id="computed"),
    ],
)
def test_a_marker_that_is_wrong_is_found(marker):
    assert faults(f"@{marker}\ndef test_x(): ...")
    assert faults(f"CASES = [pytest.param(1, marks={marker})]")


def test_a_marker_that_is_right_passes():
    assert faults('@pytest.mark.req("META-01", "RPC-36")\ndef test_x(): ...') == []
