"""Chooses partitions by a condition on their values, or by the time since their last change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from table_format.codecs.filter_sql import parse_filter
from table_format.errors import ColumnNotFound, InvalidInputError
from table_format.kernels.predicate import matches
from table_format.kernels.values import array_of
from table_format.metastore.references.expired_reads import on_latest
from table_format.table.facts import HasFacts, TableFacts
from table_format.table.upkeep.partition_expiry import PartitionFacts, partition_facts

PartitionTexts = Mapping[str, str | None]
"""The values of a partition as texts by column, ``None`` for null."""


def partitions_where(table: HasFacts, condition: str) -> tuple[PartitionTexts, ...]:
    """Return the partitions of the latest snapshot that match a condition in SQL on the partition columns.

    Raises:
        InvalidInputError: the condition names another column.
        InvalidFilter: the condition cannot be parsed.
    """
    facts = table.current_facts
    fields = facts.schema.partition_fields
    try:
        predicate = parse_filter(condition, fields)
    except ColumnNotFound as error:
        keys = ", ".join(facts.schema.partition_keys) or "none"
        message = f"{facts.name}: {error}; the condition chooses partitions, and the partition columns are {keys}"
        raise InvalidInputError(message) from error
    found = _latest(facts)
    rows = [facts.partitions.values(partition.key) for partition in found]
    arrays = [array_of([row[place] for row in rows], field.type) for place, field in enumerate(fields)]
    if not arrays:
        message = f"{facts.name} has no partitions to choose from"
        raise InvalidInputError(message)
    batch = pa.RecordBatch.from_arrays(arrays, names=[field.name for field in fields])
    mask = matches(predicate, batch, fields)
    return tuple(partition.values for partition, chosen in zip(found, mask.to_pylist(), strict=True) if chosen)


def idle_partitions(table: HasFacts, idle_ms: int) -> tuple[PartitionTexts, ...]:
    """Return the partitions of the latest snapshot to which nobody has written for some milliseconds.

    A table without partitions is one partition. If a file has no creation time, its partition counts as active.
    """
    facts = table.current_facts
    oldest_ms = facts.store.runtime.clock.local_now_ms() - idle_ms
    return tuple(
        partition.values
        for partition in _latest(facts)
        if partition.updated_ms is not None and partition.updated_ms <= oldest_ms
    )


def _latest(facts: TableFacts) -> Sequence[PartitionFacts]:
    return on_latest(facts.snapshots, lambda snapshot: tuple(partition_facts(facts, snapshot)))
