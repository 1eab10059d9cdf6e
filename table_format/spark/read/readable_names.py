"""Checks whether Spark's reader can handle the names of columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from table_format.model.types import ArrayType, DataField, DataType, MapType, RowType
from table_format.spark.names import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OF_THE_READER: Final = frozenset({"_metadata", "_tmp_metadata_row_index"})
"""Columns that Spark's reader adds. It would return its own values for them."""


def are_readable(fields: Sequence[DataField]) -> bool:
    """Return whether Spark can read a file with these columns: no name is one of the reader's, or differs only in case.

    >>> from table_format.model.types import IntType
    >>> are_readable([DataField(0, "a", IntType())]), are_readable([DataField(0, "_METADATA", IntType())])
    (True, False)
    >>> are_readable([DataField(0, "a", IntType()), DataField(1, "A", IntType())])
    False
    """
    return _OF_THE_READER.isdisjoint(field.name.lower() for field in fields) and _are_apart(fields)


def _are_apart(fields: Sequence[DataField]) -> bool:
    return are_distinct(field.name for field in fields) and all(_is_apart(field.type) for field in fields)


def _is_apart(data_type: DataType) -> bool:
    match data_type:
        case ArrayType(element=element):
            return _is_apart(element)
        case MapType(key=key, value=value):
            return _is_apart(key) and _is_apart(value)
        case RowType(fields=fields):
            return _are_apart(fields)
    return True


def are_distinct(names: Iterable[str]) -> bool:
    """Return whether all names are distinct in a session that ignores case.

    >>> are_distinct(["a", "b"]), are_distinct(["a", "A"])
    (True, False)
    """
    lowered = [name.lower() for name in names]
    return len(set(lowered)) == len(lowered)


def first_columns(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the first columns of a DataFrame, which have these names. Works for sessions that ignore case."""
    if are_distinct(frame.columns):
        return frame.select(*map(quoted, names))
    plain = [f"c{number}" for number in range(len(frame.columns))]
    return frame.toDF(*plain).select(*plain[: len(names)]).toDF(*names)
