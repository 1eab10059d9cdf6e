"""Writes new data files of one bucket, closes each at the target size, and collects the metadata for the commit.

Format chapter 06, section 6; Java ``KeyValueDataFileWriter``, ``RowDataFileWriter``, ``RollingFileWriter``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from itertools import cycle, repeat
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from table_format.codecs.binary_row import serialize_row
from table_format.errors import InvalidData
from table_format.formats.index_writer import DataFileIndexWriter, index_file_name, index_writer
from table_format.formats.long_decimals import as_stored, columns_with_long_decimals, is_long
from table_format.formats.protocol import FileFormat, FormatWriter, WrittenFile
from table_format.formats.registry import format_of
from table_format.formats.storable import FormatChoice, options_for
from table_format.io.paths import POSTPONE_BUCKET, TablePaths, data_file_name, external_directory, external_uri, sibling
from table_format.io.table_store import TableStore
from table_format.io.uncommitted_files import DeletingOnFailure, delete_uncommitted
from table_format.kernels.bounds import ColumnBounds
from table_format.kernels.statistics import SYSTEM_STATS_MODE, stored_bounds
from table_format.kernels.values import values_of
from table_format.model.data_file import EMPTY_ROW, EMPTY_STATS, DataFileMeta, FileSource, SimpleStats
from table_format.model.row_kind import RowKind
from table_format.model.schema import KEY_FIELD_PREFIX, SEQUENCE_NUMBER, VALUE_KIND, TableSchema
from table_format.model.types import BytesType, DataField, DataType
from table_format.options.files import FileOptions
from table_format.options.table_options import TableOptions

_MIN_CHECK_ROWS: Final = 1000
"""The size of a file is checked after at least this many rows, as in Java."""

_CHECKS_PER_FILE: Final = 16
_IS_RETRACT: Final = np.array([kind.is_retract for kind in RowKind])


class BucketToWrite(Protocol):
    """The facts that the names and contents of new files depend on; ``BucketFiles`` has them."""

    @property
    def store(self) -> TableStore:
        """The file access of the table."""
        ...

    @property
    def schema(self) -> TableSchema:
        """The schema with which rows are written."""
        ...

    @property
    def options(self) -> TableOptions:
        """The options of the table."""
        ...

    @property
    def partition_text(self) -> str:
        """The directory of the partition."""
        ...

    @property
    def bucket(self) -> int:
        """The number of the bucket."""
        ...

    @property
    def target_file_bytes(self) -> int:
        """The size at which a file is closed and the next one is started, in bytes."""
        ...


class RollingDataFileWriter:
    """Writes rows in the order of their arrival; rows of a primary-key table must arrive in key order."""

    def __init__(
        self,
        bucket: BucketToWrite,
        *,
        level: int,
        source: FileSource,
        changelog: bool = False,
        first_sequence_number: int = 0,
        prefix: str | None = None,
    ) -> None:
        """Prepare to write data files or changelog files; ``prefix`` replaces the usual prefix of their names.

        ``first_sequence_number`` is the sequence number of the first row of an append table; rows of other tables
        contain their own.
        """
        schema, options = bucket.schema, bucket.options
        self._store = bucket.store
        self._schema = schema
        self._options = options
        self._partition_text = bucket.partition_text
        self._bucket = bucket.bucket
        self._level = level
        self._source = source
        # Append tables have no levels.
        files = options.files.at_level(level) if schema.is_primary_key_table else options.files
        self._files = options.changelog.files_like(files) if changelog else files
        self._target = bucket.target_file_bytes
        self._prefix = prefix or (options.changelog.prefix if changelog else options.files.prefix)
        self._uuid = bucket.store.runtime.ids.uuid()
        self._places = _places(bucket.store, options.files)
        self._next_sequence_number = first_sequence_number
        self._is_thin = schema.is_primary_key_table and self._files.thin_mode
        self._fields = schema.thin_fields if self._is_thin else schema.physical_fields
        thin_keys = schema.trimmed_primary_keys if self._is_thin else ()
        names = (field.name for field in schema.fields)
        self._without_statistics = self._files.without_statistics(names, uncounted=thin_keys)
        self._format = FormatChoice(schema, self._fields, format_of(self._files.format))
        self._long_decimals = columns_with_long_decimals(schema.fields, options.merge)
        # Changelog files and postponed rows get no indexes, because no read filters them by value.
        self._has_indexes = not changelog and bucket.bucket != POSTPONE_BUCKET
        self._begun = 0
        self._current: _OpenFile | None = None
        self._closed: list[DataFileMeta] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows with the columns ``schema.physical_fields``.

        Rows that the format of the options cannot hold go to a file of another format.

        Raises:
            InvalidData: the columns do not match, or no format can hold a value.
        """
        for piece in self._pieces(batch):
            file_format = self._format.of(piece)
            if self._current is not None and self._current.file_format != file_format.identifier:
                self._finish()
            if self._current is None:
                self._current = self._begin(file_format)
            self._current.write(as_stored(piece, self._long_decimals, file_format.identifier))
            if self._current.writer.reaches(self._target):
                self._finish()

    def close(self) -> tuple[DataFileMeta, ...]:
        """Finish the last file, and return the metadata of all files in row order. Without rows there is no file."""
        if self._current is not None:
            self._finish()
        return tuple(self._closed)

    def abort(self) -> None:
        """Delete every file that was written; the writer cannot be used afterwards."""
        if self._current is not None:
            current, self._current = self._current, None
            current.abandon()
            extra_files = (sibling(current.path, name) for name in current.extra_files)
            delete_uncommitted(self._store.io, (current.path, *extra_files))
        paths = self._store.paths
        while self._closed:
            file = self._closed.pop()
            delete_uncommitted(self._store.io, paths.files_of(self._partition_text, self._bucket, file))

    def _pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield the batch in parts small enough that the size of the file is checked in time."""
        rows = batch.num_rows
        share = self._target / _CHECKS_PER_FILE / max(batch.nbytes, 1)
        step = max(int(rows * min(share, 1.0)), _MIN_CHECK_ROWS)
        for start in range(0, rows, step):
            yield batch.slice(start, step)

    def _begin(self, file_format: FileFormat) -> _OpenFile:
        options = options_for(self._files, file_format)
        extension = self._options.files.extension_of(file_format.identifier)
        name = data_file_name(self._prefix, self._uuid, self._begun, extension)
        self._begun += 1
        place = next(self._places)
        path = place.file_in_bucket(self._partition_text, self._bucket, name)
        index = index_writer(self._schema, self._options.file_index) if self._has_indexes else None
        sink = self._store.io.open_output(path)
        with DeletingOnFailure(lambda: self._discard(sink, path)):
            writer = file_format.open_writer(sink, self._fields, options)
        is_external = place.root != self._store.paths.root
        return _OpenFile(name, path, sink, writer, self._schema, self._fields, index, is_external=is_external)

    def _finish(self) -> None:
        current = self._current
        if current is None:
            return
        # The file counts as open until its metadata is complete, so that ``abort`` after an error deletes it.
        written = current.finish()
        embedded = self._store_index(current)
        self._closed.append(self._meta(current, written, embedded))
        self._current = None

    def _store_index(self, file: _OpenFile) -> bytes | None:
        """Return the indexes of a file if they are small enough for the manifest; otherwise, write them to a file."""
        if file.index is None:
            return None
        data = file.index.finish()
        if len(data) <= self._options.file_index.in_manifest_threshold:
            return data
        name = index_file_name(file.name, self._uuid, data)
        file.extra_files = (name,)
        self._store.io.create(sibling(file.path, name), data)
        return None

    def _discard(self, sink: pa.NativeFile, path: str) -> None:
        with suppress(OSError):
            sink.close()
        delete_uncommitted(self._store.io, (path,))

    def _meta(self, file: _OpenFile, written: WrittenFile, embedded_index: bytes | None) -> DataFileMeta:
        bounds = {f.name: b for f, b in zip(self._fields, written.bounds, strict=True)}
        if self._is_thin:
            bounds |= {KEY_FIELD_PREFIX + key: bounds[key] for key in self._schema.trimmed_primary_keys}
        minimum, maximum = self._sequence_numbers(bounds, written.row_count)
        value_stats, value_stats_cols = self._value_stats(bounds)
        return DataFileMeta(
            file_name=file.name,
            file_size=written.file_size,
            row_count=written.row_count,
            min_key=file.min_key,
            max_key=file.max_key,
            key_stats=self._stats(self._schema.key_fields, bounds)
            if self._schema.is_primary_key_table
            else EMPTY_STATS,
            value_stats=value_stats,
            value_stats_cols=value_stats_cols,
            min_sequence_number=minimum,
            max_sequence_number=maximum,
            schema_id=self._schema.id,
            level=self._level,
            creation_time=self._store.runtime.clock.local_now_ms(),
            delete_row_count=file.delete_row_count,
            extra_files=file.extra_files,
            embedded_file_index=embedded_index,
            file_source=self._source,
            external_path=external_uri(file.path) if file.is_external else None,
        )

    def _sequence_numbers(self, bounds: Mapping[str, ColumnBounds], rows: int) -> tuple[int, int]:
        if not self._schema.is_primary_key_table:
            first = self._next_sequence_number
            self._next_sequence_number += rows
            return first, first + rows - 1
        match bounds[SEQUENCE_NUMBER.name]:
            case ColumnBounds(minimum=int(minimum), maximum=int(maximum)):
                return minimum, maximum
        message = f"each row of a primary-key table needs a {SEQUENCE_NUMBER.name}"
        raise InvalidData(message)

    def _value_stats(self, bounds: Mapping[str, ColumnBounds]) -> tuple[SimpleStats, tuple[str, ...] | None]:
        """Return statistics of all columns, or with ``stats_dense_store`` of those that have some, with their names.

        Readers of version 0.9 need the statistics of all columns, because they match them by position.
        """
        fields = self._schema.fields
        if not self._files.stats_dense_store:
            return self._stats(fields, bounds), None
        known = tuple(f for f in fields if not self._stored(f, bounds).is_unknown)
        names = None if len(known) == len(fields) else tuple(f.name for f in known)
        return self._stats(known, bounds), names

    def _stored(self, field: DataField, bounds: Mapping[str, ColumnBounds]) -> ColumnBounds:
        return stored_bounds(_comparable(bounds[field.name], field.type), self._stats_mode(field.name))

    def _stats(self, fields: Sequence[DataField], bounds: Mapping[str, ColumnBounds]) -> SimpleStats:
        stored = [self._stored(f, bounds) for f in fields]
        types = [f.type.with_nullable(True) for f in fields]
        return SimpleStats(
            serialize_row(types, [b.minimum for b in stored]),
            serialize_row(types, [b.maximum for b in stored]),
            tuple(b.null_count for b in stored),
        )

    def _stats_mode(self, name: str) -> str:
        # A key column that is stored only once, as a value column, is measured like a key column.
        column = name.removeprefix(KEY_FIELD_PREFIX)
        is_thin_key = self._is_thin and column in self._schema.trimmed_primary_keys
        if name.startswith(KEY_FIELD_PREFIX) or is_thin_key:
            own_mode = self._files.column_stats_modes.get(column) if is_thin_key else None
            return own_mode or SYSTEM_STATS_MODE
        return "none" if name in self._without_statistics else self._files.stats_mode_of(name)


class _OpenFile:
    """A file that is being written, and the facts that are collected from its rows."""

    def __init__(
        self,
        name: str,
        path: str,
        sink: pa.NativeFile,
        writer: FormatWriter,
        schema: TableSchema,
        fields: Sequence[DataField],
        index: DataFileIndexWriter | None,
        *,
        is_external: bool,
    ) -> None:
        self.name = name
        self.path = path
        self.is_external = is_external
        self.writer = writer
        self.index = index
        self.extra_files: tuple[str, ...] = ()
        self.delete_row_count = 0
        self._sink = sink
        self._columns = [f.name for f in fields]
        self._keys = schema.key_fields if schema.is_primary_key_table else ()
        self._has_kinds = schema.is_primary_key_table
        self.min_key = EMPTY_ROW
        self._last: pa.RecordBatch | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        with nullcontext() if self.index is None else self.index.written_beside(batch):
            self.writer.write(batch if len(self._columns) == batch.num_columns else batch.select(self._columns))
        if self._has_kinds:
            kinds = batch.column(VALUE_KIND.name).to_numpy()
            self.delete_row_count += int(np.count_nonzero(_IS_RETRACT[kinds]))
            if self._last is None:
                self.min_key = self._key(batch.slice(0, 1))
            self._last = batch.slice(batch.num_rows - 1)

    @property
    def file_format(self) -> str:
        return format_of(self.name).identifier

    @property
    def max_key(self) -> bytes:
        return EMPTY_ROW if self._last is None else self._key(self._last)

    def finish(self) -> WrittenFile:
        """Close the file. Afterwards it is complete and durable, and its indexes are complete in memory."""
        with nullcontext() if self.index is None else self.index.finished_beside():
            written = self.writer.close()
            self._sink.close()
        return written

    def abandon(self) -> None:
        """Close the incomplete file, which is deleted next."""
        self.writer.discard()
        # Ignore errors of the store: the file is deleted next.
        with suppress(OSError):
            self._sink.close()

    def _key(self, row: pa.RecordBatch) -> bytes:
        values = [values_of(row.column(f.name), f.type)[0] for f in self._keys]
        return serialize_row([f.type for f in self._keys], values)


def _places(store: TableStore, options: FileOptions) -> Iterator[TablePaths]:
    """Yield the paths for new files: of the table, or its external paths in turn, starting at a random one."""
    roots = tuple(map(external_directory, options.external_paths_in_use))
    if not roots:
        return repeat(store.paths)
    first = int(store.runtime.random.random() * len(roots))
    return cycle(store.paths.elsewhere(root) for root in (*roots[first:], *roots[:first]))


def _comparable(bounds: ColumnBounds, data_type: DataType) -> ColumnBounds:
    """Remove bounds that readers do not compare: of bytes, which Java omits up to 1.4, and of long decimals."""
    if isinstance(data_type, BytesType) or is_long(bounds.minimum, data_type) or is_long(bounds.maximum, data_type):
        return ColumnBounds(None, None, bounds.null_count, bounds.row_count)
    return bounds
