"""The methods of a table on its consumers: how far others have read (Java ``ConsumerManager``)."""

from __future__ import annotations

from collections.abc import Mapping

from table_format.metastore.references import consumers as stored
from table_format.table.facts import HasFacts


def consumers(table: HasFacts) -> Mapping[str, int]:
    """The snapshot each consumer reads next, by name; nothing from there on is expired."""
    return stored.next_snapshots(table.facts.store)


def reset_consumer(table: HasFacts, name: str, next_snapshot_id: int) -> None:
    """Let a consumer go on with this snapshot; it is made when there is none.

    Raises:
        InvalidInputError: the name or the id is not legal.
    """
    stored.reset_consumer(table.current_facts.store, name, next_snapshot_id)


def delete_consumer(table: HasFacts, name: str) -> None:
    """Forget a consumer; nothing happens when there is none."""
    stored.delete_consumer(table.current_facts.store, name)
