"""Deletes orphan files, such as those of crashed writers."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from dagster_paimon.maintenance.config import DeletingConfig
from dagster_paimon.maintenance.expiry import HOUR_MS, deletes, done_with, hours_ago, tried
from dagster_paimon.maintenance.kinds import Maintenance, Outcome, Visit
from dagster_paimon.reporting.metadata import listed
from table_format import Table
from table_format.engine.support import GRACE_MS
from table_format.errors import InvalidInputError


class CleanConfig(DeletingConfig):
    """The tables, and the minimum age of files."""

    older_than_hours: float = Field(
        default=GRACE_MS / HOUR_MS,
        description="Younger files are kept, because they may belong to a future commit. Less than a day is refused.",
    )
    nobody_else_writes: bool = Field(
        default=False, description="Allow deleting files younger than a day. This destroys files of active writers."
    )


def clean_one(visit: Visit, config: CleanConfig) -> Outcome:
    """Delete files of one table that no snapshot, tag, branch or changelog references."""
    table = visit.table()
    is_default = config.older_than_hours * HOUR_MS == GRACE_MS
    report = table.remove_orphan_files(
        older_than_ms=None if is_default else hours_ago(table, config.older_than_hours),
        dry_run=config.dry_run,
        nobody_else_writes=config.nobody_else_writes,
    )
    count, young = len(report.files), report.young
    return Outcome(
        title=tried("orphans", config.dry_run),
        summary=f"{done_with(count, 'orphan', 'deleted', dry_run=config.dry_run)}, {report.bytes:,} bytes"
        f"{'' if young is None else f'; {young}'}",
        metadata={
            "orphans": count,
            "bytes": report.bytes,
            "files": listed(report.paths),
            **({} if young is None else {"too young": str(young)}),
        },
    )


def _check(table: Table, config: CleanConfig) -> None:
    if config.older_than_hours * HOUR_MS < GRACE_MS and not config.nobody_else_writes:
        message = (
            f"{table.identifier}: older_than_hours {config.older_than_hours}: younger files may belong to an active "
            f"writer; expected {GRACE_MS / HOUR_MS:.0f} or more, or nobody_else_writes"
        )
        raise InvalidInputError(message)


CLEAN: Final = Maintenance(
    job="clean_table",
    op="clean",
    description="Delete orphan files. A dry run unless dry_run is false.",
    config=CleanConfig,
    work=clean_one,
    check=_check,
    changes=deletes,
)
