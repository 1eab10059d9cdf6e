"""Tables with data files outside their directory, handed between the real Paimon and this library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from table_format import Schema, Table, load_catalog
from tests.oracle.peer import PaimonPeer
from tests.support.deletion_marks import live_data_files
from tests.support.tables import KEYED, keyed, rows_of

COLUMNS = [["id", "BIGINT NOT NULL"], ["dt", "STRING NOT NULL"], ["v", "INT"]]
FUTURE = 1 << 60


@pytest.fixture(scope="module")
def paimon(peers: Callable[[str], PaimonPeer]) -> PaimonPeer:
    """Version 0.9 knows no external paths."""
    return peers("1.4.2")


def options_for(tmp_path: Path, strategy: str) -> dict[str, str]:
    given = {
        "bucket": "1",
        "data-file.external-paths": f"file://{tmp_path}/one,file:{tmp_path}/two",
        "data-file.external-paths.strategy": strategy,
        "changelog-producer": "input",
        "file-index.bloom-filter.columns": "v",
        "file-index.in-manifest-threshold": "1 b",
    }
    if strategy == "specific-fs":
        given["data-file.external-paths.specific-fs"] = "file"
    return given


def theirs(paimon: PaimonPeer, warehouse: Path) -> list[tuple[object, ...]]:
    return sorted(map(tuple, paimon.read(warehouse, "db.t")["rows"]))


def opened(warehouse: Path) -> Table:
    table = load_catalog({"warehouse": str(warehouse)}).load_table("db.t")
    assert isinstance(table, Table)
    return table


@pytest.mark.parametrize("strategy", ["round-robin", "specific-fs"])
@pytest.mark.parametrize("ours_first", [False, True])
def test_both_read_write_and_compact_the_files_of_the_other(
    paimon: PaimonPeer, tmp_path: Path, strategy: str, ours_first: bool
) -> None:
    warehouse = tmp_path / "warehouse"
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_database("db")
    options = options_for(tmp_path, strategy)
    if ours_first:
        catalog.create_table("db.t", Schema.from_arrow(KEYED, ["id", "dt"], ["dt"], options))
    else:
        paimon.create_table(
            warehouse, "db.t", columns=COLUMNS, primary_keys=["id", "dt"], partition_keys=["dt"], options=options
        )
    expected: dict[tuple[int, str], int] = {}
    for step in range(4):
        rows = [(key, "ab"[key % 2], step * 100 + key) for key in range(step, step + 6)]
        expected.update(((key, dt), v) for key, dt, v in rows)
        if (step % 2 == 0) == ours_first:
            opened(warehouse).append(keyed(rows))
        else:
            paimon.write(warehouse, "db.t", [["+I", list(row)] for row in rows])
        wanted = sorted((*key, v) for key, v in expected.items())
        assert rows_of(opened(warehouse)) == theirs(paimon, warehouse) == wanted
    table = opened(warehouse)
    assert rows_of(table, filter="v = 303") == [(3, "b", 303)]
    external = [str(file.external_path) for file in live_data_files(table)]
    assert all(path.startswith((f"file:{tmp_path}/one/dt=", f"file:{tmp_path}/two/dt=")) for path in external)
    if ours_first:
        table.compact(full=True)
    else:
        paimon.compact(warehouse, "db.t")
    assert rows_of(opened(warehouse)) == theirs(paimon, warehouse) == wanted
    table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=FUTURE, retain_floor_ms=0)
    assert table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True).files == ()
    live = live_data_files(opened(warehouse))
    left = {path.name for place in ("one", "two") for path in (tmp_path / place).rglob("data-*")}
    assert left == {name for file in live for name in (file.file_name, *file.extra_files)}
    assert theirs(paimon, warehouse) == wanted
