"""The lock of a table in a real Hive metastore."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from table_format import Schema, SetOption
from table_format.catalog.hive.address import parse_addresses
from table_format.catalog.hive.catalog import HiveCatalog
from table_format.catalog.hive.lock import HiveLock, milliseconds
from table_format.catalog.hive.metastore import Metastore, thrift
from table_format.errors import LockTimeout, MetastoreUnavailable
from table_format.io.memory import MemoryFileIO
from table_format.runtime import SystemClock
from tests.support.hive_metastore import HiveMetastore, hive_catalog
from tests.support.metastore_table import HookedFileIO, ManualClock
from tests.support.tables import KEYED, Warehouse, keyed, rows_of

LOCKED = {"lock.enabled": "true", "lock-acquire-timeout": "3 s", "lock-check-max-sleep": "1 s"}


def lock_request(table: str) -> Any:
    api = thrift()
    part = api.LockComponent(type=api.LockType.EXCLUSIVE, level=api.LockLevel.TABLE, dbname="db", tablename=table)
    return api.LockRequest(component=[part], user="me", hostname="here")


def is_free(catalog: HiveCatalog, table: str = "t") -> bool:
    """Whether nobody holds the lock of a table: a look that takes it and gives it back."""
    api = thrift()
    answer = catalog.metastore.change("lock", lock_request(table))
    catalog.metastore.change("unlock", api.UnlockRequest(answer.lockid))
    return bool(answer.state == api.LockState.ACQUIRED)


def hooked(metastore: HiveMetastore, directory: Path, clock: ManualClock) -> tuple[HiveCatalog, HookedFileIO]:
    io = HookedFileIO(MemoryFileIO())
    catalog = hive_catalog(metastore, directory, io, clock, **LOCKED)
    catalog.create_table("db.t", Schema.from_arrow(KEYED))
    return catalog, io


def test_snapshots_and_schemas_are_published_under_the_lock_of_the_table_or_branch(
    metastore: HiveMetastore, warehouse: Warehouse, tmp_path: Path
) -> None:
    catalog, io = hooked(metastore, tmp_path / "own", ManualClock())
    free: list[bool] = []
    io.before("create", "/t/snapshot/snapshot-1", lambda: free.append(is_free(catalog)))
    io.before("create", "/t/schema/schema-1", lambda: free.append(is_free(catalog)))
    io.before("create", "/branch-b/snapshot/snapshot-2", lambda: free.append(is_free(catalog, "t$branch_b")))
    table = catalog.load_table("db.t")
    table.append(keyed([(1, "a", 1)]))
    catalog.alter_table("db.t", SetOption("write-only", "true"))
    table.create_tag("one")
    table.create_branch("b", tag="one")
    catalog.load_table("db.t$branch_b").append(keyed([(2, "a", 2)]))
    assert free == [False, False, False]
    assert is_free(catalog)
    assert is_free(catalog, "t$branch_b")


def test_a_commit_waits_longer_and_longer_and_gives_up_without_a_trace(
    metastore: HiveMetastore, warehouse: Warehouse, tmp_path: Path
) -> None:
    clock = ManualClock()
    catalog, io = hooked(metastore, tmp_path / "own", clock)
    table = catalog.load_table("db.t")
    lock = catalog.load_table("db.t").store.lock
    assert lock is not None
    with lock.held(SystemClock()), pytest.raises(LockTimeout, match=r"lock of 'db\.t' .* for longer than 3000 ms"):
        table.append(keyed([(1, "a", 1)]))
    assert clock.slept == [100, 200, 400, 800, 1000, 1000]
    assert table.latest_snapshot() is None
    assert io.list(f"{table.store.paths.root}/manifest") == []
    table.append(keyed([(2, "a", 2)]))
    assert rows_of(table) == [(2, "a", 2)]


def test_a_lock_lasts_as_long_as_the_metastore_waits_to_hear_of_it(warehouse: Warehouse) -> None:
    warehouse.table("t")
    clock = ManualClock()
    lock = warehouse.catalog.load_table("db.t").store.lock
    assert lock is not None
    with lock.held(clock) as end_ms:
        assert end_ms - clock.monotonic_ms() == 300_000


def test_a_commit_that_cannot_reach_the_lock_fails_and_leaves_nothing(warehouse: Warehouse, tmp_path: Path) -> None:
    table = warehouse.table("t")
    lock = table.store.lock
    assert isinstance(lock, HiveLock)
    elsewhere = replace(lock, metastore=Metastore(parse_addresses("thrift://127.0.0.1:1")))
    away = replace(table, store=replace(table.store, lock=elsewhere))
    with pytest.raises(MetastoreUnavailable, match="cannot be reached: thrift://127"):
        away.append(keyed([(1, "a", 1)]))
    assert table.latest_snapshot() is None
    assert warehouse.files(table) == ["schema/schema-0"]


def test_a_writer_whose_lock_may_have_ended_says_so(warehouse: Warehouse, caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    lock = warehouse.table("t").store.lock
    assert lock is not None
    with lock.held(clock):
        clock.ms += 300_000
    assert "the lock of 'db.t' may have ended before its work did: raise 'hive.txn.timeout' of Hive" in caplog.text


@pytest.mark.parametrize(("setting", "ms"), [("300s", 300_000), ("5min", 300_000), ("90", 90_000), ("1h", 3_600_000)])
def test_durations_of_hive_are_understood(setting: str, ms: int) -> None:
    assert milliseconds(setting) == ms


def test_what_is_no_duration_is_an_error_that_shows_it() -> None:
    with pytest.raises(MetastoreUnavailable, match=r"'hive\.txn\.timeout' is 'soon', which is no duration"):
        milliseconds("soon")
