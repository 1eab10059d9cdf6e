"""Reads and writes one file of a format table, in any of its formats. Partition columns are not in files."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from table_format.errors import MissingFile
from table_format.format_table.columnar_files import columnar_bytes, read_columnar, row_count
from table_format.format_table.csv_reading import CsvFile
from table_format.format_table.csv_writing import csv_bytes, header_bytes
from table_format.format_table.json_files import json_bytes, read_json
from table_format.format_table.text_files import read_text, text_bytes
from table_format.formats.nested import empty_columns
from table_format.io.file_io import FileIO
from table_format.io.regular_files import opened_file
from table_format.model.types import DataField
from table_format.options.format_table import FormatTableOptions

_COLUMNAR = ("parquet", "orc")


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a table: the columns in each, in order, and how they are written."""

    io: FileIO
    columns: Sequence[DataField]
    options: FormatTableOptions

    @property
    def extension(self) -> str:
        """The end of the name of a new file, such as ``.csv.gz``."""
        name = self.options.file_format
        return f".{name}.gz" if name not in _COLUMNAR and self.options.compression == "gzip" else f".{name}"

    def read(self, path: str, wanted: Sequence[DataField]) -> Iterator[pa.RecordBatch]:
        """Yield some columns of a file; without any, batches without columns of as many rows.

        Raises:
            BadEncoding: the file is damaged. InvalidData: a value does not fit its column. MissingFile: it was deleted
            after it had been listed.
        """
        try:
            with opened_file(self.io, path) as source:
                yield from self._rows(source, path, wanted)
        except MissingFile as error:
            message = "the file was deleted after it had been listed; read the table again"
            raise MissingFile(path, message) from error

    def _rows(self, source: pa.NativeFile, path: str, wanted: Sequence[DataField]) -> Iterator[pa.RecordBatch]:
        options, name = self.options, self.options.file_format
        if name in _COLUMNAR:
            if wanted:
                yield from read_columnar(source, path, name, self.columns, wanted)
            else:
                yield empty_columns(row_count(source, path, name))
            return
        read = wanted or self.columns[:1]
        if name == "csv":
            batches = CsvFile(path, self.columns, options).batches(source, read)
        elif name == "json":
            batches = read_json(source, path, read, options)
        else:
            batches = read_text(source, path, read)
        for batch in batches:
            yield batch if wanted else empty_columns(batch.num_rows)

    def encoded(self, rows: Sequence[pa.RecordBatch]) -> bytes:
        """Return the bytes of a file with these rows, which have its columns.

        Raises:
            InvalidData: the file cannot hold a value.
        """
        options, name = self.options, self.options.file_format
        if name in _COLUMNAR:
            return columnar_bytes(rows, self.columns, options)
        write = {"csv": csv_bytes, "json": json_bytes, "text": text_bytes}[name]
        parts = [write(batch, self.columns, options) for batch in rows]
        if name == "csv" and options.header:
            parts.insert(0, header_bytes(self.columns, options))
        data = b"".join(parts)
        return gzip.compress(data) if options.compression == "gzip" else data
