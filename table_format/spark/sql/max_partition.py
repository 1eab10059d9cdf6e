"""Implements ``sys.max_pt``: the largest value of the first partition column."""

from __future__ import annotations

from table_format.errors import InvalidInputError
from table_format.io.paths import partition_text
from table_format.table.system.partitions import partition_totals
from table_format.table.table import Table


def max_partition(table: Table) -> str:
    """Return the largest value, as text, of the first partition column among the partitions with files.

    Raises:
        InvalidInputError: the table has no partition columns, or no partition with files.
    """
    facts = table.facts
    if not facts.schema.partition_keys:
        message = f"max_pt: {facts.name} has no partition columns"
        raise InvalidInputError(message)
    found = [
        values[0]
        for partition, totals in partition_totals(facts).items()
        if totals.file_count > 0 and (values := facts.partitions.values(partition))[0] is not None
    ]
    if not found:
        message = f"max_pt: {facts.name} has no partition with files"
        raise InvalidInputError(message)
    largest: object = max(found)
    if isinstance(largest, str):
        return largest
    return partition_text(facts.schema.partition_fields[:1], [max(found)], legacy=False).partition("=")[2]
