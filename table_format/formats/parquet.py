"""Parquet data files (format chapter 06; Java ``ParquetFileFormat``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from table_format.formats.parquet_reader import ParquetFileReader
from table_format.formats.parquet_writer import ParquetFileWriter
from table_format.formats.protocol import FormatReader, FormatWriter
from table_format.formats.whole_seconds import check_seconds
from table_format.model.types import DataField, DataType
from table_format.options.files import FileOptions


class ParquetFormat:
    """Files with the extension ``parquet``."""

    identifier: Final = "parquet"

    def open_writer(self, sink: pa.NativeFile, fields: Sequence[DataField], options: FileOptions) -> FormatWriter:
        """Return a writer that writes one Parquet file to ``sink``."""
        return ParquetFileWriter(sink, fields, options)

    def check_values(self, array: pa.Array, data_type: DataType) -> None:
        """Refuse timestamps in seconds whose milliseconds do not fit into 64 bits."""
        check_seconds(array, data_type)

    def open_reader(self, source: pa.NativeFile, path: str, *, use_threads: bool) -> FormatReader:
        """Return a reader of one Parquet file; ``path`` is for messages."""
        return ParquetFileReader(source, path, use_threads=use_threads)
