"""Rescaled and postponed tables in turn with the real Paimon."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from table_format.model.schema_change import SetOption
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer, PeerError
from tests.oracle.turns import Key, Rows, as_table, take_turn
from tests.support.matrix import tries

SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("pt", pa.string(), nullable=False),
        pa.field("v", pa.int32()),
    ]
)


def open_table(warehouse: Path, options: dict[str, str]) -> Table:
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_database("db", ignore_if_exists=True)
    catalog.create_table("db.t", Schema.from_arrow(SCHEMA, ["k", "pt"], ["pt"], options))
    return reopened(warehouse)


def reopened(warehouse: Path) -> Table:
    table = load_catalog({"warehouse": str(warehouse)}).load_table("db.t")
    assert isinstance(table, Table)
    return table


def changes(chance: random.Random, partitions: str = "pq") -> Rows:
    keys = {(chance.randrange(30), chance.choice(partitions)) for _ in range(chance.randrange(1, 20))}
    return {key: (chance.choice(("+I", "+I", "+U", "-D")), chance.randrange(1000)) for key in keys}


def shown(table: Table) -> dict[tuple[int, str], int]:
    return {(row["k"], row["pt"]): row["v"] for row in table.scan().to_arrow().to_pylist()}


@pytest.mark.parametrize("seed", range(tries(2, many=4)))
def test_rescaled_partitions_are_read_and_written_by_both(paimon: PaimonPeer, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    options = {"bucket": "2", "num-sorted-run.compaction-trigger": "3"}
    if seed % 2:
        options["deletion-vectors.enabled"] = "true"
    table = open_table(tmp_path, options)
    state: dict[Key, int] = {}
    for turn in range(12):
        take_turn(table, paimon, tmp_path, changes(chance), state, ours=turn % 2 == seed // 2)
        if turn % 4 == 2:
            count = str(chance.randrange(1, 6))
            if chance.random() < 0.5:
                load_catalog({"warehouse": str(tmp_path)}).alter_table("db.t", SetOption("bucket", count))
            else:
                paimon.alter_options(tmp_path, "db.t", {"bucket": count})
            table = reopened(tmp_path)
            table.rescale(partitions=[{"pt": "p"}])
            table.rescale()
        if turn % 5 == 4:
            paimon.compact(tmp_path, "db.t")
    table.compact(full=True)
    assert shown(table) == state
    assert_same_at_every_snapshot(paimon, tmp_path, "db.t")


def test_paimon_refuses_the_partition_that_was_not_rescaled(paimon: PaimonPeer, tmp_path: Path) -> None:
    table = open_table(tmp_path, {"bucket": "1"})
    table.append(as_table(table, {(i, pt): ("+I", i) for i in range(20) for pt in "pq"}))
    load_catalog({"warehouse": str(tmp_path)}).alter_table("db.t", SetOption("bucket", "4"))
    table = reopened(tmp_path)
    table.rescale(partitions=[{"pt": "p"}])
    paimon.write(tmp_path, "db.t", [["+U", [3, "p", 33]]])
    with pytest.raises(PeerError, match="with a new bucket num 4, but the previous bucket num is 1"):
        paimon.write(tmp_path, "db.t", [["+U", [i, "q", 33]] for i in range(20)])
    expected = {(i, pt): 33 if (i, pt) == (3, "p") else i for i in range(20) for pt in "pq"}
    assert shown(table) == expected
    assert table.rescale(5)[-1].delta_record_count == 0  # of the whole table: the last snapshot only has the schema
    paimon.write(tmp_path, "db.t", [["+U", [3, "q", 33]]])
    assert shown(table) == {**expected, (3, "q"): 33}
    assert_same_at_every_snapshot(paimon, tmp_path, "db.t")


@pytest.mark.parametrize("seed", range(tries(2, many=4)))
def test_what_either_postpones_is_given_buckets_that_both_read(paimon: PaimonPeer, tmp_path: Path, seed: int) -> None:
    if paimon.version == "0.9.0":
        pytest.skip("Paimon 0.9.0 knows no postponed buckets")
    chance = random.Random(seed)
    options = {"bucket": "-2", "postpone.default-bucket-num": str(chance.randrange(1, 4))}
    if seed % 2:
        options["changelog-producer"] = "lookup"
    table = open_table(tmp_path, options)
    state: dict[Key, int] = {}
    for turn in range(14):
        take_turn(table, paimon, tmp_path, changes(chance), state, ours=turn % 2 == seed // 2)
        if turn % 3 == 2:
            table.compact(full=chance.random() < 0.5)
            assert shown(table) == state
        if turn == 9:
            table.rescale(5, partitions=[{"pt": "q"}])
    table.compact()
    assert shown(table) == state
    assert {split.total_buckets for split in table.scan(filter="pt = 'q'").plan().splits} == {5}
    # The Java core has no compaction of postponed rows: that is the work of its engines, here of ours alone.
    assert_same_at_every_snapshot(paimon, tmp_path, "db.t")
