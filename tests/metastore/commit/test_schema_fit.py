"""Files of an older schema may be committed if their rows still have the same meaning."""

from __future__ import annotations

from dataclasses import replace

import pytest

from table_format.metastore.commit.schema_fit import find_misfit
from table_format.metastore.schema.schema_changes import apply_changes
from table_format.model.schema import TableSchema
from table_format.model.schema_change import (
    AddColumn,
    AlterColumnType,
    DropColumn,
    MoveColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetColumnComment,
    SetComment,
    SetNullability,
    SetOption,
)
from table_format.model.types import BigIntType, DataField, IntType, RowType, VarCharType

OLD = TableSchema(
    0,
    (
        DataField(0, "id", BigIntType(nullable=False)),
        DataField(1, "v", IntType()),
        DataField(2, "n", IntType(nullable=False)),
        DataField(3, "s", RowType((DataField(4, "a", IntType()),))),
        DataField(5, "seq", BigIntType()),
    ),
    5,
    (),
    ("id",),
    {"bucket": "2", "merge-engine": "partial-update", "sequence.field": "seq", "fields.v.aggregate-function": "sum"},
)

HARMLESS: list[list[SchemaChange]] = [
    [],
    [RenameColumn("v", "w")],
    [RenameColumn("seq", "x"), RenameColumn("v", "seq"), RenameColumn("x", "v")],
    [RenameColumn("id", "key")],
    [MoveColumn("v", first=True)],
    [SetComment("c"), SetColumnComment("v", "c")],
    [DropColumn("n")],
    [SetOption("snapshot.num-retained.max", "9"), SetOption("write-only", "true"), SetOption("file.format", "orc")],
    [SetOption("changelog-producer", "none"), SetOption("ignore-delete", "false")],
    [SetOption("owner", "somebody")],
]
ONLY_NEW_ROWS: list[list[SchemaChange]] = [
    [AddColumn("c", IntType())],
    [AddColumn(("s", "b"), IntType())],
    [AlterColumnType("v", BigIntType())],
    [AlterColumnType(("s", "a"), BigIntType())],
    [SetNullability("n", nullable=True)],
]
NEVER: list[tuple[str, list[SchemaChange]]] = [
    ("option 'changelog-producer' changed from 'none' to 'input'", [SetOption("changelog-producer", "input")]),
    ("option 'bucket' changed from '2' to '4'", [SetOption("bucket", "4")]),
    ("option 'sequence.field' changed from 'seq' to ''", [RemoveOption("sequence.field")]),
    ("option 'sequence.field' changed from 'seq' to 'seq,v'", [SetOption("sequence.field", "seq,v")]),
    (
        "option 'deletion-vectors.enabled' changed from 'false' to 'true'",
        [SetOption("deletion-vectors.enabled", "true")],
    ),
    ("option 'ignore-delete' changed from 'false' to 'true'", [SetOption("partial-update.ignore-delete", "true")]),
    (
        "option 'fields.<column>.aggregate-function' changed from v=sum to v=max",
        [SetOption("fields.v.aggregate-function", "max")],
    ),
    (
        "option 'partition.default-name' changed from '__DEFAULT_PARTITION__' to 'nothing'",
        [SetOption("partition.default-name", "nothing")],
    ),
]


@pytest.mark.parametrize("changes", HARMLESS)
@pytest.mark.parametrize("rewritten", [False, True])
def test_rows_that_mean_the_same_may_join_however_they_were_made(changes: list[SchemaChange], rewritten: bool) -> None:
    assert find_misfit(OLD, apply_changes(OLD, changes), rewritten=rewritten) is None


@pytest.mark.parametrize("changes", ONLY_NEW_ROWS)
def test_new_rows_may_be_committed_under_a_wider_schema_but_rewritten_rows_may_not(changes: list[SchemaChange]) -> None:
    latest = apply_changes(OLD, changes)
    assert find_misfit(OLD, latest, rewritten=False) is None
    found = find_misfit(OLD, latest, rewritten=True)
    assert found is not None
    assert "may have been written in the meantime, and would be lost" in found


@pytest.mark.parametrize(("reason", "changes"), NEVER)
@pytest.mark.parametrize("rewritten", [False, True])
def test_no_rows_are_committed_to_a_table_that_places_or_merges_rows_differently(
    reason: str, changes: list[SchemaChange], rewritten: bool
) -> None:
    found = find_misfit(OLD, apply_changes(OLD, changes), rewritten=rewritten)
    assert found is not None
    assert reason in found


def test_what_only_others_can_do_to_a_schema_is_refused_too() -> None:
    def with_field(number: int, **changes: object) -> TableSchema:
        fields = list(OLD.fields)
        fields[number] = replace(fields[number], **changes)
        return replace(OLD, id=1, fields=tuple(fields))

    required = DataField(6, "c", IntType(nullable=False))
    cases = {
        "column 'v' became NOT NULL": with_field(1, type=IntType(nullable=False)),
        "column 'seq' changed from BIGINT to INT": with_field(4, type=IntType()),
        "column 'v' changed from INT to STRING": with_field(1, type=VarCharType()),
        "column 'c' was added as NOT NULL": replace(OLD, id=1, fields=(*OLD.fields, required)),
        "the primary key changed from (id) to (n)": replace(OLD, id=1, primary_keys=("n",)),
        "the partition keys changed from () to (n)": replace(OLD, id=1, partition_keys=("n",)),
        "the bucket key changed": replace(OLD, id=1, options={**OLD.options, "bucket-key": "n"}),
    }
    for reason, latest in cases.items():
        found = find_misfit(OLD, latest, rewritten=False)
        assert found is not None, reason
        assert reason in found
