"""Reads CREATE, ALTER and DROP MATERIALIZED TABLE, in the syntax of Flink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from table_format.options.materialized import UNITS_MS
from table_format.sql.column_types import read_comment
from table_format.sql.grammar import Grammar, openings
from table_format.sql.reader import Reader, SqlName
from table_format.sql.tables import read_partition


@dataclass(frozen=True, slots=True)
class Freshness:
    """``INTERVAL '30' SECOND``: the age that the rows of a table may have. ``unit`` is a key of ``UNITS_MS``."""

    interval: int
    unit: str


@dataclass(frozen=True, slots=True)
class CreateMaterializedTable:
    """``CREATE MATERIALIZED TABLE [IF NOT EXISTS] name [(PRIMARY KEY (...))] clauses AS query``; ``query`` is a text.

    ``is_full`` tells whether the statement says ``REFRESH_MODE = FULL``.
    """

    name: SqlName
    query: str
    freshness: Freshness
    primary_keys: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    if_not_exists: bool = False
    is_full: bool = False


@dataclass(frozen=True, slots=True)
class RefreshMaterializedTable:
    """``ALTER MATERIALIZED TABLE name REFRESH [PARTITION (...)]``."""

    name: SqlName
    partition: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SuspendMaterializedTable:
    """``ALTER MATERIALIZED TABLE name SUSPEND | RESUME``."""

    name: SqlName
    suspends: bool


@dataclass(frozen=True, slots=True)
class SetFreshness:
    """``ALTER MATERIALIZED TABLE name SET FRESHNESS = INTERVAL '1' HOUR``."""

    name: SqlName
    freshness: Freshness


@dataclass(frozen=True, slots=True)
class SetQuery:
    """``ALTER MATERIALIZED TABLE name AS query``."""

    name: SqlName
    query: str


@dataclass(frozen=True, slots=True)
class DropMaterializedTable:
    """``DROP MATERIALIZED TABLE [IF EXISTS] name``."""

    name: SqlName
    if_exists: bool = False


MaterializedTableStatement: TypeAlias = (
    CreateMaterializedTable
    | RefreshMaterializedTable
    | SuspendMaterializedTable
    | SetFreshness
    | SetQuery
    | DropMaterializedTable
)

_CONTINUOUS: Final = "a refresh that never ends is a streaming job; write REFRESH_MODE = FULL, or leave it out"


def read_materialized_table_statement(reader: Reader) -> MaterializedTableStatement:
    """Read a statement about a materialized table.

    Raises:
        InvalidSql: the statement cannot be parsed.
        UnsupportedFeature: it has a clause that is not supported.
    """
    if reader.take("DROP"):
        reader.expect("MATERIALIZED", "TABLE")
        if_exists = reader.take("IF", "EXISTS")
        found: MaterializedTableStatement = DropMaterializedTable(reader.qualified_name(), if_exists)
    elif reader.take("ALTER"):
        found = _alter(reader)
    else:
        found = _create(reader)
    reader.end()
    return found


def _create(reader: Reader) -> CreateMaterializedTable:
    reader.expect("CREATE")
    if reader.sees("OR"):
        reader.refuse("CREATE OR REPLACE MATERIALIZED TABLE", "use ALTER MATERIALIZED TABLE ... AS, or drop the table")
    reader.expect("MATERIALIZED", "TABLE")
    if_not_exists = reader.take("IF", "NOT", "EXISTS")
    name = reader.qualified_name()
    keys = _primary_key(reader)
    partition_keys: tuple[str, ...] = ()
    options: dict[str, str] = {}
    comment: str | None = None
    freshness: Freshness | None = None
    is_full = False
    while not reader.take("AS"):
        if reader.take("PARTITIONED", "BY"):
            partition_keys = tuple(reader.in_parentheses(lambda: reader.name("a partition column")))
        elif reader.sees("COMMENT"):
            comment = read_comment(reader)
        elif reader.take("TBLPROPERTIES") or (reader.sees("WITH", "(") and reader.take("WITH")):
            options.update(reader.options())
        elif reader.take("FRESHNESS"):
            freshness = _freshness(reader)
        elif reader.take("REFRESH_MODE"):
            is_full = _is_full(reader)
        elif reader.sees("DISTRIBUTED"):
            reader.refuse("DISTRIBUTED", "set the options 'bucket' and 'bucket-key'")
        elif reader.sees("USING"):
            reader.refuse("USING", "leave it out; the option 'file.format' sets the format of the files")
        else:
            reader.expected("COMMENT, PARTITIONED BY, TBLPROPERTIES, WITH, FRESHNESS, REFRESH_MODE or AS")
    if freshness is None:
        reader.fail("a materialized table needs FRESHNESS, such as FRESHNESS = INTERVAL '30' SECOND", name.end)
    return CreateMaterializedTable(
        name, _query(reader), freshness, keys, partition_keys, options, comment, if_not_exists, is_full
    )


def _primary_key(reader: Reader) -> tuple[str, ...]:
    """Read ``([CONSTRAINT name] PRIMARY KEY (...) NOT ENFORCED)``."""
    if not reader.take("("):
        return ()
    start = reader.offset
    if reader.take("CONSTRAINT"):
        reader.name("the name of a constraint")
    if not reader.take("PRIMARY", "KEY"):
        reader.fail("the query determines the columns; only PRIMARY KEY (...) may be here", start)
    keys = reader.in_parentheses(lambda: reader.name("a column of the primary key"))
    reader.take("NOT", "ENFORCED")
    reader.expect(")")
    return tuple(keys)


def _freshness(reader: Reader) -> Freshness:
    reader.take("=")
    reader.expect("INTERVAL")
    start = reader.offset
    value = reader.value()
    text = str(value).strip()
    if isinstance(value, bool) or not (text.isascii() and text.isdigit() and int(text) > 0):
        reader.fail("expected a whole number above 0, such as INTERVAL '30' SECOND", start)
    start = reader.offset
    unit = reader.name("SECOND, MINUTE, HOUR or DAY").lower()
    unit = unit if unit in UNITS_MS else unit.removesuffix("s")
    if unit not in UNITS_MS:
        reader.fail("expected SECOND, MINUTE, HOUR or DAY", start)
    return Freshness(int(text), unit)


def _is_full(reader: Reader) -> bool:
    reader.take("=")
    if reader.sees("CONTINUOUS"):
        reader.refuse("REFRESH_MODE = CONTINUOUS", _CONTINUOUS)
    if not reader.take("FULL"):
        reader.expected("FULL")
    return True


def _query(reader: Reader) -> str:
    if reader.word is None:
        reader.expected("a query")
    return reader.rest()


def _alter(reader: Reader) -> MaterializedTableStatement:
    reader.expect("MATERIALIZED", "TABLE")
    name = reader.qualified_name()
    if reader.take("REFRESH"):
        return RefreshMaterializedTable(name, read_partition(reader) if reader.take("PARTITION") else None)
    if reader.take("SUSPEND"):
        return SuspendMaterializedTable(name, suspends=True)
    if reader.take("RESUME"):
        if reader.sees("WITH"):
            reader.refuse("RESUME WITH", "there is no job that takes options; use ALTER TABLE ... SET TBLPROPERTIES")
        return SuspendMaterializedTable(name, suspends=False)
    if reader.take("AS"):
        return SetQuery(name, _query(reader))
    if reader.take("SET", "FRESHNESS"):
        return SetFreshness(name, _freshness(reader))
    if reader.sees("SET", "REFRESH_MODE"):
        reader.refuse("SET REFRESH_MODE", "every refresh is full")
    if reader.sees_any("SET", "RESET", "RENAME", "ADD", "DROP", "MODIFY"):
        reader.refuse(
            f"ALTER MATERIALIZED TABLE ... {reader.name().upper()}", "use ALTER TABLE for options and the name"
        )
    return reader.expected("REFRESH, SUSPEND, RESUME, SET FRESHNESS or AS")


GRAMMAR: Final = Grammar(
    openings(
        "CREATE MATERIALIZED TABLE",
        "CREATE OR REPLACE MATERIALIZED TABLE",
        "ALTER MATERIALIZED TABLE",
        "DROP MATERIALIZED TABLE",
    ),
    read_materialized_table_statement,
)
