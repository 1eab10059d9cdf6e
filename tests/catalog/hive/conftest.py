"""One Hive metastore for all tests of its catalog."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hive_metastore import HiveMetastore, empty, hive_warehouse, running_metastore
from tests.support.tables import Warehouse

pytest.register_assert_rewrite(
    "tests.catalog.test_all_catalogs", "tests.catalog.view_laws", "tests.catalog.interrupted_changes"
)


@pytest.fixture(scope="session")
def metastore() -> Iterator[HiveMetastore]:
    with running_metastore() as running:
        yield running


@pytest.fixture
def warehouse(metastore: HiveMetastore, tmp_path: Path) -> Iterator[Warehouse]:
    """A catalog with locks and the database ``db``, whose files are in memory."""
    yield hive_warehouse(metastore, tmp_path, **{"lock.enabled": "true"})
    empty(metastore)
