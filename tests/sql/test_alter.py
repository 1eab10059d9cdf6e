"""Parsing of ALTER TABLE."""

from __future__ import annotations

import pytest

from table_format.errors import UnsupportedFeature
from table_format.model.schema_change import (
    AddColumn,
    AlterColumnType,
    DropColumn,
    MoveColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetColumnComment,
    SetColumnDefault,
    SetComment,
    SetNullability,
    SetOption,
)
from table_format.model.types import MAX_LENGTH, BigIntType, IntType, VarCharType
from table_format.sql.alter import (
    AlterTable,
    CreateBranch,
    DeleteBranches,
    DeleteTags,
    DropPartitions,
    RenameBranch,
    RenameTable,
    RenameTag,
    SetTag,
    read_alter_statement,
)
from table_format.sql.reader import Reader, SqlName

T = SqlName(("d", "t"))

CHANGES: dict[str, tuple[SchemaChange, ...]] = {
    "SET TBLPROPERTIES ('a' = 'b', 'comment' = 'c')": (SetOption("a", "b"), SetComment("c")),
    "SET ('a' = 'b')": (SetOption("a", "b"),),
    "UNSET TBLPROPERTIES IF EXISTS ('a', 'comment')": (RemoveOption("a"), SetComment(None)),
    "RESET ('a')": (RemoveOption("a"),),
    "ADD COLUMNS (a INT, b STRING COMMENT 'x' FIRST)": (
        AddColumn(("a",), IntType()),
        AddColumn(("b",), VarCharType(MAX_LENGTH), "x", first=True),
    ),
    "ADD COLUMN s.a INT AFTER b": (AddColumn(("s", "a"), IntType(), after="b"),),
    "ADD (a INT)": (AddColumn(("a",), IntType()),),
    "DROP COLUMNS (a, s.b)": (DropColumn(("a",)), DropColumn(("s", "b"))),
    "DROP COLUMN a": (DropColumn(("a",)),),
    "RENAME COLUMN s.a TO b": (RenameColumn(("s", "a"), "b"),),
    "ALTER COLUMN a TYPE BIGINT COMMENT 'x' FIRST": (
        AlterColumnType(("a",), BigIntType()),
        SetColumnComment(("a",), "x"),
        MoveColumn(("a",), first=True),
    ),
    "ALTER a AFTER b": (MoveColumn(("a",), after="b"),),
    "ALTER COLUMN a TYPE BIGINT COMMENT 'x', s.b FIRST, c AFTER a": (
        AlterColumnType(("a",), BigIntType()),
        SetColumnComment(("a",), "x"),
        MoveColumn(("s", "b"), first=True),
        MoveColumn(("c",), after="a"),
    ),
    "ALTER COLUMN a SET NOT NULL": (SetNullability(("a",), nullable=False),),
    "ALTER COLUMN a DROP NOT NULL": (SetNullability(("a",), nullable=True),),
    "CHANGE COLUMN a b BIGINT": (AlterColumnType(("a",), BigIntType()), RenameColumn(("a",), "b")),
    "MODIFY a BIGINT": (AlterColumnType(("a",), BigIntType()),),
}


@pytest.mark.parametrize("text", CHANGES)
def test_changes_of_a_schema(text: str) -> None:
    assert read_alter_statement(Reader.of(f"ALTER TABLE d.t {text}")) == AlterTable(T, CHANGES[text])


OTHERS: dict[str, object] = {
    "RENAME TO d.u": RenameTable(T, SqlName(("d", "u"))),
    "DROP PARTITION (a = 1, b = 'x'), PARTITION (a = 2, b = 'y')": DropPartitions(
        T, ({"a": 1, "b": "x"}, {"a": 2, "b": "y"})
    ),
    "CREATE TAG `x-1`": SetTag(T, "x-1"),
    "CREATE TAG IF NOT EXISTS x AS OF VERSION 3 RETAIN 7 DAYS": SetTag(T, "x", 3, 604_800_000, if_not_exists=True),
    "CREATE OR REPLACE TAG x RETAIN 2 HOURS": SetTag(T, "x", None, 7_200_000, replaces=True),
    "REPLACE TAG x AS OF VERSION 1": SetTag(T, "x", 1, creates=False, replaces=True),
    "DELETE TAG IF EXISTS `a,b`": DeleteTags(T, ("a", "b"), if_exists=True),
    "RENAME TAG a TO b": RenameTag(T, "a", "b"),
    "CREATE BRANCH b AS OF TAG x": CreateBranch(T, "b", "x"),
    "DELETE BRANCH b": DeleteBranches(T, ("b",)),
    "RENAME BRANCH a TO b": RenameBranch(T, "a", "b"),
}


@pytest.mark.parametrize("text", OTHERS)
def test_names_partitions_tags_and_branches(text: str) -> None:
    assert read_alter_statement(Reader.of(f"ALTER TABLE d.t {text}")) == OTHERS[text]


TEXTS = {
    "'it''s'": "it's",
    "''''": "'",
    '"a""b"': 'a"b',
    "'it' 's'": "its",
    "'a'" + '"b"': "ab",
    r"r'a\n'": r"a\n",
    r"'a\n'": "a\n",
    "''": "",
}


@pytest.mark.parametrize(("literal", "value"), TEXTS.items())
def test_comment_on_table_sets_the_comment(literal: str, value: str) -> None:
    text = f"COMMENT ON TABLE d.t IS {literal}"
    assert read_alter_statement(Reader.of(text)) == AlterTable(T, (SetComment(value),))


def test_a_default_value_is_set_and_removed() -> None:
    for text, default in (
        ("SET DEFAULT 'x'", "'x'"),
        ("SET DEFAULT 'it''s'", "'it's'"),
        (r"SET DEFAULT 'a\n'", "'a\n'"),
        ("SET DEFAULT ARRAY('x')", "ARRAY(x)"),
        ("DROP DEFAULT", None),
    ):
        found = read_alter_statement(Reader.of(f"ALTER TABLE d.t ALTER COLUMN a {text}"))
        assert found == AlterTable(T, (SetColumnDefault(("a",), default),))


REFUSED = (
    "ADD PARTITION (a = 1)",
    "ADD COLUMN a INT NOT NULL",
    "ADD COLUMN a INT DEFAULT 3",
    "ADD CONSTRAINT x PRIMARY KEY (a)",
    "DROP PRIMARY KEY",
    "SET LOCATION '/x'",
    "RECOVER PARTITIONS",
    "PARTITION (a = 1) RENAME TO PARTITION (a = 2)",
    "CREATE BRANCH b AS OF VERSION 1",
)


@pytest.mark.parametrize("text", REFUSED)
def test_a_clause_that_is_not_supported_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedFeature, match=r"^line 1, column \d+: .* is not supported; \w"):
        read_alter_statement(Reader.of(f"ALTER TABLE d.t {text}"))
