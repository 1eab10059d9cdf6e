"""Warehouses of each kind of catalog."""

from __future__ import annotations

import pytest

from tests.support.dict_catalog import dict_warehouse
from tests.support.tables import Warehouse, memory_warehouse


@pytest.fixture(params=["directories", "dict"])
def warehouse(request: pytest.FixtureRequest) -> Warehouse:
    """In memory, with one database: names as directories, and names in a dictionary."""
    return memory_warehouse() if request.param == "directories" else dict_warehouse()
