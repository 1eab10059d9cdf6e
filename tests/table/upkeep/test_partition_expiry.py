"""Expiry of partitions: which are old, that nothing else goes, and that a dry run changes nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import ConflictError, InvalidInputError, InvalidOption, UnsupportedFeature
from table_format.model.snapshot import CommitKind
from table_format.options.partitions import PartitionOptions
from table_format.table.facts import TableFacts
from table_format.table.upkeep import partition_expiry
from table_format.table.upkeep.partition_expiry import PartitionFacts, expired
from table_format.table.write.batch_commit import fresh_user
from tests.support.compaction import MovableClock
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of

DAY = 86_400_000
PARTITIONED: dict[str, Any] = {"primary_keys": ["id", "dt"], "partition_keys": ["dt"]}


def a_warehouse(now: str = "2026-01-10 12:00:00") -> tuple[Warehouse, MovableClock]:
    clock = MovableClock()
    clock.ms = int(datetime.fromisoformat(now).replace(tzinfo=UTC).timestamp() * 1000)
    return memory_warehouse(clock), clock


def days(warehouse: Warehouse, *names: str, **options: str) -> Table:
    table = warehouse.table(**PARTITIONED, options={"bucket": "1", **options})
    for name in names:
        table.append(keyed([(1, name, 1), (2, name, 2)]))
    return table


def test_partitions_whose_values_are_old_go_in_one_commit_and_the_others_stay() -> None:
    warehouse, _ = a_warehouse()
    table = days(warehouse, "2026-01-01", "2026-01-02", "2026-01-04", "n/a", **{"partition.expiration-time": "7 d"})
    files = warehouse.files(table)
    foreseen = table.expire_partitions(dry_run=True)
    assert warehouse.files(table) == files
    assert [(p.partition, p.rows, p.files) for p in foreseen.partitions] == [
        ("dt=2026-01-01", 2, 1),
        ("dt=2026-01-02", 2, 1),
    ]
    assert (foreseen.rows, foreseen.snapshots, foreseen.unreadable) == (4, (), ("dt=n%2Fa",))
    assert str(foreseen).startswith("2 partitions would be dropped, 4 rows\ndt=2026-01-01: 2 rows in 1 file\n")
    report = table.expire_partitions()
    assert (report.partitions, [s.commit_kind for s in report.snapshots]) == (
        foreseen.partitions,
        [CommitKind.OVERWRITE],
    )
    assert {dt for _, dt, _ in rows_of(table)} == {"2026-01-04", "n/a"}
    assert table.expire_partitions().snapshots == ()


def test_a_partition_just_as_old_as_the_time_stays() -> None:
    warehouse, clock = a_warehouse("2026-01-08 00:00:00")
    table = days(warehouse, "2026-01-01", **{"partition.expiration-time": "7 d"})
    assert table.expire_partitions().partitions == ()
    clock.ms += 1
    assert len(table.expire_partitions().partitions) == 1


def test_at_most_so_many_go_oldest_first_and_in_batches() -> None:
    warehouse, _ = a_warehouse()
    options = {"partition.expiration-time": "1 d", "partition.expiration-batch-size": "2"}
    table = days(warehouse, "2026-01-03", "2026-01-01", "2026-01-04", "2026-01-02", **options)
    report = table.expire_partitions(max_num=3)
    assert [p.partition[-1] for p in report.partitions] == ["1", "2", "3"]
    assert (len(report.snapshots), report.left) == (2, 1)
    assert {dt for _, dt, _ in rows_of(table)} == {"2026-01-04"}


def test_the_pattern_and_the_formatter_make_the_time_of_several_columns() -> None:
    warehouse, _ = a_warehouse("2026-01-02 11:30:00")
    schema = pa.schema([("day", pa.string()), ("hour", pa.int32()), ("v", pa.int32())])
    table = warehouse.table(schema=schema, partition_keys=["day", "hour"])
    for hour in (9, 10, 11):
        table.append(
            pa.table({"day": ["20260102"], "hour": pa.array([hour], pa.int32()), "v": pa.array([1], pa.int32())})
        )
    report = table.expire_partitions(
        expiration_time_ms=3_600_000, timestamp_pattern="$day $hour", timestamp_formatter="yyyyMMdd H"
    )
    assert [dict(p.spec) for p in report.partitions] == [
        {"day": "20260102", "hour": "10"},
        {"day": "20260102", "hour": "9"},
    ]
    assert table.scan().to_arrow()["hour"].to_pylist() == [11]
    with pytest.raises(InvalidInputError, match=r"'\$dt \$hour': '\$dt' is not a partition column; .* day, hour"):
        table.expire_partitions(expiration_time_ms=3_600_000, timestamp_pattern="$dt $hour")


def test_dates_and_null_are_read_as_such() -> None:
    warehouse, _ = a_warehouse()
    schema = pa.schema([("dt", pa.date32()), ("v", pa.int32())])
    table = warehouse.table(schema=schema, partition_keys=["dt"])
    dates = pa.array([date(2026, 1, 1), date(2026, 1, 9), None], pa.date32())
    table.append(pa.table({"dt": dates, "v": pa.array([1, 2, 3], pa.int32())}))
    report = table.expire_partitions(expiration_time_ms=5 * DAY)
    assert [dict(p.spec) for p in report.partitions] == [{"dt": "2026-01-01"}]
    assert report.unreadable == ("dt=__DEFAULT_PARTITION__",)
    assert sorted(table.scan().to_arrow()["v"].to_pylist()) == [2, 3]


def test_without_a_pattern_the_first_value_alone_is_the_time_even_beside_a_null() -> None:
    warehouse, _ = a_warehouse("2026-01-10 00:00:00")
    keys = ["day", "region"]
    schema = pa.schema([("n", pa.int64()), *((k, pa.string()) for k in keys)])
    table = warehouse.table(schema=schema, partition_keys=keys)
    days, regions = ["2026-01-01", "2026-01-01", "2026-01-09", None], [None, "eu", None, "us"]
    table.append(pa.table({"n": [1, 2, 3, 4], "day": days, "region": regions}))
    week = 7 * DAY
    old = table.expire_partitions(expiration_time_ms=week, dry_run=True)
    assert [p.spec for p in old.partitions] == [
        {"day": "2026-01-01", "region": None},
        {"day": "2026-01-01", "region": "eu"},
    ]
    assert old.unreadable == ("day=__DEFAULT_PARTITION__/region=us",)
    by_pattern = table.expire_partitions(expiration_time_ms=week, timestamp_pattern="$day", dry_run=True)
    assert [p.spec for p in by_pattern.partitions] == [{"day": "2026-01-01", "region": "eu"}]


def test_by_update_time_a_partition_goes_when_nobody_has_written_to_it() -> None:
    warehouse, clock = a_warehouse()
    options = {"partition.expiration-time": "2 d", "partition.expiration-strategy": "update-time"}
    table = days(warehouse, "x", "y", **options)
    clock.ms += 2 * DAY
    table.append(keyed([(3, "y", 3)]))
    assert table.expire_partitions().partitions == ()
    clock.ms += 1
    assert [p.partition for p in table.expire_partitions().partitions] == ["dt=x"]
    assert {dt for _, dt, _ in rows_of(table)} == {"y"}


def test_by_update_time_a_partition_that_is_written_to_meanwhile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse, clock = a_warehouse()
    table = days(warehouse, "x", **{"partition.expiration-strategy": "update-time", "write-only": "true"})
    other = warehouse.reopened(table)
    clock.ms += 9 * DAY

    def late_user(facts: TableFacts) -> str:
        other.append(keyed([(9, "x", 9)]))
        return fresh_user(facts)

    monkeypatch.setattr(partition_expiry, "fresh_user", late_user)
    with pytest.raises(ConflictError, match="changed the files to rewrite"):
        table.expire_partitions(expiration_time_ms=DAY)
    assert (9, "x", 9) in rows_of(table)


def test_without_an_age_or_partitions_nothing_is_dropped() -> None:
    warehouse, _ = a_warehouse()
    table = days(warehouse, "2020-01-01")
    with pytest.raises(InvalidInputError, match=r"has no 'partition\.expiration-time'"):
        table.expire_partitions()
    with pytest.raises(InvalidInputError, match="has no partitions"):
        warehouse.table("u").expire_partitions(expiration_time_ms=DAY)
    with pytest.raises(InvalidOption, match=r"partition\.expiration-strategy"):
        table.expire_partitions(expiration_time_ms=DAY, strategy="by-name")
    with pytest.raises(InvalidOption, match=r"partition\.timestamp-formatter"):
        table.expire_partitions(expiration_time_ms=DAY, timestamp_formatter="EEE")
    with pytest.raises(InvalidOption, match=r"partition\.expiration-max-num"):
        table.expire_partitions(expiration_time_ms=DAY, max_num=0)
    assert len(rows_of(table)) == 2


def test_postponed_rows_are_no_old_partition_by_update_time() -> None:
    options = PartitionOptions(expiration_time_ms=1, expiration_strategy="update-time")
    old = PartitionFacts(b"", "dt=a", {"dt": "a"}, 1, 1, 1, updated_ms=5)
    waiting = PartitionFacts(b"", "dt=b", {"dt": "b"}, 1, 1, 1, updated_ms=5, is_postponed=True)
    unknown = PartitionFacts(b"", "dt=c", {"dt": "c"}, 1, 1, 1)
    assert expired([waiting, old, unknown], options, local_now_ms=10) == ((old, 5),)
    assert expired([old], PartitionOptions(), local_now_ms=10) == ()


def test_a_partition_is_marked_as_done_by_a_success_file_that_keeps_its_first_time() -> None:
    warehouse, clock = a_warehouse()
    table = days(warehouse, "2026-01-01")
    first_ms = clock.ms
    [path] = table.mark_partitions_done([{"dt": "2026-01-01"}])
    assert path == f"{table.store.paths.root}/dt=2026-01-01/_SUCCESS"
    clock.ms += 5
    table.mark_partitions_done([{"dt": "2026-01-01"}])
    expected = f'{{\n  "creationTime" : {first_ms},\n  "modificationTime" : {clock.ms}\n}}'
    assert warehouse.io.read(path).decode() == expected
    assert table.remove_orphan_files(older_than_ms=1 << 60, nobody_else_writes=True).files == ()
    assert len(rows_of(table)) == 2


def test_what_is_no_partition_with_rows_is_not_marked() -> None:
    warehouse, _ = a_warehouse()
    table = days(warehouse, "2026-01-01")
    files = warehouse.files(table)
    with pytest.raises(InvalidInputError, match=r"\{dt='2026-01-02'\} of db\.t has no rows"):
        table.mark_partitions_done([{"dt": "2026-01-01"}, {"dt": "2026-01-02"}])
    with pytest.raises(InvalidInputError, match=r"expected a value for each of the partition columns \(dt\)"):
        table.mark_partitions_done([{}])
    with pytest.raises(InvalidInputError, match="partitions is empty; name the partitions to mark as done"):
        table.mark_partitions_done([])
    assert warehouse.files(table) == files
    assert len(table.mark_partitions_done([{"dt": "2026-01-02"}], allow_empty=True)) == 1


def test_another_way_of_marking_is_refused_by_name() -> None:
    warehouse, _ = a_warehouse()
    table = days(warehouse, "2026-01-01")
    written_by_others = replace(table, dynamic_options={"partition.mark-done-action": "done-partition"})
    with pytest.raises(UnsupportedFeature, match=r"partition\.mark-done-action' = 'done-partition"):
        written_by_others.mark_partitions_done([{"dt": "2026-01-01"}])
