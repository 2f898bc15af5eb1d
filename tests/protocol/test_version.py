from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpwire.protocol.version import VERSIONS, accept, negotiate

versions = st.integers(0, 65_535)


@pytest.mark.parametrize(
    ("requested", "supported", "chosen"),
    [
        pytest.param(2, (1, 2), 2, marks=pytest.mark.req("INIT-09"), id="the-same"),
        pytest.param(3, (1, 2), 2, marks=pytest.mark.req("INIT-09"), id="the-highest-below"),
        pytest.param(5, (7, 2, 4), 4, marks=pytest.mark.req("INIT-09"), id="in-any-order"),
        pytest.param(1, (2,), None, marks=pytest.mark.req("INIT-10"), id="all-above"),
        pytest.param(0, (1, 2), None, marks=pytest.mark.req("INIT-10"), id="zero"),
        pytest.param(2, (), None, id="none-at-all"),
    ],
)
def test_an_agent_chooses_the_highest_version_at_or_below_the_requested_one(requested, supported, chosen):
    assert negotiate(requested, supported) == chosen


@pytest.mark.parametrize(
    ("requested", "returned", "supported", "goes_on"),
    [
        pytest.param(2, 2, (1, 2), True, marks=pytest.mark.req("INIT-12"), id="the-same"),
        pytest.param(2, 1, (1, 2), True, marks=pytest.mark.req("INIT-12"), id="lower-and-spoken"),
        pytest.param(2, 1, (2,), False, marks=pytest.mark.req("INIT-12"), id="lower-and-not-spoken"),
        pytest.param(1, 2, (1, 2), False, marks=pytest.mark.req("INIT-13"), id="above-the-request"),
        pytest.param(2, 0, (1, 2), False, id="zero"),
    ],
)
def test_a_client_goes_on_with_versions_it_speaks_that_are_not_above_its_request(
    requested, returned, supported, goes_on
):
    assert accept(requested, returned, supported) is goes_on


@given(versions, st.sets(versions, max_size=4))
def test_a_client_accepts_what_an_agent_chose_if_it_speaks_it(requested, supported):
    chosen = negotiate(requested, supported)
    assert chosen is None or accept(requested, chosen, supported)
    assert (chosen is None) == all(version > requested for version in supported)


def test_the_versions_of_this_package():
    assert VERSIONS == (2,)
