"""Verification finds each kind of fault, names it and its place, and finds nothing in a sound table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_format import Table
from table_format.codecs.deletion_vector import DeletionVector
from table_format.errors import InvalidInputError
from table_format.indexes.deletion_vector_files import write_deletion_vectors
from table_format.indexes.hash_index import write_hashes
from table_format.io.memory import MemoryFileIO
from table_format.io.paths import data_file_name
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import FileKind, IndexManifestEntry, ManifestEntry
from table_format.model.schema_change import AddColumn
from table_format.model.snapshot import CommitKind
from table_format.model.types import IntType
from table_format.runtime import Runtime
from table_format.table.verify import key_places
from table_format.table.verify.report import Depth, Finding, Severity, VerifyReport
from tests.support.forged_state import Entries, forge, live_entries, with_files
from tests.support.moving_keys import moving, with_runtime
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of, warehouse_on

KEYED: dict[str, Any] = {"primary_keys": ["id"], "options": {"bucket": "1"}}
ROWS = keyed([(number, "a", number) for number in range(10)])


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def a_table(warehouse: Warehouse, **options: str) -> Table:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", **options})
    table.append(ROWS)
    return table


def path_of(table: Table, entry: ManifestEntry) -> str:
    return table.store.paths.data_file(table.facts.partitions.text(entry.partition), entry.bucket, entry.file)


def damage(table: Table, path: str, *, at: int = -40) -> None:
    """One byte of the file is another; its size stays."""
    data = bytearray(table.store.io.read(path))
    data[at] ^= 0xFF
    table.store.io.overwrite(path, bytes(data))


def found(table: Table, depth: str = "rows", **arguments: Any) -> dict[str, Finding]:
    """The findings by their check; each check finds one thing."""
    report = replace(table).verify(depth=depth, **arguments)
    by_check = {finding.check: finding for finding in report.findings}
    assert len(by_check) == len(report.findings), str(report)
    return by_check


def only(table: Table, check: str, depth: str = "rows", severity: Severity = Severity.ERROR) -> Finding:
    """The one finding there is, which a verification less deep does not have."""
    findings = found(table, depth)
    assert list(findings) == [check], findings
    assert findings[check].severity is severity
    if Depth.of(depth) is not Depth.METADATA:
        assert found(table, Depth(Depth.of(depth) - 1).name.lower()) == {}
    return findings[check]


# --- sound tables -----------------------------------------------------------------------------------------------------

KINDS: Mapping[str, dict[str, Any]] = {
    "append": {},
    "append, partitioned": {"partition_keys": ["dt"]},
    "bucketed append": {"options": {"bucket": "3", "bucket-key": "id"}},
    "keyed": {"primary_keys": ["id"], "options": {"bucket": "3", "num-sorted-run.compaction-trigger": "2"}},
    "keyed, partitioned": {"primary_keys": ["id", "dt"], "partition_keys": ["dt"]},
    "deletion vectors": {"primary_keys": ["id"], "options": {"deletion-vectors.enabled": "true"}},
    "append with vectors": {"options": {"deletion-vectors.enabled": "true"}},
    "dynamic buckets": {"primary_keys": ["id"], "options": {"bucket": "-1", "dynamic-bucket.target-row-num": "4"}},
    "cross partition": {"primary_keys": ["id"], "partition_keys": ["dt"], "options": {"bucket": "-1"}},
    "postponed": {"primary_keys": ["id"], "options": {"bucket": "-2"}},
    "first row": {"primary_keys": ["id"], "options": {"bucket": "2", "merge-engine": "first-row"}},
    "changelog": {"primary_keys": ["id"], "options": {"bucket": "2", "changelog-producer": "lookup"}},
    "orc": {"primary_keys": ["id"], "options": {"bucket": "2", "file.format": "orc"}},
    "avro": {"primary_keys": ["id"], "options": {"bucket": "2", "file.format": "avro"}},
    "indexes": {
        "options": {
            "file-index.bloom-filter.columns": "id",
            "file-index.bitmap.columns": "dt,v",
            "file-index.in-manifest-threshold": "1 b",
        }
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_sound_table_has_no_finding_whatever_was_done_to_it(warehouse: Warehouse, kind: str) -> None:
    table = warehouse.table(**KINDS[kind])
    assert table.verify(depth="rows").findings == ()
    for turn in range(4):
        table.append(keyed([(number, "ab"[number % 2], None if number == 3 else turn) for number in range(turn, 12)]))
        if turn == 1:
            table.create_tag("early")
            table.create_branch("b", tag="early")
    if kind != "first row":
        table.delete("id = 5")
    table.compact(full=kind != "append")
    warehouse.catalog.alter_table("db.t", AddColumn("extra", IntType()))
    table.analyze()
    table.reset_consumer("c", 2)
    table.expire_snapshots(retain_min=2, retain_max=3, retain_floor_ms=0, older_than_ms=1 << 60)
    report = warehouse.reopened(table).verify(depth="rows")
    assert report.findings == (), str(report)
    assert report.is_healthy
    assert report.files > 0
    assert report.rows > 0
    branch = warehouse.catalog.load_table("db.t$branch_b")
    assert isinstance(branch, Table)
    assert branch.verify(depth="rows").findings == ()


def test_a_report_counts_what_was_looked_at(warehouse: Warehouse) -> None:
    table = warehouse.table(partition_keys=["dt"])
    for dt in "ab":
        table.append(keyed([(1, dt, 1), (2, dt, 2)]))
    report = table.verify(depth="rows")
    assert (report.snapshots, report.files, report.rows, report.depth) == (2, 2, 4, Depth.ROWS)
    looked_at = f"db.t: 0 errors, 0 warnings in 2 snapshots, {report.manifests} manifests"
    assert str(report) == f"{looked_at}, 2 files and 4 rows (depth 'rows')"
    assert str(table.verify(depth="files")) == f"{looked_at} and 2 files (depth 'files')"
    assert str(table.verify(depth="metadata")) == f"{looked_at.replace(', 2 m', ' and 2 m')} (depth 'metadata')"
    assert table.verify(depth="rows", partitions=[{"dt": "a"}]).rows == 2


def test_depth_and_partitions_are_checked(warehouse: Warehouse) -> None:
    table = warehouse.table(partition_keys=["dt"])
    with pytest.raises(InvalidInputError, match="expected one of metadata, files and rows, found str 'deep'"):
        table.verify(depth="deep")
    with pytest.raises(InvalidInputError, match="'id' is not a partition column"):
        table.verify(partitions=[{"id": 1}])


# --- the chain --------------------------------------------------------------------------------------------------------


def test_a_damaged_snapshot_is_found(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    table.append(ROWS)
    table.store.io.overwrite(table.store.paths.snapshot(1), b"{")
    assert only(table, "snapshot", "metadata").path == table.store.paths.snapshot(1)


@pytest.mark.parametrize("what", ["base_manifest_list", "delta_manifest_list"])
@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_a_list_that_cannot_be_read_is_found(warehouse: Warehouse, what: str, how: str) -> None:
    table = a_table(warehouse)
    table.append(ROWS)
    first = table.snapshots()[0]
    path = table.store.paths.manifest(getattr(first, what))
    if how == "missing":
        table.store.io.delete(path)
    else:
        damage(table, path)
    findings = found(table, "metadata")
    assert {finding.path for finding in findings.values()} <= {path, table.store.paths.snapshot(1)} | {
        table.store.paths.snapshot(2)
    }
    assert findings["manifest list"].path == path
    assert findings["manifest list"].severity is Severity.ERROR


@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_a_manifest_that_cannot_be_read_is_found(warehouse: Warehouse, how: str) -> None:
    table = a_table(warehouse)
    [manifest] = table.facts.manifests.delta_manifests(table.snapshots()[0])
    path = table.store.paths.manifest(manifest.file_name)
    if how == "missing":
        table.store.io.delete(path)
    else:
        damage(table, path)
    report = replace(table).verify(depth="metadata")
    assert {finding.path for finding in report.errors} == {path}


def test_manifests_that_contradict_each_other_are_found(warehouse: Warehouse) -> None:
    table = forge(a_table(warehouse), lambda entries: [replace(entry, kind=FileKind.DELETE) for entry in entries])
    findings = replace(table).verify(depth="metadata").errors
    assert [(finding.check, finding.path) for finding in findings] == [("state", table.store.paths.snapshot(1))]


@pytest.mark.parametrize(("member", "count"), [("total_record_count", 99), ("delta_record_count", 3)])
def test_a_wrong_number_of_rows_is_found(warehouse: Warehouse, member: str, count: int) -> None:
    table = forge(a_table(warehouse), snapshot=lambda snapshot: replace(snapshot, **{member: count}))
    finding = only(table, "record count", "metadata", Severity.WARNING)
    assert (finding.expected.split()[0], finding.found.split()[0]) == (str(count), "10")


def test_a_total_that_does_not_follow_from_the_one_before_is_found(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    table.append(ROWS)
    table = forge(table, snapshot=lambda snapshot: replace(snapshot, total_record_count=7))
    table.append(ROWS)
    findings = table.verify(depth="metadata").warnings
    assert {(f.path, f.expected, f.found) for f in findings} == {
        (table.store.paths.snapshot(2), "7 rows in all", "20 rows in all"),
        (table.store.paths.snapshot(3), "17 rows", "30 rows"),
    }


def test_a_schema_that_is_missing_is_found(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    warehouse.catalog.alter_table("db.t", AddColumn("x", IntType()))
    warehouse.catalog.alter_table("db.t", AddColumn("y", IntType()))
    table = warehouse.reopened(table)
    table.store.io.delete(table.store.paths.schema(1))
    finding = only(table, "schema", "metadata", Severity.WARNING)
    assert (finding.path, finding.found) == (table.store.paths.schema(1), "none")
    damaged = forge(table, snapshot=lambda snapshot: replace(snapshot, schema_id=9))
    report = damaged.verify(depth="metadata")
    assert ("schema 9, which does not exist", Severity.ERROR) in [(f.found, f.severity) for f in report.findings]


def test_a_gap_in_the_snapshots_is_found(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    for _ in range(2):
        table.append(ROWS)
    table.store.io.delete(table.store.paths.snapshot(2))
    report = replace(table).verify(depth="metadata")
    history = [finding for finding in report.findings if finding.check == "history"]
    assert [finding.path for finding in history] == [table.store.paths.snapshot(1)]


def test_a_tag_that_lost_what_it_keeps_is_found(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    table.create_tag("kept")
    table.append(ROWS)
    table.compact(full=True)
    table.expire_snapshots(retain_min=1, retain_max=1, retain_floor_ms=0, older_than_ms=1 << 60)
    assert found(table) == {}
    tag = table.tags()["kept"]
    [manifest] = table.facts.manifests.read_list(tag.snapshot.delta_manifest_list)
    [entry] = table.facts.manifests.read(manifest)
    table.store.io.delete(path_of(table, entry))
    assert only(table, "data file", "files").path == path_of(table, entry)
    table.store.io.delete(table.store.paths.manifest(tag.snapshot.delta_manifest_list))
    assert found(table, "metadata")["state"].path == table.store.paths.manifest(tag.snapshot.delta_manifest_list)
    table.store.io.overwrite(table.store.paths.tag("kept"), b"?")
    assert only(table, "tag", "metadata").path == table.store.paths.tag("kept")


def test_a_branch_is_looked_at_with_its_table(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    table.create_tag("t")
    table.create_branch("b", tag="t")
    branch = warehouse.catalog.load_table("db.t$branch_b")
    assert isinstance(branch, Table)
    branch.append(keyed([(99, "b", 99)]))
    assert found(table) == {}
    entry = next(e for e in live_entries(branch) if e.file.row_count == 1)
    table.store.io.delete(path_of(branch, entry))
    assert only(table, "data file", "files").path == path_of(branch, entry)
    branch.store.io.overwrite(branch.store.paths.schema(0), b"?")
    assert found(table, "metadata")["branch"].path == branch.store.paths.schema(0)


def test_changelogs_that_outlived_their_snapshots_are_looked_at(warehouse: Warehouse) -> None:
    options = {"changelog-producer": "input", "changelog.time-retained": "9 d", "snapshot.num-retained.min": "1"}
    table = a_table(warehouse, **options, **{"write-only": "true"})
    for value in range(3):
        table.append(keyed([(1, "a", value)]))
    table.expire_snapshots(retain_min=1, retain_max=1, retain_floor_ms=0, older_than_ms=1 << 60)
    assert found(table) == {}
    [changelog] = [name for name in warehouse.files(table) if name.endswith("changelog-2")]
    path = next(name for name in warehouse.files(table) if "/changelog-" in name and name.startswith("bucket-0"))
    root = table.store.paths.root
    table.store.io.delete(f"{root}/{path}")
    assert only(table, "data file", "files").path == f"{root}/{path}"
    table.store.io.delete(f"{root}/{changelog}")
    assert found(table, "metadata")["history"].path == f"{root}/{changelog}"


class _FailingAtSnapshots(MemoryFileIO):
    """A store that deletes everything but snapshots."""

    def delete(self, path: str) -> None:
        if "/snapshot/snapshot-" in path:
            raise OSError(5, "was made to fail", path)
        super().delete(path)


@pytest.mark.parametrize("options", [{}, {"changelog.num-retained.max": "99", "changelog-producer": "input"}])
def test_snapshots_of_an_unfinished_expiry_are_no_damage(options: Mapping[str, str]) -> None:
    warehouse = warehouse_on(_FailingAtSnapshots())
    table = warehouse.table(primary_keys=["id"], options=options)
    for number in range(3):
        table.append(keyed([(number, "a", 1)]))
    table.compact(full=True)
    with pytest.raises(OSError, match="made to fail"):
        table.expire_snapshots(retain_max=1, retain_min=1, retain_floor_ms=0)
    assert len(table.facts.snapshots.listed_ids()) == 4
    assert found(table) == {}
    entry = live_entries(table)[0]
    table.store.io.delete(path_of(table, entry))
    assert only(table, "data file", "files").path == path_of(table, entry)


def test_a_consumer_that_waits_for_what_never_was_or_is_gone_is_found(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    table.reset_consumer("next", 2)
    assert found(table) == {}
    table.reset_consumer("ahead", 3)
    finding = only(table, "consumer", "metadata", Severity.WARNING)
    assert (finding.path, finding.expected) == (table.store.paths.consumer("ahead"), "a snapshot from 1 to 2")
    table.store.io.overwrite(table.store.paths.consumer("ahead"), b"?")
    only(table, "consumer", "metadata")


def test_hints_that_are_wrong_are_found_and_repaired_when_asked(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    table.append(ROWS)
    paths = table.store.paths
    table.store.io.overwrite(paths.latest_hint, b"1")
    table.store.io.overwrite(paths.earliest_hint, b"junk")
    report = table.verify(depth="metadata")
    assert {(f.check, f.path, f.expected, f.found) for f in report.warnings} == {
        ("hint", paths.latest_hint, "2", "1"),
        ("hint", paths.earliest_hint, "1", "none that can be read"),
    }
    assert table.store.io.read(paths.latest_hint) == b"1"
    repaired = table.verify(depth="metadata", repair=True)
    assert (repaired.findings, set(repaired.repaired)) == (report.findings, {paths.latest_hint, paths.earliest_hint})
    assert (table.store.io.read(paths.latest_hint), table.store.io.read(paths.earliest_hint)) == (b"2", b"1")
    assert found(table) == {}
    table.store.io.delete(paths.latest_hint)
    assert found(table) == {}, "some engines write none"


def test_a_table_that_lost_all_its_snapshots_is_found(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    table.store.io.delete(table.store.paths.snapshot(1))
    assert only(table, "hint", "metadata").path == table.store.paths.latest_hint


def test_repair_changes_nothing_but_hints(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    [entry] = live_entries(table)
    table.store.io.delete(path_of(table, entry))
    files = warehouse.files(table)
    assert not table.verify(depth="rows", repair=True).is_healthy
    assert warehouse.files(table) == files


# --- how live files lie -----------------------------------------------------------------------------------------------


def test_files_of_one_level_that_overlap_are_found(warehouse: Warehouse) -> None:
    table = a_table(warehouse, **{"write-only": "true"})
    table.append(ROWS)
    finding = only(forge(table, with_files(level=3)), "sorted run", "metadata")
    assert finding.expected == "disjoint files on level 3"
    assert finding.bucket == 0


@pytest.mark.parametrize(
    ("check", "entries"),
    [
        ("file name", lambda entries: [*entries, *with_files(level=4)(entries)]),
        ("bucket number", lambda entries: [replace(entry, bucket=1) for entry in entries]),
    ],
)
def test_a_file_that_is_live_twice_or_in_no_bucket_is_found(warehouse: Warehouse, check: str, entries: Any) -> None:
    assert only(forge(a_table(warehouse), entries), check, "metadata").check == check


def test_a_key_range_that_ends_before_it_begins_is_found(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    [entry] = live_entries(table)
    turned = with_files(min_key=entry.file.max_key, max_key=entry.file.min_key)
    only(forge(table, turned), "key range", "metadata")


def test_a_level_of_an_append_table_is_found(warehouse: Warehouse) -> None:
    table = warehouse.table()
    table.append(ROWS)
    only(forge(table, with_files(level=2)), "level", "metadata")


def test_two_numbers_of_buckets_in_a_partition_are_found(warehouse: Warehouse) -> None:
    table = a_table(warehouse, **{"write-only": "true"})
    table.append(ROWS)

    def mixed(entries: Entries) -> Entries:
        return [entries[0], replace(entries[1], total_buckets=2)]

    finding = found(forge(table, mixed), "metadata")["bucket count"]
    assert finding.found == "1 and 2"


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_a_data_file_that_is_missing_or_cut_is_found(warehouse: Warehouse, file_format: str) -> None:
    table = warehouse.table(partition_keys=["dt"], options={"file.format": file_format})
    table.append(keyed([(1, "a", 1), (2, "b", 2)]))
    first, second = sorted(live_entries(table), key=lambda entry: entry.partition)
    table.store.io.delete(path_of(table, first))
    finding = only(table, "data file", "files")
    assert (finding.path, finding.partition, finding.bucket) == (path_of(table, first), "dt=a", 0)
    assert finding.expected == f"a file of {first.file.file_size} bytes with 1 row"
    path = path_of(table, second)
    table.store.io.overwrite(path, table.store.io.read(path)[:-3])
    report = replace(table).verify()
    assert [(f.partition, f.check) for f in report.errors] == [("dt=a", "data file"), ("dt=b", "data file")]
    size = second.file.file_size
    assert report.errors[1].found == f"expected {size} bytes, found {size - 3}"
    assert found(table, partitions=[{"dt": "b"}])["data file"].path == path


def test_a_footer_that_cannot_be_read_is_found(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    damage(table, path_of(table, live_entries(table)[0]), at=-1)
    only(table, "data file", "files")


def test_a_file_with_another_number_of_rows_is_found(warehouse: Warehouse) -> None:
    table = forge(a_table(warehouse), with_files(row_count=11))
    finding = only(table, "data file", "files")
    assert finding.found == "expected 11 rows, found 10"


def test_an_index_beside_a_file_that_is_missing_or_damaged_is_a_warning(warehouse: Warehouse) -> None:
    options = {"file-index.bitmap.columns": "dt", "file-index.in-manifest-threshold": "1 b"}
    table = warehouse.table(options=options)
    table.append(ROWS)
    [entry] = live_entries(table)
    [extra] = entry.file.extra_files
    path = table.store.paths.file_in_bucket("", 0, extra)
    damage(table, path, at=0)
    assert found(table, "files")["file index"].path == path
    table.store.io.delete(path)
    assert only(table, "file index", "files", Severity.WARNING).path == path


def marked_table(warehouse: Warehouse) -> tuple[Table, IndexManifestEntry]:
    table = warehouse.table(options={"deletion-vectors.enabled": "true"})
    table.append(ROWS)
    table.delete("id < 3")
    [entry] = table.facts.manifests.index_entries(table.snapshots()[-1])
    return table, entry


def test_a_deletion_vector_that_is_damaged_or_missing_is_found(warehouse: Warehouse) -> None:
    table, entry = marked_table(warehouse)
    path = table.store.paths.index(entry.index_file.file_name)
    damage(table, path, at=-1)
    assert only(table, "deletion vector", "files").path == path
    table.store.io.delete(path)
    assert {f.check: f.path for f in replace(table).verify().errors} == {"deletion vector": path, "index file": path}


def test_a_deletion_vector_beyond_the_rows_of_its_file_is_found(warehouse: Warehouse) -> None:
    table, entry = marked_table(warehouse)
    [vector] = entry.index_file.deletion_vector_ranges or ()
    beyond = write_deletion_vectors(
        table.store, {vector.data_file: DeletionVector.of([3, 500])}, table.store.paths.index
    )
    table = forge(table, index=lambda entries: [replace(entries[0], index_file=beyond)])
    finding = only(table, "deletion vector", "files")
    assert finding.expected == f"a deletion vector of '{vector.data_file}' within 10 rows"


def test_deletion_vectors_of_no_live_file_and_of_too_many_rows_are_found(warehouse: Warehouse) -> None:
    table, _ = marked_table(warehouse)
    gone = write_deletion_vectors(table.store, {"data-gone-0.parquet": DeletionVector.of([1])}, table.store.paths.index)
    table = forge(table, index=lambda entries: [*entries, replace(entries[0], index_file=gone)])
    finding = only(table, "deletion vector", "metadata", Severity.WARNING)
    assert finding.found == "a vector of 'data-gone-0.parquet', which is not live"
    [_, other] = table.facts.manifests.index_entries(table.snapshots()[-1])
    [range_] = (
        next(iter(table.facts.manifests.index_entries(table.snapshots()[-1]))).index_file.deletion_vector_ranges or ()
    )
    many = write_deletion_vectors(
        table.store, {range_.data_file: DeletionVector.of(range(11))}, table.store.paths.index
    )
    table = forge(table, index=lambda entries: [replace(other, index_file=many)])
    assert only(table, "deletion vector", "metadata").found == "11 rows"


# --- rows -------------------------------------------------------------------------------------------------------------


def file_of(table: Table) -> DataFileMeta:
    [entry] = live_entries(table)
    return entry.file


def other_statistics(table: Table, rows: pa.Table) -> DataFileMeta:
    """What would be recorded of other rows."""
    other = memory_warehouse().table(
        primary_keys=table.schema.primary_keys, options={"bucket": "1"}, partition_keys=table.schema.partition_keys
    )
    other.append(rows)
    return file_of(other)


@pytest.mark.parametrize(
    ("rows", "expected", "seen"),
    [
        ([(number, "a", number + 1) for number in range(10)], "values from 1 on", "0"),
        ([(number, "a", number - 1) for number in range(10)], "values up to 8", "9"),
        ([(number, "a", number or None) for number in range(10)], "1 null", "0 nulls"),
    ],
)
def test_statistics_that_deny_a_value_are_found(
    warehouse: Warehouse, rows: list[tuple[int, str, int | None]], expected: str, seen: str
) -> None:
    table = a_table(warehouse)
    stats = other_statistics(table, keyed(rows)).value_stats
    findings = replace(forge(table, with_files(value_stats=stats))).verify(depth="rows").findings
    assert (expected, seen) in [(finding.expected, finding.found) for finding in findings]
    assert {finding.check for finding in findings} == {"statistics of column 'v'"}
    assert {finding.severity for finding in findings} == {Severity.ERROR}


def test_keys_outside_the_range_that_is_recorded_are_found(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    narrow = other_statistics(table, keyed([(2, "a", 2), (8, "a", 8)]))
    table = forge(table, with_files(min_key=narrow.min_key, max_key=narrow.max_key))
    finding = only(table, "key range")
    assert (finding.expected, finding.found) == ("keys from (2) to (8)", "(0) to (9)")


@pytest.mark.parametrize(
    ("check", "change"),
    [
        ("sequence numbers", {"min_sequence_number": 1}),
        ("sequence numbers", {"max_sequence_number": 8}),
        ("delete row count", {"delete_row_count": 2}),
    ],
)
def test_numbers_that_rows_deny_are_found(warehouse: Warehouse, check: str, change: dict[str, int]) -> None:
    only(forge(a_table(warehouse), with_files(**change)), check)


def test_keys_in_another_bucket_than_their_hash_says_are_found(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    [entry] = live_entries(table)
    there = table.store.paths.data_file("", 1, entry.file)
    table.store.io.create(there, table.store.io.read(path_of(table, entry)))
    table = forge(table, lambda entries: [replace(each, bucket=1, total_buckets=3) for each in entries])
    finding = only(table, "bucket of keys")
    assert (finding.bucket, finding.path) == (1, there)
    assert finding.expected == "keys whose hash is that of the bucket, of 3"


def test_rows_of_another_partition_are_found(warehouse: Warehouse) -> None:
    table = warehouse.table(partition_keys=["dt"])
    table.append(keyed([(1, "a", 1), (2, "a", 2)]))
    table.append(keyed([(3, "b", 3)]))

    def swapped(entries: Entries) -> Entries:
        first, second = entries
        path = table.store.paths.data_file("dt=b", 0, first.file)
        if table.store.io.status(path) is None:
            table.store.io.create(path, table.store.io.read(path_of(table, first)))
        return [replace(first, partition=second.partition)]

    finding = only(forge(table, swapped), "partition")
    assert (finding.partition, finding.found) == ("dt=b", "2 rows of others")


def test_rows_without_order_are_found(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    [entry] = live_entries(table)
    backwards = _rewritten(table, entry, lambda rows: rows.take(list(reversed(range(rows.num_rows)))))
    finding = only(forge(table, lambda _entries: [backwards]), "order")
    assert finding.found == "a key that does not ascend near row 1"
    twice = _rewritten(table, entry, lambda rows: rows.take([0, 1, 1, *range(3, rows.num_rows)]))
    assert found(forge(table, lambda _entries: [twice]))["order"].found == "a key that does not ascend near row 2"


def _rewritten(table: Table, entry: ManifestEntry, change: Any) -> ManifestEntry:
    """A file beside another with its rows in another form."""
    io = table.store.io
    rows = pq.read_table(pa.BufferReader(io.read(path_of(table, entry))))
    sink = pa.BufferOutputStream()
    pq.write_table(change(rows), sink, compression="zstd")
    data = sink.getvalue().to_pybytes()
    name = data_file_name("data-", table.store.runtime.ids.uuid(), 0, "parquet")
    file = replace(entry.file, file_name=name, file_size=len(data))
    copy = replace(entry, file=file)
    io.create(path_of(table, copy), data)
    return copy


@pytest.mark.parametrize("options", [{"deletion-vectors.enabled": "true"}, {"merge-engine": "first-row"}])
def test_a_key_in_two_files_is_found_where_rows_are_read_as_they_are_stored(
    warehouse: Warehouse, options: dict[str, str]
) -> None:
    table = a_table(warehouse, **options)
    table.compact(full=True)
    [entry] = live_entries(table)
    assert rows_of(table) == [(number, "a", number) for number in range(10)]
    copy = _rewritten(table, entry, lambda rows: rows)
    lower = replace(copy, file=replace(copy.file, level=entry.file.level - 1))
    table = forge(table, lambda entries: [*entries, lower])
    finding = only(table, "one row per key")
    assert finding.found.startswith("20 rows of 10 keys in ")


def test_a_key_on_two_levels_of_a_table_that_merges_when_read_is_sound(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    table.compact(full=True)
    table.append(ROWS)
    assert found(table) == {}


def test_a_hash_index_that_lacks_keys_is_found(warehouse: Warehouse) -> None:
    table = a_table(warehouse, bucket="-1")
    assert found(table) == {}
    few = write_hashes(table.store, np.array([1, 2, 3], np.int32), table.store.paths.index)
    lacking = forge(table, index=lambda entries: [replace(entry, index_file=few) for entry in entries])
    assert only(lacking, "hash index").found == "10 rows without"
    without = forge(table, index=lambda _entries: [])
    assert only(without, "hash index", "metadata").found == "none"


def test_a_damaged_hash_index_is_found(warehouse: Warehouse) -> None:
    table = a_table(warehouse, bucket="-1")
    [entry] = table.facts.manifests.index_entries(table.snapshots()[-1])
    damage(table, table.store.paths.index(entry.index_file.file_name), at=0)
    only(table, "hash index", "files")


@pytest.mark.parametrize("index_type", ["bloom-filter", "bitmap", "bsi", "range-bitmap"])
def test_an_index_that_denies_a_value_of_its_file_is_found(warehouse: Warehouse, index_type: str) -> None:
    options = {f"file-index.{index_type}.columns": "v", "file-index.in-manifest-threshold": "1 mb"}
    table = warehouse.table(options=options)
    table.append(ROWS)
    assert found(table) == {}
    other = memory_warehouse().table(options=options)
    other.append(keyed([(number, "a", number + 1_000) for number in range(10)]))
    table = forge(table, with_files(embedded_file_index=file_of(other).embedded_file_index))
    finding = only(table, "file index")
    assert finding.severity is Severity.ERROR
    assert finding.expected == "an index of 'v' that knows each value"


def test_an_index_that_denies_null_is_found(warehouse: Warehouse) -> None:
    options = {"file-index.bitmap.columns": "v", "file-index.in-manifest-threshold": "1 mb"}
    table = warehouse.table(options=options)
    table.append(keyed([(1, "a", None), (2, "a", 1)]))
    other = memory_warehouse().table(options=options)
    other.append(keyed([(1, "a", 1), (2, "a", 1)]))
    table = forge(table, with_files(embedded_file_index=file_of(other).embedded_file_index))
    assert only(table, "file index").found == "1 value that it denies"


# --- others go on -----------------------------------------------------------------------------------------------------


def test_what_is_expired_while_it_is_looked_at_is_no_finding(warehouse: Warehouse, monkeypatch: Any) -> None:
    table = a_table(warehouse, **{"write-only": "true"})
    for _ in range(3):
        table.append(ROWS)
    table.compact(full=True)
    other = warehouse.reopened(table)
    expired: list[int] = []
    read = MemoryFileIO.read

    def then_expired(io: MemoryFileIO, path: str) -> bytes:
        data = read(io, path)
        if path == table.store.paths.snapshot(2) and not expired:
            expired.append(1)
            report = other.expire_snapshots(retain_min=1, retain_max=1, retain_floor_ms=0, older_than_ms=1 << 60)
            expired.extend(report.snapshot_ids)
        return data

    monkeypatch.setattr(MemoryFileIO, "read", then_expired)
    assert replace(table).verify(depth="rows").findings == ()
    assert expired[1:] == [1, 2, 3, 4]
    assert table.snapshots()[-1].commit_kind is CommitKind.COMPACT


def test_findings_come_worst_first_and_read_as_lines() -> None:
    warning = Finding(Severity.WARNING, "hint", "/t/LATEST", "2", "1")
    error = Finding(Severity.ERROR, "data file", "/t/f", "9 bytes", "8 bytes", "dt=a", 3)
    report = VerifyReport(table="t", depth=Depth.FILES, findings=(error, warning), repaired=("/t/LATEST",))
    assert (report.errors, report.warnings, report.is_healthy) == ((error,), (warning,), False)
    assert str(report).splitlines()[1:] == [
        "error: data file of /t/f (dt=a, bucket 3): expected 9 bytes, found 8 bytes",
        "warning: hint of /t/LATEST: expected 2, found 1",
        "repaired: /t/LATEST",
    ]


# --- a key in several buckets -----------------------------------------------------------------------------------------


def committed_unchecked(table: Table, *batches: pa.Table) -> None:
    """Batches of writers that do not see each other, as writers of other engines commit them."""
    messages = [table.new_write().write(batch) for batch in batches]
    for one in messages:
        unchecked = [replace(m, hash_index_base=None, key_places_base=None, numbers_base=None) for m in one]
        table.new_commit().commit(unchecked)


def doubled(table: Table) -> list[Finding]:
    return [finding for finding in table.verify(depth="rows").findings if finding.check == "one bucket per key"]


def test_a_key_in_two_buckets_is_found_with_its_buckets(warehouse: Warehouse) -> None:
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "1"}
    table = warehouse.table(primary_keys=["id", "dt"], partition_keys=["dt"], options=options)
    committed_unchecked(table, keyed([(1, "a", 1), (2, "a", 1), (2, "b", 1)]), keyed([(2, "a", 2)]))
    assert rows_of(table).count((2, "a", 2)) == 1
    assert len(rows_of(table)) == 4  # the key is read twice
    [finding] = doubled(table)
    assert finding.severity is Severity.ERROR
    assert (finding.expected, finding.partition) == ("the key (id=2, dt='a') in one bucket", "dt=a")
    assert finding.found == "it in bucket 0 of dt=a and bucket 1 of dt=a"


def test_a_key_in_two_partitions_is_found(warehouse: Warehouse, tmp_path: Path) -> None:
    table = moving(with_runtime(warehouse, Runtime(cache_directory=str(tmp_path))))
    committed_unchecked(table, keyed([(1, "a", 1), (2, "a", 1)]), keyed([(2, "b", 2)]))
    [finding] = doubled(table)
    assert (finding.severity, finding.partition) == (Severity.ERROR, "")
    assert finding.found == "it in bucket 0 of dt=a and bucket 0 of dt=b"


def test_a_key_that_moved_is_in_one_partition(warehouse: Warehouse, tmp_path: Path) -> None:
    table = moving(with_runtime(warehouse, Runtime(cache_directory=str(tmp_path))))
    for partition in "abc":
        table.append(keyed([(1, partition, 1), (2, "a", 1)]))
    assert table.verify(depth="rows").findings == ()


def test_a_key_that_has_left_the_index_by_its_age_is_a_warning(warehouse: Warehouse, tmp_path: Path) -> None:
    options = {"cross-partition-upsert.index-ttl": "1 d"}
    runtime = Runtime(cache_directory=str(tmp_path))
    table = with_runtime(warehouse, runtime).table(
        primary_keys=["id"], partition_keys=["dt"], options={"bucket": "-1", **options}
    )
    committed_unchecked(table, keyed([(1, "a", 1)]), keyed([(1, "b", 2)]))
    assert [finding.severity for finding in doubled(table)] == [Severity.WARNING]


def test_many_keys_in_two_buckets_are_counted(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_places, "MAX_KEYS", 2)
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "5"}
    table = warehouse.table(primary_keys=["id"], options=options)
    committed_unchecked(table, keyed([(n, "a", 1) for n in range(10)]), keyed([(n, "a", 1) for n in range(9, -1, -1)]))
    findings = doubled(table)
    assert len(findings) == 2
    assert all(finding.found.endswith("; 8 more keys are in several buckets") for finding in findings)


def test_a_missing_file_is_a_finding_also_where_keys_have_moved(warehouse: Warehouse, tmp_path: Path) -> None:
    table = moving(with_runtime(warehouse, Runtime(cache_directory=str(tmp_path))))
    for partition in "ab":
        table.append(keyed([(1, partition, 1)]))
    first = next(entry for entry in live_entries(table) if entry.file.delete_row_count == 0)
    table.store.io.delete(path_of(table, first))
    assert only(table, "data file", "files").path == path_of(table, first)
    assert list(found(table)) == ["data file"]
