"""Measures a table from its metadata. No rows are read unless a function documents it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from functools import partial
from typing import Final

import pyarrow as pa

from dagster_paimon.tables.health import LiveFile, TableHealth, health_of
from table_format import Scan, Snapshot
from table_format.engine import ManifestEntry, TableFacts, files_of, index_coverage, on_latest
from table_format.engine.support import values_of
from table_format.errors import InvalidData
from table_format.types import DataField, DateType, InternalValue, arrow_type

_EPOCH: Final = date(1970, 1, 1)


def live_entries(facts: TableFacts) -> Sequence[ManifestEntry]:
    """Return the data files of the latest snapshot."""
    return on_latest(facts, partial(files_of, facts))


def measure(facts: TableFacts) -> TableHealth:
    """Measure the current state of a table."""
    return on_latest(facts, partial(_measured, facts))


def _measured(facts: TableFacts, snapshot: Snapshot | None) -> TableHealth:
    files = []
    for entry in files_of(facts, snapshot):
        directory = facts.partitions.text(entry.partition).strip("/")
        files.append(LiveFile(f"{directory}/{entry.bucket}" if directory else str(entry.bucket), entry.file))
    return health_of(
        files,
        snapshot_id=snapshot.id if snapshot else None,
        snapshots=len(facts.snapshots.ids()),
        marked_rows=0 if snapshot is None else _deleted_rows(facts, snapshot),
        files_without_indexes=_files_without_indexes(facts),
    )


def _files_without_indexes(facts: TableFacts) -> int | None:
    """Return the number of files whose indexes differ from the declared ones; ``None`` if there are no indexes."""
    differing = sum(index_coverage(facts).differing.values())
    return differing if differing or facts.options.file_index.columns else None


def _deleted_rows(facts: TableFacts, snapshot: Snapshot) -> int:
    """Return the number of rows marked as deleted. Vectors of older releases do not record it."""
    vectors = (vector for files in facts.deletion_files(snapshot).values() for vector in files.values())
    return sum(vector.range.cardinality or 0 for vector in vectors)


def recent_snapshots(facts: TableFacts, count: int) -> tuple[Snapshot, ...]:
    """Return the last retained snapshots, oldest first."""
    found = (facts.snapshots.find(snapshot_id) for snapshot_id in facts.snapshots.ids()[-count:])
    return tuple(snapshot for snapshot in found if snapshot is not None)


def committed_by(facts: TableFacts, user: str, *, since_ms: int) -> tuple[Snapshot, ...]:
    """Return the snapshots of one commit user that are not older than ``since_ms``, oldest first."""
    found: list[Snapshot] = []
    for snapshot_id in range(facts.snapshots.latest_id() or 0, 0, -1):
        snapshot = facts.snapshots.find(snapshot_id)
        if snapshot is None or snapshot.time_millis < since_ms:
            break
        if snapshot.commit_user == user:
            found.append(snapshot)
    return tuple(reversed(found))


def count_rows(facts: TableFacts, health: TableHealth, *, read_up_to: int) -> int | None:
    """Return the number of rows that a reader sees; ``None`` if that requires reading more than ``read_up_to`` keys.

    Rows of an append table are counted from its metadata. For a primary-key table, versions of a key must be merged, so
    the keys are read if there are few enough.
    """
    if not facts.schema.is_primary_key_table:
        return health.physical_rows
    if health.physical_rows > read_up_to:
        return None
    keys = Scan(facts, columns=facts.schema.primary_keys)
    return sum(int(batch.num_rows) for batch in keys.to_batches())


def value_of_text(field: DataField, text: str) -> InternalValue:
    """Convert a text, such as a Dagster partition key, to a value of a column.

    Raises:
        InvalidData: the text is not a value of the column type.

    >>> from table_format.types import DateType
    >>> value_of_text(DataField(0, "day", DateType()), "1970-01-02")
    1
    """
    try:
        array = pa.array([text]).cast(arrow_type(field.type))
    except pa.ArrowException as error:
        message = f"column '{field.name}' is {field.type}, which cannot hold '{text}'"
        raise InvalidData(message) from error
    return values_of(array, field.type)[0]


def partition_key(field: DataField, value: InternalValue) -> str:
    """Return the Dagster partition key of a value of a partition column. Null becomes ``null``."""
    if value is None:
        return "null"
    if isinstance(field.type, DateType) and isinstance(value, int):
        with suppress(ValueError, OverflowError):  # a day outside the years that Python supports is shown as its number
            return date.fromordinal(_EPOCH.toordinal() + value).isoformat()
    return str(value)
