"""The operations of procedures that run in Spark tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from table_format.catalog.protocol import Catalog
from table_format.model.snapshot import Snapshot
from table_format.procedures.operations import Partitions
from table_format.spark.jobs.compact import compact_on_spark
from table_format.spark.jobs.index_rewrite import rewrite_indexes_on_spark
from table_format.spark.jobs.rescale import rescale_on_spark
from table_format.spark.jobs.sort_compact import sort_compact_on_spark
from table_format.spark.jobs.verify import verify_on_spark
from table_format.table.table import Table
from table_format.table.upkeep.index_rewrite import IndexRewriteReport
from table_format.table.verify.report import VerifyReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class OnSpark:
    """``Operations`` as Spark jobs."""

    spark: SparkSession
    catalog: Catalog

    def compact(
        self, table: Table, *, full: bool, partitions: Partitions | None, buckets: Sequence[int] | None
    ) -> tuple[Snapshot, ...]:
        """Compact with a task for each bucket."""
        return compact_on_spark(self.spark, table, full=full, partitions=partitions, buckets=buckets).snapshots

    def sort_compact(
        self, table: Table, *, order_by: Sequence[str], order_strategy: str, partitions: Partitions | None
    ) -> tuple[Snapshot, ...]:
        """Sort rows; each task sorts a range."""
        return sort_compact_on_spark(self.spark, table, order_by, order_strategy, partitions=partitions)

    def rescale(self, table: Table, bucket: int | None, *, partitions: Partitions | None) -> tuple[Snapshot, ...]:
        """Change the number of buckets of partitions in tasks."""
        return rescale_on_spark(self.spark, table, bucket, partitions=partitions)

    def rewrite_file_index(self, table: Table, *, partitions: Partitions | None) -> IndexRewriteReport:
        """Update the indexes of files to the current options in tasks."""
        return rewrite_indexes_on_spark(self.spark, table, partitions=partitions)

    def verify(self, table: Table, *, depth: str, partitions: Partitions | None, repair: bool) -> VerifyReport:
        """Check files with a task for each bucket."""
        return verify_on_spark(self.spark, table, depth=depth, partitions=partitions, repair=repair)
