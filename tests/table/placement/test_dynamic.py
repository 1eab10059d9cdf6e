"""Tables with ``bucket = -1`` and a primary key: keys are given buckets as they come, and an index records them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from table_format import Schema, Table
from table_format.errors import ConflictError, CorruptionError, HashIndexChanged
from table_format.kernels.hashing import row_hashes
from table_format.model.commit import CommitMessage
from table_format.model.manifest import HASH
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.runtime import Runtime, SystemClock
from table_format.table.write.commit_retries import MAX_ATTEMPTS, is_repeatable, write_and_commit
from tests.support.dynamic_buckets import assert_sound, index_of
from tests.support.matrix import tries
from tests.support.tables import KEYED, Warehouse, keyed, memory_warehouse, rows_of


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def dynamic(warehouse: Warehouse, name: str = "t", *, partitioned: bool = False, **options: str) -> Table:
    given = {"bucket": "-1", **{key.replace("__", ".").replace("_", "-"): v for key, v in options.items()}}
    if partitioned:
        return warehouse.table(name, primary_keys=["id", "dt"], partition_keys=["dt"], options=given)
    return warehouse.table(name, primary_keys=["id"], options=given)


def rows(ids: range | list[int], dt: str = "a", factor: int = 1) -> pa.Table:
    return keyed([(i, dt, i * factor) for i in ids])


def index_files(table: Table, snapshot: Snapshot | None = None) -> dict[int, str]:
    chosen = snapshot or table.latest_snapshot()
    assert chosen is not None
    entries = table.facts.manifests.index_entries(chosen)
    assert {e.index_file.index_type for e in entries} <= {HASH}
    return {e.bucket: e.index_file.file_name for e in entries}


def buckets_of(table: Table) -> dict[int, int]:
    scan = table.scan()
    return {i: split.bucket for split in scan.plan() for b in scan.read(split) for i in b.column("id").to_pylist()}


def test_buckets_grow_by_themselves_and_old_keys_stay(warehouse: Warehouse) -> None:
    table = dynamic(warehouse, dynamic_bucket__target_row_num="2")
    table.append(rows(range(5)))
    before = buckets_of(table)
    assert sorted(before.values()) == [0, 0, 1, 1, 2]
    table.append(rows(range(5), factor=7))
    assert buckets_of(table) == before
    table.append(rows(range(3, 8)))
    assert {i: b for i, b in buckets_of(table).items() if i < 5} == before
    assert sorted(buckets_of(table).values()) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert_sound(table, exact=True)


def test_a_primary_key_table_without_any_option_has_dynamic_buckets(warehouse: Warehouse) -> None:
    table = warehouse.catalog.create_table("db.plain", Schema.from_arrow(KEYED, ["id"], [], {}))
    table.append(rows(range(3)))
    assert list(index_of(table)) == [0]
    entries = table.facts.manifests.delta_entries(table.latest_snapshot())
    assert [e.total_buckets for e in entries] == [-1]


def test_the_walk_through_of_a_table_with_a_thousand_keys_for_each_bucket(warehouse: Warehouse) -> None:
    table = dynamic(warehouse, dynamic_bucket__target_row_num="1000", write_only="true")
    # The first row of a key makes bucket 0; the same key once more changes no index; another key goes beside it.
    table.append(rows([1]))
    first = index_files(table)
    table.append(rows([1], factor=2))
    assert index_files(table) == first
    assert table.snapshots()[0].index_manifest == table.snapshots()[1].index_manifest
    table.append(rows([2]))
    assert list(index_files(table)) == [0]
    # The 1001st key finds bucket 0 full.
    table.append(rows(range(3, 1001)))
    table.append(rows([1001]))
    index = index_of(table)
    keys = pa.array(range(1, 1002), pa.int64())
    hashes = row_hashes([table.schema.field("id").type], [keys]).tolist()
    assert index == {0: sorted(hashes[:1000]), 1: hashes[1000:]}
    entries = {e.bucket: e.index_file for e in table.facts.manifests.index_entries(table.latest_snapshot())}
    assert {b: (f.index_type, f.file_size, f.row_count) for b, f in entries.items()} == {
        0: ("HASH", 4000, 1000),
        1: ("HASH", 4, 1),
    }
    for file in entries.values():
        stored = warehouse.io.read(table.store.paths.index(file.file_name))
        assert sorted(np.frombuffer(stored, ">i4").tolist()) == index[0 if file.row_count == 1000 else 1]
        assert file.file_name.startswith("index-")
        assert file.deletion_vector_ranges is None
        assert file.external_path is None
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert snapshot.id == 5
    assert snapshot.commit_kind is CommitKind.APPEND
    assert snapshot.index_manifest is not None
    assert snapshot.index_manifest.startswith("index-manifest-")
    assert buckets_of(table)[1001] == 1


def test_initial_buckets_are_filled_side_by_side(warehouse: Warehouse) -> None:
    table = dynamic(warehouse, dynamic_bucket__initial_buckets="4")
    table.append(rows(range(100)))
    assert sorted(index_of(table)) == [0, 1, 2, 3]
    assert_sound(table, exact=True)


@pytest.mark.parametrize("unlimited", ["-1", "0"])
def test_the_number_of_buckets_may_be_limited_or_not(warehouse: Warehouse, unlimited: str) -> None:
    few = dynamic(warehouse, "few", dynamic_bucket__target_row_num="2", dynamic_bucket__max_buckets="2")
    few.append(rows(range(6)))
    before = buckets_of(few)
    # Two fill bucket 0, two bucket 1, and the hashes of the others choose among both.
    hashes = row_hashes([few.schema.field("id").type], [pa.array(range(6), pa.int64())])
    further = [abs(int(hashed)) % 2 for hashed in hashes[4:]]
    assert [before[key] for key in range(6)] == [0, 0, 1, 1, *further]
    few.append(rows(range(6)))
    assert buckets_of(few) == before
    few.append(rows(range(6, 60)))
    assert {key: bucket for key, bucket in buckets_of(few).items() if key < 6} == before
    assert set(buckets_of(few).values()) == {0, 1}
    assert_sound(few, exact=True)
    many = dynamic(warehouse, "many", dynamic_bucket__target_row_num="2", dynamic_bucket__max_buckets=unlimited)
    many.append(rows(range(6)))
    assert [buckets_of(many)[key] for key in range(6)] == [0, 0, 1, 1, 2, 2]
    # The reference takes no 0: its assigner finds no bucket.
    assert many.schema.options["dynamic-bucket.max-buckets"] == "-1"


def test_each_partition_has_as_many_buckets_as_are_allowed(warehouse: Warehouse) -> None:
    """The reference counts the buckets of all partitions together, so that later partitions get a single one."""
    table = dynamic(warehouse, partitioned=True, dynamic_bucket__target_row_num="2", dynamic_bucket__max_buckets="2")
    table.append(pa.concat_tables([rows(range(4), "a"), rows(range(4), "b")]))
    assert sorted(split.bucket for split in table.scan().plan()) == [0, 0, 1, 1]


def test_only_buckets_with_new_keys_get_a_new_index_file(warehouse: Warehouse) -> None:
    table = dynamic(warehouse, dynamic_bucket__target_row_num="3")
    table.append(rows(range(4)))
    before = index_files(table)
    table.append(rows([0, 1, 7]))
    after = index_files(table)
    assert after[0] == before[0]
    assert after[1] != before[1]
    table.delete("id = 7")
    assert index_files(table) == after
    assert_sound(table)


def test_partitions_have_buckets_of_their_own(warehouse: Warehouse) -> None:
    table = dynamic(warehouse, partitioned=True, dynamic_bucket__target_row_num="2")
    table.append(pa.concat_tables([rows(range(3), "a"), rows(range(2), "b")]))
    assert {(e.partition, e.bucket) for e in table.facts.manifests.index_entries(table.latest_snapshot())} == {
        (split.partition, split.bucket) for split in table.scan().plan()
    }
    assert_sound(table, exact=True)
    table.overwrite(rows(range(1, 2), "a"), partition={"dt": "a"})
    assert rows_of(table) == [(0, "b", 0), (1, "a", 1), (1, "b", 1)]
    assert_sound(table, exact=True)
    table.drop_partitions([{"dt": "b"}])
    assert len(index_files(table)) == 1


def test_an_overwrite_begins_with_an_empty_index(warehouse: Warehouse) -> None:
    table = dynamic(warehouse, dynamic_bucket__target_row_num="2")
    table.append(rows(range(9)))
    table.overwrite(rows([8, 7, 6]))
    assert sorted(buckets_of(table).values()) == [0, 0, 1]
    assert_sound(table, exact=True)
    table.truncate()
    assert table.latest_snapshot().index_manifest is None  # type: ignore[union-attr]
    table.append(rows([5]))
    assert index_of(table).keys() == {0}


def test_index_files_die_with_their_snapshots(warehouse: Warehouse) -> None:
    table = dynamic(warehouse)
    for i in range(4):
        table.append(rows([i]))
    assert len([f for f in warehouse.files(table) if f.startswith("index/")]) == 4
    table.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=1 << 60, retain_floor_ms=0)
    assert [f for f in warehouse.files(table) if f.startswith("index/")] == [f"index/{index_files(table)[0]}"]
    table.append(rows([9]))
    assert_sound(table, exact=True)


def test_compaction_leaves_the_index_alone(warehouse: Warehouse) -> None:
    table = dynamic(warehouse, dynamic_bucket__target_row_num="3", write_only="true")
    for turn in range(4):
        table.append(rows(range(turn, turn + 4), factor=turn))
    before, expected = index_files(table), rows_of(table)
    [snapshot] = table.compact(full=True)
    assert snapshot.commit_kind is CommitKind.COMPACT
    assert index_files(table) == before
    assert rows_of(table) == expected
    assert_sound(table, exact=True)


def test_a_condition_on_the_key_reads_one_bucket(warehouse: Warehouse) -> None:
    table = dynamic(warehouse, partitioned=True, dynamic_bucket__target_row_num="50", write_only="true")
    # Each bucket has files with all the keys' range, so that statistics tell nothing.
    order = list(range(400))
    random.Random(1).shuffle(order)
    table.append(pa.concat_tables([rows(order, "a"), rows(order, "b")]))
    everything = table.scan(filter="dt = 'a'").plan()
    assert everything.file_count == 8
    for key in (0, 17, 200, 399):
        plan = table.scan(filter=f"id = {key} AND dt = 'a'").plan()
        assert plan.file_count == 1
        assert plan.counts.files_dropped_by_bucket + plan.counts.files_dropped_by_key_stats == 7
        assert rows_of(table, filter=f"id = {key} AND dt = 'a'") == [(key, "a", key)]
    assert "by bucket" in str(table.scan(filter="id = 200 AND dt = 'a'").plan())
    assert len(table.scan(filter="id = 17").plan().splits) == 2
    assert rows_of(table, filter="id IN (3, 300)") == [(i, dt, i) for i in (3, 300) for dt in "ab"]
    assert table.scan(filter="id = 200 AND v = 7").to_arrow().num_rows == 0
    # Values do not tell the bucket.
    assert table.scan(filter="v = 17 AND dt = 'a'").plan().file_count > 1


# --- more than one writer --------------------------------------------------------------------------------------------


def test_a_writer_whose_partition_got_new_keys_meanwhile_is_refused(warehouse: Warehouse) -> None:
    table = dynamic(warehouse, partitioned=True)
    table.append(rows(range(2)))
    write, commit = table.new_write(), table.new_commit()
    late = write.write(rows([5]))
    table.append(rows([6]))
    before = warehouse.files(table)
    with pytest.raises(
        HashIndexChanged, match=r"hash index of partition \{dt='a'\}.*it now consists of .* of bucket 0.*write the rows"
    ):
        commit.commit(late)
    commit.abort(late)
    assert len(warehouse.files(table)) == len(before) - 2
    assert rows_of(table) == [(0, "a", 0), (1, "a", 1), (6, "a", 6)]
    # The refused writer finds the new state, and continues.
    table.new_commit().commit(table.new_write().write(rows([5])))
    assert_sound(table, exact=True)


def test_two_first_writers_of_a_table_do_not_lose_a_hash(warehouse: Warehouse) -> None:
    table = dynamic(warehouse)
    first, second = table.new_write().write(rows([1, 2])), table.new_write().write(rows([2, 3]))
    table.new_commit().commit(first)
    with pytest.raises(HashIndexChanged):
        table.new_commit().commit(second)
    assert_sound(table, exact=True)


def test_writers_of_known_keys_and_of_other_partitions_do_not_meet(warehouse: Warehouse) -> None:
    table = dynamic(warehouse, partitioned=True)
    table.append(pa.concat_tables([rows([1]), rows([1], "b")]))
    prepared = [table.new_write().write(data) for data in (rows([1], factor=5), rows([1], factor=6), rows([7], "b"))]
    for messages in prepared:
        table.new_commit().commit(messages)
    assert rows_of(table) == [(1, "a", 6), (1, "b", 1), (7, "b", 7)]
    assert_sound(table, exact=True)


def test_a_key_whose_partition_was_overwritten_is_not_put_into_its_old_bucket(warehouse: Warehouse) -> None:
    table = dynamic(warehouse, dynamic_bucket__target_row_num="1")
    table.append(rows(range(3)))
    late = table.new_write().write(rows([2], factor=9))
    table.overwrite(rows([2]))
    with pytest.raises(ConflictError):
        table.new_commit().commit(late)
    assert_sound(table, exact=True)


def overtaken(table: Table, data: pa.Table, times: int) -> Callable[[], tuple[CommitMessage, ...]]:
    """Writes rows, and lets another commit a key of its own each of the first times."""
    others = iter(range(100, 100 + times))

    def write() -> tuple[CommitMessage, ...]:
        messages = table.new_write().write(data)
        other = next(others, None)
        if other is not None:
            table.new_commit().commit(table.new_write().write(rows([other])))
        return messages

    return write


def test_rows_that_were_overtaken_are_given_their_buckets_again(warehouse: Warehouse) -> None:
    table = dynamic(warehouse, dynamic_bucket__target_row_num="2")
    table.append(rows(range(3)))
    commit = table.new_commit()
    write = overtaken(table, rows([1, 50], factor=2), 5)
    [snapshot] = write_and_commit(table.store, commit, write=write, publish=commit.commit, is_repeatable=True)
    assert snapshot.id == 7
    assert sorted(rows_of(table)) == sorted(
        [*((i, "a", i) for i in (0, 2, *range(100, 105))), (1, "a", 2), (50, "a", 100)]
    )
    assert_sound(table, exact=True)
    named = {e.file.file_name for s in table.snapshots() for e in table.facts.manifests.delta_entries(s)}
    assert {f.split("/")[-1] for f in warehouse.files(table) if "/data-" in f} == named


class NoWaiting(SystemClock):
    """A clock on which waits take no time."""

    def sleep_ms(self, duration_ms: int) -> None:
        assert duration_ms <= 300


def test_rows_are_given_their_buckets_a_bounded_number_of_times(warehouse: Warehouse) -> None:
    table = dynamic(warehouse)
    commit = table.new_commit()
    write = overtaken(table, rows([1]), 1_000)
    patient = replace(table.store, runtime=Runtime(clock=NoWaiting()))
    with pytest.raises(HashIndexChanged):
        write_and_commit(patient, commit, write=write, publish=commit.commit, is_repeatable=True)
    assert len(rows_of(table)) == MAX_ATTEMPTS
    with pytest.raises(HashIndexChanged):
        write_and_commit(patient, commit, write=write, publish=commit.commit, is_repeatable=False)
    assert len(rows_of(table)) == MAX_ATTEMPTS + 1


def test_a_stream_cannot_be_read_twice() -> None:
    assert is_repeatable(rows([1]))
    assert is_repeatable(rows([1]).to_pandas())
    assert not is_repeatable(rows([1]).to_reader())


def test_one_writer_goes_on_over_many_commits(warehouse: Warehouse) -> None:
    table = dynamic(warehouse, dynamic_bucket__target_row_num="3")
    write = table.new_write("w")
    commit = table.new_commit("w")
    first, second = write.write(rows(range(4))), write.write(rows(range(2, 6)))
    commit.commit([*first, *second], identifier=1)
    third = write.write(rows(range(6, 8)))
    fourth = write.write(rows(range(8, 9)))
    commit.commit(third, identifier=2)
    commit.commit(fourth, identifier=3)
    table.append(rows([20]))
    commit.commit(write.write(rows(range(5, 12))), identifier=4)
    assert [r[0] for r in sorted(rows_of(table))] == [*range(12), 20]
    assert_sound(table, exact=True)
    named = {n for s in table.snapshots() for n in index_files(table, s).values()}
    assert {f.removeprefix("index/") for f in warehouse.files(table) if f.startswith("index/")} == named


def test_a_writer_forgets_partitions_that_get_no_rows(warehouse: Warehouse) -> None:
    table = dynamic(warehouse, partitioned=True)
    write, commit = table.new_write("w"), table.new_commit("w")
    for day in range(10):
        commit.commit(write.write(rows([1], f"d{day}")), identifier=day)
        assert len(write._placement._buckets._partitions) <= 2
    assert len(rows_of(table)) == 10


@pytest.mark.parametrize("seed", range(tries(4, many=12)))
def test_writers_whose_steps_interleave_leave_a_sound_index(warehouse: Warehouse, seed: int) -> None:
    chance = random.Random(seed)
    options = {"dynamic_bucket__target_row_num": str(chance.randrange(1, 5))}
    if chance.random() < 0.3:
        options["dynamic_bucket__max_buckets"] = "3"
    if chance.random() < 0.3:
        options["dynamic_bucket__initial_buckets"] = "2"
    table = dynamic(warehouse, partitioned=True, **options)
    expected: dict[tuple[int, str], int] = {}
    refused = 0
    for turn in range(25):
        prepared = []
        for _ in range(chance.randrange(1, 4)):
            ids = chance.sample(range(20), chance.randrange(1, 6))
            data = {(i, chance.choice("ab")): turn * 100 + len(prepared) for i in ids}
            written = table.new_write().write(keyed([(i, dt, v) for (i, dt), v in data.items()]))
            prepared.append((written, data))
        for messages, data in prepared:
            commit = table.new_commit()
            try:
                commit.commit(messages)
            except HashIndexChanged:
                commit.abort(messages)
                refused += 1
            else:
                expected |= data
        match chance.randrange(8):
            case 0:
                table.compact(full=chance.random() < 0.5)
            case 1:
                table.delete("id < 3")
                expected = {key: v for key, v in expected.items() if key[0] >= 3}
            case 2:
                table.overwrite(rows([1, 2, 3], "a"), partition={"dt": "a"})
                expected = {key: v for key, v in expected.items() if key[1] != "a"}
                expected |= {(i, "a"): i for i in (1, 2, 3)}
        assert_sound(table)
    assert rows_of(table) == sorted(((i, dt, v) for (i, dt), v in expected.items()), key=repr)
    assert refused


# --- damage ----------------------------------------------------------------------------------------------------------


def _damaged(table: Table, way: str) -> str:
    """Damage a hash index file in place; its path."""
    io, paths = table.store.io, table.store.paths
    path, other = (paths.index(name) for name in list(index_files(table).values())[:2])
    data = io.read(path)
    assert len(data) == len(io.read(other))
    match way:
        case "a flipped bit":
            io.overwrite(path, bytes([data[0] ^ 1]) + data[1:])
        case "exchanged":
            io.overwrite(path, io.read(other))
            io.overwrite(other, data)
        case "cut short":
            io.overwrite(path, data[:-4])
        case "zeroed":
            io.overwrite(path, bytes(len(data)))
    return path


@pytest.mark.parametrize("way", ["a flipped bit", "exchanged", "cut short", "zeroed"])
def test_a_damaged_hash_index_stops_an_upsert_and_a_sort_compaction_repairs_it(warehouse: Warehouse, way: str) -> None:
    table = dynamic(warehouse, dynamic_bucket__target_row_num="10")
    table.append(rows(range(40)))
    path = _damaged(table, way)
    before = warehouse.files(table)
    for again in (table, warehouse.reopened(table)):
        with pytest.raises(CorruptionError, match=r"Nothing was written.*the partition with order_by") as caught:
            again.append(rows(range(40), factor=2))
        assert caught.value.path == path
        assert warehouse.files(table) == before
    table.compact(order_by=["id"])
    table.append(rows(range(40), factor=3))
    assert [row[2] for row in sorted(rows_of(table))] == [3 * i for i in range(40)]
    assert_sound(table)


@pytest.mark.parametrize("way", ["a flipped bit", "exchanged", "cut short", "zeroed"])
def test_a_damaged_hash_index_hides_no_key_from_a_point_read(
    warehouse: Warehouse, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    table = dynamic(warehouse, dynamic_bucket__target_row_num="10")
    table.append(rows(range(40)))
    path = _damaged(table, way)
    for i in range(40):
        assert rows_of(warehouse.reopened(table), filter=f"id = {i}") == [(i, "a", i)]
    assert path in caplog.text
