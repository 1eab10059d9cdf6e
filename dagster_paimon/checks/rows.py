"""Checks of rows: unique keys, and the expected number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from dagster_paimon.checks.base import CheckedTable, check_result, table_check
from dagster_paimon.reporting.metadata import listed
from dagster_paimon.tables.measure import count_rows, measure
from table_format import Table
from table_format.engine.support import KeyShard, stored_key
from table_format.errors import InvalidInputError

KEYS_AT_ONCE: Final = 2_000_000
"""Maximum number of keys in memory. With more, the columns are read several times, each time for a part of the keys."""

_EXAMPLES: Final = 10
_COUNT_UP_TO: Final = 2_000_000


def pk_unique(
    table: CheckedTable | str,
    *,
    columns: Sequence[str] = (),
    keys_at_once: int = KEYS_AT_ONCE,
    blocking: bool = True,
    skip_without_key: bool = False,
) -> dg.AssetChecksDefinition:
    """Fail if a reader sees two rows with the same key. Downstream assets then do not run.

    ``columns`` is the key, by default the primary key. Only these columns are read. A table without a primary key is
    refused, or, with ``skip_without_key``, passes with a description that says so.
    """

    def evaluate(found: Table) -> dg.AssetCheckResult:
        key = tuple(columns) or found.schema.primary_keys
        if not key and skip_without_key:
            return check_result(True, metadata={}, description=f"skipped: {found.identifier} has no primary key")
        if not key:
            message = (
                f"pk_unique: {found.identifier} has no primary key; set columns to those that are unique together, "
                'such as settings={"pk_unique": {"columns": ["id"]}} of table_checks'
            )
            raise InvalidInputError(message)
        rows, repeated, examples = _repeated_keys(found, key, keys_at_once)
        return check_result(
            not repeated,
            metadata={
                "key": ", ".join(key),
                "rows": rows,
                "repeated keys": repeated,
                "examples": listed(examples),
            },
        )

    key_text = f"({', '.join(columns)})" if columns else "its primary key"
    return table_check(table, "pk_unique", f"One row for each value of {key_text}.", evaluate, blocking=blocking)


def _repeated_keys(table: Table, key: Sequence[str], keys_at_once: int) -> tuple[int, int, list[str]]:
    """Return the number of rows, the number of repeated keys, and some of these keys."""
    scan = table.scan(columns=key)
    stored = scan.plan().row_count
    parts = -(-stored // keys_at_once) or 1
    types = [field.type for field in table.schema.select(key)]
    rows, repeated, examples = 0, 0, list[str]()
    for number in range(parts):
        shard = KeyShard(number, parts)
        batches = [_stored(shard.part_of(types, batch.select(list(key)))) for batch in scan.to_batches()]
        if not batches:
            break
        counted = pa.Table.from_batches(batches).group_by(list(key)).aggregate([([], "count_all")])
        rows += pc.sum(counted["count_all"]).as_py() or 0
        several = counted.filter(pc.greater(counted["count_all"], pa.scalar(1)))
        repeated += several.num_rows
        examples += [str(row) for row in several.slice(0, max(_EXAMPLES - len(examples), 0)).to_pylist()]
    return rows, repeated, examples


def _stored(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [stored_key(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def row_count_bounds(
    table: CheckedTable | str, *, at_least: int | None = None, at_most: int | None = None
) -> dg.AssetChecksDefinition:
    """Warn if the table has fewer or more rows than expected.

    Rows of an append table are counted from its metadata, those of a primary key table from its keys. If there are
    too many keys, the stored rows are counted instead.
    """

    def evaluate(found: Table) -> dg.AssetCheckResult:
        health = measure(found.facts)
        exact = count_rows(found.facts, health, read_up_to=_COUNT_UP_TO)
        rows = health.physical_rows if exact is None else exact
        too_few, too_many = at_least is not None and rows < at_least, at_most is not None and rows > at_most
        return check_result(
            not (too_few or too_many),
            severity=dg.AssetCheckSeverity.WARN,
            description=f"{rows:,} {'rows' if exact is not None else 'physical rows'}, expected {bounds}",
            metadata={"rows": rows},
        )

    bounds = " and ".join(
        f"{words} {bound:,}" for words, bound in (("at least", at_least), ("at most", at_most)) if bound is not None
    )
    return table_check(table, "row_count_bounds", f"The table has {bounds or 'any number of'} rows.", evaluate)
