"""Changelogs that outlive their snapshots, on a table that we and the real Paimon write and expire in turn.

Paimon expires with every commit, by the options; we when asked. What is streamed is the same for both at every step,
and nothing that is needed is missing on disk.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from table_format.metastore.snapshot.changelog_store import ChangelogStore
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer
from tests.oracle.test_changelogs import opened
from tests.oracle.test_handover import as_table, changes, open_table
from tests.oracle.test_incremental import expected_plans, streamed
from tests.support.matrix import tries
from tests.support.reachable import Reachable, files_below

KEPT = {
    "snapshot.num-retained.min": "1",
    "snapshot.num-retained.max": "3",
    "changelog.num-retained.min": "1",
    "changelog.num-retained.max": "9",
}
TABLES = {
    "deltas": {},
    "marks": {"deletion-vectors.enabled": "true"},
    "input": {"changelog-producer": "input"},
    "lookup": {"changelog-producer": "lookup"},
    "full": {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"},
}
NEVER = 1 << 60


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("seed", range(tries(1, many=2)))
def test_changelogs_expired_in_turn_are_one_history(paimon: PaimonPeer, tmp_path: Path, kind: str, seed: int) -> None:
    if kind == "marks" and paimon.version.startswith("0."):
        pytest.skip("this release looks for the deletion vectors of an expired snapshot, which it deletes itself")
    chance = random.Random(f"long {kind}{seed}")
    open_table(tmp_path, {**TABLES[kind], **KEPT})
    known: dict[int, Any] = {}
    outlived = 0
    for _ in range(10):
        by_us(tmp_path, chance) if chance.random() < 0.6 else by_paimon(paimon, tmp_path, chance)
        table = opened(tmp_path)
        first = min((*ChangelogStore(table.store).ids(), table.snapshots()[0].id))
        options = {"scan.mode": "from-snapshot", "scan.snapshot-id": str(first)}
        found = streamed(table, options)
        assert found == expected_plans(paimon, tmp_path, "db.t", options)
        assert {i: c for i, c in known.items() if i >= first} == {i: c for i, c in found.items() if i in known}
        known |= found
        outlived += sum(1 for i in found if i < table.snapshots()[0].id)
        reached = Reachable(table)
        assert not reached.needed - set(files_below(table.store.io, table.store.paths.root))
    assert outlived >= 3
    assert assert_same_at_every_snapshot(paimon, tmp_path, "db.t") >= 1


def by_us(warehouse: Path, chance: random.Random) -> None:
    table = opened(warehouse)
    table.append(as_table(changes(chance)))
    if chance.random() < 0.4:
        table.compact(full=True)
    table.expire_snapshots(older_than_ms=NEVER, retain_max=chance.randint(1, 3), retain_floor_ms=0)
    table.expire_changelogs(older_than_ms=NEVER, retain_max=chance.randint(5, 9))


def by_paimon(paimon: PaimonPeer, warehouse: Path, chance: random.Random) -> None:
    paimon.write(warehouse, "db.t", changes(chance))
    if chance.random() < 0.4:
        paimon.compact(warehouse, "db.t")
