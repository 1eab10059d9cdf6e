"""A stream that cannot be read, with the error that says why."""

from __future__ import annotations

from typing import NoReturn

from pyspark.sql import datasource

from table_format.errors import TableFormatError


class RefusedStream(datasource.DataSourceStreamReader):
    """Raises an error as soon as Spark asks for an offset or for rows.

    If the method ``streamReader`` of a data source raises an error, Spark 4.3 raises an ``UnboundLocalError`` over it.
    """

    def __init__(self, error: TableFormatError) -> None:
        self._error = error

    def initialOffset(self) -> NoReturn:
        """Raise the error."""
        raise self._error

    def latestOffset(self, *_: object) -> NoReturn:
        """Raise the error."""
        raise self._error

    def partitions(self, *_: object) -> NoReturn:
        """Raise the error: a query that starts again from its checkpoint asks for the rows first."""
        raise self._error

    def read(self, *_: object) -> NoReturn:
        """Raise the error."""
        raise self._error
