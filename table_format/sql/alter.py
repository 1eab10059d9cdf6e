"""ALTER TABLE: columns, options, partitions, tags and branches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

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
from table_format.sql.column_types import is_flink, read_comment, read_type
from table_format.sql.grammar import Grammar, openings
from table_format.sql.reader import Reader, SqlName
from table_format.sql.tables import read_partition

_COMMENT: Final = "comment"
_MILLIS: Final = {"DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1_000}


@dataclass(frozen=True, slots=True)
class AlterTable:
    """Changes of the schema or the options, which are applied together."""

    name: SqlName
    changes: tuple[SchemaChange, ...]


@dataclass(frozen=True, slots=True)
class RenameTable:
    """``RENAME TO name``."""

    name: SqlName
    new_name: SqlName


@dataclass(frozen=True, slots=True)
class DropPartitions:
    """``DROP [IF EXISTS] PARTITION (...), PARTITION (...)``."""

    name: SqlName
    partitions: tuple[Mapping[str, Any], ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetTag:
    """``CREATE [OR REPLACE] TAG`` and ``REPLACE TAG``, with a snapshot id and the time for which the tag is kept."""

    name: SqlName
    tag: str
    snapshot_id: int | None = None
    retained_ms: int | None = None
    creates: bool = True
    replaces: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DeleteTags:
    """``DELETE TAG [IF EXISTS] `a,b```."""

    name: SqlName
    tags: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameTag:
    """``RENAME TAG a TO b``."""

    name: SqlName
    tag: str
    new_tag: str


@dataclass(frozen=True, slots=True)
class CreateBranch:
    """``CREATE BRANCH [IF NOT EXISTS] b [AS OF TAG t]``."""

    name: SqlName
    branch: str
    tag: str | None = None
    if_not_exists: bool = False
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class DeleteBranches:
    """``DELETE BRANCH [IF EXISTS] `a,b```."""

    name: SqlName
    branches: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameBranch:
    """``RENAME BRANCH a TO b``."""

    name: SqlName
    branch: str
    new_branch: str


AlterStatement: TypeAlias = (
    AlterTable
    | RenameTable
    | DropPartitions
    | SetTag
    | DeleteTags
    | RenameTag
    | CreateBranch
    | DeleteBranches
    | RenameBranch
)


def read_alter_statement(reader: Reader) -> AlterStatement:
    """Read a statement that changes a table.

    Raises:
        InvalidSql: the statement cannot be parsed.
        UnsupportedFeature: it has a clause that is not supported.
    """
    if reader.take("COMMENT", "ON", "TABLE"):
        name = reader.qualified_name()
        reader.expect("IS")
        found: AlterStatement = AlterTable(name, (SetComment(None if reader.take("NULL") else reader.string()),))
    elif reader.take("COMMENT", "ON", "COLUMN"):
        found = _column_comment(reader)
    else:
        reader.expect("ALTER", "TABLE")
        if reader.sees("IF", "EXISTS"):
            reader.refuse("ALTER TABLE IF EXISTS", "leave IF EXISTS out")
        found = _action(reader, reader.qualified_name())
    reader.end()
    return found


def _column_comment(reader: Reader) -> AlterStatement:
    """Read ``[database.]table.column IS 'text' | NULL``."""
    start = reader.offset
    path = reader.qualified_name("the name of a column")
    if len(path.parts) < 2:
        reader.fail("expected the name of a table before the name of the column", start)
    reader.expect("IS")
    comment = None if reader.take("NULL") else reader.string()
    table = SqlName(path.parts[:-1], path.start, path.end)
    return AlterTable(table, (SetColumnComment(path.parts[-1:], comment),))


def _action(reader: Reader, name: SqlName) -> AlterStatement:
    if reader.sees("PARTITION") or reader.sees("RENAME", "PARTITION"):
        reader.refuse("ALTER TABLE ... PARTITION", "write the rows again with other partition values")
    if reader.sees("REPLACE", "COLUMNS"):
        reader.refuse("REPLACE COLUMNS", "use DROP COLUMN and ADD COLUMN, which keep the other columns")
    if reader.sees("CLUSTER"):
        advice = "sort the rows with CALL sys.compact(..., order_strategy => 'zorder', order_by => ...)"
        reader.refuse("ALTER TABLE ... CLUSTER BY", advice)
    if reader.sees_any("CREATE", "REPLACE", "DELETE"):
        return _reference(reader, name)
    if reader.take("RENAME"):
        return _rename(reader, name)
    if reader.sees("DROP", "PARTITION") or reader.sees("DROP", "IF", "EXISTS", "PARTITION"):
        return _drop_partitions(reader, name)
    if reader.sees("ADD", "PARTITION") or reader.sees("ADD", "IF", "NOT", "EXISTS", "PARTITION"):
        reader.refuse("ALTER TABLE ... ADD PARTITION", "writing the first row of a partition creates it")
    if reader.sees("RECOVER"):
        reader.refuse("RECOVER PARTITIONS", "the snapshot lists the partitions, so there is nothing to recover")
    return AlterTable(name, tuple(_changes(reader)))


# --- schema and options -----------------------------------------------------------------------------------------------


def _changes(reader: Reader) -> list[SchemaChange]:
    if reader.take("SET"):
        return _set(reader)
    if reader.take("UNSET"):
        reader.expect("TBLPROPERTIES")
        reader.take("IF", "EXISTS")
        return [_removed(key) for key in reader.in_parentheses(reader.option_key)]
    if reader.take("RESET"):
        return [_removed(key) for key in reader.in_parentheses(reader.option_key)]
    if reader.take("ADD"):
        return _add(reader)
    if reader.take("DROP"):
        return _drop(reader)
    if not reader.take_any("ALTER", "CHANGE", "MODIFY"):
        reader.expected("ADD, ALTER, CREATE, DELETE, DROP, RENAME, REPLACE, RESET, SET or UNSET")
    reader.take("COLUMN")
    found = _alter_column(reader)
    while reader.take(","):
        found += _alter_column(reader)
    return found


def _set(reader: Reader) -> list[SchemaChange]:
    if reader.sees_any("LOCATION", "SERDE", "SERDEPROPERTIES"):
        word = reader.name().upper()
        reader.refuse(f"ALTER TABLE ... SET {word}", "the catalog determines the location of a table")
    reader.take("TBLPROPERTIES")
    return [SetComment(value) if key == _COMMENT else SetOption(key, value) for key, value in reader.options().items()]


def _removed(key: str) -> SchemaChange:
    return SetComment(None) if key == _COMMENT else RemoveOption(key)


def _add(reader: Reader) -> list[SchemaChange]:
    flink = is_flink(reader)
    reader.take_any("COLUMN", "COLUMNS")
    if reader.sees("IF", "NOT", "EXISTS"):
        reader.refuse("ADD COLUMN IF NOT EXISTS", "leave IF NOT EXISTS out; DESCRIBE shows the columns")
    for clause, advice in (
        ("CONSTRAINT", "declare the primary key in CREATE TABLE"),
        ("PRIMARY", "declare the primary key in CREATE TABLE"),
        ("WATERMARK", "only Flink uses watermarks of columns"),
    ):
        if reader.sees(clause):
            reader.refuse(f"ALTER TABLE ... ADD {clause}", advice)
    if reader.sees("("):
        return reader.in_parentheses(lambda: _added(reader, flink=flink))
    found = [_added(reader, flink=flink)]
    while reader.take(","):
        found.append(_added(reader, flink=flink))
    return found


def _added(reader: Reader, *, flink: bool) -> SchemaChange:
    path = _path(reader)
    start = reader.offset
    data_type = read_type(reader, flink=flink)
    comment, after, first = None, None, False
    while reader.word is not None and not reader.sees_any(",", ")"):
        if reader.sees("COMMENT"):
            comment = read_comment(reader)
        elif reader.take("FIRST"):
            first = True
        elif reader.take("AFTER"):
            after = reader.name("a column")
        elif reader.sees("DEFAULT"):
            reader.refuse(f"DEFAULT of a new column '{path[-1]}'", "add the column, then ALTER COLUMN ... SET DEFAULT")
        else:
            reader.expected("COMMENT, FIRST or AFTER")
    if not data_type.nullable:
        reader.refuse("adding a column that is NOT NULL", "existing rows have no value; leave NOT NULL out", start)
    return AddColumn(path, data_type, comment, after, first)


def _path(reader: Reader) -> tuple[str, ...]:
    return reader.qualified_name("the name of a column").parts


def _drop(reader: Reader) -> list[SchemaChange]:
    if not reader.take_any("COLUMN", "COLUMNS") and reader.sees_any("CONSTRAINT", "PRIMARY", "WATERMARK"):
        word = reader.name().upper()
        reader.refuse(f"ALTER TABLE ... DROP {word}", "the keys of a table cannot be changed")
    if reader.sees("IF", "EXISTS"):
        reader.refuse("DROP COLUMN IF EXISTS", "leave IF EXISTS out")
    if reader.sees("("):
        return [DropColumn(path) for path in reader.in_parentheses(lambda: _path(reader))]
    found: list[SchemaChange] = [DropColumn(_path(reader))]
    while reader.take(","):
        found.append(DropColumn(_path(reader)))
    return found


def _alter_column(reader: Reader) -> list[SchemaChange]:
    flink = is_flink(reader)
    path = _path(reader)
    found: list[SchemaChange] = []
    while reader.word is not None and not (found and reader.sees(",")):
        if reader.take("TYPE"):
            found.append(AlterColumnType(path, read_type(reader, flink=flink)))
        elif reader.take("SET", "NOT", "NULL"):
            found.append(SetNullability(path, nullable=False))
        elif reader.take("DROP", "NOT", "NULL"):
            found.append(SetNullability(path, nullable=True))
        elif reader.take("SET", "DEFAULT"):
            found.append(SetColumnDefault(path, reader.default_value(",")))
        elif reader.take("DROP", "DEFAULT"):
            found.append(SetColumnDefault(path, None))
        elif reader.sees("COMMENT"):
            found.append(SetColumnComment(path, read_comment(reader)))
        elif reader.take("FIRST"):
            found.append(MoveColumn(path, first=True))
        elif reader.take("AFTER"):
            found.append(MoveColumn(path, after=reader.name("a column")))
        elif found:
            reader.expected("COMMENT, FIRST or AFTER")
        else:
            found += _changed_column(reader, path, flink=flink)
    if not found:
        reader.expected("TYPE, COMMENT, FIRST, AFTER, or SET or DROP with NOT NULL or DEFAULT")
    return found


def _changed_column(reader: Reader, path: tuple[str, ...], *, flink: bool) -> list[SchemaChange]:
    """Read ``CHANGE a b INT`` (Hive; the second name is the new one) or ``MODIFY a INT`` (Flink)."""
    following = reader.words[reader.position + 1] if reader.position + 1 < len(reader.words) else None
    if following is None or not following.is_name or following.says("COMMENT"):
        return [AlterColumnType(path, read_type(reader, flink=flink))]
    new_name = reader.name("the name of a column")
    changed = AlterColumnType(path, read_type(reader, flink=flink))
    return [changed] if new_name == path[-1] else [changed, RenameColumn(path, new_name)]


# --- names and partitions ---------------------------------------------------------------------------------------------


def _rename(reader: Reader, name: SqlName) -> AlterStatement:
    if reader.take("TO"):
        return RenameTable(name, reader.qualified_name("the new name"))
    for kind in ("TAG", "BRANCH"):
        if reader.take(kind):
            old = reader.name(f"the name of a {kind.lower()}")
            reader.expect("TO")
            new = reader.name("the new name")
            return RenameTag(name, old, new) if kind == "TAG" else RenameBranch(name, old, new)
    reader.take("COLUMN")
    path = _path(reader)
    reader.expect("TO")
    return AlterTable(name, (RenameColumn(path, reader.name("the new name")),))


def _drop_partitions(reader: Reader, name: SqlName) -> DropPartitions:
    reader.expect("DROP")
    if_exists = reader.take("IF", "EXISTS")
    found = []
    while True:
        reader.expect("PARTITION")
        found.append(read_partition(reader))
        if not reader.take(","):
            break
    reader.take("PURGE")
    return DropPartitions(name, tuple(found), if_exists)


# --- tags and branches ------------------------------------------------------------------------------------------------


def _reference(reader: Reader, name: SqlName) -> AlterStatement:
    deletes = reader.take("DELETE")
    creates = not deletes and reader.take("CREATE")
    replaces = not deletes and (reader.take("OR", "REPLACE") if creates else reader.take("REPLACE"))
    if reader.take("TAG"):
        if deletes:
            if_exists = reader.take("IF", "EXISTS")
            return DeleteTags(name, _names(reader, "a tag"), if_exists)
        return _set_tag(reader, name, creates=creates, replaces=replaces)
    reader.expect("BRANCH")
    if deletes:
        if_exists = reader.take("IF", "EXISTS")
        return DeleteBranches(name, _names(reader, "a branch"), if_exists)
    if not creates:
        reader.refuse("REPLACE BRANCH", "delete the branch, and create it again from a tag")
    if_not_exists = reader.take("IF", "NOT", "EXISTS")
    branch = reader.name("the name of a branch")
    tag = None
    if reader.take("AS", "OF"):
        if not reader.take("TAG"):
            reader.refuse("a branch of a version", "create a tag of the snapshot, and write AS OF TAG")
        tag = reader.name("the name of a tag")
    return CreateBranch(name, branch, tag, if_not_exists, replaces)


def _names(reader: Reader, what: str) -> tuple[str, ...]:
    found = [reader.name(f"the name of {what}")]
    while reader.take(","):
        found.append(reader.name(f"the name of {what}"))
    return tuple(part.strip() for name in found for part in name.split(","))


def _set_tag(reader: Reader, name: SqlName, *, creates: bool, replaces: bool) -> SetTag:
    if_not_exists = reader.take("IF", "NOT", "EXISTS")
    tag = reader.name("the name of a tag")
    snapshot_id = reader.whole_number() if reader.take("AS", "OF", "VERSION") else None
    retained_ms = None
    if reader.take("RETAIN"):
        number = reader.whole_number()
        start = reader.offset
        unit = reader.name("DAYS, HOURS, MINUTES or SECONDS").upper().removesuffix("S")
        if unit not in _MILLIS:
            reader.fail("expected DAYS, HOURS, MINUTES or SECONDS", start)
        retained_ms = number * _MILLIS[unit]
    return SetTag(name, tag, snapshot_id, retained_ms, creates, replaces, if_not_exists)


GRAMMAR: Final = Grammar(openings("ALTER TABLE", "COMMENT ON TABLE", "COMMENT ON COLUMN"), read_alter_statement)
