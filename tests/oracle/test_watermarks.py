"""Watermarks of commits: both writers keep the highest, and both readers travel to the same snapshot by it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from table_format import Schema, load_catalog
from table_format.table.system.table import SystemTable
from tests.oracle.peer import PaimonPeer
from tests.support.json_rows import json_rows, sorted_rows

ROWS = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.string())])
FIRST, LATE, NEXT = 1_666_755_855_600, 1_666_755_000_000, 1_666_756_000_000


def test_the_watermark_of_a_table_never_falls_when_both_engines_write(paimon: PaimonPeer, tmp_path: Path) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "20"}
    table = catalog.create_table("db.t", Schema.from_arrow(ROWS, ["k"], options=options))
    for number, given in enumerate([None, FIRST, LATE, None, NEXT, LATE, FIRST, None]):
        if number % 4 > 1:
            paimon.write(tmp_path, "db.t", [["+I", [number, "they"]]], watermark=given)
            continue
        write = table.overwrite if number == 5 else table.append
        write(pa.table({"k": [number], "v": ["we"]}, schema=ROWS), watermark=given)
    table.compact(full=True)
    marks = [snapshot.watermark for snapshot in table.snapshots()]
    assert marks == [None, FIRST, FIRST, FIRST, NEXT, NEXT, NEXT, NEXT, NEXT]
    shown = paimon.system_table(tmp_path, "db.t$snapshots")
    theirs = [row[shown["columns"].index("watermark")] for row in shown["rows"]]
    ours = catalog.load_table("db.t$snapshots")
    assert isinstance(ours, SystemTable)
    assert theirs == ours.scan().to_arrow()["watermark"].to_pylist() == marks
    for mark in (LATE, FIRST, FIRST + 1, NEXT):
        travel = {"scan.watermark": str(mark)}
        here = json_rows(table.scan(options=travel).to_arrow(), table.schema.fields)
        assert here == sorted_rows(paimon.read(tmp_path, "db.t", **travel)["rows"]), mark
