"""Compaction: merges sorted runs and small files, or sorts all rows. Rows do not change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic import Field

from dagster_paimon.maintenance.config import PartitionsConfig
from dagster_paimon.maintenance.dropped import dropped_buckets, warn_of_dropped
from dagster_paimon.maintenance.kinds import Maintenance, Outcome, Visit
from dagster_paimon.reporting.metadata import changelog_rows, listed
from table_format import CompactionReport, Snapshot, Table
from table_format.counted import counted
from table_format.engine.support import OrderStrategy, require_partitions
from table_format.errors import ColumnNotFound, InvalidInputError

_STRATEGIES: Final = ", ".join(OrderStrategy)


class CompactConfig(PartitionsConfig):
    """The tables, and the kind of compaction."""

    full: bool = Field(default=False, description="Merge each bucket into one run; otherwise only compact what is due.")
    buckets: list[int] = Field(default_factory=list, description="Only these buckets; by default all.")
    order_by: list[str] = Field(
        default_factory=list,
        description="Also sort all rows by these columns; for tables without fixed buckets.",
    )
    order_strategy: str | None = Field(
        default=None, description=f"With order_by, one of {_STRATEGIES}: column by column, or all columns alike."
    )
    on_spark: bool = Field(default=True, description="One Spark task for each bucket; otherwise in this process.")


def compact_one(visit: Visit, config: CompactConfig) -> Outcome:
    """Merge sorted runs and small files of one table, or sort it."""
    partitions = config.partitions or None
    if config.order_by:
        return _sorted(config, _sort(visit, config))
    buckets = config.buckets or None
    if config.on_spark:
        with visit.session("compacting") as session:
            lake = visit.lakehouse.lake(session)
            report = lake.run_compaction(visit.name, full=config.full, partitions=partitions, buckets=buckets)
    else:
        report = visit.table().run_compaction(full=config.full, partitions=partitions, buckets=buckets)
    warn_of_dropped(visit, report.dropped)
    return _compacted(config, report)


def _sort(visit: Visit, config: CompactConfig) -> tuple[Snapshot, ...]:
    how: dict[str, Any] = {
        "partitions": config.partitions or None,
        "order_by": config.order_by,
        "order_strategy": config.order_strategy,
    }
    if not config.on_spark:
        return visit.table().compact(**how)
    with visit.session("sorting") as session:
        return visit.lakehouse.lake(session).compact(visit.name, **how)


def _compacted(config: CompactConfig, report: CompactionReport) -> Outcome:
    kind = "full compaction" if config.full else "compaction"
    before = sum(bucket.files_before for bucket in report.buckets)
    after = sum(bucket.files_after for bucket in report.buckets)
    count = len(report.buckets)
    done = f"{counted(count, 'bucket')}, {counted(before, 'file')} became {after}" if count else "nothing was due"
    summary = f"{kind}: {done}"
    return Outcome(
        title=kind,
        summary=f"{summary}, {len(report.dropped)} skipped because of other commits" if report.dropped else summary,
        metadata={
            **made(report.snapshots),
            "buckets compacted": count,
            **changelog_rows(report.snapshots),
            **dropped_buckets(report.dropped),
        },
        plots=True,
        snapshots=report.snapshots,
    )


def _sorted(config: CompactConfig, snapshots: Sequence[Snapshot]) -> Outcome:
    strategy = config.order_strategy or OrderStrategy.ORDER.value
    return Outcome(
        title=f"sort compaction ({strategy})",
        summary=f"rows are sorted by {', '.join(config.order_by)} ({strategy})" if snapshots else "no rows",
        metadata={**made(snapshots), **changelog_rows(snapshots)},
        plots=True,
    )


def made(snapshots: Sequence[Snapshot]) -> dict[str, Any]:
    """Return the ids of the snapshots that a job has created, as metadata."""
    return {"snapshots created": listed(str(snapshot.id) for snapshot in snapshots)}


def _check(table: Table, config: CompactConfig) -> None:
    require_partitions(table, config.partitions, config.buckets)
    if config.order_strategy is not None and not config.order_by:
        message = "order_strategy requires order_by; name the columns"
        raise InvalidInputError(message)
    if config.order_by and (config.full or config.buckets):
        message = "order_by sorts all rows; remove full and buckets"
        raise InvalidInputError(message)
    if config.order_strategy is not None and config.order_strategy not in list(OrderStrategy):
        message = f"order_strategy '{config.order_strategy}': expected one of {_STRATEGIES}"
        raise InvalidInputError(message)
    missing = [name for name in config.order_by if name not in table.schema.field_names]
    if missing:
        message = f"{table.identifier} has no column {', '.join(missing)} to order by"
        raise ColumnNotFound(message)


COMPACT: Final = Maintenance(
    job="compact_table",
    op="compact",
    description="Merge sorted runs and small files, or sort all rows. Rows do not change.",
    config=CompactConfig,
    work=compact_one,
    check=_check,
    uses_spark=True,
)
