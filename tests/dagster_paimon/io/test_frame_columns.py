"""A frame is written if the table holds its values, although its types are not those of the table."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from dagster_paimon.io.arrow_writer import ArrowWriter
from dagster_paimon.io.commits import Committer
from dagster_paimon.io.evolution import SchemaEvolution
from dagster_paimon.io.writing import WriteMode, WriteSpec, Written, write_output
from table_format import Catalog
from table_format.errors import InvalidData, InvalidSchema
from tests.support.tables import memory_warehouse

NAME = "db.t"
BACKWARDS = pa.struct([("b", pa.string()), ("a", pa.uint16())])
FORWARDS = pa.struct([("a", pa.int64()), ("b", pa.string())])
FRAMES: dict[str, tuple[pa.DataType, pa.Array, Any]] = {
    "nulls": (pa.string(), pa.nulls(1), None),
    "nulls in a list": (pa.list_(pa.string()), pa.array([[None]], pa.list_(pa.null())), [None]),
    "nulls in a struct": (FORWARDS, pa.array([{"a": 1, "b": None}], pa.struct([("a", pa.int64()), ("b", pa.null())])),
                          {"a": 1, "b": None}),
    "nulls in a map": (pa.map_(pa.string(), pa.int64()), pa.array([[("k", None)]], pa.map_(pa.string(), pa.null())),
                       [("k", None)]),
    "an unsigned integer": (pa.int64(), pa.array([7], pa.uint32()), 7),
    "a small unsigned integer": (pa.int16(), pa.array([7], pa.uint8()), 7),
    "a large unsigned integer": (pa.decimal128(20, 0), pa.array([2**64 - 1], pa.uint64()), Decimal(2**64 - 1)),
    "narrower elements": (pa.list_(pa.int64()), pa.array([[1]], pa.list_(pa.int8())), [1]),
    "a fixed list": (pa.list_(pa.int64()), pa.array([[1, 2]], pa.list_(pa.int64(), 2)), [1, 2]),
    "a large list": (pa.list_(pa.string()), pa.array([["x"]], pa.large_list(pa.large_string())), ["x"]),
    "fields in another order": (FORWARDS, pa.array([{"b": "x", "a": 1}], BACKWARDS), {"a": 1, "b": "x"}),
    "a dictionary": (pa.string(), pa.array(["x"]).dictionary_encode(), "x"),
    "a dictionary of nulls": (pa.string(), pa.nulls(1).dictionary_encode(), None),
    "a half": (pa.float32(), pa.array([1.5], pa.float16()), 1.5),
    "seconds of a day": (pa.time32("ms"), pa.array([time(12, 30)], pa.time32("s")), time(12, 30)),
    "a date in milliseconds": (pa.date32(), pa.array([date(2026, 1, 2)], pa.date64()), date(2026, 1, 2)),
    "an extension type": (pa.string(), pa.array(["{}"], pa.json_()), "{}"),
}  # fmt: skip


APPENDED = WriteSpec.of(NAME, {}, default_mode=WriteMode.append)


def written(catalog: Catalog, frame: pa.Table, *, of_pandas: bool = False, spec: WriteSpec = APPENDED) -> Written:
    return write_output(
        catalog,
        spec,
        ArrowWriter(frame, of_pandas=of_pandas),
        Committer(user="dagster:run:step", properties={}),
        partitions=(),
        evolution=SchemaEvolution.error,
        create=True,
    )


@pytest.mark.parametrize(("column", "given", "value"), FRAMES.values(), ids=FRAMES.keys())
def test_a_frame_is_written_if_an_append_accepts_it(column: pa.DataType, given: pa.Array, value: object) -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(schema=pa.schema([("v", column)]))
    frame = pa.table({"v": given})
    table.append(frame)
    assert written(warehouse.catalog, frame).schema_changes == ()
    assert table.scan().to_arrow()["v"].to_pylist() == [value, value]


@pytest.mark.parametrize("name", [name for name in FRAMES if "nulls" not in name])
def test_a_new_table_holds_every_value_of_the_frame(name: str) -> None:
    warehouse = memory_warehouse()
    _, given, value = FRAMES[name]
    found = written(warehouse.catalog, pa.table({"v": given})).table.scan().to_arrow()["v"].to_pylist()
    assert found == [value]


@pytest.mark.parametrize("name", ["nulls in a list", "nulls in a struct", "nulls in a map"])
def test_the_error_names_a_new_column_whose_type_is_unknown(name: str) -> None:
    with pytest.raises(
        InvalidSchema, match=r"column 'v\.(element|b|value)': there are only nulls, so the type is unknown; cast"
    ):
        written(memory_warehouse().catalog, pa.table({"v": FRAMES[name][1]}))


@pytest.mark.parametrize(
    "given",
    [
        pa.array([{"a": 1}], pa.struct([("a", pa.int64())])),
        pa.array([{"a": 1, "b": "x", "c": 1}]),
        pa.array([["x"]]),
        pa.array([[]], pa.list_(pa.null())),
    ],
    ids=str,
)
def test_a_struct_of_other_fields_is_refused(given: pa.Array) -> None:
    warehouse = memory_warehouse()
    warehouse.table(schema=pa.schema([("v", FORWARDS)]))
    with pytest.raises((InvalidData, InvalidSchema), match="v"):
        written(warehouse.catalog, pa.table({"v": given}))


def test_nulls_in_a_new_column_are_written_without_the_column_and_reported() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(schema=pa.schema([("v", pa.string())]))
    done = written(warehouse.catalog, pa.table({"v": ["x"], "note": pa.nulls(1)}))
    assert done.remark == "db.t: not added, because the frame holds only nulls in them: note"
    assert table.scan().to_arrow().to_pylist() == [{"v": "x"}]


def test_the_types_of_a_frame_without_rows_may_have_no_meaning() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(schema=pa.schema([("v", pa.string())]))
    assert written(warehouse.catalog, pa.table({"v": pa.array([], pa.float64())}), of_pandas=True).schema_changes == ()
    assert table.scan().to_arrow().num_rows == 0


def test_row_kinds_of_only_nulls_are_refused_unless_there_are_no_rows() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(schema=pa.schema([pa.field("v", pa.string(), nullable=False)]), primary_keys=["v"])
    spec = WriteSpec.of(NAME, {}, default_mode=WriteMode.upsert)
    written(warehouse.catalog, pa.table({"v": [], "_row_kind": []}), spec=spec)
    with pytest.raises(InvalidData, match="_row_kind"):
        written(warehouse.catalog, pa.table({"v": ["x"], "_row_kind": pa.nulls(1)}), spec=spec)
    assert table.scan().to_arrow().num_rows == 0


def test_pandas_integers_with_a_missing_value_do_not_change_the_column() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(schema=pa.schema([("v", pa.int64())]))
    fraction = pa.Table.from_pandas(pd.DataFrame({"v": [0.5, None]}))
    with pytest.raises(InvalidData, match="column 'v' is BIGINT in the table and the wider DOUBLE in the frame"):
        written(warehouse.catalog, fraction, of_pandas=True)
    widened = pa.Table.from_pandas(pd.DataFrame({"v": [2, 3, None]}))
    assert written(warehouse.catalog, widened, of_pandas=True).schema_changes == ()
    assert table.scan().to_arrow()["v"].to_pylist() == [2, 3, None]
