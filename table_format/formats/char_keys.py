"""CHAR keys of tables in ORC, which removes the spaces at the end of a CHAR value.

Two keys that differ only in these spaces are two rows when they are written, and one key when they are read. They would
be twice in a sorted run, and in the buckets of two hashes. So rows lose these spaces before they are placed, and a file
refuses a key that still has some: the format of the table was changed, or the row is another writer's. (Java
``OrcFileFormat`` stores such keys.)
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import InvalidData
from table_format.model.schema import TableSchema
from table_format.model.types import CharType
from table_format.options.file_formats import ORC


def char_keys(schema: TableSchema, formats: Collection[str]) -> tuple[str, ...]:
    """Return the columns of the primary key and of the bucket key that lose spaces in files of one of these formats."""
    if ORC.name not in formats:
        return ()
    keys = dict.fromkeys((*schema.trimmed_primary_keys, *schema.bucket_keys))
    return tuple(name for name in keys if isinstance(schema.field(name).type, CharType))


def without_padding(column: pa.Array) -> pa.Array:
    """Return a CHAR column without the spaces at the end of its values."""
    return pc.utf8_rtrim(column, " ")


def check_char_key(name: str, values: pa.Array) -> None:
    """Refuse a key column in which a value has a space at its end.

    Raises:
        InvalidData: names the column and the value.
    """
    padded = pc.ends_with(values, " ")
    if padded.true_count:
        value = values.filter(padded)[0].as_py()
        message = (
            f"column '{name}' is a key of type CHAR; found {value!r}. ORC removes spaces at the end of CHAR values, so "
            "this key would become another one; remove the spaces, or store the table as Parquet (file.format = "
            "parquet, and no orc in file.format.per.level and changelog-file.format)"
        )
        raise InvalidData(message)
