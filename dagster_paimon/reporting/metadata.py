"""Metadata of tables for the Dagster UI: columns, snapshots, levels, and the effect of maintenance.

Everything comes from the metadata of the table; no rows are read. Nothing here may show a secret: locations are passed
through ``without_credentials``, texts through ``redact``, and options of a catalog are not shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final, TypeAlias

import dagster as dg

from dagster_paimon.reporting.plots import COLOURS, SHOWN_IN_PLACE, Bar, chart
from dagster_paimon.tables.health import TableHealth
from table_format import CommitKind, Snapshot, TableSchema
from table_format.counted import counted
from table_format.engine.support import snapshot_fingerprint
from table_format.secrets import redact

Metadata: TypeAlias = dict[str, dg.MetadataValue]

_KIND_COLOUR: Final = {
    CommitKind.APPEND.value: COLOURS[0],
    CommitKind.OVERWRITE.value: COLOURS[1],
    CommitKind.COMPACT.value: COLOURS[2],
    CommitKind.ANALYZE.value: COLOURS[3],
}
_BUCKETS_SHOWN: Final = 40
SNAPSHOTS_PLOTTED: Final = 30
_DIGEST_BYTES: Final = 8


def data_version(snapshot: Snapshot) -> dg.DataVersion:
    """Return the version of the data of a table: the snapshot id with a digest, because ids repeat after a rollback.

    Two states never have the same version, and a state that a rollback restores has its earlier version.
    """
    digest = blake2b(snapshot_fingerprint(snapshot).encode(), digest_size=_DIGEST_BYTES).hexdigest()
    return dg.DataVersion(f"snapshot-{snapshot.id}-{digest}")


def column_schema(schema: TableSchema) -> dg.TableSchema:
    """Return the columns for the UI, with types of the format, comments and keys."""
    columns = [
        dg.TableColumn(
            name=field.name,
            type=field.type.sql(),
            description=None if field.description is None else redact(field.description),
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
    """Return the last snapshots, newest first, as a list and as a plot of rows colored by commit kind."""
    newest = sorted(snapshots, key=lambda snapshot: snapshot.id, reverse=True)
    bars = [
        Bar(str(snapshot.id), {snapshot.commit_kind.value: float(snapshot.total_record_count or 0)})
        for snapshot in reversed(newest)
    ]
    head = ("| id | UTC | kind | rows | change | by |", "|--:|:--|:--|--:|--:|:--|")
    return {
        "snapshots": markdown_lines(head, map(_snapshot_line, newest)),
        "rows by snapshot": chart(bars, caption="physical rows after each snapshot", colours=_KIND_COLOUR),
    }


def changelog_rows(snapshots: Iterable[Snapshot]) -> dict[str, int]:
    """Return the number of rows in the changelogs of the snapshots; empty for a table without a changelog."""
    counts = [snapshot.changelog_record_count or 0 for snapshot in snapshots if snapshot.changelog_manifest_list]
    return {"paimon/changelog_rows": sum(counts)} if counts else {}


def markdown_lines(head: Iterable[str], lines: Iterable[str]) -> dg.MarkdownMetadataValue:
    """Return lines of Markdown, as many as the UI shows without a click."""
    text = "\n".join(head)
    for line in map(redact, lines):
        if len(text) + 1 + len(line) > SHOWN_IN_PLACE:
            break
        text = f"{text}\n{line}"
    return dg.MetadataValue.md(text)


def listed(items: Iterable[str]) -> dg.TextMetadataValue:
    """Return a list as text, shortened if it is long; ``none`` if it is empty."""
    text = redact("; ".join(items))
    return dg.MetadataValue.text(f"{text[:SHOWN_IN_PLACE]} ..." if len(text) > SHOWN_IN_PLACE else text or "none")


def _snapshot_line(snapshot: Snapshot) -> str:
    when = datetime.fromtimestamp(snapshot.time_millis / 1000, tz=UTC).strftime("%m-%d %H:%M:%S")
    run = snapshot.properties.get("dagster.run_id")
    by = f"run [{run[:8]}](/runs/{run})" if run else f"`{snapshot.commit_user[:24]}`"
    rows, change = snapshot.total_record_count or 0, snapshot.delta_record_count or 0
    return f"| {snapshot.id} | {when} | {snapshot.commit_kind} | {rows:,} | {change:+,} | {by} |"


def health_numbers(health: TableHealth) -> Metadata:
    """Return the numbers that the UI plots over time."""
    numbers: Metadata = {f"paimon/{name}": dg.MetadataValue.int(value) for name, value in health.numbers.items()}
    if health.files_without_indexes is None:
        return numbers
    indexed = health.live_files - health.files_without_indexes
    of = counted(health.live_files, "file has", "files have")
    return {
        **numbers,
        "file indexes": dg.MetadataValue.text(f"{indexed} of {of} the indexes that the table declares"),
    }


def health_plots(health: TableHealth) -> Metadata:
    """Return plots of the bytes of every bucket by level, and of the number of files by size."""
    return {
        "bytes by level": _levels_chart(health, "bytes of each bucket by level"),
        "files by size": _sizes_chart({"files": health.size_classes}),
    }


def before_and_after(before: TableHealth, after: TableHealth) -> Metadata:
    """Return the numbers before and after maintenance side by side, and the current numbers."""
    earlier, later = before.numbers, after.numbers
    lines = ["| | before | after | change |", "|:--|--:|--:|--:|"]
    lines += [
        f"| {name.replace('_', ' ')} | {earlier[name]:,} | {later[name]:,} | {later[name] - earlier[name]:+,} |"
        for name in later
    ]
    return {"before and after": dg.MetadataValue.md("\n".join(lines)), **health_numbers(after)}


def compaction_plots(before: TableHealth, after: TableHealth) -> Metadata:
    """Return plots of levels and file sizes before and after a compaction."""
    sizes = {"before": before.size_classes, "after": after.size_classes}
    return {
        "bytes by level before": _levels_chart(before, "bytes of each bucket by level, before"),
        "bytes by level after": _levels_chart(after, "bytes of each bucket by level, after"),
        "files by size": _sizes_chart(sizes),
    }


def _levels_chart(health: TableHealth, caption: str) -> dg.MarkdownMetadataValue:
    """Return a chart of the largest buckets, in order of their names."""
    largest = sorted(health.level_bytes.items(), key=lambda item: sum(item[1].values()))[-_BUCKETS_SHOWN:]
    return chart([Bar(bucket, parts) for bucket, parts in sorted(largest)], caption=caption, unit="B")


def _sizes_chart(classes: Mapping[str, Mapping[str, int]]) -> dg.MarkdownMetadataValue:
    """Return a chart with one bar for each size class and set. Sets of the same class are side by side."""
    names = list(next(iter(classes.values()), {}))
    bars = [Bar(size, {which: float(counts[size])}) for size in names for which, counts in classes.items()]
    return chart(bars, caption="number of files by size")
