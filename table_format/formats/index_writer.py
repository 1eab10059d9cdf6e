"""Builds the indexes of one data file while its rows are written (format chapter 09; Java ``DataFileIndexWriter``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from table_format.codecs.content_name import content_uuid
from table_format.codecs.file_index import MIN_BYTES_FOR_PARTS, encode_file_index, look_up_hash
from table_format.io.paths import file_index_name
from table_format.kernels.file_index import INDEX_TYPES
from table_format.kernels.file_index.protocol import IndexBuilder
from table_format.limits import MIB
from table_format.model.file_index import column_of, map_key_of
from table_format.model.schema import TableSchema
from table_format.model.types import DataType
from table_format.options.check_file_index import check_file_index, indexed_type
from table_format.options.file_index import FileIndexOptions

Payloads: TypeAlias = dict[str, dict[str, bytes | None]]
"""Finished indexes by column, or key of a map column, and then by type; ``None`` if all values are null."""

_PENDING_BYTES: Final = 64 * MIB
"""Rows are collected up to this many bytes, as for a row group, because both are encoded at the same time."""
_MIN_ROWS_FOR_THREAD: Final = 10_000
"""Indexes of fewer rows are built without a thread, because starting one would take longer."""


@dataclass(frozen=True, slots=True)
class ColumnIndex:
    """An index to build, on a column or on one key of a map column; the values have the type ``data_type``."""

    name: str
    index_type: str
    data_type: DataType
    settings: Mapping[str, object]

    @property
    def column(self) -> str:
        """The name of the column, also if the index is on one of its keys."""
        return column_of(self.name)


@dataclass(frozen=True, slots=True)
class _Indexed:
    """An index that is being built."""

    name: str
    index_type: str
    builder: IndexBuilder

    @property
    def column(self) -> str:
        return column_of(self.name)

    def add(self, batch: pa.RecordBatch) -> None:
        nested = map_key_of(self.name)
        if nested is None:
            self.builder.add(batch.column(self.name))
            return
        column, key = nested
        # Rows without the key are indexed as null, because bitmaps use the positions of all rows.
        self.builder.add(pc.map_lookup(batch.column(column), pa.scalar(key), "last"))


class DataFileIndexWriter:
    """Builds all indexes of one file while Arrow encodes the rows, which does not hold Python's lock.

    Threads run only during a call, so the process may fork between two calls.
    """

    def __init__(self, schema: TableSchema, options: FileIndexOptions) -> None:
        """Prepare the indexes that the options select.

        Raises:
            InvalidOption: a column does not exist, or the index does not support its type.
        """
        check_file_index(schema, options)
        self._indexes = _begun(
            ColumnIndex(column, index_type, data_type, options.settings_of(index_type, column))
            for index_type, columns in options.columns.items()
            for column in columns
            for data_type in (indexed_type(schema, column, f"file-index.{index_type}.columns"),)
        )
        self._columns = sorted({index.column for index in self._indexes})
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._pending_bytes = 0
        self._finished: bytes | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Index rows that have at least the columns of the table."""
        with self.written_beside(batch):
            pass

    @contextmanager
    def written_beside(self, batch: pa.RecordBatch) -> Iterator[None]:
        """Index rows that have at least the columns of the table, while the caller writes them."""
        self._pending.append(batch.select(self._columns))
        self._pending_rows += batch.num_rows
        self._pending_bytes += batch.nbytes
        if self._pending_bytes < _PENDING_BYTES:
            yield
            return
        with self._beside(self._build):
            yield

    @contextmanager
    def finished_beside(self) -> Iterator[None]:
        """Complete the indexes while the caller closes the data file."""
        with self._beside(self._finish):
            yield

    def finish(self) -> bytes:
        """Return the container of all indexes, without those that cannot hold a value of their column."""
        if self._finished is None:
            self._finish()
        assert self._finished is not None  # noqa: S101 - set by ``_finish``
        return self._finished

    @contextmanager
    def _beside(self, work: Callable[[], None]) -> Iterator[None]:
        if self._pending_rows < _MIN_ROWS_FOR_THREAD:
            yield
            work()
            return
        # If the caller fails, its error is raised after the thread has ended.
        with ThreadPoolExecutor(1, "file-index") as pool:
            done = pool.submit(work)
            yield
            done.result()

    def _build(self) -> None:
        """Add the pending rows to the indexes."""
        for index in self._indexes:
            for batch in self._pending:
                index.add(batch)
        self._pending.clear()
        self._pending_rows = self._pending_bytes = 0

    def _finish(self) -> None:
        self._build()
        found: Payloads = {}
        _finish(self._indexes, found)
        self._finished = encode_file_index(found)


def build_indexes(indexes: Iterable[ColumnIndex], read: Callable[[str], Iterable[pa.RecordBatch]]) -> Payloads:
    """Build the indexes of an existing file, column by column, and return them by column and type.

    ``read`` returns the values of one column in file order. An index that cannot hold a value of its column is left
    out.
    """
    by_column: dict[str, list[ColumnIndex]] = {}
    for index in indexes:
        by_column.setdefault(index.column, []).append(index)
    found: Payloads = {}
    for column, of_column in by_column.items():
        begun = _begun(of_column)
        for batch in read(column):
            for index_begun in begun:
                index_begun.add(batch)
        _finish(begun, found)
    return found


def _begun(indexes: Iterable[ColumnIndex]) -> Sequence[_Indexed]:
    return [
        _Indexed(index.name, index.index_type, INDEX_TYPES[index.index_type].builder(index.data_type, index.settings))
        for index in indexes
    ]


def _finish(indexes: Iterable[_Indexed], found: Payloads) -> None:
    for index in indexes:
        payload = index.builder.finish()
        if payload is not None:
            found.setdefault(index.name, {})[index.index_type] = payload


def index_file_name(data_file: str, unique: str, data: bytes, *, min_bytes: int = MIN_BYTES_FOR_PARTS) -> str:
    """Return the name of the file that stores a container; ``unique`` is a UUID.

    The name contains a hash of the content, and from ``min_bytes`` on also a hash of the parts that a lookup reads.
    """
    uuid, parts = content_uuid(unique, data), look_up_hash(data, min_bytes=min_bytes)
    return file_index_name(data_file, uuid if parts is None else f"{uuid}-{parts:016x}")


def index_writer(schema: TableSchema, options: FileIndexOptions) -> DataFileIndexWriter | None:
    """Return a writer of the indexes of a new file, or ``None`` if the options select no index."""
    return DataFileIndexWriter(schema, options) if options.columns else None
