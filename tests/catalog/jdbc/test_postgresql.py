"""The laws of all catalogs, and the lock, on a server of PostgreSQL."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from table_format import Schema, load_catalog
from table_format.catalog.jdbc.catalog import JdbcCatalog
from table_format.errors import AlreadyExistsError, LockTimeout, MetastoreUnavailable
from table_format.io.memory import MemoryFileIO
from table_format.runtime import Runtime
from tests.catalog import test_all_catalogs
from tests.catalog.jdbc.test_jdbc_catalog import FORKING
from tests.support.jdbc_catalogs import run_sql, same_names
from tests.support.metastore_table import ManualClock
from tests.support.postgres_server import PASSWORD, PostgresServer, running_postgres
from tests.support.tables import DATABASE, KEYED, Warehouse, keyed, rows_of

SCHEMA = Schema.from_arrow(KEYED)
_KEYS = count()

globals().update({name: law for name, law in vars(test_all_catalogs).items() if name.startswith("test_")})


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_postgres() as running:
        yield running


def catalog_on(server: PostgresServer, **more: str) -> JdbcCatalog:
    options = server.options | {"warehouse": "/warehouse", "lock.enabled": "true"} | more
    catalog = load_catalog(options, file_io=MemoryFileIO(), runtime=Runtime(clock=ManualClock()))
    assert isinstance(catalog, JdbcCatalog)
    return catalog


@pytest.fixture
def warehouse(server: PostgresServer) -> Warehouse:
    """A catalog of its own key in the database of all."""
    catalog = catalog_on(server, **{"catalog-key": f"key-{next(_KEYS)}"})
    catalog.create_database(DATABASE)
    return Warehouse(catalog, catalog.io)


def test_a_lock_excludes_others_until_it_is_released_or_too_old(warehouse: Warehouse) -> None:
    warehouse.table("t")
    mine = warehouse.catalog.load_table("db.t")
    lock, clock = mine.store.lock, ManualClock()
    assert lock is not None
    with lock.held(clock), pytest.raises(LockTimeout):
        mine.append(keyed([(1, "a", 1)]))
    mine.append(keyed([(2, "a", 2)]))
    with lock.held(clock):
        run_sql(warehouse, "UPDATE paimon_distributed_locks SET acquired_at = acquired_at - INTERVAL '481 seconds'")
        mine.append(keyed([(3, "a", 3)]))
    assert [row[0] for row in rows_of(mine)] == [2, 3]
    assert run_sql(warehouse, "SELECT count(*) FROM paimon_distributed_locks") == 0


def test_the_age_of_a_lock_is_that_of_the_time_zone_of_this_machine(warehouse: Warehouse) -> None:
    # Java's driver sets it for its sessions, whatever that of the server is, and the time of a lock has no zone.
    import time

    minutes = run_sql(warehouse, "SELECT EXTRACT(TIMEZONE_MINUTE FROM now()) + 60 * EXTRACT(TIMEZONE_HOUR FROM now())")
    assert int(minutes) * 60 == time.localtime().tm_gmtoff


def test_the_row_decides_who_creates_a_table(warehouse: Warehouse) -> None:
    warehouse.table("t")
    other = Warehouse(same_names(warehouse), MemoryFileIO())
    with pytest.raises(AlreadyExistsError):
        other.table("t")
    assert other.io.list("/warehouse") == []


def test_a_wrong_password_is_one_line_without_it(server: PostgresServer, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(MetastoreUnavailable, match='password authentication failed for user "lake"') as refusal:
        catalog_on(server, **{"jdbc.password": f"{PASSWORD}-wrong"})
    for shown in (str(refusal.value), repr(refusal.value), repr(refusal.value.__cause__), caplog.text):
        assert PASSWORD not in shown


def test_a_server_that_is_not_there_is_one_line_that_names_it(server: PostgresServer) -> None:
    with pytest.raises(MetastoreUnavailable, match=r"^the database of the catalog, jdbc:postgresql://127\.0\.0\.1:1/"):
        catalog_on(server, uri="jdbc:postgresql://127.0.0.1:1/catalogs")


def test_a_connection_that_the_server_has_closed_is_opened_again(warehouse: Warehouse) -> None:
    warehouse.table("t")
    run_sql(warehouse, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    assert warehouse.catalog.list_tables("db") == ("t",)


def test_a_forked_process_leaves_the_connections_to_its_parent(server: PostgresServer, tmp_path: Path) -> None:
    options = server.options | {"warehouse": str(tmp_path), "catalog-key": "forked"}
    answer = subprocess.run(
        [sys.executable, "-c", FORKING.format(options=options)], capture_output=True, text=True, check=False
    )
    assert answer.stdout == "('after', 'before', 'child')\n", answer.stderr
