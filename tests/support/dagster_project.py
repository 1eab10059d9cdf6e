"""A project on a warehouse of its own: resources as definitions.py composes them, without Spark unless asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.landing import ShopFeed
from dagster_paimon.io.io_manager import PaimonIOManager
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.resources.spark import SparkResource
from resources.landing import LandingZone
from table_format.table.table import Table


@dataclass(frozen=True)
class Project:
    """Resources of one test, and an instance that remembers its runs."""

    resources: dict[str, Any]
    instance: dg.DagsterInstance

    @property
    def lakehouse(self) -> LakehouseCatalog:
        lakehouse = self.resources["lakehouse"]
        assert isinstance(lakehouse, LakehouseCatalog)
        return lakehouse

    def table(self, name: str) -> Table:
        return self.lakehouse.table(name)

    def rows(self, name: str, **scan: Any) -> list[dict[str, Any]]:
        found = self.table(name).scan(**scan).to_arrow()
        return found.sort_by([(found.column_names[0], "ascending")]).to_pylist()

    def run(self, assets: Any, *, days: str | tuple[str, str] | None = None, **arguments: Any) -> Any:
        """Materialize assets for no day, one day or a range of days in one run."""
        tags = dict(arguments.pop("tags", {}))
        if isinstance(days, tuple):
            tags |= dict(
                zip(("dagster/asset_partition_range_start", "dagster/asset_partition_range_end"), days, strict=True)
            )
        elif days is not None:
            arguments["partition_key"] = days
        listed = assets if isinstance(assets, list | tuple) else [assets]
        return dg.materialize(listed, resources=self.resources, instance=self.instance, tags=tags, **arguments)


def a_project(root: Path, instance: dg.DagsterInstance, **io_settings: Any) -> Project:
    lakehouse = LakehouseCatalog(warehouse=str(root / "warehouse"))
    spark = SparkResource(master="local[2]", driver_memory="1g")
    resources = {
        "lakehouse": lakehouse,
        "spark": spark,
        "paimon_io": PaimonIOManager(lakehouse=lakehouse, spark=spark, **io_settings),
        "landing": LandingZone(path=str(root / "landing")),
        "feed": ShopFeed(events_per_day=300),
    }
    return Project(resources, instance)


@pytest.fixture
def project(tmp_path: Path) -> Any:
    with dg.DagsterInstance.ephemeral() as instance:
        yield a_project(tmp_path, instance)
