from __future__ import annotations

from pathlib import Path

import pytest

from acpwire.errors import LocalProtocolError
from acpwire.wire.paths import absolute


@pytest.mark.parametrize("path", ["/", "/a", "C:\\a", "c:/a", "\\\\host\\share\\a", Path("/é")])
def test_absolute_paths_of_any_platform_are_left_as_they_are(path):
    assert absolute(path, "$.path") == str(path)


@pytest.mark.parametrize("path", ["", "a", "C:a", "./a", "/a\0", "/\udcff"])
def test_other_paths_are_refused_with_their_place(path):
    with pytest.raises(LocalProtocolError) as caught:
        absolute(path, "$.path")
    assert caught.value.path == "$.path"
