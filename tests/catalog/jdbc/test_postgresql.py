"""The laws of all catalogs, and the lock, on a server of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.catalog.jdbc.server_laws import LAWS
from tests.support.jdbc_catalogs import run_sql
from tests.support.postgres_server import PostgresServer, running_postgres
from tests.support.tables import Warehouse

globals().update(LAWS)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_postgres() as running:
        yield running


def test_the_age_of_a_lock_is_that_of_the_time_zone_of_this_machine(warehouse: Warehouse) -> None:
    # Java's driver sets it for its sessions, whatever that of the server is, and the time of a lock has no zone.
    import time

    minutes = run_sql(warehouse, "SELECT EXTRACT(TIMEZONE_MINUTE FROM now()) + 60 * EXTRACT(TIMEZONE_HOUR FROM now())")
    assert int(minutes) * 60 == time.localtime().tm_gmtoff


def test_a_connection_that_the_server_has_closed_is_opened_again(warehouse: Warehouse) -> None:
    warehouse.table("t")
    run_sql(warehouse, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    assert warehouse.catalog.list_tables("db") == ("t",)
