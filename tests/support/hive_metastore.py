"""The real Hive metastore, whose jars PySpark brings, on a database of Derby."""

from __future__ import annotations

import os
import shutil
import subprocess
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
from tests.support.shared_classes import QUICK
from tests.support.tables import DATABASE, Warehouse

JARS = Path(pyspark.__file__).parent / "jars"
_WAREHOUSE = "hive.metastore.warehouse.dir"
_SETTINGS = {
    "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
    "datanucleus.schema.autoCreateAll": "true",
    "datanucleus.connectionPoolingType": "none",  # PySpark brings no pool
    "hive.metastore.schema.verification": "false",
    "hive.async.log.enabled": "false",
    "derby.stream.error.file": "/dev/null",
    "derby.system.durability": "test",  # does not wait for the disk
}
# The metastore creates its tables by itself, but not those of transactions and locks.
_NAME, _OBJECT = "VARCHAR(128) NOT NULL", "VARCHAR(128) NOT NULL, {0}_TABLE VARCHAR(128), {0}_PARTITION VARCHAR(767)"
_COMPACTION = (
    "{0}_ID BIGINT PRIMARY KEY, {0}_DATABASE VARCHAR(128) NOT NULL, {0}_TABLE VARCHAR(128) NOT NULL, "
    "{0}_PARTITION VARCHAR(767), {0}_STATE CHAR(1) NOT NULL, {0}_TYPE CHAR(1) NOT NULL, "
    "{0}_TBLPROPERTIES VARCHAR(2048), {0}_WORKER_ID VARCHAR(128), {0}_START BIGINT, {0}_RUN_AS VARCHAR(128), "
    "{0}_HIGHEST_TXN_ID BIGINT, {0}_META_INFO VARCHAR(2048) FOR BIT DATA, {0}_HADOOP_JOB_ID VARCHAR(32)"
)
_LOCK_TABLES = {
    "TXNS": "TXN_ID BIGINT PRIMARY KEY, TXN_STATE CHAR(1) NOT NULL, TXN_STARTED BIGINT NOT NULL, "
    f"TXN_LAST_HEARTBEAT BIGINT NOT NULL, TXN_USER {_NAME}, TXN_HOST {_NAME}",
    "TXN_COMPONENTS": f"TC_TXNID BIGINT, TC_DATABASE {_OBJECT.format('TC')}, TC_OPERATION_TYPE CHAR(1) NOT NULL",
    "COMPLETED_TXN_COMPONENTS": f"CTC_TXNID BIGINT, CTC_DATABASE {_OBJECT.format('CTC')}",
    "NEXT_TXN_ID": "NTXN_NEXT BIGINT NOT NULL",
    "NEXT_LOCK_ID": "NL_NEXT BIGINT NOT NULL",
    "HIVE_LOCKS": "HL_LOCK_EXT_ID BIGINT NOT NULL, HL_LOCK_INT_ID BIGINT NOT NULL, HL_TXNID BIGINT, "
    f"HL_DB {_OBJECT.format('HL')}, HL_LOCK_STATE CHAR(1) NOT NULL, HL_LOCK_TYPE CHAR(1) NOT NULL, "
    f"HL_LAST_HEARTBEAT BIGINT NOT NULL, HL_ACQUIRED_AT BIGINT, HL_USER {_NAME}, HL_HOST {_NAME}, "
    "HL_HEARTBEAT_COUNT INTEGER, HL_AGENT_INFO VARCHAR(128), HL_BLOCKEDBY_EXT_ID BIGINT, HL_BLOCKEDBY_INT_ID BIGINT, "
    "PRIMARY KEY (HL_LOCK_EXT_ID, HL_LOCK_INT_ID)",
    "COMPACTION_QUEUE": _COMPACTION.format("CQ"),
    "COMPLETED_COMPACTIONS": f"{_COMPACTION.format('CC')}, CC_END BIGINT",
    "AUX_TABLE": f"MT_KEY1 {_NAME}, MT_KEY2 BIGINT NOT NULL, MT_COMMENT VARCHAR(255), PRIMARY KEY (MT_KEY1, MT_KEY2)",
    "WRITE_SET": f"WS_DATABASE {_OBJECT.format('WS')}, WS_TXNID BIGINT NOT NULL, WS_COMMIT_ID BIGINT NOT NULL, "
    "WS_OPERATION_TYPE CHAR(1) NOT NULL",
}
_COUNTERS = ("NEXT_TXN_ID", "NEXT_LOCK_ID")


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
        database, port, warehouse = f"jdbc:derby:{directory}/database;create=true", free_port(), directory / "warehouse"
        _create_lock_tables(java, directory, database)
        places = {"javax.jdo.option.ConnectionURL": database, "hive.log.dir": directory, _WAREHOUSE: warehouse}
        command: list[str | Path] = [java, "-Xmx512m", *QUICK.split(), "-cp", f"{JARS}/*"]
        command += [f"-D{key}={value}" for key, value in {**_SETTINGS, **places}.items()]
        command += ["org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)]
        with running_program(command, port, {}):
            yield HiveMetastore(port, warehouse)
    finally:
        shutil.rmtree(directory)


def _create_lock_tables(java: Path, directory: Path, database: str) -> None:
    """Run statements with Derby's own tool."""
    statements = [f"CONNECT '{database}'", *(f"CREATE TABLE {table} ({c})" for table, c in _LOCK_TABLES.items())]
    statements += [f"INSERT INTO {table} VALUES (1)" for table in _COUNTERS]  # noqa: S608
    script = directory / "locks.sql"
    script.write_text("".join(f"{statement};\n" for statement in statements))
    command = [java, *QUICK.split(), "-Dderby.stream.error.file=/dev/null", "-cp", f"{JARS}/*"]
    done = subprocess.run(
        [*command, "org.apache.derby.tools.ij", script], cwd=directory, capture_output=True, text=True, check=False
    )
    assert "ERROR" not in done.stdout, done.stdout


def client_jars() -> list[Path]:
    """The jars of Hive's own client, which PySpark brings as well."""
    names = ("hive-*", "libthrift-*", "libfb303-*", "commons-*", "guava-*", "failureaccess-*", "log4j-*")
    return [jar for name in names for jar in sorted(JARS.glob(f"{name}.jar"))]


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


def listed_partitions(metastore: HiveMetastore, name: str) -> dict[tuple[str, ...], str]:
    """The locations of the partitions that the metastore lists, by their values."""
    database, _, table = name.partition(".")
    found = Metastore(parse_addresses(metastore.uri)).read("get_partitions", database, table, -1)
    return {tuple(partition.values): partition.sd.location for partition in found}
