"""Columns of every type come through UPDATE and MERGE as they are, and find their rows where they are joined on."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from table_format import Insert, Schema, Table, Update
from table_format.model.types import NESTED, DoubleType, FloatType
from tests.support.tables import memory_warehouse
from tests.support.typed_rows import columns, fields_of, rows_of

TYPES = columns("parquet")
FIELDS = fields_of(TYPES)
ROWS = rows_of(TYPES, FIELDS, 8)
MARKS = {"deletion-vectors.enabled": "true"}
KINDS: list[tuple[tuple[str, ...], dict[str, str]]] = [((), {}), ((), MARKS), (("id",), {"bucket": "1"})]
JOINED = [f.name for f in FIELDS if not isinstance(f.type, (*NESTED, FloatType, DoubleType))]


def filled(keys: tuple[str, ...], options: dict[str, str]) -> Table:
    table = memory_warehouse().catalog.create_table("db.t", Schema(tuple(FIELDS), (), keys, options))
    assert isinstance(table, Table)
    table.append(ROWS)
    return table


def texts(table: Table) -> list[str]:
    """The rows by id, as text: NaN is like itself there."""
    return list(map(str, table.scan().to_arrow().sort_by("id").to_pylist()))


@pytest.mark.parametrize(("keys", "options"), KINDS)
def test_what_is_not_assigned_stays(keys: tuple[str, ...], options: dict[str, str]) -> None:
    table = filled(keys, options)
    assert table.update({"big": "big * 0 + id"}, "id >= 3").updated == 5
    at = ROWS.schema.get_field_index("big")
    big = [row["id"] if row["big"] is not None and row["id"] >= 3 else row["big"] for row in ROWS.to_pylist()]
    expected = ROWS.set_column(at, ROWS.schema.field(at), pa.array(big, pa.int64()))
    assert texts(table) == list(map(str, expected.to_pylist()))


@pytest.mark.parametrize(("keys", "options"), KINDS)
def test_every_value_of_the_source_arrives(keys: tuple[str, ...], options: dict[str, str]) -> None:
    table = filled(keys, options)
    shifted = ROWS.set_column(0, ROWS.schema.field(0), pc.add(ROWS.column("id"), 4).cast(pa.int32()))
    result = table.merge(shifted, "id", when_matched=Update(), when_not_matched=Insert())
    assert (result.updated, result.inserted) == (4, 4)
    assert texts(table) == list(map(str, pa.concat_tables([ROWS.slice(0, 4), shifted]).to_pylist()))


@pytest.mark.parametrize("column", JOINED)
def test_rows_are_found_by_columns_of_every_type(column: str) -> None:
    table = filled((), MARKS)
    values = ROWS.column(column).combine_chunks()
    source = pa.table({"key": values.unique().drop_null()})
    result = table.merge(source, {column: "key"}, when_matched=Update({"big": -1}))
    assert result.updated == len(values) - values.null_count
