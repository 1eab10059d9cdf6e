"""Runs that refresh materialized tables on Spark, and what they record."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pytest

from dagster_paimon import materialized_table_assets
from table_format.spark import Lake
from tests.support.dagster_project import Project

pytestmark = [pytest.mark.dagster, pytest.mark.spark]

KEY = dg.AssetKey(["shop", "totals"])


def recorded(project: Project) -> dict[str, Any]:
    """The metadata of the last materialization."""
    event = project.instance.get_latest_materialization_event(KEY)
    assert event is not None
    assert event.asset_materialization is not None
    found = event.asset_materialization
    return {"version": (found.tags or {})["dagster/data_version"], **{k: v.value for k, v in found.metadata.items()}}


def test_a_run_refreshes_its_table_and_records_rows_and_states_of_sources(project: Project) -> None:
    lake: Lake = project.lakehouse.lake(project.resources["spark"].session())
    lake.sql(
        "CREATE DATABASE shop; USE shop; CREATE TABLE orders (k INT, v STRING); INSERT INTO orders VALUES (1, 'a');"
        "CREATE MATERIALIZED TABLE totals FRESHNESS = INTERVAL '30' SECOND AS "
        "SELECT v, sum(k) AS n FROM orders GROUP BY v"
    )
    (totals,) = materialized_table_assets(project.lakehouse, "shop.*")
    lake.sql("INSERT INTO orders VALUES (2, 'a'), (5, 'b')")
    result = project.run(totals)
    assert result.success
    first = recorded(project)
    assert (first["paimon/refresh"], first["paimon/consumed"], first["paimon/snapshot_id"]) == (
        "refreshed",
        "shop.orders: snapshot 2",
        2,
    )
    assert first["dagster/row_count"] == 2
    assert first["paimon/replaced"] == "all rows: the table has no partitions"
    assert project.rows("shop.totals") == [{"v": "a", "n": 3}, {"v": "b", "n": 5}]
    snapshot = project.table("shop.totals").latest_snapshot()
    assert snapshot is not None
    assert snapshot.properties["dagster.run_id"] == result.run_id
    assert project.run(totals).success
    second = recorded(project)
    assert second["paimon/refresh"] == "unchanged: no source has changed since the last refresh"
    assert second["version"] == first["version"]
    forced = {"ops": {"shop__totals": {"config": {"force": True}}}}
    assert project.run(totals, run_config=forced).success
    assert recorded(project)["paimon/snapshot_id"] == 3
    lake.sql("ALTER TABLE orders RENAME COLUMN k TO key")
    failed = project.run(totals, raise_on_error=False)
    (failure,) = [event for event in failed.all_events if event.is_step_failure]  # no retry
    assert "'shop.totals' cannot be refreshed: its query no longer fits shop.orders" in str(
        failure.step_failure_data.user_failure_data.description
    )
    assert project.rows("shop.totals") == [{"v": "a", "n": 3}, {"v": "b", "n": 5}]
