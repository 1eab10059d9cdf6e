"""The tables of the catalog in the database: those of Java (``JdbcUtils``, ``JdbcDistributedLockDialect``).

This module imports SQLAlchemy; only code that talks to a database imports it.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import BigInteger, Column, MetaData, String, Table, Text, func, inspect, text
from sqlalchemy.dialects.mysql import VARCHAR
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import TIMESTAMP

from table_format.catalog.jdbc.address import MYSQL
from table_format.catalog.jdbc.database import Database
from table_format.catalog.jdbc.table_properties import KEY_LENGTH, VALUE_LENGTH
from table_format.errors import MetastoreUnavailable
from table_format.options.jdbc import LOCK_KEY_MAX_LENGTH

_NAMES: Final = MetaData()


def _letters(length: int) -> String:
    """Return the type of a name.

    In MySQL, names are compared letter by letter, as those of directories are. A key has at most 3072 bytes: four names
    of 255 letters with up to three bytes each fit, with four they do not.
    """
    return String(length).with_variant(VARCHAR(length, charset="utf8mb3", collation="utf8mb3_bin"), MYSQL)


def _name(name: str) -> Column[str]:
    return Column(name, _letters(KEY_LENGTH), nullable=False, primary_key=True)


def _table(name: str, *columns: Column[Any], of: MetaData = _NAMES) -> Table:
    # In MySQL, InnoDB has transactions.
    return Table(name, of, *columns, mysql_engine="InnoDB", mysql_default_charset="utf8mb4")


TABLES: Final = _table("paimon_tables", _name("catalog_key"), _name("database_name"), _name("table_name"))
DATABASE_PROPERTIES: Final = _table(
    "paimon_database_properties",
    _name("catalog_key"),
    _name("database_name"),
    _name("property_key"),
    Column("property_value", String(VALUE_LENGTH)),
)
TABLE_PROPERTIES: Final = _table(
    "paimon_table_properties",
    _name("catalog_key"),
    _name("database_name"),
    _name("table_name"),
    _name("property_key"),
    Column("property_value", String(VALUE_LENGTH)),
)
VIEWS: Final = _table(
    "paimon_views",
    _name("catalog_key"),
    _name("database_name"),
    _name("view_name"),
    Column("view_schema", Text, nullable=False),
)


def _locks(id_length: int) -> Table:
    return _table(
        "paimon_distributed_locks",
        Column("lock_id", _letters(id_length), nullable=False, primary_key=True),
        Column("acquired_at", TIMESTAMP, nullable=False, server_default=func.current_timestamp()),
        Column("expire_time_seconds", BigInteger, nullable=False, server_default=text("0")),
        of=MetaData(),
    )


LOCKS: Final = _locks(LOCK_KEY_MAX_LENGTH.default)


def create_tables(database: Database, *, lock_id_length: int | None) -> None:
    """Create the tables that do not exist; that of the locks only with a length of its ids, in letters.

    Raises:
        MetastoreUnavailable: the database cannot be reached, or the user may not create tables.
    """
    wanted = [TABLES, DATABASE_PROPERTIES, TABLE_PROPERTIES, VIEWS]
    if lock_id_length is not None:
        wanted.append(_locks(lock_id_length))
    for table in wanted:
        try:
            with database.transaction() as connection:
                table.create(connection, checkfirst=True)
        except MetastoreUnavailable as error:
            # Another process may have created it at the same moment.
            if not isinstance(error.__cause__, DBAPIError) or not _exists(database, table):
                raise


def _exists(database: Database, table: Table) -> bool:
    with database.transaction() as connection:
        return inspect(connection).has_table(table.name)
