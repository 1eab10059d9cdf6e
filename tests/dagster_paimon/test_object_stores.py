"""Assets, maintenance jobs and sensors on a warehouse in an object store, with keys from the environment."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dagster_paimon import snapshot_sensor
from dagster_paimon.io.io_manager import PaimonIOManager
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.resources.spark import SparkResource
from tests.support.canaries import canary, leaks
from tests.support.dagster_project import Project
from tests.support.maintenance import a_keyed_table, execute
from tests.support.s3_server import S3Server, running_s3
from tests.support.sensor_ticks import Ticks, a_table, rows

pytestmark = pytest.mark.dagster

KEY, HUSH = canary("key"), canary("hush")
NUMBERS = count()


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with running_s3() as running:
        running.make_bucket("dagster-tables")
        yield running


@pytest.fixture
def remote(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setenv("LAKE_KEY", KEY)
    monkeypatch.setenv("LAKE_SECRET", HUSH)
    lakehouse = LakehouseCatalog(
        warehouse=f"s3://dagster-tables/{next(NUMBERS)}",
        options={"s3.endpoint": server.endpoint},
        secret_options={"s3.access-key": "LAKE_KEY", "s3.secret-key": "LAKE_SECRET"},
    )
    spark = SparkResource()
    io = PaimonIOManager(lakehouse=lakehouse, spark=spark)
    with dg.DagsterInstance.ephemeral() as instance:
        yield Project({"lakehouse": lakehouse, "spark": spark, "paimon_io": io}, instance)


def texts(result: Any) -> str:
    return repr([event.to_dict() if hasattr(event, "to_dict") else event for event in result.all_events])


def test_an_asset_is_written_and_read_and_its_metadata_has_the_uri_and_no_key(remote: Project) -> None:
    @dg.asset(key=["shop", "orders"], io_manager_key="paimon_io")
    def orders() -> pa.Table:
        return pa.table({"id": [1, 2]})

    @dg.asset(key=["shop", "copy"], io_manager_key="paimon_io", ins={"given": dg.AssetIn(["shop", "orders"])})
    def copied(given: pa.Table) -> pa.Table:
        return given

    result = remote.run([orders, copied])
    assert result.success
    assert remote.rows("shop.copy") == [{"id": 1}, {"id": 2}]
    (event,) = result.asset_materializations_for_node("shop__orders")
    assert event.metadata["dagster/uri"].value == remote.table("shop.orders").location
    assert event.metadata["dagster/uri"].value.startswith("s3://dagster-tables/")
    assert leaks(texts(result), KEY, HUSH) == []


def test_a_table_is_maintained(remote: Project) -> None:
    a_keyed_table(remote, "sales.items", commits=4)
    expected = remote.rows("sales.items")
    assert "compact" in str(execute(remote, "compact_table", table="sales.items"))
    for job in ("maintain_table", "expire_table", "clean_table", "verify_table", "report_health"):
        execute(remote, job, table="sales.items")
    assert remote.rows("sales.items") == expected


def test_a_sensor_reports_new_snapshots(remote: Project) -> None:
    table = a_table(remote.lakehouse, "foreign.visits")
    asset = dg.AssetSpec(["foreign", "visits"])
    sensor = Ticks(snapshot_sensor("foreign.visits"), remote.instance, remote.lakehouse, (asset,))
    assert sensor.tick().asset_events == []
    table.append(rows((1, "mon", 1)))
    assert len(sensor.tick().asset_events) == 1
