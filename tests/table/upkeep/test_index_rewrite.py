"""New indexes for existing files: what they hold, what stays unchanged, and what others do in the meantime."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from table_format import Schema, Table
from table_format.errors import CorruptionError
from table_format.io.memory import MemoryFileIO
from table_format.model.schema_change import RemoveOption, RenameColumn, SetOption
from table_format.model.snapshot import CommitKind
from table_format.table.facts import TableFacts
from table_format.table.read.index_reads import INDEX_THREADS
from table_format.table.upkeep.declared_indexes import index_coverage
from table_format.table.upkeep.index_rewrite import IndexRewrite, outcomes_of, rewrite_indexes
from tests.golden.test_file_indexes import payloads, stored_and_made
from tests.support.deletion_marks import live
from tests.support.matrix import tries
from tests.support.reachable import check_files
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of, warehouse_on

BESIDE = {"file-index.in-manifest-threshold": "1 b"}
NO_STATISTICS = {"metadata.stats-mode": "none"}
PARTITIONED = {"primary_keys": ["id", "dt"], "partition_keys": ["dt"]}
FUTURE = 1 << 60


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def rows(start: int, dt: str = "a", count: int = 6) -> pa.Table:
    return keyed([(i, dt, i % 3 if i % 5 else None) for i in range(start, start + count)])


def altered(warehouse: Warehouse, options: Mapping[str, str | None], name: str = "t") -> Table:
    changes = [RemoveOption(k) if v is None else SetOption(k, v) for k, v in options.items()]
    table = warehouse.catalog.alter_table(f"db.{name}", changes)
    assert isinstance(table, Table)
    return table


def with_history(warehouse: Warehouse, **arguments: Any) -> Table:
    """Files of two partitions and several commits, without any index."""
    options = {"write-only": "true", **NO_STATISTICS, **arguments.pop("options", {})}
    table = warehouse.table(options=options, **arguments)
    for start, dt in ((0, "a"), (10, "a"), (20, "b")):
        table.append(rows(start, dt))
    return table


def data_files(warehouse: Warehouse, table: Table) -> dict[str, bytes]:
    """The bytes of all data files."""
    root = table.store.paths.root
    names = (n for n in warehouse.files(table) if "/data-" in n and not n.endswith(".index"))
    return {name: warehouse.io.read(f"{root}/{name}") for name in names}


def index_files(warehouse: Warehouse, table: Table) -> set[str]:
    return {name for name in warehouse.files(table) if name.endswith(".index")}


def pairs_of(table: Table) -> list[set[tuple[str, str]]]:
    """The indexes that each file has, by column and type."""
    found = []
    for entry in live(table):
        container = entry.file.embedded_file_index
        if container is None and entry.file.extra_files:
            text = table.facts.partitions.text(entry.partition)
            (path,) = table.store.paths.extra_files(text, entry.bucket, entry.file)
            container = table.store.io.read(path)
        found.append(set(payloads(container)) if container else set())
    return found


BITMAP_OF_V = {"file-index.bitmap.columns": "v"}
KINDS: list[dict[str, Any]] = [
    {},
    {"partition_keys": ["dt"]},
    {"primary_keys": ["id"]},
    PARTITIONED,
    {"primary_keys": ["id"], "options": {"deletion-vectors.enabled": "true"}},
    {"options": {"file.format": "orc"}},
    {"options": {"file.format": "avro"}},
    {"primary_keys": ["id"], "options": {"data-file.thin-mode": "true"}},
]


@pytest.mark.parametrize("threshold", ["1 b", "1 mb"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_file_gets_the_declared_indexes_and_no_data_file_changes(
    warehouse: Warehouse, kind: dict[str, Any], threshold: str
) -> None:
    table = with_history(warehouse, **kind)
    before, read, files = rows_of(table), data_files(warehouse, table), len(live(table))
    table = altered(
        warehouse,
        {
            **BITMAP_OF_V,
            "file-index.bsi.columns": "v,id",
            "file-index.bloom-filter.columns": "dt",
            "file-index.bloom-filter.dt.items": "10",
            "file-index.in-manifest-threshold": threshold,
        },
    )
    assert index_coverage(table.facts).files == files
    assert sum(index_coverage(table.facts).differing.values()) == files
    report = table.rewrite_file_index()
    assert (report.files, report.rewritten, report.skipped, report.dropped) == (files, files, 0, ())
    assert [snapshot.commit_kind for snapshot in report.snapshots] == [CommitKind.COMPACT]
    wanted = {("v", "bitmap"), ("v", "bsi"), ("id", "bsi"), ("dt", "bloom-filter")}
    assert pairs_of(table) == [wanted] * files
    assert all(stored == made for stored, made in stored_and_made(table))
    assert bool(index_files(warehouse, table)) == (threshold == "1 b")
    assert data_files(warehouse, table) == read
    assert rows_of(table) == before
    assert index_coverage(table.facts).is_complete
    check_files(table)


class MeetingReads(MemoryFileIO):
    """A store where the first read of an index file by each thread waits for those of the others."""

    def __init__(self) -> None:
        super().__init__()
        self.meeting: threading.Barrier | None = None
        self._met = threading.local()

    def open_input(self, path: str) -> pa.NativeFile:
        if self.meeting is not None and path.endswith(".index") and not hasattr(self._met, "once"):
            self._met.once = True
            self.meeting.wait(timeout=30)
        return super().open_input(path)


def test_the_heads_of_many_indexes_are_read_at_the_same_time() -> None:
    io = MeetingReads()
    table = warehouse_on(io).table(options={**BITMAP_OF_V, **BESIDE, "write-only": "true"})
    for start in range(0, 96, 6):
        table.append(rows(start))
    # A read that the others do not come to meet would break the barrier.
    io.meeting = threading.Barrier(INDEX_THREADS)
    coverage = index_coverage(table.facts)
    assert (coverage.files, coverage.is_complete) == (16, True)


def test_files_that_have_their_indexes_make_no_snapshot(warehouse: Warehouse) -> None:
    table = with_history(warehouse)
    altered(warehouse, BITMAP_OF_V | BESIDE).rewrite_file_index()
    before = warehouse.files(table)
    report = table.rewrite_file_index()
    assert (report.snapshots, report.files, report.rewritten, report.skipped) == ((), 3, 0, 3)
    assert warehouse.files(table) == before


def test_only_files_that_lack_an_index_are_rewritten(warehouse: Warehouse) -> None:
    table = altered(warehouse, BITMAP_OF_V) if with_history(warehouse) else None
    assert table is not None
    table.append(rows(30))
    report = table.rewrite_file_index()
    assert (report.files, report.rewritten, report.skipped) == (4, 3, 1)


def test_a_table_without_snapshots_or_declared_indexes_is_left_alone(warehouse: Warehouse) -> None:
    assert warehouse.table("empty", options=BITMAP_OF_V).rewrite_file_index().files == 0
    table = with_history(warehouse)
    assert (table.rewrite_file_index().snapshots, len(table.snapshots())) == ((), 3)


def test_an_index_that_no_option_declares_any_more_goes_with_the_next_rewrite(warehouse: Warehouse) -> None:
    table = with_history(warehouse, options=BITMAP_OF_V | {"file-index.bsi.columns": "v"} | BESIDE)
    before = rows_of(table)
    table = altered(warehouse, {"file-index.bsi.columns": None})
    assert table.rewrite_file_index().rewritten == 3
    assert pairs_of(table) == [{("v", "bitmap")}] * 3
    table = altered(warehouse, {"file-index.bitmap.columns": None})
    assert table.rewrite_file_index().rewritten == 3
    assert pairs_of(table) == [set()] * 3
    assert {entry.file.extra_files for entry in live(table)} == {()}
    assert rows_of(table) == before


BLOOM_OF_ID = {"file-index.bloom-filter.columns": "id", "file-index.bloom-filter.id.items": "10"}
RANGE_BITMAP_OF_ID = {"file-index.range-bitmap.columns": "id"}


@pytest.mark.parametrize("place", [BESIDE, {}], ids=["beside", "in the manifest"])
@pytest.mark.parametrize(
    ("declared", "changed"),
    [
        (BLOOM_OF_ID, {"file-index.bloom-filter.id.items": "20"}),
        (BLOOM_OF_ID, {"file-index.bloom-filter.id.fpp": "0.01"}),
        # As many bits, and another number of hash functions.
        (BLOOM_OF_ID, {"file-index.bloom-filter.id.items": "5", "file-index.bloom-filter.id.fpp": "0.01"}),
        (BITMAP_OF_V, {"file-index.bitmap.v.version": "1"}),
        (BITMAP_OF_V, {"file-index.bitmap.v.index-block-size": "20 b"}),
        (RANGE_BITMAP_OF_ID, {"file-index.range-bitmap.id.chunk-size": "8 b"}),
    ],
)
def test_indexes_with_other_settings_than_declared_are_built_again_once(
    warehouse: Warehouse, place: dict[str, str], declared: dict[str, str], changed: dict[str, str]
) -> None:
    table = with_history(warehouse, options=declared | place)
    before, read = rows_of(table), data_files(warehouse, table)
    assert index_coverage(table.facts).is_complete
    table = altered(warehouse, changed)
    assert sum(index_coverage(table.facts).differing.values()) == 3
    assert table.rewrite_file_index().rewritten == 3
    assert index_coverage(table.facts).is_complete
    assert all(stored == made for stored, made in stored_and_made(table))
    assert table.rewrite_file_index().snapshots == ()
    assert (rows_of(table), data_files(warehouse, table)) == (before, read)


@pytest.mark.parametrize(("first", "then"), [("1 b", "1 mb"), ("1 mb", "1 b")])
def test_indexes_move_to_where_the_threshold_puts_them(warehouse: Warehouse, first: str, then: str) -> None:
    threshold = "file-index.in-manifest-threshold"
    table = with_history(warehouse, options=BITMAP_OF_V | {threshold: first})
    assert [entry.file.embedded_file_index is None for entry in live(table)] == [first == "1 b"] * 3
    table = altered(warehouse, {threshold: then})
    assert table.rewrite_file_index().rewritten == 3
    assert [entry.file.embedded_file_index is None for entry in live(table)] == [then == "1 b"] * 3
    assert pairs_of(table) == [{("v", "bitmap")}] * 3
    assert table.rewrite_file_index().snapshots == ()


def test_a_filter_skips_files_by_the_new_index(warehouse: Warehouse) -> None:
    table = with_history(warehouse)
    assert len(table.scan(filter="id = 11").plan().splits) > 0
    files = lambda opened: sum(len(s.files) for s in opened.scan(filter="id = 11").plan().splits)  # noqa: E731
    assert files(table) == 3
    table = altered(warehouse, {"file-index.bitmap.columns": "id"})
    assert files(table) == 3
    table.rewrite_file_index()
    assert files(table) == 1
    assert rows_of(table, filter="id = 11") == [(11, "a", 2)]


def test_only_the_partitions_asked_for_are_rewritten(warehouse: Warehouse) -> None:
    with_history(warehouse, partition_keys=["dt"])
    table = altered(warehouse, BITMAP_OF_V)
    report = table.rewrite_file_index(partitions=[{"dt": "b"}])
    assert (report.files, report.rewritten, report.partitions) == (1, 1, ("dt=b",))
    assert index_coverage(table.facts).differing == {"dt=a": 2}
    assert table.rewrite_file_index().rewritten == 2


def test_a_renamed_column_is_indexed_under_the_name_it_has_in_the_file(warehouse: Warehouse) -> None:
    with_history(warehouse)
    warehouse.catalog.alter_table("db.t", RenameColumn("v", "w"))
    table = altered(warehouse, {"file-index.bitmap.columns": "w"})
    assert table.rewrite_file_index().rewritten == 3
    assert pairs_of(table) == [{("v", "bitmap")}] * 3
    assert table.rewrite_file_index().rewritten == 0
    assert rows_of(table, filter="w = 2 and id < 10") == [(2, "a", 2)]


def test_keys_of_maps_are_indexed(warehouse: Warehouse) -> None:
    schema = pa.schema([("id", pa.int64()), ("m", pa.map_(pa.string(), pa.int32()))])
    table = warehouse.table(schema=schema)
    table.append(pa.table({"id": [1, 2], "m": [[("k", 1)], [("j", 2)]]}, schema=schema))
    table = altered(warehouse, {"file-index.bitmap.columns": "m[k]"})
    assert table.rewrite_file_index().rewritten == 1
    assert pairs_of(table) == [{("m[k]", "bitmap")}]
    assert all(stored == made for stored, made in stored_and_made(table))


def test_a_value_that_an_index_cannot_hold_makes_no_snapshot_again_and_again(warehouse: Warehouse) -> None:
    table = warehouse.table(options={"write-only": "true"})
    table.append(keyed([(-(2**63), "a", 1)]))
    table = altered(warehouse, {"file-index.bsi.columns": "id"} | BITMAP_OF_V)
    assert table.rewrite_file_index().rewritten == 1
    assert pairs_of(table) == [{("v", "bitmap")}]
    assert table.rewrite_file_index().snapshots == ()


def test_a_missing_or_damaged_index_file_is_made_again(warehouse: Warehouse) -> None:
    table = with_history(warehouse, options=BITMAP_OF_V | BESIDE)
    first, second, _ = sorted(index_files(warehouse, table))
    root = table.store.paths.root
    warehouse.io.delete(f"{root}/{first}")
    warehouse.io.delete(f"{root}/{second}")
    warehouse.io.create(f"{root}/{second}", b"no index at all, and long enough")
    assert table.rewrite_file_index().rewritten == 2
    assert pairs_of(table) == [{("v", "bitmap")}] * 3


def test_deleted_rows_keep_their_place_in_the_index(warehouse: Warehouse) -> None:
    table = warehouse.table(options={"deletion-vectors.enabled": "true", "write-only": "true", **NO_STATISTICS})
    table.append(rows(0, count=10))
    table.delete("id = 3 or id = 7")
    before = rows_of(table)
    table = altered(warehouse, {"file-index.bitmap.columns": "id"})
    assert table.rewrite_file_index().rewritten == 1
    assert rows_of(table) == before
    assert rows_of(table, filter="id = 8") == [(8, "a", 2)]
    assert rows_of(table, filter="id = 7") == []
    assert all(stored == made for stored, made in stored_and_made(table))


def test_postponed_files_get_no_index(warehouse: Warehouse) -> None:
    table = with_history(warehouse, primary_keys=["id"], options={"bucket": "-2"})
    report = altered(warehouse, BITMAP_OF_V).rewrite_file_index()
    assert (report.files, report.snapshots) == (0, ())
    table.compact(full=True)
    assert len(rows_of(table)) == 18


# --- beside others --------------------------------------------------------------------------------------------------


def after_the_work(facts: TableFacts, *others: Callable[[], object]) -> Callable[..., Iterator[Any]]:
    """Make indexes, and before they are committed let another process do something, once each time."""
    left = list(others)

    def perform(pieces: Any) -> Iterator[Any]:
        for work in pieces:
            yield from outcomes_of(facts, work)
        if left:
            left.pop(0)()

    return perform


@pytest.mark.parametrize("kind", [{}, {"primary_keys": ["id"]}, PARTITIONED], ids=str)
def test_a_compaction_that_wins_is_kept_and_its_files_are_rewritten_instead(
    warehouse: Warehouse, kind: dict[str, Any]
) -> None:
    table = with_history(warehouse, **kind)
    before = rows_of(table)
    bare = table if table.schema.primary_keys else table.copy({"compaction.min.file-num": "2"})
    table = altered(warehouse, BITMAP_OF_V | BESIDE)
    compacted = lambda: bare.compact(full=True)  # noqa: E731
    report = rewrite_indexes(table.facts, perform=after_the_work(table.facts, compacted))
    assert report.dropped == ()
    assert rows_of(table) == before
    assert index_coverage(table.facts).is_complete
    assert table.rewrite_file_index().snapshots == ()
    check_files(table)
    assert {path.rpartition("/")[2] for path in index_files(warehouse, table)} >= {
        name for entry in live(table) for name in entry.file.extra_files
    }


def test_rows_that_come_meanwhile_stay(warehouse: Warehouse) -> None:
    table = with_history(warehouse, primary_keys=["id"])
    table = altered(warehouse, BITMAP_OF_V)
    report = rewrite_indexes(
        table.facts, perform=after_the_work(table.facts, lambda: table.append(keyed([(0, "z", 9)])))
    )
    assert report.dropped == ()
    assert (0, "z", 9) in rows_of(table)
    assert len(rows_of(table)) == 18
    assert index_coverage(table.facts).is_complete


def test_a_partition_that_is_dropped_meanwhile_stays_dropped_and_the_others_are_rewritten(warehouse: Warehouse) -> None:
    with_history(warehouse, partition_keys=["dt"])
    table = altered(warehouse, BITMAP_OF_V | BESIDE)
    dropped = lambda: table.drop_partitions([{"dt": "a"}])  # noqa: E731
    report = rewrite_indexes(table.facts, perform=after_the_work(table.facts, dropped))
    assert (report.rewritten, report.partitions, report.dropped) == (1, ("dt=b",), ())
    assert {row[1] for row in rows_of(table)} == {"b"}
    # The index files of what could not be committed are gone.
    assert all(name.startswith("dt=b/") for name in index_files(warehouse, table))


def test_a_bucket_that_others_keep_changing_is_given_up_and_named(warehouse: Warehouse) -> None:
    with_history(warehouse, partition_keys=["dt"])
    table = altered(warehouse, BITMAP_OF_V)

    def overwritten() -> None:
        table.copy({"file-index.bitmap.columns": "id"}).overwrite(rows(50, "a"), partition={"dt": "a"})

    report = rewrite_indexes(table.facts, perform=after_the_work(table.facts, *[overwritten] * 4))
    assert [(bucket.partition, bucket.bucket) for bucket in report.dropped] == [("dt=a", 0)]
    assert report.partitions == ("dt=b",)
    assert len(rows_of(table)) == 12


def test_a_compaction_that_read_the_files_before_the_rewrite_does_not_bring_back_what_it_replaced(
    warehouse: Warehouse,
) -> None:
    table = with_history(warehouse, primary_keys=["id"], options={"bucket": "1"})
    writer = table.copy({"write-only": "false", "num-sorted-run.compaction-trigger": "2"})
    messages = writer.new_write().write(rows(0))
    assert any(message.compact_before for message in messages)
    table = altered(warehouse, BITMAP_OF_V | BESIDE)
    assert table.rewrite_file_index().rewritten == 3
    (snapshot,) = writer.new_commit().commit(messages)
    assert snapshot.commit_kind is CommitKind.APPEND
    assert len(rows_of(table)) == 18
    assert table.rewrite_file_index().rewritten == 1
    check_files(table)


def test_what_an_interrupted_run_has_committed_is_not_done_again(warehouse: Warehouse) -> None:
    with_history(warehouse, partition_keys=["dt"])
    table = altered(warehouse, BITMAP_OF_V | BESIDE)
    done: list[IndexRewrite] = []

    def failing(pieces: Any) -> Iterator[Any]:
        for work in pieces:
            if done:
                raise KeyboardInterrupt
            done.append(work)
            yield from outcomes_of(table.facts, work)

    with pytest.raises(KeyboardInterrupt):
        rewrite_indexes(table.facts, perform=failing, files_per_commit=1)
    assert index_coverage(table.facts).differing == {"dt=b": 1}
    report = table.rewrite_file_index()
    assert (report.rewritten, report.partitions) == (1, ("dt=b",))
    check_files(table)


def test_a_failure_leaves_no_index_file_behind(warehouse: Warehouse) -> None:
    table = with_history(warehouse)
    table = altered(warehouse, BITMAP_OF_V | BESIDE)
    last = live(table)[-1]
    path = table.store.paths.data_file("", last.bucket, last.file)
    data = warehouse.io.read(path)
    warehouse.io.delete(path)
    warehouse.io.create(path, data[: len(data) // 2])
    with pytest.raises(CorruptionError):
        table.rewrite_file_index()
    assert index_files(warehouse, table) == set()
    assert len(table.snapshots()) == 3


# --- expiry ---------------------------------------------------------------------------------------------------------


def expire_all_but_the_last(table: Table) -> None:
    table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=FUTURE, retain_floor_ms=0)


@pytest.mark.parametrize("kind", [{}, PARTITIONED], ids=str)
def test_expiry_deletes_the_replaced_index_and_keeps_the_data_file(warehouse: Warehouse, kind: dict[str, Any]) -> None:
    table = with_history(warehouse, **kind, options=BITMAP_OF_V | BESIDE)
    before, read, old = rows_of(table), data_files(warehouse, table), index_files(warehouse, table)
    table = altered(warehouse, {"file-index.bsi.columns": "v"})
    table.rewrite_file_index()
    assert index_files(warehouse, table) > old
    expire_all_but_the_last(table)
    assert index_files(warehouse, table).isdisjoint(old)
    assert len(index_files(warehouse, table)) == len(live(table))
    assert data_files(warehouse, table) == read
    assert rows_of(table) == before
    check_files(table)
    assert table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True).files == ()


def test_a_tag_keeps_the_old_index_until_it_is_deleted(warehouse: Warehouse) -> None:
    table = with_history(warehouse, options=BITMAP_OF_V | BESIDE)
    before, old = rows_of(table), index_files(warehouse, table)
    table.create_tag("kept")
    table = altered(warehouse, {"file-index.bsi.columns": "v"})
    table.rewrite_file_index()
    expire_all_but_the_last(table)
    assert index_files(warehouse, table) > old
    assert table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True).files == ()
    assert rows_of(table.copy({"scan.tag-name": "kept"})) == before
    table.delete_tag("kept")
    assert index_files(warehouse, table).isdisjoint(old)
    assert len(index_files(warehouse, table)) == 3
    assert rows_of(table) == before
    check_files(table)


def test_files_that_are_rewritten_and_then_compacted_away_go_with_both_their_indexes(warehouse: Warehouse) -> None:
    table = with_history(warehouse, options=BITMAP_OF_V | BESIDE | {"compaction.min.file-num": "2"})
    before = rows_of(table)
    altered(warehouse, {"file-index.bsi.columns": "v"}).rewrite_file_index()
    warehouse.reopened(table).compact(full=True)
    expire_all_but_the_last(table)
    assert len(data_files(warehouse, table)) == len(index_files(warehouse, table)) == 1
    assert rows_of(table) == before
    assert table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True).files == ()


def test_a_rollback_before_the_rewrite_brings_the_old_indexes_back(warehouse: Warehouse) -> None:
    table = with_history(warehouse, options=BITMAP_OF_V | BESIDE)
    before, old = rows_of(table), index_files(warehouse, table)
    altered(warehouse, {"file-index.bsi.columns": "v"}).rewrite_file_index()
    table.rollback_to(3)
    assert rows_of(table) == before
    assert index_files(warehouse, table) == old
    check_files(table)


def test_a_branch_keeps_the_old_index(warehouse: Warehouse) -> None:
    table = with_history(warehouse, options=BITMAP_OF_V | BESIDE)
    old = index_files(warehouse, table)
    table.create_tag("t")
    table.create_branch("b", tag="t")
    altered(warehouse, {"file-index.bsi.columns": "v"}).rewrite_file_index()
    table.delete_tag("t")
    expire_all_but_the_last(table)
    assert index_files(warehouse, table) > old


LONG = {"changelog.num-retained.max": "1000", "snapshot.num-retained.max": "10"}
HISTORIES: list[dict[str, Any]] = [
    {},
    {"options": {"deletion-vectors.enabled": "true"}},
    {"primary_keys": ["id"], "options": {"bucket": "1"}},
    {"primary_keys": ["id"], "options": {"bucket": "1", **LONG}},
    {"primary_keys": ["id"], "options": {"bucket": "1", "changelog-producer": "lookup", **LONG}},
    {"primary_keys": ["id"], "options": {"bucket": "1", "deletion-vectors.enabled": "true"}},
]


@pytest.mark.parametrize("kind", HISTORIES, ids=str)
@pytest.mark.parametrize("seed", range(tries(2, many=4)))
def test_in_any_history_nothing_that_is_needed_goes_and_nothing_else_stays(
    warehouse: Warehouse, kind: dict[str, Any], seed: int
) -> None:
    chance = random.Random(seed)
    eager = {} if "primary_keys" in kind else {"compaction.min.file-num": "2"}
    arguments = {**kind, "options": {**BESIDE, **eager, **kind.get("options", {})}}
    table = warehouse.table(**arguments)
    for number in range(25):
        match chance.choice(["append", "append", "rewrite", "rewrite", "compact", "tag", "untag", "expire", "delete"]):
            case "append":
                table.append(rows(number))
            case "delete" if arguments["options"].get("deletion-vectors.enabled") or table.schema.primary_keys:
                table.delete(f"id = {number}")
            case "rewrite":
                columns = chance.choice(["v", "id", "v,id"])
                table = altered(warehouse, {"file-index.bitmap.columns": columns})
                table.rewrite_file_index()
                assert index_coverage(table.facts).is_complete
            case "compact":
                table.compact(full=chance.random() < 0.5)
            case "tag" if table.latest_snapshot() is not None:
                table.create_tag(f"t{number}")
            case "untag" if table.tags():
                table.delete_tag(chance.choice(sorted(table.tags())))
            case "expire":
                kept = chance.randint(1, 3)
                table.expire_snapshots(retain_min=kept, retain_max=kept, older_than_ms=FUTURE, retain_floor_ms=0)
        check_files(table)
    for name in table.tags():
        table.delete_tag(name)
    if table.latest_snapshot() is not None:
        table.append(rows(99))
        expire_all_but_the_last(table)
        table.expire_changelogs(everything=True)
    check_files(table)
    assert table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True).files == ()


def test_a_file_with_values_that_an_index_cannot_hold_is_not_rewritten_again(warehouse: Warehouse) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("d", pa.decimal128(38, 0))])
    wanted = Schema.from_arrow(schema, primary_keys=["id"], options={"bucket": "1", **BESIDE})
    warehouse.catalog.create_table("db.wide", wanted)
    table = warehouse.catalog.load_table("db.wide")
    assert isinstance(table, Table)
    table.append(pa.table({"id": [1, 2], "d": pa.array([Decimal(10) ** 30, None], schema.field("d").type)}, schema))
    table = altered(warehouse, {"file-index.bsi.columns": "d", "file-index.bitmap.columns": "id"}, name="wide")
    assert table.rewrite_file_index().rewritten == 1
    assert pairs_of(table) == [{("id", "bitmap")}]
    again = table.rewrite_file_index()
    assert (again.rewritten, again.snapshots) == (0, ())


def test_a_bit_lost_inside_an_index_is_noticed_by_the_hash_in_its_name_and_the_index_is_made_again(
    warehouse: Warehouse,
) -> None:
    table = with_history(warehouse, options=BITMAP_OF_V | BESIDE)
    name, *_ = sorted(index_files(warehouse, table))
    path = f"{table.store.paths.root}/{name}"
    data = warehouse.io.read(path)
    warehouse.io.delete(path)
    warehouse.io.create(path, data[:-1] + bytes([data[-1] ^ 1]))
    assert index_coverage(table.facts).is_complete  # reads heads only
    assert table.rewrite_file_index().rewritten == 1
    assert name not in {entry.file.extra_files[0] for entry in live(table)}
    assert all(stored == made for stored, made in stored_and_made(table))
    assert table.rewrite_file_index().rewritten == 0


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1])
def test_a_file_whose_statistics_show_that_an_index_cannot_be_made_is_not_read_for_it_and_lacks_none(
    warehouse: Warehouse, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = warehouse.table(options={"write-only": "true", "file-index.bsi.columns": "id"})
    table.append(keyed([(value, "a", 1), (5, "a", 2)]))
    is_held = value > 0
    assert pairs_of(table) == [{("id", "bsi")} if is_held else set()]
    assert index_coverage(table.facts).is_complete
    monkeypatch.setattr("table_format.table.upkeep.index_rewrite.build_indexes", None)  # calls fail
    assert table.rewrite_file_index().rewritten == 0
