"""Partitions: drops old ones, and marks complete ones as done."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from dagster_paimon.maintenance.compaction import made
from dagster_paimon.maintenance.config import DeletingConfig, TablesConfig
from dagster_paimon.maintenance.expiry import HOUR_MS, deletes, done_with, tried
from dagster_paimon.maintenance.kinds import Maintenance, Outcome, Visit
from dagster_paimon.reporting.metadata import listed, markdown_lines
from table_format import PartitionExpiryReport, Table
from table_format.counted import counted
from table_format.engine.support import require_partitions
from table_format.errors import InvalidInputError


class ExpirePartitionsConfig(DeletingConfig):
    """The tables, and the maximum age of partitions. Missing values come from the table options."""

    older_than_hours: float | None = Field(
        default=None, description="Drop partitions older than this; by default partition.expiration-time of the table."
    )
    strategy: str | None = Field(
        default=None,
        description="values-time: by the time in the values of a partition. update-time: by its newest file.",
    )
    timestamp_formatter: str | None = Field(default=None, description="The format of the values, such as yyyy-MM-dd.")
    timestamp_pattern: str | None = Field(
        default=None, description="The values that form the time, such as $dt $hour:00:00."
    )
    max_partitions: int | None = Field(default=None, description="Maximum number of partitions to drop.")


def expire_partitions_of_one(visit: Visit, config: ExpirePartitionsConfig) -> Outcome:
    """Drop the old partitions of one table."""
    report = _expire(visit.table(), config, dry_run=config.dry_run)
    count = len(report.partitions)
    dropped = done_with(count, "partition", "dropped", dry_run=config.dry_run)
    head = ("| partition | rows | files |", "|:--|--:|--:|")
    lines = (f"| {gone.partition} | {gone.rows:,} | {gone.files} |" for gone in report.partitions)
    return Outcome(
        title=tried("partition expiry", config.dry_run),
        summary=f"{dropped}, {counted(report.rows, 'row', thousands=True)}",
        metadata={
            "partitions": count,
            "rows": report.rows,
            "bytes": report.bytes,
            **({"dropped": markdown_lines(head, lines)} if count else {}),
            **({"old enough, but left for the next run": report.left} if report.left else {}),
            **({"of unknown age": listed(report.unreadable)} if report.unreadable else {}),
            **made(report.snapshots),
        },
    )


def _expire(table: Table, config: ExpirePartitionsConfig, *, dry_run: bool) -> PartitionExpiryReport:
    hours = config.older_than_hours
    return table.expire_partitions(
        dry_run=dry_run,
        expiration_time_ms=None if hours is None else int(hours * HOUR_MS),
        strategy=config.strategy,
        timestamp_formatter=config.timestamp_formatter,
        timestamp_pattern=config.timestamp_pattern,
        max_num=config.max_partitions,
    )


def _check_expiry(table: Table, config: ExpirePartitionsConfig) -> None:
    if config.older_than_hours is not None and config.older_than_hours <= 0:
        message = f"older_than_hours {config.older_than_hours}: expected more than 0"
        raise InvalidInputError(message)
    _expire(table, config, dry_run=True)  # a dry run, which refuses invalid options


EXPIRE_PARTITIONS: Final = Maintenance(
    job="expire_partitions",
    op="expire_old_partitions",
    description="Drop old partitions. A dry run unless dry_run is false.",
    config=ExpirePartitionsConfig,
    work=expire_partitions_of_one,
    check=_check_expiry,
    changes=deletes,
)


class MarkPartitionsConfig(TablesConfig):
    """The tables and their complete partitions."""

    partitions: list[dict[str, str]] = Field(description="Each partition as the values of all partition columns.")
    allow_empty: bool = Field(default=False, description="Also mark partitions without rows.")


def mark_partitions_of_one(visit: Visit, config: MarkPartitionsConfig) -> Outcome:
    """Write a success file into partitions of one table."""
    paths = visit.table().mark_partitions_done(config.partitions, allow_empty=config.allow_empty)
    return Outcome(
        title="partitions marked as done",
        summary=f"{counted(len(paths), 'partition is', 'partitions are')} marked as done",
        metadata={"partitions": len(paths), "success files": listed(paths)},
    )


def _check_markable(table: Table, config: MarkPartitionsConfig) -> None:
    if not config.partitions:
        message = "no partition is given; set partitions"
        raise InvalidInputError(message)
    if not config.allow_empty:
        require_partitions(table, config.partitions)


MARK_PARTITIONS: Final = Maintenance(
    job="mark_partitions_done",
    op="mark_done",
    description="Mark partitions as complete with a success file.",
    config=MarkPartitionsConfig,
    work=mark_partitions_of_one,
    check=_check_markable,
    measured=False,
)
