"""The lock of a table: who holds it, when it ends, and what is done under it."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from table_format import Schema
from table_format.catalog.jdbc.catalog import JdbcCatalog
from table_format.errors import CommitOutcomeUnknown, LockTimeout, MetastoreUnavailable
from table_format.io.memory import MemoryFileIO
from table_format.model.schema_change import SetOption
from table_format.runtime import SystemClock
from tests.support.jdbc_catalogs import jdbc_catalog, jdbc_warehouse, locks, sql
from tests.support.metastore_table import HookedFileIO, ManualClock, once
from tests.support.tables import KEYED, keyed, rows_of

SCHEMA = Schema.from_arrow(KEYED)
LOCK = "jdbc.db.t"
OTHERS = "INSERT INTO paimon_distributed_locks (lock_id, expire_time_seconds) VALUES (?, ?)"
AGED = "UPDATE paimon_distributed_locks SET acquired_at = datetime('now', ?)"


def hooked(directory: Path, clock: ManualClock | None = None, **more: str) -> tuple[JdbcCatalog, HookedFileIO]:
    """A catalog with locks and the table ``db.t``, whose store calls functions of the test."""
    io = HookedFileIO(MemoryFileIO())
    catalog = jdbc_catalog(directory, io, clock, lock_enabled="true", **more)
    catalog.create_database("db")
    catalog.create_table("db.t", SCHEMA)
    return catalog, io


def test_a_snapshot_is_published_under_the_lock_of_its_table_or_branch(tmp_path: Path) -> None:
    catalog, io = hooked(tmp_path)
    held: list[object] = []
    io.before("create", "/snapshot/snapshot-", lambda: held.append(locks(tmp_path)))
    io.before("create", "/manifest/", lambda: held.append(len(locks(tmp_path))))
    table = catalog.load_table("db.t")
    table.append(keyed([(1, "a", 1)]))
    assert [found for found in held if found != 0] == [[LOCK]]
    assert sql(tmp_path, "SELECT * FROM paimon_distributed_locks") == []
    table.create_tag("one")
    table.create_branch("b", tag="one")
    held.clear()
    catalog.load_table("db.t$branch_b").append(keyed([(2, "a", 2)]))
    assert [found for found in held if found != 0] == [[f"{LOCK}$branch_b"]]


def test_every_handle_of_a_table_knows_its_lock_also_in_another_process(tmp_path: Path) -> None:
    catalog = jdbc_catalog(tmp_path, lock_enabled="true")
    catalog.create_database("db")
    table = catalog.create_table("db.t", SCHEMA)
    sent = pickle.loads(pickle.dumps(table))  # noqa: S301
    altered = catalog.alter_table("db.t", SetOption("write-only", "true"))
    for handle in (table, table.current(), sent, sent.current(), altered):
        assert handle.store.lock == table.store.lock
    assert jdbc_catalog(tmp_path, lock_enabled="false").load_table("db.t").store.lock is None


def test_a_table_is_created_and_changed_under_its_lock(tmp_path: Path) -> None:
    io = HookedFileIO(MemoryFileIO())
    held: list[object] = []
    io.before("create", "/schema/schema-", lambda: held.append(locks(tmp_path)))
    catalog = jdbc_catalog(tmp_path, io, lock_enabled="true", catalog_key="lake")
    catalog.create_database("db")
    catalog.create_table("db.t", SCHEMA)
    catalog.alter_table("db.t", SetOption("write-only", "true"))
    assert held == [["lake.db.t"], ["lake.db.t"]]
    assert locks(tmp_path) == []


def test_without_locks_none_is_taken_and_their_table_is_not_created(tmp_path: Path) -> None:
    warehouse = jdbc_warehouse(tmp_path)
    warehouse.table("t").append(keyed([(1, "a", 1)]))
    assert sql(tmp_path, "SELECT name FROM sqlite_master WHERE name = 'paimon_distributed_locks'") == []


def test_the_row_of_a_lock_says_when_it_ends(tmp_path: Path) -> None:
    catalog, io = hooked(tmp_path, lock_acquire_timeout="90 s")
    rows: list[object] = []
    query = "SELECT lock_id, expire_time_seconds, typeof(acquired_at), acquired_at <= datetime('now') FROM {}"
    io.before("create", "/snapshot-1", lambda: rows.extend(sql(tmp_path, query.format("paimon_distributed_locks"))))
    catalog.load_table("db.t").append(keyed([(1, "a", 1)]))
    assert rows == [(LOCK, 90, "text", 1)]


def test_a_commit_waits_longer_and_longer_and_gives_up_without_a_trace(tmp_path: Path) -> None:
    clock = ManualClock()
    catalog, io = hooked(tmp_path, clock, lock_acquire_timeout="3 s", lock_check_max_sleep="1 s")
    sql(tmp_path, OTHERS, LOCK, 3600)
    table = catalog.load_table("db.t")
    with pytest.raises(LockTimeout, match=rf"held the lock '{LOCK}' of jdbc:sqlite:.* for longer than 3000 ms"):
        table.append(keyed([(1, "a", 1)]))
    assert clock.slept == [100, 200, 400, 800, 1000, 1000]
    assert locks(tmp_path) == [LOCK]
    assert table.latest_snapshot() is None
    kept = [
        child.name
        for child in io.list(f"{table.store.paths.root}")
        if io.list(f"{table.store.paths.root}/{child.name}")
    ]
    assert kept == ["schema"]


def test_a_commit_goes_on_when_the_lock_is_released(tmp_path: Path) -> None:
    clock = ManualClock()
    catalog, _ = hooked(tmp_path, clock)
    sql(tmp_path, OTHERS, LOCK, 3600)
    sleep = clock.sleep_ms

    def others_release(duration_ms: int) -> None:
        sleep(duration_ms)
        sql(tmp_path, "DELETE FROM paimon_distributed_locks")

    clock.sleep_ms = others_release  # type: ignore[method-assign]
    table = catalog.load_table("db.t")
    table.append(keyed([(1, "a", 1)]))
    assert clock.slept == [100]
    assert rows_of(table) == [(1, "a", 1)]


@pytest.mark.parametrize(("age", "is_free"), [("-8 seconds", False), ("-12 seconds", True)])
def test_a_lock_that_is_older_than_its_time_is_free(tmp_path: Path, age: str, is_free: bool) -> None:
    catalog, _ = hooked(tmp_path, ManualClock(), lock_acquire_timeout="1 s")
    sql(tmp_path, OTHERS, LOCK, 10)
    sql(tmp_path, AGED, age)
    table = catalog.load_table("db.t")
    if is_free:
        table.append(keyed([(1, "a", 1)]))
        assert (rows_of(table), locks(tmp_path)) == ([(1, "a", 1)], [])
    else:
        with pytest.raises(LockTimeout):
            table.append(keyed([(1, "a", 1)]))


def test_a_writer_whose_lock_has_ended_leaves_that_of_the_next_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    catalog, _ = hooked(tmp_path)
    lock = catalog.load_table("db.t").store.lock
    assert lock is not None
    with lock.held(SystemClock()):
        sql(tmp_path, AGED, "-1 hours")
        sql(tmp_path, "DELETE FROM paimon_distributed_locks")
        sql(tmp_path, OTHERS, LOCK, 3600)
        sql(tmp_path, AGED, "+5 seconds")
    assert locks(tmp_path) == [LOCK]
    assert f"the lock '{LOCK}' ended before its work did" in caplog.text


def test_a_commit_does_not_publish_after_the_end_of_its_lock(tmp_path: Path) -> None:
    clock = ManualClock()
    catalog, io = hooked(tmp_path, clock, lock_acquire_timeout="5 s")
    table = catalog.load_table("db.t")
    unanswered = 0

    def lose_the_request() -> None:
        nonlocal unanswered
        unanswered += 1
        clock.ms += 6_000
        if unanswered == 1:
            raise OSError(5, "the request is lost")

    io.before("create", "/snapshot-1", lose_the_request)
    with pytest.raises(CommitOutcomeUnknown):
        table.append(keyed([(1, "a", 1)]))
    assert unanswered == 1, "a request is not repeated after the lock has ended"


def test_a_commit_that_waited_too_long_for_the_lock_begins_again(tmp_path: Path) -> None:
    clock = ManualClock()
    catalog, io = hooked(tmp_path, clock)
    table = catalog.alter_table("db.t", SetOption("commit.attempt-timeout", "1 s"))
    sql(tmp_path, OTHERS, LOCK, 3600)
    sleep, begun = clock.sleep_ms, []

    def others_release_late(duration_ms: int) -> None:
        sleep(duration_ms)
        if len(clock.slept) == 5:
            sql(tmp_path, "DELETE FROM paimon_distributed_locks")

    clock.sleep_ms = others_release_late  # type: ignore[method-assign]
    io.before("create", "/snapshot-1", lambda: begun.append(clock.ms))
    table.append(keyed([(1, "a", 1)]))
    assert len(begun) == 1
    assert clock.slept[:5] == [100, 200, 400, 800, 1600]
    assert rows_of(table) == [(1, "a", 1)]


def test_a_commit_that_cannot_reach_the_lock_fails_and_leaves_nothing(tmp_path: Path) -> None:
    catalog, io = hooked(tmp_path)
    table = catalog.load_table("db.t")
    sql(tmp_path, "ALTER TABLE paimon_distributed_locks RENAME TO gone")
    with pytest.raises(MetastoreUnavailable, match="no such table: paimon_distributed_locks"):
        table.append(keyed([(1, "a", 1)]))
    sql(tmp_path, "ALTER TABLE gone RENAME TO paimon_distributed_locks")
    assert table.latest_snapshot() is None
    assert io.list(f"{table.store.paths.root}/manifest") == []
    table.append(keyed([(2, "a", 2)]))
    assert rows_of(table) == [(2, "a", 2)]


def test_a_commit_stands_if_its_lock_cannot_be_released(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    catalog, io = hooked(tmp_path)
    table = catalog.load_table("db.t")
    gone = "ALTER TABLE paimon_distributed_locks RENAME TO gone"
    io.after("create", "/snapshot-1", once(lambda: sql(tmp_path, gone)))
    table.append(keyed([(1, "a", 1)]))
    assert rows_of(table) == [(1, "a", 1)]
    assert f"the lock '{LOCK}' was not released, and ends by itself" in caplog.text
