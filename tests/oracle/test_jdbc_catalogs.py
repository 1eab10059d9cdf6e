"""One relational database lists the tables of the real Paimon and of this library, and both take the same lock."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from table_format import load_catalog
from table_format.catalog.jdbc.catalog import JdbcCatalog
from table_format.errors import (
    InvalidInputError,
    LockTimeout,
    MetastoreUnavailable,
    TableFormatError,
)
from table_format.model.schema_change import SetOption
from table_format.runtime import Runtime, SystemClock
from tests.oracle.conftest import SharedLake
from tests.oracle.install import MYSQL_DRIVER, POSTGRESQL_DRIVER, SQLITE_DRIVER, STABLE, VERSIONS, jar_name
from tests.oracle.peer import DIRECTORY, PaimonPeer, PeerError
from tests.oracle.shared_catalogs import (
    BOTH,
    names,
    test_a_table_that_one_has_created_is_there_for_the_other_that_creates_it,
    test_what_one_creates_the_other_lists_reads_writes_renames_and_drops,
)
from tests.oracle.shared_tables import make, opened, read, write
from tests.oracle.test_s3_races import acting_before_snapshot
from tests.support.jdbc_catalogs import sqlite_options
from tests.support.mysql_server import EMPTY, OF_JAVA, MySqlServer, running_mysql
from tests.support.postgres_server import PostgresServer, running_postgres
from tests.support.s3_server import S3Server

__all__ = [
    "test_a_table_that_one_has_created_is_there_for_the_other_that_creates_it",
    "test_what_one_creates_the_other_lists_reads_writes_renames_and_drops",
]

_NUMBERS = count()
PROPERTIES = ("paimon_database_properties", "paimon_table_properties")
HASTY = {"lock-acquire-timeout": "1 s"}
"""So that the real Paimon gives up soon. A lock of ours lasts as long as our own options say."""
ONCE = {"commit.max-retries": "0"}
"""A table option with which it does not wait for the lock again."""


@pytest.fixture(scope="module", autouse=True)
def drivers() -> None:
    for driver in (SQLITE_DRIVER, POSTGRESQL_DRIVER, MYSQL_DRIVER):
        if not (DIRECTORY / "jars" / jar_name(driver)).exists():
            pytest.skip(f"!!!!! {driver} is not set up, nothing is checked: python -m tests.oracle.install !!!!!")


def sqlite_lake(
    directory: Path, uri: str, theirs: PaimonPeer, clock: SystemClock | None = None, **timeouts: str
) -> SharedLake:
    """A warehouse at a place, with its names in a new file of a directory, opened by both.

    The real Paimon creates the file: see the test of a file that it only opens. ``timeouts`` are those of its lock.
    """
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{directory}/names.db", **theirs.catalog_options}
    if "://" not in uri:
        options["lock.enabled"] = "true"
    theirs = theirs.with_catalog({**options, **timeouts})
    assert theirs.catalog(uri, "databases") == []
    return SharedLake(uri, load_catalog({"warehouse": uri, **options}, runtime=_runtime(clock)), theirs)


def _runtime(clock: SystemClock | None) -> Runtime:
    return Runtime() if clock is None else Runtime(clock=clock)


@pytest.fixture
def paimon(peers: Callable[[str], PaimonPeer]) -> PaimonPeer:
    return peers(VERSIONS[-1])


@pytest.fixture
def lake(tmp_path: Path, paimon: PaimonPeer) -> SharedLake:
    """A warehouse on a disk."""
    return sqlite_lake(tmp_path, str(tmp_path / "w"), paimon)


def dump(directory: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(directory / "names.db")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


# --- names ------------------------------------------------------------------------------------------------------------


def test_both_keep_the_same_rows_in_the_same_tables(tmp_path: Path, paimon: PaimonPeer) -> None:
    dumps = []
    for by_us in (True, False):
        directory = tmp_path / str(by_us)
        directory.mkdir()
        if by_us:
            uri = str(directory / "w")
            ours = load_catalog({**sqlite_options(directory), "warehouse": uri, "lock.enabled": "true"})
            lake = SharedLake(uri, ours, paimon)
        else:
            lake = sqlite_lake(directory, str(directory / "w"), paimon)
        make(lake, {"bucket": "2", "write-only": "true"}, by_us=by_us)
        if by_us:
            lake.ours.alter_table("db.t", SetOption("num-levels", "4"))
        else:
            lake.theirs.alter_options(lake.uri, "db.t", {"num-levels": "4"})
        rows = [dump(directory, f"SELECT * FROM {table} ORDER BY 1, 2, 3, 4") for table in PROPERTIES]  # noqa: S608
        columns = "SELECT m.name, c.name, c.type, c.dflt_value, c.pk FROM sqlite_master m, pragma_table_info(m.name) c"
        # Paimon has the table of views from 2.0 on.
        known = f"{columns} WHERE m.type = 'table' AND m.name <> 'paimon_views' ORDER BY 1, c.cid"
        rows.append(dump(directory, known))
        rows.append(dump(directory, "SELECT * FROM paimon_tables"))
        dumps.append([str(row).replace(str(directory), "") for table in rows for row in table])
    assert dumps[0] == dumps[1]


def test_paimon_before_2_locks_a_file_of_sqlite_that_it_did_not_create_until_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Paimon 1.4.2 does not close what it asks when it opens the catalog. When this fails: change the documents.
    monkeypatch.setattr("table_format.catalog.jdbc.database._BUSY_SECONDS", 0.1)
    options = sqlite_options(tmp_path)
    ours = load_catalog(options)
    with PaimonPeer(STABLE, {key: value for key, value in options.items() if key != "warehouse"}) as theirs:
        assert theirs.catalog(options["warehouse"], "databases") == []
        with pytest.raises(MetastoreUnavailable, match=r"database is locked; another process .* before 2\.0"):
            ours.create_database("db")
        assert ours.list_databases() == ()
    ours.create_database("db")


def test_tables_that_paimon_leaves_when_it_drops_a_database_are_listed_again(lake: SharedLake) -> None:
    make(lake, {"bucket": "1"}, by_us=True)
    write(lake, [(1, "a", 1)], by_us=True)
    lake.theirs.catalog(lake.uri, "drop_database", "db")
    assert names(lake) == {}
    assert isinstance(lake.ours, JdbcCatalog)
    lake.ours.repair_table("db.t")
    assert names(lake) == {"db": ["t"]}
    assert read(lake) == [(1, "a", 1)]


# --- the lock ---------------------------------------------------------------------------------------------------------


def test_paimon_waits_for_our_lock_and_we_for_its(tmp_path: Path, paimon: PaimonPeer) -> None:
    lake = sqlite_lake(tmp_path, str(tmp_path / "w"), paimon, **HASTY)
    make(lake, {"bucket": "1", **ONCE}, by_us=True)
    lock = opened(lake).store.lock
    assert lock is not None
    hasty = load_catalog({"warehouse": lake.uri, **lake.theirs.catalog_options})
    with lock.held(SystemClock()):
        with pytest.raises(PeerError, match="Acquire lock failed"):
            write(lake, [(1, "a", 1)], by_us=False)
        with pytest.raises(LockTimeout):
            write(SharedLake(lake.uri, hasty, lake.theirs), [(2, "a", 2)], by_us=True)
    write(lake, [(3, "a", 3)], by_us=False)
    write(lake, [(4, "a", 4)], by_us=True)
    assert read(lake) == [(3, "a", 3), (4, "a", 4)]


class ToldOfWaits(SystemClock):
    """A clock that tells when somebody waits."""

    def __init__(self) -> None:
        self.waited = Event()

    def sleep_ms(self, duration_ms: int) -> None:
        self.waited.set()
        super().sleep_ms(duration_ms)


def test_a_snapshot_in_s3_that_paimon_is_publishing_under_the_lock_replaces_none_of_ours(
    tmp_path: Path, moto: S3Server, in_s3: Callable[[S3Server], PaimonPeer]
) -> None:
    # Without the lock it does: see test_s3_races. Locks are on by default in an object store, for both.
    clock, uri = ToldOfWaits(), f"{moto.make_bucket(f'names-{next(_NUMBERS)}')}/w"
    lake = sqlite_lake(tmp_path, uri, in_s3(moto), clock)
    make(lake, {"bucket": "1", "write-only": "true"}, by_us=True)
    write(lake, [(1, "a", 1)], by_us=True)
    ours = Thread(target=lambda: write(lake, [(3, "ours", 3)], by_us=True))
    locked: list[tuple[Any, ...]] = []

    def begin_our_commit() -> None:
        locked.extend(dump(tmp_path, "SELECT lock_id FROM paimon_distributed_locks"))
        ours.start()
        assert clock.waited.wait(60)

    with moto.failing(acting_before_snapshot(2, begin_our_commit)):
        write(lake, [(2, "theirs", 2)], by_us=False)
    ours.join(60)
    assert locked == [("jdbc.db.t",)]
    assert lake.theirs.snapshot_ids(lake.uri, "db.t") == [1, 2, 3]
    assert read(lake) == [(1, "a", 1), (2, "theirs", 2), (3, "ours", 3)]
    assert dump(tmp_path, "SELECT * FROM paimon_distributed_locks") == []


def test_paimon_publishes_no_snapshot_in_s3_while_we_publish_one(
    tmp_path: Path, moto: S3Server, in_s3: Callable[[S3Server], PaimonPeer]
) -> None:
    uri = f"{moto.make_bucket(f'names-{next(_NUMBERS)}')}/w"
    lake = sqlite_lake(tmp_path, uri, in_s3(moto), **HASTY)
    make(lake, {"bucket": "1", "write-only": "true", **ONCE}, by_us=True)
    write(lake, [(1, "a", 1)], by_us=True)
    refused: list[str] = []

    def let_them_try() -> None:
        with pytest.raises(PeerError, match="Acquire lock failed") as refusal:
            write(lake, [(2, "theirs", 2)], by_us=False)
        refused.append(str(refusal.value))

    with moto.failing(acting_before_snapshot(2, let_them_try)):
        write(lake, [(3, "ours", 3)], by_us=True)
    assert len(refused) == 1
    write(lake, [(2, "theirs", 2)], by_us=False)
    assert read(lake) == [(1, "a", 1), (2, "theirs", 2), (3, "ours", 3)]


def test_writers_of_both_lose_no_commit_in_s3(
    tmp_path: Path, moto: S3Server, in_s3: Callable[[S3Server], PaimonPeer]
) -> None:
    uri = f"{moto.make_bucket(f'names-{next(_NUMBERS)}')}/w"
    lake = sqlite_lake(tmp_path, uri, in_s3(moto), **{"lock-check-max-sleep": "100 ms"})
    make(lake, {"bucket": "1", "write-only": "true"}, by_us=True)
    failures: list[BaseException] = []

    def commit(by_us: bool) -> None:
        try:
            for number in range(5):
                write(lake, [(number + 10 * by_us, "a", number)], by_us=by_us)
        except (PeerError, TableFormatError, OSError) as error:
            failures.append(error)

    ours = Thread(target=commit, args=(True,))
    ours.start()
    commit(False)
    ours.join()
    assert failures == []
    assert [row[0] for row in read(lake)] == [*range(5), *range(10, 15)]
    assert lake.theirs.snapshot_ids(lake.uri, "db.t") == list(range(1, 11))


# --- PostgreSQL -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_postgres() as running:
        yield running


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The time zone of the real Paimon: in PostgreSQL the ages of locks are those of one zone."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@BOTH
def test_both_share_the_names_and_the_lock_in_postgresql(
    tmp_path: Path, paimon: PaimonPeer, server: PostgresServer, in_utc: None, by_us: bool
) -> None:
    options = server.options | {"lock.enabled": "true", "catalog-key": f"key-{by_us}", **HASTY}
    uri = str(tmp_path / "w")
    lake = SharedLake(uri, load_catalog({"warehouse": uri, **options}), paimon.with_catalog(options))
    share(lake, options, by_us)


def share(lake: SharedLake, options: Mapping[str, str], by_us: bool) -> None:
    """Let both use one catalog on a server: one creates a table, and each waits for the lock that another holds."""
    make(lake, {"bucket": "1", **ONCE}, by_us=by_us)
    write(lake, [(1, "a", 1)], by_us=not by_us)
    assert names(lake) == {"db": ["t"]}
    longer = load_catalog({"warehouse": lake.uri, **options, "lock-acquire-timeout": "1 h"})
    lock = longer.load_table("db.t").store.lock
    assert lock is not None
    with lock.held(SystemClock()), pytest.raises((PeerError, LockTimeout)):
        write(lake, [(2, "a", 2)], by_us=by_us)
    write(lake, [(3, "a", 3)], by_us=by_us)
    assert read(lake) == [(1, "a", 1), (3, "a", 3)]
    lake.ours.rename_table("db.t", "db.u")
    lake.theirs.catalog(lake.uri, "drop_table", "db.u")
    assert names(lake) == {"db": []}


# --- MySQL ------------------------------------------------------------------------------------------------------------


_ONE_DATABASE = "?nullDatabaseMeansCurrent=true"
"""Without it, the real Paimon creates no tables if any other database of the server has them."""


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MySqlServer]:
    with running_mysql() as running:
        yield running


@BOTH
def test_both_share_the_names_and_the_lock_in_mysql(
    tmp_path: Path, paimon: PaimonPeer, mariadb: MySqlServer, by_us: bool
) -> None:
    # Who opens the catalog first creates the tables.
    own = {"uri": mariadb.uri if by_us else f"{mariadb.uri_of(OF_JAVA)}{_ONE_DATABASE}", "lock.enabled": "true"}
    options, uri = mariadb.options | own | HASTY, str(tmp_path / "w")
    theirs = paimon.with_catalog(options)
    if not by_us:
        assert theirs.catalog(uri, "databases") == []
    lake = SharedLake(uri, load_catalog({"warehouse": uri, **options}), theirs)
    share(lake, options, by_us)
    if not by_us:
        make(lake, {"bucket": "1"}, by_us=False, name="db.Orders")
        with pytest.raises(InvalidInputError, match=r"that of 'jdbc'\.'db'\.'Orders'"):
            make(lake, {"bucket": "1"}, by_us=True, name="db.orders")
        with pytest.raises(PeerError, match=r"There is no paimon table in|TableAlreadyExistException"):
            make(lake, {"bucket": "1"}, by_us=False, name="db.orders")


def test_paimon_cannot_create_its_tables_in_a_database_of_mysql_with_letters_of_four_bytes(
    tmp_path: Path, paimon: PaimonPeer, mariadb: MySqlServer
) -> None:
    # When this fails: change the documents.
    options = mariadb.options | {"uri": f"{mariadb.uri_of(EMPTY)}{_ONE_DATABASE}"}
    theirs = paimon.with_catalog(options)
    with pytest.raises(PeerError, match=r"Cannot initialize JDBC catalog|Specified key was too long"):
        theirs.catalog(str(tmp_path), "databases")
    ours = load_catalog({"warehouse": str(tmp_path), **options})
    ours.create_database("db")
    assert theirs.catalog(str(tmp_path), "databases") == ["db"]
