"""All that was committed to a primary key table, for those who read rows in order to write them back.

Readers of a table that merges on write (``deletion-vectors.enabled``, ``first-row``) see what is compacted, and where
buckets are postponed what was given its bucket. An upsert that waits for that, because its compaction was dropped or
is left to others, is committed all the same. A statement that did not see it would put the older row in its place.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from table_format.errors import FileConflict, LsmConflict
from table_format.io.paths import POSTPONE_BUCKET
from table_format.metastore.references.expired_reads import explaining_expiry
from table_format.metastore.scan.file_filter import FileFilter
from table_format.metastore.scan.file_plan import live_files
from table_format.model.predicate import Predicate
from table_format.options.bucket_mode import Postponed
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan
from table_format.table.read.scan import Scan
from table_format.table.upkeep.bucket_compaction import compact
from table_format.table.write.batch_commit import fresh_user

_ATTEMPTS: Final = 10


def whole_state(facts: TableFacts, where: Predicate | None) -> Scan:
    """A scan, planned, of the rows that a condition selects: level 0 is merged with what lies above, as far as deletion
    vectors left it there, and postponed rows are given their buckets first, in a commit of its own.

    Raises:
        ConflictError: postponed rows came faster than they could be given their buckets.
        CorruptionError: a file is missing or damaged.
    """
    for _ in range(_ATTEMPTS):
        scan = Scan(facts, None, where, min_level=0)
        if not (isinstance(facts.bucket_mode, Postponed) and _rows_wait(facts, scan.plan())):
            return scan
        with suppress(FileConflict, LsmConflict):  # others gave them their buckets first
            compact(facts, fresh_user(facts))
    message = f"{facts.name}: others wrote postponed rows again and again before the last ones had their buckets"
    raise FileConflict(message)


def _rows_wait(facts: TableFacts, plan: Plan) -> bool:
    """Whether rows without a bucket lie in a partition that the condition admits."""
    snapshot = plan.snapshot
    if snapshot is None:
        return False
    wanted = FileFilter(partition_predicate=plan.pruning.partition_condition, buckets=frozenset((POSTPONE_BUCKET,)))
    with explaining_expiry(facts.store, snapshot.id):
        found = live_files(facts.manifests, snapshot, schema=facts.schema, schemas=facts.schemas, filter=wanted)
    return bool(found.entries)
