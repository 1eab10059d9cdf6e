"""Tables of a database in Spark's own session catalog, for ``spark.sql``, ``spark.table`` and tools that look there.

An entry is a table ``USING paimon`` that holds no rows: the metadata of a column says where the table lies
(``source/entries.py``). The entry has a directory of its own, so that dropping it deletes nothing of the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from table_format.catalog.protocol import Catalog
from table_format.errors import AlreadyExistsError
from table_format.spark.names import quoted
from table_format.spark.source.entries import entry_schema, is_entry
from table_format.spark.types import spark_schema
from table_format.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_PROVIDER = "paimon"


def attach(spark: SparkSession, catalog: Catalog, database: str) -> tuple[str, ...]:
    """Make the session catalog's entries those of a database of the catalog; the names of its tables.

    Entries of tables that are gone are removed, and those of changed tables replaced.

    Raises:
        DatabaseNotFound: there is no such database.
        AlreadyExistsError: the session catalog has another table of the same name.
    """
    names = catalog.list_tables(database)
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {quoted(database)}")
    present = {entry.name: _entry(spark, database, entry.name) for entry in spark.catalog.listTables(database)}
    wanted = {name: _entry_schema(catalog, database, name) for name in names}
    for name, entry in present.items():
        if entry is not None and wanted.get(name) != entry:
            spark.sql(f"DROP TABLE {quoted(database)}.{quoted(name)}")
    for name, schema in wanted.items():
        check_free(spark, database, name)
        if present.get(name) != schema:
            spark.catalog.createTable(f"{quoted(database)}.{quoted(name)}", source=_PROVIDER, schema=schema)
    return names


def check_free(spark: SparkSession, database: str, name: str) -> None:
    """Make sure that an entry of that name can be made.

    Raises:
        AlreadyExistsError: the session catalog has another table of the same name.
    """
    if spark.catalog.tableExists(f"{quoted(database)}.{quoted(name)}") and _entry(spark, database, name) is None:
        message = f"the session catalog has another table '{database}.{name}'; drop or rename it there"
        raise AlreadyExistsError(message)


def _entry_schema(catalog: Catalog, database: str, name: str) -> StructType | None:
    opened = catalog.load_any(f"{database}.{name}")
    if not isinstance(opened, Table):
        return None
    return entry_schema(spark_schema(opened.schema.fields), opened.store.paths.root)


def _entry(spark: SparkSession, database: str, name: str) -> StructType | None:
    """The columns of an entry that this library made; ``None`` for any other table."""
    try:
        schema = spark.table(f"{quoted(database)}.{quoted(name)}").schema
    except AnalysisException:
        return None
    return schema if is_entry(schema, database, name) else None
