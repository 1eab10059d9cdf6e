"""A scan with a limit has the rows that a sorted full scan begins with, and reads as few files as it can."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from table_format import Table
from table_format.errors import ColumnNotFound, InvalidInputError, UnsupportedFeature
from table_format.model.schema_change import AlterColumnType, RenameColumn, SetOption
from table_format.model.types import BigIntType
from tests.support.matrix import tries
from tests.support.reachable import files_below
from tests.support.tables import memory_warehouse

COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("part", pa.string()),
        ("flag", pa.bool_()),
        ("tiny", pa.int8()),
        ("n", pa.int64()),
        ("text", pa.string()),
        ("bytes", pa.binary()),
        ("single", pa.float32()),
        ("double", pa.float64()),
        ("price", pa.decimal128(18, 2)),
        ("wide", pa.decimal128(38, 0)),
        ("day", pa.date32()),
        ("at", pa.time32("ms")),
        ("seen", pa.timestamp("us")),
        ("fine", pa.timestamp("ns")),
    ]
)
RANGES = "flag,tiny,n,text,single,double,price,day,at,seen"
INDEXES: Sequence[Mapping[str, str]] = (
    {},
    {"file-index.range-bitmap.columns": RANGES},
    {"file-index.bsi.columns": "tiny,n,price,wide,day,at,seen,fine", "file-index.bitmap.columns": "text,flag"},
    {"file-index.range-bitmap.columns": RANGES, "file-index.in-manifest-threshold": "0 b"},
)
MARKS = {"deletion-vectors.enabled": "true"}
KINDS: Mapping[str, tuple[Sequence[str], Mapping[str, str]]] = {
    "append": ((), {}),
    "append with deletion vectors": ((), MARKS),
    "merge on read": (("id",), {}),
    "merge on write": (("id",), MARKS),
    "partial update": (("id",), {"merge-engine": "partial-update"}),
    "aggregation": (("id",), {"merge-engine": "aggregation", "fields.n.aggregate-function": "max"}),
}
FLOATS = st.sampled_from([None, 0.0, -0.0, 1.5, -2.5, math.inf, -math.inf, math.nan])
EPOCH = datetime(1970, 1, 1)
MICROS = st.none() | st.integers(-(10**6), 10**6).map(lambda n: EPOCH + timedelta(milliseconds=n))
ROWS = st.fixed_dictionaries(
    {
        "id": st.integers(0, 20),
        "part": st.sampled_from(["a", "b"]),
        "flag": st.sampled_from([None, True, False]),
        "tiny": st.none() | st.integers(-3, 3),
        "n": st.none() | st.integers(1 - 2**63, 2**63 - 1) | st.integers(-9, 9),
        "text": st.sampled_from([None, "", "a", "ab", "grün", "\U0001f600", "￿", "a" * 20, "a" * 19 + "b"]),
        "bytes": st.none() | st.binary(max_size=3),
        "single": FLOATS,
        "double": FLOATS,
        "price": st.none() | st.integers(1 - 10**18, 10**18 - 1).map(lambda n: Decimal(n).scaleb(-2)),
        "wide": st.none() | st.integers(-9, 9).map(Decimal) | st.integers(-(10**37), 10**37).map(Decimal),
        "day": st.none() | st.dates(date(1950, 1, 1), date(2050, 1, 1)),
        "at": st.none() | st.integers(0, 86_399).map(lambda s: time(s // 3600, s // 60 % 60, s % 60)),
        "seen": MICROS,
        "fine": MICROS,
    }
)
FILTERS = st.sampled_from(
    [None, None, "n > 0", "text = 'a' OR flag", "part = 'a'", "part = 'b' AND tiny < 2", "price IS NOT NULL", "id > 5"]
)
ORDERS = st.lists(
    st.tuples(st.sampled_from(COLUMNS.names), st.booleans(), st.booleans()),
    min_size=1,
    max_size=2,
    unique_by=lambda each: each[0],
)


def data(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist([{name: row.get(name) for name in COLUMNS.names} for row in rows], COLUMNS)


def place(value: Any, descending: bool, nulls_first: bool) -> tuple[int, Any]:
    """Where a value stands, by plain Python."""
    if value is None:
        return (0 if nulls_first else 5), 0
    if isinstance(value, float) and math.isnan(value):
        return (1 if descending else 4), 0
    value = value.encode() if isinstance(value, str) else value
    return 2, Backwards(value) if descending else value


class Backwards:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Backwards) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Backwards) and bool(other.value == self.value)


def places(rows: Sequence[Mapping[str, Any]], order: Sequence[tuple[str, bool, bool]]) -> list[Any]:
    return [[place(row[column], descending, nulls) for column, descending, nulls in order] for row in rows]


def order_text(order: Sequence[tuple[str, bool, bool]]) -> str:
    return ", ".join(
        f"`{column}` {'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"
        for column, descending, nulls_first in order
    )


@given(
    kind=st.sampled_from(sorted(KINDS)),
    batches=st.lists(st.lists(ROWS, min_size=1, max_size=12), min_size=1, max_size=5),
    deleted=st.none() | st.integers(0, 20),
    is_compacted=st.booleans(),
    is_partitioned=st.booleans(),
    indexes=st.sampled_from(INDEXES),
    statistics=st.sampled_from(["truncate(16)", "none", "full"]),
    file_format=st.sampled_from(["parquet", "orc"]),
    filter=FILTERS,
    order=ORDERS,
    limit=st.integers(0, 6) | st.integers(0, 60),
)
@settings(max_examples=tries(24, many=80), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_first_rows_are_those_of_a_sorted_full_scan(
    kind: str,
    batches: list[list[dict[str, Any]]],
    deleted: int | None,
    is_compacted: bool,
    is_partitioned: bool,
    indexes: Mapping[str, str],
    statistics: str,
    file_format: str,
    filter: str | None,
    order: list[tuple[str, bool, bool]],
    limit: int,
) -> None:
    keys, more = KINDS[kind]
    table = memory_warehouse().table(
        schema=COLUMNS,
        primary_keys=(*keys, *(("part",) if is_partitioned else ())) if keys else (),
        partition_keys=("part",) if is_partitioned else (),
        options={
            **indexes,
            **more,
            **({"bucket": "1"} if keys else {}),
            "file.format": file_format,
            "metadata.stats-mode": statistics,
        },
    )
    for batch in batches:
        table.append(data(batch))
    if deleted is not None and kind not in ("partial update", "aggregation"):
        table.delete(f"id = {deleted}")
    if is_compacted:
        table.compact(full=True)
    everything = table.scan(filter=filter, options={"file-index.read.enabled": "false"}).to_arrow().to_pylist()

    scan = table.scan(filter=filter, order_by=order_text(order), limit=limit)
    found = scan.to_arrow().to_pylist()
    assert places(found, order) == sorted(places(everything, order))[:limit]
    assert not Counter(map(repr, found)) - Counter(map(repr, everything))
    scan.plan().explain(files=True, row_groups=True)

    some = table.scan(filter=filter, limit=limit).to_arrow().to_pylist()
    assert len(some) == min(limit, len(everything))
    assert not Counter(map(repr, some)) - Counter(map(repr, everything))


# --- what is read ----------------------------------------------------------------------------------------------------

SHOP = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64()), ("name", pa.string())])


def shop(options: Mapping[str, str] | None = None, keys: Sequence[str] = ()) -> Table:
    """Ten files of 100 rows each; the numbers of a file are spread over all, its ids are its own."""
    bucket = {"bucket": "1"} if keys else {}
    table = memory_warehouse().table(schema=SHOP, primary_keys=keys, options={**bucket, **(options or {})})
    for file in range(10):
        ids = range(100 * file, 100 * file + 100)
        table.append(
            pa.table(
                {"id": ids, "n": [7919 * i % 1000 for i in ids], "name": [f"n{7919 * i % 1000:03}" for i in ids]},
                schema=SHOP,
            )
        )
    return table


def numbers(table: Table, **arguments: Any) -> list[int]:
    found: list[int] = table.scan(columns=["n"], **arguments).to_arrow()["n"].to_pylist()
    return found


def files(table: Table, **arguments: Any) -> int:
    return table.scan(**arguments).plan().file_count


@pytest.mark.parametrize("index", ["range-bitmap", "bsi"])
@pytest.mark.parametrize("place", [{}, {"file-index.in-manifest-threshold": "0 b"}])
def test_an_index_chooses_the_rows(index: str, place: Mapping[str, str]) -> None:
    table = shop({f"file-index.{index}.columns": "n", **place})
    assert numbers(table, order_by="n DESC", limit=5) == [999, 998, 997, 996, 995]
    plan = table.scan(order_by="n DESC", limit=5).plan()
    selected = [rows for split in plan for rows in split.selections if rows is not None]
    assert sum(map(len, selected)) == 5
    assert "limit      ORDER BY n DESC NULLS LAST LIMIT 5, bound n >= 995" in plan.explain()
    assert plan.file_count <= 5
    assert "by the index of the order, kept" in plan.explain()
    notes = [note for note in plan.file_notes() if not note.is_read]
    assert {note.reason for note in notes} <= {
        "left out by the index of the order",
        "left out by statistics of the order",
    }


def test_statistics_leave_out_files_without_an_index() -> None:
    table = shop()
    assert files(table, order_by="id DESC", limit=100) == 1
    assert files(table, order_by="id DESC", limit=101) == 2
    assert files(table, order_by="n DESC", limit=5) == 10
    assert "9 by statistics of the order" in table.scan(order_by="id", limit=3).plan().explain()


def test_a_row_that_replaces_another_is_merged_before_rows_are_put_in_order() -> None:
    table = shop({"file-index.range-bitmap.columns": "n"}, keys=("id",))
    table.compact(full=True)
    table.append(pa.table({"id": [5], "n": [5000], "name": ["x"]}, schema=SHOP))
    assert numbers(table, order_by="n DESC", limit=2) == [5000, 999]
    table.append(pa.table({"id": [5], "n": [-1], "name": ["x"]}, schema=SHOP))
    assert numbers(table, order_by="n DESC", limit=2) == [999, 998]
    assert numbers(table, order_by="n", limit=2) == [-1, 0]


def test_merged_splits_behind_the_last_row_are_left_out() -> None:
    small = {"source.split.target-size": "1 b", "source.split.open-file-cost": "1 b"}
    table = shop({**small, "file-index.range-bitmap.columns": "n"}, keys=("id",))
    table.compact(full=True)
    before = table.scan().plan()
    table.append(pa.table({"id": [-2], "n": [1], "name": ["a"]}, schema=SHOP))
    table.append(pa.table({"id": [-2], "n": [2], "name": ["b"]}, schema=SHOP))
    plan = table.scan(order_by="n DESC", limit=3).plan()
    assert len(table.scan().plan()) == len(before) + 1
    assert [split.raw_convertible for split in plan] == [True]
    assert numbers(table, order_by="n DESC", limit=3) == [999, 998, 997]
    assert numbers(table, order_by="id", limit=1) == [2]


def test_rows_of_deletion_vectors_are_not_among_the_first() -> None:
    table = shop({**MARKS, "file-index.range-bitmap.columns": "n"})
    table.delete("n > 990")
    assert numbers(table, order_by="n DESC", limit=3) == [990, 989, 988]
    assert files(table, order_by="n DESC", limit=3) <= 3
    assert len(numbers(table, limit=995)) == 991


def test_a_filter_that_an_index_answers_exactly_is_part_of_the_choice() -> None:
    table = shop({"file-index.range-bitmap.columns": "n,name"})
    arguments = {"filter": "name < 'n500'", "order_by": "n DESC", "limit": 4}
    assert numbers(table, **arguments) == [499, 498, 497, 496]
    assert files(table, **arguments) <= 4
    assert files(table, filter="name < 'n500'", limit=40) == 1


def test_a_filter_that_no_index_answers_is_read_in_all_files() -> None:
    table = shop({"file-index.range-bitmap.columns": "n"})
    assert files(table, filter="name LIKE '%7'", limit=3) == 10
    assert numbers(table, filter="name LIKE '%7'", order_by="n", limit=3) == [7, 17, 27]


def test_a_limit_alone_takes_the_first_files_that_have_enough_rows() -> None:
    table = shop()
    assert [files(table, limit=n) for n in (0, 1, 100, 101, 999, 5000)] == [0, 1, 1, 2, 10, 10]
    assert len(numbers(table, limit=101)) == 101
    assert "9 by enough rows in other files" in table.scan(limit=7).plan().explain()


def test_rows_with_equal_values_are_taken_from_one_file() -> None:
    table = memory_warehouse().table(schema=SHOP, options={"file-index.range-bitmap.columns": "n"})
    for file in range(5):
        table.append(pa.table({"id": range(file, file + 50), "n": [1] * 50, "name": ["x"] * 50}, schema=SHOP))
    assert files(table, order_by="n", limit=5) == 1
    # Of a second column the index knows nothing: all rows with the last value may be among the first.
    assert files(table, order_by="n, id DESC", limit=5) == 5
    assert table.scan(order_by="n, id DESC", limit=2).to_arrow()["id"].to_pylist() == [53, 52]


def test_a_renamed_and_widened_column_keeps_its_statistics_and_indexes() -> None:
    warehouse = memory_warehouse()
    schema = pa.schema([("a", pa.int32())])
    table = warehouse.table(schema=schema, options={"file-index.range-bitmap.columns": "a"})
    table.append(pa.table({"a": list(range(100))}, schema=schema))
    table = warehouse.catalog.alter_table(
        str(table.identifier), [RenameColumn("a", "b"), AlterColumnType("b", BigIntType())]
    )
    table.append(pa.table({"b": [2**40]}))
    assert table.scan(order_by="b DESC", limit=3).to_arrow()["b"].to_pylist() == [2**40, 99, 98]
    assert table.scan(order_by="b", limit=3).plan().file_count == 1


def test_a_damaged_index_is_not_used(caplog: pytest.LogCaptureFixture) -> None:
    table = shop({"file-index.range-bitmap.columns": "n", "file-index.in-manifest-threshold": "0 b"})
    io = table.store.io
    damaged = [path for path in files_below(io, table.store.paths.root) if path.endswith(".index")]
    for path in damaged:
        content = bytearray(io.read(path))
        content[len(content) // 2] ^= 0xFF
        io.delete(path)
        io.create(path, bytes(content))
    assert numbers(table, order_by="n DESC", limit=5) == [999, 998, 997, 996, 995]
    assert any(path.rsplit("/", 1)[1] in caplog.text for path in damaged)


def test_indexes_are_not_read_where_they_are_turned_off() -> None:
    warehouse_table = shop({"file-index.range-bitmap.columns": "n"})
    off = {"file-index.read.enabled": "false"}
    assert files(warehouse_table, order_by="n DESC", limit=5, options=off) == 10
    assert numbers(warehouse_table, order_by="n DESC", limit=2, options=off) == [999, 998]


def test_columns_of_the_order_need_not_be_shown() -> None:
    found = shop().scan(["name"], order_by="id DESC", limit=1)
    assert found.schema.names == ["name"]
    assert found.to_arrow().to_pylist() == [{"name": f"n{7919 * 999 % 1000:03}"}]
    assert found.to_reader().read_all().num_rows == 1


def test_a_limit_holds_for_changes_too() -> None:
    table = shop()
    changes = {"incremental-between": "1,4"}
    assert numbers(table, order_by="id DESC", limit=1, options=changes) == [7919 * 399 % 1000]
    assert len(numbers(table, limit=7, options=changes)) == 7


def test_partitions_of_the_fallback_branch_are_among_the_rows() -> None:
    warehouse = memory_warehouse()
    schema = pa.schema([("p", pa.string()), ("n", pa.int64())])
    table = warehouse.table(schema=schema, partition_keys=("p",), options={"file-index.range-bitmap.columns": "n"})
    table.append(pa.table({"p": ["a"] * 10, "n": range(10)}, schema=schema))
    table.create_branch("other")
    branch = warehouse.catalog.load_table(f"{table.identifier}$branch_other")
    assert isinstance(branch, Table)
    branch.append(pa.table({"p": ["b"] * 10, "n": range(100, 110)}, schema=schema))
    table = warehouse.catalog.alter_table(str(table.identifier), [SetOption("scan.fallback-branch", "other")])
    assert table.scan(order_by="n DESC", limit=2).to_arrow()["n"].to_pylist() == [109, 108]
    assert table.scan(order_by="n", limit=2).to_arrow()["n"].to_pylist() == [0, 1]
    plan = table.scan(order_by="n DESC", limit=2).plan()
    assert (plan.file_count, plan.explain().count("limit      ")) == (1, 2)


# --- arguments -------------------------------------------------------------------------------------------------------


def test_odd_orders_and_limits_are_refused_by_name() -> None:
    table = shop()
    with pytest.raises(InvalidInputError, match="order_by needs limit"):
        table.scan(order_by="n")
    with pytest.raises(InvalidInputError, match="order_by: expected '<column> "):
        table.scan(order_by="n DOWN", limit=1)
    with pytest.raises(InvalidInputError, match="order_by: expected '<column> "):
        table.scan(order_by="n,", limit=1)
    with pytest.raises(InvalidInputError, match="order_by: expected at least one column"):
        table.scan(order_by=[], limit=1)
    with pytest.raises(InvalidInputError, match="limit"):
        table.scan(limit=-1)
    with pytest.raises(ColumnNotFound, match="'m' of order_by"):
        table.scan(order_by="m", limit=1).plan()
    with pytest.raises(UnsupportedFeature, match="an aggregate of a scan with limit"):
        table.scan(limit=1).count()


def test_a_nested_column_has_no_order() -> None:
    table = memory_warehouse().table(schema=pa.schema([("tags", pa.list_(pa.string()))]))
    with pytest.raises(UnsupportedFeature, match="order_by of column 'tags' of type ARRAY"):
        table.scan(order_by="tags", limit=1).plan()


def test_names_with_spaces_are_given_in_backticks() -> None:
    schema = pa.schema([("a b", pa.int64()), ("c,d", pa.int64())])
    table = memory_warehouse().table(schema=schema)
    table.append(pa.table({"a b": [1, 2, 2], "c,d": [5, 6, 7]}, schema=schema))
    assert table.scan(order_by="`a b` desc, `c,d` desc nulls first", limit=1).to_arrow()["c,d"].to_pylist() == [7]
    assert table.scan(order_by=["`a b` desc", '"c,d"'], limit=1).to_arrow()["c,d"].to_pylist() == [6]
