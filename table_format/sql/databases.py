"""Reads CREATE, DROP, USE and DESCRIBE DATABASE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from table_format.sql.grammar import Grammar, openings
from table_format.sql.reader import Reader, SqlName


@dataclass(frozen=True, slots=True)
class CreateDatabase:
    """``CREATE DATABASE [IF NOT EXISTS] name``."""

    name: SqlName
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropDatabase:
    """``DROP DATABASE [IF EXISTS] name [RESTRICT | CASCADE]``."""

    name: SqlName
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class UseDatabase:
    """``USE name``."""

    name: SqlName


@dataclass(frozen=True, slots=True)
class DescribeDatabase:
    """``DESCRIBE DATABASE name``."""

    name: SqlName


DatabaseStatement: TypeAlias = CreateDatabase | DropDatabase | UseDatabase | DescribeDatabase

_KINDS: Final = ("DATABASE", "SCHEMA", "NAMESPACE")


def read_database_statement(reader: Reader) -> DatabaseStatement:
    """Read a statement about a database.

    Raises:
        InvalidSql: the statement cannot be parsed.
        UnsupportedFeature: it has a clause that is not supported.
    """
    if reader.sees("CREATE", "CATALOG"):
        reader.refuse("CREATE CATALOG", "open another warehouse with paimon(spark, options)")
    if reader.take("COMMENT", "ON"):
        reader.refuse(f"COMMENT ON {reader.name().upper()}", "a database is a directory and has no comment")
    if reader.take("ALTER"):
        advice = "a database is a directory of the warehouse and has no properties"
        reader.refuse(f"ALTER {reader.name().upper()}", advice)
    if reader.take("CREATE"):
        found: DatabaseStatement = _create(reader)
    elif reader.take("DROP"):
        found = _drop(reader)
    elif reader.take("USE"):
        if reader.sees("CATALOG"):
            reader.refuse("USE CATALOG", "a session of paimon(spark, ...) has one catalog; USE a database")
        reader.take_any(*_KINDS)
        found = UseDatabase(reader.qualified_name("the name of a database"))
    else:
        reader.take_any("DESCRIBE", "DESC")
        reader.take_any(*_KINDS)
        reader.take("EXTENDED")
        found = DescribeDatabase(reader.qualified_name("the name of a database"))
    reader.end()
    return found


def _create(reader: Reader) -> CreateDatabase:
    reader.take_any(*_KINDS)
    if_not_exists = reader.take("IF", "NOT", "EXISTS")
    name = reader.qualified_name("the name of a database")
    for clause in ("COMMENT", "LOCATION", "MANAGED", "WITH"):
        if reader.sees(clause):
            advice = "a database is a directory of the warehouse and has no properties"
            reader.refuse(f"CREATE DATABASE ... {clause}", advice)
    return CreateDatabase(name, if_not_exists)


def _drop(reader: Reader) -> DropDatabase:
    reader.take_any(*_KINDS)
    if_exists = reader.take("IF", "EXISTS")
    name = reader.qualified_name("the name of a database")
    cascade = reader.take("CASCADE")
    if not cascade:
        reader.take("RESTRICT")
    return DropDatabase(name, if_exists, cascade)


GRAMMAR: Final = Grammar(
    openings(
        *(f"{verb} {kind}" for verb in ("CREATE", "DROP", "DESCRIBE", "DESC") for kind in _KINDS),
        *(f"{verb} {kind}" for verb in ("ALTER", "COMMENT ON") for kind in _KINDS),
        "CREATE CATALOG",
        "USE",
    ),
    read_database_statement,
)
