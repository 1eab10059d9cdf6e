"""Changelogs that outlive their snapshots: what can be read of them, what they keep, and how they go."""

from __future__ import annotations

import random
from typing import Any

import pytest

from table_format import Table
from table_format.errors import InvalidInputError, InvalidOption, SnapshotExpired
from table_format.metastore.snapshot.changelog_store import ChangelogStore
from table_format.table.system.audit_log import AuditLogTable
from table_format.table.system.binlog import BinlogTable
from tests.support.reachable import check_files
from tests.support.tables import Warehouse, keyed, memory_warehouse
from tests.table.read.test_changelog_law import changelog_of, rows_of

NEVER = 1 << 60
LONG = {"changelog.num-retained.max": "1000", "snapshot.num-retained.max": "10"}
QUIET = {"num-sorted-run.compaction-trigger": "9"}
TABLES: tuple[dict[str, str], ...] = (
    {},
    {"deletion-vectors.enabled": "true"},
    {"changelog-producer": "input"},
    {"changelog-producer": "lookup"},
    {"changelog-producer": "lookup", "deletion-vectors.enabled": "true"},
    {"changelog-producer": "lookup", "merge-engine": "first-row", "ignore-delete": "true"},
    {"changelog-producer": "full-compaction"},
    {"bucket": "-1", "dynamic-bucket.target-row-num": "3"},
)
NAMES = ["deltas", "marks", "input", "lookup", "lookup and marks", "first row", "full", "dynamic buckets"]


def made(options: dict[str, str], warehouse: Warehouse | None = None) -> Table:
    return (warehouse or memory_warehouse()).table(
        primary_keys=["id", "dt"],
        partition_keys=["dt"],
        options={"bucket": "1", "num-sorted-run.compaction-trigger": "3", **LONG, **options},
    )


def expire(table: Table, count: int) -> tuple[int, ...]:
    report = table.expire_snapshots(retain_min=count, retain_max=count, older_than_ms=NEVER, retain_floor_ms=0)
    assert report.changelog_ids == report.snapshot_ids
    return report.snapshot_ids


def forget(table: Table, count: int) -> tuple[int, ...]:
    return table.expire_changelogs(retain_min=count, retain_max=count, older_than_ms=NEVER).changelog_ids


def write(table: Table, chance: random.Random) -> None:
    rows = [(chance.randrange(7), chance.choice("ab"), chance.randrange(4)) for _ in range(chance.randint(1, 6))]
    if chance.random() < 0.25 and table.options.merge.obstacle_to_delete is None:
        table.delete(f"id in ({chance.randrange(7)}, {chance.randrange(7)})")
    else:
        table.append(keyed(rows))
    if chance.random() < 0.4:
        table.compact(full=chance.random() < 0.6)


@pytest.mark.parametrize("options", TABLES, ids=NAMES)
def test_changes_stay_as_they_were_until_they_are_forgotten(options: dict[str, str]) -> None:
    chance = random.Random(f"{options}1")
    table = made(options)
    first, expired, forgotten = 1, 0, 0
    known: dict[int, list[tuple[Any, ...]]] = {}
    for step in range(6):
        for _ in range(chance.randint(1, 3)):
            write(table, chance)
        if chance.random() < 0.4:
            table.create_tag(f"t{step}")
        known |= {i: c for i, c in changes_since(table, first).items() if i not in known}
        expired += len(expire(table, chance.randint(1, 3)))
        check(table, known, first)
        if table.tags() and chance.random() < 0.5:
            table.delete_tag(chance.choice(sorted(table.tags())))
            check_files(table)
        if chance.random() < 0.6:
            gone = forget(table, chance.randint(1, 8))
            first, forgotten = max((first, *(i + 1 for i in gone))), forgotten + len(gone)
            check(table, known, first)
    assert expired > 3
    assert forgotten > 1


def check(table: Table, known: dict[int, list[tuple[Any, ...]]], first: int) -> None:
    check_files(table)
    assert changes_since(table, first) == {i: c for i, c in known.items() if i >= first}


def changes_since(table: Table, first: int) -> dict[int, list[tuple[Any, ...]]]:
    """The changes by snapshot from an id on."""
    stream = table.stream(options={"scan.mode": "from-snapshot", "scan.snapshot-id": str(first)})
    found = {}
    while (plan := stream.next_plan()) is not None:
        assert plan.snapshot is not None
        found[plan.snapshot.id] = rows_of(stream.to_arrow(plan))
    return found


def four_commits(options: dict[str, str] | None = None) -> Table:
    """Four commits of one key, and a full compaction."""
    table = made({"changelog-producer": "input", **QUIET, **(options or {})})
    for value in range(4):
        table.append(keyed([(1, "a", value)]))
    table.compact(full=True)
    return table


def ids(table: Table) -> list[int]:
    return list(ChangelogStore(table.store).ids())


def hints(table: Table) -> tuple[bytes | None, bytes | None]:
    paths, io = table.store.paths, table.store.io
    found = [path if io.status(path) else None for path in (paths.changelog_earliest_hint, paths.changelog_latest_hint)]
    first, last = (None if path is None else io.read(path) for path in found)
    return first, last


def test_a_changelog_is_the_file_of_its_snapshot() -> None:
    table = four_commits()
    data = table.store.io.read(table.store.paths.snapshot(2))
    expire(table, 2)
    assert ids(table) == [1, 2, 3]
    assert table.store.io.read(table.store.paths.changelog(2)) == data
    assert hints(table) == (None, b"3")
    assert forget(table, 3) == (1, 2)
    assert hints(table) == (b"3", b"3")


@pytest.mark.parametrize("bound", ["retain_max", "retain_min", "older_than_ms", "limit"])
def test_a_bound_is_refused_if_all_changelogs_are_deleted(bound: str) -> None:
    table = four_commits()
    expire(table, 1)
    with pytest.raises(InvalidInputError, match=f"{bound}: no effect if all changelogs are deleted"):
        table.expire_changelogs(everything=True, **{bound: 10})
    assert ids(table)


def test_the_last_changelog_stays_unless_everything_goes() -> None:
    table = four_commits()
    expire(table, 1)
    report = table.expire_changelogs(retain_min=1, retain_max=1, older_than_ms=NEVER)
    assert (report.changelog_ids, report.kept_by) == (
        (1, 2, 3),
        "the last changelog, which continues to the snapshots",
    )
    foreseen = table.expire_changelogs(everything=True, dry_run=True)
    done = table.expire_changelogs(everything=True)
    assert (foreseen.deletions, foreseen.changelog_ids, foreseen.bytes) == (
        done.deletions,
        (4,),
        done.bytes,
    )
    assert ids(table) == []
    assert hints(table) == (None, None)
    check_files(table)


def test_a_dry_run_deletes_nothing() -> None:
    warehouse = memory_warehouse()
    table = made({"changelog-producer": "input", **QUIET}, warehouse)
    for value in range(4):
        table.append(keyed([(1, "a", value)]))
    before = warehouse.files(table)
    bounds = {"retain_min": 1, "retain_max": 1, "older_than_ms": NEVER}
    foreseen = table.expire_snapshots(**bounds, retain_floor_ms=0, dry_run=True)
    assert foreseen.changelog_ids == (1, 2, 3)
    assert not foreseen.deletions.changelog_files
    assert warehouse.files(table) == before
    assert expire(table, 1) == (1, 2, 3)
    before = warehouse.files(table)
    assert table.expire_changelogs(**bounds, dry_run=True).changelog_ids == (1, 2)
    assert warehouse.files(table) == before


def test_age_and_number_decide_which_changelogs_go() -> None:
    table = four_commits()
    expire(table, 1)
    assert table.expire_changelogs().changelog_ids == ()  # younger than an hour
    times = {c.id: c.time_millis for c in ChangelogStore(table.store).all()}
    report = table.expire_changelogs(retain_min=1, older_than_ms=times[3])
    assert all(times[i] < times[3] for i in report.changelog_ids)
    assert report.kept_by in ("the time retained",)
    assert table.expire_changelogs(retain_min=1, older_than_ms=NEVER, limit=1).kept_by == "the limit of one expiry"
    with pytest.raises(InvalidOption, match="retain_min"):
        table.expire_changelogs(retain_min=3, retain_max=2)


def test_a_consumer_keeps_changelogs_and_if_asked_only_them() -> None:
    table = four_commits({"consumer.changelog-only": "true"})
    table.reset_consumer("c", 3)
    assert expire(table, 1) == (1, 2, 3, 4)
    assert forget(table, 1) == (1,)
    table.delete_consumer("c")
    assert forget(table, 1) == (2, 3)
    other = four_commits()
    other.reset_consumer("c", 3)
    assert expire(other, 1) == (1,)


def test_commits_expire_both() -> None:
    counts = {"snapshot.num-retained.min": "1", "changelog.num-retained.min": "3"}
    table = made({"changelog-producer": "input", **QUIET, **counts})
    assert table.options.expire.is_changelog_decoupled
    for value in range(5):
        table.append(keyed([(1, "a", value)]))
    assert ids(table) == []  # nothing is old enough
    expire(table, 1)
    assert ids(table) == [1, 2, 3, 4]
    table.append(keyed([(1, "a", 9)]))
    assert ids(table) == [1, 2, 3, 4]


def test_changelogs_that_are_not_wanted_longer_any_more_are_kept_whole() -> None:
    for options in ({}, {"changelog-producer": "input"}):
        table = made({**QUIET, **options})
        for value in range(4):
            table.append(keyed([(1, "a", value)]))
        expire(table, 1)
        known = changelog_of(table)
        plain = table.copy({"changelog.num-retained.max": "10"})
        for value in range(3):
            plain.append(keyed([(1, "a", value)]))
        plain.compact(full=True)
        report = plain.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=NEVER, retain_floor_ms=0)
        assert report.snapshot_ids
        assert report.changelog_ids == ()
        assert known_changes(table, (1, 2, 3)) == {i: known[i] for i in (1, 2, 3)}
        plain.expire_changelogs(everything=True)
        table.remove_orphan_files(older_than_ms=table.store.runtime.clock.now_ms() + 1, nobody_else_writes=True)
        check_files(plain)


def known_changes(table: Table, wanted: tuple[int, ...]) -> dict[int, list[tuple[Any, ...]]]:
    """The changes of some commits, one by one."""
    found = {}
    for number in wanted:
        stream = table.stream()
        stream.restore(number)
        plan = stream.next_plan()
        assert plan is not None
        found[number] = rows_of(stream.to_arrow(plan))
    return found


def test_every_way_to_read_changes_reads_long_lived_ones() -> None:
    for producer in ("none", "input", "lookup"):
        table = made({"changelog-producer": producer, **QUIET})
        for value in range(3):
            table.append(keyed([(1, "a", value), (value + 2, "a", value)]))
            table.compact(full=True)
        latest = table.snapshots()[-1].id
        between = {"incremental-between": f"0,{latest}"}
        before = [table.scan(options=between).to_arrow(), *(v.scan(options=between).to_arrow() for v in views(table))]
        streamed = changelog_of(table)
        expire(table, 1)
        assert len(ids(table)) == latest - 1
        after = [table.scan(options=between).to_arrow(), *(v.scan(options=between).to_arrow() for v in views(table))]
        assert after == before
        assert sum(map(len, before)) > 9
        assert changelog_of(table) == streamed


def views(table: Table) -> tuple[AuditLogTable, BinlogTable]:
    return AuditLogTable(table), BinlogTable(table)


def test_changes_that_were_forgotten_say_so() -> None:
    table = four_commits()
    stream = table.stream(options={"scan.mode": "from-snapshot", "scan.snapshot-id": "1"})
    stream.next_plan()
    expire(table, 1)
    forget(table, 1)
    with pytest.raises(SnapshotExpired, match="those of 4 to 5 exist"):
        stream.next_plan()


def test_a_branch_keeps_what_it_shares_with_long_lived_changelogs() -> None:
    table = four_commits()
    table.create_tag("t", snapshot_id=3)
    table.create_branch("b", tag="t")
    table.delete_tag("t")
    expire(table, 1)
    forget(table, 1)
    check_files(table)
    table.delete_branch("b")
    check_files(table)


def test_going_back_removes_the_changelogs_after_the_target() -> None:
    table = four_commits({"changelog-producer": "none"})
    table.create_tag("t", snapshot_id=2)
    expire(table, 1)
    table.rollback_to("t")
    assert ids(table) == [1, 2]
    assert hints(table) == (None, b"2")
    check_files(table)
    table.append(keyed([(1, "a", 7)]))
    expire(table, 1)
    assert ids(table) == [1, 2]
    check_files(table)


def test_more_changes_at_least_than_at_most_are_refused() -> None:
    with pytest.raises(InvalidOption, match="maximum"):
        made({"changelog.num-retained.min": "20", "changelog.num-retained.max": "12"})


@pytest.mark.parametrize("producer", ["none", "input", "lookup"])
def test_what_a_changelog_needs_outlives_the_tag_that_had_it(producer: str) -> None:
    table = made({"changelog-producer": producer, **QUIET})
    for value in range(3):
        table.append(keyed([(value, "a", value)]))
    table.create_tag("t")
    table.compact(full=True)
    known = changes_since(table, 1)
    expire(table, 1)
    table.delete_tag("t")
    assert changes_since(table, 1) == known
    check_files(table)
    table.expire_changelogs(everything=True)
    table.append(keyed([(1, "a", 1)]))
    expire(table, 1)
    table.expire_changelogs(everything=True)
    check_files(table)
