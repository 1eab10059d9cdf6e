"""Values of columns are bound to the columns of relations."""

from __future__ import annotations

import pyarrow as pa

from table_format.model.expression import SOURCE, TARGET
from table_format.model.schema import TableSchema
from table_format.model.types import DataField, IntType
from table_format.table.changes import assignments


def test_the_columns_in_scope_are_read_once_for_all_values(monkeypatch):
    names = [f"c{i}" for i in range(100)]
    schema = TableSchema(
        id=0, fields=tuple(DataField(i, name, IntType()) for i, name in enumerate(names)), highest_field_id=99
    )
    columns = pa.schema([(name, pa.int32()) for name in names])
    read = []
    no_rows = assignments._no_rows
    monkeypatch.setattr(assignments, "_no_rows", lambda scope: read.append(scope) or no_rows(scope))
    values = {name: f"source.{name} + target.c0" for name in names}
    assert assignments.bind(values, schema, {TARGET: columns, SOURCE: columns}).names == frozenset(names)
    assert len(read) == 1
