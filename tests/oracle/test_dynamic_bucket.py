"""Dynamic buckets in turn with the real Paimon: its assigner finds every key in our index, and ours in its."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer
from tests.oracle.turns import Key, Rows, take_turn
from tests.support.dynamic_buckets import assert_sound, index_of

SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("pt", pa.string(), nullable=False),
        pa.field("v", pa.int32()),
    ]
)
NAMES = ("", "a", "hello world 123", "日本", "x" * 40)
HANDOVERS = 9
TABLES = int(os.environ.get("DYNAMIC_HAND_OVERS", "2"))
"""Tables with dynamic buckets for each version of Paimon."""


def open_table(warehouse: Path, options: dict[str, str]) -> Table:
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_database("db", ignore_if_exists=True)
    schema = Schema.from_arrow(
        SCHEMA, primary_keys=["k", "name", "pt"], partition_keys=["pt"], options={"bucket": "-1", **options}
    )
    catalog.create_table("db.t", schema)
    return catalog.load_table("db.t")


def changes(chance: random.Random) -> Rows:
    keys = {(chance.randrange(40), chance.choice(NAMES), chance.choice("pq")) for _ in range(chance.randrange(1, 25))}
    return {key: (chance.choice(("+I", "+I", "+U", "-D")), chance.randrange(1000)) for key in keys}


@pytest.mark.parametrize("seed", range(TABLES))
def test_hand_overs_leave_each_key_in_one_bucket(paimon: PaimonPeer, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    options = {"dynamic-bucket.target-row-num": str(chance.randrange(2, 12)), "num-sorted-run.compaction-trigger": "3"}
    if seed % 4 == 1 and paimon.version != "0.9.0":
        options["dynamic-bucket.max-buckets"] = "3"
    table = open_table(tmp_path, options)
    expected: dict[Key, int] = {}
    for turn in range(HANDOVERS * 2):
        take_turn(table, paimon, tmp_path, changes(chance), expected, ours=turn % 2 == seed % 2)
        if chance.random() < 0.2:
            table.compact(full=chance.random() < 0.5)
        if chance.random() < 0.1:
            paimon.compact(tmp_path, "db.t")
        assert_sound(table)
    ours = table.scan().to_arrow().to_pylist()
    assert sorted((r["k"], r["name"], r["pt"], r["v"]) for r in ours) == sorted((*k, v) for k, v in expected.items())
    assert_same_at_every_snapshot(paimon, tmp_path, "db.t")
    # Paimon writes all keys once more: it finds each of them, so that no index changes.
    index = table.latest_snapshot().index_manifest
    paimon.write(tmp_path, "db.t", [["+U", [*key, v + 1]] for key, v in expected.items()])
    assert table.latest_snapshot().index_manifest == index
    assert len(table.scan().to_arrow()) == len(expected)


@pytest.mark.parametrize("seed", range(-(-TABLES // 2)))
@pytest.mark.parametrize("options", [{}, {"deletion-vectors.enabled": "true"}], ids=str)
def test_keys_in_sorted_buckets_are_found_by_both(
    paimon: PaimonPeer, tmp_path: Path, seed: int, options: dict[str, str]
) -> None:
    chance = random.Random(seed)
    table = open_table(tmp_path, {"dynamic-bucket.target-row-num": str(chance.randrange(3, 12)), **options})
    expected: dict[Key, int] = {}
    for turn in range(6):
        take_turn(table, paimon, tmp_path, changes(chance), expected, ours=turn % 2 == seed % 2)
        if turn % 3 == 1:
            table.compact(order_by=["v", "k"], order_strategy=("order", "zorder", "hilbert")[seed % 3])
        assert_sound(table)
    table.compact(order_by=["v"])
    ours = table.scan().to_arrow().to_pylist()
    assert sorted((r["k"], r["name"], r["pt"], r["v"]) for r in ours) == sorted((*k, v) for k, v in expected.items())
    assert_same_at_every_snapshot(paimon, tmp_path, "db.t")
    index = table.latest_snapshot().index_manifest
    paimon.write(tmp_path, "db.t", [["+U", [*key, v + 1]] for key, v in expected.items()])
    hashes = table.facts.manifests.read_index(index)
    after = table.facts.manifests.index_entries(table.latest_snapshot())
    assert {e.index_file.file_name for e in hashes if e.index_file.index_type == "HASH"} == {
        e.index_file.file_name for e in after if e.index_file.index_type == "HASH"
    }


def sizes(table: Table) -> list[int]:
    """The rows of each bucket."""
    return sorted(sum(file.row_count for file in split.files) for split in table.scan().plan())


@pytest.mark.parametrize("ours_first", [True, False])
def test_full_buckets_take_the_keys_beyond_the_limit(
    peers: Callable[[str], PaimonPeer], tmp_path: Path, *, ours_first: bool
) -> None:
    """Which of the full buckets is left to chance by the real Paimon, and to the hash here; a key stays where it is."""
    newest = peers("1.4.2")
    table = open_table(tmp_path, {"dynamic-bucket.target-row-num": "2", "dynamic-bucket.max-buckets": "2"})
    keys = [(k, "a", "p") for k in range(6)]
    rows = pa.Table.from_pylist([dict(zip(SCHEMA.names, (*key, 1), strict=True)) for key in keys], schema=SCHEMA)
    written = [["+I", [*key, 1]] for key in keys]
    if ours_first:
        table.append(rows)
    else:
        newest.write(tmp_path, "db.t", written)
    found = sizes(table)
    assert (len(found), sum(found), found[0] >= 2) == (2, 6, True)
    index = index_of(table)
    if ours_first:
        newest.write(tmp_path, "db.t", written)
    else:
        table.append(rows)
    assert index_of(table) == index
    assert_sound(table, exact=True)


def test_no_limit_of_buckets_is_none_for_both(peers: Callable[[str], PaimonPeer], tmp_path: Path) -> None:
    table = open_table(tmp_path, {"dynamic-bucket.target-row-num": "2", "dynamic-bucket.max-buckets": "0"})
    peers("1.4.2").write(tmp_path, "db.t", [["+I", [k, "a", "p", 1]] for k in range(6)])
    assert sizes(table) == [2, 2, 2]


def test_verify_names_the_keys_that_two_jobs_of_paimon_have_doubled(paimon: PaimonPeer, tmp_path: Path) -> None:
    """Paimon replaces the index of a bucket without a check, and documents that only one job may write."""
    table = open_table(tmp_path, {"dynamic-bucket.target-row-num": "1"})
    first = [["+I", [key, "a", "p", 1]] for key in (1, 2)]
    second = [["+I", [2, "a", "p", 2]]]
    paimon.write_apart(tmp_path, "db.t", first, second)
    assert sorted(paimon.read(tmp_path, "db.t")["rows"]) == [[1, "a", "p", 1], [2, "a", "p", 1], [2, "a", "p", 2]]
    [finding] = [f for f in table.verify(depth="rows").errors if f.check == "one bucket per key"]
    assert finding.expected == "the key (k=2, name='a', pt='p') in one bucket"
    assert finding.found == "it in bucket 0 of pt=p and bucket 1 of pt=p"
    _repair(table)
    assert table.verify(depth="rows").is_healthy
    assert sorted(paimon.read(tmp_path, "db.t")["rows"]) == [[1, "a", "p", 1], [2, "a", "p", 2]]
    paimon.write(tmp_path, "db.t", [["+U", [2, "a", "p", 3]]])
    assert sorted(paimon.read(tmp_path, "db.t")["rows"]) == [[1, "a", "p", 1], [2, "a", "p", 3]]


def test_verify_names_the_keys_that_two_jobs_of_paimon_have_put_in_two_partitions(
    paimon: PaimonPeer, tmp_path: Path
) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path), "local-cache.dir": str(tmp_path / "cache")})
    catalog.create_database("db")
    schema = Schema.from_arrow(SCHEMA, primary_keys=["k"], partition_keys=["pt"], options={"bucket": "-1"})
    catalog.create_table("db.t", schema)
    paimon.write_apart(tmp_path, "db.t", [["+I", [1, "a", "p", 1]]], [["+I", [1, "a", "q", 2]]])
    [finding] = catalog.load_table("db.t").verify(depth="rows").errors
    assert finding.found == "it in bucket 0 of pt=p and bucket 0 of pt=q"


def _repair(table: Table) -> None:
    """What docs/verification.md says: keep one row of each key, here the one with the largest value."""
    rows = table.scan(filter="pt = 'p'").to_arrow().sort_by("v")
    table.overwrite(rows, partition={"pt": "p"})
