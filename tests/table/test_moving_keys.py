"""Tables whose primary key lacks partition columns: a key lies in one partition, and may change it."""

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
from table_format.errors import ConflictError, KeyPlacesChanged, UnsupportedFeature
from table_format.model.snapshot import CommitKind
from table_format.runtime import Runtime, SystemClock
from table_format.table import key_places
from table_format.table.key_places import follow, open_key_index
from tests.support.tables import KEYED, Warehouse, keyed, memory_warehouse, rows_of

ENGINES = ("deduplicate", "partial-update", "aggregation", "first-row")


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return with_runtime(memory_warehouse(), Runtime(cache_directory=str(tmp_path / "cache")))


def with_runtime(warehouse: Warehouse, runtime: Runtime) -> Warehouse:
    return replace(warehouse, catalog=replace(warehouse.catalog, runtime=runtime))


def moving(warehouse: Warehouse, name: str = "t", schema: pa.Schema = KEYED, **options: str) -> Table:
    given = {"bucket": "-1", **{key.replace("__", ".").replace("_", "-"): v for key, v in options.items()}}
    return warehouse.table(name, schema, primary_keys=["id"], partition_keys=["dt"], options=given)


def rows(*given: tuple[Any, ...], kinds: list[str] | None = None) -> pa.Table:
    return keyed(list(given), **({} if kinds is None else {"_row_kind": pa.array(kinds)}))


def index_content(table: Table) -> dict[tuple[object, ...], tuple[str, int]]:
    """What the index this machine keeps of a table says, brought up to the latest snapshot."""
    index = open_key_index(table.facts)
    try:
        follow(table.facts, index, table.latest_snapshot())
        return {k: (table.facts.partitions.text(p), bucket) for k, (p, bucket) in index.content().items()}
    finally:
        index.close()


def rebuilt_content(table: Table, tmp_path: Path) -> dict[tuple[object, ...], tuple[str, int]]:
    """What an index says that is built from nothing."""
    empty = replace(table.store.runtime, cache_directory=str(tmp_path / "empty"))
    return index_content(replace(table, store=replace(table.store, runtime=empty)))


def places_of(table: Table) -> dict[tuple[object, ...], tuple[str, int]]:
    """Where each key is read from; no key twice."""
    scan = table.scan()
    found: dict[tuple[object, ...], tuple[str, int]] = {}
    for split in scan.plan():
        for batch in scan.read(split):
            for key in batch.column("id").to_pylist():
                assert (key,) not in found, f"{key} is there twice"
                found[key,] = (table.facts.partitions.text(split.partition), split.bucket)
    return found


def log_of(warehouse: Warehouse, table: Table, after: int) -> list[tuple[Any, ...]]:
    """The changes of one snapshot, with their kinds."""
    opened = warehouse.catalog.load_table(f"{table.identifier}$audit_log")
    found = opened.scan(options={"incremental-between": f"{after - 1},{after}"}).to_arrow()
    return sorted(tuple(row.values()) for row in found.to_pylist())


# --- the four merge engines -----------------------------------------------------------------------------------------


def test_deduplicate_deletes_the_key_where_it_lay(warehouse: Warehouse) -> None:
    table = moving(warehouse, changelog_producer="input")
    table.append(rows((1, "p1", 1)))
    table.append(rows((1, "p2", 2)))
    assert rows_of(table) == [(1, "p2", 2)]
    # The delete has the values of the row that moved the key, as in the reference.
    assert log_of(warehouse, table, 2) == [("+I", 1, "p2", 2), ("-D", 1, "p1", 2)]
    assert [e.total_buckets for e in table.facts.manifests.delta_entries(table.latest_snapshot())] == [-1, -1]
    assert table.latest_snapshot().index_manifest is None


@pytest.mark.parametrize(
    ("engine", "options", "value"),
    [
        ("partial-update", {}, [(1, "p1", 2)]),
        ("aggregation", {"fields__v__aggregate-function": "sum"}, [(1, "p1", 3)]),
        ("first-row", {}, [(1, "p1", 1)]),
    ],
)
def test_other_engines_leave_the_key_where_it_lies(
    warehouse: Warehouse, engine: str, options: dict[str, str], value: list[tuple[Any, ...]]
) -> None:
    apart = moving(warehouse, "apart", merge_engine=engine, **options)
    apart.append(rows((1, "p1", 1)))
    apart.append(rows((1, "p2", 2)))
    at_once = moving(warehouse, "at_once", merge_engine=engine, **options)
    at_once.append(rows((1, "p1", 1), (1, "p2", 2)))
    for table in (apart, at_once):
        table.compact(full=True)
        assert rows_of(table) == value


def test_a_key_that_comes_twice_at_once_lies_where_it_came_last(warehouse: Warehouse) -> None:
    table = moving(warehouse, changelog_producer="input")
    table.append(rows((1, "p1", 1), (2, "p1", 2), (1, "p2", 3), (1, "p3", 4), (2, "p2", 5), (2, "p1", 6), (1, "p3", 7)))
    assert rows_of(table) == [(1, "p3", 7), (2, "p1", 6)]
    assert index_content(table) == places_of(table)
    changes = log_of(warehouse, table, 1)
    assert [c for c in changes if c[0] == "-D"] == [
        ("-D", 1, "p1", 3),
        ("-D", 1, "p2", 4),
        ("-D", 2, "p1", 5),
        ("-D", 2, "p2", 6),
    ]


def test_a_delete_finds_its_key_in_another_partition(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1), (2, "p1", 2)))
    table.append(rows((1, "p2", None), kinds=["-D"]))
    assert rows_of(table) == [(2, "p1", 2)]
    table.append(rows((2, "p1", 2), (2, "p3", 9), kinds=["-U", "+U"]))
    assert rows_of(table) == [(2, "p3", 9)]
    table.delete("id = 2")
    assert rows_of(table) == []
    assert index_content(table) == {}


def test_new_keys_fill_the_buckets_of_their_partition(warehouse: Warehouse) -> None:
    table = moving(warehouse, dynamic_bucket__target_row_num="2")
    table.append(rows(*((i, "p1", i) for i in range(5))))
    assert sorted(places_of(table).values()) == [("dt=p1", 0), ("dt=p1", 0), ("dt=p1", 1), ("dt=p1", 1), ("dt=p1", 2)]
    # Two keys go, so that there is room in bucket 0 again.
    table.append(rows((0, "p2", 0), (1, "p2", 1)))
    table.append(rows((7, "p1", 7), (8, "p1", 8), (9, "p1", 9)))
    assert sorted(b for p, b in places_of(table).values() if p == "dt=p1") == [0, 0, 1, 1, 2, 2]
    limited = moving(warehouse, "limited", dynamic_bucket__target_row_num="1", dynamic_bucket__max_buckets="2")
    limited.append(rows(*((i, "p1", i) for i in range(9))))
    assert {bucket for _, bucket in places_of(limited).values()} == {0, 1}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(2))
def test_histories_are_those_of_a_dictionary(warehouse: Warehouse, tmp_path: Path, engine: str, seed: int) -> None:
    chance = random.Random(f"{engine} {seed}")
    options = {"dynamic_bucket__target_row_num": str(chance.randrange(1, 6)), "merge_engine": engine}
    if chance.random() < 0.5 and engine != "first-row":
        options["deletion_vectors__enabled"] = "true"
    elif engine == "deduplicate":
        options["changelog_producer"] = chance.choice(("input", "lookup", "full-compaction"))
    table = moving(warehouse, **options)
    model: dict[int, tuple[str, int]] = {}
    for turn in range(9):
        batch, kinds = [], []
        for number in range(chance.randrange(1, 12)):
            key, partition, value = chance.randrange(12), chance.choice("abc"), turn * 100 + number
            kind = "-D" if engine == "deduplicate" and chance.random() < 0.2 else "+I"
            batch.append((key, partition, value))
            kinds.append(kind)
            there = model.get(key)
            if kind == "-D":
                model.pop(key, None)
            elif engine == "deduplicate" or there is None:
                model[key] = (partition, value)
            elif engine != "first-row":
                model[key] = (there[0], value)
        table.append(rows(*batch, kinds=kinds))
        match chance.randrange(6):
            case 0:
                table.compact(full=True)
            case 1:
                partition = chance.choice("abc")
                table.drop_partitions([{"dt": partition}])
                model = {key: lies for key, lies in model.items() if lies[0] != partition}
            case 2:
                table = warehouse.reopened(table)
        if chance.random() < 0.3:
            kept, fresh = index_content(table), rebuilt_content(table, tmp_path)
            assert kept == fresh == places_of(table)
        expected = sorted(((k, p, v) for k, (p, v) in model.items()), key=repr)
        assert rows_of(table) == expected
        key, partition = chance.randrange(12), chance.choice("abc")
        assert rows_of(table, filter=f"id = {key}") == [row for row in expected if row[0] == key]
        assert rows_of(table, filter=f"dt = '{partition}'") == [row for row in expected if row[1] == partition]


# --- keeping the index ----------------------------------------------------------------------------------------------


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that grows when an index is built anew."""
    made: list[str] = []
    real = key_places._rebuild

    def note(facts: Any, index: Any, base: Any) -> None:
        made.append(facts.name)
        real(facts, index, base)

    monkeypatch.setattr(key_places, "_rebuild", note)
    return made


def of_another_machine(table: Table) -> Table:
    """The table as it is written from elsewhere."""
    elsewhere = Runtime(cache_directory=f"{table.store.runtime.cache_directory}-of-another-machine")
    return replace(table, store=replace(table.store, runtime=elsewhere))


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


def test_a_table_made_anew_at_the_same_path_has_an_index_of_its_own(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    assert index_content(table) == {(1,): ("dt=p1", 0)}
    warehouse.catalog.drop_table(str(table.identifier))
    again = of_another_machine(moving(warehouse))
    again.append(rows((1, "p2", 1)))
    again = warehouse.reopened(again)
    assert rows_of(again) == [(1, "p2", 1)]
    assert index_content(again) == {(1,): ("dt=p2", 0)}


def test_an_index_whose_snapshot_has_expired_is_built_anew(warehouse: Warehouse, built: list[str]) -> None:
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


def test_a_damaged_index_is_built_anew(warehouse: Warehouse, built: list[str]) -> None:
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


def test_an_index_that_was_opened_otherwise_in_between_is_built_anew(warehouse: Warehouse, built: list[str]) -> None:
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
    assert len(list(Path(table.store.runtime.cache_directory or "").rglob("*.duckdb"))) == 2


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


# --- several writers ------------------------------------------------------------------------------------------------


def test_a_writer_that_others_have_overtaken_is_refused(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    first, second = table.new_write().write(rows((1, "p2", 2))), table.new_write().write(rows((1, "p3", 3)))
    table.new_commit().commit(first)
    with pytest.raises(KeyPlacesChanged, match=r"after snapshot 1, .*the latest is 2.*write the rows again"):
        table.new_commit().commit(second)
    table.new_commit().abort(second)
    assert rows_of(table) == [(1, "p2", 2)]


def test_a_compaction_in_between_is_no_reason_to_refuse(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    table.append(rows((1, "p1", 2)))
    messages = table.new_write().write(rows((1, "p2", 2)))
    assert [s.commit_kind for s in table.compact(full=True)] == [CommitKind.COMPACT]
    table.new_commit().commit(messages)
    assert rows_of(table) == [(1, "p2", 2)]


def test_append_gives_rows_their_places_anew(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    other = warehouse.reopened(table)
    real, overtaken = Table.new_write, []

    def slow(self: Table, commit_user: str | None = None) -> Any:
        write = real(self, commit_user)
        if self is table and len(overtaken) < 2:
            overtaken.append(write)
            messages = write.write
            monkeypatch.setattr(
                write, "write", lambda data: (messages(data), other.append(rows((1, f"o{len(overtaken)}", 5))))[0]
            )
        return write

    monkeypatch.setattr(Table, "new_write", slow)
    table.append(rows((1, "p2", 2)))
    assert len(overtaken) == 2
    assert rows_of(table) == [(1, "p2", 2)]
    assert index_content(table) == places_of(table)


@pytest.mark.parametrize("seed", range(2))
def test_writers_whose_steps_interleave_leave_each_key_in_one_partition(warehouse: Warehouse, seed: int) -> None:
    chance = random.Random(seed)
    table = moving(warehouse, dynamic_bucket__target_row_num="3")
    expected: dict[int, tuple[str, int]] = {}
    refused = 0
    for turn in range(8):
        prepared = []
        for number in range(chance.randrange(1, 4)):
            data = {k: (chance.choice("abc"), turn * 10 + number) for k in chance.sample(range(9), 3)}
            prepared.append((table.new_write().write(rows(*((k, p, v) for k, (p, v) in data.items()))), data))
        for messages, data in prepared:
            try:
                table.new_commit().commit(messages)
            except KeyPlacesChanged:
                table.new_commit().abort(messages)
                refused += 1
            else:
                expected |= data
    assert index_content(table) == places_of(table)
    assert rows_of(table) == sorted((k, p, v) for k, (p, v) in expected.items())
    assert refused


def test_one_writer_goes_on_over_several_commits(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    write, commit = table.new_write("w"), table.new_commit("w")
    for day in range(3):
        first = write.write(rows((1, f"d{day}", day)))
        # What is written and not committed yet is known to the next rows.
        second = write.write(rows((1, f"e{day}", day), (day + 10, "x", day)))
        commit.commit([*first, *second], identifier=day)
        assert (1, f"e{day}", day) in rows_of(table)
        assert index_content(table) == places_of(table)
    lone = write.write(rows((1, "f", 1)))
    late = write.write(rows((1, "g", 1)))
    commit.commit(lone, identifier=10)
    with pytest.raises(ConflictError, match="commit what several writes made as one"):
        commit.commit(late, identifier=11)


# --- age ------------------------------------------------------------------------------------------------------------


class Steps(SystemClock):
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.ms = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.ms

    def local_now_ms(self) -> int:
        return self.ms


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
    assert "1 keys lie in more than one partition" in caplog.text
    assert rows_of(table) == [(1, "p1", 1), (1, "p3", 3)]


def test_partitions_by_the_time_of_the_event_keep_one_row_for_each_key_of_a_complete_feed(warehouse: Warehouse) -> None:
    table = warehouse.table(
        "feed", primary_keys=["id", "dt"], partition_keys=["dt"], options={"changelog-producer": "input"}
    )
    table.append(rows((1, "d1", 1), (2, "d1", 2)))
    table.append(rows((1, "d1", 1), (1, "d2", 3), (2, "d1", 2), (2, "d1", 4), kinds=["-U", "+U", "-U", "+U"]))
    assert rows_of(table) == [(1, "d2", 3), (2, "d1", 4)]


# --- keys of all types, and refusals --------------------------------------------------------------------------------


def test_keys_of_every_type_are_found_again(warehouse: Warehouse) -> None:
    types = {
        "b": pa.bool_(), "i1": pa.int8(), "i2": pa.int16(), "i4": pa.int32(), "i8": pa.int64(), "f4": pa.float32(),
        "f8": pa.float64(), "dec": pa.decimal128(30, 4), "s": pa.string(), "raw": pa.binary(), "d": pa.date32(),
        "t": pa.time32("ms"), "ts": pa.timestamp("us"), "ltz": pa.timestamp("ms", "UTC"), "n9": pa.timestamp("ns"),
    }  # fmt: skip
    count = 40
    chance = np.random.default_rng(3)

    def column(t: pa.DataType) -> pa.Array:
        numbers = chance.integers(0, 100, count)
        if pa.types.is_floating(t):
            values = np.where(numbers < 10, np.nan, np.where(numbers < 20, -0.0, numbers / 8 - 5))
            return pa.array(values, pa.float64()).cast(t)
        if pa.types.is_boolean(t):
            return pa.array(numbers % 2 == 0)
        if t == pa.string():
            return pa.array([f"k\0ö{n}" for n in numbers])
        if t == pa.binary():
            return pa.array([bytes([n, 0, 255 - n]) for n in numbers.tolist()])
        if pa.types.is_decimal(t):
            return pa.array(numbers).cast(t)
        if t == pa.time32("ms") or t == pa.date32():
            return pa.array(numbers.astype(np.int32)).view(t)
        if pa.types.is_timestamp(t):
            return pa.array(numbers * 1001).view(t)
        return pa.array(numbers).cast(t)

    fields = [pa.field(name, t, nullable=False) for name, t in types.items()]
    schema = pa.schema([*fields, pa.field("dt", pa.string()), pa.field("id", pa.int64())])
    table = warehouse.table("types", schema, primary_keys=list(types), partition_keys=["dt"], options={"bucket": "-1"})
    keys = [column(t) for t in types.values()]
    for turn in range(3):
        names = [f"p{(i + turn) % 3}" for i in range(count)]
        values = pa.array(range(turn * 100, turn * 100 + count))
        table.append(pa.table([*keys, pa.array(names), values], schema=schema))
    assert sorted(row[-1] for row in rows_of(table)) == list(range(200, 200 + count))


def test_a_key_with_some_of_the_partition_columns_moves_among_the_rest(warehouse: Warehouse) -> None:
    schema = pa.schema([*(pa.field(n, pa.string(), nullable=False) for n in ("k", "region")), ("dt", pa.int32())])
    table = warehouse.table(
        "some", schema, primary_keys=["k", "region"], partition_keys=["region", "dt"], options={"bucket": "-1"}
    )

    def some(*given: tuple[str, str, int | None]) -> pa.Table:
        return pa.table([pa.array(c) for c in zip(*given, strict=True)], schema=schema)

    table.append(some(("a", "eu", 1), ("a", "us", 1)))
    table.append(some(("a", "eu", 2), ("b", "us", None)))
    table.append(some(("b", "us", 3)))
    assert rows_of(table) == [("a", "eu", 2), ("a", "us", 1), ("b", "us", 3)]


def test_partitions_are_not_overwritten_one_by_one(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1), (2, "p2", 2)))
    for given in ({}, {"partition": {"dt": "p1"}}):
        with pytest.raises(UnsupportedFeature, match=r"db\.t: .*keys may lie in partitions that are not replaced"):
            table.overwrite(rows((2, "p1", 3)), **given)
    assert rows_of(table) == [(1, "p1", 1), (2, "p2", 2)]
    whole = table.copy({"dynamic-partition-overwrite": "false"})
    whole.overwrite(rows((2, "p1", 3), (3, "p1", 4), (3, "p2", 5)))
    assert rows_of(table) == [(2, "p1", 3), (3, "p2", 5)]
    table.append(rows((2, "p2", 6)))
    assert rows_of(table) == [(2, "p2", 6), (3, "p2", 5)]
    assert index_content(table) == places_of(table)


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
