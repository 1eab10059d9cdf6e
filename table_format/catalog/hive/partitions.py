"""The partitions of a table in the Hive metastore (Java ``HiveCatalog.createPartitions``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from table_format.catalog.hive.entries import Entries
from table_format.catalog.table_names import TableName
from table_format.runtime import Clock

_BATCH: Final = 500
"""Partitions that are added in one call."""


@dataclass(frozen=True, slots=True)
class HivePartitions:
    """The partitions of one table; see ``PartitionList``."""

    entries: Entries
    name: TableName
    clock: Clock

    def add(self, partitions: Sequence[str]) -> None:
        """List partitions; see ``PartitionList``."""
        for start in range(0, len(partitions), _BATCH):
            batch = {partition: values_of(partition) for partition in partitions[start : start + _BATCH]}
            self.entries.add_partitions(self.name, batch, seconds=self.clock.now_ms() // 1000)

    def remove(self, partitions: Sequence[str]) -> None:
        """Remove partitions; see ``PartitionList``."""
        for partition in partitions:
            self.entries.delete_partition(self.name, values_of(partition))


def values_of(partition: str) -> list[str]:
    """Return the values in the directory of a partition.

    >>> values_of("dt=2026-01-01/hh=a%2Fb")
    ['2026-01-01', 'a/b']
    """
    return [unquote(part.partition("=")[2]) for part in partition.split("/")]
