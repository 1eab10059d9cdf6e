"""Compactions that come later, by time, or every few commits: the real Paimon reads and continues every state."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer
from tests.oracle.test_handover import as_table, changes, open_table
from tests.support.compaction import OnDemand
from tests.support.matrix import tries

MARKS = {"deletion-vectors.enabled": "true"}
LATER = {"lookup-wait": "false"}
TABLES = {
    "merge on read": {},
    "marks, later": {**MARKS, **LATER},
    "marks and changelog, later": {**MARKS, **LATER, "changelog-producer": "lookup"},
    "changelog, later": {**LATER, "changelog-producer": "lookup"},
    "gentle marks": {**MARKS, "lookup-compact": "gentle"},
    "forced lookup": {"force-lookup": "true", "merge-engine": "partial-update", "ignore-delete": "true"},
    "every third": {"full-compaction.delta-commits": "3", "changelog-producer": "full-compaction"},
    "by time": {"compaction.optimization-interval": "1 h"},
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("seed", range(tries(1, many=2)))
def test_a_stream_that_compacts_beside_itself_takes_turns_with_paimon(
    paimon: PaimonPeer, tmp_path: Path, kind: str, seed: int
) -> None:
    chance = random.Random(f"{kind}{seed}")
    table = open_table(tmp_path, TABLES[kind])
    later = OnDemand()
    write, commit = table.new_write("s", compactor=later), table.new_commit("s")
    for identifier in range(1, 13):
        match chance.randrange(8):
            case 0:
                paimon.write(tmp_path, "db.t", changes(chance))
            case 1:
                paimon.compact(tmp_path, "db.t")
            case 2:
                table.compact(full=chance.random() < 0.5)
            case 3:
                later.run()
            case _:
                commit.commit(write.write(as_table(changes(chance))), identifier=identifier)
    commit.commit(write.finish(), identifier=13)
    paimon.write(tmp_path, "db.t", changes(chance))
    assert assert_same_at_every_snapshot(paimon, tmp_path, "db.t") > 5
    merged = {"deletion-vectors.merge-on-read": "true"} if MARKS.items() <= TABLES[kind].items() else None
    before = sorted(map(repr, table.scan(options=merged).to_arrow().to_pylist()))
    paimon.compact(tmp_path, "db.t")
    # The scan that lists the buckets to compact leaves out one with nothing but level 0, so some rows may wait on.
    assert sorted(map(repr, table.scan(options=merged).to_arrow().to_pylist())) == before
    assert_same_at_every_snapshot(paimon, tmp_path, "db.t")
