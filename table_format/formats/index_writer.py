"""The indexes of one data file, made while its rows are written (format chapter 09; Java ``DataFileIndexWriter``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from table_format.codecs.file_index import encode_file_index
from table_format.kernels.file_index import INDEX_TYPES
from table_format.kernels.file_index.protocol import IndexBuilder
from table_format.model.file_index import map_key_of
from table_format.model.schema import TableSchema
from table_format.model.types import DataType
from table_format.options.check_file_index import check_file_index, indexed_type
from table_format.options.file_index import FileIndexOptions


@dataclass(frozen=True, slots=True)
class _Indexed:
    """An index that is being made: of a column, or of one key of a map column."""

    name: str
    index_type: str
    data_type: DataType
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
        self._indexes: Sequence[_Indexed] = [
            _Indexed(column, index_type, data_type, INDEX_TYPES[index_type].builder(data_type, settings))
            for index_type, columns in options.columns.items()
            for column in columns
            for data_type in (indexed_type(schema, column, f"file-index.{index_type}.columns"),)
            for settings in (options.settings_of(index_type, column),)
        ]

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows with the table's columns, and others."""
        for index in self._indexes:
            index.add(batch)

    def finish(self) -> bytes:
        """The container of all indexes; one that cannot hold a value of its column is left out."""
        found: dict[str, dict[str, bytes | None]] = {}
        for index in self._indexes:
            payload = index.builder.finish()
            if payload is not None:
                found.setdefault(index.name, {})[index.index_type] = payload
        return encode_file_index(found)


def index_writer(schema: TableSchema, options: FileIndexOptions) -> DataFileIndexWriter | None:
    """A writer of the indexes of a new file; ``None`` when it has none."""
    return DataFileIndexWriter(schema, options) if options.columns else None
