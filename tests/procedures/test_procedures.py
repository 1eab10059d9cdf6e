"""Each procedure does what the method of the table does, with arguments as text."""

from __future__ import annotations

import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import (
    BranchNotFound,
    ConflictError,
    InvalidInputError,
    SnapshotNotFound,
    TagNotFound,
    UnsupportedFeature,
)
from table_format.model.schema_change import SetOption
from table_format.procedures.operations import InProcess
from table_format.procedures.registry import PROCEDURES
from table_format.procedures.run import run_procedure
from tests.support.compaction import HOUR_MS as HOUR
from tests.support.compaction import MovableClock
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of


class Shop:
    """A table in a warehouse whose clock is wound by hand, and its procedures."""

    def __init__(self) -> None:
        self.clock = MovableClock()
        self.warehouse: Warehouse = memory_warehouse(self.clock)
        self.called: set[str] = set()

    def table(self, **options: str) -> Table:
        keys = {"primary_keys": ["id", "dt"], "partition_keys": ["dt"]}
        return self.warehouse.table("t", options=options, **keys)

    def append(self, table: Table, *rows: tuple[int, str, int]) -> None:
        self.clock.ms += HOUR
        table.append(keyed(list(rows)))

    def call(self, name: str, table: str = "db.t", **arguments: object) -> list[dict[str, object]]:
        self.called.add(name)
        found = run_procedure(InProcess(self.warehouse.catalog), name, {"table": table, **arguments})
        assert found.schema == PROCEDURES[name].columns
        return found.to_pylist()


@pytest.fixture
def shop() -> Shop:
    return Shop()


DONE = [{"result": True}]


def test_compact_merges_everything_or_what_is_due_in_the_partitions_given(shop: Shop) -> None:
    table = shop.table(**{"write-only": "true"})
    for value in range(3):
        shop.append(table, (1, "a", value), (1, "b", value))
    assert shop.call("compact", compact_strategy="minor", buckets="0,1") == DONE
    assert table.scan().plan().file_count == 6
    assert shop.call("compact", partitions="dt=a") == DONE
    assert table.scan().plan().file_count == 4
    assert shop.call("compact", options="target-file-size=1 mb") == DONE
    assert table.scan().plan().file_count == 2
    assert rows_of(table) == [(1, "a", 2), (1, "b", 2)]


def test_compact_chooses_partitions_by_a_condition_or_by_their_age(shop: Shop) -> None:
    table = shop.table(**{"write-only": "true"})
    for partition in "abc":
        for value in range(2):
            shop.append(table, (1, partition, value))
    shop.clock.ms += HOUR

    def files() -> int:
        return table.scan().plan().file_count

    assert shop.call("compact", where="dt > 'z'") == DONE
    assert shop.call("compact", partition_idle_time="10 h") == DONE
    assert files() == 6
    assert shop.call("compact", where="dt = 'b' OR dt LIKE 'x%'") == DONE
    assert files() == 5
    assert shop.call("compact", partition_idle_time="4 h") == DONE
    assert files() == 4
    assert shop.call("compact", partition_idle_time="1 h") == DONE
    assert files() == 3
    unpartitioned = shop.warehouse.table("u", options={"write-only": "true"}, primary_keys=["id"])
    for value in range(2):
        shop.append(unpartitioned, (1, "a", value))
    assert shop.call("compact", "db.u", partition_idle_time="1 h") == DONE
    assert unpartitioned.scan().plan().file_count == 2
    shop.clock.ms += HOUR
    assert shop.call("compact", "db.u", partition_idle_time="1 h") == DONE
    assert unpartitioned.scan().plan().file_count == 1
    with pytest.raises(InvalidInputError, match=r"the partition columns are none"):
        shop.call("compact", "db.u", where="id = 1")


def test_compact_database_compacts_the_tables_whose_names_match(shop: Shop) -> None:
    tables = {name: shop.warehouse.table(name, options={"write-only": "true"}) for name in ("t", "u", "v")}
    for value in range(5):
        for table in tables.values():
            shop.append(table, (1, "a", value))

    def call(**arguments: object) -> object:
        found = run_procedure(InProcess(shop.warehouse.catalog), "compact_database", arguments)
        return found.to_pylist()[0]["result"]

    def files() -> list[int]:
        return [table.scan().plan().file_count for table in tables.values()]

    assert call(including_databases="other") == "Compact database finished. Success: 0, Failed: 0"
    chosen = {"including_databases": "d.*|x", "including_tables": r"db\.[tu]", "excluding_tables": r".*\.u"}
    assert call(**chosen) == "Compact database finished. Success: 1, Failed: 0"
    assert files() == [1, 5, 5]
    assert call(excluding_tables="", options="file.format=orc").endswith("Success: 3, Failed: 0")
    assert files() == [1, 1, 1]


def test_compact_database_names_the_tables_that_fail_and_compacts_the_others(shop: Shop) -> None:
    broken, table = shop.warehouse.table("a"), shop.warehouse.table("b", options={"write-only": "true"})
    for value in range(5):
        shop.append(table, (1, "a", value))
    shop.warehouse.io.overwrite(broken.store.paths.schema(0), b"{}")
    with pytest.raises(InvalidInputError, match=r"'compact_database': 1 of 2 tables failed: db\.a: "):
        run_procedure(InProcess(shop.warehouse.catalog), "compact_database")
    assert table.scan().plan().file_count == 1


def test_compact_puts_rows_in_order(shop: Shop) -> None:
    table = shop.warehouse.table("t")
    shop.append(table, (3, "a", 1), (1, "a", 2))
    shop.append(table, (2, "a", 3))
    assert shop.call("compact", order_by="id", order_strategy="order") == DONE
    assert table.scan(["id"]).to_arrow().column(0).to_pylist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"order_strategy": "zorder"}, "order_strategy 'zorder' needs the argument 'order_by'"),
        ({"order_by": "id", "order_strategy": "none"}, "argument 'order_by' needs an order_strategy other than 'none'"),
        ({"order_by": "id", "buckets": "1"}, "remove 'buckets'"),
        ({"compact_strategy": "half"}, "argument 'compact_strategy': expected one of full, minor, found str 'half'"),
        ({"where": "id = 1"}, "column 'id' .* the partition columns are dt"),
        ({"where": "dt = 'a'", "partitions": "dt=a"}, "partitions and where both choose partitions"),
        ({"where": "dt = 'a'", "partition_idle_time": "1 h"}, "where and partition_idle_time both choose partitions"),
        ({"order_by": "id", "partition_idle_time": "1 h"}, "'partition_idle_time' chooses partitions to merge"),
    ],
)
def test_compact_refuses_arguments_that_contradict_each_other(
    shop: Shop, arguments: dict[str, object], message: str
) -> None:
    shop.table()
    with pytest.raises(InvalidInputError, match=message):
        shop.call("compact", **arguments)


def test_rescale_gives_another_number_of_buckets(shop: Shop) -> None:
    table = shop.table()
    shop.append(table, *((i, "a", i) for i in range(20)))
    assert shop.call("rescale", bucket_num="4", partitions="dt=a") == DONE
    assert {split.bucket for split in table.scan().plan()} == {0, 1, 2, 3}
    assert shop.call("rescale", bucket_num="2", where="dt > 'a'") == DONE
    assert {split.bucket for split in table.scan().plan()} == {0, 1, 2, 3}
    assert shop.call("rescale", bucket_num="2", where="dt = 'a'") == DONE
    assert {split.bucket for split in table.scan().plan()} == {0, 1}


def test_rewrite_file_index_counts_partitions_and_indexes(shop: Shop) -> None:
    table = shop.table(bucket="1")
    for number, dt in enumerate("aab"):
        shop.append(table, (number, dt, number))
    shop.warehouse.catalog.alter_table("db.t", SetOption("file-index.bitmap.columns", "v"))
    assert shop.call("rewrite_file_index", where="dt = 'x'") == [{"written_partitions": 0, "written_indexes": 0}]
    assert shop.call("rewrite_file_index", where="dt = 'a'") == [{"written_partitions": 1, "written_indexes": 2}]
    assert shop.call("rewrite_file_index") == [{"written_partitions": 1, "written_indexes": 1}]
    assert shop.call("rewrite_file_index") == [{"written_partitions": 0, "written_indexes": 0}]


def test_analyze_and_drop_partition(shop: Shop) -> None:
    table = shop.table()
    shop.append(table, (1, "a", 1), (2, "b", 2))
    assert shop.call("analyze", columns="id,v") == DONE
    assert table.latest_snapshot().commit_kind.value == "ANALYZE"
    assert shop.call("drop_partition", partitions="dt=a") == DONE
    assert rows_of(table) == [(2, "b", 2)]


def test_expire_snapshots_counts_what_it_deletes_or_would(shop: Shop) -> None:
    table = shop.table(**{"write-only": "true"})
    for value in range(5):
        shop.append(table, (1, "a", value))
    keep = {"retain_max": "2", "retain_min": 1, "retain_floor": "0 s", "options": "snapshot.time-retained=1 h"}
    assert shop.call("expire_snapshots", dry_run="true", **keep) == [{"deleted_snapshots_count": 3}]
    assert shop.call("expire_snapshots", max_deletes="1", **keep) == [{"deleted_snapshots_count": 1}]
    assert shop.call("expire_snapshots", **keep) == [{"deleted_snapshots_count": 2}]
    assert [s.id for s in table.snapshots()] == [4, 5]
    shop.clock.ms += HOUR
    assert shop.call("expire_snapshots", retain_min=1, older_than=str(shop.clock.now_ms())) == [
        {"deleted_snapshots_count": 1}
    ]


def test_expire_changelogs_deletes_what_outlived_its_snapshot(shop: Shop) -> None:
    table = shop.table(**{"write-only": "true", "changelog-producer": "input", "changelog.time-retained": "9 d"})
    for value in range(5):
        shop.append(table, (1, "a", value))
    shop.call("expire_snapshots", retain_max=1, retain_min=1, retain_floor="0 s")
    assert shop.call("expire_changelogs", delete_all="true", dry_run=True) == [{"deleted_changelogs_count": 4}]
    assert shop.call("expire_changelogs", delete_all="true") == [{"deleted_changelogs_count": 4}]


def test_orphans_of_one_table_and_of_a_database_are_counted_and_deleted(shop: Shop) -> None:
    for name in ("t", "u"):
        root = shop.warehouse.table(name).store.paths.root
        shop.warehouse.io.create(f"{root}/bucket-0/data-x-0.parquet", b"12345")
    shop.clock.ms += 48 * HOUR
    two = [{"deletedFileCount": 2, "deletedFileTotalLenInBytes": 10}]
    assert shop.call("remove_orphan_files", "db.*", dry_run="true") == two
    early = shop.clock.now_ms() - 72 * HOUR
    assert shop.call("remove_orphan_files", older_than=early)[0]["deletedFileCount"] == 0
    late = shop.clock.now_ms()
    with pytest.raises(InvalidInputError, match="nobody_else_writes"):
        shop.call("remove_orphan_files", older_than=late, dry_run=True)
    late_too = {"older_than": late, "nobody_else_writes": "true", "dry_run": True}
    assert shop.call("remove_orphan_files", **late_too)[0]["deletedFileCount"] == 1
    assert shop.call("remove_orphan_files")[0]["deletedFileCount"] == 1
    assert shop.call("remove_orphan_files", "db.*")[0]["deletedFileCount"] == 1


def test_tags_are_made_moved_renamed_expired_and_deleted(shop: Shop) -> None:
    table = shop.table()
    for value in range(3):
        shop.append(table, (1, "a", value))
    assert shop.call("create_tag", tag="one", snapshot="1", time_retained="1 h") == DONE
    assert shop.call("create_tag", tag="last") == DONE
    assert table.tags()["last"].snapshot.id == 3
    assert shop.call("replace_tag", tag="last", snapshot=2) == DONE
    assert table.tags()["last"].snapshot.id == 2
    assert shop.call("rename_tag", tag="last", target_tag="two") == DONE
    assert shop.call("create_tag", tag="three") == DONE
    assert shop.call("expire_tags") == []
    shop.clock.ms += 2 * HOUR
    assert shop.call("expire_tags", dry_run=True) == [{"expired_tags": "one"}]
    assert shop.call("expire_tags") == [{"expired_tags": "one"}]
    with pytest.raises(TagNotFound):
        shop.call("delete_tag", tag="two,missing,three")
    assert set(table.tags()) == {"two", "three"}
    assert shop.call("delete_tag", tag="two, three") == DONE
    assert table.tags() == {}
    with pytest.raises(TagNotFound):
        shop.call("delete_tag", tag="two")
    assert shop.call("trigger_tag_automatic_creation") == DONE


def test_a_tag_is_created_from_a_time(shop: Shop) -> None:
    table = shop.table(**{"write-only": "true"})
    times = []
    for value in range(3):
        shop.append(table, (1, "a", value))
        times.append(shop.clock.now_ms())
    for number, time in enumerate((times[0] - 1, times[1], str(times[1] + 1))):
        (row,) = shop.call("create_tag_from_timestamp", tag=f"t{number}", timestamp=time, time_retained="1 d")
        snapshot = number + 1
        assert (row["tagName"], row["snapshot"], row["commit_time"]) == (f"t{number}", snapshot, times[snapshot - 1])
        assert table.tags()[f"t{number}"].snapshot.id == snapshot
    with pytest.raises(SnapshotNotFound, match=r"db\.t has no snapshot with a commit time of"):
        shop.call("create_tag_from_timestamp", tag="late", timestamp=times[2] + 1)
    shop.call("expire_snapshots", retain_max=1, retain_min=1, retain_floor="0 s")
    (row,) = shop.call("create_tag_from_timestamp", tag="kept", timestamp=times[1])
    assert row["snapshot"] == 2


def test_a_table_is_rolled_back_to_a_watermark(shop: Shop) -> None:
    table = shop.table(**{"write-only": "true"})
    for value, watermark in enumerate((None, 100, 200, None)):
        table.append(keyed([(1, "a", value)]), watermark=watermark)
    with pytest.raises(SnapshotNotFound, match="no snapshot with a watermark of at most 99; the lowest is 100"):
        shop.call("rollback_to_watermark", watermark=99)
    assert shop.call("rollback_to_watermark", watermark="199") == [
        {"previous_snapshot_id": 4, "current_snapshot_id": 2}
    ]
    assert rows_of(table) == [(1, "a", 1)]


def test_automatic_tags_are_made_on_demand(shop: Shop) -> None:
    table = shop.table()
    shop.append(table, (1, "a", 1))
    assert table.tags() == {}
    shop.warehouse.catalog.alter_table("db.t", _automatic())
    shop.call("trigger_tag_automatic_creation")
    assert len(table.tags()) == 1


def _automatic() -> list[object]:
    return [SetOption("tag.automatic-creation", "process-time"), SetOption("tag.creation-period", "hourly")]


def test_branches_are_made_renamed_forwarded_and_deleted(shop: Shop) -> None:
    table = shop.table()
    shop.append(table, (1, "a", 1))
    shop.call("create_tag", tag="one")
    assert shop.call("create_branch", branch="b", tag="one") == DONE
    assert shop.call("create_branch", branch="b", ignore_if_exists="true") == DONE
    assert shop.call("rename_branch", from_branch="b", to_branch="c") == DONE
    shop.append(shop.warehouse.catalog.load_table("db.t$branch_c"), (2, "a", 2))
    assert shop.call("create_tag", "db.t$branch_c", tag="two") == DONE
    assert shop.call("fast_forward", branch="c") == DONE
    assert rows_of(shop.warehouse.reopened(table)) == [(1, "a", 1), (2, "a", 2)]
    assert shop.call("create_branch", branch="d") == DONE
    with pytest.raises(BranchNotFound):
        shop.call("delete_branch", branch="c,missing,d")
    assert set(table.branches()) == {"c", "d"}
    assert shop.call("delete_branch", branch="c,d") == DONE
    assert table.branches() == {}


def test_a_table_is_rolled_back_to_a_snapshot_a_tag_or_a_time(shop: Shop) -> None:
    table = shop.table(**{"write-only": "true"})
    with pytest.raises(SnapshotNotFound, match=r"db\.t has no snapshot to roll back from"):
        shop.call("rollback", snapshot=1)
    times = []
    for value in range(5):
        shop.append(table, (1, "a", value))
        times.append(shop.clock.now_ms())
    shop.call("create_tag", tag="two", snapshot=2)
    shop.call("create_tag", tag="one", snapshot=1)
    steps = [
        ("rollback_to_timestamp", {"timestamp": str(times[3])}, 5, 4),
        ("rollback", {"version": "3"}, 4, 3),
        ("rollback", {"tag": "two"}, 3, 2),
        ("rollback", {"version": "one"}, 2, 1),
        ("rollback", {"snapshot": "1"}, 1, 1),
    ]
    for name, arguments, before, after in steps:
        assert shop.call(name, **arguments) == [{"previous_snapshot_id": before, "current_snapshot_id": after}]
    for arguments, found in (({}, "none"), ({"version": "1", "tag": "one"}, "version, tag")):
        with pytest.raises(InvalidInputError, match=f"expected one of the arguments version, .*, found {found}"):
            shop.call("rollback", **arguments)


def test_consumers_are_set_back_and_forgotten(shop: Shop) -> None:
    table = shop.table()
    shop.append(table, (1, "a", 1))
    for name in ("app-1", "app-2", "other"):
        assert shop.call("reset_consumer", consumer_id=name, next_snapshot_id="1") == DONE
    assert table.consumers() == {"app-1": 1, "app-2": 1, "other": 1}
    assert shop.call("clear_consumers", including_consumers="app-.*", excluding_consumers=".*2") == DONE
    assert set(table.consumers()) == {"app-2", "other"}
    assert shop.call("reset_consumer", consumer_id="other") == DONE
    assert shop.call("clear_consumers") == DONE
    assert table.consumers() == {}


def test_a_catalog_of_directories_has_nothing_to_repair(shop: Shop) -> None:
    with pytest.raises(UnsupportedFeature, match="'repair': this catalog lists the directories of the warehouse"):
        run_procedure(InProcess(shop.warehouse.catalog), "repair", positional=["db"])


def test_a_system_table_has_no_procedures(shop: Shop) -> None:
    shop.table()
    with pytest.raises(InvalidInputError, match=r"procedure 'compact': 'db\.t\$files' is a system table"):
        shop.call("compact", "db.t$files")


def test_the_result_has_the_declared_columns_also_without_rows(shop: Shop) -> None:
    shop.table()
    found = run_procedure(InProcess(shop.warehouse.catalog), "expire_tags", {"table": "db.t"})
    assert found.schema == pa.schema([pa.field("expired_tags", pa.string(), nullable=False)])


def test_what_a_job_committed_is_taken_back(shop: Shop) -> None:
    table = shop.warehouse.table(primary_keys=["id"])
    table.append(keyed([(1, "a", 1)]))
    table.append(keyed([(1, "a", 2)]), properties={"dagster.run_id": "r1"}, commit_user="job", identifier=1)
    table.append(keyed([(2, "a", 2)]))
    gone = {"previous_snapshot_id": 3, "current_snapshot_id": 1}
    wanted = {"properties": "dagster.run_id=r1", "commit_user": "job"}
    assert shop.call("rollback_before", **wanted, dry_run="true") == [gone]
    with pytest.raises(ConflictError, match="snapshot 3"):
        shop.call("rollback_before", **wanted)
    assert shop.call("rollback_before", **wanted, including_others="true") == [gone]
    assert rows_of(table) == [(1, "a", 1)]


def test_partitions_expire_and_are_marked_as_done(shop: Shop) -> None:
    table = shop.warehouse.table(partition_keys=["dt"])
    table.append(keyed([(1, "20000101", 1), (2, "99990101", 1)]))
    age = {"expiration_time": "7 d", "timestamp_formatter": "yyyyMMdd"}
    gone = [{"expired_partitions": "dt=20000101"}]
    assert shop.call("expire_partitions", **age, dry_run="true") == gone
    assert shop.call("expire_partitions", **age) == gone
    assert shop.call("expire_partitions", **age) == [{"expired_partitions": "No expired partitions."}]
    assert rows_of(table) == [(2, "99990101", 1)]
    assert shop.call("mark_partition_done", partitions="dt=99990101") == [{"result": True}]
    assert "dt=99990101/_SUCCESS" in shop.warehouse.files(table)


def test_a_verification_has_a_row_for_each_finding(shop: Shop) -> None:
    table = shop.warehouse.table(partition_keys=["dt"])
    table.append(keyed([(1, "a", 1), (2, "b", 1)]))
    assert shop.call("verify", depth="rows") == []
    hint = table.store.paths.latest_hint
    shop.warehouse.io.overwrite(hint, b"7")
    finding = {"severity": "warning", "check": "hint", "path": hint, "partition": "", "bucket": None}
    expected = [{**finding, "expected": "1", "found": "7"}]
    assert shop.call("verify", depth="metadata", repair="true") == expected
    assert shop.call("verify", partitions="dt=a") == []
    path = next(name for name in shop.warehouse.files(table) if name.startswith("dt=b"))
    shop.warehouse.io.delete(f"{table.store.paths.root}/{path}")
    assert shop.call("verify", partitions="dt=a") == []
    [row] = shop.call("verify")
    assert (row["severity"], row["check"], row["partition"], row["bucket"]) == ("error", "data file", "dt=b", 0)
