"""``$files``, ``$file_key_ranges`` and ``$file_indexes``: the files that a scan would read (Java ``FilesTable``,
``FileKeyRangesTable``, ``FileIndexesTable``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from table_format.indexes.file_index import opened_indexes
from table_format.io.paths import POSTPONE_BUCKET, extension_of
from table_format.metastore.scan.file_plan import live_files
from table_format.model.bucket_id import BucketId
from table_format.model.data_file import DataFileMeta
from table_format.model.schema import TableSchema
from table_format.model.types import ArrayType, BooleanType, IntType
from table_format.options.startup import StartupMode, startup_mode
from table_format.table.facts import TableFacts
from table_format.table.read.incremental import incremental_plan
from table_format.table.read.time_travel import starting_point
from table_format.table.rows.texts import bracketed
from table_format.table.system.file_statistics import file_statistics
from table_format.table.system.metadata import LONG, NANOS_PER_MILLI, TEXT, TIME, Row, columns

COLUMNS: Final = columns(
    partition=TEXT,
    bucket=IntType(nullable=False),
    file_path=TEXT.not_null(),
    file_format=TEXT.not_null(),
    schema_id=LONG.not_null(),
    level=IntType(nullable=False),
    record_count=LONG.not_null(),
    file_size_in_bytes=LONG.not_null(),
    min_key=TEXT,
    max_key=TEXT,
    null_value_counts=TEXT.not_null(),
    min_value_stats=TEXT.not_null(),
    max_value_stats=TEXT.not_null(),
    min_sequence_number=LONG,
    max_sequence_number=LONG,
    creation_time=TIME,
    deleteRowCount=LONG,
    file_source=TEXT,
    first_row_id=LONG,
    write_cols=ArrayType(TEXT),
)


_KEY_RANGES: Final = (*(field.name for field in COLUMNS[:10]), "first_row_id")
KEY_RANGE_COLUMNS: Final = tuple(field for field in COLUMNS if field.name in _KEY_RANGES)
INDEX_COLUMNS: Final = columns(
    partition=TEXT,
    bucket=IntType(nullable=False),
    file_path=TEXT.not_null(),
    file_size_in_bytes=LONG.not_null(),
    record_count=LONG.not_null(),
    schema_id=LONG.not_null(),
    column_name=TEXT.not_null(),
    index_type=TEXT.not_null(),
    storage_type=TEXT.not_null(),
    index_file_path=TEXT,
    index_size_in_bytes=LONG.not_null(),
    index_container_size_in_bytes=LONG.not_null(),
    is_empty=BooleanType(nullable=False),
)


@dataclass(frozen=True, slots=True)
class _File:
    """A data file and its bucket."""

    bucket_id: BucketId
    file: DataFileMeta


def rows(facts: TableFacts) -> Sequence[Row]:
    """The files by partition and bucket, without postponed ones; keys and statistics in the schema of the snapshot."""
    schema, found = _files(facts)
    return [_row(facts, schema, each) for each in found]


def key_range_rows(facts: TableFacts) -> Sequence[Row]:
    """The files with the range of their keys."""
    return [{name: row[name] for name in _KEY_RANGES} for row in rows(facts)]


def index_rows(facts: TableFacts) -> Sequence[Row]:
    """The indexes of the files, each by its column, or key of a map column, and its type."""
    _, found = _files(facts)
    return [row for each in found for row in _index_rows(facts, each)]


def _files(facts: TableFacts) -> tuple[TableSchema, Sequence[_File]]:
    """Return the files that a scan reads, or those of its changes, and the schema of the scan."""
    if startup_mode(facts.options.raw) is StartupMode.INCREMENTAL:
        splits = incremental_plan(facts, None, None).splits
        changed = [_File(BucketId(split.partition, split.bucket), file) for split in splits for file in split.files]
        return facts.schema, sorted(changed, key=lambda each: each.bucket_id)
    start = starting_point(facts)
    plan = live_files(facts.manifests, start.snapshot, schema=start.schema, schemas=facts.schemas)
    wanted = (e for e in plan.entries if e.bucket != POSTPONE_BUCKET and start.is_wanted(e.file))
    return start.schema, [_File(e.bucket_id, e.file) for e in sorted(wanted, key=lambda entry: entry.bucket_id)]


def _index_rows(facts: TableFacts, entry: _File) -> Iterator[Row]:
    file, (partition, bucket) = entry.file, entry.bucket_id
    with opened_indexes(facts.store, facts.partitions.text(partition), bucket, file) as container:
        if container is None:
            return
        is_embedded = file.embedded_file_index is not None
        for column, types in container.places.items():
            for index_type, place in types.items():
                yield {
                    "partition": bracketed(facts.partitions.types, partition),
                    "bucket": bucket,
                    "file_path": _path(facts, entry),
                    "file_size_in_bytes": file.file_size,
                    "record_count": file.row_count,
                    "schema_id": file.schema_id,
                    "column_name": column,
                    "index_type": index_type,
                    "storage_type": "EMBEDDED" if is_embedded else "FILE",
                    "index_file_path": None if is_embedded else container.path,
                    "index_size_in_bytes": place.length,
                    "index_container_size_in_bytes": container.size,
                    "is_empty": place.is_empty,
                }


def _path(facts: TableFacts, entry: _File) -> str:
    file, (partition, bucket) = entry.file, entry.bucket_id
    return file.external_path or facts.store.paths.file_in_bucket(
        facts.partitions.text(partition), bucket, file.file_name
    )


def _row(facts: TableFacts, shown: TableSchema, entry: _File) -> Row:
    file, (partition, bucket) = entry.file, entry.bucket_id
    keys = [f.type for f in facts.schemas[file.schema_id].key_fields]
    statistics = file_statistics(shown, facts.schemas, file)
    return {
        "partition": bracketed(facts.partitions.types, partition),
        "bucket": bucket,
        "file_path": _path(facts, entry),
        "file_format": extension_of(file.file_name),
        "schema_id": file.schema_id,
        "level": file.level,
        "record_count": file.row_count,
        "file_size_in_bytes": file.file_size,
        "min_key": bracketed(keys, file.min_key) if keys else None,
        "max_key": bracketed(keys, file.max_key) if keys else None,
        "null_value_counts": statistics.null_counts,
        "min_value_stats": statistics.minima,
        "max_value_stats": statistics.maxima,
        "min_sequence_number": file.min_sequence_number,
        "max_sequence_number": file.max_sequence_number,
        "creation_time": None if file.creation_time is None else file.creation_time * NANOS_PER_MILLI,
        "deleteRowCount": file.delete_row_count,
        "file_source": None if file.file_source is None else file.file_source.name,
        "first_row_id": file.first_row_id,
        "write_cols": None if file.write_cols is None else list(file.write_cols),
    }
