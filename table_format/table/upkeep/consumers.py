"""The methods of a table on its consumers: how far others have read (Java ``ConsumerManager``)."""

from __future__ import annotations

from collections.abc import Mapping

from table_format.metastore.references import consumers as stored
from table_format.table.facts import HasFacts, reporting_drops
from table_format.table.read.consumer_position import record_position


def consumers(table: HasFacts) -> Mapping[str, int]:
    """See ``Table.consumers``."""
    return stored.next_snapshots(table.facts.store)


@reporting_drops
def reset_consumer(table: HasFacts, name: str, next_snapshot_id: int) -> None:
    """See ``Table.reset_consumer``."""
    record_position(table.current_facts, name, next_snapshot_id)


@reporting_drops
def delete_consumer(table: HasFacts, name: str) -> None:
    """See ``Table.delete_consumer``."""
    stored.delete_consumer(table.current_facts.store, name)
