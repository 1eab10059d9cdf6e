"""The real Paimon and this library write one table in S3 in turn, on a server written by others."""

from __future__ import annotations

from itertools import cycle

import pytest

from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.conftest import SharedLake
from tests.oracle.shared_tables import make, opened, read, write, write_in_turn

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


@pytest.mark.parametrize("by_us", [True, False], ids=["ours", "theirs"])
@pytest.mark.parametrize("kind", KEYED)
def test_both_go_on_with_a_primary_key_table(lake: SharedLake, kind: str, by_us: bool) -> None:
    write_in_turn(lake, KEYED[kind], ODD_VALUES if kind == "parquet" else ODD_VALUES[:3], by_us=by_us)


@pytest.mark.parametrize("by_us", [True, False], ids=["ours", "theirs"])
@pytest.mark.parametrize("kind", APPENDED)
def test_both_go_on_with_an_append_table(lake: SharedLake, kind: str, by_us: bool) -> None:
    values = ODD_VALUES if kind == "parquet" else ODD_VALUES[:3]
    make(lake, APPENDED[kind], by_us=by_us, keys=[])
    expected = []
    for step in range(4):
        rows = [(key, pt, step) for key, pt in zip(range(20), cycle(values), strict=False)]
        expected += rows
        write(lake, rows, by_us=(step % 2 == 0) == by_us)
    opened(lake).delete("k = 7")
    expected = [row for row in expected if row[0] != 7]
    assert read(lake) == sorted(expected)
    opened(lake).compact(full=True)
    write(lake, [(99, "a/b", 9)], by_us=False)
    assert read(lake) == sorted([*expected, (99, "a/b", 9)])
    assert_same_at_every_snapshot(lake.theirs, lake.uri, "db.t")


@pytest.mark.parametrize("value", ODD_VALUES)
def test_both_engines_write_a_partition_to_one_directory(lake: SharedLake, value: str) -> None:
    make(lake, {"bucket": "1"}, by_us=True)
    write(lake, [(1, value, 1)], by_us=True)
    write(lake, [(1, value, 2)], by_us=False)
    assert read(lake) == [(1, value, 2)]
    root = f"/{lake.uri.removeprefix('s3://')}/db.db/t"
    assert len([child for child in lake.ours.io.list(root) if child.name.startswith("pt=")]) == 1


def test_expiry_by_either_leaves_what_the_other_reads(lake: SharedLake) -> None:
    make(lake, {"bucket": "1"}, by_us=False)
    for step in range(6):
        write(lake, [(step, "a", step)], by_us=step % 2 == 0)
    lake.theirs.history(lake.uri, "db.t", "expire", 4)
    assert len(lake.theirs.snapshot_ids(lake.uri, "db.t")) == 4
    assert_same_at_every_snapshot(lake.theirs, lake.uri, "db.t")
    opened(lake).expire_snapshots(retain_max=1, retain_min=1, retain_floor_ms=0)
    assert len(lake.theirs.snapshot_ids(lake.uri, "db.t")) == 1
    write(lake, [(9, "a", 9)], by_us=False)
    assert read(lake) == [*((k, "a", k) for k in range(6)), (9, "a", 9)]
