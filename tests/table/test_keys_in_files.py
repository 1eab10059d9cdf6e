"""In every format, a key is read from a file as it was written; a key that a file would change is refused.

Otherwise a key would be twice in a sorted run, or its row in the bucket of another key.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from table_format.errors import InvalidOption
from table_format.model.schema_change import SetOption
from table_format.model.types import CharType, DataField, DataType, IntType, VarCharType
from tests.support.json_rows import json_rows
from tests.support.typed_rows import NOT_IN_AVRO, SCALARS, fields_of, rows_of

FORMATS = ("parquet", "orc", "avro")


def make(warehouse: Path, fields: list[DataField], keys: list[str], **options: str) -> Table:
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_database("db", ignore_if_exists=True)
    given = {"bucket": "1", **{name.replace("_", "."): value for name, value in options.items()}}
    return catalog.create_table("db.t", Schema(tuple(fields), primary_keys=keys, options=given))


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_key_of_every_type_is_read_as_it_was_written(tmp_path: Path, file_format: str) -> None:
    left_out = NOT_IN_AVRO if file_format == "avro" else frozenset()
    wanted: dict[str, tuple[DataType, list[Any]]] = {
        name: (data_type.not_null(), values) for name, (data_type, values) in SCALARS.items() if name not in left_out
    }
    fields = fields_of(wanted)
    first = rows_of(wanted, fields, 2).slice(0, 1)
    # One row for each value of each column; the other columns are the same, so that only this value tells it apart.
    variants = [first]
    for name, (_, values) in wanted.items():
        column = [fields[0], next(f for f in fields if f.name == name)]
        of_column = rows_of({name: wanted[name]}, column, len(values) + 1)
        for row in range(1, len(values)):
            at = first.schema.get_field_index(name)
            variants.append(first.set_column(at, first.schema.field(at), of_column.column(name).slice(row, 1)))
    rows = pa.concat_tables(variants)
    assert rows.num_rows > 50
    table = make(tmp_path, fields, list(wanted), file_format=file_format)
    table.append(rows)
    table.append(rows.slice(7))
    table.compact(full=True)
    table.append(rows.slice(0, 40))
    expected = [row for row, before in pairwise([*json_rows(rows, fields), None]) if row != before]
    assert json_rows(table.scan().to_arrow(), fields) == expected


def char_fields() -> list[DataField]:
    return [
        DataField(0, "k", CharType(3, nullable=False)),
        DataField(1, "t", VarCharType(nullable=False)),
        DataField(2, "c", CharType(3)),
        DataField(3, "v", IntType()),
    ]


def char_rows(*keys: str) -> pa.Table:
    texts = pa.array(["x "] * len(keys))
    return pa.table({"k": pa.array(keys), "t": texts, "c": texts, "v": pa.array(range(len(keys)), pa.int32())})


@pytest.mark.parametrize("options", [{"file.format": "orc"}, {"file.format.per.level": "0:avro,2:ORC"}])
def test_spaces_at_the_end_make_no_other_char_key_in_orc(tmp_path: Path, options: dict[str, str]) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    given = {"bucket": "7", "num-sorted-run.compaction-trigger": "2", **options}
    table = catalog.create_table("db.t", Schema(tuple(char_fields()), primary_keys=["k", "t"], options=given))
    table.append(char_rows("x", "x  ", "y "))
    table.append(char_rows("x "))
    table.append(char_rows(" x"))
    table.compact(full=True)
    assert sorted(row["k"] for row in table.scan().to_arrow().to_pylist()) == [" x", "x", "y"]
    assert table.scan(["v"], "k = 'y'").to_arrow().to_pylist() == [{"v": 2}]
    by_key = {"bucket": "7", "bucket-key": "c", "file.format": "orc"}
    hashed = catalog.create_table("db.u", Schema(tuple(char_fields()), options=by_key))
    hashed.append(char_rows("a"))
    assert hashed.scan(["v"], "c = 'x'").to_arrow().to_pylist() == [{"v": 0}]


def test_a_char_key_with_spaces_at_its_end_is_not_moved_to_orc(tmp_path: Path) -> None:
    table = make(tmp_path, char_fields(), ["k", "t"])
    table.append(char_rows("x ", "x"))
    table.append(char_rows("x "))
    assert sorted(table.scan(["k"]).to_arrow()["k"].to_pylist()) == ["x", "x "]
    catalog = load_catalog({"warehouse": str(tmp_path)})
    with pytest.raises(InvalidOption, match=r"'k' is a key of type CHAR, and the table has rows"):
        catalog.alter_table("db.t", [SetOption("file.format", "orc")])
    moving = catalog.load_table("db.t").copy({"file.format": "orc"})
    moving.compact(full=True)
    assert sorted(moving.scan(["k"]).to_arrow()["k"].to_pylist()) == ["x", "x "]
    assert len(moving.snapshots()) == 3
