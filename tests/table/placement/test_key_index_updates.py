"""The local index of keys follows the table, and is built again where it cannot."""

from __future__ import annotations

import logging
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import KeyPlacesChanged
from table_format.indexes.key_index import IndexedRows
from table_format.kernels.key_shards import KeyShard
from table_format.runtime import Runtime
from table_format.table.placement import key_index_updates as key_places
from table_format.table.placement.key_index_updates import follow
from table_format.table.placement.local_key_index import open_key_index
from tests.support.moving_keys import (
    Steps,
    index_content,
    local_files,
    moving,
    of_another_machine,
    places_of,
    rows,
    shards_content,
    with_runtime,
)
from tests.support.tables import Warehouse, memory_warehouse, rows_of


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return with_runtime(memory_warehouse(), Runtime(cache_directory=str(tmp_path / "cache")))


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that grows when an index is built again."""
    made: list[str] = []
    real = key_places._rebuild

    def note(facts: Any, *how: Any) -> None:
        made.append(facts.name)
        real(facts, *how)

    monkeypatch.setattr(key_places, "_rebuild", note)
    return made


def test_the_index_is_built_once_and_then_follows(warehouse: Warehouse, built: list[str]) -> None:
    table = moving(warehouse)
    for turn in range(4):
        warehouse.reopened(table).append(rows((1, f"p{turn}", turn), (turn + 10, "p0", turn)))
        table.compact(full=True)
    assert len(built) == 1
    assert len(rows_of(table)) == 5
    table.drop_partitions([{"dt": "p0"}])
    table.append(rows((10, "p1", 5)))
    assert rows_of(table) == [(1, "p3", 3), (10, "p1", 5)]
    assert len(built) == 1


def test_a_history_that_was_rolled_back_is_not_trusted(warehouse: Warehouse, built: list[str]) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    table.append(rows((1, "p2", 2)))
    assert index_content(table) == {(1,): ("dt=p2", 0)}
    table.rollback_to(1)
    table.append(rows((2, "p1", 2)))
    assert table.latest_snapshot().id == 2
    assert index_content(table) == {(1,): ("dt=p1", 0), (2,): ("dt=p1", 0)}
    assert len(built) == 2


def test_another_snapshot_of_the_same_id_is_not_taken_for_the_one_that_was_known(
    warehouse: Warehouse, built: list[str]
) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    table.append(rows((1, "p2", 2)))
    assert index_content(table) == {(1,): ("dt=p2", 0)}
    other = of_another_machine(table)
    other.rollback_to(1)
    other.append(rows((2, "p1", 2)))
    before = len(built)
    assert index_content(table) == places_of(table) == {(1,): ("dt=p1", 0), (2,): ("dt=p1", 0)}
    assert len(built) == before + 1


def test_a_table_created_again_at_the_same_path_has_an_index_of_its_own(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    assert index_content(table) == {(1,): ("dt=p1", 0)}
    with_runtime(warehouse, of_another_machine(table).store.runtime).catalog.drop_table(str(table.identifier))
    again = of_another_machine(moving(warehouse))
    again.append(rows((1, "p2", 1)))
    again = warehouse.reopened(again)
    assert rows_of(again) == [(1, "p2", 1)]
    assert index_content(again) == {(1,): ("dt=p2", 0)}


def test_an_index_whose_snapshot_has_expired_is_built_again(warehouse: Warehouse, built: list[str]) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    assert index_content(table) == {(1,): ("dt=p1", 0)}
    other = of_another_machine(table)
    for turn in range(4):
        other.append(rows((1, f"q{turn}", turn)))
    table.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=2**60, retain_floor_ms=0)
    before = len(built)
    table.append(rows((1, "p1", 5)))
    assert rows_of(table) == [(1, "p1", 5)]
    assert len(built) == before + 1


def test_a_damaged_index_is_built_again(warehouse: Warehouse, built: list[str]) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    table.append(rows((1, "p2", 1)))
    files = list(Path(table.store.runtime.cache_directory or "").rglob("*.duckdb"))
    assert len(files) == 1
    content = bytearray(files[0].read_bytes())
    content[4096:12288] = b"\x07" * 8192
    files[0].write_bytes(content)
    table.append(rows((1, "p3", 3)))
    assert rows_of(table) == [(1, "p3", 3)]
    files[0].write_bytes(b"no database")
    table.append(rows((1, "p4", 4)))
    assert rows_of(table) == [(1, "p4", 4)]


def test_an_index_that_was_opened_with_other_settings_in_between_is_built_again(
    warehouse: Warehouse, built: list[str]
) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    assert index_content(table) == {(1,): ("dt=p1", 0)}
    open_key_index(table.copy({"cross-partition-upsert.index-ttl": "9 d"}).facts).close()
    assert index_content(table) == {(1,): ("dt=p1", 0)}
    assert len(built) == 2


def test_an_index_that_crashes_while_it_follows_stands_for_the_snapshot_before(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    table.append(rows((1, "p2", 2), (2, "p2", 2)))
    index = open_key_index(table.facts)
    with monkeypatch.context() as patch:
        patch.setattr(index, "_note_position", lambda _position: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            follow(table.facts, index, table.latest_snapshot())
    index.close()
    index = open_key_index(table.facts)
    assert (index.position or "").startswith("1:")
    index.close()
    assert index_content(table) == places_of(table)


def test_more_writers_at_once_have_indexes_of_their_own(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    first, second = open_key_index(table.facts), open_key_index(table.facts)
    for index in (first, second):
        follow(table.facts, index, table.latest_snapshot())
        assert index.content() == first.content()
        assert len(index.content()) == 1
    first.close()
    second.close()
    assert local_files(table) == ["keys-0.duckdb", "keys-1.duckdb"]


def test_after_a_restart_with_a_million_keys_none_is_doubled(
    warehouse: Warehouse, tmp_path: Path, built: list[str]
) -> None:
    table = moving(warehouse, write_only="true")
    ids = np.arange(1_000_000)

    def some(ids: Any, shift: int) -> pa.Table:
        dates = pa.array(["a", "b", "c"]).take(pa.array((ids + shift) % 3))
        return pa.table({"id": pa.array(ids), "dt": dates, "v": pa.array(ids.astype(np.int32))})

    table.append(some(ids, 0))
    table.append(some(ids[::1000], 1))
    # The first time an index was empty, the second time so much had come that all was read.
    assert len(built) == 2
    table.append(some(ids[::500], 2))
    assert len(built) == 2
    elsewhere = Runtime(cache_directory=str(tmp_path / "elsewhere"))
    replace(table, store=replace(table.store, runtime=elsewhere)).append(some(ids[::250], 0))
    found = table.scan(columns=["id", "dt"]).to_arrow()
    assert found.num_rows == len(np.unique(found.column("id").to_numpy())) == len(ids)
    assert sorted(found.column("dt").value_counts().to_pylist(), key=str) == sorted(
        some(ids, 0).column("dt").value_counts().to_pylist(), key=str
    )


def test_a_branch_has_an_index_of_its_own(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    table.create_tag("t1")
    table.create_branch("side", tag="t1")
    side = warehouse.catalog.load_table(f"{table.identifier}$branch_side")
    assert isinstance(side, Table)
    side.append(rows((1, "p2", 2)))
    table.append(rows((1, "p3", 3)))
    assert (rows_of(side), rows_of(table)) == ([(1, "p2", 2)], [(1, "p3", 3)])


# --- shards, one for each of several assigners ------------------------------------------------------------------------


@pytest.mark.parametrize("of", [2, 3])
def test_shards_follow_the_table_and_share_its_keys(warehouse: Warehouse, built: list[str], of: int) -> None:
    table = moving(warehouse, dynamic_bucket__target_row_num="3")
    chance = random.Random(of)
    for turn in range(3):
        table.append(rows(*((chance.randrange(30), chance.choice("abc"), turn) for _ in range(12))))
        if turn == 1:
            table.drop_partitions([{"dt": "a"}])
        assert shards_content(table, of) == index_content(table) == places_of(table)
    assert len(built) == 1 + of


def test_keys_that_somebody_has_read_already_are_taken_when_the_index_is_built(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1), (2, "p1", 2)))
    base, shard = table.latest_snapshot(), KeyShard(0, 2)
    partition = next(iter(table.scan().plan())).partition
    known = IndexedRows([pa.array([7, 8])], partition, 3, 0)
    for _ in range(2):
        # The second time the index stands for that snapshot, and needs no keys.
        index = open_key_index(table.facts, shard=shard)
        follow(table.facts, index, base, shard=shard, known=iter([known]))
        assert sorted(index.content()) == [(7,), (8,)]
        index.close()


def test_an_index_that_is_further_than_the_rows_tells_that_others_have_written(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    table.append(rows((1, "p1", 2)))
    base = table.latest_snapshot()
    table.compact(full=True)
    later = index_content(table)
    index = open_key_index(table.facts)
    # A compaction moves no key: what the index says holds for the snapshot before as well.
    follow(table.facts, index, base)
    assert {k[0] for k in later} == {k[0] for k in index.content()} == {1}
    with pytest.raises(KeyPlacesChanged, match="after snapshot 1"):
        follow(table.facts, index, table.facts.snapshots.find(1))
    index.close()


# --- age --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_key_older_than_the_limit_is_taken_for_a_new_one(warehouse: Warehouse, tmp_path: Path, is_kept: bool) -> None:
    clock = Steps()
    runtime = Runtime(clock=clock, cache_directory=str(tmp_path / "aging"))
    table = moving(with_runtime(warehouse, runtime), cross_partition_upsert__index_ttl="1 h")

    def later(hours: float, *written: tuple[Any, ...]) -> None:
        nonlocal table
        clock.ms += int(hours * 3_600_000)
        if not is_kept:
            fresh = replace(runtime, cache_directory=str(tmp_path / f"aging-{clock.ms}"))
            table = replace(table, store=replace(table.store, runtime=fresh))
        table.append(rows(*written))

    later(0, (1, "p1", 1), (2, "p0", 1))
    later(0.9, (1, "p2", 2))
    assert rows_of(table) == [(1, "p2", 2), (2, "p0", 1)]
    # Key 1 was written 0.9 hours ago, key 2 last 1.8 hours ago: a duplicate, as documented.
    later(0.9, (1, "p3", 3), (2, "p3", 3))
    assert rows_of(table) == [(1, "p3", 3), (2, "p0", 1), (2, "p3", 3)]


def test_of_a_key_in_two_partitions_the_newest_place_counts(
    warehouse: Warehouse, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Steps()
    runtime = Runtime(clock=clock, cache_directory=str(tmp_path / "aging"))
    table = moving(with_runtime(warehouse, runtime), cross_partition_upsert__index_ttl="1 h")
    table.append(rows((1, "p1", 1)))
    clock.ms += 7_200_000
    table.append(rows((1, "p2", 2)))
    assert len(rows_of(table)) == 2
    unlimited = table.copy({"cross-partition-upsert.index-ttl": "30 d"})
    with caplog.at_level(logging.WARNING):
        unlimited.append(rows((1, "p3", 3)))
    assert "1 key is in more than one partition" in caplog.text
    assert rows_of(table) == [(1, "p1", 1), (1, "p3", 3)]
