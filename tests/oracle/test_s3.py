"""One warehouse in S3, used by the real Paimon and by this library."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pyarrow as pa
import pytest

from table_format import Catalog, Schema, Table, load_catalog
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer

COLUMNS = [["k", "BIGINT NOT NULL"], ["pt", "STRING NOT NULL"], ["v", "INT"]]
SCHEMA = pa.schema(
    [pa.field("k", pa.int64(), nullable=False), pa.field("pt", pa.string(), nullable=False), ("v", pa.int32())]
)
ODD_VALUES = ("plain", "a/b", "x=%y", "a+b", " ", "a b", "?#&;", "%2F", "'\"", "中", "é")
"""Partition values that names of objects and URLs would write in other ways."""
KEYED: dict[str, dict[str, str]] = {
    "parquet": {"file.format": "parquet"},
    "orc": {"file.format": "orc"},
    "avro": {"file.format": "avro"},
    "marked": {"deletion-vectors.enabled": "true"},
    "changelog": {"changelog-producer": "lookup"},
    "indexed": {"file-index.bloom-filter.columns": "v", "file-index.in-manifest-threshold": "1 b"},
}
APPENDED: dict[str, dict[str, str]] = {
    "parquet": {"file.format": "parquet"},
    "orc": {"file.format": "orc"},
    "avro": {"file.format": "avro"},
    "marked": {"deletion-vectors.enabled": "true"},
}


@pytest.fixture
def lake(paimon_in_s3: PaimonPeer, place_in_s3: str) -> Catalog:
    """Our catalog of the warehouse."""
    return load_catalog({"warehouse": place_in_s3, **paimon_in_s3.catalog_options})


def table_of(lake: Catalog, name: str = "db.t") -> Table:
    found = lake.load_table(name)
    assert isinstance(found, Table)
    return found


def arrow(rows: list[tuple[int, str, int]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def ours(lake: Catalog, name: str = "db.t") -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table_of(lake, name).scan().to_arrow().to_pylist())


def theirs(paimon: PaimonPeer, place: str, name: str = "db.t", **options: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, paimon.read(place, name, **options)["rows"]))


def make(
    lake: Catalog, paimon: PaimonPeer, place: str, *, keys: list[str], options: dict[str, str], by_us: bool
) -> None:
    if by_us:
        lake.create_database("db")
        lake.create_table("db.t", Schema.from_arrow(SCHEMA, keys, ["pt"], options))
    else:
        # This creates the database as well.
        paimon.create_table(
            place, "db.t", columns=COLUMNS, primary_keys=keys, partition_keys=["pt"], options=options
        )


def write(lake: Catalog, paimon: PaimonPeer, place: str, rows: list[tuple[int, str, int]], *, by_us: bool) -> None:
    if by_us:
        table_of(lake).append(arrow(rows))
    else:
        paimon.write(place, "db.t", [["+I", list(row)] for row in rows])


@pytest.mark.parametrize("by_us", [True, False], ids=["ours", "theirs"])
@pytest.mark.parametrize("kind", KEYED)
def test_both_go_on_with_a_primary_key_table(
    lake: Catalog, paimon_in_s3: PaimonPeer, place_in_s3: str, kind: str, by_us: bool
) -> None:
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "3", **KEYED[kind]}
    make(lake, paimon_in_s3, place_in_s3, keys=["k", "pt"], options=options, by_us=by_us)
    expected = {}
    for step in range(4):
        rows = [(key, pt, step * 100 + key) for key, pt in enumerate(ODD_VALUES[step:])]
        expected.update(((k, pt), v) for k, pt, v in rows)
        write(lake, paimon_in_s3, place_in_s3, rows, by_us=(step % 2 == 0) == by_us)
    if by_us:
        table_of(lake).compact(full=True)
    else:
        paimon_in_s3.compact(place_in_s3, "db.t")
    wanted = sorted((*key, v) for key, v in expected.items())
    assert ours(lake) == theirs(paimon_in_s3, place_in_s3) == wanted
    assert_same_at_every_snapshot(paimon_in_s3, place_in_s3, "db.t")
    # Both have written all partitions: a value has one directory.
    root = f"{table_of(lake).paths.root}"
    assert len([child for child in lake.io.list(root) if child.name.startswith("pt=")]) == len(ODD_VALUES)


@pytest.mark.parametrize("by_us", [True, False], ids=["ours", "theirs"])
@pytest.mark.parametrize("kind", APPENDED)
def test_both_go_on_with_an_append_table(
    lake: Catalog, paimon_in_s3: PaimonPeer, place_in_s3: str, kind: str, by_us: bool
) -> None:
    make(lake, paimon_in_s3, place_in_s3, keys=[], options=APPENDED[kind], by_us=by_us)
    expected = []
    for step in range(4):
        rows = [(key, pt, step) for key, pt in zip(range(20), cycle(ODD_VALUES), strict=False)]
        expected += rows
        write(lake, paimon_in_s3, place_in_s3, rows, by_us=(step % 2 == 0) == by_us)
    table_of(lake).delete("k = 7")
    expected = [row for row in expected if row[0] != 7]
    assert ours(lake) == theirs(paimon_in_s3, place_in_s3) == sorted(expected)
    table_of(lake).compact(full=True)
    write(lake, paimon_in_s3, place_in_s3, [(99, "a/b", 9)], by_us=False)
    assert ours(lake) == theirs(paimon_in_s3, place_in_s3) == sorted([*expected, (99, "a/b", 9)])
    assert_same_at_every_snapshot(paimon_in_s3, place_in_s3, "db.t")


def test_tags_branches_and_consumers_are_those_of_both(
    lake: Catalog, paimon_in_s3: PaimonPeer, place_in_s3: str
) -> None:
    paimon, place = paimon_in_s3, place_in_s3
    make(lake, paimon, place, keys=["k", "pt"], options={"bucket": "1"}, by_us=True)
    write(lake, paimon, place, [(1, "a", 1)], by_us=True)
    table_of(lake).create_tag("ours")
    table_of(lake).create_branch("our_branch", tag="ours")
    write(lake, paimon, place, [(2, "a", 2)], by_us=False)
    paimon.history(place, "db.t", "create_tag", "theirs")
    paimon.history(place, "db.t", "branch_from_tag", "their_branch", "theirs")
    table_of(lake).reset_consumer("reader", 2)
    assert paimon.kept(place, "db.t") == {
        "tags": {"ours": 1, "theirs": 2},
        "branches": ["our_branch", "their_branch"],
        "consumers": {"reader": 2},
    }
    assert {name: tag.snapshot.id for name, tag in table_of(lake).tags().items()} == {"ours": 1, "theirs": 2}
    assert theirs(paimon, place, **{"scan.tag-name": "ours"}) == [(1, "a", 1)]
    table_of(lake, "db.t$branch_their_branch").append(arrow([(3, "b", 3)]))
    paimon.write(place, "db.t$branch_our_branch", [["+I", [4, "b", 4]]])
    for branch, rows in (
        ("their_branch", [(1, "a", 1), (2, "a", 2), (3, "b", 3)]),
        ("our_branch", [(1, "a", 1), (4, "b", 4)]),
    ):
        name = f"db.t$branch_{branch}"
        assert ours(lake, name) == theirs(paimon, place, name) == rows
    table_of(lake).drop_branch("their_branch")
    table_of(lake).delete_tag("theirs")
    assert paimon.kept(place, "db.t") == {"tags": {"ours": 1}, "branches": ["our_branch"], "consumers": {"reader": 2}}


def test_expiry_by_either_leaves_what_the_other_reads(
    lake: Catalog, paimon_in_s3: PaimonPeer, place_in_s3: str
) -> None:
    paimon, place = paimon_in_s3, place_in_s3
    make(lake, paimon, place, keys=["k", "pt"], options={"bucket": "1"}, by_us=False)
    for step in range(6):
        write(lake, paimon, place, [(step, "a", step)], by_us=step % 2 == 0)
    paimon.history(place, "db.t", "expire", 4)
    assert [snapshot.id for snapshot in table_of(lake).snapshots()] == paimon.snapshot_ids(place, "db.t")
    assert_same_at_every_snapshot(paimon, place, "db.t")
    table_of(lake).expire_snapshots(retain_max=1, retain_min=1, retain_floor_ms=0)
    assert len(paimon.snapshot_ids(place, "db.t")) == 1
    write(lake, paimon, place, [(9, "a", 9)], by_us=False)
    assert ours(lake) == theirs(paimon, place) == [*((k, "a", k) for k in range(6)), (9, "a", 9)]


@pytest.mark.parametrize("by_us", [True, False], ids=["ours", "theirs"])
def test_an_empty_database_exists_for_both_until_either_drops_it(
    lake: Catalog, paimon_in_s3: PaimonPeer, place_in_s3: str, by_us: bool
) -> None:
    paimon, place = paimon_in_s3, place_in_s3
    if by_us:
        lake.create_database("db")
    else:
        paimon.catalog(place, "create_database", "db")
    assert list(lake.list_databases()) == paimon.catalog(place, "databases") == ["db"]
    lake.create_table("db.t", Schema.from_arrow(SCHEMA, ["k", "pt"], ["pt"], {"bucket": "1"}))
    write(lake, paimon, place, [(1, "a", 1)], by_us=not by_us)
    if by_us:
        paimon.catalog(place, "drop_table", "db.t")
    else:
        lake.drop_table("db.t")
    assert list(lake.list_tables("db")) == paimon.catalog(place, "tables", "db") == []
    assert list(lake.list_databases()) == paimon.catalog(place, "databases") == ["db"]
    if by_us:
        paimon.catalog(place, "drop_database", "db")
    else:
        lake.drop_database("db")
    assert list(lake.list_databases()) == paimon.catalog(place, "databases") == []


@pytest.mark.parametrize("dropped_by_us", [True, False])
def test_a_dropped_table_can_be_created_again_by_the_other(
    lake: Catalog, paimon_in_s3: PaimonPeer, place_in_s3: str, dropped_by_us: bool
) -> None:
    paimon, place = paimon_in_s3, place_in_s3
    make(lake, paimon, place, keys=["k", "pt"], options={"bucket": "1"}, by_us=True)
    write(lake, paimon, place, [(1, "a", 1)], by_us=True)
    write(lake, paimon, place, [(2, "b", 2)], by_us=False)
    if dropped_by_us:
        lake.drop_table("db.t")
        paimon.create_table(
            place, "db.t", columns=COLUMNS, primary_keys=["k", "pt"], partition_keys=["pt"], options={"bucket": "1"}
        )
    else:
        paimon.catalog(place, "drop_table", "db.t")
        lake.create_table("db.t", Schema.from_arrow(SCHEMA, ["k", "pt"], ["pt"], {"bucket": "1"}))
    assert ours(lake) == theirs(paimon, place) == []
    write(lake, paimon, place, [(3, "a", 3)], by_us=dropped_by_us)
    assert ours(lake) == theirs(paimon, place) == [(3, "a", 3)]


def test_we_read_a_table_that_paimon_has_renamed(lake: Catalog, paimon_in_s3: PaimonPeer, place_in_s3: str) -> None:
    paimon, place = paimon_in_s3, place_in_s3
    make(lake, paimon, place, keys=["k", "pt"], options={"bucket": "1"}, by_us=True)
    write(lake, paimon, place, [(1, "a/b", 1)], by_us=True)
    paimon.catalog(place, "rename_table", "db.t", "db.renamed")
    assert list(lake.list_tables("db")) == paimon.catalog(place, "tables", "db") == ["renamed"]
    table_of(lake, "db.renamed").append(arrow([(2, "c", 2)]))
    assert ours(lake, "db.renamed") == theirs(paimon, place, "db.renamed") == [(1, "a/b", 1), (2, "c", 2)]
