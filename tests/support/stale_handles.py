"""Tables that are altered behind the back of a handle: kinds of tables, changes of schema, and a model of the rows.

A row of the model maps field ids to values, so that it means the same under every schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from table_format import Schema, Table
from table_format.model.arrow_types import arrow_schema
from table_format.model.schema import TableSchema
from table_format.model.schema_change import (
    AddColumn,
    AlterColumnType,
    DropColumn,
    MoveColumn,
    RenameColumn,
    SchemaChange,
    SetColumnComment,
    SetComment,
    SetNullability,
    SetOption,
)
from table_format.model.types import (
    ArrayType,
    BigIntType,
    DataField,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    RowType,
    SmallIntType,
    VarCharType,
)
from tests.support.tables import Warehouse

Row = dict[int, Any]

COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("dt", pa.string(), nullable=False),
        ("v", pa.int32()),
        ("f", pa.float32()),
        ("d", pa.decimal128(5, 2)),
        ("x", pa.string()),
        pa.field("n", pa.int32(), nullable=False),
        ("s", pa.struct([("a", pa.int32())])),
        ("l", pa.list_(pa.int16())),
        ("seq", pa.int64()),
        ("r", pa.string()),
    ]
)
NARROW = {"x": VarCharType(length=4)}
MIN_WIDE_LENGTH = 16


@dataclass(frozen=True)
class Kind:
    """How a table keeps its rows."""

    options: Mapping[str, str] = field(default_factory=dict)
    primary_keys: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    updates: bool = True
    """Whether UPDATE and MERGE are admitted, and a later row of a key replaces an earlier one."""
    deletes: bool = True

    @property
    def is_fixed(self) -> bool:
        return int(self.options.get("bucket", "-1")) > 0

    @property
    def is_sortable(self) -> bool:
        return self.options.get("bucket", "-1") == "-1" and (
            not self.primary_keys or set(self.partition_keys) <= set(self.primary_keys)
        )


def _append(**options: str) -> Kind:
    return Kind({"compaction.min.file-num": "2", **{k.replace("_", "-"): v for k, v in options.items()}})


def _keyed(*, updates: bool = True, deletes: bool = True, **options: str) -> Kind:
    given = {"bucket": "2", "num-sorted-run.compaction-trigger": "2"}
    given |= {k.replace("_", "-"): v for k, v in options.items()}
    return Kind(given, ("id",), updates=updates, deletes=deletes)


KINDS: dict[str, Kind] = {
    "append": _append(),
    "append with vectors": _append(**{"deletion-vectors.enabled": "true"}),
    "append in buckets": _append(bucket="2", **{"bucket-key": "id"}),
    "append by day": replace(_append(), partition_keys=("dt",)),
    "fixed": _keyed(),
    "fixed by day": replace(_keyed(), primary_keys=("id", "dt"), partition_keys=("dt",)),
    "dynamic": _keyed(bucket="-1"),
    "moving": replace(_keyed(bucket="-1"), partition_keys=("dt",)),
    "postponed": _keyed(bucket="-2"),
    "vectors": _keyed(**{"deletion-vectors.enabled": "true"}),
    "lookup": _keyed(changelog_producer="lookup"),
    "full compaction": _keyed(changelog_producer="full-compaction"),
    "input": _keyed(changelog_producer="input"),
    "first row": _keyed(updates=False, deletes=False, merge_engine="first-row", changelog_producer="lookup"),
    "partial update": _keyed(deletes=False, merge_engine="partial-update"),
    "aggregation": _keyed(updates=False, deletes=False, merge_engine="aggregation"),
}

CHANGES: dict[str, tuple[SchemaChange, ...]] = {
    "add a column": (AddColumn("c", BigIntType()),),
    "add a column in front": (AddColumn("c", VarCharType(), first=True),),
    "add a nested field": (AddColumn(("s", "b"), BigIntType()),),
    "widen INT": (AlterColumnType("v", BigIntType()),),
    "widen FLOAT": (AlterColumnType("f", DoubleType()),),
    "widen DECIMAL": (AlterColumnType("d", DecimalType(precision=12, scale=4)),),
    "widen VARCHAR": (AlterColumnType("x", VarCharType(length=40)),),
    "INT to DECIMAL": (AlterColumnType("v", DecimalType(precision=20, scale=2)),),
    "widen a nested field": (AlterColumnType(("s", "a"), BigIntType()),),
    "allow nulls": (SetNullability("n", nullable=True),),
    "rename": (RenameColumn("v", "w"),),
    "swap names": (RenameColumn("v", "q"), RenameColumn("n", "v"), RenameColumn("q", "n")),
    "drop": (DropColumn("r"),),
    "drop and add again": (DropColumn("r"), AddColumn("r", BigIntType())),
    "move": (MoveColumn("x", first=True),),
    "comment": (SetComment("c"), SetColumnComment("v", "c")),
    "expire sooner": (SetOption("snapshot.num-retained.max", "9"),),
    "write only": (SetOption("write-only", "true"),),
    "sequence field": (SetOption("sequence.field", "seq"),),
    "make a changelog": (SetOption("changelog-producer", "input"),),
    "vectors": (SetOption("deletion-vectors.enabled", "true"),),
    "everything": (
        AddColumn("c", BigIntType(), after="id"),
        AddColumn(("s", "b"), BigIntType()),
        AlterColumnType("v", BigIntType()),
        RenameColumn("f", "g"),
        DropColumn("r"),
        SetNullability("n", nullable=True),
    ),
}


def a_table(warehouse: Warehouse, kind: Kind, name: str = "t") -> Table:
    """An empty table with ``COLUMNS``, of which some are narrower than Arrow can say."""
    given = Schema.from_arrow(COLUMNS, kind.primary_keys, kind.partition_keys, kind.options)
    fields = tuple(replace(f, type=NARROW.get(f.name, f.type)) for f in given.fields)
    return warehouse.catalog.create_table(f"db.{name}", replace(given, fields=fields))


class Model:
    """What the table holds, by the key of each row."""

    def __init__(self) -> None:
        self.rows: dict[int, Row] = {}

    def append(self, table: Table, ids: Iterable[int], *, wide: bool = False) -> None:
        """Append rows of the table's schema; the model takes them in once that has succeeded."""
        table.append(rows_of_ids(table, ids, wide=wide))
        self.take(table, ids, wide=wide)

    def take(self, table: Table, ids: Iterable[int], *, wide: bool = False) -> None:
        """Note rows that were written under the schema of a table."""
        self.rows |= {number: a_row(table.schema, number, wide=wide) for number in ids}

    def assign(self, table: Table, column: str, values: Mapping[int, Any]) -> None:
        """Note other values of a column, by key."""
        field_id = table.schema.field(column).id
        for key, value in values.items():
            self.rows[key] = {**self.rows[key], field_id: value}

    def check(self, table: Table) -> None:
        """Compare with the rows that a freshly opened table shows."""
        schema = table.schema
        names = {f.name: f for f in schema.fields}
        found = {}
        for read in table.scan().to_arrow().to_pylist():
            assert read["id"] not in found, f"key {read['id']} twice"
            found[read["id"]] = {names[name].id: value for name, value in read.items()}
        expected = {key: shown(schema, row) for key, row in self.rows.items()}
        for key in sorted(expected.keys() | found.keys()):
            assert found.get(key) == expected.get(key), f"row {key} of {schema.field_names}"


def shown(schema: TableSchema, row: Row) -> Row:
    """A row as the schema shows it."""
    return {f.id: _shown(f, row.get(f.id)) for f in schema.fields}


def _shown(field: DataField, value: Any) -> Any:
    if isinstance(field.type, RowType) and value is not None:
        return {f.name: value.get(f.name) for f in field.type.fields}
    return value


def a_row(schema: TableSchema, number: int, *, wide: bool) -> Row:
    """A row of a schema; a wide one holds values that only wider types hold."""
    return {f.id: _value(f, number, wide=wide) for f in schema.fields}


def _value(field: DataField, number: int, *, wide: bool) -> Any:
    if field.name == "id":
        return number
    if field.name == "dt":
        return f"day-{number % 2}"
    if field.name == "seq":
        return number + 1_000 * wide
    # Only of new keys, since a null of a partial update changes nothing.
    if wide and field.type.nullable and field.name in ("n", "v") and number % 2 and number > 3:
        return None
    match field.type:
        case ArrayType(element=element):
            return [_value(DataField(-1, "", element), number, wide=wide)]
        case RowType(fields=fields):
            return {f.name: _value(f, number, wide=wide) for f in fields}
    return _number_or_text(field.type, number, wide=wide)


def _number_or_text(data_type: DataType, number: int, *, wide: bool) -> Any:
    match data_type:
        case BigIntType():
            return (1 << 40) + number if wide else number
        case IntType() | SmallIntType():
            return number
        case DoubleType():
            return number + 0.1 if wide else float(number)
        case FloatType():
            return number + 0.5
        case DecimalType(precision=precision, scale=scale):
            digits = precision - 1 if wide else 3
            return Decimal(10 ** (digits - 1) + number).scaleb(-scale)
        case VarCharType(length=length):
            return f"x{number}" + ("-and-more" if wide and length > MIN_WIDE_LENGTH else "")
    message = f"no value of {data_type}"
    raise AssertionError(message)


def rows_of_ids(table: Table, ids: Iterable[int], *, wide: bool = False) -> pa.Table:
    """Rows under the schema of a table."""
    return arrow_rows(table.schema, [a_row(table.schema, number, wide=wide) for number in ids])


def arrow_rows(schema: TableSchema, rows: Sequence[Row]) -> pa.Table:
    """Rows of the model as Arrow."""
    named = [{f.name: row.get(f.id) for f in schema.fields} for row in rows]
    return pa.Table.from_pylist(named, schema=arrow_schema(schema.fields))
