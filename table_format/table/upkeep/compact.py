"""Compaction as a method of tables: where it is due, in full, or sorted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from table_format.errors import InvalidInputError
from table_format.kernels.sort_keys import OrderStrategy
from table_format.model.snapshot import Snapshot
from table_format.table.facts import HasFacts, reporting_drops
from table_format.table.upkeep.bucket_compaction import compact
from table_format.table.upkeep.compaction_report import CompactionReport
from table_format.table.upkeep.sort_compact import sort_compact
from table_format.table.upkeep.threads import Progress
from table_format.table.write.batch_commit import fresh_user


@reporting_drops
def compact_table(
    table: HasFacts,
    *,
    full: bool = False,
    partitions: Sequence[Mapping[str, object]] | None = None,
    buckets: Sequence[int] | None = None,
    order_by: Sequence[str] | None = None,
    order_strategy: str | None = None,
    temporary_directory: str | None = None,
) -> tuple[Snapshot, ...]:
    """See ``Table.compact``."""
    if order_by is None:
        if order_strategy is not None or temporary_directory is not None:
            message = "order_strategy and temporary_directory require order_by"
            raise InvalidInputError(message)
        return run_compaction(table, full=full, partitions=partitions, buckets=buckets).snapshots
    if buckets is not None:
        message = "order_by sorts all rows of a partition; leave buckets out"
        raise InvalidInputError(message)
    facts = table.current_facts
    with facts.blaming_old_columns():
        return sort_compact(
            facts,
            fresh_user(facts),
            order_by,
            order_strategy or OrderStrategy.ORDER,
            partitions=partitions,
            directory=temporary_directory,
        )


@reporting_drops
def run_compaction(
    table: HasFacts,
    *,
    full: bool = False,
    partitions: Sequence[Mapping[str, object]] | None = None,
    buckets: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> CompactionReport:
    """See ``Table.run_compaction``."""
    facts = table.current_facts
    return compact(facts, fresh_user(facts), full=full, partitions=partitions, buckets=buckets, progress=progress)
