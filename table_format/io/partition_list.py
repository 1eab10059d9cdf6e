"""The list of the partitions of a table that a catalog keeps for other engines.

This library does not read it: a partition exists if a snapshot has files of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class PartitionList(Protocol):
    """The listed partitions of one table. It can be sent to other processes, which connect when they use it.

    A partition is its directory below the table, such as ``dt=2026-01-01/hh=1``.
    """

    def add(self, partitions: Sequence[str]) -> None:
        """List partitions. Those that are listed stay.

        Raises:
            MetastoreUnavailable: the list cannot be reached.
        """
        ...

    def remove(self, partitions: Sequence[str]) -> None:
        """Remove partitions. Those that are not listed are left out.

        Raises:
            MetastoreUnavailable: the list cannot be reached.
        """
        ...
