"""Avro data files (format chapter 06; Java ``AvroFileFormat``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from table_format.formats.avro_reader import AvroFileReader
from table_format.formats.avro_writer import AvroFileWriter, check_rows
from table_format.formats.protocol import FormatReader, FormatWriter
from table_format.formats.whole_seconds import check_seconds
from table_format.model.types import DataField, DataType
from table_format.options.files import FileOptions


class AvroFormat:
    """Files with the extension ``avro``."""

    identifier: Final = "avro"

    def open_writer(self, sink: pa.NativeFile, fields: Sequence[DataField], options: FileOptions) -> FormatWriter:
        """Return a writer that writes one Avro file to ``sink``."""
        return AvroFileWriter(sink, fields, options)

    def check_values(self, array: pa.Array, data_type: DataType) -> None:
        """Refuse timestamps in seconds whose milliseconds do not fit into 64 bits."""
        check_seconds(array, data_type)

    def check_rows(self, columns: Sequence[pa.Array], fields: Sequence[DataField]) -> None:
        """Refuse rows that are larger than any block."""
        check_rows(columns, fields)

    def open_reader(self, source: pa.NativeFile, path: str, *, use_threads: bool) -> FormatReader:  # noqa: ARG002
        """Return a reader of one Avro file; ``path`` is for messages. It always uses one thread."""
        return AvroFileReader(source, path)
