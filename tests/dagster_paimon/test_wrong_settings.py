"""Wrong settings of resources, sensors and schedules are refused when the code location loads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest
from pydantic import ValidationError

from dagster_paimon import (
    LakehouseCatalog,
    PaimonIOManager,
    PartitionColumn,
    SparkResource,
    changed_partitions_sensor,
    changelog_ready_sensor,
    compaction_pressure_sensor,
    freshness_sensor,
    maintenance_jobs,
    maintenance_schedules,
    new_partitions_sensor,
    run_failure_cleanup,
)
from table_format.errors import InvalidInputError

pytestmark = pytest.mark.dagster

CATALOG = LakehouseCatalog(warehouse="/warehouse")
RESOURCES: dict[str, Callable[..., object]] = {
    "the catalog": lambda **extra: LakehouseCatalog(warehouse="/warehouse", **extra),
    "Spark": lambda **extra: SparkResource(master="local[2]", **extra),
    "the I/O manager": lambda **extra: PaimonIOManager(lakehouse=CATALOG, spark=SparkResource(), **extra),
}


@pytest.mark.parametrize("make", RESOURCES.values(), ids=RESOURCES.keys())
def test_a_misspelt_setting_of_a_resource_is_refused_by_name(make: Callable[..., object]) -> None:
    make()
    with pytest.raises(ValidationError, match="default_mod"):
        make(default_mod="append")


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "no lakehouse": (PaimonIOManager, "lakehouse is missing"),
    "tables of another type": (lambda: maintenance_jobs(5), "tables: expected a name"),  # type: ignore[arg-type]
    "no days": (lambda: maintenance_schedules(tag_retained_days=0), "tag_retained_days: expected an integer from 1"),
    "an age in seconds": (lambda: compaction_pressure_sensor(max_level0_age=5), "max_level0_age: expected a timedelta"),  # type: ignore[arg-type]
    "an age as text": (lambda: freshness_sensor(allowed="1 h"), "allowed: expected a timedelta"),  # type: ignore[arg-type]
    "no source": (lambda: changed_partitions_sensor("a/b", []), "a/b: sources: expected at least one PartitionColumn"),
    "a source as text": (lambda: changed_partitions_sensor("a/b", "a.c"), "expected at least one PartitionColumn"),  # type: ignore[arg-type]
    "no snapshots": (lambda: changelog_ready_sensor("a.b", "c", job="j", min_snapshots=0), "min_snapshots: expected"),
    "partitions as text": (
        lambda: new_partitions_sensor("a.b", "c", "stations"),
        "expected dynamic partitions with a name",
    ),  # type: ignore[arg-type]
    "a flag as text": (lambda: run_failure_cleanup(only_dagster_writes="no"), "only_dagster_writes: expected True"),  # type: ignore[arg-type]
    "no rows": (lambda: changelog_ready_sensor("a.b", "c", job="j", min_rows=0), "min_rows: expected"),
}


@pytest.mark.parametrize(("make", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_argument_is_refused_when_the_definition_is_made(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        make()


def test_the_io_manager_needs_no_spark_resource_for_other_frames(tmp_path: Path) -> None:
    lakehouse = LakehouseCatalog(warehouse=str(tmp_path))

    @dg.asset(key=["shop", "items"], io_manager_key="paimon_io")
    def items() -> pa.Table:
        return pa.table({"id": [1]})

    dg.materialize([items], resources={"paimon_io": PaimonIOManager(lakehouse=lakehouse)})
    assert lakehouse.table("shop.items").scan().to_arrow().to_pylist() == [{"id": 1}]
    changed_partitions_sensor("a/b", PartitionColumn("a.c", "day"))
