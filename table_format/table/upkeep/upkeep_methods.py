"""The methods of a table for maintenance: compaction, indexes, statistics, expiry. Functions of ``table.upkeep`` and of
``metastore.expiry`` do the work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from table_format.metastore.expiry.expire_changelogs import ChangelogExpiryReport, expire_changelogs
from table_format.metastore.expiry.expire_snapshots import ExpiryReport, expire_snapshots
from table_format.metastore.expiry.orphans import GRACE_MS, OrphanReport, remove_orphan_files
from table_format.model.arguments import flag
from table_format.model.snapshot import Snapshot
from table_format.options.declare import Operation
from table_format.table.facts import HasFacts, reporting_drops
from table_format.table.upkeep import compact as compact_actions
from table_format.table.upkeep import partition_done as partition_done_actions
from table_format.table.upkeep import partition_expiry as partition_expiry_actions
from table_format.table.upkeep.analyze import analyze_table
from table_format.table.upkeep.compact import compact_table
from table_format.table.upkeep.compaction_report import CompactionReport
from table_format.table.upkeep.due import DueWork
from table_format.table.upkeep.index_rewrite import IndexRewriteReport, rewrite_table_indexes
from table_format.table.upkeep.partition_expiry import PartitionExpiryReport
from table_format.table.upkeep.rescale import rescale_table
from table_format.table.upkeep.threads import Progress
from table_format.table.upkeep.upkeep_facts import due_upkeep_of


class UpkeepMethods(HasFacts, Protocol):
    """The methods of a table for maintenance: compaction, indexes, statistics, expiry."""

    def compact(
        self,
        *,
        full: bool = False,
        partitions: Sequence[Mapping[str, object]] | None = None,
        buckets: Sequence[int] | None = None,
        order_by: Sequence[str] | None = None,
        order_strategy: str | None = None,
        temporary_directory: str | None = None,
    ) -> tuple[Snapshot, ...]:
        """Compact all or some partitions and buckets, where it is due or in full. Return the new snapshots.

        Partitions and buckets that do not exist are passed over.

        With ``order_by``, all rows of the partitions are also sorted, so that filters on these columns skip files:
        column by column (``order_strategy="order"``, the default), or along a curve that serves all columns alike
        (``"zorder"``, ``"hilbert"``). This works for tables with ``bucket`` = -1: append tables, and primary key
        tables with dynamic buckets, where it decides which rows share a bucket. Rows beyond ``write-buffer-size`` are
        spilled to a new directory in ``temporary_directory``, by default that of the system.

        If another commit has changed a bucket in the meantime, the bucket is skipped; ``run_compaction`` reports it.

        >>> [snapshot.commit_kind.value for snapshot in table.compact(full=True)]
        ['COMPACT']

        Raises:
            ConflictError: other writers won every attempt to commit, or changed the sorted files.
            InvalidInputError: a column cannot be sorted by, or the strategy is unknown.
            UnsupportedFeature: ``order_by`` is given for a table with fixed buckets.
        """
        return compact_table(
            self,
            full=full,
            partitions=partitions,
            buckets=buckets,
            order_by=order_by,
            order_strategy=order_strategy,
            temporary_directory=temporary_directory,
        )

    def run_compaction(
        self,
        *,
        full: bool = False,
        partitions: Sequence[Mapping[str, object]] | None = None,
        buckets: Sequence[int] | None = None,
        progress: Progress | None = None,
    ) -> CompactionReport:
        """Compact as ``compact`` does, and return a report: the snapshots, the compacted buckets, and the dropped
        buckets with reasons.

        ``progress`` is called with the numbers of finished and of all buckets, first with 0, on the threads that
        compact. The commit follows. If ``progress`` raises an error, nothing is committed, no files are left, and the
        error is raised when the buckets are done.

        >>> report = table.run_compaction(full=True, progress=lambda done, total: print(f"{done} of {total} buckets"))
        0 of 2 buckets
        1 of 2 buckets
        2 of 2 buckets
        >>> len(report.buckets), len(report.dropped)
        (2, 0)
        """
        return compact_actions.run_compaction(
            self, full=full, partitions=partitions, buckets=buckets, progress=progress
        )

    def rescale(
        self, bucket: int | None = None, *, partitions: Sequence[Mapping[str, object]] | None = None
    ) -> tuple[Snapshot, ...]:
        """Change the number of buckets of all or some partitions, in an OVERWRITE snapshot.

        Streams pass over it. If a compaction has yet to write the changelog of some rows, these are compacted before.

        The default of ``bucket`` is the option of the table: after an ALTER of ``bucket``, this makes existing
        partitions writable again. Partitions that already have the number stay unchanged.

        Without ``partitions``, the option ``bucket`` of the table is also changed after the rows are rewritten, and a
        snapshot without changes has the new schema. If the call is interrupted, repeat it. With ``partitions``, the
        option stays, and later writes to these partitions require it to have the same number; with postponed buckets,
        writes use the number of the partition.

        >>> [(snapshot.commit_kind.value, snapshot.schema_id) for snapshot in table.rescale(2)]
        [('OVERWRITE', 0), ('OVERWRITE', 1)]

        Raises:
            InvalidInputError: the table has no fixed buckets, or it has postponed buckets and no number is given.
            ConflictError: another commit changed one of the partitions in the meantime, or others keep writing rows
                that need a compaction before. The partitions have their old buckets.
        """
        return rescale_table(self, bucket, partitions=partitions)

    def rewrite_file_index(self, *, partitions: Sequence[Mapping[str, object]] | None = None) -> IndexRewriteReport:
        """Update the indexes of data files to the current options, in all or some partitions.

        Indexes that no option declares any longer are removed. This reads only the indexed columns and writes only
        indexes; data files stay unchanged. Files with the right indexes are skipped. If all files have them, there is
        no new snapshot. Postponed rows have no indexes.

        If another commit has changed a bucket in the meantime, the bucket is processed again; the report names
        buckets that were changed too often.

        >>> from table_format import SetOption
        >>> table = catalog.alter_table("shop.orders", SetOption("file-index.bitmap.columns", "state"))
        >>> table.rewrite_file_index().rewritten
        2

        Raises:
            ConflictError: other writers won every attempt to commit. Earlier snapshots of this call stay.
            CorruptionError: a data file is missing or damaged.
        """
        return rewrite_table_indexes(self, partitions=partitions)

    def due_upkeep(self, *, max_level0_age_ms: int | None = None) -> tuple[DueWork, ...]:
        """Return the maintenance that is due by the table options, with reasons: compaction, indexes, expiry, tags.

        ``max_level0_age_ms`` includes buckets with a file that has been on level 0 for longer.

        >>> table.due_upkeep()
        ()

        Raises:
            CorruptionError: the metadata of the table cannot be read.
        """
        return due_upkeep_of(self, max_level0_age_ms=max_level0_age_ms)

    def analyze(self, columns: Sequence[str] | None = None) -> tuple[Snapshot, ...]:
        """Compute the row count, and distinct values, nulls, bounds and lengths of columns, in one ANALYZE snapshot.

        ``$statistics`` shows the result. Does nothing if the table has no snapshots.

        >>> [snapshot.commit_kind.value for snapshot in table.analyze(["amount"])]
        ['ANALYZE']

        Raises:
            ColumnNotFound: there is no such column.
            UnsupportedFeature: a column holds ARRAY, MAP, MULTISET or ROW.
        """
        return analyze_table(self, columns)

    def expire_partitions(
        self,
        *,
        dry_run: bool = False,
        expiration_time_ms: int | None = None,
        strategy: str | None = None,
        timestamp_formatter: str | None = None,
        timestamp_pattern: str | None = None,
        max_num: int | None = None,
    ) -> PartitionExpiryReport:
        """Drop the partitions that are older than ``partition.expiration-time``. Arguments override the table options.

        With the strategy ``values-time``, the age of a partition comes from the time in its values; with
        ``update-time``, from its newest file.

        >>> day_ms = 86_400_000
        >>> report = table.expire_partitions(expiration_time_ms=day_ms, timestamp_formatter="yyyy-MM-dd", dry_run=True)
        >>> [partition.partition for partition in report.partitions]
        ['day=2026-01-01', 'day=2026-01-02']

        Raises:
            InvalidInputError: the table has no partitions, or no age is given.
            InvalidOption: an argument is not a valid value of its option.
            ConflictError: with ``update-time``, another commit changed one of the partitions in the meantime; repeat
            the call.
        """
        return partition_expiry_actions.expire_partitions(
            self,
            dry_run=dry_run,
            expiration_time_ms=expiration_time_ms,
            strategy=strategy,
            timestamp_formatter=timestamp_formatter,
            timestamp_pattern=timestamp_pattern,
            max_num=max_num,
        )

    def mark_partitions_done(
        self, partitions: Sequence[Mapping[str, object]], *, allow_empty: bool = False
    ) -> tuple[str, ...]:
        """Write the file ``_SUCCESS`` to the directories of partitions. Return its paths.

        Give each partition by the values of all partition columns. A partition without rows is refused, because it
        may be wrong, unless ``allow_empty`` is set. An existing file keeps its creation time.

        >>> table.mark_partitions_done([{"day": "2026-01-01"}])
        ('/warehouse/shop.db/orders/day=2026-01-01/_SUCCESS',)

        Raises:
            InvalidInputError: no partition is given, or one lacks a column or has no rows; nothing was written.
            UnsupportedFeature: ``partition.mark-done-action`` names another action.
        """
        return partition_done_actions.mark_partitions_done(self, partitions, allow_empty=allow_empty)

    @reporting_drops
    def expire_snapshots(
        self,
        *,
        dry_run: bool = False,
        retain_max: int | None = None,
        retain_min: int | None = None,
        older_than_ms: int | None = None,
        limit: int | None = None,
        retain_floor_ms: int | None = None,
    ) -> ExpiryReport:
        """Delete old snapshots and the files that only they need, by the table options or the arguments.

        Snapshots younger than ``retain_floor_ms`` (15 minutes by default) are kept; pass 0 only if there are no other
        writers. Changelogs that are kept longer than snapshots (``changelog.*-retained``) become long-lived changelogs.

        >>> table.expire_snapshots(retain_max=1, retain_min=1, retain_floor_ms=0, dry_run=True).snapshot_ids
        (1,)

        Raises:
            InvalidOption: the bounds contradict each other.
        """
        flag(dry_run, "dry_run")
        facts = self.current_facts
        facts.require(Operation.EXPIRE)
        return expire_snapshots(
            facts.store,
            facts.options,
            dry_run=dry_run,
            retain_max=retain_max,
            retain_min=retain_min,
            older_than_ms=older_than_ms,
            limit=limit,
            retain_floor_ms=retain_floor_ms,
        )

    @reporting_drops
    def expire_changelogs(
        self,
        *,
        dry_run: bool = False,
        retain_max: int | None = None,
        retain_min: int | None = None,
        older_than_ms: int | None = None,
        limit: int | None = None,
        everything: bool = False,
    ) -> ChangelogExpiryReport:
        """Delete old long-lived changelogs and the files that only they need, by the table options or the arguments.

        ``everything`` deletes all of them, even if consumers have not read them. It takes no bounds.

        >>> table.expire_changelogs(everything=True, dry_run=True).changelog_ids
        ()

        Raises:
            InvalidOption: the bounds contradict each other.
        """
        flag(dry_run, "dry_run")
        flag(everything, "everything")
        facts = self.current_facts
        facts.require(Operation.EXPIRE)
        return expire_changelogs(
            facts.store,
            facts.options,
            dry_run=dry_run,
            retain_max=retain_max,
            retain_min=retain_min,
            older_than_ms=older_than_ms,
            limit=limit,
            everything=everything,
        )

    @reporting_drops
    def remove_orphan_files(
        self, *, older_than_ms: int | None = None, dry_run: bool = False, nobody_else_writes: bool = False
    ) -> OrphanReport:
        """Delete files that no branch refers to, such as files of crashed writers and failed deletions.

        Only files last changed before ``older_than_ms`` (milliseconds since 1970; by default a day ago) are deleted.
        A more recent time is refused unless ``nobody_else_writes`` is set, because no snapshot refers to the files of
        active writers yet. Symbolic links in the table directory are neither followed nor deleted; the report names
        them.

        >>> table.remove_orphan_files(dry_run=True).paths
        ()

        Raises:
            InvalidInputError: ``older_than_ms`` is less than a day ago and ``nobody_else_writes`` is false; nothing
            was deleted.
            CorruptionError: the files in use cannot be determined; nothing was deleted.
            ConflictError: others keep committing too fast; nothing was deleted.
        """
        flag(dry_run, "dry_run")
        flag(nobody_else_writes, "nobody_else_writes")
        facts = self.current_facts
        facts.require(Operation.EXPIRE)
        grace_ms = 0 if nobody_else_writes and older_than_ms is not None else GRACE_MS
        return remove_orphan_files(
            facts.store, facts.options, older_than_ms=older_than_ms, dry_run=dry_run, grace_ms=grace_ms
        )
