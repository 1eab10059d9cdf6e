"""Reads all committed rows of a primary key table, for statements that write them back.

Readers of a merge-on-write table (``deletion-vectors.enabled``, ``first-row``) see only compacted rows, and readers
of a table with postponed buckets only rows that have a bucket. An upsert whose compaction is still to come is
committed nevertheless. A statement that did not see it would replace it with the older row.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from table_format.errors import FileConflict, LsmConflict
from table_format.io.paths import POSTPONE_BUCKET
from table_format.metastore.references.expired_reads import explaining_expiry
from table_format.metastore.scan.file_filter import FileFilter
from table_format.model.predicate import Predicate
from table_format.options.bucket_mode import Postponed
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan
from table_format.table.read.scan import Scan
from table_format.table.upkeep.bucket_compaction import compact
from table_format.table.write.batch_commit import fresh_user

_ATTEMPTS: Final = 10


def whole_state(
    facts: TableFacts, where: Predicate | None, place_rows: Callable[[TableFacts], object] | None = None
) -> Scan:
    """Plan a scan of the rows that a condition selects. It merges level 0 with higher levels. Postponed rows first
    get their buckets, in a separate commit.

    ``place_rows`` assigns these buckets; by default a compaction in this process does.

    Raises:
        ConflictError: postponed rows arrived faster than they could get their buckets.
        CorruptionError: a file is missing or damaged.
    """
    for _ in range(_ATTEMPTS):
        scan = Scan(facts, None, where, min_level=0)
        if not (isinstance(facts.bucket_mode, Postponed) and _rows_wait(facts, scan.plan())):
            return scan
        with suppress(FileConflict, LsmConflict):  # another process assigned their buckets first
            (place_rows or _compact_here)(facts)
    message = (
        f"{facts.name}: other writers added postponed rows each time that the previous ones were given buckets; "
        "try again when there are fewer writes"
    )
    raise FileConflict(message)


def _compact_here(facts: TableFacts) -> None:
    compact(facts, fresh_user(facts))


def _rows_wait(facts: TableFacts, plan: Plan) -> bool:
    """Return whether a partition that the condition selects has rows without a bucket."""
    snapshot = plan.snapshot
    if snapshot is None:
        return False
    wanted = FileFilter(partition_predicate=plan.pruning.partition_condition, buckets=frozenset((POSTPONE_BUCKET,)))
    with explaining_expiry(facts.store, snapshot):
        found = facts.live_files(snapshot, wanted)
    return bool(found.entries)
