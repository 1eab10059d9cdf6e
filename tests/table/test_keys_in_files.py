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
from table_format.errors import InvalidData
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


def test_a_char_key_with_spaces_at_its_end_is_refused_in_orc(tmp_path: Path) -> None:
    fields = [
        DataField(0, "k", CharType(3, nullable=False)),
        DataField(1, "t", VarCharType(nullable=False)),
        DataField(2, "c", CharType(3)),
        DataField(3, "v", IntType()),
    ]
    good = pa.table({"k": ["x"], "t": ["x "], "c": ["x "], "v": pa.array([1], pa.int32())})
    table = make(tmp_path / "keyed", fields, ["k", "t"], file_format="orc")
    table.append(good)
    assert table.scan(["k", "t"]).to_arrow().to_pylist() == [{"k": "x", "t": "x "}]
    with pytest.raises(InvalidData, match=r"'k' is a key of type CHAR; found 'x '.*'file.format' = 'parquet'"):
        table.append(good.set_column(0, "k", pa.array(["x "])))
    assert [snapshot.id for snapshot in table.snapshots()] == [1]
    # A later level in ORC counts, too, and so does the bucket key of an append table.
    upper = load_catalog({"warehouse": str(tmp_path / "upper")})
    upper.create_database("db")
    options = {"bucket": "1", "file.format.per.level": "5:orc"}
    raised = upper.create_table("db.t", Schema(tuple(fields), primary_keys=["k", "t"], options=options))
    raised.append(good.set_column(0, "k", pa.array(["x "])))
    raised.append(good)
    with pytest.raises(InvalidData, match="key of type CHAR"):
        raised.compact(full=True)
    options = {"bucket": "2", "bucket-key": "c", "file.format": "orc"}
    hashed = upper.create_table("db.u", Schema(tuple(fields), options=options))
    with pytest.raises(InvalidData, match="'c' is a key of type CHAR"):
        hashed.append(good)
