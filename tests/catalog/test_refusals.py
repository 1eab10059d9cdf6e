"""What no table may be created with, and what no ALTER may do: refused by name, with nothing left or changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pytest

from table_format import Schema
from table_format.errors import InvalidInputError, InvalidOption, InvalidSchemaChange, TableFormatError
from table_format.model.schema_change import (
    AddColumn,
    AlterColumnType,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetNullability,
    SetOption,
)
from table_format.model.types import BigIntType, IntType
from tests.support.tables import Warehouse, keyed

COLUMNS = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        ("p", pa.string()),
        ("s", pa.int64()),
        ("v", pa.string()),
        ("a", pa.list_(pa.int32())),
    ]
)
K = ("k",)


@pytest.mark.parametrize(
    ("keys", "partitions", "options", "named"),
    [
        (K, (), {"bucket": "-5"}, "'bucket'"),
        (K, (), {"bucket": "0"}, "'bucket'"),
        ((), (), {"bucket": "2"}, "'bucket-key'"),
        ((), (), {"bucket": "-1", "bucket-key": "s"}, "'bucket-key'"),
        ((), (), {"bucket": "2", "bucket-key": "nope"}, "'nope' does not exist"),
        ((), (), {"bucket": "2", "bucket-key": "a"}, "'a' is ARRAY<INT>"),
        ((), ("p",), {"bucket": "2", "bucket-key": "p"}, "'p' is a partition column"),
        (K, (), {"bucket": "2", "bucket-key": "v"}, "'v' is not in the primary key"),
        (K, (), {"bucket": "2", "merge-engine": "zzz"}, "'merge-engine': 'zzz' is not a legal value"),
        (K, (), {"bucket": "2", "sequence.field": "nope"}, "'sequence.field'"),
        (K, (), {"bucket": "2", "sequence.field": "s,s"}, "'sequence.field'"),
        (K, (), {"bucket": "2", "sequence.field": "a"}, "'sequence.field'"),
        ((), (), {"sequence.field": "s"}, "'sequence.field'"),
        (K, (), {"bucket": "2", "rowkind.field": "nope"}, "'rowkind.field'"),
        (K, (), {"bucket": "2", "rowkind.field": "s"}, "'rowkind.field'"),
        ((), (), {"changelog-producer": "input"}, "'changelog-producer'"),
        ((), (), {"snapshot.num-retained.min": "0"}, "'snapshot.num-retained.min'"),
        ((), (), {"snapshot.num-retained.min": "5", "snapshot.num-retained.max": "2"}, "5 is more than"),
        (
            (),
            (),
            {"streaming-read-overwrite": "true"},
            "'streaming-read-overwrite': requires a table with a primary key",
        ),
        ((), (), {"scan.fallback-branch": "nope"}, "'scan.fallback-branch': the table has no branch 'nope'"),
        ((), (), {"scan.mode": "from-timestamp"}, "'scan.mode'"),
        ((), (), {"scan.snapshot-id": "1", "scan.timestamp-millis": "2"}, "one starting point"),
        ((), (), {"file.format": "zzz"}, "'file.format'"),
        ((), (), {"target-file-row-num": "0"}, "'target-file-row-num'"),
        (("p",), ("p",), {"bucket": "2"}, "holds partition columns only"),
        (("a",), (), {"bucket": "2"}, "'a' is ARRAY<INT>"),
        (("k", "k"), (), {"bucket": "2"}, "more than one column named 'k'"),
        (("nope",), (), {"bucket": "2"}, "'nope' does not exist"),
        ((), ("a",), {}, "'a' is ARRAY<INT>"),
        ((), ("nope",), {}, "'nope' does not exist"),
    ],
    ids=str,
)
def test_a_table_that_cannot_be_is_refused_at_create_and_leaves_nothing(
    warehouse: Warehouse, keys: Sequence[str], partitions: Sequence[str], options: Mapping[str, str], named: str
) -> None:
    with pytest.raises(InvalidInputError) as refusal:
        warehouse.catalog.create_table("db.t", Schema.from_arrow(COLUMNS, keys, partitions, options))
    assert named in str(refusal.value)
    assert not warehouse.catalog.table_exists("db.t")
    assert warehouse.catalog.list_tables("db") == ()


IMMUTABLE = (
    "merge-engine",
    "bucket-key",
    "bucket-function.type",
    "data-file.path-directory",
    "rowkind.field",
    "primary-key",
    "partition",
    "path",
    "type",
    "partial-update.remove-record-on-delete",
    "aggregation.remove-record-on-delete",
    "sequence.snapshot-ordering",
    "row-tracking.enabled",
)


@pytest.mark.parametrize("key", IMMUTABLE)
def test_an_option_that_is_fixed_at_create_is_refused_on_alter(warehouse: Warehouse, key: str) -> None:
    values = {
        "merge-engine": "aggregation",
        "bucket-function.type": "mod",
        "rowkind.field": "dt",
        "type": "format-table",
        "data-file.path-directory": "data",
    }
    value = values.get(key, "true" if key.endswith(("delete", "ordering", "enabled")) else "id")
    table = warehouse.table(primary_keys=["id"])
    table.append(keyed([(1, "a", 1)]))
    with pytest.raises(TableFormatError, match=key):
        warehouse.catalog.alter_table("db.t", SetOption(key, value))
    assert warehouse.reopened(table).schema == table.schema


@pytest.mark.parametrize(
    ("change", "error", "named"),
    [
        (DropColumn("id"), InvalidSchemaChange, "cannot drop column 'id'"),
        (DropColumn("dt"), InvalidSchemaChange, "cannot drop column 'dt'"),
        (RenameColumn("dt", "day"), InvalidSchemaChange, "cannot rename column 'dt'"),
        (RenameColumn("v", "dt"), InvalidSchemaChange, "'dt' already exists"),
        (AlterColumnType("dt", IntType()), InvalidSchemaChange, "'dt'"),
        (AlterColumnType("id", BigIntType()), InvalidSchemaChange, "'id'"),
        (SetNullability("id", nullable=True), InvalidSchemaChange, "'id'"),
        (SetNullability("v", nullable=False), InvalidSchemaChange, "cannot become NOT NULL"),
        (AddColumn("v", IntType()), InvalidSchemaChange, "already exists"),
        (AddColumn("n", IntType(nullable=False)), InvalidSchemaChange, "must be nullable"),
        (SetOption("bucket", "-1"), InvalidOption, "only between positive numbers"),
        (RemoveOption("bucket"), InvalidOption, "only between positive numbers"),
        (SetOption("sequence.field", "nope"), InvalidOption, "'nope' does not exist"),
        (SetOption("snapshot.num-retained.max", "1"), InvalidOption, "is more than"),
        (SetOption("scan.fallback-branch", "nope"), InvalidOption, "has no branch 'nope'"),
    ],
    ids=str,
)
def test_a_change_that_cannot_be_is_refused_at_alter_and_changes_nothing(
    warehouse: Warehouse, change: SchemaChange, error: type[Exception], named: str
) -> None:
    table = warehouse.table(primary_keys=["id", "dt"], partition_keys=["dt"])
    table.append(keyed([(1, "a", 1)]))
    with pytest.raises(error) as refusal:
        warehouse.catalog.alter_table("db.t", change)
    assert named in str(refusal.value)
    assert warehouse.reopened(table).schema == table.schema


def test_a_key_column_may_be_renamed_and_keeps_its_rows(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id", "dt"], partition_keys=["dt"])
    table.append(keyed([(1, "a", 1)]))
    renamed = warehouse.catalog.alter_table("db.t", RenameColumn("id", "key"))
    assert renamed.schema.primary_keys == ("key", "dt")
    assert renamed.scan().to_arrow().to_pylist() == [{"key": 1, "dt": "a", "v": 1}]


def test_a_branch_to_fall_back_on_is_named_once_it_exists(warehouse: Warehouse) -> None:
    table = warehouse.table()
    table.create_branch("other")
    changed = warehouse.catalog.alter_table("db.t", SetOption("scan.fallback-branch", "other"))
    assert changed.schema.options["scan.fallback-branch"] == "other"
