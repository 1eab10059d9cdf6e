"""Asset checks: what must hold of every table, judged by the pure library and so without a JVM."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final, cast

import dagster as dg
import pyarrow.compute as pc

from assets.feed import FEED_TABLES, FeedTable
from assets.feed.plan import KEY_COLUMN
from assets.mart import SOLD
from resources.lakehouse import LakehouseCatalog, asset_key
from resources.landing import LandingZone
from resources.metadata import health_numbers, health_plots, listed
from resources.tables import live_entries, measure, partition_key
from table_format.errors import TableNotFound
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.table.facts import TableFacts
from table_format.table.table import Table

MOST_SORTED_RUNS: Final = 10
MOST_SNAPSHOTS: Final = 200
_CONSUMED: Final = "consumed."


def _table_check(
    table: str, name: str, description: str, judge: Callable[[Table], dg.AssetCheckResult], *, blocking: bool = False
) -> dg.AssetChecksDefinition:
    """A check that opens its table and judges it; a table that is not there yet is a warning."""

    @dg.asset_check(asset=asset_key(table), name=name, description=description, blocking=blocking)
    def check(lakehouse: LakehouseCatalog) -> dg.AssetCheckResult:
        found = _open(lakehouse, table)
        return _not_made(table) if found is None else judge(found)

    return check


def table_health(name: str) -> dg.AssetChecksDefinition:
    """Warns where sorted runs or snapshots pile up: reads get slower, and maintenance is due."""

    def judge(table: Table) -> dg.AssetCheckResult:
        health = measure(table.facts)
        return _result(
            health.max_sorted_runs <= MOST_SORTED_RUNS and health.snapshots <= MOST_SNAPSHOTS,
            severity=dg.AssetCheckSeverity.WARN,
            metadata={**health_numbers(health), **health_plots(health)},
        )

    description = f"At most {MOST_SORTED_RUNS} sorted runs in a bucket and {MOST_SNAPSHOTS} snapshots."
    return _table_check(name, "table_health", description, judge)


def files_present(name: str) -> dg.AssetChecksDefinition:
    """Fails where a file that the latest snapshot lists is missing, or has not the size it was committed with."""

    def judge(table: Table) -> dg.AssetCheckResult:
        problems = list(_broken_files(table.facts))
        files = len(live_entries(table.facts, table.latest_snapshot()))
        return _result(not problems, metadata={"files": files, "problems": listed(problems)})

    description = "Every data file of the latest snapshot is there with its recorded size."
    return _table_check(name, "files_present", description, judge)


def _broken_files(facts: TableFacts) -> Iterator[str]:
    paths, io = facts.store.paths, facts.store.io
    for entry in live_entries(facts, facts.snapshots.latest()):
        path = paths.data_file(facts.partitions.text(entry.partition), entry.bucket, entry.file)
        status = io.status(path)
        if status is None:
            yield f"{path}: missing"
        elif status.size != entry.file.file_size:
            yield f"{path}: expected {entry.file.file_size} bytes, found {status.size}"


def key_unique(table: FeedTable) -> dg.AssetChecksDefinition:
    """Fails where a reader would see two rows of one key; what depends on the table does not run then."""
    key = KEY_COLUMN[table]

    def judge(found: Table) -> dg.AssetCheckResult:
        keys = found.scan(columns=[key]).to_arrow()[key]
        distinct = pc.count_distinct(keys).as_py()
        return _result(distinct == len(keys), metadata={"rows": len(keys), "distinct keys": distinct})

    return _table_check(f"dwd.{table}", "key_unique", f"One row for each `{key}`.", judge, blocking=True)


def nothing_lost(table: FeedTable) -> dg.AssetChecksDefinition:
    """Fails where a day of the table has not as many rows as lines were landed for it."""
    name = f"ods.{table}_cdc"

    @dg.asset_check(
        asset=asset_key(name),
        name="nothing_lost",
        additional_deps=[["landing", f"{table}_feed"]],
        description="Every day has as many rows as lines were landed for it, no more and no fewer.",
    )
    def check(lakehouse: LakehouseCatalog, landing: LandingZone) -> dg.AssetCheckResult:
        found = _open(lakehouse, name)
        if found is None:
            return _not_made(name)
        stored = _rows_by_partition(found.facts)
        landed = {day: landing.count_lines(str(table), day) for day in stored}
        differ = {day: f"{landed[day]} landed, {stored[day]} stored" for day in stored if landed[day] != stored[day]}
        metadata = {
            "days": len(stored),
            "rows": sum(stored.values()),
            "differ": listed(f"{day}: {what}" for day, what in differ.items()),
        }
        return _result(not differ, metadata=metadata)

    return check


def _rows_by_partition(facts: TableFacts) -> dict[str, int]:
    field = facts.schema.partition_fields[0]
    rows: dict[str, int] = {}
    for entry in live_entries(facts, facts.snapshots.latest()):
        day = partition_key(field, facts.partitions.values(entry.partition)[0])
        rows[day] = rows.get(day, 0) + entry.file.row_count
    return dict(sorted(rows.items()))


def inputs_consumed(name: str) -> dg.AssetChecksDefinition:
    """Warns where an input has rows that the last write of the table has not seen."""

    @dg.asset_check(
        asset=asset_key(name),
        name="inputs_consumed",
        description="The last write read the latest rows of its inputs; compaction does not count.",
    )
    def check(lakehouse: LakehouseCatalog) -> dg.AssetCheckResult:
        table = _open(lakehouse, name)
        if table is None:
            return _not_made(name)
        consumed = _consumed(table.snapshots())
        lag = {source: len(_rows_after(_open(lakehouse, source), seen)) for source, seen in consumed.items()}
        return _result(
            not any(lag.values()),
            severity=dg.AssetCheckSeverity.WARN,
            metadata={
                "consumed": listed(f"{source}: snapshot {seen}" for source, seen in consumed.items()),
                "not seen": listed(f"{source}: {count} snapshots" for source, count in lag.items() if count),
            },
        )

    return check


def _consumed(snapshots: Sequence[Snapshot]) -> dict[str, int]:
    """The snapshots of its inputs that the last write has read."""
    for snapshot in reversed(snapshots):
        seen = {k.removeprefix(_CONSUMED): int(v) for k, v in snapshot.properties.items() if k.startswith(_CONSUMED)}
        if seen:
            return seen
    return {}


def _rows_after(table: Table | None, seen: int) -> list[Snapshot]:
    snapshots = table.snapshots() if table else ()
    return [s for s in snapshots if s.id > seen and s.commit_kind is not CommitKind.COMPACT]


@dg.asset_check(
    asset=["mart", "daily_revenue"],
    name="revenue_reconciles",
    additional_deps=[["dwd", "orders"]],
    description="The revenue of every day in the mart is the sum of that day's orders.",
)
def revenue_reconciles(lakehouse: LakehouseCatalog) -> dg.AssetCheckResult:
    """Compare the mart with a sum made by the other engine: Spark wrote it, Arrow adds up here."""
    mart, orders = _open(lakehouse, "mart.daily_revenue"), _open(lakehouse, "dwd.orders")
    if mart is None or orders is None:
        return _not_made("mart.daily_revenue")
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
    return _result(not differ, severity=dg.AssetCheckSeverity.WARN, metadata=metadata)


def checks_of(managed: Sequence[str]) -> tuple[dg.AssetChecksDefinition, ...]:
    """All checks of the project; ``managed`` are the tables its assets write."""
    return (
        *(table_health(name) for name in managed),
        *(files_present(name) for name in managed),
        *(key_unique(table) for table in FEED_TABLES),
        *(nothing_lost(table) for table in FEED_TABLES),
        *(inputs_consumed(name) for name in managed if not name.startswith("ods.")),
        revenue_reconciles,
    )


def _open(lakehouse: LakehouseCatalog, name: str) -> Table | None:
    try:
        return lakehouse.table(name)
    except TableNotFound:
        return None


def _not_made(name: str) -> dg.AssetCheckResult:
    description = f"{name} does not exist yet; materialize it"
    return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN, description=description)


def _result(
    passed: bool,  # noqa: FBT001
    *,
    metadata: dict[str, Any],
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=bool(passed), severity=severity, metadata=metadata)
