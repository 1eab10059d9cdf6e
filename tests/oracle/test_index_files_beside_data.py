"""Tables with index files beside their data files, handed between the real Paimon and this library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from table_format import Table, load_catalog
from tests.oracle.peer import PaimonPeer
from tests.support.tables import keyed, rows_of

COLUMNS = [["id", "BIGINT NOT NULL"], ["dt", "STRING NOT NULL"], ["v", "INT"]]
FUTURE = 1 << 60


@pytest.fixture(scope="module")
def paimon(peers: Callable[[str], PaimonPeer]) -> PaimonPeer:
    """Version 0.9 does not know the option."""
    return peers("1.4.2")


def opened(warehouse: Path) -> Table:
    table = load_catalog({"warehouse": str(warehouse)}).load_table("db.t")
    assert isinstance(table, Table)
    return table


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"bucket": "-1", "dynamic-bucket.target-row-num": "4"},
        {"bucket": "2", "deletion-vectors.enabled": "true"},
    ],
    ids=["hash index", "deletion vectors"],
)
def test_both_use_the_index_files_of_the_other(
    paimon: PaimonPeer, tmp_path: Path, options: dict[str, str], external: bool
) -> None:
    warehouse = tmp_path / "warehouse"
    load_catalog({"warehouse": str(warehouse)}).create_database("db")
    given = {**options, "index-file-in-data-file-dir": "true"}
    if external:
        given["data-file.external-paths"] = f"file:{tmp_path}/outside"
        given["data-file.external-paths.strategy"] = "round-robin"
    paimon.create_table(
        warehouse, "db.t", columns=COLUMNS, primary_keys=["id", "dt"], partition_keys=["dt"], options=given
    )
    expected: dict[tuple[int, str], int] = {}
    for step in range(6):
        rows = [(key, "ab"[key % 2], step * 100 + key) for key in range(step, step + 9)]
        expected.update(((key, dt), v) for key, dt, v in rows)
        if step % 2:
            opened(warehouse).append(keyed(rows))
        else:
            paimon.write(warehouse, "db.t", [["+I", list(row)] for row in rows])
    (opened(warehouse).compact if not external else lambda: paimon.compact(warehouse, "db.t", full=False))()
    wanted = sorted((*key, v) for key, v in expected.items())
    assert sorted(rows_of(opened(warehouse))) == wanted
    assert sorted(map(tuple, paimon.read(warehouse, "db.t")["rows"])) == wanted
    table = opened(warehouse)
    live = {entry.index_file.file_name for entry in table.facts.manifests.index_entries(table.latest_snapshot())}
    assert live
    table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=FUTURE, retain_floor_ms=0)
    assert table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True).files == ()
    left = [path for path in tmp_path.rglob("index-*") if "manifest" not in path.name]
    assert {path.name for path in left} == live
    assert all(path.parent.name.startswith("bucket-") for path in left)
    assert sorted(map(tuple, paimon.read(warehouse, "db.t")["rows"])) == wanted
