"""Tables with row tracking that the real Paimon wrote, compacted and updated: both show the same rows and ids."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from table_format import Table, load_catalog
from table_format.table.system.table import SystemTable
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer
from tests.support.json_rows import json_rows, sorted_rows

COLUMNS = [["k", "INT"], ["pt", "STRING"], ["v", "STRING"]]


@pytest.mark.parametrize("data_format", ["parquet", "orc"])  # of Avro files the real Paimon reads no ids
@pytest.mark.parametrize("partition_keys", [[], ["pt"]], ids=["plain", "partitioned"])
def test_rows_keep_their_ids_when_paimon_moves_them(
    peers: Callable[[str], PaimonPeer], tmp_path: Path, data_format: str, partition_keys: list[str]
) -> None:
    paimon = peers("1.4.2")
    load_catalog({"warehouse": str(tmp_path)}).create_database("db")
    options = {"bucket": "-1", "row-tracking.enabled": "true", "file.format": data_format}
    paimon.create_table(
        tmp_path, "db.t", columns=COLUMNS, primary_keys=[], partition_keys=partition_keys, options=options
    )
    for commit in range(4):
        rows = [["+I", [10 * commit + i, "ab"[i % 2], f"v{commit}{i}"]] for i in range(5)]
        paimon.write(tmp_path, "db.t", rows)
    assert_same_ids(paimon, tmp_path)
    paimon.compact_append(tmp_path, "db.t")
    assert_same_ids(paimon, tmp_path)
    paimon.write_moved(tmp_path, "db.t", [["+I", [1, "a", "changed", 99, None]], ["+I", [2, "b", "moved", 98, 1]]])
    assert_same_ids(paimon, tmp_path)
    assert assert_same_at_every_snapshot(paimon, tmp_path, "db.t") == 6
    table = load_catalog({"warehouse": str(tmp_path)}).load_table("db.t")
    assert isinstance(table, Table)
    for condition in (["=", "k", 31], ["and", [">", "k", 10], ["=", "v", "v22"]]):
        theirs = paimon.read_where(tmp_path, "db.t", condition)
        [wanted] = [row for row in theirs if row[0] in (31, 22)]
        assert [list(row.values()) for row in table.scan(filter=f"k = {wanted[0]}").to_arrow().to_pylist()] == [wanted]


def assert_same_ids(paimon: PaimonPeer, warehouse: Path) -> None:
    """Both show the same columns, types and rows of ``$row_tracking`` at the latest snapshot."""
    theirs = paimon.system_table(warehouse, "db.t$row_tracking")
    opened = load_catalog({"warehouse": str(warehouse)}).load_table("db.t$row_tracking")
    assert isinstance(opened, SystemTable)
    assert [field.name for field in opened.fields] == theirs["columns"]
    assert [str(field.type) for field in opened.fields] == theirs["types"]
    assert json_rows(opened.scan().to_arrow(), opened.fields) == sorted_rows(theirs["rows"])
