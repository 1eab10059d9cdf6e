"""Measures a table from its metadata. No rows are read unless a function documents it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import Final

import pyarrow as pa

from dagster_paimon.tables.health import LiveFile, TableHealth, health_of
from table_format import Scan, Snapshot
from table_format.engine import ManifestEntry, TableFacts, files_of, index_coverage, on_latest
from table_format.engine.support import values_of
from table_format.errors import InvalidData
from table_format.types import (
    AnyTimestampType,
    DataField,
    DataType,
    DateType,
    InternalValue,
    LocalZonedTimestampType,
    TimeType,
    arrow_type,
)

_EPOCH: Final = date(1970, 1, 1)
_ZEROS: Final = re.compile(r"(?<=\.\d\d\d)000(?:000)?(?!\d)")
_EPOCH_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)


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

    Rows of an append table are counted from its metadata and its deletion vectors. For a primary-key table, versions of
    a key must be merged, so the keys are read if there are few enough.
    """
    if not facts.schema.is_primary_key_table:
        return Scan(facts).count()
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
        if isinstance(field.type, TimeType):  # Arrow does not convert texts to its type
            array = pa.array([time.fromisoformat(text)], arrow_type(field.type))
        else:
            # Arrow refuses more digits of a second than the type has, even if they are 0, as Python writes them.
            plain = _ZEROS.sub("", text) if isinstance(field.type, AnyTimestampType) else text
            array = pa.array([plain]).cast(arrow_type(field.type))
    except (pa.ArrowException, ValueError) as error:
        message = f"column '{field.name}' is {field.type}, which cannot hold '{text}'"
        raise InvalidData(message) from error
    return values_of(array, field.type)[0]


def partition_key(field: DataField, value: InternalValue) -> str:
    """Return the Dagster partition key of a value of a partition column. Null becomes ``null``.

    ``value_of_text`` converts it to the value again.

    >>> from table_format.types import TimestampType
    >>> partition_key(DataField(0, "at", TimestampType(3)), 3_600_000_000_000)
    '1970-01-01 01:00:00'
    """
    if value is None:
        return "null"
    if isinstance(value, int):
        with suppress(ValueError, OverflowError):  # a time beyond the years of Python is shown as its number
            return _time_text(field.type, value)
    return str(value)


def moment_of(field: DataField, value: InternalValue) -> date | datetime | None:
    """Return a value of a DATE, TIMESTAMP or TIMESTAMP_LTZ column as a date or time of Python; ``None`` for others.

    Only the time of a TIMESTAMP_LTZ has a zone. Nanoseconds are cut off.

    >>> from table_format.types import LocalZonedTimestampType
    >>> moment_of(DataField(0, "at", LocalZonedTimestampType(3)), 0)
    datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """
    if not isinstance(value, int):
        return None
    with suppress(ValueError, OverflowError):  # outside the years that Python supports
        if isinstance(field.type, DateType):
            return _day(value)
        if isinstance(field.type, AnyTimestampType):
            found = _EPOCH_TIME + timedelta(microseconds=value // 1000)
            return found if isinstance(field.type, LocalZonedTimestampType) else found.replace(tzinfo=None)
    return None


def _day(value: int) -> date:
    return date.fromordinal(_EPOCH.toordinal() + value)


def _time_text(data_type: DataType, value: int) -> str:
    if isinstance(data_type, DateType):
        return _day(value).isoformat()
    if isinstance(data_type, TimeType):
        return str((_EPOCH_TIME + timedelta(milliseconds=value)).time())
    if isinstance(data_type, AnyTimestampType):
        seconds, nanos = divmod(value, 1_000_000_000)
        digits = f"{nanos:09}".removesuffix("000") if nanos else ""
        zone = "+00:00" if isinstance(data_type, LocalZonedTimestampType) else ""
        text = str((_EPOCH_TIME + timedelta(seconds=seconds)).replace(tzinfo=None))
        return f"{text}{'.' if digits else ''}{digits}{zone}"
    return str(value)
