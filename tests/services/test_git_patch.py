"""Patches, made and applied: by us, and by the real Git."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpwire.errors import LocalProtocolError
from acpwire.protocol.v2.diff import DiffAdd, DiffCopy, DiffDelete, DiffModify, DiffMove
from acpwire.services import git_patch
from acpwire.services.git_patch import DIRECTORY, EXECUTABLE, REGULAR, SYMLINK, FileChange

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="no `git` on PATH")

CONTENTS = st.one_of(
    st.lists(st.sampled_from(["a\n", "b\n", "\n", "c\r\n", "\u2028\n", "é\n", "\x0c\n", "d"]), max_size=30).map(
        "".join
    ),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
)
NAMES = ["plain.txt", "with space", "caf\u00e9", 'quo"te', "ta\tb", "back\\slash", "new\nline", " edge "]
PAIRS = [
    pytest.param("a\nb\nc\n", "a\nB\nc\n", id="one line"),
    pytest.param("a\nb", "a\nb\nc\n", id="line feed comes"),
    pytest.param("a\nb\n", "a\nb", id="line feed goes"),
    pytest.param("a\r\nb\r\n", "a\r\nc\r\n", id="carriage returns"),
    pytest.param("a\u2028b\x0cc\x85d\n", "a\u2028b\x0cc\x85e\n", id="other separators"),
    pytest.param("", "a\n", id="from empty"),
    pytest.param("a\n", "", id="to empty"),
    pytest.param("".join(f"{n}\n" for n in range(40)), "".join(f"{n}\n" for n in range(1, 40) if n != 20), id="far"),
    pytest.param("- a\n+++ b\n@@ c\n", "--- a\n+++ b\ndiff --git x y\n", id="lines that look like a patch"),
]


def run_git(*arguments: str, cwd: object, text: str = "", status: int = 0) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    environment = {name: value for name, value in environment.items() if name not in {"GIT_DIR", "GIT_WORK_TREE"}}
    done = subprocess.run(
        ["git", *arguments], cwd=cwd, input=text.encode(), capture_output=True, env=environment, timeout=30, check=False
    )
    assert done.returncode == status, (done.stderr, text)
    return done.stdout.decode()


def git_apply(diff, cwd) -> None:
    """The patch as it is: absolute paths, nothing stripped, and no repository."""
    run_git("apply", "-p0", "--unsafe-paths", "--whitespace=nowarn", "-", cwd=cwd, text=diff.patch.text)


def git_apply_below(diff, cwd) -> None:
    """The same for sections without `---` and `+++`: where only `diff --git` has a name, Git wants it relative.

    Two parts of each path are stripped: the empty one before the first slash, and the folder in which Git runs.
    """
    run_git("apply", "-p2", "-", cwd=Path("/", cwd.parts[1]), text=diff.patch.text)


def only(diff):
    (section,) = git_patch.read(diff.patch.text)
    return section


@given(CONTENTS, CONTENTS)
@pytest.mark.req("DIFF-05", "DIFF-07", "DIFF-09")
def test_applying_a_patch_makes_the_new_text_of_the_old(old, new):
    diff = git_patch.diff("/w/x y", old, new)
    if old == new:
        assert diff.changes == ()
        assert diff.patch is None
        return
    section = only(diff)
    assert section.path == diff.changes[0].path
    assert git_patch.apply(section, old) == new
    assert git_patch.apply(section, old.encode()) == new.encode()


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_applying_a_patch_with_binaries_makes_the_new_bytes_of_the_old(old, new):
    diff = git_patch.make([FileChange.modify("/w/x", old, new)], binary=True)
    if old != new:
        assert git_patch.apply(only(diff), old) == new


@needs_git
@pytest.mark.parametrize(("old", "new"), PAIRS)
@pytest.mark.req("DIFF-07", "DIFF-08")
def test_git_writes_the_same_patch(tmp_path, old, new):
    before, after = tmp_path / "same", tmp_path / "other"
    before.write_text(old, newline="")
    after.write_text(new, newline="")
    theirs = run_git("diff", "--no-index", "--no-prefix", str(before), str(after), cwd=tmp_path, status=1)
    ours = git_patch.diff(str(before), old, new).patch.text
    theirs = re.sub(r"(?m)^(@@ .*? @@).*$", r"\1", theirs)
    theirs = theirs.replace(str(after)[1:], str(before)[1:]).replace(str(before)[1:], str(before))
    assert ours == theirs


@needs_git
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("old", "new"), PAIRS[1:4])
@pytest.mark.req("DIFF-08")
def test_git_applies_a_modification(tmp_path, name, old, new):
    path = tmp_path / name
    path.write_text(old, newline="")
    git_apply(git_patch.diff(str(path), old, new), tmp_path)
    assert path.read_bytes() == new.encode()


@needs_git
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.req("DIFF-02", "DIFF-08")
def test_git_applies_all_other_operations_on_any_path(tmp_path, name):
    def file(kind: str) -> str:
        return f"{tmp_path}/{kind} {name}"

    old, new = "1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\nsix\n"
    for kind in ("gone", "empty gone", "moved from", "changed from", "copied from"):
        Path(file(kind)).write_text("" if kind == "empty gone" else old)
    diff = git_patch.make(
        [
            FileChange.add(file("added"), new),
            FileChange.delete(file("gone"), old),
            FileChange.move(file("moved from"), file("moved"), old),
            FileChange.move(file("changed from"), file("changed"), old, new),
            FileChange.copy(file("copied from"), file("copied"), old, new),
            FileChange.add(file("link"), "target", mode=SYMLINK),
        ]
    )
    git_apply(diff, tmp_path)
    empty = [FileChange.add(file("empty"), "", mode=EXECUTABLE), FileChange.delete(file("empty gone"), "")]
    git_apply_below(git_patch.make(empty), tmp_path)
    there = {entry.name: entry for entry in tmp_path.iterdir()}
    expected = {"added": new, "empty": "", "moved": old, "changed": new, "copied from": old, "copied": new}
    assert {f"{kind} {name}" for kind in [*expected, "link"]} == set(there)
    assert all(there[f"{kind} {name}"].read_bytes() == text.encode() for kind, text in expected.items())
    assert os.access(file("empty"), os.X_OK)
    assert Path(file("link")).readlink() == Path("target")


@needs_git
def test_git_applies_binaries_when_they_are_wanted(tmp_path):
    path, fresh = tmp_path / "x.bin", tmp_path / "y.bin"
    old, new = bytes(range(256)), bytes(range(255, -1, -1)) * 3
    path.write_bytes(old)
    changes = [FileChange.modify(str(path), old, new), FileChange.add(str(fresh), old)]
    git_apply_below(git_patch.make(changes, binary=True), tmp_path)
    assert path.read_bytes() == new
    assert fresh.read_bytes() == old


@needs_git
def test_a_binary_patch_of_git_applies(tmp_path):
    run_git("init", "-q", cwd=tmp_path)
    old = os.urandom(5000)
    new = old[:2000] + b"\0between" + old[2100:]
    (tmp_path / "x").write_bytes(old)
    run_git("add", "x", cwd=tmp_path)
    (tmp_path / "x").write_bytes(new)
    (section,) = git_patch.read(run_git("diff", "--binary", "--no-prefix", cwd=tmp_path))
    assert section.binary_hunk.method == "delta"
    assert git_patch.apply(section, old) == new


@needs_git
@given(old=CONTENTS, new=CONTENTS)
def test_patches_of_git_apply(tmp_path_factory, old, new):
    folder = tmp_path_factory.mktemp("x")
    (folder / "a").write_text(old, newline="")
    (folder / "b").write_text(new, newline="")
    text = run_git("diff", "--no-index", "--no-prefix", "a", "b", cwd=folder, status=int(old != new))
    for section in git_patch.read(text):
        assert git_patch.apply(section, old) == new


@pytest.mark.req("DIFF-01", "DIFF-02", "DIFF-04")
def test_every_change_is_listed_with_its_operation_and_type():
    diff = git_patch.make(
        [
            FileChange.add("/a", "text", mime_type="text/x-a"),
            FileChange.delete("/d", b"\0"),
            FileChange.modify("/m", "1", b"2"),
            FileChange.move("/o", "/v"),
            FileChange.copy("/o", "/c", "x"),
            FileChange.add("/dir", None, mode=DIRECTORY),
            FileChange.add("/link", "a", mode=SYMLINK),
            FileChange.add("/latin", b"\xe9"),
        ]
    )
    assert diff.changes == (
        DiffAdd(path="/a", file_type="text", mime_type="text/x-a"),
        DiffDelete(path="/d", file_type="binary"),
        DiffModify(path="/m", file_type="text"),
        DiffMove(path="/v", old_path="/o"),
        DiffCopy(path="/c", old_path="/o", file_type="text"),
        DiffAdd(path="/dir", file_type="directory"),
        DiffAdd(path="/link", file_type="symlink"),
        DiffAdd(path="/latin"),
    )
    covered = [(section.operation, section.path) for section in git_patch.read(diff.patch.text)]
    assert covered == [("add", "/a"), ("modify", "/m"), ("move", "/v"), ("copy", "/c"), ("add", "/link")]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(FileChange.modify("/x", b"\0", b"\1\0"), id="binary"),
        pytest.param(FileChange.modify("/x", b"\xe9", b"\xe8"), id="not UTF-8"),
        pytest.param(FileChange.modify("/x", "", None), id="unknown contents"),
        pytest.param(FileChange.modify("/x", None, None), id="unknown before and after"),
        pytest.param(FileChange.add("/x", None), id="unknown new contents"),
        pytest.param(FileChange.delete("/x", None), id="unknown old contents"),
        pytest.param(FileChange.add("/x", None, mode=DIRECTORY), id="directory"),
        pytest.param(FileChange.modify("/x", "a", "b", mode=SYMLINK, old_mode=REGULAR), id="file becomes link"),
    ],
)
@pytest.mark.req("DIFF-01", "DIFF-05")
def test_a_change_that_has_no_patch_text_is_listed_all_the_same(change):
    diff = git_patch.make([change])
    assert diff.patch is None
    assert len(diff.changes) == 1


@pytest.mark.req("DIFF-08")
def test_headers_of_a_move_name_absolute_paths():
    text = git_patch.make([FileChange.move("/a/x", "/b/y", "1\n2\n", "1\n3\n")]).patch.text
    assert text.splitlines()[:7] == [
        "diff --git /a/x /b/y",
        "similarity index 50%",
        "rename from /a/x",
        "rename to /b/y",
        "index 1191247..2b2f2e1 100644",
        "--- /a/x",
        "+++ /b/y",
    ]


def test_a_binary_that_only_moves_has_a_section():
    section = only(git_patch.make([FileChange.move("/a", "/b", b"\0")]))
    assert (section.operation, section.similarity, section.binary) == ("move", 100, False)


def test_another_mode_alone_has_a_section():
    section = only(git_patch.make([FileChange.modify("/x", "a", "a", mode=EXECUTABLE, old_mode=REGULAR)]))
    assert (section.old_mode, section.mode, section.hunks) == (REGULAR, EXECUTABLE, ())


def test_what_changes_nothing_is_left_out():
    diff = git_patch.make([FileChange.modify("/x", "é", "é".encode()), FileChange.add("/y", "")])
    assert [change.path for change in diff.changes] == ["/y"]


@pytest.mark.parametrize("path", ["x", "", "./x", "~/x", "a/b", "/nul\0", "/half\udcff"])
@pytest.mark.req("DIFF-01", "DIFF-08")
def test_only_absolute_paths_are_taken(path):
    with pytest.raises(LocalProtocolError):
        git_patch.diff(path, None, "")
    with pytest.raises(LocalProtocolError):
        FileChange.move(path, "/x")


def test_paths_of_windows_are_absolute_and_quoted():
    section = only(git_patch.diff(r"C:\a b\c", "1", "2"))
    assert section.path == r"C:\a b\c"


def test_a_diff_needs_contents():
    with pytest.raises(LocalProtocolError):
        git_patch.diff("/x", None, None)


def test_contents_that_are_no_unicode_are_refused():
    with pytest.raises(LocalProtocolError):
        git_patch.diff("/x", None, "\ud800")


def test_the_contents_of_a_binary_are_not_made_of_text():
    section = only(git_patch.make([FileChange.modify("/x", b"\0", b"\0\1")], binary=True))
    with pytest.raises(ValueError, match="binary"):
        git_patch.apply(section, "text")


def test_a_diff_goes_over_the_wire():
    diff = git_patch.diff("/x", "a\n", "b\n")
    assert msgspec.json.decode(msgspec.json.encode(diff))["changes"] == [
        {"operation": "modify", "path": "/x", "fileType": "text"}
    ]
