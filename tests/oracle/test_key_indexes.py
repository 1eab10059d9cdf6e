"""Tables with sorted indexes of value columns, which Apache Paimon builds from 2.0 on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import load_catalog
from table_format.errors import UnsupportedFeature
from tests.oracle.install import LATEST
from tests.oracle.peer import DIRECTORY, PaimonPeer

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int32())])
COLUMNS = [["id", "BIGINT NOT NULL"], ["n", "INT"]]
OPTIONS = {"bucket": "1", "pk-btree.index.columns": "n", "deletion-vectors.enabled": "true"}


@pytest.fixture
def paimon(peers: Callable[[str], PaimonPeer]) -> PaimonPeer:
    if not (DIRECTORY / "classes" / LATEST / "PaimonPeer.class").exists():
        pytest.skip(f"!!!!! Paimon {LATEST} is not set up, no index is checked: python -m tests.oracle.install !!!!!")
    return peers(LATEST)


def test_we_read_them_add_rows_to_them_and_make_no_commit_that_would_lose_an_index(
    tmp_path: Path, paimon: PaimonPeer
) -> None:
    paimon.create_table(tmp_path, "db.t", columns=COLUMNS, primary_keys=["id"], partition_keys=[], options={**OPTIONS})
    paimon.write(tmp_path, "db.t", [["+I", [number, number * 10]] for number in range(5)])
    paimon.write(tmp_path, "db.t", [["+I", [3, 30]]])
    paimon.compact(tmp_path, "db.t")
    table = load_catalog({"warehouse": str(tmp_path)}).load_table("db.t")
    found = load_catalog({"warehouse": str(tmp_path)}).load_system_table("db.t$table_indexes").scan().to_arrow()
    assert "btree" in found["index_type"].to_pylist()
    assert table.scan(filter="n = 30").to_arrow().to_pylist() == [{"id": 3, "n": 30}]
    table.copy({"write-only": "true"}).append(pa.table({"id": [3, 9], "n": [90, 90]}, schema=SCHEMA))
    before = table.latest_snapshot()
    with pytest.raises(UnsupportedFeature, match=r"an index of the type 'btree'.*write it with Apache Paimon"):
        table.compact()
    assert table.latest_snapshot() == before
    paimon.compact(tmp_path, "db.t")
    rows = [[0, 0], [1, 10], [2, 20], [3, 90], [4, 40], [9, 90]]
    assert sorted(paimon.read(tmp_path, "db.t")["rows"]) == rows
    assert sorted(row for row in paimon.read_where(tmp_path, "db.t", ["=", "n", 90]) if row[1] == 90) == rows[3::2]
    assert sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist()) == [tuple(row) for row in rows]
