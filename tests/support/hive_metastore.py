"""The real Hive metastore, whose jars PySpark brings, on a database of Derby in memory."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import pytest

from table_format import load_catalog
from table_format.catalog.hive.address import parse_addresses
from table_format.catalog.hive.catalog import HiveCatalog
from table_format.catalog.hive.metastore import Metastore, Refused, thrift
from table_format.errors import JavaNotFound
from table_format.io.file_io import FileIO
from table_format.io.memory import MemoryFileIO
from table_format.java import default_launchers, find_java
from table_format.runtime import Clock, Runtime
from tests.support.other_servers import free_port, running_program
from tests.support.tables import DATABASE, Warehouse

_SETTINGS = {
    "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
    "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
    "datanucleus.schema.autoCreateAll": "true",
    "hive.metastore.schema.verification": "false",
    # PySpark brings no pool.
    "datanucleus.connectionPoolingType": "none",
    # Creates the tables of the locks.
    "hive.in.test": "true",
    "hive.txn.timeout": "300s",
}


@dataclass(frozen=True)
class HiveMetastore:
    """A running metastore. ``warehouse`` is its own, ``hive.metastore.warehouse.dir``."""

    port: int
    warehouse: Path

    @property
    def uri(self) -> str:
        return f"thrift://127.0.0.1:{self.port}"

    @property
    def options(self) -> dict[str, str]:
        """The options of a catalog."""
        return {"metastore": "hive", "uri": self.uri}


@contextmanager
def running_metastore() -> Iterator[HiveMetastore]:
    """Run a metastore. Without Java the test is skipped, and says so."""
    try:
        java = find_java(os.environ, launchers=default_launchers()).home / "bin" / "java"
    except JavaNotFound as error:
        pytest.skip(f"!!!!! nothing is checked on a Hive metastore: {error} !!!!!")
    directory = Path(tempfile.mkdtemp(prefix="hive-"))
    try:
        port, jars = free_port(), Path(pyspark.__file__).parent / "jars"
        warehouse = directory / "warehouse"
        places = {"hive.metastore.warehouse.dir": warehouse, "hive.log.dir": directory}
        settings = {**_SETTINGS, **places, "derby.stream.error.file": "/dev/null", "hive.async.log.enabled": "false"}
        command: list[str | Path] = [java, "-Xmx512m", *(f"-D{key}={value}" for key, value in settings.items())]
        command += ["-cp", f"{jars}/*", "org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)]
        with running_program(command, port, {}):
            yield HiveMetastore(port, warehouse)
    finally:
        shutil.rmtree(directory)


def hive_catalog(
    metastore: HiveMetastore, directory: Path, io: FileIO | None = None, clock: Clock | None = None, **options: str
) -> HiveCatalog:
    """A catalog whose warehouse is in a directory, with its files there or in ``io``."""
    given = {**metastore.options, "warehouse": f"{directory}/warehouse", **options}
    runtime = Runtime() if clock is None else Runtime(clock=clock)
    catalog = load_catalog(given, file_io=io, runtime=runtime)
    assert isinstance(catalog, HiveCatalog)
    return catalog


def hive_warehouse(metastore: HiveMetastore, directory: Path, clock: Clock | None = None, **options: str) -> Warehouse:
    """A catalog with one database, whose files are in memory."""
    catalog = hive_catalog(metastore, directory, MemoryFileIO(), clock, **options)
    catalog.create_database(DATABASE)
    return Warehouse(catalog, catalog.io)


def empty(metastore: HiveMetastore) -> None:
    """Delete all databases of a metastore but ``default``, which it always has; files stay."""
    client = Metastore(parse_addresses(metastore.uri))
    for database in client.read("get_all_databases"):
        if database != "default":
            client.change("drop_database", database, False, True)


def listed(metastore: HiveMetastore, name: str) -> Any:
    """A table as the metastore keeps it; ``None`` if it does not."""
    database, _, table = name.partition(".")
    client = Metastore(parse_addresses(metastore.uri))
    try:
        return client.read("get_table_req", thrift().GetTableRequest(database, table)).table
    except Refused:
        return None
