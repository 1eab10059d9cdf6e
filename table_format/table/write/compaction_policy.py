"""What a write has compacted before it hands over its files."""

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
    """One compaction of all buckets of a write: those in ``full`` fully, the others as ``others`` says."""

    others: Compaction
    full: frozenset[BucketId] = frozenset()

    def of(self, bucket_id: BucketId) -> Compaction:
        """What is done to a bucket."""
        return "full" if bucket_id in self.full else self.others


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """Chooses by the options of the table, unless the write is itself the end of a compaction, which has ``chosen``.

    ``extends_buckets`` says that the write goes on from what buckets hold; a ``shared`` one keeps to the buckets that
    it has rows for.
    """

    facts: TableFacts
    replacing: bool
    extends_buckets: bool
    shared: bool
    chosen: Compaction | None = None

    def due(self, base: Snapshot | None, buckets: Iterable[BucketId]) -> CompactionRound:
        """What to do after rows were written to some buckets, of a table as of ``base``.

        Without rows there is no commit that could be the Nth of ``full-compaction.delta-commits``.
        """
        if self.chosen is not None:
            return CompactionRound(self.chosen)
        written = frozenset(buckets)
        options = self.facts.options
        # An overwrite has nothing to merge with; but what readers skip on level 0 has to move up.
        wanted = not options.compaction.write_only and (not self.replacing or options.skips_level_0)
        if not (written and wanted and self.extends_buckets and self.facts.schema.is_primary_key_table):
            return CompactionRound(wanted)
        period = FullCompactionPeriod.of(self.facts, base)
        return CompactionRound(wanted, period.due(written, with_others=not self.shared))
