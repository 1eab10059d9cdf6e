"""The output of the demo: tables, snapshots, timings, and a digest that shows whether two states have the same rows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO

import pyarrow.csv

from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.tables.measure import measure
from table_format import Table


@dataclass(frozen=True, slots=True)
class Content:
    """The row count and digest of a table, independent of its files and snapshots."""

    rows: int
    digest: str


def content_digest(lakehouse: LakehouseCatalog, name: str) -> Content:
    """Read a primary-key table and digest its rows in key order."""
    table = lakehouse.table(name)
    rows = table.scan().to_arrow().sort_by([(key, "ascending") for key in table.schema.primary_keys])
    text = BytesIO()
    pyarrow.csv.write_csv(rows, text)
    return Content(rows.num_rows, hashlib.sha256(text.getbuffer()).hexdigest())


def print_summary(lakehouse: LakehouseCatalog, steps: Sequence[tuple[str, float, str]]) -> None:
    """Print tables, snapshots and timings."""
    catalog = lakehouse.catalog()
    names = [f"{database}.{table}" for database in catalog.list_databases() for table in catalog.list_tables(database)]
    print("\nTables")
    head = ("table", "kind", "rows", "columns", "files", "size", "snapshots", "latest")
    _print_table(head, [_table_line(lakehouse.table(name)) for name in names])
    for name in (name for name in names if name.startswith("dwd.")):
        print(f"\nSnapshots of {name}")
        _print_table(("id", "time (UTC)", "kind", "change", "by run"), _snapshot_lines(lakehouse.table(name)))
    print("\nTimings")
    lines = [(title, f"{seconds:.1f} s", run_id[:8]) for title, seconds, run_id in steps]
    _print_table(("step", "time", "run"), [*lines, ("all", f"{sum(seconds for _, seconds, _ in steps):.1f} s", "")])


def _table_line(table: Table) -> tuple[str, ...]:
    health = measure(table.facts)
    columns = table.schema.primary_keys or table.schema.field_names[:1]
    rows = sum(batch.num_rows for batch in table.scan(columns=columns).to_batches())
    return (
        str(table.identifier),
        f"primary key {', '.join(table.schema.primary_keys)}" if table.schema.primary_keys else "append",
        f"{rows:,}",
        str(len(table.schema.fields)),
        str(health.live_files),
        f"{health.size_bytes / 1024:,.0f} KB",
        str(health.snapshots),
        str(health.snapshot_id or "none"),
    )


def _snapshot_lines(table: Table) -> list[tuple[str, ...]]:
    return [
        (
            str(snapshot.id),
            datetime.fromtimestamp(snapshot.time_millis / 1000, tz=UTC).strftime("%H:%M:%S"),
            snapshot.commit_kind.value,
            f"{snapshot.delta_record_count or 0:+,}",
            snapshot.properties.get("dagster.run_id", "")[:8],
        )
        for snapshot in table.snapshots()
    ]


def _print_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    rows = [tuple(head), *map(tuple, lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    for row in rows:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
