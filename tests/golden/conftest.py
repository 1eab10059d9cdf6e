"""Tests open the same tables of Paimon, and decode each of their metadata files once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.decoded_once import decoded_once


@pytest.fixture(autouse=True, scope="package")
def _decoded_once() -> Iterator[None]:
    with decoded_once():
        yield
