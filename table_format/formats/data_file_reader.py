"""Reads the rows of one data file as rows of another schema version (format chapter 06, sections 1 and 8).

The size and the row count of the file are checked against its metadata before the first row is returned. A predicate
only saves work: it skips row groups that cannot contain a matching row, and the caller must still filter the rows. Rows
in the deletion vector are always left out. Positions count from the first row of the file.

As in Java, partition columns have the values of the partition. A file need not have them, as the files that Paimon's
``migrate_table`` takes over from Hive, and what it has need not be exact, as Java's ORC timestamps before 1970.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import AbstractBitMap, BitMap

from table_format.codecs.binary_row import deserialize_row
from table_format.codecs.deletion_vector import DeletionVector
from table_format.counted import counted
from table_format.errors import BadEncoding, InvalidData
from table_format.formats.batch_rows import sliced
from table_format.formats.decoding import raising_read_errors
from table_format.formats.deleted_rows import with_positions as numbered
from table_format.formats.deleted_rows import without_deleted
from table_format.formats.evolution import BoundsEvolution, Evolution
from table_format.formats.newer_schemas import refuse_newer
from table_format.formats.protocol import FormatReader, RowGroupFilter, RowGroupReader, RowGroups
from table_format.formats.registry import format_of
from table_format.io.paths import partition_text
from table_format.io.regular_files import opened_file
from table_format.io.table_store import TableStore
from table_format.kernels.bounds import ColumnBounds, may_match
from table_format.kernels.values import array_of
from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import Predicate, columns_of
from table_format.model.schema import KEY_FIELD_PREFIX, ROW_TRACKING, SYSTEM_FIELD_ID_START, TableSchema
from table_format.model.types import DataField, InternalValue
from table_format.options.table_options import TableOptions

POSITION: Final = "_POSITION"
"""The column with the position of a row in its file."""

DEFAULT_BATCH_ROWS: Final = 65_536
_MIN_ROWS_FOR_THREADS: Final = 16_384
"""Files with fewer rows are decoded in one thread, because starting threads would take longer."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """The facts that determine how the columns of a file are mapped: its schema id and its actual columns."""

    schema_id: int
    columns: tuple[str, ...]
    partial: bool


class DataFileReader:
    """Reads data and changelog files of one table.

    ``schemas`` holds the schemas of all files by id; rows are returned with the columns of ``read_schema``. The mapping
    that is computed for one file is reused for files with the same schema and columns. Set ``rewriting`` if rows, or
    results derived from them, are written back: files that hold more values than ``read_schema`` are then refused.
    With ``as_stored``, partition columns have the values that the file has for them, if it has any.
    """

    def __init__(
        self,
        store: TableStore,
        schemas: Mapping[int, TableSchema],
        read_schema: TableSchema,
        options: TableOptions,
        *,
        use_threads: bool = True,
        rewriting: bool = False,
        as_stored: bool = False,
    ) -> None:
        self._store = store
        self._schemas = schemas
        self._read_schema = read_schema
        self._options = options
        self._use_threads = use_threads
        self._rewriting = rewriting
        self._as_stored = as_stored
        self._partition_ids = frozenset(f.id for f in read_schema.partition_fields)
        self._evolutions: dict[tuple[_Layout, tuple[DataField, ...]], Evolution] = {}
        self._partition_texts: dict[bytes, str] = {}
        self._partition_constants: dict[bytes, Mapping[int, pa.Scalar]] = {}

    def read(
        self,
        partition: bytes,
        bucket: int,
        file: DataFileMeta,
        fields: Sequence[DataField],
        *,
        predicate: Predicate | None = None,
        deleted: DeletionVector | None = None,
        selected: AbstractBitMap | None = None,
        batch_rows: int = DEFAULT_BATCH_ROWS,
        with_positions: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns ``fields`` in file order, in batches of at most ``batch_rows`` and ``MAX_BATCH_BYTES``.

        Rows in ``deleted`` and rows that are not ``selected`` are left out; pages, stripes and blocks without a
        selected row are not decoded. ``with_positions`` adds the column ``_POSITION``, the position of the row in the
        file, counted from 0. ``fields`` are columns of the read schema or system columns (``_KEY_x``,
        ``_SEQUENCE_NUMBER``, ``_VALUE_KIND``; in append tables ``ROW_TRACKING``).

        Raises:
            MissingFile: the file does not exist.
            Truncated: the size of the file differs from the recorded size.
            BadEncoding: the file cannot be decoded, or its row count or columns differ from those recorded.
            UnsupportedFeature: the file format, or a change of a column's type, is not supported.
            InvalidData: the type of a column has changed, and a value cannot be cast to the new one.
            SchemaChanged: the file was written with a newer schema, and values would be lost.
        """
        self._refuse_newer(partition, bucket, file, fields)
        with self._opened(partition, bucket, file) as (reader, path), _naming(path):
            constants = self._constants(partition)
            rows = self._rows(
                reader,
                file,
                path,
                tuple(fields),
                predicate,
                deleted,
                batch_rows,
                selected,
                constants,
                positioned=with_positions,
            )
            for batch in rows:
                yield from sliced(batch)

    def row_groups(self, partition: bytes, bucket: int, file: DataFileMeta, predicate: Predicate | None) -> RowGroups:
        """Return the row groups of a file that a predicate selects; only the footer is read.

        A file of a format without row groups counts as one row group. Raises the same errors as ``read``.
        """
        with self._opened(partition, bucket, file) as (reader, path):
            layout = _Layout(file.schema_id, reader.column_names, file.write_cols is not None)
            whole = RowGroups(1, (range(file.row_count),))
            groups = reader.row_groups(None) if isinstance(reader, RowGroupReader) else whole
            if predicate is None:
                return groups
            bounds = self._bounds(self._file_fields(layout, path), predicate)
            if not may_match(predicate, bounds.absent(file.row_count)):
                return RowGroups(groups.count, ())
            if not isinstance(reader, RowGroupReader):
                return groups
            return reader.row_groups(RowGroupFilter(bounds.file_fields, partial(_may_match, predicate, bounds)))

    def _refuse_newer(self, partition: bytes, bucket: int, file: DataFileMeta, fields: Sequence[DataField]) -> None:
        if file.schema_id <= self._read_schema.id:
            return
        path = self._store.paths.data_file(self._partition_text(partition), bucket, file)
        newer = self._schemas.get(file.schema_id)
        if newer is not None:
            refuse_newer((newer,), self._read_schema, fields, where=path, rewriting=self._rewriting)

    @contextmanager
    def _opened(self, partition: bytes, bucket: int, file: DataFileMeta) -> Iterator[tuple[FormatReader, str]]:
        path = self._store.paths.data_file(self._partition_text(partition), bucket, file)
        file_format = format_of(file.file_name)
        with opened_file(self._store.io, path, size=file.file_size) as opened, raising_read_errors(opened) as source:
            use_threads = self._use_threads and file.row_count > _MIN_ROWS_FOR_THREADS
            reader = file_format.open_reader(source, path, use_threads=use_threads)
            if reader.row_count != file.row_count:
                raise BadEncoding(path, f"expected {counted(file.row_count, 'row')}, found {reader.row_count}")
            yield reader, path

    def _rows(
        self,
        reader: FormatReader,
        file: DataFileMeta,
        path: str,
        fields: tuple[DataField, ...],
        predicate: Predicate | None,
        deleted: DeletionVector | None,
        batch_rows: int,
        selected: AbstractBitMap | None,
        constants: Mapping[int, pa.Scalar],
        *,
        positioned: bool,
    ) -> Iterator[pa.RecordBatch]:
        layout = _Layout(file.schema_id, reader.column_names, file.write_cols is not None)
        file_fields = self._file_fields(layout, path)
        evolution = self._evolutions.get((layout, fields))
        if evolution is None:
            given = self._partition_ids
            if self._as_stored:
                given = given - {f.id for f in file_fields}
            evolution = self._evolutions[layout, fields] = Evolution(file_fields, fields, given)
        row_groups = None
        if predicate is not None:
            bounds = self._bounds(file_fields, predicate)
            if not may_match(predicate, bounds.absent(file.row_count)):
                return
            row_groups = RowGroupFilter(bounds.file_fields, partial(_may_match, predicate, bounds))
        if selected is not None:
            left = selected if deleted is None else selected - BitMap(deleted.positions)
            rows = _positions(left, file.row_count)
            chosen = reader.selected(evolution.file_fields, rows, row_groups=row_groups, batch_rows=batch_rows)
            for batch, at in chosen:
                answer = evolution.apply(batch, constants)
                yield answer.append_column(POSITION, pa.array(at)) if positioned else answer
            return
        counting = positioned or deleted is not None
        if counting and not isinstance(reader, RowGroupReader):
            row_groups = None  # the positions of the rows that are read would be unknown
        batches = reader.batches(evolution.file_fields, row_groups=row_groups, batch_rows=batch_rows)
        whole = (range(file.row_count),)
        positions = reader.row_groups(row_groups).kept if counting and isinstance(reader, RowGroupReader) else whole
        if positioned:
            for batch, found in numbered(batches, positions, path=path):
                answer = evolution.apply(batch, constants).append_column(POSITION, pa.array(found))
                yield answer if deleted is None else answer.filter(pa.array(deleted.kept_of(found)))
            return
        if deleted is not None:
            batches = without_deleted(batches, deleted, positions, path=path)
        for batch in batches:
            yield evolution.apply(batch, constants)

    def _bounds(self, file_fields: Sequence[DataField], predicate: Predicate) -> BoundsEvolution:
        columns = columns_of(predicate)
        bounded = (f for f in self._read_schema.physical_fields if f.id not in self._partition_ids)
        return BoundsEvolution(file_fields, [f for f in bounded if f.name in columns])

    def _file_fields(self, layout: _Layout, path: str) -> list[DataField]:
        """Return the columns of a file with their names in the file and the ids of the schema of the file."""
        schema = self._schemas.get(layout.schema_id)
        if schema is None:
            raise BadEncoding(path, f"the table has no schema {layout.schema_id}, with which the file was written")
        values = {f.id: f for f in schema.fields}
        present = frozenset(layout.columns)
        fields = []
        for field in schema.physical_fields:
            if field.name in present:
                fields.append(field)
            elif field.name.startswith(KEY_FIELD_PREFIX):
                # Thin files store each key column only once, as a value column.
                value = values[field.id - SYSTEM_FIELD_ID_START]
                fields.append(DataField(field.id, value.name, value.type))
            elif not layout.partial and field.id not in self._partition_ids:
                raise BadEncoding(
                    path,
                    f"column '{field.name}' of schema {layout.schema_id} is missing; "
                    f"the columns are {', '.join(layout.columns)}",
                )
        if not schema.primary_keys:
            fields += (field for field in ROW_TRACKING if field.name in present)
        return fields

    def _constants(self, partition: bytes) -> Mapping[int, pa.Scalar]:
        """Return the values of the partition columns by id."""
        found = self._partition_constants.get(partition)
        if found is None:
            values = zip(self._read_schema.partition_fields, self._partition_values(partition), strict=True)
            found = {field.id: array_of([value], field.type)[0] for field, value in values}
            self._partition_constants[partition] = found
        return found

    def _partition_values(self, partition: bytes) -> tuple[InternalValue, ...]:
        types = [f.type for f in self._read_schema.partition_fields]
        return deserialize_row(types, partition, path=self._store.paths.root)

    def _partition_text(self, partition: bytes) -> str:
        text = self._partition_texts.get(partition)
        if text is None:
            files = self._options.files
            text = self._partition_texts[partition] = partition_text(
                self._read_schema.partition_fields,
                self._partition_values(partition),
                default_name=files.partition_default_name,
                legacy=files.partition_legacy_name,
            )
        return text


@contextmanager
def _naming(path: str) -> Iterator[None]:
    try:
        yield
    except InvalidData as error:
        message = f"{path}: {error}"
        raise InvalidData(message) from error


def _positions(selected: AbstractBitMap, row_count: int) -> npt.NDArray[np.int64]:
    """Return the selected positions below ``row_count``."""
    found = np.asarray(selected.to_array(), np.int64)
    return found[: np.searchsorted(found, row_count)]


def _may_match(predicate: Predicate, evolution: BoundsEvolution, bounds: Mapping[str, ColumnBounds]) -> bool:
    return may_match(predicate, evolution.apply(bounds))
