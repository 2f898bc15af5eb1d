from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpwire.errors import RemoteProtocolError
from acpwire.services._git_read import read

MOVE = """\
diff --git /a b/c /a b/d
old mode 100644
new mode 100755
similarity index 90%
rename from /a b/c
rename to /a b/d
index 1111111..2222222
--- /a b/c\t
+++ /a b/d\t
@@ -1,3 +1,2 @@ def f():
 one

-three
\\ No newline at end of file
"""


@pytest.mark.req("DIFF-09", "DIFF-12")
def test_a_section_says_all_that_its_headers_say():
    (section,) = read(MOVE)
    assert (section.operation, section.old_path, section.path) == ("move", "/a b/c", "/a b/d")
    assert (section.old_mode, section.mode, section.similarity) == (0o100644, 0o100755, 90)
    (hunk,) = section.hunks
    assert (hunk.old_start, hunk.new_start, hunk.heading) == (1, 1, "def f():")
    assert hunk.lines == (" one\n", " \n", "-three")


def test_what_stands_around_sections_is_passed_over():
    text = f"commit 123\nsubject\n\n{MOVE}\n{MOVE}-- \n2.39.5\n"
    assert read(text) == read(MOVE) * 2


def test_lines_of_a_hunk_are_never_headers():
    text = "diff --git /x /x\n--- /x\n+++ /x\n@@ -1,2 +1,2 @@\n--- /y\n-diff --git a\n+++ /z\n+rename to b\n"
    (section,) = read(text)
    assert (section.operation, section.path) == ("modify", "/x")
    assert section.hunks[0].lines == ("--- /y\n", "-diff --git a\n", "+++ /z\n", "+rename to b\n")


@pytest.mark.parametrize(
    ("text", "operation", "path"),
    [
        ("diff --git /x y /x y\nnew file mode 100644\nindex 0000000..e69de29\n", "add", "/x y"),
        ("diff --git /x /x\ndeleted file mode 120000\n--- /x\n+++ /dev/null\n", "delete", "/x"),
        ('diff --git "/\\303\\251" "/\\303\\251"\nindex 1..2 100644\n', "modify", "/é"),
        ('diff --git "/\\t" /b\nsimilarity index 100%\ncopy from "/\\t"\ncopy to /b\n', "copy", "/b"),
        ('diff --git /b "/\\t"\nsimilarity index 100%\nrename from /b\nrename to "/\\t"\n', "move", "/\t"),
        ("diff --git /x y /z w\n--- /x y\t\n+++ /z w\t\n", "modify", "/z w"),
    ],
)
@pytest.mark.req("DIFF-02", "DIFF-08")
def test_operations_and_names_are_recognized(text, operation, path):
    (section,) = read(text)
    assert (section.operation, section.path) == (operation, path)


def test_a_binary_that_is_only_mentioned_is_known_as_one():
    (section,) = read("diff --git /x /x\nindex 1..2 100644\nBinary files /x and /x differ\n")
    assert section.binary
    assert section.binary_hunk is None
    assert section.mode == 0o100644


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("diff --git /x /x\n@@ nonsense @@\n", "line 2"),
        ("diff --git /x /x\n@@ -1,2 +1 @@\n a\n", "shorter"),
        ("diff --git /x /x\n@@ -1,2 +1 @@\n a\ndiff --git /y /y\n", "shorter"),
        ("diff --git /x /x\n@@ -1,1 +1,2 @@\n a\n-b\n+c\n", "other counts"),
        ("diff --git /x y /z w\nnew mode 100644\n", "its path"),
        ('diff --git /x /x\n--- "/\\q"\n', "escape"),
        ("diff --git /x /x\nnew mode rw\n", "line 2"),
        ("diff --git /x /x\nsimilarity index all\n", "line 2"),
    ],
)
def test_a_damaged_patch_is_refused_with_its_line(text, reason):
    with pytest.raises(RemoteProtocolError, match=reason):
        read(text)


PIECES = st.sampled_from(
    [*MOVE.splitlines(keepends=True), "GIT binary patch\n", "literal 3\n", "zzz\n", "\n", "@@ -0,0 +1 @@\n"]
)


@given(st.one_of(st.lists(PIECES, max_size=12).map("".join), st.text()))
def test_any_text_is_read_or_refused(text):
    try:
        sections = read(f"diff --git /x /x\n{text}")
    except RemoteProtocolError:
        return
    assert all(section.path for section in sections)
