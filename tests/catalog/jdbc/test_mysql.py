"""The laws of all catalogs, the lock, and exact names on a server of MariaDB, which has the protocol of MySQL."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from table_format.catalog.jdbc.catalog import JdbcCatalog
from table_format.catalog.jdbc.rows import CatalogRows
from table_format.catalog.table_names import TableName
from table_format.errors import (
    AlreadyExistsError,
    InvalidInputError,
    LockTimeout,
    MetastoreUnavailable,
    TableNotFound,
)
from table_format.runtime import SystemClock
from tests.catalog.jdbc.server_laws import LAWS, catalog_on
from tests.support.jdbc_catalogs import run_sql
from tests.support.mysql_server import OF_JAVA, PASSWORD, MySqlServer, running_mysql
from tests.support.tables import DATABASE, Warehouse, keyed, rows_of

_NAME = "VARCHAR(255) NOT NULL"
TABLES_OF_JAVA = (
    f"CREATE TABLE paimon_tables (catalog_key {_NAME}, database_name {_NAME}, table_name {_NAME}, "
    "PRIMARY KEY (catalog_key, database_name, table_name))",
    f"CREATE TABLE paimon_database_properties (catalog_key {_NAME}, database_name {_NAME}, property_key VARCHAR(255), "
    "property_value VARCHAR(1000), PRIMARY KEY (catalog_key, database_name, property_key))",
    f"CREATE TABLE paimon_table_properties (catalog_key {_NAME}, database_name {_NAME}, table_name {_NAME}, "
    f"property_key {_NAME}, property_value VARCHAR(1000), "
    "PRIMARY KEY (catalog_key, database_name, table_name, property_key))",
)

globals().update(LAWS)


@pytest.fixture(scope="module")
def server() -> Iterator[MySqlServer]:
    with running_mysql() as running:
        yield running


# --- the lock ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("age", "is_free"), [(50, False), (70, True)])
def test_the_age_of_a_lock_does_not_depend_on_the_time_zone_of_who_took_it(
    warehouse: Warehouse, age: int, is_free: bool
) -> None:
    warehouse.table("t")
    table = warehouse.catalog.load_table("db.t")
    lock = table.store.lock
    assert lock is not None
    with catalog_of(warehouse).database.transaction() as connection:
        # As Java: its sessions have the time zone of the server.
        connection.exec_driver_sql("SET time_zone = @@global.time_zone")
        assert connection.exec_driver_sql("SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), NOW())").scalar() == 345
        row = "INSERT INTO paimon_distributed_locks VALUES (%s, NOW() - INTERVAL %s SECOND, 60)"
        connection.exec_driver_sql(row, (lock.lock_id, age))
        connection.exec_driver_sql("SET time_zone = '+00:00'")
    # A zone with summer time would make a lock an hour older or younger.
    assert run_sql(warehouse, "SELECT @@time_zone") == "+00:00"
    if is_free:
        table.append(keyed([(1, "a", 1)]))
    else:
        with pytest.raises(LockTimeout):
            table.append(keyed([(1, "a", 1)]))
    run_sql(warehouse, "DELETE FROM paimon_distributed_locks")


def test_many_that_want_one_lock_get_it_one_after_the_other(warehouse: Warehouse) -> None:
    # The server lets several wait for the row that is being deleted, and undoes all but one as a deadlock.
    catalog = catalog_of(warehouse)
    lock = catalog.settings.lock_of("db.t")
    assert lock is not None
    begin, holders, most = Barrier(6), 0, 0

    def work(_: int) -> None:
        nonlocal holders, most
        begin.wait(60)
        for _ in range(15):
            with lock.held(ImpatientClock()):
                holders += 1
                most = max(most, holders)
                holders -= 1

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(6)))
    assert most == 1


class ImpatientClock(SystemClock):
    """A clock whose waits are short."""

    def sleep_ms(self, duration_ms: int) -> None:
        super().sleep_ms(1)


# --- names ------------------------------------------------------------------------------------------------------------


def test_names_that_differ_in_case_or_accents_are_those_of_different_tables(warehouse: Warehouse) -> None:
    for name in ("t", "T", "e", "é"):
        warehouse.table(name).append(keyed([(1, name, 1)]))
    catalog = warehouse.catalog
    assert catalog.list_tables("db") == ("T", "e", "t", "é")
    catalog.rename_table("db.e", "db.E")
    catalog.drop_table("db.T")
    assert catalog.list_tables("db") == ("E", "t", "é")
    assert rows_of(catalog.load_table("db.t")) == [(1, "t", 1)]
    catalog.create_database("DB")
    assert {"DB", "db"} <= set(catalog.list_databases())


@pytest.fixture
def of_java(server: MySqlServer) -> Iterator[Warehouse]:
    """A catalog whose tables have the default collation, which ignores case, as those that Java creates."""
    options = {"uri": server.uri_of(OF_JAVA), "lock.enabled": "false"}
    database = catalog_on(server).database
    with database.transaction() as connection:
        connection.exec_driver_sql(f"USE {OF_JAVA}")
        for statement in TABLES_OF_JAVA:
            connection.exec_driver_sql(statement)
        connection.exec_driver_sql(f"USE {database.address.database}")
    catalog = catalog_on(server, **options)
    catalog.create_database(DATABASE)
    yield Warehouse(catalog, catalog.io)
    for table in ("paimon_tables", "paimon_database_properties", "paimon_table_properties"):
        run_sql(Warehouse(catalog, catalog.io), f"DROP TABLE {table}")


def test_a_name_that_the_tables_of_java_do_not_tell_from_another_is_refused(of_java: Warehouse) -> None:
    catalog = of_java.catalog
    of_java.table("T").append(keyed([(1, "a", 1)]))
    of_java.table("u")
    assert not catalog.table_exists("db.t")
    with pytest.raises(TableNotFound):
        catalog.drop_table("db.t")
    with pytest.raises(InvalidInputError, match=r"'db\.t': .* that of 'jdbc'\.'db'\.'T', which is listed, because .*"):
        of_java.table("t")
    with pytest.raises(InvalidInputError, match=r"'db\.t': .* that of 'jdbc'\.'db'\.'T'"):
        catalog.rename_table("db.u", "db.t")
    with pytest.raises(InvalidInputError, match=r"database 'Db': .* that of 'jdbc'\.'db'\.'exists'"):
        catalog.create_database("Db")
    with pytest.raises(AlreadyExistsError):
        of_java.table("T")
    assert catalog.list_tables("db") == ("T", "u")
    assert rows_of(catalog.load_table("db.T")) == [(1, "a", 1)]


def test_a_change_of_a_property_leaves_that_of_another_case_in_the_tables_of_java(of_java: Warehouse) -> None:
    catalog = catalog_of(of_java)
    catalog.alter_database("db", {"Owner": "me"})
    catalog.alter_database("db", {"owner": None})
    assert catalog.database_properties("db")["Owner"] == "me"


def test_the_same_catalog_key_in_another_case_is_another_catalog(server: MySqlServer, of_java: Warehouse) -> None:
    other = catalog_on(server, uri=server.uri_of(OF_JAVA), **{"lock.enabled": "false", "catalog-key": "JDBC"})
    assert other.list_databases() == ()


def test_those_who_create_different_tables_do_not_wait_for_each_other(warehouse: Warehouse) -> None:
    database = catalog_of(warehouse).database
    rows = CatalogRows("others", "mysql")
    with database.transaction() as one, database.transaction() as other:
        rows.set_table_properties(one, TableName("db", "b"), {})
        rows.set_table_properties(other, TableName("db", "a"), {"bucket": "1"})


def test_a_value_that_is_too_long_is_refused_where_the_server_would_cut_it(warehouse: Warehouse) -> None:
    catalog = catalog_of(warehouse)
    with pytest.raises(MetastoreUnavailable, match="Data too long for column 'property_value'"):
        catalog.alter_database("db", {"comment": "a" * 1001})
    assert "comment" not in catalog.database_properties("db")


@pytest.mark.parametrize("table", ["t😀", "😀"])
def test_a_name_with_letters_that_the_tables_cannot_hold_is_refused(warehouse: Warehouse, table: str) -> None:
    with pytest.raises(MetastoreUnavailable, match="; names have letters of at most three bytes in UTF-8 in MySQL"):
        warehouse.table(table)
    with (
        pytest.raises(MetastoreUnavailable, match="; names have letters"),
        catalog_of(warehouse).database.transaction() as connection,
    ):
        CatalogRows("others", "mysql").insert_table(connection, TableName("db", table))
    assert warehouse.catalog.list_tables("db") == ()
    assert warehouse.io.list("/warehouse") == []


# --- connections ------------------------------------------------------------------------------------------------------


def test_a_connection_that_the_server_has_closed_is_opened_again(warehouse: Warehouse) -> None:
    warehouse.table("t")
    with catalog_of(warehouse).database.transaction() as connection:
        others = "SELECT id FROM information_schema.processlist WHERE user = 'lake' AND id <> CONNECTION_ID()"
        for (number,) in connection.exec_driver_sql(others).all():
            connection.exec_driver_sql(f"KILL {number}")
    assert warehouse.catalog.list_tables("db") == ("t",)


@pytest.mark.parametrize(
    ("parameters", "is_encrypted"),
    [("", True), ("?useSSL=false", False), ("?useSSL=true&sslMode=DISABLED", False), ("?sslMode=REQUIRED", True)],
)
def test_a_connection_is_encrypted_as_the_address_says(
    server: MySqlServer, parameters: str, is_encrypted: bool
) -> None:
    catalog = catalog_on(server, uri=server.uri + parameters)
    with catalog.database.transaction() as connection:
        found = connection.exec_driver_sql("SHOW STATUS LIKE 'Ssl_cipher'").all()
    assert (found[0][1] != "") == is_encrypted


def test_a_certificate_that_nobody_vouches_for_is_refused_if_the_address_asks_for_one(
    server: MySqlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MetastoreUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
        catalog_on(server, uri=f"{server.uri}?sslMode=VERIFY_CA&connectTimeout=9000")
    monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
    assert catalog_on(server, uri=f"{server.uri}?sslMode=VERIFY_CA").list_databases() is not None
    with pytest.raises(MetastoreUnavailable, match=r"IP address mismatch|not valid for '127\.0\.0\.1'"):
        catalog_on(server, uri=f"{server.uri}?sslMode=VERIFY_IDENTITY")


def test_a_package_that_a_plugin_of_the_server_needs_is_named(
    server: MySqlServer, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("nacl", "cryptography"):
        monkeypatch.setitem(sys.modules, name, None)
    run_sql(warehouse, "INSTALL SONAME 'auth_ed25519'")
    run_sql(warehouse, f"CREATE USER curved IDENTIFIED VIA ed25519 USING PASSWORD('{PASSWORD}')")
    with pytest.raises(MetastoreUnavailable, match="'pynacl' package is required") as refusal:
        catalog_on(server, **{"jdbc.user": "curved"})
    assert PASSWORD not in str(refusal.value)


def catalog_of(warehouse: Warehouse) -> JdbcCatalog:
    assert isinstance(warehouse.catalog, JdbcCatalog)
    return warehouse.catalog
