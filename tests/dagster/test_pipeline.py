"""The whole pipeline on Spark: in any order of the days, the tables reach the state of the source."""

from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets import daily_revenue, orders, orders_cdc, users, users_cdc
from assets.enriched import audit, orders_enriched, orders_enriched_staged
from assets.feed import FeedTable
from assets.landing import ShopFeed, landing_assets
from dagster_paimon.io.io_manager import PaimonIOManager
from dagster_paimon.resources.spark import SparkResource
from table_format.model.types import DecimalType
from tests.queries.sessions import settings_of
from tests.support.dagster_project import Project, a_project
from tests.support.shop_source import expected_orders, expected_revenue, source_now
from tests.support.spark_session import INTERPRETED

pytestmark = [
    pytest.mark.dagster,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::dagster.BetaWarning"),
    # The mart is backfilled in weeks, what it is made of in one run.
]

LAST_DAY = 5
DAYS = [f"2026-01-0{day}" for day in range(1, LAST_DAY + 1)]
# A hostile feed: what is rare in life happens all the time, and the schema changes on the third day.
FEED = ShopFeed(
    seed=11,
    events_per_day=60,
    late_share=0.3,
    duplicate_share=0.2,
    disorder_share=0.5,
    delete_share=0.4,
    schema_change_day=3,
)
INGEST = [*landing_assets, orders_cdc, users_cdc, orders, users]
ENRICHED = [orders_enriched_staged, audit, orders_enriched]
INGEST_ORDERS = [landing_assets[0], orders_cdc, orders]


@pytest.fixture(scope="module", autouse=True)
def interpreted() -> Iterator[None]:
    """Spark interprets its plans, which takes less time for few rows."""
    with settings_of(SparkResource(master="local[2]", driver_memory="1g").session(), INTERPRETED):
        yield


@pytest.fixture(scope="module")
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as found:
        yield found


def a_shop(root: Path, instance: dg.DagsterInstance) -> Project:
    project = a_project(root, instance)
    project.resources["feed"] = FEED
    return project


@pytest.fixture(scope="module")
def backfilled(tmp_path_factory: pytest.TempPathFactory, instance: dg.DagsterInstance) -> Project:
    """All days in one run, from landing to mart."""
    project = a_shop(tmp_path_factory.mktemp("shop"), instance)
    assert project.run([*INGEST, daily_revenue, *ENRICHED], days=(DAYS[0], DAYS[-1])).success
    return project


def orders_of_the_source() -> list[dict[str, Any]]:
    return expected_orders(FEED.plan(), LAST_DAY)


def found_orders(project: Project) -> list[dict[str, Any]]:
    rows = project.rows("dwd.orders")
    instants = {"created_at", "updated_at"}
    return [{k: v.astimezone(UTC) if k in instants and v else v for k, v in row.items()} for row in rows]


def test_a_backfill_in_one_run_gives_the_state_of_the_source(backfilled: Project) -> None:
    assert found_orders(backfilled) == orders_of_the_source()
    found = [(row["user_id"], row["city"], row["tier"], row["lsn"]) for row in backfilled.rows("dwd.users")]
    rows = source_now(FEED.plan(), FeedTable.USERS, LAST_DAY)
    assert found == [(user, row["city"], row["tier"], row["lsn"]) for user, row in sorted(rows.items())]


def test_days_in_any_order_with_compactions_give_the_state_of_the_source(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    project = a_shop(tmp_path, instance)
    for day in (DAYS[3], DAYS[0], DAYS[4], DAYS[2], DAYS[1], DAYS[0]):
        assert project.run(INGEST_ORDERS, days=day).success
        # The compaction forgets deletes: what arrives later must not bring deleted orders back.
        project.table("dwd.orders").compact(full=True)
    expected = {row["order_id"]: row for row in orders_of_the_source()}
    found = {row["order_id"]: row for row in found_orders(project)}
    assert found.keys() == expected.keys()
    assert [{k: row[k] for k in expected[key]} for key, row in found.items()] == list(expected.values())


def test_repeating_a_day_changes_only_the_snapshots(backfilled: Project) -> None:
    before = found_orders(backfilled)
    events = backfilled.table("ods.orders_cdc").scan().to_arrow().num_rows
    assert backfilled.run(INGEST, days=DAYS[1]).success
    assert found_orders(backfilled) == before
    assert backfilled.table("ods.orders_cdc").scan().to_arrow().num_rows == events


def test_the_tables_follow_the_schema_of_the_source(backfilled: Project) -> None:
    for name in ("ods.orders_cdc", "dwd.orders"):
        schema = backfilled.table(name).schema
        assert "coupon" in schema.field_names
        assert schema.field("amount").type.with_nullable(True) == DecimalType(precision=12, scale=2)
    assert any(row["coupon"] for row in backfilled.rows("dwd.orders"))


def test_the_mart_adds_up(backfilled: Project) -> None:
    assert backfilled.rows("mart.daily_revenue") == expected_revenue(FEED.plan(), LAST_DAY, DAYS)


def test_the_enriched_orders_are_published_after_their_audit(backfilled: Project) -> None:
    users = {row["user_id"]: row["city"] for row in backfilled.rows("dwd.users")}
    expected = [
        (row["order_id"], row["order_date"], row["amount"], users.get(row["user_id"]))
        for row in orders_of_the_source()
        if row["order_date"] in DAYS
    ]
    rows = backfilled.rows("dwd.orders_enriched", columns=["order_id", "dt", "amount", "city"])
    assert [(row["order_id"], row["dt"], row["amount"], row["city"]) for row in rows] == expected
    assert list(backfilled.table("dwd.orders_enriched").branches()) == []  # published and gone


class DiesOnceAfterCommit(PaimonIOManager):
    """Dies after the commit and before the materialization event of ``dwd/orders``, the first time."""

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        super().handle_output(context, obj)
        if context.asset_key.path[-1] == "orders" and context.step_context.previous_attempt_count == 0:
            message = "the worker was killed"
            raise OSError(message)


def test_a_spark_step_that_died_after_its_commit_is_retried_without_writing_again(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    project = a_shop(tmp_path, instance)
    project.resources["paimon_io"] = DiesOnceAfterCommit(lakehouse=project.lakehouse, spark=project.resources["spark"])
    result = project.run(INGEST_ORDERS, days=(DAYS[0], DAYS[1]))
    assert result.success
    # The rows, and the compaction that records their changes.
    kinds = [snapshot.commit_kind.value for snapshot in project.table("dwd.orders").snapshots()]
    assert kinds == ["APPEND", "COMPACT"]
    told = result.asset_materializations_for_node("dwd__orders")[0].metadata
    assert (told["paimon/snapshot_id"].value, told["paimon/repeated"].value) == (1, True)
