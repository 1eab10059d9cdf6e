"""Data files outside the directory of their table (``data-file.external-paths``): written, read, compacted, deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from table_format import Table
from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.model.commit import CommitMessage, Committable
from table_format.model.data_file import EMPTY_ROW
from table_format.model.schema_change import RemoveOption, SetOption
from tests.support.deletion_marks import live_data_files
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of

ONE, TWO = "/elsewhere/one", "/elsewhere/two"
ROUND_ROBIN = {
    "data-file.external-paths": f"file:{ONE}, file://{TWO}",
    "data-file.external-paths.strategy": "round-robin",
}
FUTURE = 1 << 60


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def files_in(warehouse: Warehouse, *directories: str) -> list[str]:
    found: list[str] = []
    for directory in directories:
        for child in warehouse.io.list(directory):
            path = f"{directory}/{child.name}"
            found += files_in(warehouse, path) if child.is_directory else [path]
    return sorted(found)


def locations(table: Table) -> list[str | None]:
    return [file.external_path for file in live_data_files(table)]


def filled(warehouse: Warehouse, commits: int = 4, *, keys: Sequence[str] = ("id", "dt"), **options: str) -> Table:
    table = warehouse.table(primary_keys=keys, partition_keys=["dt"], options={**ROUND_ROBIN, **options})
    for value in range(commits):
        table.append(keyed([(1, "a", value), (2, "b", value)]))
    return table


def test_new_files_of_one_writer_go_to_one_external_path_after_the_other(warehouse: Warehouse) -> None:
    options = {**ROUND_ROBIN, "target-file-size": "1 b"}
    table = warehouse.table(options=options)
    table.append(keyed([(i, "a", i) for i in range(4000)]))
    places = [str(location).split("/")[2] for location in locations(table)]
    assert places in (["one", "two"] * 2, ["two", "one"] * 2)
    assert all(str(location).startswith("file:/elsewhere/") for location in locations(table))
    assert not any("bucket-" in name for name in warehouse.files(table))
    assert len(rows_of(table)) == 4000


def test_of_specific_paths_only_those_of_the_scheme_are_used(warehouse: Warehouse) -> None:
    options = {
        "data-file.external-paths": f"s3://bucket/x,file:{ONE}",
        "data-file.external-paths.strategy": "specific-fs",
        "data-file.external-paths.specific-fs": "FILE",
    }
    table = warehouse.table(options=options)
    table.append(keyed([(1, "a", 1)]))
    assert [str(location).startswith(f"file:{ONE}/bucket-0/data-") for location in locations(table)] == [True]


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"data-file.external-paths": "s3://bucket/x"}, UnsupportedFeature, "s3://bucket/x"),
        ({"data-file.external-paths": "/no/scheme"}, InvalidOption, "with their scheme"),
        ({"data-file.external-paths": "file:/warehouse/db.db/t/x"}, InvalidOption, "overlaps"),
        ({"data-file.external-paths": "file:/warehouse"}, InvalidOption, "overlaps"),
        ({"data-file.external-paths.strategy": "weighted"}, UnsupportedFeature, "weighted"),
        ({"data-file.external-paths.strategy": "none"}, InvalidOption, "would have no effect"),
        ({"data-file.external-paths.specific-fs": "file"}, InvalidOption, "would have no effect"),
        ({"data-file.external-paths.strategy": "specific-fs"}, InvalidOption, "name the scheme"),
    ],
)
def test_paths_that_nothing_could_use_are_refused(
    warehouse: Warehouse, changed: dict[str, str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        warehouse.table(options={**ROUND_ROBIN, **changed})
    assert not warehouse.catalog.table_exists("db.t")
    table = warehouse.table()
    with pytest.raises(error, match=message):
        warehouse.catalog.alter_table("db.t", [SetOption(k, v) for k, v in {**ROUND_ROBIN, **changed}.items()])
    assert warehouse.reopened(table).schema.options == {}


def test_compaction_reads_and_writes_external_paths(warehouse: Warehouse) -> None:
    table = filled(warehouse)
    table.compact(full=True)
    assert rows_of(table) == [(1, "a", 3), (2, "b", 3)]
    assert len(locations(table)) == 2
    assert all(str(location).startswith("file:/elsewhere/") for location in locations(table))


def test_paths_may_come_and_go_and_files_stay_where_they_are(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id", "dt"], partition_keys=["dt"])
    table.append(keyed([(1, "a", 0)]))
    warehouse.catalog.alter_table("db.t", [SetOption(k, v) for k, v in ROUND_ROBIN.items()])
    table = warehouse.reopened(table)
    table.append(keyed([(2, "a", 0)]))
    warehouse.catalog.alter_table("db.t", [RemoveOption(key) for key in ROUND_ROBIN])
    table = warehouse.reopened(table)
    table.append(keyed([(3, "a", 0)]))
    assert sorted(location is None for location in locations(table)) == [False, True, True]
    assert [row[0] for row in rows_of(table)] == [1, 2, 3]
    table.compact(full=True)
    assert [row[0] for row in rows_of(table)] == [1, 2, 3]
    table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=FUTURE, retain_floor_ms=0)
    assert files_in(warehouse, ONE, TWO) == []


def test_expiry_deletes_what_only_expired_snapshots_need(warehouse: Warehouse) -> None:
    table = filled(warehouse, **{"file-index.bloom-filter.columns": "v", "file-index.in-manifest-threshold": "1 b"})
    before = files_in(warehouse, ONE, TWO)
    table.compact(full=True)
    report = table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=FUTURE, retain_floor_ms=0)
    assert {*before} & {*report.deletions.data_files}
    left = files_in(warehouse, ONE, TWO)
    live = live_data_files(table)
    names = {name for file in live for name in (file.file_name, *file.extra_files)}
    assert {path.rpartition("/")[2] for path in left} == names
    assert len(names) == 2 * len(live)
    assert rows_of(table, filter="v = 3") == [(1, "a", 3), (2, "b", 3)]


def test_the_changelog_lies_outside_too_and_goes_with_its_snapshot(warehouse: Warehouse) -> None:
    table = filled(warehouse, **{"changelog-producer": "input"})
    assert len([path for path in files_in(warehouse, ONE, TWO) if "/changelog-" in path]) == 8
    table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=FUTURE, retain_floor_ms=0)
    assert len([path for path in files_in(warehouse, ONE, TWO) if "/changelog-" in path]) == 2


def test_a_file_that_lies_where_no_writer_puts_it_is_read_and_never_deleted(warehouse: Warehouse) -> None:
    table = warehouse.table()
    table.append(keyed([(1, "a", 1)]))
    facts = table.facts
    (file,) = live_data_files(table)
    own = table.store.paths.data_file("", 0, file)
    away = f"/elsewhere/photos/{file.file_name}"
    warehouse.io.create(away, warehouse.io.read(own))
    message = CommitMessage(
        partition=EMPTY_ROW,
        bucket=0,
        total_buckets=-1,
        compact_before=(file,),
        compact_after=(replace(file, external_path=f"file:{away}"),),
    )
    facts.committer("other").commit(Committable(identifier=7, messages=(message,)))
    warehouse.io.delete(own)
    assert rows_of(table) == [(1, "a", 1)]
    table.truncate()
    table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=FUTURE, retain_floor_ms=0)
    assert warehouse.io.status(away) is not None


def test_orphans_are_looked_for_below_external_paths(warehouse: Warehouse) -> None:
    table = filled(warehouse)
    io = warehouse.io
    orphans = [f"{ONE}/dt=a/bucket-0/data-orphan-0.parquet", f"{TWO}/dt=b/bucket-1/data-orphan-1.parquet"]
    strangers = [f"{ONE}/photo.jpg", f"{TWO}/albums/photo.jpg"]
    for path in (*orphans, *strangers):
        io.create(path, b"?")
    report = table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True)
    assert list(report.paths) == orphans
    assert all(io.status(path) for path in strangers)
    assert rows_of(table) == [(1, "a", 3), (2, "b", 3)]


def test_what_a_failed_write_left_outside_is_deleted(warehouse: Warehouse) -> None:
    table = filled(warehouse, 1)
    before = files_in(warehouse, ONE, TWO)
    messages = table.new_write("w").write(keyed([(3, "a", 1)]))
    assert len(files_in(warehouse, ONE, TWO)) == len(before) + 1
    table.facts.delete_message_files(messages)
    assert files_in(warehouse, ONE, TWO) == before


@pytest.mark.parametrize("cascade", [False, True])
def test_a_drop_deletes_the_table_s_own_files_outside_and_no_other(warehouse: Warehouse, cascade: bool) -> None:
    table = filled(warehouse)
    table.create_tag("t1")
    table.compact(full=True)
    warehouse.io.create(f"{ONE}/dt=a/bucket-0/data-of-another-table.parquet", b"?")
    assert len(files_in(warehouse, ONE, TWO)) > 8
    if cascade:
        warehouse.catalog.drop_database("db", cascade=True)
    else:
        warehouse.catalog.drop_table("db.t")
    assert files_in(warehouse, ONE, TWO) == [f"{ONE}/dt=a/bucket-0/data-of-another-table.parquet"]
