"""Hides the column names of user rows from Spark.

Spark interprets names as SQL, and does not distinguish names that differ only in case. Therefore the columns are sent
as ``c0``, ``c1`` and so on, followed by the columns that this package adds, and the tasks restore the names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType


@dataclass(frozen=True)
class NamedRows:
    """A DataFrame whose first columns represent ``names``. The other columns have names of this package."""

    frame: DataFrame
    names: tuple[str, ...]

    @classmethod
    def of(cls, frame: DataFrame) -> NamedRows:
        """Return all columns of a DataFrame of the user."""
        return cls(frame.toDF(*plain_names(len(frame.columns))), tuple(frame.columns))

    def column(self, name: str) -> Column:
        """Return the column with exactly this name."""
        return F.col(self.plain(name))

    def plain(self, name: str) -> str:
        """Return the name of a column in the frame."""
        return f"c{self.names.index(name)}"

    def type_of(self, name: str) -> DataType:
        """Return the Spark type of a column."""
        return self.frame.schema[self.names.index(name)].dataType

    def over(self, frame: DataFrame) -> NamedRows:
        """Return the same columns in a DataFrame that was derived from this one."""
        return replace(self, frame=frame)

    def all_names(self) -> tuple[str, ...]:
        """The column names in tasks. Columns of this package get names that no other column has."""
        found = list(self.names)
        for added in self.frame.columns[len(self.names) :]:
            found.append(free_name(added, found))
        return tuple(found)


def plain_names(count: int) -> list[str]:
    """Return ``count`` names without a meaning for Spark.

    >>> plain_names(2)
    ['c0', 'c1']
    """
    return [f"c{number}" for number in range(count)]


def free_name(wanted: str, taken: Sequence[str]) -> str:
    """Return the name, or a similar one if it is taken.

    >>> free_name("__bucket__", ["id", "__bucket__"])
    '__bucket___'
    """
    while wanted in taken:
        wanted += "_"
    return wanted
