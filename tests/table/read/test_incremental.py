"""Changes between snapshots, tags and times, as batch scans give them, and the modes a scan starts in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from table_format import Table, load_catalog
from table_format.errors import InvalidOption, SnapshotExpired, SnapshotNotFound, UnsupportedFeature
from table_format.io.local import LocalFileIO
from table_format.table.system.audit_log import AuditLogTable
from tests.support.golden import golden_case
from tests.support.tables import disk_warehouse, keyed, memory_warehouse, rows_of

NEVER = 2**60


def changes(table: Table, span: str, mode: str = "auto", **arguments: Any) -> list[tuple[Any, ...]]:
    options = {"incremental-between": span, "incremental-between-scan-mode": mode}
    return rows_of(table, options=options, **arguments)


def audited(table: Table, span: str, mode: str = "auto", **arguments: Any) -> list[tuple[Any, ...]]:
    """The changes with their kinds."""
    options = {"incremental-between": span, "incremental-between-scan-mode": mode}
    rows = AuditLogTable(table).scan(options=options, **arguments).to_arrow()
    return sorted(zip(*(column.to_pylist() for column in rows.columns), strict=True))


@pytest.fixture
def table() -> Table:
    made = memory_warehouse().table(primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    made.append(keyed([(1, "a", 1), (2, "b", 2)]))
    made.append(keyed([(1, "a", 10), (3, "c", 3)]))
    made.delete("id = 2")
    made.append(keyed([(3, "c", 3)]))
    made.compact(full=True)
    return made


def test_between_1_and_2_are_only_the_changes_of_snapshot_2(table: Table) -> None:
    assert changes(table, "1,2") == [(1, "a", 10), (3, "c", 3)]
    assert str(table.scan(options={"incremental-between": "1,2"}).plan()).startswith("changes of db.t, snapshots 2,")


def test_changes_are_all_that_commits_wrote_and_compaction_is_none(table: Table) -> None:
    assert changes(table, "0,5") == [(1, "a", 1), (1, "a", 10), (2, "b", 2), (3, "c", 3), (3, "c", 3)]
    assert audited(table, "2,5") == [("+I", 3, "c", 3), ("-D", 2, "b", 2)]


def test_a_deleted_row_is_shown_with_its_kind_only(table: Table) -> None:
    assert changes(table, "2,3") == []
    assert audited(table, "2,3") == [("-D", 2, "b", 2)]


def test_a_difference_shows_what_differs_between_two_states(table: Table) -> None:
    assert changes(table, "1,5", "diff") == [(1, "a", 10), (3, "c", 3)]
    assert audited(table, "1,5", "diff") == [("+I", 1, "a", 10), ("+I", 3, "c", 3), ("-D", 2, "b", 2)]
    # Key 3 was written again as it was.
    assert audited(table, "2,5", "diff") == [("-D", 2, "b", 2)]


def test_two_tags_are_compared_or_read_as_snapshots(table: Table) -> None:
    table.create_tag("begin", 1)
    table.create_tag("end", 4)
    assert changes(table, "begin,end") == [(1, "a", 10), (3, "c", 3)]
    options = {"incremental-between": "begin,end", "incremental-between-tag-to-snapshot": "true"}
    assert rows_of(table, options=options) == [(1, "a", 10), (3, "c", 3), (3, "c", 3)]
    assert changes(table, "end,end") == []


def test_a_difference_from_before_the_first_snapshot_is_the_whole_state(table: Table) -> None:
    assert audited(table, "0,5", "diff") == [("+I", 1, "a", 10), ("+I", 3, "c", 3)]
    assert changes(table, "0,2", "diff", filter="id = 2") == [(2, "b", 2)]
    last = table.snapshots()[-1].time_millis
    since_ever = {"incremental-between-timestamp": f"0,{last}", "incremental-between-scan-mode": "diff"}
    assert rows_of(table, options=since_ever) == [(1, "a", 10), (3, "c", 3)]
    marked = memory_warehouse().table(options={"deletion-vectors.enabled": "true"})
    marked.append(keyed([(1, "a", 1), (2, "b", 2)]))
    marked.delete("id = 1")
    assert changes(marked, "0,2", "diff") == [(2, "b", 2)]


def test_a_difference_of_tags_outlives_their_snapshots(table: Table) -> None:
    table.create_tag("begin", 1)
    table.create_tag("end", 3)
    table.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=NEVER, retain_floor_ms=0)
    assert changes(table, "begin,end") == [(1, "a", 10), (3, "c", 3)]


def to_tag(table: Table, tag: str) -> list[tuple[Any, ...]]:
    return rows_of(table, options={"incremental-to-auto-tag": tag})


def test_changes_to_an_automatic_tag_begin_at_the_one_before(table: Table) -> None:
    for name, snapshot in {"2026-11-26": 1, "2026-11-28": 2, "2026-11-29": 3, "2026-12-01": 4, "today": 1}.items():
        table.create_tag(name, snapshot)
    assert to_tag(table, "2026-11-28") == [(1, "a", 10), (3, "c", 3)]
    assert to_tag(table, "2026-11-26") == []  # there is no tag before it
    assert to_tag(table, "2026-11-27") == []  # it does not exist
    log = {"incremental-to-auto-tag": "2026-11-29"}
    assert AuditLogTable(table).scan(options=log).to_arrow().select(["rowkind", "id"]).to_pylist() == [
        {"rowkind": "-D", "id": 2}
    ]
    table.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=NEVER, retain_floor_ms=0)
    assert to_tag(table, "2026-11-28") == [(1, "a", 10), (3, "c", 3)]
    with pytest.raises(InvalidOption, match="'today' is not the name of an automatic tag, such as '1970-01-01'"):
        to_tag(table, "today")
    with pytest.raises(
        InvalidOption, match="'incremental-between-scan-mode': would have no effect: it needs 'incremental-between'"
    ):
        table.scan(options={**log, "incremental-between-scan-mode": "delta"})


def test_the_period_of_automatic_tags_decides_which_tag_is_before() -> None:
    hours = {"tag.creation-period": "hourly", "tag.period-formatter": "without_dashes"}
    table = memory_warehouse().table(
        primary_keys=["id"], options={"bucket": "1", "tag.automatic-creation": "watermark", **hours}
    )
    for number in range(1, 4):
        table.append(keyed([(number, "a", number)]))
    for name, snapshot in {"20261129 09": 1, "20261129 10": 3, "2026-11-29 09": 2}.items():
        table.create_tag(name, snapshot)
    assert to_tag(table, "20261129 10") == [(2, "a", 2), (3, "a", 3)]


def test_columns_and_filter_are_those_of_the_changed_rows(table: Table) -> None:
    assert changes(table, "0,4", columns=["v"], filter="id = 1") == [(1,), (10,)]
    assert changes(table, "1,5", "diff", columns=["v"], filter="v > 5") == [(10,)]
    assert audited(table, "0,4", columns=["id", "rowkind"], filter="v = 2 and rowkind = '-D'") == [(2, "-D")]


def test_an_append_table_has_the_rows_its_commits_added() -> None:
    table = memory_warehouse().table()
    for number in range(1, 4):
        table.append(keyed([(number, "a", number)]))
    assert changes(table, "1,3") == [(2, "a", 2), (3, "a", 3)]
    assert changes(table, "1,3", "diff") == [(2, "a", 2), (3, "a", 3)]
    assert audited(table, "2,3") == [("+I", 3, "a", 3)]


def test_the_difference_of_a_rewritten_append_table_is_refused() -> None:
    table = memory_warehouse().table()
    for number in range(1, 6):
        table.append(keyed([(number, "a", number)]))
    table.compact(full=True)
    assert len(changes(table, "1,6")) == 4
    with pytest.raises(UnsupportedFeature, match=r"files of which were rewritten.*incremental-between-scan-mode=delta"):
        changes(table, "1,6", "diff")


def test_times_stand_for_the_snapshots_before_them(table: Table) -> None:
    times = [s.time_millis for s in table.snapshots()]
    all_of_it = {"incremental-between-timestamp": f"{times[0] - 1},{times[-1]}"}
    assert len(rows_of(table, options=all_of_it)) == 5
    assert rows_of(table, options={"incremental-between-timestamp": f"{times[0] - 9},{times[0] - 1}"}) == []
    assert rows_of(table, options={"incremental-between-timestamp": f"{times[-1] + 1},{times[-1] + 9}"}) == []
    local = {"incremental-between-timestamp": "2000-01-01 00:00:00,2100-01-01"}
    assert len(rows_of(table, options=local)) == 5


@pytest.mark.parametrize(
    ("span", "message"),
    [
        ("3,1", "the end, 1, is before the start, 3"),
        ("1", "expected 'start,end'"),
        ("1,2,3", "expected 'start,end'"),
        ("begin,2", "neither two tags nor the ids of two snapshots; the table has no tags"),
    ],
)
def test_a_malformed_range_is_refused(table: Table, span: str, message: str) -> None:
    with pytest.raises(InvalidOption, match=message) as caught:
        changes(table, span)
    assert caught.value.key == "incremental-between"


def test_changes_that_are_gone_or_to_come_are_an_error(table: Table) -> None:
    with pytest.raises(SnapshotNotFound, match="snapshot 6 does not exist yet, the latest is 5"):
        changes(table, "4,7")
    table.expire_snapshots(retain_max=2, retain_min=2, older_than_ms=NEVER, retain_floor_ms=0)
    assert changes(table, "3,5") == [(3, "c", 3)]
    with pytest.raises(SnapshotExpired, match="snapshot 2 has been expired, the earliest is 4"):
        changes(table, "1,5")


def test_a_table_without_snapshots_has_no_changes() -> None:
    assert changes(memory_warehouse().table(), "1,2") == []


def test_the_difference_is_refused_when_the_number_of_buckets_changed(tmp_path: Path) -> None:
    case = golden_case("pk_rescale_bucket__1.4.2")
    opened = load_catalog({"warehouse": str(case.writable_copy(tmp_path))})
    name = next(n for n in case.tables if len(case.tables[n]["snapshot_ids"]) > 1)
    table = opened.load_table(name)
    assert isinstance(table, Table)
    ids = case.tables[name]["snapshot_ids"]
    with pytest.raises(UnsupportedFeature, match="other bucket counts"):
        changes(table, f"{ids[0]},{ids[-1]}", "diff")


# --- changelogs ------------------------------------------------------------------------------------------------------


def golden_table(case: str, name: str) -> Table:
    opened = load_catalog({"warehouse": str(golden_case(case).warehouse)}).load_table(name)
    assert isinstance(opened, Table)
    return opened


def test_a_changelog_file_lies_beside_its_data_file_and_has_the_same_columns() -> None:
    table = golden_table("pk_changelog__1.4.2", "db.cp_input")
    facts = table.facts
    snapshot = facts.snapshots.load(1)
    (changelog,) = (e for m in facts.manifests.changelog_manifests(snapshot) for e in facts.manifests.read(m))
    (data,) = facts.manifests.delta_entries(snapshot)
    assert changelog.file.file_name.startswith("changelog-")
    assert data.file.file_name.startswith("data-")
    paths = table.store.paths
    shapes = []
    for entry in (changelog, data):
        with LocalFileIO().open_input(paths.data_file("", entry.bucket, entry.file)) as source:
            shapes.append(pa.parquet.read_schema(source))
    assert shapes[0].equals(shapes[1])


def test_a_changelog_table_gives_its_changelog_or_its_deltas() -> None:
    table = golden_table("pk_changelog__1.4.2", "db.cp_input")
    assert ("-U", 1, "a", 1) in audited(table, "1,2")
    assert audited(table, "1,2", "changelog") == audited(table, "1,2")
    assert all(row[0] != "-U" for row in audited(table, "1,2", "delta"))


def test_changelogs_are_read_beyond_their_snapshots() -> None:
    table = golden_table("changelog_decoupled__1.4.2", "db.t")
    earliest = table.facts.snapshots.earliest_id()
    assert earliest is not None
    assert earliest > 1
    stream = table.stream(options={"scan.snapshot-id": "1"})
    ids = []
    while (plan := stream.next_plan()) is not None:
        assert plan.snapshot is not None
        ids.append(plan.snapshot.id)
        assert stream.to_arrow(plan).num_rows > 0
    assert min(ids) == 1
    assert stream.checkpoint() == (table.facts.snapshots.latest_id() or 0) + 1
    assert len(audited(table, f"0,{earliest}")) > len(audited(table, f"{earliest - 1},{earliest}"))


# --- modes of a scan -------------------------------------------------------------------------------------------------


def test_compacted_full_reads_the_last_compacted_snapshot(table: Table) -> None:
    table.append(keyed([(9, "z", 9)]))
    assert rows_of(table, options={"scan.mode": "compacted-full"}) == [(1, "a", 10), (3, "c", 3)]


def test_compacted_full_without_a_compaction_reads_the_latest() -> None:
    table = memory_warehouse().table()
    assert rows_of(table, options={"scan.mode": "compacted-full"}) == []
    table.append(keyed([(1, "a", 1)]))
    assert rows_of(table, options={"scan.mode": "compacted-full"}) == [(1, "a", 1)]


def test_files_made_since_a_time_are_read_alone(tmp_path: Path) -> None:
    table = disk_warehouse(tmp_path).table()
    table.append(keyed([(1, "a", 1)]))
    time_ms = table.snapshots()[0].time_millis
    assert rows_of(table, options={"scan.file-creation-time-millis": str(time_ms - 60_000)}) == [(1, "a", 1)]
    assert rows_of(table, options={"scan.file-creation-time-millis": str(time_ms + 60_000)}) == []
    assert rows_of(table, options={"scan.mode": "from-file-creation-time", "scan.file-creation-time-millis": "0"})


def test_from_creation_timestamp_reads_the_first_snapshot_since(table: Table) -> None:
    times = [s.time_millis for s in table.snapshots()]
    assert rows_of(table, options={"scan.creation-time-millis": str(times[0])}) == [(1, "a", 10), (3, "c", 3)]
    if times[1] > times[0]:
        found = rows_of(table, options={"scan.creation-time-millis": str(times[0] + 1)})
        assert found == [(1, "a", 10), (2, "b", 2), (3, "c", 3)]


def test_a_watermark_reads_the_first_snapshot_that_has_come_so_far() -> None:
    table = golden_table("streaming_commits__1.4.2", "db.t")
    marks = {s.id: s.watermark for s in table.snapshots() if s.watermark is not None and s.watermark >= 0}
    wanted, mark = next(iter(marks.items()))
    as_of_id = rows_of(table, options={"scan.snapshot-id": str(wanted)})
    assert rows_of(table, options={"scan.watermark": str(mark)}) == as_of_id
    assert rows_of(table, options={"scan.version": f"watermark-{mark}"}) == as_of_id
    with pytest.raises(SnapshotNotFound, match=f"the highest is {max(marks.values())}"):
        rows_of(table, options={"scan.watermark": str(max(marks.values()) + 1)})


def test_a_stream_ends_at_the_watermark_it_is_bounded_by() -> None:
    table = golden_table("streaming_commits__1.4.2", "db.t")
    marks = [s.watermark for s in table.snapshots() if s.watermark is not None and s.watermark >= 0]
    options = {"scan.snapshot-id": "1", "scan.bounded.watermark": str(marks[0])}
    stream = table.stream(options=options)
    while stream.next_plan() is not None:
        assert stream.watermark is None or stream.watermark <= marks[0]
    assert stream.is_finished is (max(marks) > marks[0])
    unbounded = table.stream(options={"scan.snapshot-id": "1"})
    while unbounded.next_plan() is not None:
        pass
    assert unbounded.is_finished is False


@pytest.mark.parametrize("start", [{"scan.mode": "latest"}, {"scan.mode": "latest-full"}, {"consumer-id": "c"}])
def test_a_stream_that_begins_after_the_watermark_it_is_bounded_by_has_ended(start: dict[str, str]) -> None:
    table = memory_warehouse().table()
    commit = table.new_commit()
    commit.commit(table.new_write().write(keyed([(1, "a", 1)])), watermark=10)
    if "consumer-id" in start:
        table.reset_consumer("c", 2)
    stream = table.stream(options={**start, "scan.bounded.watermark": "5"})
    plan = stream.next_plan()
    assert (plan is not None) == (start.get("scan.mode") == "latest-full")
    assert stream.is_finished
    table.append(keyed([(2, "a", 2)]))
    assert stream.next_plan() is None


def test_options_of_one_scan_leave_the_next_alone(table: Table) -> None:
    latest = rows_of(table)
    assert changes(table, "0,2") != latest
    assert rows_of(table, options={"scan.snapshot-id": "1"}) == [(1, "a", 1), (2, "b", 2)]
    assert rows_of(table) == latest
    assert rows_of(table.copy({"incremental-between": "1,2"}), options={"scan.snapshot-id": "1"}) == [
        (1, "a", 1),
        (2, "b", 2),
    ]
