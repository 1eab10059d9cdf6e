"""Materialized tables that a test makes and refreshes without an engine."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from table_format import Catalog, Refresh, Schema, Snapshot, Table
from table_format.materialized.refreshes import digest_of
from table_format.materialized.sources import source_states, sources_of
from table_format.table.write.batch_commit import BatchCommit
from table_format.table.write.table_write import TableWrite

KEY = "materialized-table."


def a_materialized_table(
    catalog: Catalog,
    name: str,
    query: str,
    columns: pa.Schema,
    *,
    seconds: int = 30,
    options: Mapping[str, str] | None = None,
) -> Table:
    """A new table with the options that Flink writes, and others, without rows."""
    of_flink = {
        "type": "materialized-table",
        f"{KEY}definition-query": query,
        f"{KEY}interval-freshness": str(seconds),
        f"{KEY}interval-freshness.time-unit": "SECOND",
        f"{KEY}logical-refresh-mode": "AUTOMATIC",
        f"{KEY}refresh-mode": "FULL",
        f"{KEY}refresh-status": "ACTIVATED",
    }
    return catalog.create_table(name, Schema.from_arrow(columns, options={**of_flink, **(options or {})}))


def refreshed(catalog: Catalog, name: str, rows: pa.Table, *, at_ms: int, base: int | None = None) -> Snapshot:
    """Commit rows as a refresh that began at a time does, with the current states of the sources.

    With ``base``, it counts as one that has replaced some partitions of the rows of that snapshot.
    """
    table = catalog.load_table(name)
    query = table.schema.options[f"{KEY}definition-query"]
    states = source_states(catalog, sources_of(catalog, query, name.partition(".")[0]).tables)
    record = Refresh(
        at_ms,
        digest_of(query),
        {source: state.consumed for source, state in states.items()},
        {source: state.schema_id for source, state in states.items()},
        base=base,
    )
    facts = table.facts.as_refresh
    messages = TableWrite(facts, replacing=True).write(rows)
    return BatchCommit(facts).overwrite(messages, properties=record.properties)[-1]
