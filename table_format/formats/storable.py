"""Chooses the format of the files that rows are written to: the one of the options, or one that can hold their values.

A row is checked when it is accepted, against the formats that the table has then. Afterwards, ``file.format`` can
change, another engine can write a value that this version cannot store in a format, or a call can write files of a
format of its own. Compaction must keep such rows, so it writes them to files of another format. A table may have files
of several formats, because the extension of a file names its format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from table_format.errors import InvalidData
from table_format.formats.char_keys import check_char_key
from table_format.formats.protocol import ChecksRows, FileFormat
from table_format.formats.registry import check_values, format_of
from table_format.formats.text_lengths import check_text_lengths
from table_format.model.schema import TableSchema
from table_format.model.types import DataField
from table_format.options.char_keys import char_keys
from table_format.options.check_files import can_hold
from table_format.options.file_formats import AVRO, FILE_FORMATS, ORC, PARQUET
from table_format.options.files import COMPRESSION, FileOptions

_IN_TURN: Final = (PARQUET.name, ORC.name, AVRO.name)
"""The formats that are tried after that of the options. Parquet holds almost every value."""


class FormatChoice:
    """Chooses the format for rows of one table, batch by batch.

    Once it has changed the format, it keeps it for the rows that follow. Otherwise the formats could take turns, and
    leave many small files.
    """

    def __init__(self, schema: TableSchema, fields: Sequence[DataField], wanted: FileFormat) -> None:
        self._schema = schema
        self._fields = tuple(fields)
        self._chosen = wanted

    def of(self, batch: pa.RecordBatch) -> FileFormat:
        """Return the format of the rows before if it can hold these too, otherwise the first one that can.

        Raises:
            InvalidData: no format can hold them; names the value and its column.
        """
        refusal = self._refusal(batch, self._chosen)
        if refusal is not None:
            self._chosen = self._other(batch, refusal)
        return self._chosen

    def _other(self, batch: pa.RecordBatch, refusal: InvalidData) -> FileFormat:
        for name in _IN_TURN:
            other = format_of(name)
            if can_hold(self._schema, FILE_FORMATS[name]) and self._refusal(batch, other) is None:
                return other
        raise refusal

    def _refusal(self, batch: pa.RecordBatch, file_format: FileFormat) -> InvalidData | None:
        name = file_format.identifier
        columns = [batch.column(field.name) for field in self._fields]
        try:
            for key in char_keys(self._schema, (name,)):
                check_char_key(key, batch.column(key))
            for column, field in zip(columns, self._fields, strict=True):
                check_values(column, field, (name,))
                if name == ORC.name:
                    check_text_lengths(column, field)
            if isinstance(file_format, ChecksRows):
                file_format.check_rows(columns, self._fields)
        except InvalidData as error:
            return error
        return None


def options_for(options: FileOptions, file_format: FileFormat) -> FileOptions:
    """Return the options of new files; a format that they do not ask for may need another compression."""
    name = file_format.identifier
    if name == options.format:
        return options
    facts = FILE_FORMATS[name]
    if options.codec_of(name) in facts.codecs:
        return replace(options, format=name)
    return replace(options, format=name, compression=COMPRESSION.default, orc_compression=None, avro_compression=None)
