"""What rows must look like before anything is written."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from table_format.errors import InvalidData
from table_format.model.schema import TableSchema
from table_format.model.types import ArrayType, BigIntType, DataField, IntType, RowType, VarCharType
from table_format.options.merge import MergeOptions
from table_format.table.rows.validate import RowRules

FIELDS = (
    DataField(0, "id", BigIntType(nullable=False)),
    DataField(1, "v", IntType()),
    DataField(2, "op", VarCharType()),
)
KEYED = TableSchema(0, FIELDS, 2, primary_keys=("id",))
APPEND = TableSchema(0, FIELDS, 2)


def rules(schema: TableSchema = KEYED, **merge: object) -> RowRules:
    return RowRules(schema, replace(MergeOptions(), **merge))  # type: ignore[arg-type]


def batch(**columns: object) -> pa.RecordBatch:
    given = {"id": [1, 2, 3], "v": [10, 20, 30], "op": ["+I", "-D", "+U"], **columns}
    return pa.RecordBatch.from_pydict(given)


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["id", "v"], "missing: op"),
        (["id", "v", "op", "w", "x"], "not in the table: w, x"),
        (["id", "v", "op", "v"], "more than once: v"),
        (["ID", "v", "op"], "missing: id; not in the table: ID"),
    ],
)
def test_columns_are_those_of_the_table(names: list[str], problem: str) -> None:
    with pytest.raises(InvalidData, match=problem):
        rules().check_columns(names)


def test_columns_come_in_any_order_and_a_row_kind_column_is_welcome() -> None:
    rules().check_columns(["op", "id", "_row_kind", "v"])
    rows = rules().conform(pa.RecordBatch.from_pydict({"op": ["a"], "id": [1], "v": [2]}))
    assert rows.schema.names == ["id", "v", "op", "_VALUE_KIND"]
    assert rows.to_pylist() == [{"id": 1, "v": 2, "op": "a", "_VALUE_KIND": 0}]


def test_rows_of_an_append_table_have_no_kind() -> None:
    assert rules(APPEND).conform(batch()).schema.names == ["id", "v", "op"]


def test_a_null_where_none_may_be_is_counted_and_named() -> None:
    with pytest.raises(InvalidData, match=r"column 'id' is BIGINT NOT NULL; found 2 nulls, the first in row 101"):
        rules().conform(batch(id=[1, None, None]), first_row=100)


def test_a_null_in_a_part_that_may_have_none_is_named() -> None:
    row = RowType(fields=(DataField(2, "x", IntType(nullable=False)),))
    schema = TableSchema(0, (DataField(0, "a", ArrayType(element=row)),), 2)
    good = pa.RecordBatch.from_pydict({"a": pa.array([[{"x": 1}, None], None])})
    assert rules(schema).conform(good).to_pylist() == good.to_pylist()
    with pytest.raises(InvalidData, match=r"column 'a\.element\.x' is INT NOT NULL; found 1 null"):
        rules(schema).conform(pa.RecordBatch.from_pydict({"a": pa.array([[{"x": None}]])}))


def test_row_kinds_become_numbers() -> None:
    kinds = pa.array(["+I", "-U", "+U"]).dictionary_encode()
    rows = rules().conform(batch(_row_kind=kinds))
    assert rows.column("_VALUE_KIND").to_pylist() == [0, 1, 2]
    assert rows.column("_VALUE_KIND").type == pa.int8()


def test_row_kinds_may_stand_in_a_column_of_the_table() -> None:
    given = rules(rowkind_field="op")
    assert given.conform(batch()).column("_VALUE_KIND").to_pylist() == [0, 3, 2]
    with pytest.raises(InvalidData, match="not in the table: _row_kind"):
        given.check_columns(["id", "v", "op", "_row_kind"])


def test_a_column_of_the_table_that_has_the_name_of_the_kind_column_is_a_column_like_any_other() -> None:
    schema = TableSchema(0, (*FIELDS, DataField(3, "_row_kind", VarCharType())), 3, primary_keys=("id",))
    rows = rules(schema).conform(batch(_row_kind=["x", "y", "z"]))
    assert rows.column("_row_kind").to_pylist() == ["x", "y", "z"]
    assert rows.column("_VALUE_KIND").to_pylist() == [0, 0, 0]


def test_the_letter_of_a_row_kind_may_be_in_lower_case() -> None:
    assert rules().conform(batch(_row_kind=["+i", "-U", "-d"])).column("_VALUE_KIND").to_pylist() == [0, 1, 3]
    rows = rules(rowkind_field="op").conform(batch(op=["+i", "+u", "-D"]))
    assert rows.column("_VALUE_KIND").to_pylist() == [0, 2, 3]
    assert rows.column("op").to_pylist() == ["+i", "+u", "-D"]


def test_a_row_that_retracts_may_be_longer_than_its_column_because_other_writers_ignore_lengths() -> None:
    tags = ArrayType(VarCharType(length=2))
    fields = (*FIELDS, DataField(3, "name", VarCharType(length=3)), DataField(4, "tags", tags))
    longer = rules(TableSchema(0, fields, 4, primary_keys=("id",)))
    names, lists = ["abcdef", "abc", "x"], [["abc"], ["ab"], None]
    given = batch(_row_kind=["-D", "+I", "-U"], name=names, tags=lists)
    rows = longer.conform(given)
    assert (rows.column("name").to_pylist(), rows.column("tags").to_pylist()) == (names, lists)
    with pytest.raises(InvalidData, match=r"column 'name' is VARCHAR\(3\); the value of row 8 has length 4"):
        longer.conform(batch(_row_kind=["-D", "+U", "-U"], name=["abcdef", "abcd", "x"], tags=lists), first_row=7)
    with pytest.raises(InvalidData, match=r"column 'tags.element' is VARCHAR\(2\)"):
        longer.conform(batch(_row_kind=["+I", "-D", "-D"], name=["a", "b", "c"], tags=lists))


@pytest.mark.parametrize("kinds", [["+I", "I", "+U"], ["+I", None, "+U"]])
def test_an_unknown_row_kind_is_named_with_its_row(kinds: list[str | None]) -> None:
    with pytest.raises(InvalidData, match=rf"'_row_kind' holds {kinds[1]!r} in row 8; a row kind is one of \+I, -U"):
        rules().conform(batch(_row_kind=kinds), first_row=7)


def test_row_kinds_are_text() -> None:
    with pytest.raises(InvalidData, match="holds row kinds as text"):
        rules().conform(batch(_row_kind=[0, 1, 2]))


def test_an_append_table_takes_nothing_back() -> None:
    kinds = pa.array(["+I", "-D", "-U"])
    with pytest.raises(InvalidData, match=r"row 1 is -D \(2 such rows\)"):
        rules(APPEND).conform(batch(_row_kind=kinds))
    assert rules(APPEND).conform(batch(_row_kind=["+I", "+U", "+I"])).num_rows == 3


@pytest.mark.parametrize(
    ("merge", "kept"), [({"ignore_delete": True}, [1, 3]), ({"ignore_update_before": True}, [1, 2, 3])]
)
def test_ignored_kinds_are_dropped(merge: dict[str, bool], kept: list[int]) -> None:
    rows = rules(**merge).conform(batch(_row_kind=["+I", "-D", "+U"]))
    assert rows.column("id").to_pylist() == kept
    rows = rules(**merge).conform(batch(_row_kind=["+I", "-U", "+U"]))
    assert rows.column("id").to_pylist() == [1, 3]
