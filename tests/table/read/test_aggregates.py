"""Aggregates of a scan are those of its rows, and files whose indexes hold them are not opened."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from table_format import Table
from table_format.errors import ColumnNotFound, InvalidInputError, MissingFile, UnsupportedFeature
from table_format.io.memory import MemoryFileIO
from table_format.model.schema_change import AlterColumnType, RenameColumn, SetOption
from table_format.model.types import BigIntType
from table_format.table.read.aggregates import Aggregates
from tests.support.reachable import files_below
from tests.support.tables import Warehouse, keyed, memory_warehouse, warehouse_on

COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("part", pa.string()),
        ("color", pa.string()),
        ("size", pa.float64()),
        ("price", pa.decimal128(18, 2)),
        ("wide", pa.decimal128(38, 0)),
        ("n", pa.int64()),
        ("day", pa.date32()),
        ("at", pa.time32("ms")),
        ("seen", pa.timestamp("us")),
        ("zoned", pa.timestamp("ms", tz="UTC")),
        ("fine", pa.timestamp("ns")),
    ]
)
NUMBERS = ("id", "price", "wide", "n", "day", "at", "seen", "zoned", "fine")
SUMMED = ("id", "price", "wide", "n")
INDEXED = {
    "file-index.bitmap.columns": "color,size,part",
    "file-index.bsi.columns": "id,price,wide,n,day,at,seen,zoned,fine",
    "metadata.stats-mode": "none",
}
MARKS = {"deletion-vectors.enabled": "true"}
KINDS: Mapping[str, tuple[Sequence[str], Mapping[str, str]]] = {
    "append": ((), {}),
    "append with deletion vectors": ((), MARKS),
    "merge on read": (("id",), {}),
    "merge on write": (("id",), MARKS),
}
EVERYTHING = {
    "rows": ("count", "*"),
    **{f"{function} {column}": (function, column) for column in NUMBERS for function in ("count", "min", "max")},
    **{f"sum {column}": ("sum", column) for column in SUMMED},
    "count color": ("count", "color"),
}


def data(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist([{name: row.get(name) for name in COLUMNS.names} for row in rows], COLUMNS)


def table_of(kind: str, options: Mapping[str, str] | None = None, partitioned: bool = False) -> tuple[Warehouse, Table]:
    keys, more = KINDS[kind]
    warehouse = memory_warehouse()
    partition_keys = ("part",) if partitioned else ()
    keys = (*keys, *partition_keys) if keys else keys
    bucket = {"bucket": "1"} if keys else {}
    given_options = {**INDEXED, **bucket, **more, **(options or {})}
    return warehouse, warehouse.table(
        schema=COLUMNS, primary_keys=keys, partition_keys=partition_keys, options=given_options
    )


def expected(rows: Sequence[Mapping[str, Any]], group_by: str | None) -> list[dict[str, Any]]:
    """The same by plain Python, of rows that were read."""

    def one(members: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, (function, column) in EVERYTHING.items():
            values = [row[column] for row in members if row[column] is not None] if column != "*" else []
            if function == "count":
                found[name] = len(members) if column == "*" else len(values)
            elif not values:
                found[name] = None
            elif function == "sum":
                total = sum(int(value.scaleb(2)) if column == "price" else int(value) for value in values)
                found[name] = {"price": Decimal(total).scaleb(-2), "wide": Decimal(total)}.get(column, total)
            else:
                found[name] = (min if function == "min" else max)(values)
        return found

    if group_by is None:
        return [one(rows)]
    groups: dict[Any, list[Mapping[str, Any]]] = {}
    for row in rows:
        value = row[group_by]
        key = "nan" if isinstance(value, float) and math.isnan(value) else value
        groups.setdefault(key, []).append(row)
    return [{group_by: math.nan if key == "nan" else key, **one(members)} for key, members in groups.items()]


def comparable(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return sorted(repr([(name, row[name]) for name in sorted(row)]).replace("-0.0)", "0.0)") for row in rows)


def files_opened(found: Aggregates) -> tuple[int, int, int]:
    return found.files_by_row_count, found.files_by_index, found.files_read


def without_data_files(table: Table) -> None:
    """Delete all data files: opening one fails from then on."""
    for path in list(files_below(table.store.io, table.store.paths.root)):
        if path.rsplit("/", 1)[1].startswith("data-") and not path.endswith(".index"):
            table.store.io.delete(path)


# --- any table, any rows ---------------------------------------------------------------------------------------------

EPOCH = datetime(1970, 1, 1)
# Before 1970 whole milliseconds, since ORC files have no others there.
TICKS = st.integers(0, 10**15) | st.integers(-(10**12), -1).map(lambda n: 1000 * n)
MICROS = TICKS.map(lambda n: EPOCH + timedelta(microseconds=n))
MILLIS = st.integers(-(10**12), 10**12).map(lambda n: EPOCH.replace(tzinfo=UTC) + timedelta(milliseconds=n))
ROWS = st.fixed_dictionaries(
    {
        "id": st.integers(0, 12),
        "part": st.sampled_from(["a", "b"]),
        "color": st.sampled_from([None, "", "red", "blue", "grün"]),
        "size": st.sampled_from([None, 0.0, -0.0, 1.5, -2.5, math.inf, math.nan]),
        "price": st.none() | st.integers(1 - 10**18, 10**18 - 1).map(lambda n: Decimal(n).scaleb(-2)),
        "wide": st.none() | st.integers(-9, 9).map(Decimal) | st.integers(-(10**37), 10**37).map(Decimal),
        "n": st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9),
        "day": st.none() | st.dates(date(1600, 1, 1)),
        "at": st.none() | st.integers(0, 86_399).map(lambda s: time(s // 3600, s // 60 % 60, s % 60)),
        "seen": st.none() | MICROS,
        "zoned": st.none() | MILLIS,
        "fine": st.none() | MICROS,
    }
)
FILTERS = st.sampled_from(
    [
        None,
        "color = 'red'",
        "color <> 'red'",
        "color IS NULL",
        "size = 0",
        "size > 1 AND n <= 3",
        "NOT (color IN ('red', 'blue')) OR price < 0",
        "day >= DATE '1970-01-01' AND seen < TIMESTAMP '1970-01-01 00:00:00'",
        "fine > TIMESTAMP '1970-01-01 00:00:00'",
        "part = 'a'",
        "part = 'a' AND color = 'blue'",
        "part = 'b' OR n > 0",
        "id > 100",
        "n = 1 AND color LIKE 'r%'",
    ]
)


@given(
    kind=st.sampled_from(sorted(KINDS)),
    batches=st.lists(st.lists(ROWS, min_size=1, max_size=8), min_size=1, max_size=4),
    deleted=st.none() | st.integers(0, 12),
    is_compacted=st.booleans(),
    is_partitioned=st.booleans(),
    is_beside=st.booleans(),
    file_format=st.sampled_from(["parquet", "orc"]),
    filter=FILTERS,
    group_by=st.sampled_from([None, "color", "size", "part", "n"]),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_aggregates_are_those_of_a_full_scan(
    kind: str,
    batches: list[list[dict[str, Any]]],
    deleted: int | None,
    is_compacted: bool,
    is_partitioned: bool,
    is_beside: bool,
    file_format: str,
    filter: str | None,
    group_by: str | None,
) -> None:
    options = {"file.format": file_format, **({"file-index.in-manifest-threshold": "0 b"} if is_beside else {})}
    _, table = table_of(kind, options, is_partitioned)
    for batch in batches:
        table.append(data(batch))
    if deleted is not None:
        table.delete(f"id = {deleted}")
    if is_compacted:
        table.compact(full=True)
    rows = table.scan(filter=filter, options={"file-index.read.enabled": "false"}).to_arrow().to_pylist()
    found = table.scan(filter=filter).aggregate(EVERYTHING, group_by=group_by)
    assert comparable(found.rows) == comparable(expected(rows, group_by))
    assert table.scan(filter=filter).count() == len(rows)
    counts = table.scan(filter=filter).aggregate({"k": ("count", "*")}, group_by="color")
    assert {row["color"]: row["k"] for row in counts.rows} == {
        color: sum(row["color"] == color for row in rows) for color in {row["color"] for row in rows}
    }


# --- what is not opened ----------------------------------------------------------------------------------------------


COLORS = ("red", "blue", None, "red")


def shop(kind: str = "append", options: Mapping[str, str] | None = None) -> Table:
    """Three files of four rows each; ids 0 to 11."""
    _, table = table_of(kind, options)
    for n in range(3):
        table.append(
            data(
                [
                    {
                        "id": 4 * n + k,
                        "color": ("red", "blue", None, "red")[k],
                        "price": Decimal(n * 10 + k),
                        "n": 2**62,
                    }
                    for k in range(4)
                ]
            )
        )
    return table


def test_rows_are_counted_by_the_metadata_alone() -> None:
    table = shop()
    without_data_files(table)
    found = table.scan().aggregate({"n": ("count", "*")})
    assert (found.rows, files_opened(found)) == (({"n": 12},), (3, 0, 0))
    assert table.scan().count() == 12
    assert "n = count(*): 3 files by recorded row counts, 0 by their indexes, 0 read" in found.explain()


def test_aggregates_of_partition_columns_come_from_the_metadata_alone() -> None:
    table = memory_warehouse().table(primary_keys=["id", "dt"], partition_keys=["dt"], options=MARKS)
    for dt in ("b", "a", "c"):
        table.append(keyed([(k, dt, k) for k in range(5)]))
    table.delete("id = 2 AND dt <> 'c' OR dt = 'b' AND v > 2")
    table.compact(full=True)
    wanted = {"n": ("count", "*"), "days": ("count", "dt")}
    selected = [("dt <> 'c'", None), ("dt <> 'c'", "dt"), ("dt = 'z'", "dt"), (None, "dt")]
    read = [table.scan(filter=where).to_arrow()["dt"].to_pylist() for where, _ in selected]
    without_data_files(table)
    for (where, group_by), days in zip(selected, read, strict=True):
        found = table.scan(filter=where).aggregate(wanted, group_by=group_by)
        counts = Counter(days) if group_by else {None: len(days)}
        expected = [{"dt": dt, "n": n, "days": n} if group_by else {"n": n, "days": n} for dt, n in counts.items()]
        assert sorted(found.rows, key=str) == sorted(expected, key=str)
        assert found.files_read == 0


def test_numbers_that_are_partition_columns_are_added_up_without_reading() -> None:
    warehouse = memory_warehouse()
    rows = pa.table(
        {
            "p": pa.array([7, 7, None, -3, 7], pa.int32()),
            "d": pa.array([Decimal("1.50")] * 5, pa.decimal128(9, 2)),
            "v": list("abcde"),
        }
    )
    table = warehouse.table("n", schema=rows.schema, partition_keys=["p", "d"])
    table.append(rows)
    without_data_files(table)
    wanted = {"sum": ("sum", "p"), "low": ("min", "p"), "high": ("max", "d"), "n": ("count", "p"), "d": ("sum", "d")}
    found = table.scan(filter="p IS NULL OR p > 0").aggregate(wanted)
    assert found.rows == ({"sum": 21, "low": 7, "high": Decimal("1.50"), "n": 3, "d": Decimal("6.00")},)
    with pytest.raises(MissingFile):
        table.scan().aggregate({"x": ("count", "v")}, group_by="p")


@pytest.mark.parametrize("place", [{}, {"file-index.in-manifest-threshold": "0 b"}])
@pytest.mark.parametrize("kind", ["append", "merge on read", "merge on write"])
def test_sums_and_groups_come_from_the_indexes_alone(kind: str, place: Mapping[str, str]) -> None:
    table = shop(kind, place)
    if kind != "append":
        table.compact(full=True)
    files = len(list(table.scan().plan()[0].files))
    without_data_files(table)
    found = table.scan(filter="id > 0 AND (color = 'blue' OR color IS NULL)").aggregate(
        {"total": ("sum", "price"), "rows": ("count", "*"), "n": ("sum", "n"), "low": ("min", "price")},
        group_by="color",
    )
    assert found.rows == (
        {"color": "blue", "total": Decimal("33.00"), "rows": 3, "n": 3 * 2**62, "low": Decimal("1.00")},
        {"color": None, "total": Decimal("36.00"), "rows": 3, "n": 3 * 2**62, "low": Decimal("2.00")},
    )
    assert files_opened(found) == (0, files, 0)


def test_deleted_rows_are_taken_out_by_their_positions() -> None:
    table = shop("append with deletion vectors")
    table.delete("id IN (0, 5)")
    without_data_files(table)
    assert table.scan().count() == 10
    found = table.scan(filter="color IS NOT NULL").aggregate({"low": ("min", "id"), "rows": ("count", "*")})
    assert (found.rows, files_opened(found)) == (({"low": 1, "rows": 7},), (0, 3, 0))


def test_rows_that_have_to_be_merged_are_read() -> None:
    table = shop("merge on read")
    table.append(data([{"id": 0, "color": "grey", "price": Decimal(1)}]))
    found = table.scan().aggregate({"rows": ("count", "*"), "total": ("sum", "price")}, group_by="color")
    assert [row["rows"] for row in found.rows] == [3, 1, 5, 3]
    assert found.files_read > 0
    without_data_files(table)
    with pytest.raises(MissingFile):
        table.scan().count()


def test_only_files_without_the_index_are_read() -> None:
    warehouse, table = table_of("append", {"file-index.bsi.columns": "id"})
    table.append(data([{"id": 1, "n": 5}]))
    table = warehouse.catalog.alter_table(str(table.identifier), [SetOption("file-index.bsi.columns", "n")])
    table.append(data([{"id": 2, "n": 7}]))
    found = table.scan().aggregate({"total": ("sum", "n")})
    assert (found.rows, files_opened(found)) == (({"total": 12},), (0, 1, 1))


def test_a_renamed_and_widened_column_keeps_its_index() -> None:
    warehouse = memory_warehouse()
    schema = pa.schema([("a", pa.int32()), ("b", pa.int32())])
    table = warehouse.table(schema=schema, options={"file-index.bsi.columns": "a", "file-index.bitmap.columns": "b"})
    table.append(pa.table({"a": [1, None, 3], "b": [1, 1, 2]}, schema=schema))
    changes = [RenameColumn("a", "c"), AlterColumnType("c", BigIntType()), AlterColumnType("b", BigIntType())]
    table = warehouse.catalog.alter_table(str(table.identifier), changes)
    table.append(pa.table({"c": [2**40], "b": [2**41]}))
    without_data_files(table)
    found = table.scan().aggregate({"total": ("sum", "c"), "high": ("max", "c")}, group_by="b")
    assert [tuple(row.values()) for row in found.rows] == [(1, 1, 1), (2, 3, 3), (2**41, 2**40, 2**40)]
    assert files_opened(found) == (0, 2, 0)


def test_a_damaged_index_is_not_used(caplog: pytest.LogCaptureFixture) -> None:
    table = shop(options={"file-index.in-manifest-threshold": "0 b"})
    io = table.store.io
    damaged = next(path for path in files_below(io, table.store.paths.root) if path.endswith(".index"))
    content = bytearray(io.read(damaged))
    content[len(content) // 2] ^= 0xFF
    io.delete(damaged)
    io.create(damaged, bytes(content))
    found = table.scan().aggregate({"total": ("sum", "price")})
    assert (found.rows, files_opened(found)) == (({"total": Decimal("138.00")},), (0, 2, 1))
    assert damaged.rsplit("/", 1)[1] in caplog.text


def test_timestamps_finer_than_their_keys_and_old_ones_in_orc_are_read() -> None:
    fine = shop()
    assert files_opened(fine.scan().aggregate({"last": ("max", "fine")})) == (0, 0, 3)
    for year, read in ((1500, 1), (1700, 0)):
        _, table = table_of("append", {"file.format": "orc"})
        table.append(data([{"id": 1, "seen": datetime(year, 1, 1)}]))
        found = table.scan().aggregate({"first": ("min", "seen")})
        assert files_opened(found) == (0, 1 - read, read)
        assert found.rows[0]["first"] == table.scan(["seen"]).to_arrow()["seen"][0].as_py()


def test_an_empty_table_has_no_sum_and_no_groups() -> None:
    _, table = table_of("append")
    wanted = {"n": ("count", "*"), "total": ("sum", "n")}
    assert table.scan().aggregate(wanted).rows == ({"n": 0, "total": None},)
    assert table.scan().aggregate(wanted, group_by="color").rows == ()


@pytest.mark.parametrize(
    ("wanted", "group_by", "error", "message"),
    [
        ({}, None, InvalidInputError, "expected .function, column. by name"),
        ({"a": ("avg", "n")}, None, InvalidInputError, "expected one of count, sum, min, max, found 'avg'"),
        ({"a": ("sum", "*")}, None, InvalidInputError, "can be counted only"),
        ({"a": "sum"}, None, InvalidInputError, "expected .function, column., found str 'sum'"),
        ({"a": ("sum", "x")}, None, ColumnNotFound, "column 'x' does not exist"),
        ({"a": ("count", "*")}, "x", ColumnNotFound, "column 'x' does not exist"),
        ({"color": ("count", "*")}, "color", InvalidInputError, "'color'"),
        ({"a": ("sum", "day")}, None, UnsupportedFeature, "sum of column 'day' of type DATE"),
        ({"a": ("max", "color")}, None, UnsupportedFeature, "max of column 'color'"),
    ],
)
def test_what_cannot_be_computed_is_refused_by_name(
    wanted: dict[str, Any], group_by: str | None, error: type[Exception], message: str
) -> None:
    _, table = table_of("append")
    with pytest.raises(error, match=message):
        table.scan().aggregate(wanted, group_by=group_by)


class CountingReads(MemoryFileIO):
    """A store that notes the index files that are opened or read."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    def open_input(self, path: str) -> pa.NativeFile:
        if path.endswith(".index"):
            self.opened.append(path)
        return super().open_input(path)

    def read(self, path: str) -> bytes:
        if path.endswith(".index"):
            self.opened.append(path)
        return super().read(path)


def test_indexes_that_the_plan_has_read_are_not_read_again() -> None:
    io = CountingReads()
    table = warehouse_on(io).table(schema=COLUMNS, options={**INDEXED, "file-index.in-manifest-threshold": "0 b"})
    for n in range(10):
        table.append(data([{"id": 4 * n + k, "color": COLORS[k], "n": k} for k in range(4)]))
    scan = table.scan(filter="color = 'red'")
    scan.plan()
    assert len(io.opened) == len(set(io.opened)) == 10
    assert scan.count() == 20
    assert scan.aggregate({"total": ("sum", "n")}, group_by="color").rows == ({"color": "red", "total": 30},)
    assert table.scan(filter="color = 'red'", order_by="n DESC", limit=1).to_arrow()["n"].to_pylist() == [3]
    assert len(io.opened) == 20
