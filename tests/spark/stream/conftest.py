"""A warehouse and a checkpoint on disk for each test of streams."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.stream.micro_batches import Checkpoint
from tests.support.tables import Warehouse, disk_warehouse


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return disk_warehouse(tmp_path / "warehouse")


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    return Checkpoint(tmp_path / "checkpoint")
