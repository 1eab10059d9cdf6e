"""Columns of every type come through UPDATE and MERGE as they are, and find their rows where they are joined on."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from table_format import Insert, Schema, Table, Update, col
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


@pytest.mark.parametrize("name", [f.name for f in FIELDS if not isinstance(f.type, NESTED) and f.name != "id"])
def test_the_literal_with_which_a_filter_is_shown_is_a_value_of_an_update(name: str) -> None:
    table = filled((), {})
    table.truncate()
    table.append(ROWS.slice(7))
    # In SQL, -0.0 is a decimal, which has no negative zero.
    for constant in {str(v): v for v in ROWS.column(name).drop_null().to_pylist() if str(v) != "-0.0"}.values():
        shown = repr(col(name) == constant).partition("=")[2]
        literal = f"{constant:f}" if isinstance(constant, Decimal) else shown  # 7E-18 is a DOUBLE
        assert table.update({name: literal}).updated == 1
        assert str(table.scan().to_arrow()[name][0].as_py()) == str(constant)


def test_a_number_with_decimals_is_a_value_of_a_column_of_floats() -> None:
    table = filled((), {})
    table.update({"double_": "-0.3", "single": "CASE WHEN id > 2 THEN 0.1 ELSE -1.5 END"})
    assert set(table.scan().to_arrow()["double_"].to_pylist()) == {-0.3}
    singles = pa.array([-1.5, 0.1], pa.float32()).to_pylist()
    assert sorted(set(table.scan().to_arrow()["single"].to_pylist())) == singles
