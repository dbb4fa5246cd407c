"""Machines, where they can be had."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from machines import Make, machines, why_not


@pytest.fixture
def make_machines() -> Iterator[Make]:
    if reason := why_not():
        pytest.skip(f"no namespaces can be made here ({reason})")
    with ExitStack() as stack:
        yield lambda count, hours=0: stack.enter_context(machines(count, hours))


@pytest.fixture(params=["run.h5", "run.root"])
def name(request: pytest.FixtureRequest) -> str:
    return request.param
