"""Warehouses of each kind of catalog."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.dict_catalog import dict_warehouse
from tests.support.jdbc_catalogs import jdbc_warehouse
from tests.support.tables import Warehouse, memory_warehouse


@pytest.fixture(params=["directories", "dict", "jdbc"])
def warehouse(request: pytest.FixtureRequest, tmp_path: Path) -> Warehouse:
    """In memory, with one database: names as directories, in a dictionary, and in a relational database."""
    match request.param:
        case "directories":
            return memory_warehouse()
        case "dict":
            return dict_warehouse()
    return jdbc_warehouse(tmp_path)
