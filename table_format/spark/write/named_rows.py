"""Rows of a user on their way to the tasks, whose column names Spark does not see.

Spark takes names for SQL, and two names that differ only in case for one. So the columns travel as ``c0``, ``c1`` and
so on, columns that this package adds come after them, and the tasks give the names back.
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
    """A frame whose first columns stand for ``names``; the others have names of this package."""

    frame: DataFrame
    names: tuple[str, ...]

    @classmethod
    def of(cls, frame: DataFrame) -> NamedRows:
        """All columns of a user's frame."""
        return cls(frame.toDF(*plain_names(len(frame.columns))), tuple(frame.columns))

    def column(self, name: str) -> Column:
        """The column that has that name, exactly."""
        return F.col(self.plain(name))

    def plain(self, name: str) -> str:
        """Return the name of a column in the frame."""
        return f"c{self.names.index(name)}"

    def type_of(self, name: str) -> DataType:
        """The type that Spark gives a column."""
        return self.frame.schema[self.names.index(name)].dataType

    def over(self, frame: DataFrame) -> NamedRows:
        """The same columns in a frame that was made of this one."""
        return replace(self, frame=frame)

    def all_names(self) -> tuple[str, ...]:
        """The names that tasks give the columns: no column of this package has that of another."""
        found = list(self.names)
        for added in self.frame.columns[len(self.names) :]:
            found.append(free_name(added, found))
        return tuple(found)


def plain_names(count: int) -> list[str]:
    """So many names that mean nothing to Spark.

    >>> plain_names(2)
    ['c0', 'c1']
    """
    return [f"c{number}" for number in range(count)]


def free_name(wanted: str, taken: Sequence[str]) -> str:
    """The name itself, or one like it that is not taken.

    >>> free_name("__bucket__", ["id", "__bucket__"])
    '__bucket___'
    """
    while wanted in taken:
        wanted += "_"
    return wanted
