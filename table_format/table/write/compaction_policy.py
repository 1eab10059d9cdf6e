"""Decides what a write compacts before it returns its files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from table_format.model.bucket_id import BucketId
from table_format.model.snapshot import Snapshot
from table_format.table.facts import TableFacts
from table_format.table.write.bucket_writer import Compaction
from table_format.table.write.full_compaction_period import FullCompactionPeriod


@dataclass(frozen=True, slots=True)
class CompactionRound:
    """One compaction of all buckets of a write: those in ``full`` fully, the others by ``others``."""

    others: Compaction
    full: frozenset[BucketId] = frozenset()

    def of(self, bucket_id: BucketId) -> Compaction:
        """Return the compaction of a bucket."""
        return "full" if bucket_id in self.full else self.others


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """Decides by the options of the table, unless the write is the end of a compaction, which has ``chosen``.

    ``extends_buckets`` says that the write continues from the state of buckets. A ``shared`` write only compacts
    buckets for which it has rows.
    """

    facts: TableFacts
    replacing: bool
    extends_buckets: bool
    shared: bool
    chosen: Compaction | None = None

    def due(self, base: Snapshot | None, buckets: Iterable[BucketId]) -> CompactionRound:
        """Return the compaction after rows were written to some buckets, of a table at the snapshot ``base``.

        Without rows there is no commit that could be the Nth of ``full-compaction.delta-commits``.
        """
        if self.chosen is not None:
            return CompactionRound(self.chosen)
        written = frozenset(buckets)
        options = self.facts.options
        # An overwrite has nothing to merge with, but files on level 0 that readers skip must move up.
        wanted = not options.compaction.write_only and (not self.replacing or options.skips_level_0)
        if not (written and wanted and self.extends_buckets and self.facts.schema.is_primary_key_table):
            return CompactionRound(wanted)
        period = FullCompactionPeriod.of(self.facts, base)
        return CompactionRound(wanted, period.due(written, with_others=not self.shared))
