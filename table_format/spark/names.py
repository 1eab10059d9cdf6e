"""Quotes column names for Spark, so that a dot is not a path into a struct and nothing in a name is syntax."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column


def quoted(name: str) -> str:
    """Return a name in backquotes.

    >>> quoted("a.`b`")
    '`a.``b```'
    """
    return "`" + name.replace("`", "``") + "`"


def column(name: str) -> Column:
    """Return the column with exactly this name."""
    return F.col(quoted(name))
