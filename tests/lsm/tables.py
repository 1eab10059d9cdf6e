"""A bucket of a primary-key table in memory, with the live files that a metastore would keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pyarrow as pa

from table_format.formats.bucket_files import BucketFiles
from table_format.formats.data_file_reader import DataFileReader
from table_format.io.memory import MemoryFileIO
from table_format.io.paths import TablePaths
from table_format.io.table_store import TableStore
from table_format.lsm.compact import compact_bucket
from table_format.lsm.keys import key_ranges
from table_format.lsm.levels import Levels, levels_of
from table_format.lsm.merge_read import read_bucket
from table_format.lsm.writer import MergeTreeWriter
from table_format.model.arrow_types import arrow_schema
from table_format.model.commit import CommitMessage
from table_format.model.data_file import EMPTY_ROW, DataFileMeta
from table_format.model.predicate import Predicate
from table_format.model.row_kind import RowKind
from table_format.model.schema import SEQUENCE_NUMBER, VALUE_KIND, TableSchema
from table_format.model.types import BigIntType, DataField, IntType, VarCharType
from table_format.options.table_options import TableOptions
from table_format.pruning.pruning import Pruning
from table_format.pruning.read_kind import ReadKind
from table_format.runtime import Runtime

A, UB, UA, D = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE

SCHEMA = TableSchema(
    id=0,
    fields=(
        DataField(0, "v", VarCharType()),
        DataField(1, "k", IntType(nullable=False)),
        DataField(2, "s", BigIntType()),
    ),
    highest_field_id=2,
    primary_keys=("k",),
)
Row = tuple[RowKind, int, str | None, int | None]
"""Kind, k, v, s."""


class CountingIds:
    """Consecutive UUIDs."""

    def __init__(self) -> None:
        self._next = 0

    def uuid(self) -> str:
        self._next += 1
        return f"00000000-0000-4000-8000-{self._next:012d}"


class FixedClock:
    """A clock with a fixed time."""

    def now_ms(self) -> int:
        return 1_700_000_000_000

    local_now_ms = monotonic_ms = now_ms

    def sleep_ms(self, duration_ms: int) -> None:
        raise AssertionError


class WatchedFileIO(MemoryFileIO):
    """Remembers which files were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: set[str] = set()

    def open_input(self, path: str) -> pa.NativeFile:
        self.opened.add(path.rsplit("/", 1)[-1])
        return super().open_input(path)


@dataclass
class Bucket:
    """``live`` are the files of the last commit; every change is checked as a commit would."""

    options: Mapping[str, str] = field(default_factory=dict)
    schema: TableSchema = SCHEMA
    schemas: dict[int, TableSchema] = field(default_factory=dict)
    live: tuple[DataFileMeta, ...] = ()
    store: TableStore = field(
        default_factory=lambda: TableStore(
            MemoryFileIO(), TablePaths("/w/db.db/t"), Runtime(clock=FixedClock(), ids=CountingIds())
        )
    )

    def __post_init__(self) -> None:
        self.schemas[self.schema.id] = self.schema

    @property
    def parsed(self) -> TableOptions:
        return TableOptions.parse(self.options)

    @property
    def files(self) -> BucketFiles:
        return BucketFiles(
            store=self.store,
            schema=self.schema,
            schemas=self.schemas,
            options=self.parsed,
            partition=EMPTY_ROW,
            partition_text="",
            bucket=0,
            total_buckets=1,
        )

    @property
    def levels(self) -> Levels:
        return levels_of(self.live, self.parsed.compaction.num_levels, key_ranges(self.schema))

    @property
    def data_files(self) -> list[str]:
        """The names of the existing files."""
        return [f.name for f in self.store.io.list(self.store.paths.bucket_directory("", 0))]

    def writer(self) -> MergeTreeWriter:
        return MergeTreeWriter(self.files, existing=self.live)

    def write(self, *rows: Row, compact: bool | Literal["full"] = False) -> CommitMessage:
        """Write rows in one commit."""
        writer = self.writer()
        writer.write(batch_of(rows, self.schema))
        return self.commit(writer.prepare(compact=compact))

    def compact(self, *, full: bool = True) -> CommitMessage:
        return self.commit(compact_bucket(self.files, self.live, full=full))

    def commit(self, message: CommitMessage) -> CommitMessage:
        """Apply the APPEND and then the COMPACT changes, and check the invariants of the format for the result."""
        self.live += message.new_files
        for file in message.compact_before:
            assert file in self.live
        self.live = tuple(f for f in self.live if f not in message.compact_before) + message.compact_after
        self.check()
        return message

    def check(self) -> None:
        names = [f.file_name for f in self.live]
        assert len(set(names)) == len(names)
        levels = self.levels  # raises when files of one level overlap
        assert set(names) <= set(self.data_files)
        for file in levels.files:
            self._check_file(file)

    def _check_file(self, file: DataFileMeta) -> None:
        fields = (*self.schema.key_fields, SEQUENCE_NUMBER, VALUE_KIND)
        table = pa.Table.from_batches(self.reader().read(EMPTY_ROW, 0, file, fields), schema=arrow_schema(fields))
        keys = table.column(0).to_pylist()
        numbers = table.column(SEQUENCE_NUMBER.name).to_pylist()
        kinds = table.column(VALUE_KIND.name).to_pylist()
        assert keys == sorted(set(keys))
        assert file.row_count == len(keys) > 0
        assert (file.min_sequence_number, file.max_sequence_number) == (min(numbers), max(numbers))
        assert file.delete_row_count == sum(kind % 2 for kind in kinds)
        assert [key[0][1] for key in key_ranges(self.schema)(file)] == [keys[0], keys[-1]]

    def reader(self) -> DataFileReader:
        return DataFileReader(self.store, self.schemas, self.schema, self.parsed)

    def pruning(self, predicate: Predicate | None) -> Pruning:
        """The filter of a scan of the bucket."""
        return Pruning.of(ReadKind.of_state(self.schema, self.parsed), self.schema, self.parsed, predicate)

    def read(
        self,
        *columns: str,
        predicate: Predicate | None = None,
        files: Sequence[DataFileMeta] | None = None,
        **switches: bool,
    ) -> list[tuple[Any, ...]]:
        """The rows that a reader sees, sorted."""
        system = {f.name: f for f in (SEQUENCE_NUMBER, VALUE_KIND)}
        fields = [system.get(c) or self.schema.field(c) for c in columns or self.schema.field_names]
        batches = read_bucket(
            self.reader(),
            EMPTY_ROW,
            0,
            self.live if files is None else files,
            self.schema,
            self.parsed,
            fields,
            self.pruning(predicate),
            **switches,
        )
        return sorted_rows(batches, fields)


def sorted_rows(batches: Iterable[pa.RecordBatch], fields: Sequence[DataField]) -> list[tuple[Any, ...]]:
    """The rows of batches of this schema."""
    rows: list[tuple[Any, ...]] = []
    for batch in batches:
        assert batch.schema.names == [f.name for f in fields]
        rows.extend(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    return sorted(rows, key=repr)


def batch_of(rows: Sequence[Row], schema: TableSchema = SCHEMA) -> pa.RecordBatch:
    """Rows in the form that the writer expects."""
    columns = {"k": [r[1] for r in rows], "v": [r[2] for r in rows], "s": [r[3] for r in rows]}
    kinds = pa.array([int(r[0]) for r in rows], pa.int8())
    batch = pa.record_batch(
        [pa.array(columns.get(f.name, [None] * len(rows)), t.type) for f, t in _typed(schema)],
        schema=arrow_schema(schema.fields),
    )
    return batch.append_column(pa.field(VALUE_KIND.name, pa.int8(), nullable=False), kinds)


def _typed(schema: TableSchema) -> list[tuple[DataField, pa.Field]]:
    return list(zip(schema.fields, arrow_schema(schema.fields), strict=True))


def with_fields(schema: TableSchema, *fields: DataField) -> TableSchema:
    """The next schema, with additional columns."""
    return replace(
        schema, id=schema.id + 1, fields=(*schema.fields, *fields), highest_field_id=max(f.id for f in fields)
    )
