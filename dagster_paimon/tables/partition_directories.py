"""Converts directories of partitions, by which due maintenance names them, to values by column."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from table_format import Table
from table_format.engine.support import partition_spec
from table_format.errors import InvalidInputError


def specs_of_directories(table: Table, directories: Iterable[str]) -> list[dict[str, str]]:
    """Return the values of partitions by column, as texts; none, which means all partitions, if a name is not a value.

    The name of a null is not a value, and neither is the number that a table with legacy names stores for a date.
    """
    names = sorted({directory.strip("/") for directory in directories} - {""})
    pairs = [[part.split("=", 1) for part in name.split("/")] for name in names]
    specs = [{unquote(column): unquote(value) for column, value in spec} for spec in pairs]
    if any(table.options.files.partition_default_name in spec.values() for spec in specs):
        return []
    try:
        for spec in specs:
            partition_spec(table.schema, spec)
    except InvalidInputError:
        return []
    return specs
