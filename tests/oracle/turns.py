"""WriterTurns of us and the real Paimon on one primary-key table, and the state that they lead to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from table_format import Table
from table_format.model.arrow_types import arrow_schema
from tests.oracle.peer import PaimonPeer

Key: TypeAlias = tuple[Any, ...]
Rows: TypeAlias = Mapping[Key, tuple[str, int]]
"""Row kinds and values by key; the key columns come first."""


def take_turn(
    table: Table, paimon: PaimonPeer, warehouse: Path, rows: Rows, state: dict[Key, int], *, ours: bool
) -> None:
    """Commit rows to ``db.t``, ours or theirs, and note what they make of the state."""
    if ours:
        table.append(as_table(table, rows))
    else:
        paimon.write(warehouse, "db.t", [[kind, [*key, v]] for key, (kind, v) in rows.items()])
    for key, (kind, v) in rows.items():
        state.pop(key, None)
        if kind != "-D":
            state[key] = v


def as_table(table: Table, rows: Rows) -> pa.Table:
    """Rows with ``_row_kind``, in the columns of a table."""
    schema = arrow_schema(table.schema.fields)
    columns = list(zip(*((*key, v) for key, (_, v) in rows.items()), strict=True))
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    found = pa.Table.from_arrays(arrays, schema=schema)
    return found.append_column("_row_kind", pa.array([kind for kind, _ in rows.values()]))
