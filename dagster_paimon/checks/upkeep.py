"""Checks of the storage of a table: its health, its files, and orphan files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

import dagster as dg

from dagster_paimon.checks.base import CheckedTable, check_result, table_check
from dagster_paimon.reporting.metadata import health_numbers, health_plots, listed
from dagster_paimon.tables.health import TableHealth
from dagster_paimon.tables.measure import measure
from table_format import Severity, Snapshot, Table, Upkeep
from table_format.counted import counted
from table_format.engine import ManifestEntry, TableFacts, files_of, on_latest
from table_format.engine.support import NUM_RETAINED_MAX, STOP_TRIGGER
from table_format.errors import SnapshotExpired

MOST_SNAPSHOTS: Final = 200
"""The most snapshots for a table whose options limit only their age. With more, reading its history is slow."""

_FINDINGS_SHOWN: Final = 20


def table_health(table: CheckedTable | str) -> dg.AssetChecksDefinition:
    """Warn if sorted runs, small files or snapshots accumulate: reads get slower, and maintenance is due."""

    def evaluate(found: Table) -> dg.AssetCheckResult:
        health, due = measure(found.facts), found.due_upkeep()
        problems = list(_overdue(found, health))
        if not found.schema.is_primary_key_table:
            problems += [str(work) for work in due if work.kind is Upkeep.COMPACT]
        return check_result(
            not problems,
            severity=dg.AssetCheckSeverity.WARN,
            description="; ".join(problems) or None,
            metadata={"due": listed(map(str, due)), **health_numbers(health), **health_plots(health)},
        )

    description = (
        f"No bucket has more sorted runs than '{STOP_TRIGGER.key}', no append table has small files that are due to be "
        f"compacted, and there are at most '{NUM_RETAINED_MAX.key}' snapshots, or {MOST_SNAPSHOTS}."
    )
    return table_check(table, "table_health", description, evaluate)


def _overdue(table: Table, health: TableHealth) -> Iterator[str]:
    """Return what has accumulated beyond the limits of the table."""
    most_runs = table.options.compaction.stop_trigger
    if table.schema.is_primary_key_table and health.max_sorted_runs > most_runs:
        yield f"a bucket has {counted(health.max_sorted_runs, 'sorted run')}, and '{STOP_TRIGGER.key}' is {most_runs}"
    option = table.options.expire.num_retained_max
    most = min(option, MOST_SNAPSHOTS) if option == NUM_RETAINED_MAX.default else option
    if health.snapshots > most:
        yield f"found {counted(health.snapshots, 'snapshot')}, expected at most {most}"


def files_present(table: CheckedTable | str) -> dg.AssetChecksDefinition:
    """Fail if a file of the latest snapshot is missing or does not have its recorded size."""

    def evaluate(found: Table) -> dg.AssetCheckResult:
        files, problems = broken_files(found.facts)
        return check_result(not problems, metadata={"files": files, "problems": listed(problems)})

    description = "Every data file of the latest snapshot is there with its recorded size."
    return table_check(table, "files_present", description, evaluate)


def broken_files(facts: TableFacts) -> tuple[int, Sequence[str]]:
    """Return the number of data files of the latest snapshot, and a text for each that is missing or of another size.

    If the snapshot expires during the check, the next latest snapshot is checked.
    """
    return on_latest(facts, partial(_broken_files_of, facts))


def _broken_files_of(facts: TableFacts, snapshot: Snapshot | None) -> tuple[int, Sequence[str]]:
    entries = files_of(facts, snapshot)
    problems = list(_problems(facts, entries))
    if problems and snapshot is not None and facts.snapshots.is_expiring(snapshot.id):
        message = f"snapshot {snapshot.id} of {facts.name} expired while its files were checked"
        raise SnapshotExpired(message)
    return len(entries), problems


def _problems(facts: TableFacts, entries: Iterable[ManifestEntry]) -> Iterator[str]:
    paths, io = facts.store.paths, facts.store.io
    for entry in entries:
        path = paths.data_file(facts.partitions.text(entry.partition), entry.bucket, entry.file)
        status = io.status(path)
        if status is None:
            yield f"{path}: missing"
        elif status.size != entry.file.file_size:
            yield f"{path}: expected {entry.file.file_size} bytes, found {status.size}"


def snapshot_readable(table: CheckedTable | str, *, depth: str = "files") -> dg.AssetChecksDefinition:
    """Fail if ``verify`` finds an error. ``depth`` is ``metadata``, ``files`` (footers, indexes) or ``rows``."""

    def evaluate(found: Table) -> dg.AssetCheckResult:
        report = found.verify(depth=depth)
        described = (f"{f.check}: {f.path}: expected {f.expected}, found {f.found}" for f in report.errors)
        problems = [text for _, text in zip(range(_FINDINGS_SHOWN), described, strict=False)]
        warnings = sum(finding.severity is Severity.WARNING for finding in report.findings)
        return check_result(
            report.is_healthy,
            description="; ".join(problems[:1]) or None,
            metadata={
                "depth": depth,
                "snapshots": report.snapshots,
                "files": report.files,
                "errors": len(report.errors),
                "warnings": warnings,
                "problems": listed(problems),
            },
        )

    description = (
        f"Verification down to {depth} finds no error in snapshots, manifests and the files that they reference."
    )
    return table_check(table, "snapshot_readable", description, evaluate)


def no_dangling_files(table: CheckedTable | str) -> dg.AssetChecksDefinition:
    """Warn about orphan files that are a day old: a process was killed, or a cleanup is due."""

    def evaluate(found: Table) -> dg.AssetCheckResult:
        report = found.remove_orphan_files(dry_run=True)
        return check_result(
            not report.files,
            severity=dg.AssetCheckSeverity.WARN,
            metadata={"files": len(report.files), "bytes": report.bytes, "paths": listed(report.paths)},
        )

    description = (
        "There are no orphan files older than a day: every file is referenced by a snapshot, tag, branch or changelog."
    )
    return table_check(table, "no_dangling_files", description, evaluate)
