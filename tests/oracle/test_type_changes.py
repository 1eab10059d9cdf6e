"""Types that columns change into: ALTER allows what the real Paimon allows, and old files are read as it reads them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from table_format import load_catalog
from table_format.codecs.type_json import parse_type
from table_format.errors import InvalidSchemaChange
from table_format.metastore.schema.schema_changes import apply_changes
from table_format.model.schema import TableSchema
from table_format.model.schema_change import (
    AddColumn,
    AlterColumnType,
    DropColumn,
    RenameColumn,
    SchemaChange,
    SetNullability,
)
from table_format.model.types import DataField, DoubleType, IntType, VarCharType
from table_format.table.table import Table
from tests.oracle.peer import PaimonPeer, PeerError
from tests.support.json_rows import json_rows, rows_with_floats, sorted_rows

LTZ = "WITH LOCAL TIME ZONE"
ARRAY = {"type": "ARRAY", "element": "INT"}
MAP = {"type": "MAP", "key": "STRING", "value": "DOUBLE"}
ROW = {"type": "ROW", "fields": [{"id": 900, "name": "a", "type": "INT"}, {"id": 901, "name": "b", "type": "STRING"}]}
TYPES: dict[str, Any] = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INT",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "decimal": "DECIMAL(10, 2)",
    "long_decimal": "DECIMAL(25, 5)",
    "char": "CHAR(3)",
    "varchar": "VARCHAR(4)",
    "string": "STRING",
    "binary": "BINARY(3)",
    "varbinary": "VARBINARY(2)",
    "bytes": "BYTES",
    "date": "DATE",
    "time": "TIME(3)",
    "ts0": "TIMESTAMP(0)",
    "ts3": "TIMESTAMP(3)",
    "ts6": "TIMESTAMP(6)",
    "ltz3": f"TIMESTAMP(3) {LTZ}",
    "ltz6": f"TIMESTAMP(6) {LTZ}",
    "array": ARRAY,
    "map": MAP,
    "row": ROW,
    "multiset": {"type": "MULTISET", "element": "STRING"},
}
VALUES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "tinyint": [0, 1, -128, 127],
    "smallint": [0, 1, -32768, 300],
    "int": [0, 7, -(2**31), 2**31 - 1, 70_000, 16_777_217],
    "bigint": [0, 7, -(2**63), 2**63 - 1, 2**31, 9_007_199_254_740_993],
    "float": [0.0, 1.5, -2.25, 1e10, 0.1, 3e38],
    "double": [0.0, 1.5, -2.5, 1e10, 0.1, 1e300, 1e-7],
    "decimal": ["0.00", "1.50", "-2.55", "99999999.99"],
    "long_decimal": ["0.00000", "1.50000", "-2.55555", "12345678901234567890.12345"],
    "char": ["abc", "a  "],
    "varchar": ["", "ab", "abcd"],
    "string": ["", "a", "longer than that", "\U0001f600\U0001f600\U0001f600\U0001f600"],
    "binary": ["616263", "780000"],
    "varbinary": ["", "61", "6162"],
    "bytes": ["", "61", "61626364"],
    "date": ["1970-01-01", "1969-12-31", "2024-02-29"],
    "time": ["00:00:00.000", "23:59:59.999", "01:02:03.040"],
    "ts0": ["1970-01-01T00:00:00", "1969-12-31T23:59:59", "2024-02-29T12:34:56"],
    "ts3": ["1970-01-01T00:00:00.000", "1969-12-31T23:59:59.999", "2024-02-29T12:34:56.780"],
    "ts6": ["1970-01-01T00:00:00.000000", "1969-12-31T23:59:59.999999", "2024-02-29T12:34:56.789012"],
    "array": [[], [1, None, -3], [2**31 - 1]],
    "map": [[], [["a", 1.5], ["b", None]]],
    "row": [{"a": 1, "b": "x"}, {"a": None, "b": None}],
}
VALUES |= {"ltz3": [f"{v}Z" for v in VALUES["ts3"]], "ltz6": [f"{v}Z" for v in VALUES["ts6"]]}
INTEGERS, FLOATS = ("tinyint", "smallint", "int", "bigint"), ("float", "double")
DECIMALS, MOMENTS, ZONED = ("decimal", "long_decimal"), ("ts0", "ts3", "ts6"), ("ltz3", "ltz6")
TEXTS: dict[str, list[str]] = {
    "boolean": ["t", "no", "1"],
    **{name: ["0", "-12", "+7", "12.9"] for name in INTEGERS},
    **{name: ["0", "-1.5e3", "NaN", "0.1"] for name in FLOATS},
    **{name: ["0", "-1.505", "1e3"] for name in DECIMALS},
    "date": ["2024-2-29", "1969-12-31", "2024"],
    "time": ["01:02:03.004", "1:2"],
    **{name: ["1969-12-31 23:59:58.123456", "2024-2-29 1:2:3"] for name in MOMENTS + ZONED},
}
"""Texts that have a value in the type; others have none in it."""
SHORT_TEXTS: dict[str, list[str]] = {
    "boolean": ["t", "no", "1"],
    **{name: ["0", "-12", "+7"] for name in INTEGERS},
    **{name: ["0", "1.5", "NaN"] for name in FLOATS},
    **{name: ["0", "1.5"] for name in DECIMALS},
    "time": ["1:2"],
    **{name: ["7"] for name in ("date", *MOMENTS)},
    **{name: [] for name in ZONED},
}


@pytest.fixture
def newest(peers: Callable[[str], PaimonPeer]) -> PaimonPeer:
    """The newer of the two; the older one casts less."""
    return peers("1.4.2")


def accepts(schema: TableSchema, column: str, new: Any) -> bool:
    """Whether our ALTER allows the type."""
    try:
        apply_changes(schema, [AlterColumnType(column, parse_type(new))])
    except InvalidSchemaChange:
        return False
    return True


def they_accept(paimon: PaimonPeer, warehouse: Path, table: str, column: str, new: Any) -> bool:
    """Whether the real ALTER allows the type."""
    try:
        paimon.alter_columns(warehouse, table, ["type", [column], new])
    except PeerError as error:
        if "cannot be converted" not in str(error):
            raise
        return False
    return True


@pytest.mark.parametrize(
    ("suffix", "options"), [("", {}), ("", {"disable-explicit-type-casting": "true"}), (" NOT NULL", {})]
)
def test_alter_allows_the_types_that_the_real_paimon_allows(
    newest: PaimonPeer, tmp_path: Path, suffix: str, options: dict[str, str]
) -> None:
    allowed = 0
    for old, old_type in TYPES.items():
        source = f"{old_type}{suffix}" if isinstance(old_type, str) else old_type
        targets = {new: new_type for new, new_type in TYPES.items() if new != old}
        fields = tuple(DataField(i, new, parse_type(source)) for i, new in enumerate(targets))
        schema = TableSchema(0, fields, 1000, options=options)
        name = f"db.{old}"
        newest.create_table(tmp_path, name, columns=[[new, source] for new in targets], options=options)
        ours = {new for new, new_type in targets.items() if accepts(schema, new, new_type)}
        theirs = {new for new, new_type in targets.items() if they_accept(newest, tmp_path, name, new, new_type)}
        assert ours == theirs, old
        allowed += len(ours)
    assert 0 < allowed < len(TYPES) * (len(TYPES) - 1)


def values_of(old: str, new: str) -> list[Any]:
    """Values of the old type that have one in the new."""
    if old == "string" and new in TEXTS:
        return TEXTS[new]
    if old in ("char", "varchar") and new in SHORT_TEXTS:
        return SHORT_TEXTS[new]
    if old == "bigint" and new.startswith(("ts", "ltz")):
        return [0, 7, -1, 2**31]  # seconds beyond the range of milliseconds wrap around there, and are an error here
    # Of moments before 1970 the real Paimon makes negative times, which no reader shows.
    return [value for value in VALUES[old] if not (new == "time" and value.startswith("1969"))]


def altered(paimon: PaimonPeer, warehouse: Path, file_format: str) -> Table:
    """A table with a column for each change of type, whose files are of before the change."""
    schema = TableSchema(0, tuple(DataField(i, old, parse_type(t)) for i, (old, t) in enumerate(TYPES.items())), 1000)
    columns = {
        f"{old}__{new}": (old, new)
        for old in VALUES
        for new, new_type in TYPES.items()
        if old != new and accepts(schema, old, new_type)
    }
    options = {"file.format": file_format, "bucket": "-1"}
    paimon.create_table(
        warehouse, "db.t", columns=[[name, TYPES[old]] for name, (old, _) in columns.items()], options=options
    )
    lists = [[*values_of(old, new), None] for old, new in columns.values()]
    count = max(map(len, lists))
    for values in zip(*([*each, *[each[0]] * (count - len(each))] for each in lists), strict=True):
        paimon.write(warehouse, "db.t", [["+I", list(values)]])
    catalog = load_catalog({"warehouse": str(warehouse)})
    table = catalog.load_table("db.t")
    assert isinstance(table, Table)
    table.append(table.scan().to_arrow())
    changes: list[SchemaChange] = [AlterColumnType(name, parse_type(TYPES[new])) for name, (_, new) in columns.items()]
    catalog.alter_table("db.t", changes)
    return catalog.load_table("db.t")


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_values_of_old_files_are_cast_as_the_real_paimon_casts_them(
    newest: PaimonPeer, tmp_path: Path, file_format: str
) -> None:
    table = altered(newest, tmp_path, file_format)
    fields = table.schema.fields
    theirs = rows_with_floats(newest.read(tmp_path, "db.t")["rows"], fields)
    ours = json_rows(table.scan().to_arrow(), fields)
    wrong = {
        (f.name, str(a[i]), str(b[i]))
        for a, b in zip(ours, theirs, strict=True)
        for i, f in enumerate(fields)
        if a[i] != b[i]
    }
    assert not wrong


ITEM = {"type": "ROW", "fields": [{"id": 10, "name": "a", "type": "INT"}, {"id": 11, "name": "b", "type": "STRING"}]}
NESTED: list[tuple[str, Any]] = [
    ("id", "INT NOT NULL"),
    ("items", {"type": "ARRAY", "element": ITEM}),
    ("m", {"type": "MAP", "key": "STRING", "value": {"type": "ARRAY", "element": ITEM}}),
    ("n", ARRAY),
]


@pytest.mark.parametrize("keys", [[], ["id"]], ids=["append", "keys"])
@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_changes_inside_arrays_and_maps_are_those_of_the_real_paimon(
    newest: PaimonPeer, tmp_path: Path, file_format: str, keys: list[str]
) -> None:
    options = {"file.format": file_format, "bucket": "1" if keys else "-1"}
    old = [{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]
    rows = [["+I", [1, old, [["k", old]], [1, None]]], ["+I", [2, None, [], []]]]
    for name in ("db.ours", "db.theirs"):
        newest.create_table(tmp_path, name, columns=NESTED, primary_keys=keys, options=options)
        newest.write(tmp_path, name, rows)
    ours: list[SchemaChange] = [AlterColumnType(("n", "element"), DoubleType())]
    theirs: list[list[Any]] = [["type", ["n", "element"], "DOUBLE"]]
    for path in (("items", "element"), ("m", "value", "element")):
        ours += [
            AlterColumnType((*path, "a"), VarCharType()),
            RenameColumn((*path, "a"), "number"),
            DropColumn((*path, "b")),
            AddColumn((*path, "c"), DoubleType()),
        ]
        theirs += [
            ["type", [*path, "a"], "STRING"],
            ["rename", [*path, "a"], "number"],
            ["drop", [*path, "b"]],
            ["add", [*path, "c"], "DOUBLE"],
        ]
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.alter_table("db.ours", ours)
    newest.alter_columns(tmp_path, "db.theirs", *theirs)
    new = [{"number": "n", "c": 0.5}]
    found = []
    for name in ("db.ours", "db.theirs"):
        newest.write(tmp_path, name, [["+I", [3, new, [["l", new]], [0.5]]]])
        table = catalog.load_table(name)
        assert isinstance(table, Table)
        found.append((table.schema.fields, table.schema.highest_field_id))
        read = newest.read(tmp_path, name)["rows"]
        assert json_rows(table.scan().to_arrow(), table.schema.fields) == sorted_rows(read)
        assert len(read) == 3
        table.compact(full=True)
        assert sorted_rows(newest.read(tmp_path, name)["rows"]) == sorted_rows(read)
    assert found[0] == found[1]


def test_options_of_changes_have_the_effect_that_they_have_on_the_real_paimon(
    newest: PaimonPeer, tmp_path: Path
) -> None:
    options = {"alter-column-null-to-not-null.disabled": "false", "add-column-before-partition": "true"}
    columns = [("v", "INT"), ("dt", "STRING"), ("w", "INT")]
    for name in ("db.ours", "db.theirs"):
        newest.create_table(tmp_path, name, columns=columns, partition_keys=["dt"], options=options)
        newest.write(tmp_path, name, [["+I", [None, "a", 1]]])
    newest.alter_columns(tmp_path, "db.theirs", ["nullable", ["v"], False], ["add", ["n"], "INT"])
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.alter_table("db.ours", [SetNullability("v", nullable=False), AddColumn("n", IntType())])
    tables = [catalog.load_table(name) for name in ("db.ours", "db.theirs")]
    ours, theirs = (table.schema.fields for table in tables if isinstance(table, Table))
    assert ours == theirs
    assert [str(field) for field in ours] == ["`v` INT NOT NULL", "`n` INT", "`dt` STRING", "`w` INT"]
    # The stored value is not a value of the type: the real Paimon shows the bytes, and null is shown here.
    assert [newest.read(tmp_path, name)["rows"] for name in ("db.ours", "db.theirs")] == [[[0, None, "a", 1]]] * 2
    assert [table.scan().to_arrow().column("v").to_pylist() for table in tables] == [[None]] * 2
