"""What the Dagster UI is told about a table: columns, snapshots, levels, and the difference maintenance has made.

Everything comes from the table's own metadata; no row is read. Nothing here may show a secret: locations go through
``without_credentials``, options of a catalog are not shown at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, TypeAlias

import dagster as dg

from resources.health import TableHealth
from resources.plots import COLOURS, Bar, as_metadata, stacked_bars
from table_format.model.schema import TableSchema
from table_format.model.snapshot import CommitKind, Snapshot

Metadata: TypeAlias = dict[str, dg.MetadataValue]

_KIND_COLOUR: Final = {
    CommitKind.APPEND.value: COLOURS[0],
    CommitKind.OVERWRITE.value: COLOURS[1],
    CommitKind.COMPACT.value: COLOURS[2],
    CommitKind.ANALYZE.value: COLOURS[3],
}
_BUCKETS_SHOWN: Final = 40
_SNAPSHOTS_LISTED: Final = 8
SNAPSHOTS_PLOTTED: Final = 30


def data_version(snapshot: Snapshot) -> dg.DataVersion:
    """The version of a table's data: its snapshot. Ids come again after a rollback, so the mark belongs to it."""
    return dg.DataVersion(f"snapshot-{snapshot.id}-{snapshot_mark(snapshot)[:8]}")


def snapshot_mark(snapshot: Snapshot) -> str:
    """What tells a snapshot from another of the same id: its uuid, or its time where an older writer gave none."""
    return snapshot.uuid or str(snapshot.time_millis)


def column_schema(schema: TableSchema) -> dg.TableSchema:
    """The columns as the UI shows them, with types of the format, comments and keys."""
    columns = [
        dg.TableColumn(
            name=field.name,
            type=field.type.sql(),
            description=field.description,
            constraints=dg.TableColumnConstraints(nullable=field.type.nullable),
        )
        for field in schema.fields
    ]
    rules = [
        f"{what} ({', '.join(names)})"
        for what, names in (("PRIMARY KEY", schema.primary_keys), ("PARTITIONED BY", schema.partition_keys))
        if names
    ]
    return dg.TableSchema(columns=columns, constraints=dg.TableConstraints(other=rules))


def snapshot_history(snapshots: Sequence[Snapshot]) -> Metadata:
    """The last snapshots, newest first, as a list and as a plot of rows coloured by kind of commit."""
    newest = sorted(snapshots, key=lambda snapshot: snapshot.id, reverse=True)
    lines = ["| id | time (UTC) | kind | rows | change | by |", "|--:|:--|:--|--:|--:|:--|"]
    lines += [_snapshot_line(snapshot) for snapshot in newest[:_SNAPSHOTS_LISTED]]
    bars = [
        Bar(str(snapshot.id), {snapshot.commit_kind.value: float(snapshot.total_record_count or 0)})
        for snapshot in reversed(newest[:SNAPSHOTS_PLOTTED])
    ]
    plot = stacked_bars("Physical rows after each snapshot", bars, colours=_KIND_COLOUR)
    return {
        "snapshots": dg.MetadataValue.md("\n".join(lines)),
        "rows by snapshot": as_metadata(plot, caption="physical rows after each snapshot"),
    }


def _snapshot_line(snapshot: Snapshot) -> str:
    when = datetime.fromtimestamp(snapshot.time_millis / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")
    run = snapshot.properties.get("dagster.run_id")
    by = f"run [{run[:8]}](/runs/{run})" if run else f"`{snapshot.commit_user[:24]}`"
    rows, change = snapshot.total_record_count or 0, snapshot.delta_record_count or 0
    return f"| {snapshot.id} | {when} | {snapshot.commit_kind} | {rows:,} | {change:+,} | {by} |"


def health_numbers(health: TableHealth) -> Metadata:
    """The numbers that the UI plots over time."""
    return {f"paimon/{name}": dg.MetadataValue.int(value) for name, value in health.numbers.items()}


def health_plots(health: TableHealth) -> Metadata:
    """Bytes of every bucket by level, and how many files there are of each size."""
    return {
        "levels": as_metadata(_levels_plot("Bytes of each bucket by level", health), caption="bytes by level"),
        "file sizes": as_metadata(_sizes_plot({"files": health.size_classes}), caption="files by size"),
    }


def before_and_after(before: TableHealth, after: TableHealth) -> Metadata:
    """What maintenance has changed: the numbers side by side, and the levels and sizes before and after."""
    earlier, later = before.numbers, after.numbers
    lines = ["| | before | after | change |", "|:--|--:|--:|--:|"]
    lines += [
        f"| {name.replace('_', ' ')} | {earlier[name]:,} | {later[name]:,} | {later[name] - earlier[name]:+,} |"
        for name in later
    ]
    sizes = {"before": before.size_classes, "after": after.size_classes}
    return {
        "before and after": dg.MetadataValue.md("\n".join(lines)),
        "levels before": as_metadata(_levels_plot("Before: bytes of each bucket by level", before), caption="before"),
        "levels after": as_metadata(_levels_plot("After: bytes of each bucket by level", after), caption="after"),
        "file sizes": as_metadata(_sizes_plot(sizes), caption="files by size, before and after"),
        **health_numbers(after),
    }


def _levels_plot(title: str, health: TableHealth) -> str:
    largest = sorted(health.level_bytes.items(), key=lambda item: -sum(item[1].values()))[:_BUCKETS_SHOWN]
    return stacked_bars(title, [Bar(bucket, parts) for bucket, parts in sorted(largest)], unit="B")


def _sizes_plot(classes: Mapping[str, Mapping[str, int]]) -> str:
    """One bar for each size class and set; sets of the same class stand side by side."""
    names = list(next(iter(classes.values()), {}))
    single = len(classes) == 1
    bars = [
        Bar(size if single else f"{size} {which}", {which: float(counts[size])})
        for size in names
        for which, counts in classes.items()
    ]
    return stacked_bars("Number of files by size", bars)
