"""How a directive's arguments are read."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpwire import RequestError
from acpwire.testing._script import DIRECTIVES, Statement, _quoted


@pytest.mark.parametrize("name", DIRECTIVES)
def test_the_error_of_a_malformed_directive_names_it_its_line_and_its_usage(name: str) -> None:
    error = Statement(3, name, "").malformed("no")
    assert error.code == -32602
    assert error.data == {"directive": f"/{name}", "line": 3}
    assert error.message.startswith(f"line 3: `/{name}`: no; usage: /{name}")
    assert DIRECTIVES[name].usage in error.message


@given(st.integers(-10, 30))
def test_a_whole_number_is_taken_within_its_bounds_alone(number: int) -> None:
    statement = Statement(1, "plan", "")
    if 2 <= number <= 20:
        assert statement.whole(str(number), 20, 2) == number
    else:
        with pytest.raises(RequestError, match="from 2 to 20"):
            statement.whole(str(number), 20, 2)


@pytest.mark.parametrize("word", ["", "1.5", "x", "1e3", "٣", "1_0", "+1", "9" * 5000])
def test_what_is_no_whole_number_is_refused(word: str) -> None:
    with pytest.raises(RequestError, match="no whole number"):
        Statement(1, "plan", "").whole(word, 2**62)


@pytest.mark.parametrize("text", ["", " ", "{", "{}}", "nul", "[" * 100_000, '{"a":NaN}'])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="JSON") as caught:
        Statement(1, "update", "").json(text)
    assert caught.value.code == -32602


def test_json_is_kept_as_it_was_written() -> None:
    raw, value = Statement(1, "update", "").json(' {"a" :1.0, "b":[ null ]} ')
    assert bytes(raw) == b'{"a" :1.0, "b":[ null ]}'
    assert value == {"a": 1.0, "b": [None]}
    with pytest.raises(RequestError, match="no object"):
        Statement(1, "update", "").json_object("[]")


@pytest.mark.parametrize(
    ("path", "quoted"),
    [
        pytest.param("/a b/c.py", "/a b/c.py", id="usual"),
        pytest.param('/a"b', '"/a\\"b"', id="quote"),
        pytest.param("/a\tb\\", '"/a\\tb\\\\"', id="tab-and-backslash"),
        pytest.param("/é", '"/\\303\\251"', id="bytes-in-octal"),
    ],
)
@pytest.mark.req("DIFF-08")
def test_an_unusual_path_is_quoted_as_git_does(path: str, quoted: str) -> None:
    assert _quoted(path) == quoted


def test_the_params_of_a_request_are_what_follows_its_method() -> None:
    method, params = Statement(1, "request", '_a/b  {"x": 1} ').method_and_json()
    assert (method, msgspec.json.decode(params)) == ("_a/b", {"x": 1})
