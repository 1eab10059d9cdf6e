"""Compaction as a method of tables: what is due, everything, or everything in an order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from table_format.errors import InvalidInputError
from table_format.kernels.sort_keys import OrderStrategy
from table_format.model.snapshot import Snapshot
from table_format.table.facts import HasFacts
from table_format.table.upkeep.bucket_compaction import compact
from table_format.table.upkeep.compaction_report import CompactionReport
from table_format.table.upkeep.sort_compact import sort_compact
from table_format.table.write.batch_commit import fresh_user


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
    """Compact what is due, or everything, in all or some partitions and buckets; the snapshots made.

    With ``order_by`` all rows of the partitions are also put in order, so that filters on those columns skip files:
    by one column after the other (``order_strategy="order"``, the default), or on a curve that serves all columns
    alike (``"zorder"``, ``"hilbert"``). That is for tables with ``bucket`` = -1: append tables, and primary-key
    tables with dynamic buckets, where it decides which rows share a bucket. What exceeds ``write-buffer-size``
    waits in a directory made below ``temporary_directory``, or where the system has its own.

    A bucket that another commit has changed meanwhile is left as it is; ``run_compaction`` tells which.

    Raises:
        ConflictError: others won every attempt to commit, or changed what was put in order.
        InvalidInputError: a column cannot be ordered by, or the strategy is unknown.
        UnsupportedFeature: rows of a table with fixed buckets are to be put in order.
    """
    if order_by is None:
        if order_strategy is not None or temporary_directory is not None:
            message = "order_strategy= and temporary_directory= belong to order_by="
            raise InvalidInputError(message)
        return run_compaction(table, full=full, partitions=partitions, buckets=buckets).snapshots
    if buckets is not None:
        message = "order_by= puts all rows of a partition in order; leave buckets= out"
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


def run_compaction(
    table: HasFacts,
    *,
    full: bool = False,
    partitions: Sequence[Mapping[str, object]] | None = None,
    buckets: Sequence[int] | None = None,
) -> CompactionReport:
    """``compact`` with a report: the snapshots, the buckets compacted, and those dropped and why."""
    facts = table.current_facts
    return compact(facts, fresh_user(facts), full=full, partitions=partitions, buckets=buckets)
