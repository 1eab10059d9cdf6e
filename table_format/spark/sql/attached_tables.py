"""Adds the tables of a database to Spark's session catalog, for ``spark.sql``, ``spark.table`` and other tools.

An entry is a table ``USING paimon`` without rows. The metadata of a column contains the path of the table
(``source/entries.py``). The entry has its own directory, so dropping it does not delete the table.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from table_format.catalog.protocol import Catalog
from table_format.errors import AlreadyExistsError, UnsupportedFeature
from table_format.spark.names import quoted
from table_format.spark.sessions import prepare_session
from table_format.spark.source.entries import entry_schema, is_entry
from table_format.spark.source.known_stores import known_stores, remember_store
from table_format.spark.types import spark_schema
from table_format.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_PROVIDER = "paimon"


def attach(spark: SparkSession, catalog: Catalog, database: str) -> tuple[str, ...]:
    """Update the entries of the session catalog to the tables of a database. Return the names of the entries.

    Entries of dropped tables are removed, and entries of changed tables are replaced. A table with a column of a type
    that Spark does not have gets no entry, and a warning names it.

    Raises:
        DatabaseNotFound: the database does not exist.
        AlreadyExistsError: the session catalog has another table with the same name.
    """
    names, known = catalog.list_tables(database), known_stores()
    wanted = {name: schema for name in names if (schema := _entry_schema(catalog, database, name)) is not None}
    if known_stores().keys() != known.keys():
        prepare_session(spark)  # the data source takes the stores of the tables along
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {quoted(database)}")
    present = {name: _entry(spark, database, name) for name in _listed(spark, database)}
    for name, entry in present.items():
        if entry is not None and wanted.get(name) != entry:
            spark.sql(f"DROP TABLE {quoted(database)}.{quoted(name)}")
    for name, schema in wanted.items():
        check_free(spark, database, name)
        if present.get(name) != schema:
            spark.catalog.createTable(f"{quoted(database)}.{quoted(name)}", source=_PROVIDER, schema=schema)
    return tuple(wanted)


def _listed(spark: SparkSession, database: str) -> list[str]:
    """Return the names of the tables of a database of the session catalog.

    Spark decodes the rows of ``spark.catalog.listTables`` by compiled code alone, which a session can turn off.
    """
    return [row["tableName"] for row in spark.sql(f"SHOW TABLES IN {quoted(database)}").collect() if row["namespace"]]


def check_free(spark: SparkSession, database: str, name: str) -> None:
    """Require that an entry with this name can be created.

    Raises:
        AlreadyExistsError: the session catalog has another table with the same name.
    """
    if spark.catalog.tableExists(f"{quoted(database)}.{quoted(name)}") and _entry(spark, database, name) is None:
        message = f"the session catalog has another table '{database}.{name}'; drop or rename it there"
        raise AlreadyExistsError(message)


def _entry_schema(catalog: Catalog, database: str, name: str) -> StructType | None:
    opened = catalog.load_any(f"{database}.{name}")
    if not isinstance(opened, Table):
        return None
    remember_store(opened.store.io, opened.store.paths.root)
    try:
        shown = spark_schema(opened.schema.fields)
    except UnsupportedFeature as error:
        warnings.warn(f"'{database}.{name}' has no entry in Spark's catalog: {error}", stacklevel=4)
        return None
    is_read_only = opened.store.server is not None
    return entry_schema(shown, opened.location, name=f"{database}.{name}", read_only=is_read_only)


def _entry(spark: SparkSession, database: str, name: str) -> StructType | None:
    """Return the columns of an entry that this library created; ``None`` for any other table."""
    try:
        schema = spark.table(f"{quoted(database)}.{quoted(name)}").schema
    except AnalysisException:
        return None
    return schema if is_entry(schema, database, name) else None
