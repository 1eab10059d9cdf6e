"""The indexes of one data file, made while its rows are written (format chapter 09; Java ``DataFileIndexWriter``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from table_format.codecs.file_index import encode_file_index
from table_format.kernels.file_index import INDEX_TYPES
from table_format.kernels.file_index.protocol import IndexBuilder
from table_format.model.file_index import column_of, map_key_of
from table_format.model.schema import TableSchema
from table_format.model.types import DataType
from table_format.options.check_file_index import check_file_index, indexed_type
from table_format.options.file_index import FileIndexOptions

Payloads: TypeAlias = dict[str, dict[str, bytes | None]]
"""Finished indexes by column, or key of a map column, and there by type; ``None`` is one of nulls alone."""


@dataclass(frozen=True, slots=True)
class ColumnIndex:
    """An index to be made: of a column, or of one key of a map column, whose values have the type ``data_type``."""

    name: str
    index_type: str
    data_type: DataType
    settings: Mapping[str, object]

    @property
    def column(self) -> str:
        """The column, also where the index is over one of its keys."""
        return column_of(self.name)


@dataclass(frozen=True, slots=True)
class _Indexed:
    """An index that is being made."""

    name: str
    index_type: str
    builder: IndexBuilder

    def add(self, batch: pa.RecordBatch) -> None:
        nested = map_key_of(self.name)
        if nested is None:
            self.builder.add(batch.column(self.name))
            return
        column, key = nested
        # Rows without the key count as null: bitmaps are over positions of rows.
        self.builder.add(pc.map_lookup(batch.column(column), pa.scalar(key), "last"))


class DataFileIndexWriter:
    """All indexes of one file."""

    def __init__(self, schema: TableSchema, options: FileIndexOptions) -> None:
        """Indexes as the options ask for them.

        Raises:
            InvalidOption: a column does not exist, or has a type without such an index.
        """
        check_file_index(schema, options)
        self._indexes = _begun(
            ColumnIndex(column, index_type, data_type, options.settings_of(index_type, column))
            for index_type, columns in options.columns.items()
            for column in columns
            for data_type in (indexed_type(schema, column, f"file-index.{index_type}.columns"),)
        )

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows with the table's columns, and others."""
        for index in self._indexes:
            index.add(batch)

    def finish(self) -> bytes:
        """The container of all indexes; one that cannot hold a value of its column is left out."""
        found: Payloads = {}
        _finish(self._indexes, found)
        return encode_file_index(found)


def build_indexes(indexes: Iterable[ColumnIndex], read: Callable[[str], Iterable[pa.RecordBatch]]) -> Payloads:
    """The indexes of a file that is there, made column by column, by column and type.

    ``read`` gives the values of one column, in the order of the file. An index that cannot hold a value of its column
    is left out.
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


def index_writer(schema: TableSchema, options: FileIndexOptions) -> DataFileIndexWriter | None:
    """A writer of the indexes of a new file; ``None`` when it has none."""
    return DataFileIndexWriter(schema, options) if options.columns else None
