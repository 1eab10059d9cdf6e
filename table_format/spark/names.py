"""Names of columns as Spark reads them: a dot is no path into a struct, and nothing in a name is syntax."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column


def quoted(name: str) -> str:
    """A name in the back-quotes that make it one.

    >>> quoted("a.`b`")
    '`a.``b```'
    """
    return "`" + name.replace("`", "``") + "`"


def column(name: str) -> Column:
    """The column of exactly that name."""
    return F.col(quoted(name))
