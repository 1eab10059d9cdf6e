"""What holds for a catalog on every kind of database server.

A test module of a server updates its names with ``LAWS``, and has a fixture ``server``.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Protocol

import pytest

from table_format import load_catalog
from table_format.catalog.jdbc.catalog import JdbcCatalog
from table_format.errors import AlreadyExistsError, LockTimeout, MetastoreUnavailable
from table_format.io.memory import MemoryFileIO
from table_format.runtime import Runtime
from tests.catalog import test_all_catalogs
from tests.catalog.jdbc.test_jdbc_catalog import FORKING
from tests.catalog.view_laws import VIEW_LAWS
from tests.support.jdbc_catalogs import run_sql, same_names
from tests.support.metastore_table import ManualClock
from tests.support.tables import DATABASE, Warehouse, keyed, rows_of

_KEYS = count()


class Server(Protocol):
    """A running server. ``refusal`` is how it answers a wrong password, as a pattern."""

    kind: str
    refusal: str

    @property
    def options(self) -> dict[str, str]:
        """The options of a catalog in an empty database."""
        ...


def catalog_on(server: Server, **more: str) -> JdbcCatalog:
    options = server.options | {"warehouse": "/warehouse", "lock.enabled": "true"} | more
    catalog = load_catalog(options, file_io=MemoryFileIO(), runtime=Runtime(clock=ManualClock()))
    assert isinstance(catalog, JdbcCatalog)
    return catalog


@pytest.fixture
def warehouse(server: Server) -> Warehouse:
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
        run_sql(warehouse, "UPDATE paimon_distributed_locks SET acquired_at = acquired_at - INTERVAL '600' SECOND")
        mine.append(keyed([(3, "a", 3)]))
    assert [row[0] for row in rows_of(mine)] == [2, 3]
    assert run_sql(warehouse, "SELECT count(*) FROM paimon_distributed_locks") == 0


def test_the_row_decides_who_creates_a_table(warehouse: Warehouse) -> None:
    warehouse.table("t")
    other = Warehouse(same_names(warehouse), MemoryFileIO())
    with pytest.raises(AlreadyExistsError):
        other.table("t")
    assert other.io.list("/warehouse") == []


def test_a_wrong_password_is_one_line_without_it(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    password = server.options["jdbc.password"]
    with pytest.raises(MetastoreUnavailable, match=server.refusal) as refusal:
        catalog_on(server, **{"jdbc.password": f"{password}-wrong"})
    for shown in (str(refusal.value), repr(refusal.value), repr(refusal.value.__cause__), caplog.text):
        assert password not in shown


def test_a_server_that_is_not_there_is_one_line_that_names_it(server: Server) -> None:
    address = f"jdbc:{server.kind}://127.0.0.1:1/catalogs"
    with pytest.raises(MetastoreUnavailable) as refusal:
        catalog_on(server, uri=address)
    assert str(refusal.value).startswith(f"the database of the catalog, {address}")


def test_a_forked_process_leaves_the_connections_to_its_parent(server: Server, tmp_path: Path) -> None:
    options = server.options | {"warehouse": str(tmp_path), "catalog-key": "forked"}
    answer = subprocess.run(
        [sys.executable, "-c", FORKING.format(options=options)], capture_output=True, text=True, check=False
    )
    assert answer.stdout == "('after', 'before', 'child')\n", answer.stderr


_ALL = {**vars(test_all_catalogs), **VIEW_LAWS, **globals()}
LAWS = {name: law for name, law in _ALL.items() if name.startswith("test_")}
"""Those of all catalogs and those of this module, with the fixture that they need."""
LAWS["warehouse"] = warehouse
