"""Reads CREATE, REPLACE, DROP, TRUNCATE, ANALYZE and REFRESH TABLE, in the syntax of Spark or Flink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from table_format.model.types import DataType
from table_format.sql.column_types import is_flink, read_comment, read_type
from table_format.sql.default_values import read_default
from table_format.sql.grammar import Grammar, openings
from table_format.sql.reader import Reader, SqlName


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """One column of a CREATE TABLE or an ADD COLUMN; ``default`` is the text of an expression."""

    name: str
    type: DataType
    comment: str | None = None
    default: str | None = None


@dataclass(frozen=True, slots=True)
class CreateTable:
    """``CREATE [OR REPLACE] TABLE`` with columns, with a query (as text), or like another table."""

    name: SqlName
    columns: tuple[ColumnDefinition, ...] = ()
    primary_keys: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    if_not_exists: bool = False
    or_replace: bool = False
    must_exist: bool = False
    provider: str | None = None
    query: str | None = None
    like: SqlName | None = None


@dataclass(frozen=True, slots=True)
class DropTable:
    """``DROP TABLE [IF EXISTS] name``."""

    name: SqlName
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class TruncateTable:
    """``TRUNCATE TABLE name [PARTITION (...)]``."""

    name: SqlName
    partition: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AnalyzeTable:
    """``ANALYZE TABLE name COMPUTE STATISTICS``; ``columns`` is ``None`` for all columns."""

    name: SqlName
    columns: tuple[str, ...] | None = ()


@dataclass(frozen=True, slots=True)
class RefreshTable:
    """``REFRESH TABLE name``, which has no effect."""

    name: SqlName


TableStatement: TypeAlias = CreateTable | DropTable | TruncateTable | AnalyzeTable | RefreshTable

_REFUSED_CLAUSES: Final = {
    "LOCATION": "tables are stored in the warehouse of the catalog",
    "CLUSTERED": "set the option 'bucket', and 'bucket-key' for the columns",
    "CLUSTER": "sort the rows with CALL sys.compact(..., order_strategy => 'zorder', order_by => ...)",
    "SKEWED": "choose a bucket key that spreads the rows",
    "STORED": "set the option 'file.format'",
    "ROW": "set the option 'file.format'",
    "DISTRIBUTED": "set the options 'bucket' and 'bucket-key'",
}
_REFUSED_ELEMENTS: Final = {
    "WATERMARK": "only Flink uses watermarks of columns",
    "UNIQUE": "declare a PRIMARY KEY",
    "CHECK": "check rows before they are written",
    "FOREIGN": "the format has no foreign keys",
}
_REFUSED_OF_COLUMN: Final = {
    "METADATA": "only connectors of Flink have metadata columns",
    "GENERATED": "compute the column in the query that writes it",
    "AS": "compute the column in the query that writes it",
    "UNIQUE": "declare a PRIMARY KEY",
    "CHECK": "check rows before they are written",
    "REFERENCES": "the format has no foreign keys",
}


def read_table_statement(reader: Reader) -> TableStatement:
    """Read a statement about a whole table.

    Raises:
        InvalidSql: the statement cannot be parsed.
        UnsupportedFeature: it has a clause that is not supported.
    """
    if reader.sees("CREATE") or reader.sees("REPLACE"):
        found: TableStatement = _create(reader)
    elif reader.take("DROP", "TABLE"):
        if_exists = reader.take("IF", "EXISTS")
        found = DropTable(reader.qualified_name(), if_exists)
        reader.take("PURGE")
    elif reader.take("TRUNCATE", "TABLE"):
        name = reader.qualified_name()
        found = TruncateTable(name, read_partition(reader) if reader.take("PARTITION") else None)
    elif reader.take("ANALYZE", "TABLE"):
        found = _analyze(reader)
    else:
        reader.expect("REFRESH")
        reader.take("TABLE")
        found = RefreshTable(reader.qualified_name())
    reader.end()
    return found


def read_partition(reader: Reader) -> dict[str, Any]:
    """Read the values of partition columns: ``(dt = '2026-01-01', hh = 10)``."""

    def item() -> tuple[str, Any]:
        name = reader.name("a partition column")
        reader.expect("=")
        return name, reader.value()

    return dict(reader.in_parentheses(item))


def read_column(reader: Reader, *, flink: bool) -> tuple[ColumnDefinition, bool]:
    """Read a column with its name, type and clauses. Also return whether it is the primary key."""
    name = reader.name("the name of a column")
    if reader.sees("AS"):
        reader.refuse("a computed column", _REFUSED_OF_COLUMN["AS"])
    data_type = read_type(reader, flink=flink)
    comment, default, is_key = None, None, False
    while True:
        if reader.take("NOT", "NULL"):
            data_type = data_type.with_nullable(False)
        elif reader.take("DEFAULT"):
            default = read_default(reader)
        elif reader.take("PRIMARY", "KEY"):
            is_key = True
            reader.take("NOT", "ENFORCED")
        elif reader.sees("COMMENT"):
            comment = read_comment(reader)
        else:
            break
    for clause, advice in _REFUSED_OF_COLUMN.items():
        if reader.sees(clause):
            reader.refuse(f"{clause} of column '{name}'", advice)
    return ColumnDefinition(name, data_type, comment, default), is_key


@dataclass(slots=True)
class _Elements:
    columns: list[ColumnDefinition] = field(default_factory=list)
    primary_keys: list[str] = field(default_factory=list)


def _create(reader: Reader) -> CreateTable:
    flink = is_flink(reader)
    must_exist = not reader.take("CREATE")
    or_replace = must_exist or reader.take("OR")
    if or_replace:
        reader.expect("REPLACE")
    for kind, advice in (
        ("TEMPORARY", "CREATE TEMPORARY VIEW ... AS SELECT, or spark.createDataFrame"),
        ("EXTERNAL", "tables are stored in the warehouse of the catalog"),
    ):
        if reader.sees(kind):
            reader.refuse(f"CREATE {kind} TABLE", advice)
    reader.expect("TABLE")
    if_not_exists = reader.take("IF", "NOT", "EXISTS")
    name = reader.qualified_name()
    elements = _Elements()
    if reader.sees("(") and not _is_query_in_parentheses(reader):
        reader.in_parentheses(lambda: _element(reader, elements, flink=flink))
    found = CreateTable(name, if_not_exists=if_not_exists, or_replace=or_replace, must_exist=must_exist)
    return _clauses(reader, found, elements, flink=flink)


def _is_query_in_parentheses(reader: Reader) -> bool:
    return any(reader.sees("(", word) for word in ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "("))


def _element(reader: Reader, found: _Elements, *, flink: bool) -> None:
    start = reader.offset
    if reader.take("CONSTRAINT"):
        reader.name("the name of a constraint")
    if reader.take("PRIMARY", "KEY"):
        if found.primary_keys:
            reader.fail("there are two primary keys", start)
        found.primary_keys += reader.in_parentheses(lambda: reader.name("a column of the primary key"))
        reader.take("NOT", "ENFORCED")
        return
    for clause, advice in _REFUSED_ELEMENTS.items():
        if reader.sees(clause, "(") or reader.sees(clause, "FOR") or reader.sees(clause, "KEY"):
            reader.refuse(clause, advice)
    column, is_key = read_column(reader, flink=flink)
    found.columns.append(column)
    if is_key:
        if found.primary_keys:
            reader.fail("there are two primary keys", start)
        found.primary_keys.append(column.name)


def _clauses(reader: Reader, found: CreateTable, elements: _Elements, *, flink: bool) -> CreateTable:
    options: dict[str, str] = {}
    while reader.word is not None:
        start = reader.offset
        if reader.take("USING"):
            found = replace(found, provider=reader.name("the name of a format").lower())
        elif reader.take("PARTITIONED", "BY"):
            keys = reader.in_parentheses(lambda: _partition_column(reader, elements, flink=flink))
            found = replace(found, partition_keys=tuple(keys))
        elif reader.sees("COMMENT"):
            found = replace(found, comment=read_comment(reader))
        elif reader.take_any("TBLPROPERTIES", "OPTIONS") or (reader.sees("WITH", "(") and reader.take("WITH")):
            options.update(reader.options())
        elif reader.take("LIKE"):
            found = replace(found, like=reader.qualified_name())
            if reader.sees("("):
                reader.refuse("options of LIKE", "LIKE copies the columns, keys, comment and options of the table")
        elif reader.take("AS") or reader.sees_any("SELECT", "WITH", "(", "VALUES", "FROM", "TABLE"):
            found = replace(found, query=reader.rest())
        else:
            for clause, advice in _REFUSED_CLAUSES.items():
                if reader.sees(clause):
                    reader.refuse(f"CREATE TABLE ... {clause}", advice)
            reader.fail(f"expected a clause of CREATE TABLE, found '{reader.word.text}'", start)
    if found.query is not None and elements.columns:
        reader.fail("the query determines the columns; leave out the list of columns", found.name.end)
    return replace(found, columns=tuple(elements.columns), primary_keys=tuple(elements.primary_keys), options=options)


def _partition_column(reader: Reader, elements: _Elements, *, flink: bool) -> str:
    start = reader.offset
    name = reader.name("a partition column")
    if reader.sees("("):
        reader.refuse(
            f"the partition transform '{name}(...)'", "add a column that holds the value, and partition by it", start
        )
    if not reader.sees_any(",", ")"):
        # As in Hive, the column is declared only here.
        reader.position -= 1
        column, _ = read_column(reader, flink=flink)
        elements.columns.append(column)
    return name


def _analyze(reader: Reader) -> AnalyzeTable:
    name = reader.qualified_name()
    if reader.sees("PARTITION"):
        reader.refuse("ANALYZE TABLE ... PARTITION", "statistics always cover the whole table; leave PARTITION out")
    reader.expect("COMPUTE", "STATISTICS")
    if reader.take("FOR", "ALL", "COLUMNS"):
        return AnalyzeTable(name, None)
    if reader.take("FOR", "COLUMNS"):
        columns = [reader.name("a column")]
        while reader.take(","):
            columns.append(reader.name("a column"))
        return AnalyzeTable(name, tuple(columns))
    reader.take("NOSCAN")
    return AnalyzeTable(name)


GRAMMAR: Final = Grammar(
    openings(
        *(
            f"{verb} TABLE"
            for verb in (
                *("CREATE", "CREATE OR REPLACE", "REPLACE", "DROP", "TRUNCATE", "ANALYZE", "REFRESH"),
                *("CREATE TEMPORARY", "CREATE EXTERNAL"),
            )
        ),
        "REFRESH",
    ),
    read_table_statement,
)
