"""Which upkeep is due: by the table's own options, with the reason, and not any more once it is done."""

from __future__ import annotations

import pytest

from table_format import Table
from table_format.model.schema_change import RemoveOption, SetOption
from table_format.model.snapshot import CommitKind
from table_format.options.table_options import TableOptions
from table_format.table.upkeep.due import BucketState, DueWork, Upkeep, UpkeepFacts, due_upkeep
from tests.support.compaction import HOUR_MS, MovableClock
from tests.support.tables import Warehouse, keyed, memory_warehouse

QUIET = {"bucket": "1", "write-only": "true"}


def a_warehouse() -> tuple[Warehouse, MovableClock]:
    clock = MovableClock()
    return memory_warehouse(clock), clock


def due(table: Table, **arguments: int) -> dict[str, DueWork]:
    return {work.kind.value: work for work in table.due_upkeep(**arguments)}


def appended(table: Table, count: int) -> Table:
    for value in range(count):
        table.append(keyed([(1, "a", value)]))
    return table


def test_a_new_table_needs_nothing() -> None:
    warehouse, _ = a_warehouse()
    assert warehouse.table(primary_keys=["id"]).due_upkeep() == ()
    assert warehouse.table("u", partition_keys=["dt"]).due_upkeep() == ()


@pytest.mark.parametrize("trigger", [3, 5])
def test_a_compaction_is_due_at_the_tables_own_number_of_sorted_runs(trigger: int) -> None:
    warehouse, _ = a_warehouse()
    options = {**QUIET, "num-sorted-run.compaction-trigger": str(trigger)}
    table = warehouse.table(primary_keys=["id", "dt"], partition_keys=["dt"], options=options)
    assert due(appended(table, trigger - 1)) == {}
    table.append(keyed([(1, "a", 1), (1, "b", 1)]))
    work = due(table)["compact"]
    assert work.partitions == ("dt=a",)
    assert (work.reason, work.full) == (
        f"1 of 2 buckets: up to {trigger} sorted runs, and 'num-sorted-run.compaction-trigger' is {trigger}",
        False,
    )
    table.compact()
    assert "compact" not in due(table)


def test_what_readers_do_not_see_on_level_0_is_due_at_once() -> None:
    warehouse, _ = a_warehouse()
    table = warehouse.table(primary_keys=["id"], options={**QUIET, "deletion-vectors.enabled": "true"})
    assert due(appended(table, 1))["compact"].reason == "1 of 1 bucket: 1 file on level 0 is invisible to readers"
    table.compact()
    assert due(table) == {}


def test_the_optimizing_compaction_is_due_after_its_interval_and_the_batch_job_runs_it() -> None:
    warehouse, clock = a_warehouse()
    table = warehouse.table(primary_keys=["id"], options={**QUIET, "compaction.optimization-interval": "1 h"})
    appended(table, 1).compact(full=True)
    appended(table, 1)
    assert due(table) == {}
    clock.ms += HOUR_MS + 60_000
    assert due(table)["compact"].reason == "1 of 1 bucket: 1 is due in full by 'compaction.optimization-interval'"
    [snapshot] = table.compact()
    assert snapshot.commit_kind is CommitKind.COMPACT
    [split] = table.scan().plan().splits
    assert [file.level for file in split.files] == [5]
    assert due(table) == {}


def test_the_age_of_level_0_is_due_where_the_caller_limits_it_and_needs_a_full_compaction() -> None:
    warehouse, clock = a_warehouse()
    table = warehouse.table(primary_keys=["id"], options=QUIET)
    appended(table, 2)
    clock.ms += HOUR_MS
    assert due(table) == due(table, max_level0_age_ms=HOUR_MS) == {}
    clock.ms += 1
    work = due(table, max_level0_age_ms=HOUR_MS)["compact"]
    assert work.full
    assert work.reason == "1 of 1 bucket: a file has been on level 0 for 3600 s, longer than 3600 s"
    table.compact(full=True)
    assert due(table, max_level0_age_ms=0) == {}


def test_small_files_of_an_append_table_are_due_at_their_number() -> None:
    warehouse, _ = a_warehouse()
    table = warehouse.table(partition_keys=["dt"], options={"write-only": "true", "compaction.min.file-num": "4"})
    assert due(appended(table, 3)) == {}
    work = due(appended(table, 1))["compact"]
    assert (work.partitions, work.reason) == (
        ("dt=a",),
        "1 partition or bucket: 4 small files or files with many deleted rows",
    )
    table.compact()
    assert due(table) == {}


def test_deleted_rows_of_an_append_table_are_due() -> None:
    warehouse, _ = a_warehouse()
    table = warehouse.table(options={"write-only": "true", "deletion-vectors.enabled": "true"})
    table.append(keyed([(number, "a", number) for number in range(10)]))
    assert due(table) == {}
    table.delete("id < 5")
    assert "compact" in due(table)
    table.compact()
    assert due(table) == {}


def test_postponed_rows_wait_for_a_compaction() -> None:
    warehouse, _ = a_warehouse()
    table = appended(warehouse.table(primary_keys=["id"], options={"bucket": "-2"}), 2)
    assert due(table)["compact"].reason == "1 of 1 bucket: 2 files hold rows that wait for their buckets"
    table.compact()
    assert due(table) == {}


def test_snapshots_are_due_by_the_options_and_not_below_the_retain_floor() -> None:
    warehouse, clock = a_warehouse()
    options = {**QUIET, "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}
    table = appended(warehouse.table(primary_keys=["id"], options=options), 4)
    assert due(table) == {}  # a writer may still be at work on them
    clock.ms += HOUR_MS
    assert due(table)["expire_snapshots"].reason == "2 snapshots may be deleted by the options"
    table.expire_snapshots()
    assert due(table) == {}


def test_indexes_are_due_in_the_partitions_whose_files_lack_them() -> None:
    warehouse, _ = a_warehouse()
    table = warehouse.table(partition_keys=["dt"], options={"write-only": "true"})
    table.append(keyed([(1, "a", 1), (2, "b", 2)]))
    altered = warehouse.catalog.alter_table("db.t", SetOption("file-index.bloom-filter.columns", "id"))
    assert isinstance(altered, Table)
    altered.rewrite_file_index(partitions=[{"dt": "a"}])
    work = due(altered)["rewrite_file_index"]
    assert (work.partitions, work.reason) == (("dt=b",), "1 file has other indexes than the options declare")
    altered.rewrite_file_index()
    assert due(altered) == {}


def test_indexes_that_the_table_no_longer_declares_are_due_for_removal() -> None:
    warehouse, _ = a_warehouse()
    options = {"write-only": "true", "file-index.bloom-filter.columns": "id"}
    table = warehouse.table(options=options)
    table.append(keyed([(1, "a", 1)]))
    altered = warehouse.catalog.alter_table("db.t", RemoveOption("file-index.bloom-filter.columns"))
    assert isinstance(altered, Table)
    assert due(altered)["rewrite_file_index"].reason == "1 file has other indexes than the options declare"
    altered.rewrite_file_index()
    assert due(altered) == {}


def test_tags_are_due_when_a_period_has_passed_and_go_when_their_time_is_over() -> None:
    warehouse, clock = a_warehouse()
    options = {**QUIET, "tag.automatic-creation": "process-time", "tag.default-time-retained": "36 h"}
    table = appended(warehouse.table(primary_keys=["id"], options=options), 1)
    names = due(table)["create_tags"]
    files = warehouse.files(table)
    assert names.reason.startswith("'tag.automatic-creation' asks for tag 20")
    assert warehouse.files(table) == files
    [made] = table.create_automatic_tags()
    assert made in names.reason
    assert due(table) == {}
    clock.ms += 37 * HOUR_MS
    assert due(table)["expire_tags"].reason == f"the time of tag {made} is over"
    table.expire_tags()
    assert "expire_tags" not in due(table)


def test_old_partitions_and_changelogs_are_due() -> None:
    warehouse, _clock = a_warehouse()
    options = {"write-only": "true", "partition.expiration-time": "7 d"}
    table = warehouse.table(partition_keys=["dt"], options=options)
    table.append(keyed([(1, "2000-01-01", 1), (1, "9999-01-01", 1)]))
    work = due(table)["expire_partitions"]
    assert (work.partitions, work.reason) == (
        ("dt=2000-01-01",),
        "1 partition is older than 'partition.expiration-time'",
    )
    table.expire_partitions()
    assert due(table) == {}


def test_long_lived_changelogs_are_due() -> None:
    warehouse, clock = a_warehouse()
    options = {
        **QUIET,
        "changelog-producer": "input",
        "changelog.time-retained": "9 d",
        "snapshot.num-retained.min": "1",
    }
    table = appended(warehouse.table(primary_keys=["id"], options={**options, "changelog.num-retained.min": "1"}), 4)
    clock.ms += 2 * HOUR_MS
    table.expire_snapshots()
    assert "expire_changelogs" not in due(table)
    clock.ms += 10 * 24 * HOUR_MS
    assert due(table)["expire_changelogs"].reason == "2 changelogs may be deleted by the options"
    table.expire_changelogs()
    assert "expire_changelogs" not in due(table)


def test_what_makes_snapshots_comes_before_expiry() -> None:
    facts = UpkeepFacts(
        is_keyed=False,
        local_now_ms=0,
        buckets=[BucketState(partition="dt=a", bucket=0, files=9, due_files=9)],
        files_without_indexes={"dt=a": 1},
        old_partitions=["dt=b"],
        due_tags=["t1", "t2", "t3", "t4"],
        expired_tags=["x"],
        expirable_snapshots=1,
        expirable_changelogs=1,
    )
    found = due_upkeep(facts, TableOptions())
    assert [work.kind for work in found] == [
        Upkeep.EXPIRE_PARTITIONS,
        Upkeep.COMPACT,
        Upkeep.REWRITE_FILE_INDEX,
        Upkeep.CREATE_TAGS,
        Upkeep.EXPIRE_TAGS,
        Upkeep.EXPIRE_SNAPSHOTS,
        Upkeep.EXPIRE_CHANGELOGS,
    ]
    assert str(found[3]) == "create_tags: 'tag.automatic-creation' asks for tags t1, t2, t3 and 1 more"
