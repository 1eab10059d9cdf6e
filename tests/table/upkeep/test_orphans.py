"""Cleaning of orphans: what nothing reaches goes when it is old enough, and everything else stays."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from table_format import Table
from table_format.errors import ConflictError, InvalidInputError, MissingFile
from table_format.metastore.expiry.orphans import GRACE_MS, YoungFiles, remove_orphan_files
from table_format.model.snapshot import shown_time
from tests.support.deletion_marks import live_data_files, mark_deleted, with_options
from tests.support.metastore_table import MetastoreTable, a_table, committable, once
from tests.support.reachable import check_files, files_below
from tests.support.tables import disk_warehouse, keyed, memory_warehouse, rows_of

FUTURE = 1 << 60


def three_commits(**options: str) -> Table:
    table = memory_warehouse().table(primary_keys=["id", "dt"], partition_keys=["dt"], options=options)
    for value in range(3):
        table.append(keyed([(1, "a", value), (2, "b", value)]))
    return table


def test_only_what_is_a_day_old_goes_unless_asked() -> None:
    table = a_table(primary_keys=("k",))
    table.append(table.file(1))
    message = table.message(new_files=(table.file(2), table.file(3)))
    table.write(message)
    young = [table.data_path(message.partition, 0, file) for file in message.new_files]
    report = clean(table)
    assert (report.files, report.young) == ((), YoungFiles(2, 8, table.clock.ms + GRACE_MS + 1))
    assert report.young is not None
    table.clock.ms += GRACE_MS
    assert clean(table).files == ()  # a day old, not older
    table.clock.ms = report.young.eligible_ms
    assert clean(table, dry_run=True).young is None
    foreseen = clean(table, dry_run=True)
    assert (list(foreseen.paths), foreseen.bytes) == (sorted(young), 8)
    assert table.all_files() >= {*young}
    done = clean(table)
    assert (done.files, done.dry_run, foreseen.dry_run) == (foreseen.files, False, True)
    assert table.all_files() == table.reachable()
    assert clean(table).files == ()


def clean(table: MetastoreTable, **arguments: bool | int):
    return remove_orphan_files(table.store, table.options, **arguments)


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("age_ms", [0, -3_600_000, GRACE_MS - 1])
def test_an_age_that_writers_at_work_may_have_is_refused(age_ms: int, dry_run: bool) -> None:
    table = a_table(primary_keys=("k",))
    table.append(table.file(1))
    table.write(table.message(new_files=(table.file(2),)))
    before = table.all_files()
    table.clock.ms += 10
    bound_ms = table.clock.ms - age_ms
    given, oldest = (re.escape(shown_time(time)) for time in (bound_ms, table.clock.ms - GRACE_MS))
    with pytest.raises(InvalidInputError, match=rf"older than {given} .* younger than 1 d, .* up to {oldest}, or set"):
        clean(table, older_than_ms=bound_ms, dry_run=dry_run)
    assert table.all_files() == before


def test_where_nobody_else_writes_any_age_may_go() -> None:
    table = memory_warehouse().table()
    paths = table.store.paths
    table.store.io.create(paths.manifest("left"), b"?")
    now_ms = table.store.runtime.clock.now_ms()
    with pytest.raises(InvalidInputError, match="nobody_else_writes"):
        table.remove_orphan_files(older_than_ms=now_ms + 60_000)
    # Without a bound it is a day all the same.
    assert table.remove_orphan_files(nobody_else_writes=True).paths == ()
    assert table.remove_orphan_files(older_than_ms=now_ms + 60_000, nobody_else_writes=True).paths == (
        paths.manifest("left"),
    )


def test_a_file_that_is_committed_meanwhile_stays() -> None:
    for verb, part in (("list", "/bucket-0"), ("list", "/snapshot"), ("list", "/tag"), ("list", "/branch")):
        table = a_table(primary_keys=("k",))
        table.append(table.file(1))
        message = table.message(new_files=(table.file(2),))
        table.write(message)
        table.clock.ms += 2 * GRACE_MS
        commit = once(lambda t=table, m=message: t.committer().commit(committable(2, m)))
        table.io.after(verb, part, commit)
        assert clean(table).files == ()
        assert len(table.live()) == 2
        assert table.all_files() == table.reachable()


def test_nothing_goes_while_history_cannot_be_read_to_its_end() -> None:
    table = a_table(primary_keys=("k",))
    table.append(table.file(1))
    left = table.message(new_files=(table.file(2),))
    table.write(left)
    table.clock.ms += 2 * GRACE_MS
    identifiers = iter(range(2, 1000))
    table.io.after("list", "/tag", lambda: table.append(table.file(1), identifier=next(identifiers)))
    with pytest.raises(ConflictError, match="keep committing"):
        clean(table)
    table.io.calm()
    assert list(clean(table).paths) == [table.data_path(left.partition, 0, left.new_files[0])]


def test_nothing_goes_when_what_is_reached_cannot_be_read() -> None:
    table = three_commits()
    table.store.io.create(table.store.paths.manifest("left"), b"?")
    snapshot = table.snapshots()[1]
    table.store.io.delete(table.store.paths.manifest(snapshot.delta_manifest_list))
    with pytest.raises(MissingFile, match=snapshot.delta_manifest_list):
        table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True)
    assert table.store.io.status(table.store.paths.manifest("left"))


def test_everything_of_tags_branches_consumers_and_changelogs_stays() -> None:
    table = three_commits(**{"changelog-producer": "input", "changelog.num-retained.max": "2147483647"})
    table = table.copy({"snapshot.num-retained.max": "1000"})
    table.create_tag("t", snapshot_id=1)
    table.create_branch("b", tag="t")
    table.analyze()
    table.compact(full=True)
    table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=FUTURE, retain_floor_ms=0)
    table.reset_consumer("c", 3)
    before = set(files_below(table.store.io, table.store.paths.root))
    assert [p for p in before if "/changelog/changelog-" in p]
    assert table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True).files == ()
    table.delete_tag("t")
    table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True)
    check_files(table)
    table.delete_branch("b")
    table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True)
    check_files(table)


def test_what_does_not_lie_where_a_table_keeps_its_files_stays() -> None:
    table = three_commits()
    root, io = table.store.paths.root, table.store.io
    others = [
        f"{root}/README",
        f"{root}/service/service-primary-key-lookup",
        f"{root}/dt=a/_SUCCESS",
        f"{root}/dt=a/notes/x",
        f"{root}/other=a/bucket-0/data.parquet",
        f"{root}/tag/tag-success-file/t_SUCCESS",
        f"{root}/tag/.hidden",
    ]
    ours = [
        f"{root}/dt=a/bucket-0/data-left.parquet",
        f"{root}/dt=gone/bucket-7/data-left.parquet",
        f"{root}/index/index-left",
        f"{root}/manifest/.manifest-left.7f60.tmp",
        f"{root}/snapshot/.snapshot-9.7f60.tmp",
        f"{root}/snapshot/nothing-known",
        f"{root}/statistics/stat-left",
        f"{root}/consumer/.consumer-c.7f60.tmp",
    ]
    for path in (*others, *ours):
        io.create(path, b"x")
    report = table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True)
    assert list(report.paths) == sorted(ours)
    assert report.bytes == len(ours)
    assert all(io.status(path) for path in others)
    assert io.status(f"{root}/dt=gone") is None
    assert rows_of(table) == [(1, "a", 2), (2, "b", 2)]


def test_a_temporary_file_on_a_real_disk_goes(tmp_path: Path) -> None:
    table = disk_warehouse(tmp_path).table()
    table.append(keyed([(1, "a", 1)]))
    left = Path(table.store.paths.snapshot_directory) / ".snapshot-2.7f60.tmp"
    left.write_bytes(b"half of a snap")
    assert table.remove_orphan_files().files == ()
    assert list(table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True).paths) == [str(left)]
    assert not left.exists()
    check_files(table)


def test_index_files_beside_data_files_go_with_their_snapshot() -> None:
    created = memory_warehouse().table(partition_keys=["dt"])
    created.append(keyed([(i, "ab"[i % 2], i) for i in range(8)]))
    table = with_options(created, {"index-file-in-data-file-dir": "true"})
    first = mark_deleted(table, {live_data_files(table)[0].file_name: [0]})
    created.truncate()
    io = table.store.io
    assert table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True).files == ()
    assert all(io.status(path) for path in first)
    report = table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=FUTURE, retain_floor_ms=0)
    assert list(report.deletions.index_files) == first
    assert not any(io.status(path) for path in first)
    check_files(table)
