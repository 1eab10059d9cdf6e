"""Tables with deletion vectors that the real Paimon writes, read by both at every snapshot."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from table_format import Table, load_catalog
from table_format.table.system.read_optimized import ReadOptimizedTable
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer
from tests.support.json_rows import json_rows, rows_with_floats

COLUMNS = [["k", "INT NOT NULL"], ["p", "STRING NOT NULL"], ["v", "BIGINT"], ["s", "STRING"]]
KEYS = 400


def written_by_paimon(paimon: PaimonPeer, warehouse: Path, seed: int, **options: str) -> Table:
    """Upserts and deletes of random keys; in the end rows that are not compacted."""
    load_catalog({"warehouse": str(warehouse)}).create_database("db")
    given = {"bucket": "2", "deletion-vectors.enabled": "true", **{k.replace("_", "-"): v for k, v in options.items()}}
    paimon.create_table(
        warehouse, "db.t", columns=COLUMNS, primary_keys=["k", "p"], partition_keys=["p"], options=given
    )
    rng = random.Random(seed)

    def rows(count: int, step: int) -> list[list[Any]]:
        keys = rng.sample(range(KEYS), count)
        kinds = rng.choices(["+I", "-D"], [5, 1], k=count)
        return [
            [kind, [k, "ab"[k % 2], step * 1000 + k, f"{step}-{k:030}"]] for k, kind in zip(keys, kinds, strict=True)
        ]

    for step, count in enumerate([KEYS, 60, 5, 120, 30, 1]):
        paimon.write(warehouse, "db.t", rows(count, step))
    paimon.write(warehouse, "db.t", rows(40, 9), **{"write-only": "true"})
    table = load_catalog({"warehouse": str(warehouse)}).load_table("db.t")
    assert isinstance(table, Table)
    return table


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("wide", [False, True])
def test_random_histories_read_equal(paimon: PaimonPeer, tmp_path: Path, file_format: str, wide: bool) -> None:
    if wide and paimon.version.startswith("0."):
        pytest.skip("64-bit vectors are newer")
    # Small row groups, so that filters leave some out in front of marked rows.
    options = {"file.format": file_format, "file.block-size": "2 kb"}
    if wide:
        options["deletion-vectors.bitmap64"] = "true"
    table = written_by_paimon(paimon, tmp_path, seed=7 + wide, **options)
    assert assert_same_at_every_snapshot(paimon, tmp_path, "db.t") >= 7
    plan = table.scan().plan()
    assert plan.deletion_files
    assert plan.counts.manifests_dropped + plan.counts.entries_dropped_by_level > 0
    everything = table.scan().to_arrow().to_pylist()
    for low in (0, 37, 150, 1050, 3001, 5000, 9000):
        found = table.scan(filter=f"v >= {low} AND v < {low + 90}").to_arrow().to_pylist()
        expected = [row for row in everything if low <= row["v"] < low + 90]
        assert sorted(found, key=repr) == sorted(expected, key=repr)
    view = ReadOptimizedTable(table)
    if not paimon.version.startswith("0."):
        theirs = paimon.system_table(tmp_path, "db.t$ro")["rows"]
        assert json_rows(view.scan().to_arrow(), view.fields) == rows_with_floats(theirs, view.fields)
    # What readers that merge see now, all readers see once it is compacted.
    merged = table.scan(options={"deletion-vectors.merge-on-read": "true"}).to_arrow()
    paimon.compact(tmp_path, "db.t")
    theirs = paimon.read(tmp_path, "db.t")["rows"]
    assert json_rows(merged, view.fields) == rows_with_floats(theirs, view.fields)
    assert json_rows(table.scan().to_arrow(), view.fields) == rows_with_floats(theirs, view.fields)
