"""CHAR keys of tables in ORC, which removes the spaces at the end of a CHAR value.

Two keys that differ only in these spaces are two rows when they are written, and one key when they are read. They would
be twice in a sorted run, and in the buckets of two hashes. So rows lose these spaces before they are placed, and a file
refuses a key that still has some: the format of the table was changed, or the row is another writer's. (Java
``OrcFileFormat`` stores such keys.)
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import InvalidData
from table_format.model.schema import TableSchema
from table_format.model.types import CharType
from table_format.options.file_formats import ORC


def char_keys(schema: TableSchema) -> tuple[str, ...]:
    """Return the columns of type CHAR of the primary key and of the bucket key."""
    keys = dict.fromkeys((*schema.trimmed_primary_keys, *schema.bucket_keys))
    return tuple(name for name in keys if isinstance(schema.field(name).type, CharType))


def keys_without_padding(schema: TableSchema) -> tuple[str, ...]:
    """Return the key columns whose values lose spaces in new files of a table, by the options of its schema."""
    formats = (schema.options.get(key, "") for key in ("file.format", "file.format.per.level"))
    return char_keys(schema) if any(ORC.name in text.lower() for text in formats) else ()


def without_padding(column: pa.Array) -> pa.Array:
    """Return a CHAR column without the spaces at the end of its values."""
    return pc.utf8_rtrim(column, " ")


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
