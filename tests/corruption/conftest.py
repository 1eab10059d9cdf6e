"""The undamaged files beside a damaged one are the same in each of thousands of trials, and decoded once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.decoded_once import decoded_once


@pytest.fixture(autouse=True, scope="package")
def _decoded_once() -> Iterator[None]:
    with decoded_once():
        yield
