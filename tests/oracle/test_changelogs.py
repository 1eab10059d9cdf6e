"""Changelogs of one table that we and the real Paimon write in turn; both stream the same changes and read the same."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from table_format import Table, load_catalog
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer
from tests.oracle.test_handover import as_table, changes, open_table
from tests.oracle.test_incremental import expected_plans, streamed
from tests.support.matrix import tries

TABLES = {
    "input": {"changelog-producer": "input"},
    "input avro": {"changelog-producer": "input", "changelog-file.format": "avro"},
    "full": {"changelog-producer": "full-compaction"},
    "full each commit": {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"},
    "full deduplicated": {
        "changelog-producer": "full-compaction",
        "full-compaction.delta-commits": "1",
        "changelog-producer.row-deduplicate": "true",
    },
    "lookup": {"changelog-producer": "lookup"},
    "lookup deduplicated": {"changelog-producer": "lookup", "changelog-producer.row-deduplicate": "true"},
    "lookup by sequence": {"changelog-producer": "lookup", "sequence.field": "seq"},
    "lookup and marks": {"changelog-producer": "lookup", "deletion-vectors.enabled": "true"},
    "marks": {"deletion-vectors.enabled": "true"},
    "marks by sequence": {"deletion-vectors.enabled": "true", "sequence.field": "seq"},
    "input and marks": {"changelog-producer": "input", "deletion-vectors.enabled": "true"},
    "wide marks": {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true"},
    "first row": {"changelog-producer": "lookup", "merge-engine": "first-row", "ignore-delete": "true"},
    "partial update": {"changelog-producer": "lookup", "merge-engine": "partial-update", "ignore-delete": "true"},
    "partial update and marks": {
        "deletion-vectors.enabled": "true",
        "merge-engine": "partial-update",
        "ignore-delete": "true",
    },
    "full by sequence": {"changelog-producer": "full-compaction", "sequence.field": "seq"},
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("seed", range(tries(1, many=3)))
def test_a_changelog_written_in_turn_is_one_changelog(paimon: PaimonPeer, tmp_path: Path, kind: str, seed: int) -> None:
    if kind == "wide marks" and paimon.version.startswith("0."):
        pytest.skip("64-bit vectors are newer")
    chance = random.Random(f"{kind}{seed}")
    open_table(tmp_path, TABLES[kind])
    for _ in range(8):
        rows = changes(chance)
        ours = chance.random() < 0.6
        if ours:
            opened(tmp_path).append(as_table(rows))
        else:
            paimon.write(tmp_path, "db.t", rows)
        if chance.random() < 0.4:
            if chance.random() < 0.6:
                opened(tmp_path).compact(full=True)
            else:
                paimon.compact(tmp_path, "db.t")
    table = opened(tmp_path)
    options = {"scan.snapshot-id": "1"}
    found = streamed(table, options)
    assert found == expected_plans(paimon, tmp_path, "db.t", options)
    if "changelog-producer" in TABLES[kind]:
        assert sum(map(len, found.values())) == sum(s.changelog_record_count or 0 for s in table.snapshots())
    assert assert_same_at_every_snapshot(paimon, tmp_path, "db.t") >= 8


def opened(warehouse: Path) -> Table:
    table = load_catalog({"warehouse": str(warehouse)}).load_table("db.t")
    assert isinstance(table, Table)
    return table
