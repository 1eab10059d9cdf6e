"""Tables of many files for the measurements of planning: only metadata, because the files are never opened."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from hashlib import blake2b
from itertools import count
from pathlib import Path
from uuid import UUID

from table_format import Schema, load_catalog
from table_format.codecs.binary_row import serialize_row
from table_format.model.commit import CommitMessage, Committable
from table_format.model.data_file import DataFileMeta, FileSource, SimpleStats
from table_format.model.types import BigIntType, DataField, DoubleType, IntType, VarCharType
from table_format.table.table import Table

TABLE = "bench.many_files"
KEYS_OF_A_FILE = 1000
_COLUMNS = (
    ("k", BigIntType(nullable=False)),
    ("dt", VarCharType(nullable=False)),
    *((f"n{i}", IntType()) for i in range(4)),
    *((f"x{i}", DoubleType()) for i in range(2)),
    *((f"s{i}", VarCharType()) for i in range(4)),
)
_TYPES = tuple(data_type.with_nullable(True) for _, data_type in _COLUMNS)


def many_files(warehouse: Path, files: int, *, partitions: int = 100, buckets: int = 4, commits: int = 20) -> Table:
    """Create a primary-key table with about ``files`` files in ``partitions`` times ``buckets`` buckets.

    Every tenth commit compacts the files of the previous commit, so a tenth of the entries removes another entry.
    """
    shutil.rmtree(warehouse, ignore_errors=True)
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_database(TABLE.partition(".")[0])
    fields = tuple(DataField(i, name, data_type) for i, (name, data_type) in enumerate(_COLUMNS))
    schema = Schema(
        fields, primary_keys=("dt", "k"), partition_keys=("dt",), options={"bucket": str(buckets), "write-only": "true"}
    )
    table = catalog.create_table(TABLE, schema)
    committer = table.facts.committer("bench")
    numbers = count()
    places = [(f"2026-{i:04d}", bucket) for i in range(partitions) for bucket in range(buckets)]
    size = max(1, files // (len(places) * commits))
    before: list[tuple[DataFileMeta, ...]] = [() for _ in places]
    for number in range(commits):
        made = [tuple(_file(dt, number * size + i, next(numbers)) for i in range(size)) for dt, _ in places]
        messages = [
            CommitMessage(
                partition=serialize_row((VarCharType(),), (dt,)),
                bucket=bucket,
                total_buckets=buckets,
                new_files=new,
                compact_before=old if number % 10 == 1 else (),
                compact_after=tuple(file.upgrade(4) for file in old) if number % 10 == 1 else (),
            )
            for (dt, bucket), new, old in zip(places, made, before, strict=True)
        ]
        before = made
        committer.commit(Committable(identifier=number, messages=tuple(messages)))
    return table


def _file(dt: str, place: int, number: int) -> DataFileMeta:
    # Every fifth file overlaps with its neighbors.
    first = place * KEYS_OF_A_FILE
    last = first + KEYS_OF_A_FILE + (KEYS_OF_A_FILE // 2 if number % 5 == 0 else -1)
    low, high = serialize_row((BigIntType(),), (first,)), serialize_row((BigIntType(),), (last,))
    return DataFileMeta(
        file_name=f"data-{UUID(bytes=blake2b(number.to_bytes(8), digest_size=16).digest())}-{number % 7}.parquet",
        file_size=8 << 20,
        row_count=KEYS_OF_A_FILE,
        min_key=low,
        max_key=high,
        key_stats=SimpleStats(low, high, (0,)),
        value_stats=_stats(dt, first, last),
        min_sequence_number=number * KEYS_OF_A_FILE,
        max_sequence_number=(number + 1) * KEYS_OF_A_FILE - 1,
        schema_id=0,
        level=0 if number % 5 == 0 else 5,
        creation_time=1_790_000_000_000 + number,
        delete_row_count=0,
        file_source=FileSource.APPEND if number % 5 == 0 else FileSource.COMPACT,
    )


def _stats(dt: str, first: int, last: int) -> SimpleStats:
    low: Sequence[object] = (
        first,
        dt,
        *(i for i in range(4)),
        *(i / 3 for i in range(2)),
        *("a text" for _ in range(4)),
    )
    high = (
        last,
        dt,
        *(i + 9999 for i in range(4)),
        *(i + 0.5 for i in range(2)),
        *("some longer text" for _ in range(4)),
    )
    return SimpleStats(serialize_row(_TYPES, low), serialize_row(_TYPES, high), (0,) * len(_TYPES))  # type: ignore[arg-type]
