"""Refuses CHAR keys that a file cannot store: ORC removes the spaces at the end of a CHAR value.

Two keys that differ only in these spaces are two rows when they are written, and one key when they are read. They would
be twice in a sorted run, and in the buckets of two hashes. Java ``OrcFileFormat`` stores them nevertheless.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import InvalidData
from table_format.model.schema import TableSchema
from table_format.model.types import CharType
from table_format.options.file_formats import ORC


def char_keys(schema: TableSchema, file_format: str) -> tuple[str, ...]:
    """Return the columns of the primary key and of the bucket key that lose spaces in files of this format."""
    if file_format != ORC.name:
        return ()
    keys = dict.fromkeys((*schema.trimmed_primary_keys, *schema.bucket_keys))
    return tuple(name for name in keys if isinstance(schema.field(name).type, CharType))


def check_char_keys(batch: pa.RecordBatch, columns: Sequence[str]) -> None:
    """Refuse rows that have a space at the end of one of these columns.

    Raises:
        InvalidData: names the column and the value.
    """
    for name in columns:
        values = batch.column(name)
        padded = pc.ends_with(values, " ")
        if padded.true_count:
            value = values.filter(padded)[0].as_py()
            message = (
                f"column '{name}' is a key of type CHAR; found {value!r}. ORC removes spaces at the end of CHAR "
                "values, so this key would become another one; remove the spaces, or store the table as Parquet "
                "('file.format' = 'parquet')"
            )
            raise InvalidData(message)
