"""Data files in memory: one bucket of a table without a metastore."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from table_format.formats.bucket_files import BucketFiles
from table_format.formats.data_file_reader import DataFileReader
from table_format.formats.parquet_reader import ParquetFileReader
from table_format.formats.parquet_writer import ParquetFileWriter
from table_format.formats.protocol import WrittenFile
from table_format.formats.registry import format_of
from table_format.formats.rolling_writer import RollingDataFileWriter
from table_format.io.memory import MemoryFileIO
from table_format.io.paths import TablePaths
from table_format.io.table_store import TableStore
from table_format.model.arrow_types import arrow_schema
from table_format.model.data_file import EMPTY_ROW, DataFileMeta, FileSource
from table_format.model.predicate import Predicate
from table_format.model.schema import TableSchema
from table_format.model.types import DataField
from table_format.options.files import FileOptions
from table_format.options.table_options import TableOptions
from table_format.runtime import Runtime

BUCKET = "/w/db.db/t/bucket-0"


class CountingIds:
    """Consecutive UUIDs."""

    def __init__(self) -> None:
        self._next = 0

    def uuid(self) -> str:
        self._next += 1
        return f"00000000-0000-4000-8000-{self._next:012d}"


class FixedClock:
    """A clock with a fixed time, in the zone UTC+2."""

    def now_ms(self) -> int:
        return 1_700_000_000_000

    def local_now_ms(self) -> int:
        return self.now_ms() + 7_200_000

    monotonic_ms = now_ms

    def sleep_ms(self, duration_ms: int) -> None:
        raise AssertionError


def a_schema(*fields: DataField, keys: Sequence[str] = (), schema_id: int = 0) -> TableSchema:
    return TableSchema(id=schema_id, fields=fields, highest_field_id=99, primary_keys=tuple(keys))


def a_batch(fields: Sequence[DataField], rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows), schema=arrow_schema(fields))


@dataclass
class Bucket:
    """Bucket 0 of an unpartitioned table in memory; ``schemas`` are the schemas by id, the last one is written."""

    schemas: Sequence[TableSchema]
    options: Mapping[str, str] = field(default_factory=dict)
    io: MemoryFileIO = field(default_factory=MemoryFileIO)

    def __post_init__(self) -> None:
        runtime = Runtime(clock=FixedClock(), ids=CountingIds())
        self.store = TableStore(self.io, TablePaths("/w/db.db/t"), runtime)

    @property
    def names(self) -> list[str]:
        """The existing files."""
        return [status.name for status in self.io.list(BUCKET)]

    def writer(self, *, schema: TableSchema | None = None, **arguments: Any) -> RollingDataFileWriter:
        settings: dict[str, Any] = {"level": 0, "source": FileSource.APPEND, **arguments}
        bucket = BucketFiles(
            store=self.store,
            schema=schema or self.schemas[-1],
            schemas={each.id: each for each in self.schemas},
            options=TableOptions.parse(self.options),
            partition=EMPTY_ROW,
            partition_text="",
            bucket=0,
            total_buckets=1,
        )
        return RollingDataFileWriter(bucket, **settings)

    def write(self, *batches: pa.RecordBatch, schema: TableSchema | None = None) -> tuple[DataFileMeta, ...]:
        writer = self.writer(schema=schema)
        for batch in batches:
            writer.write(batch)
        return writer.close()

    def read(
        self,
        files: Iterable[DataFileMeta],
        fields: Sequence[DataField] | None = None,
        *,
        schema: TableSchema | None = None,
        predicate: Predicate | None = None,
        batch_rows: int = 1000,
    ) -> pa.Table:
        read_schema = schema or self.schemas[-1]
        wanted = read_schema.physical_fields if fields is None else fields
        reader = DataFileReader(
            self.store, {s.id: s for s in self.schemas}, read_schema, TableOptions.parse(self.options)
        )
        batches = [
            batch
            for file in files
            for batch in reader.read(EMPTY_ROW, 0, file, wanted, predicate=predicate, batch_rows=batch_rows)
        ]
        return pa.Table.from_batches(batches, schema=arrow_schema(wanted))


def parquet_bytes(
    fields: Sequence[DataField], *batches: pa.RecordBatch, options: FileOptions | None = None
) -> tuple[bytes, WrittenFile]:
    """A Parquet file and the facts that its writer returned."""
    sink = pa.BufferOutputStream()
    writer = ParquetFileWriter(sink, fields, options or FileOptions())
    for batch in batches:
        writer.write(batch)
    written = writer.close()
    return sink.getvalue().to_pybytes(), written


def read_parquet(data: bytes, fields: Sequence[DataField], *, batch_rows: int = 1000) -> pa.Table:
    """All rows of a Parquet file, validated by Arrow."""
    reader = ParquetFileReader(pa.BufferReader(data), "/f.parquet", use_threads=False)
    batches = list(reader.batches(fields, row_groups=None, batch_rows=batch_rows))
    for batch in batches:
        batch.validate(full=True)
    return pa.Table.from_batches(batches, schema=arrow_schema(fields))


def format_bytes(
    file_format: str, fields: Sequence[DataField], *batches: pa.RecordBatch, options: FileOptions | None = None
) -> tuple[bytes, WrittenFile]:
    """A file of any format and the facts that its writer returned."""
    sink = pa.BufferOutputStream()
    writer = format_of(file_format).open_writer(sink, fields, options or FileOptions())
    for batch in batches:
        writer.write(batch)
    written = writer.close()
    return sink.getvalue().to_pybytes(), written


def read_format(file_format: str, data: bytes, fields: Sequence[DataField], *, batch_rows: int = 1000) -> pa.Table:
    """All rows of a file of any format, validated: arrays are valid, and batches are not larger than requested."""
    reader = format_of(file_format).open_reader(pa.BufferReader(data), f"/f.{file_format}", use_threads=False)
    batches = list(reader.batches(fields, row_groups=None, batch_rows=batch_rows))
    for batch in batches:
        batch.validate(full=True)
        assert 0 < batch.num_rows <= batch_rows
    assert sum(batch.num_rows for batch in batches) == reader.row_count
    return pa.Table.from_batches(batches, schema=arrow_schema(fields))
