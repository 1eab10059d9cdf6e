"""CHAR keys of tables in ORC, which removes the spaces at the end of a CHAR value.

Two keys that differ only in these spaces are two rows when they are written, and one key when they are read. They would
be twice in a sorted run, and in the buckets of two hashes. So rows lose these spaces before they are placed. A key that
still has some is another writer's, or older than the format of the table. It is not stored in ORC (``storable``).
(Java ``OrcFileFormat`` stores such keys.)
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import InvalidData


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
