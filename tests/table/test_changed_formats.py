"""Rows that were accepted in one format survive the compaction to another one, whatever their values are.

The format is changed as another engine does it, without the checks of ALTER.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from typing import Any, Final

import pyarrow as pa
import pytest

from table_format import Schema, Table
from table_format.errors import InvalidData, InvalidOption
from table_format.model.arrow_types import arrow_type
from table_format.model.schema_change import SetOption
from table_format.model.types import (
    AnyTimestampType,
    CharType,
    DataField,
    DataType,
    DateType,
    IntType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    types_in,
)
from tests.support.forged_state import live_entries
from tests.support.json_rows import json_rows
from tests.support.matrix import combinations
from tests.support.tables import Warehouse, memory_warehouse
from tests.support.typed_rows import NESTED, SCALARS, rows_of

FORMATS: Final = ("parquet", "orc", "avro")
CHANGES: Final = [(a, b, keyed) for a, b, keyed in combinations(FORMATS, FORMATS, (False, True)) if a != b]
_EDGES: Final = [1, -1, -999, -1_000_001, -(2**63) + 1, 2**63 - 1, -62_135_596_800_000_001, 253_402_300_799_999_999]
_DAYS: Final = [-(2**31), -1, 2**31 - 1, -719_163, 2_932_897]


def _edges(data_type: DataType) -> tuple[DataType, list[Any]]:
    stored = arrow_type(data_type)
    numbers, whole = (_DAYS, pa.int32()) if isinstance(data_type, DateType) else (_EDGES, pa.int64())
    return data_type, [pa.scalar(n, whole).cast(stored) for n in numbers]


WANTED: Final[dict[str, tuple[DataType, list[Any]]]] = {
    **SCALARS,
    **NESTED,
    # ORC removes spaces at the end of a CHAR that is no key, as in Java.
    "spaces": (CharType(4), [" a", "", " b"]),
    "far_day": _edges(DateType()),
    **{f"far_ts{p}": _edges(TimestampType(p)) for p in (0, 3, 6, 9)},
    **{f"far_ltz{p}": _edges(LocalZonedTimestampType(p)) for p in (0, 3, 6, 9)},
}


def table_of(warehouse: Warehouse, field: DataField, file_format: str, *, keyed: bool) -> Table:
    fields = (DataField(0, "id", IntType(nullable=False)), field)
    options = {"file.format": file_format, "bucket": "1" if keyed else "-1"}
    return warehouse.catalog.create_table("db.t", Schema(fields, primary_keys=["id"] if keyed else (), options=options))


def with_format(warehouse: Warehouse, table: Table, file_format: str) -> Table:
    paths = table.store.paths
    stored = json.loads(warehouse.io.read(paths.schema(0)))
    changed = {**stored, "id": 1, "options": {**stored["options"], "file.format": file_format}}
    warehouse.io.create(paths.schema(1), json.dumps(changed).encode())
    return warehouse.reopened(table)


def appended(table: Table, name: str) -> int:
    """Append the values of a column, without those that the table refuses; the number of rows."""
    data_type, values = WANTED[name]
    fields = [DataField(1, name, data_type)]
    if name.startswith("far_"):
        column = pa.array(values, arrow_type(data_type))
    else:
        column = rows_of({name: (data_type, values)}, [DataField(0, "id", IntType()), *fields], len(values) + 1)[name]
    rows = pa.table({"id": pa.array(range(len(column)), pa.int32()), name: column})
    try:
        table.append(rows)
    except InvalidData:
        return sum(is_accepted(table, rows.slice(row, 1)) for row in range(len(rows)))
    return len(rows)


def is_accepted(table: Table, row: pa.Table) -> bool:
    try:
        table.append(row)
    except InvalidData:
        return False
    return True


def is_in(file_format: str, data_type: DataType) -> bool:
    return file_format != "avro" or all(
        part.precision <= (3 if isinstance(part, TimeType) else 6)
        for part in types_in(data_type)
        if isinstance(part, TimeType | AnyTimestampType)
    )


@pytest.mark.parametrize(("before", "after", "keyed"), CHANGES)
def test_no_value_that_one_format_accepts_stops_the_compaction_to_another(before: str, after: str, keyed: bool) -> None:
    for name, (data_type, _) in WANTED.items():
        if not (is_in(before, data_type) and is_in(after, data_type)):
            continue  # CREATE and ALTER refuse it
        warehouse = memory_warehouse()
        table = table_of(warehouse, DataField(1, name, data_type), before, keyed=keyed)
        count = appended(table, name)
        table.append(table.scan().to_arrow())  # a single file would only be moved
        expected = table.scan().to_arrow().sort_by("id")
        assert expected.num_rows == (count if keyed else 2 * count) > 0, name
        changed = with_format(warehouse, table, after)
        changed.compact(full=True)
        assert same(changed.scan().to_arrow().sort_by("id"), expected, list(changed.schema.fields)), name
        assert changed.verify(depth="rows").is_healthy, name


def same(found: pa.Table, expected: pa.Table, fields: list[DataField]) -> bool:
    # Python has no dates for some values, and Arrow's NaN does not equal itself.
    return found.equals(expected) or repr(json_rows(found, fields)) == repr(json_rows(expected, fields))


def test_rows_with_values_that_the_new_format_lacks_stay_where_they_are_and_the_others_follow() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(schema=pa.schema([("id", pa.int64()), ("at", pa.timestamp("us"))]))
    for second in (-0.5, -0.000_001, 0.000_001):
        table.append(pa.table({"id": [1], "at": [datetime(1970, 1, 1) + timedelta(seconds=second)]}))
    changed = with_format(warehouse, table, "orc")
    with pytest.raises(InvalidData, match=r"column 'at': 1969-12-31 23:59:59.999999"):
        changed.append(table.scan().to_arrow())
    changed.compact(full=True)
    assert formats(changed) == {"orc": 1, "parquet": 2}
    changed.delete("at = TIMESTAMP '1969-12-31 23:59:59.999999'")
    changed.compact(full=True)
    assert formats(changed) == {"orc": 2}


def formats(table: Table) -> Counter[str]:
    files = live_entries(table.current())
    return Counter({e.file.file_name.rpartition(".")[2]: e.file.row_count for e in files})


def test_a_char_key_with_spaces_at_its_end_stays_a_key_of_its_own_when_another_engine_moves_the_table_to_orc() -> None:
    warehouse = memory_warehouse()
    fields = (DataField(0, "k", CharType(3, nullable=False)), DataField(1, "v", IntType()))
    table = warehouse.catalog.create_table("db.t", Schema(fields, primary_keys=["k"], options={"bucket": "1"}))
    keys = pa.table({"k": ["x ", "x", "y"], "v": pa.array([1, 2, 3], pa.int32())})
    table.append(keys)
    table.append(keys)
    changed = with_format(warehouse, table, "orc")
    changed.compact(full=True)
    assert changed.scan().to_arrow().sort_by("v").equals(keys.cast(changed.scan().to_arrow().schema))
    assert formats(changed) == {"parquet": 3}


@pytest.mark.parametrize("options", [{"file.format": "orc"}, {"file.format.per.level": "5:orc"}])
def test_a_table_with_rows_and_a_char_key_does_not_become_orc(options: dict[str, str]) -> None:
    warehouse = memory_warehouse()
    fields = (DataField(0, "k", CharType(3, nullable=False)), DataField(1, "v", CharType(3)))
    changes = [SetOption(*item) for item in options.items()]
    empty = warehouse.catalog.create_table("db.empty", Schema(fields, primary_keys=["k"], options={"bucket": "1"}))
    warehouse.catalog.alter_table(str(empty.identifier), changes)
    plain = warehouse.catalog.create_table("db.plain", Schema(fields, options={}))
    plain.append(pa.table({"k": ["x "], "v": ["x "]}))
    warehouse.catalog.alter_table("db.plain", [SetOption("file.format", "orc")])
    table = warehouse.catalog.create_table("db.t", Schema(fields, primary_keys=["k"], options={"bucket": "1"}))
    table.append(pa.table({"k": ["x "], "v": ["x "]}))
    with pytest.raises(InvalidOption, match="'k' is a key of type CHAR, and the table has rows"):
        warehouse.catalog.alter_table("db.t", changes)
