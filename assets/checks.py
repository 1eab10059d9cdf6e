"""Asset checks of the shop, in addition to the checks that apply to every table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final, cast

import dagster as dg
import pyarrow.compute as pc

from assets.feed import FEED_TABLES, FeedTable
from assets.feed.plan import KEY_COLUMN
from assets.mart import REVENUE_MAX_AGE, SOLD
from dagster_paimon import TableCheck, table_checks
from dagster_paimon.checks.tables import (
    check_result,
    files_present,
    freshness,
    inputs_consumed,
    not_made,
    open_table,
    table_check,
    table_health,
)
from dagster_paimon.reporting.metadata import listed
from dagster_paimon.resources.lakehouse import LakehouseCatalog, asset_key
from dagster_paimon.tables.measure import live_entries, partition_key
from resources.landing import LandingZone
from table_format import Table
from table_format.engine import TableFacts


def key_unique(table: FeedTable) -> dg.AssetChecksDefinition:
    """Return a check that fails if a reader would see two rows with one key. Downstream assets then do not run."""
    key = KEY_COLUMN[table]

    def evaluate(found: Table) -> dg.AssetCheckResult:
        keys = found.scan(columns=[key]).to_arrow()[key]
        distinct = pc.count_distinct(keys).as_py()
        return check_result(distinct == len(keys), metadata={"rows": len(keys), "distinct keys": distinct})

    return table_check(f"dwd.{table}", "key_unique", f"One row for each `{key}`.", evaluate, blocking=True)


def nothing_lost(table: FeedTable) -> dg.AssetChecksDefinition:
    """Return a check that fails if the row count of a day differs from the number of landed lines."""
    name = f"ods.{table}_cdc"

    @dg.asset_check(
        asset=asset_key(name),
        name="nothing_lost",
        additional_deps=[["landing", f"{table}_feed"]],
        description="Every day has exactly as many rows as landed lines.",
    )
    def check(lakehouse: LakehouseCatalog, landing: LandingZone) -> dg.AssetCheckResult:
        found = open_table(lakehouse, name)
        if found is None:
            return not_made(name)
        stored = _rows_by_partition(found.facts)
        landed = {day: landing.count_lines(str(table), day) for day in stored}
        differ = {day: f"{landed[day]} landed, {stored[day]} stored" for day in stored if landed[day] != stored[day]}
        metadata = {
            "days": len(stored),
            "rows": sum(stored.values()),
            "differ": listed(f"{day}: {what}" for day, what in differ.items()),
        }
        return check_result(not differ, metadata=metadata)

    return check


def _rows_by_partition(facts: TableFacts) -> dict[str, int]:
    field = facts.schema.partition_fields[0]
    rows: dict[str, int] = {}
    for entry in live_entries(facts):
        day = partition_key(field, facts.partitions.values(entry.partition)[0])
        rows[day] = rows.get(day, 0) + entry.file.row_count
    return dict(sorted(rows.items()))


@dg.asset_check(
    asset=["mart", "daily_revenue"],
    name="revenue_reconciles",
    additional_deps=[["dwd", "orders"]],
    description="The revenue of every day in the mart is the sum of that day's orders.",
)
def revenue_reconciles(lakehouse: LakehouseCatalog) -> dg.AssetCheckResult:
    """Compare the mart, which Spark wrote, with a sum computed by Arrow."""
    mart, orders = open_table(lakehouse, "mart.daily_revenue"), open_table(lakehouse, "dwd.orders")
    if mart is None or orders is None:
        return not_made("mart.daily_revenue")
    sold = " OR ".join(f"status = '{status}'" for status in SOLD)
    rows = orders.scan(columns=["order_date", "amount"], filter=sold).to_arrow()
    sums = rows.group_by("order_date").aggregate([("amount", "sum")])
    expected = dict(zip(sums["order_date"].to_pylist(), sums["amount_sum"].to_pylist(), strict=True))
    marts = mart.scan(columns=["dt", "revenue"]).to_arrow()
    found = dict(zip(marts["dt"].to_pylist(), marts["revenue"].to_pylist(), strict=True))
    differ = {
        day: f"{revenue} in the mart, {expected.get(day, 0)} of orders"
        for day, revenue in found.items()
        if revenue != expected.get(day, Decimal(0))
    }
    metadata = {
        "days": len(found),
        "revenue": float(sum(cast("Iterable[Decimal]", found.values()), Decimal(0))),
        "differ": listed(f"{day}: {what}" for day, what in sorted(differ.items())),
    }
    return check_result(not differ, severity=dg.AssetCheckSeverity.WARN, metadata=metadata)


OF_EVERY_TABLE: Final = (TableCheck.SCHEMA_AS_DECLARED, TableCheck.ROW_COUNT_BOUNDS, TableCheck.NO_DANGLING_FILES)
"""Checks of the package that need only the asset."""


def checks_of(managed: Sequence[str], assets: Sequence[dg.AssetsDefinition]) -> tuple[dg.AssetChecksDefinition, ...]:
    """Return all checks of the project. ``managed`` are the tables that its ``assets`` write."""
    return (
        *table_checks(managed, OF_EVERY_TABLE, assets=assets, settings={"row_count_bounds": {"at_least": 1}}),
        *(table_health(name) for name in managed),
        *(files_present(name) for name in managed),
        *(key_unique(table) for table in FEED_TABLES),
        *(nothing_lost(table) for table in FEED_TABLES),
        *(inputs_consumed(name) for name in managed if not name.startswith("ods.")),
        freshness("mart.daily_revenue", allowed=REVENUE_MAX_AGE),
        revenue_reconciles,
    )
