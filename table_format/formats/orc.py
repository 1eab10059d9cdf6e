"""ORC data files (format chapter 06; Java ``OrcFileFormat``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from table_format.formats.orc_reader import OrcFileReader
from table_format.formats.orc_types import check_values
from table_format.formats.orc_writer import OrcFileWriter
from table_format.formats.protocol import FormatReader, FormatWriter
from table_format.model.types import DataField, DataType
from table_format.options.files import FileOptions


class OrcFormat:
    """Files with the extension ``orc``."""

    identifier: Final = "orc"

    def open_writer(self, sink: pa.NativeFile, fields: Sequence[DataField], options: FileOptions) -> FormatWriter:
        """Return a writer that writes one ORC file to ``sink``."""
        return OrcFileWriter(sink, fields, options)

    def check_values(self, array: pa.Array, data_type: DataType) -> None:
        """Refuse timestamps before 1970 with a fraction of a millisecond."""
        check_values(array, data_type)

    def open_reader(self, source: pa.NativeFile, path: str, *, use_threads: bool) -> FormatReader:  # noqa: ARG002
        """Return a reader of one ORC file; ``path`` is for messages. It always uses one thread."""
        return OrcFileReader(source, path)
