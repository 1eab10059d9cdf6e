"""Format tables in a Hive metastore that the real Paimon and this library share.

Two losses of Java are left out of what it writes: a backslash in CSV, and a fraction of a second before 1970 in ORC.
What it has lost there, both read alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from table_format import FormatTable, Schema, load_catalog
from table_format.catalog.hive.address import parse_addresses
from table_format.catalog.hive.hive_table import new_table
from table_format.catalog.hive.metastore import Metastore, thrift
from table_format.errors import TableNotFound
from table_format.model.arrow_types import arrow_type
from table_format.types import DataType
from tests.oracle.conftest import SharedLake
from tests.oracle.peer import PeerError
from tests.support.cell_texts import CELL_TEXTS, in_units
from tests.support.hive_metastore import HiveMetastore, listed

FORMATS = pytest.mark.parametrize("file_format", ["csv", "json", "parquet", "orc"])
TYPES = {
    "a": ("INT", pa.int32()),
    "b": ("STRING", pa.string()),
    "big": ("BIGINT", pa.int64()),
    "small": ("SMALLINT", pa.int16()),
    "tiny": ("TINYINT", pa.int8()),
    "price": ("DECIMAL(10, 2)", pa.decimal128(10, 2)),
    "ratio": ("DOUBLE", pa.float64()),
    "single": ("FLOAT", pa.float32()),
    "ok": ("BOOLEAN", pa.bool_()),
    "day": ("DATE", pa.date32()),
    "at": ("TIMESTAMP(3)", pa.timestamp("ms")),
    "raw": ("BYTES", pa.binary()),
    "dt": ("DATE", pa.date32()),
    "hh": ("STRING", pa.string()),
}
KEYS = ["dt", "hh"]
INFINITY = float("inf")
SCHEMA = pa.schema([(name, arrow) for name, (_, arrow) in TYPES.items()])
ROWS: list[list[Any]] = [
    [1, 'it\'s, "é";\t|', 2**53 + 1, -7, 7, "-12.50", 0.1, 2.5, True, "2026-01-02", "2026-01-02T03:04:05.678", "00ff"],
    [2, " ", -(2**63), 0, -128, "0.00", -1e300, 1e10, False, "1969-12-31", "1970-01-01T00:00:00", ""],
    [None] * 12,
]
PARTITIONS = [["2026-01-01", "a/b c"], ["1969-12-30", None], [None, "=%"]]


def create(lake: SharedLake, file_format: str, *, by_us: bool, **options: str) -> FormatTable:
    given = {"type": "format-table", "file.format": file_format, **options}
    if "db" not in lake.ours.list_databases():
        lake.ours.create_database("db")
    if by_us:
        lake.ours.create_table("db.f", Schema.from_arrow(SCHEMA, partition_keys=KEYS, options=given))
    else:
        columns = [[name, kind] for name, (kind, _) in TYPES.items()]
        lake.theirs.create_table(lake.uri, "db.f", columns=columns, primary_keys=[], partition_keys=KEYS, options=given)
    return opened(lake)


def opened(lake: SharedLake, name: str = "db.f") -> FormatTable:
    found = lake.ours.load_any(name)
    assert isinstance(found, FormatTable)
    return found


def read(lake: SharedLake, name: str = "db.f") -> list[str]:
    """The rows in some order, which both read."""
    ours = [[shown(value) for value in row.values()] for row in opened(lake, name).scan().to_arrow().to_pylist()]
    found = sorted(map(str, ours))
    assert found == sorted(map(str, lake.theirs.system_table(lake.uri, name)["rows"]))
    return found


def shown(value: Any) -> Any:
    """A value as the peer shows it."""
    match value:
        case Decimal():
            return str(value)
        case datetime():
            return value.isoformat(timespec="milliseconds")
        case date():
            return value.isoformat()
        case bytes():
            return value.hex()
    return value


def arrow(rows: Sequence[Sequence[Any]]) -> pa.Table:
    def parsed(value: Any, kind: pa.DataType) -> Any:
        if value is None:
            return None
        if pa.types.is_decimal(kind):
            return Decimal(value)
        if pa.types.is_date(kind):
            return date.fromisoformat(value)
        if pa.types.is_timestamp(kind):
            return datetime.fromisoformat(value)
        return bytes.fromhex(value) if pa.types.is_binary(kind) else value

    return pa.Table.from_pylist(
        [{f.name: parsed(value, f.type) for f, value in zip(SCHEMA, row, strict=True)} for row in rows], SCHEMA
    )


def write(lake: SharedLake, rows: list[list[Any]], *, by_us: bool, overwrite: dict[str, str] | None = None) -> None:
    if not by_us:
        lake.theirs.write_files(lake.uri, "db.f", rows, overwrite=overwrite)
    elif overwrite is None:
        opened(lake).append(arrow(rows))
    else:
        opened(lake).overwrite(arrow(rows), partition=overwrite or None)


@FORMATS
@pytest.mark.parametrize("by_us", [True, False])
def test_each_reads_appends_to_and_overwrites_the_format_tables_of_the_other(
    lake: SharedLake, file_format: str, by_us: bool
) -> None:
    create(lake, file_format, by_us=by_us)
    rows = [row + partition for row in ROWS for partition in PARTITIONS]
    write(lake, rows, by_us=by_us)
    once = read(lake)
    assert len(once) == len(rows)
    write(lake, rows, by_us=not by_us)
    assert read(lake) == sorted(2 * once)
    for writer in (by_us, not by_us):
        write(
            lake,
            [ROWS[0] + PARTITIONS[0]],
            by_us=writer,
            overwrite={"dt": "2026-01-01", "hh": "a/b c"} if writer else {},
        )
        assert len(read(lake)) == 2 * len(ROWS) * 2 + 1


def test_both_keep_the_same_in_the_metastore_but_for_names_of_partitions_that_hive_reads(
    metastore: HiveMetastore, lake: SharedLake
) -> None:
    found = []
    for by_us in (True, False):
        create(lake, "csv", by_us=by_us, **{"csv.field-delimiter": ";", "csv.include-header": "true"})
        table = listed(metastore, "db.f")
        times = ("createTime", "lastAccessTime")
        facts = {name: value for name, value in vars(table).items() if name not in times}
        del table.parameters["transient_lastDdlTime"]
        found.append({**facts, "sd": {**vars(table.sd), "serdeInfo": vars(table.sd.serdeInfo)}})
        lake.ours.drop_table("db.f")
    ours, theirs = found
    own = {"partition.default-name": "__HIVE_DEFAULT_PARTITION__", "partition.legacy-name": "false"}
    assert ours == {**theirs, "parameters": {**theirs["parameters"], **own}}


TEXTS = st.text(st.sampled_from("ab \t,;\"'\\|é\U0001f600\x01NULL0"), max_size=6)


@pytest.mark.parametrize("file_format", ["csv", "json"])
def test_any_text_that_we_write_is_the_same_text_for_both(lake: SharedLake, file_format: str) -> None:
    lake.ours.create_database("db")
    columns = pa.schema([("n", pa.int32()), ("t", pa.string()), ("u", pa.string())])
    options = {"type": "format-table", "file.format": file_format}
    lake.ours.create_table("db.f", Schema.from_arrow(columns, options=options))

    # CSV has one text for null and for nothing.
    def kept(text: str | None) -> str | None:
        return text or None if file_format == "csv" else text

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.tuples(st.none() | st.integers(-9, 9), st.none() | TEXTS, st.none() | TEXTS), max_size=20))
    def check(rows: list[tuple[int | None, str | None, str | None]]) -> None:
        opened(lake).overwrite(pa.Table.from_pylist([dict(zip("ntu", row, strict=True)) for row in rows], columns))
        assert read(lake) == sorted(str([n, kept(t), kept(u)]) for n, t, u in rows)

    check()


@pytest.mark.parametrize("data_type", CELL_TEXTS, ids=str)
def test_a_text_of_others_is_the_same_value_for_both_or_null(lake: SharedLake, data_type: DataType) -> None:
    lake.ours.create_database("db")
    columns = pa.schema([("v", arrow_type(data_type))])
    lake.ours.create_table("db.f", Schema.from_arrow(columns, options={"type": "format-table", "file.format": "csv"}))
    directory, texts = Path(lake.uri, "db.db", "f"), CELL_TEXTS[data_type]
    directory.mkdir(parents=True, exist_ok=True)
    Path(directory, "x.csv").write_text("".join(f"{text}\n" for text in texts))
    found = opened(lake).scan().to_arrow()
    assert in_units(found["v"].combine_chunks()) == list(texts.values())
    shown_there = [row for (row,) in lake.theirs.system_table(lake.uri, "db.f")["rows"]]
    assert shown_there == ["Infinity" if v == INFINITY else shown(v) for v in found["v"].to_pylist()]


def test_a_partition_that_was_added_by_hand_is_there_for_both_and_hidden_files_are_not(lake: SharedLake) -> None:
    lake.ours.create_database("db")
    columns = pa.schema([("a", pa.int32()), ("b", pa.string()), ("dt", pa.int32())])
    options = {"type": "format-table", "file.format": "csv", "field-delimiter": ","}
    lake.ours.create_table("db.f", Schema.from_arrow(columns, partition_keys=["dt"], options=options))
    directory = Path(lake.uri, "db.db", "f", "dt=1")
    directory.mkdir(parents=True)
    Path(directory, "x.csv").write_text('1,x\n2\n\n4,"q,""z",more\nbad,y\n')
    Path(directory, "_hidden.csv").write_text("5,hidden\n")
    Path(directory, ".x.csv.crc").write_bytes(b"\xff\xfe")
    found = [[1, "x", 1], [2, None, 1], [None, None, 1], [4, 'q,"z', 1]]
    # Of a line whose first value does not fit, Java also loses the values after it.
    assert [list(row.values()) for row in opened(lake).scan().to_arrow().to_pylist()] == [*found, [None, "y", 1]]
    assert lake.theirs.system_table(lake.uri, "db.f")["rows"] == [*found, [None, None, 1]]


def test_a_plain_table_of_hive_is_a_format_table_for_both(metastore: HiveMetastore, lake: SharedLake) -> None:
    lake.ours.create_database("db")
    location = Path(lake.uri, "of_hive")
    location.mkdir(parents=True)
    Path(location, "000000_0").write_bytes(b"1\x01x y\n2\x01z\n")
    table = new_table("db", "f", owner="hive", seconds=1, external=True)
    table.parameters = {"EXTERNAL": "TRUE"}
    table.sd.cols = [thrift().FieldSchema(name, kind, None) for name, kind in (("a", "int"), ("b", "string"))]
    table.sd.location = f"file:{location}"
    table.sd.inputFormat = "org.apache.hadoop.mapred.TextInputFormat"
    table.sd.outputFormat = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"
    table.sd.serdeInfo.serializationLib = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
    Metastore(parse_addresses(metastore.uri)).change("create_table", table)
    assert read(lake) == ["[1, 'x y']", "[2, 'z']"]
    assert lake.ours.list_tables("db") == ("f",) == tuple(lake.theirs.catalog(lake.uri, "tables", "db"))
    opened(lake).append(pa.table({"a": pa.array([3], pa.int32()), "b": ["w"]}))
    assert read(lake) == ["[1, 'x y']", "[2, 'z']", "[3, 'w']"]
    lake.ours.drop_table("db.f")
    assert Path(location, "000000_0").exists()


def test_a_catalog_whose_format_tables_are_off_neither_lists_nor_loads_them_in_both(
    metastore: HiveMetastore, lake: SharedLake
) -> None:
    create(lake, "csv", by_us=True)
    options = {**metastore.options, "format-table.enabled": "false"}
    uri = f"{lake.uri}/"  # the peer keeps a catalog for each
    off = SharedLake(uri, load_catalog({"warehouse": uri, **options}), lake.theirs.with_catalog(options))
    assert off.ours.list_tables("db") == () == tuple(off.theirs.catalog(uri, "tables", "db"))
    with pytest.raises(TableNotFound, match=r"'db\.f' is a table of Hive .*format-table\.enabled"):
        off.ours.load_any("db.f")
    with pytest.raises(PeerError, match="TableNotExist"):
        off.theirs.system_table(uri, "db.f")
