"""Where the heavy work of procedures runs: in this process, or as jobs of an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from table_format.catalog.protocol import Catalog
from table_format.model.snapshot import Snapshot
from table_format.table.table import Table
from table_format.table.upkeep.index_rewrite import IndexRewriteReport
from table_format.table.verify.report import VerifyReport

Partitions = Sequence[Mapping[str, object]]


class Operations(Protocol):
    """A catalog, and the operations on its tables that an engine implements itself."""

    @property
    def catalog(self) -> Catalog:
        """The catalog of the tables."""
        ...

    def compact(
        self, table: Table, *, full: bool, partitions: Partitions | None, buckets: Sequence[int] | None
    ) -> tuple[Snapshot, ...]:
        """Compact what is due, or in full; see ``Table.compact``."""
        ...

    def sort_compact(
        self, table: Table, *, order_by: Sequence[str], order_strategy: str, partitions: Partitions | None
    ) -> tuple[Snapshot, ...]:
        """Sort rows; see ``Table.compact``."""
        ...

    def rescale(self, table: Table, bucket: int | None, *, partitions: Partitions | None) -> tuple[Snapshot, ...]:
        """Change the number of buckets of partitions; see ``Table.rescale``."""
        ...

    def rewrite_file_index(self, table: Table, *, partitions: Partitions | None) -> IndexRewriteReport:
        """Update the indexes of files to the options; see ``Table.rewrite_file_index``."""
        ...

    def verify(self, table: Table, *, depth: str, partitions: Partitions | None, repair: bool) -> VerifyReport:
        """Check that files, metadata and rows agree; see ``Table.verify``."""
        ...


@dataclass(frozen=True)
class InProcess:
    """``Operations`` in this process."""

    catalog: Catalog

    def compact(
        self, table: Table, *, full: bool, partitions: Partitions | None, buckets: Sequence[int] | None
    ) -> tuple[Snapshot, ...]:
        """As ``Table.compact``."""
        return table.compact(full=full, partitions=partitions, buckets=buckets)

    def sort_compact(
        self, table: Table, *, order_by: Sequence[str], order_strategy: str, partitions: Partitions | None
    ) -> tuple[Snapshot, ...]:
        """As ``Table.compact`` with ``order_by``."""
        return table.compact(order_by=order_by, order_strategy=order_strategy, partitions=partitions)

    def rescale(self, table: Table, bucket: int | None, *, partitions: Partitions | None) -> tuple[Snapshot, ...]:
        """As ``Table.rescale``."""
        return table.rescale(bucket, partitions=partitions)

    def rewrite_file_index(self, table: Table, *, partitions: Partitions | None) -> IndexRewriteReport:
        """As ``Table.rewrite_file_index``."""
        return table.rewrite_file_index(partitions=partitions)

    def verify(self, table: Table, *, depth: str, partitions: Partitions | None, repair: bool) -> VerifyReport:
        """As ``Table.verify``."""
        return table.verify(depth=depth, partitions=partitions, repair=repair)
