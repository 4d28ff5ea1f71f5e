"""Where engines are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.fakes import far_engines


@pytest.fixture(params=[False, True], ids=["here", "there"])
def _in_either_place(request: pytest.FixtureRequest) -> Iterator[None]:
    """The engine is in this process, or at the other end of a connection."""
    with far_engines(are_far=request.param):
        yield
