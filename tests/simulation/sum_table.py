"""The table all simulations run on: two partitions, two buckets, and a merge that is a sum.

A data file is a small JSON object from key to amount; the rows of a bucket are the sums over its live files. With a sum
nothing hides: a file that is read twice or not at all changes the answer, which a deduplicating merge would forgive.

Where the schema changes, each change adds a column, and an amount in column ``c`` stands under the key
``c * NEXT_COLUMN + key``: what a handle of an older schema does not read is missing in the answer.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping

from table_format.codecs.binary_row import deserialize_row, serialize_row
from table_format.codecs.schema_json import encode_schema
from table_format.io.file_io import FileIO
from table_format.io.paths import TablePaths, data_file_name, partition_text
from table_format.model.commit import CommitMessage
from table_format.model.data_file import EMPTY_STATS, DataFileMeta, FileSource
from table_format.model.schema import TableSchema
from table_format.model.types import BigIntType, DataField, IntType
from table_format.runtime import Runtime

ROOT = "/w/db.db/t"
PATHS = TablePaths(ROOT)
BUCKETS = 2
MAX_LEVEL = 5
NEXT_COLUMN = 1_000
PARTITION_FIELD = DataField(0, "p", IntType(nullable=False))
KEY_TYPES = (IntType(nullable=False),)

Rows = Mapping[int, int]
"""Amounts by key, within one bucket."""
Content = Counter[tuple[bytes, int, int]]
"""Amounts by partition, bucket and key: what a snapshot says."""


def schema_with(options: Mapping[str, str]) -> TableSchema:
    """The schema with further options."""
    fields = (
        PARTITION_FIELD,
        DataField(1, "k", IntType(nullable=False)),
        DataField(2, "v", BigIntType()),
    )
    return TableSchema(
        id=0,
        fields=fields,
        highest_field_id=2,
        partition_keys=("p",),
        primary_keys=("p", "k"),
        options={"bucket": str(BUCKETS), **options},
    )


def create_table(io: FileIO, options: Mapping[str, str]) -> None:
    """Make the table's first schema."""
    io.create(PATHS.schema(0), encode_schema(schema_with(options)))


def partition(value: int) -> bytes:
    return serialize_row((PARTITION_FIELD.type,), (value,))


def text_of(row: bytes) -> str:
    return partition_text((PARTITION_FIELD,), deserialize_row((PARTITION_FIELD.type,), row))


def path_of(row: bytes, bucket: int, file: DataFileMeta) -> str:
    return PATHS.data_file(text_of(row), bucket, file)


def key_of(serialized: bytes) -> int:
    (key,) = deserialize_row(KEY_TYPES, serialized)
    assert isinstance(key, int)
    return key


def write_rows(
    io: FileIO,
    runtime: Runtime,
    row: bytes,
    bucket: int,
    rows: Rows,
    *,
    level: int = 0,
    sequence: int = 0,
    schema_id: int = 0,
) -> DataFileMeta:
    """Write one data file and say what a manifest has to know of it."""
    data = encode_rows(rows)
    file = DataFileMeta(
        file_name=data_file_name("data-", runtime.ids.uuid(), 0, "json"),
        file_size=len(data),
        row_count=len(rows),
        min_key=serialize_row(KEY_TYPES, (min(rows),)),
        max_key=serialize_row(KEY_TYPES, (max(rows),)),
        key_stats=EMPTY_STATS,
        value_stats=EMPTY_STATS,
        min_sequence_number=sequence,
        max_sequence_number=sequence + len(rows) - 1,
        schema_id=schema_id,
        level=level,
        creation_time=runtime.clock.local_now_ms(),
        delete_row_count=0,
        file_source=FileSource.APPEND if level == 0 else FileSource.COMPACT,
    )
    io.create(path_of(row, bucket, file), data)
    return file


def in_all_columns(rows: Content, schema_id: int) -> Content:
    """The same amounts in every column that the schema has."""
    return Counter(
        {
            (*place, column * NEXT_COLUMN + key): n
            for (*place, key), n in rows.items()
            for column in range(schema_id + 1)
        }
    )


def encode_rows(rows: Rows) -> bytes:
    return json.dumps({str(key): rows[key] for key in sorted(rows)}).encode()


def decode_rows(data: bytes) -> dict[int, int]:
    return {int(key): amount for key, amount in json.loads(data).items()}


def message(row: bytes, bucket: int, **files: Iterable[DataFileMeta]) -> CommitMessage:
    """The commit message of one bucket."""
    parts = {name: tuple(metas) for name, metas in files.items()}
    return CommitMessage(partition=row, bucket=bucket, total_buckets=BUCKETS, **parts)
