"""Tags, branches, consumers and the history: what we make the real Paimon understands, and the other way round."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from table_format.model.schema_change import SetOption
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer
from tests.support.json_rows import json_rows
from tests.support.matrix import tries

SCHEMA = pa.schema(
    [pa.field("k", pa.int64(), nullable=False), pa.field("p", pa.string(), nullable=False), ("v", "str")]
)
NAME = "db.t"
HISTORY = ("snapshot", "schema", "tag", "changelog")


def make_table(warehouse: Path, **options: str) -> Table:
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_database("db", ignore_if_exists=True)
    given = {"bucket": "2", "num-sorted-run.compaction-trigger": "3", **options}
    schema = Schema.from_arrow(SCHEMA, primary_keys=["k", "p"], partition_keys=["p"], options=given)
    catalog.create_table(NAME, schema)
    return opened(warehouse)


def opened(warehouse: Path, name: str = NAME) -> Table:
    found = load_catalog({"warehouse": str(warehouse)}).load_table(name)
    assert isinstance(found, Table)
    return found


def rows(*triples: tuple[int, str, str]) -> pa.Table:
    columns = zip(*triples, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def values(table: Table, **arguments: Any) -> list[list[Any]]:
    scan = table.scan(**arguments)
    return json_rows(scan.to_arrow(), scan.plan().fields)


def theirs(paimon: PaimonPeer, warehouse: Path, name: str = NAME, **options: str) -> list[list[Any]]:
    return sorted(paimon.read(warehouse, name, **options)["rows"], key=repr)


def ours(table: Table, **options: str) -> list[list[Any]]:
    return sorted(values(table, options=options or None), key=repr)


def history(warehouse: Path, *, branch: str = "") -> dict[str, Any]:
    """The files that make the history of a branch, and what they hold; but for the hint EARLIEST."""
    root = warehouse / "db.db" / "t" / branch
    files = [file for part in HISTORY for file in sorted((root / part).glob("*")) if file.is_file()]
    return {str(file.relative_to(root)): content(file) for file in files if file.name != "EARLIEST"}


def content(file: Path) -> Any:
    """The members of a file that mean something: versions differ in what they write of those that mean nothing."""
    held = json.loads(file.read_bytes())
    if not isinstance(held, dict):
        return held
    return {key: value for key, value in held.items() if value or key == "id"}


def both_ways(tmp_path: Path, warehouse: Path) -> tuple[Path, Path]:
    """Two copies of a warehouse: one for us and one for Paimon."""
    return tuple(Path(shutil.copytree(warehouse, tmp_path / name)) for name in ("ours", "theirs"))  # type: ignore[return-value]


def grow(warehouse: Path, paimon: PaimonPeer, chance: random.Random, steps: int, name: str = NAME) -> None:
    """Some commits, by us and by Paimon, compactions among them."""
    for _ in range(steps):
        triples = [(chance.randrange(20), chance.choice("ab"), f"v{chance.random():.3f}") for _ in range(4)]
        distinct = list({(k, p): (k, p, v) for k, p, v in triples}.values())
        if chance.random() < 0.5:
            opened(warehouse, name).append(rows(*distinct))
        else:
            paimon.write(warehouse, name, [["+I", list(triple)] for triple in distinct])


def test_paimon_reads_our_tags_branches_and_consumers(paimon: PaimonPeer, tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.append(rows((1, "a", "one")))
    table.create_tag("first")
    table.append(rows((2, "b", "two")))
    table.create_tag("with a time", 2, time_retained_ms=86_400_000)
    table.create_branch("from_first", tag="first")
    table.create_branch("empty")
    table.reset_consumer("c1", 2)
    opened(tmp_path, "db.t$branch_from_first").append(rows((3, "a", "three")))
    assert paimon.kept(tmp_path, NAME) == {
        "tags": {"first": 1, "with a time": 2},
        "branches": ["empty", "from_first"],
        "consumers": {"c1": 2},
    }
    assert theirs(paimon, tmp_path, **{"scan.tag-name": "first"}) == [[1, "a", "one"]]
    assert theirs(paimon, tmp_path, "db.t$branch_from_first") == [[1, "a", "one"], [3, "a", "three"]]
    assert theirs(paimon, tmp_path, "db.t$branch_empty") == []
    assert_same_at_every_snapshot(paimon, tmp_path, "db.t$branch_from_first")
    paimon.write(tmp_path, "db.t$branch_empty", [["+I", [9, "a", "nine"]]])
    assert values(opened(tmp_path, "db.t$branch_empty")) == [[9, "a", "nine"]]


def test_we_read_the_tags_branches_and_consumers_of_paimon(paimon: PaimonPeer, tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.append(rows((1, "a", "one")))
    paimon.history(tmp_path, NAME, "create_tag", "first")
    paimon.write(tmp_path, NAME, [["+I", [2, "b", "two"]]])
    paimon.history(tmp_path, NAME, "branch_from_tag", "from_first", "first")
    paimon.history(tmp_path, NAME, "create_branch", "empty")
    paimon.history(tmp_path, NAME, "reset_consumer", "c1", 2)
    paimon.write(tmp_path, "db.t$branch_from_first", [["+I", [3, "a", "three"]]])
    assert {name: tag.snapshot.id for name, tag in table.tags().items()} == {"first": 1}
    assert sorted(table.branches()) == ["empty", "from_first"]
    assert table.consumers() == {"c1": 2}
    assert values(table, options={"scan.tag-name": "first"}) == [[1, "a", "one"]]
    assert_same_at_every_snapshot(paimon, tmp_path, "db.t$branch_from_first")
    assert values(opened(tmp_path, "db.t$branch_empty")) == []


def test_a_branch_is_made_of_the_same_files(paimon: PaimonPeer, tmp_path: Path) -> None:
    warehouse = tmp_path / "w"
    table = make_table(warehouse)
    table.append(rows((1, "a", "one")))
    table.create_tag("t")
    table.append(rows((2, "b", "two")))
    mine, other = both_ways(tmp_path, warehouse)
    opened(mine).create_branch("b", tag="t")
    opened(mine).create_branch("e")
    paimon.history(other, NAME, "branch_from_tag", "b", "t")
    paimon.history(other, NAME, "create_branch", "e")
    for branch in ("branch/branch-b", "branch/branch-e"):
        assert history(mine, branch=branch) == history(other, branch=branch) != {}


@pytest.mark.parametrize("seed", range(tries(2, many=4)))
def test_a_fast_forward_leaves_what_paimons_leaves(paimon: PaimonPeer, tmp_path: Path, seed: int) -> None:
    chance, warehouse = random.Random(f"forward {seed}"), tmp_path / "w"
    make_table(warehouse)
    grow(warehouse, paimon, chance, chance.randrange(1, 4))
    opened(warehouse).create_tag("base")
    opened(warehouse).create_branch("b", tag="base")
    grow(warehouse, paimon, chance, chance.randrange(0, 5))
    opened(warehouse).create_tag("late")
    grow(warehouse, paimon, chance, chance.randrange(1, 5), "db.t$branch_b")
    opened(warehouse, "db.t$branch_b").create_tag("on branch")
    if seed % 2:
        load_catalog({"warehouse": str(warehouse)}).alter_table(
            "db.t$branch_b", SetOption("snapshot.time-retained", "2 h")
        )
    mine, other = both_ways(tmp_path, warehouse)
    opened(mine).fast_forward("b")
    paimon.history(other, NAME, "fast_forward", "b")
    assert history(mine) == history(other)
    expected = ours(opened(warehouse, "db.t$branch_b"))
    assert ours(opened(mine)) == theirs(paimon, mine) == ours(opened(other)) == expected
    for directory in (mine, other):
        grow(directory, paimon, chance, 4)
        assert ours(opened(directory)) == theirs(paimon, directory)
        assert_same_at_every_snapshot(paimon, directory, "db.t$branch_b")
    # Paimon takes the branch's word for which snapshot is the earliest, and does not find its own older ones any more.
    assert_same_at_every_snapshot(paimon, mine, NAME)


@pytest.mark.parametrize("target", ["snapshot", "tag", "expired tag"])
@pytest.mark.parametrize("seed", range(tries(1, many=2)))
def test_a_rollback_leaves_what_paimons_leaves(paimon: PaimonPeer, tmp_path: Path, target: str, seed: int) -> None:
    chance, warehouse = random.Random(f"rollback {target} {seed}"), tmp_path / "w"
    table = make_table(warehouse)
    grow(warehouse, paimon, chance, 3)
    table.create_tag("goal", 2)
    grow(warehouse, paimon, chance, 3)
    opened(warehouse).create_tag("late")
    if target == "expired tag":
        table.expire_snapshots(retain_max=2, retain_min=1, older_than_ms=1 << 62, retain_floor_ms=0)
    mine, other = both_ways(tmp_path, warehouse)
    expected = ours(table, **{"scan.tag-name": "goal"})
    if target == "snapshot":
        opened(mine).rollback_to(2)
        paimon.history(other, NAME, "rollback_to_snapshot", 2)
    else:
        opened(mine).rollback_to("goal")
        paimon.history(other, NAME, "rollback_to_tag", "goal")
    assert history(mine) == history(other)
    assert ours(opened(mine)) == theirs(paimon, mine) == ours(opened(other)) == expected
    for directory in (mine, other):
        grow(directory, paimon, chance, 4)
        assert_same_at_every_snapshot(paimon, directory, NAME)
        assert ours(opened(directory), **{"scan.tag-name": "goal"}) == expected


def test_a_table_with_a_fallback_branch_reads_as_paimon_reads_it(paimon: PaimonPeer, tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.append(rows((1, "a", "main"), (2, "a", "main")))
    table.create_branch("stream")
    branch = opened(tmp_path, "db.t$branch_stream")
    branch.append(rows((1, "a", "branch"), (5, "b", "branch"), (6, "c", "branch")))
    branch.append(rows((5, "b", "branch again")))
    load_catalog({"warehouse": str(tmp_path)}).alter_table(NAME, SetOption("scan.fallback-branch", "stream"))
    table = opened(tmp_path)
    assert ours(table) == theirs(paimon, tmp_path)
    assert values(table) == [[1, "a", "main"], [2, "a", "main"], [5, "b", "branch again"], [6, "c", "branch"]]
    if paimon.version == "0.9.0":
        return  # it looks for the schema of a file of main in the branch
    table.append(rows((7, "c", "main")))
    assert ours(table) == theirs(paimon, tmp_path)
    assert ours(table, **{"scan.snapshot-id": "1"}) == theirs(paimon, tmp_path, **{"scan.snapshot-id": "1"})
    paimon.write(tmp_path, NAME, [["+I", [8, "b", "main"]]])
    assert ours(table) == theirs(paimon, tmp_path)
    assert [row[1] for row in values(table)] == ["a", "a", "c", "b"]


def test_a_branch_with_a_key_stands_in_for_partitions_of_an_append_table(paimon: PaimonPeer, tmp_path: Path) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    columns = pa.schema([("k", pa.int64()), ("p", "str"), ("v", "str")])
    catalog.create_table(NAME, Schema.from_arrow(columns, partition_keys=["p"], options={"file.format": "orc"}))
    opened(tmp_path).append(rows((1, "a", "main"), (1, "a", "main twice")).cast(columns))
    opened(tmp_path).create_branch("live")
    # The reference lets a table without snapshots get a primary key.
    paimon.alter_options(tmp_path, "db.t$branch_live", {"primary-key": "k,p", "bucket": "2", "file.format": "parquet"})
    paimon.write(tmp_path, "db.t$branch_live", [["+I", [k, p, "live"]] for k in range(4) for p in "abc"])
    paimon.write(tmp_path, "db.t$branch_live", [["+U", [1, "b", "changed"]], ["-D", [2, "c", "live"]]])
    catalog.alter_table(NAME, SetOption("scan.fallback-branch", "live"))
    table = opened(tmp_path)
    assert ours(table) == theirs(paimon, tmp_path)
    assert values(table, filter="k = 1 and v <> 'main'", columns=["p", "v"]) == [
        ["a", "main twice"],
        ["b", "changed"],
        ["c", "live"],
    ]
