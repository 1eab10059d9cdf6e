"""Materialized tables beside the real Paimon: to its readers and writers they are ordinary tables."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from table_format import load_catalog, materialized_table
from tests.oracle.peer import PaimonPeer
from tests.support.materialized_tables import KEY, a_materialized_table, refreshed

COLUMNS = pa.schema([("v", pa.string()), ("n", pa.int64())])
ROWS = pa.table({"v": ["a", "b"], "n": [1, 2]}, COLUMNS)


def test_the_real_paimon_reads_and_writes_a_materialized_table_and_we_notice(
    paimon: PaimonPeer, tmp_path: Path
) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    paimon.create_table(
        tmp_path, "db.t", columns=[["v", "STRING"], ["n", "BIGINT"]], primary_keys=[], partition_keys=[], options={}
    )
    a_materialized_table(catalog, "db.m", "SELECT * FROM db.t", COLUMNS)
    paimon.write(tmp_path, "db.t", [["+I", ["a", 1]], ["+I", ["b", 2]]])
    refreshed(catalog, "db.m", ROWS, at_ms=1_000)
    assert sorted(paimon.read(tmp_path, "db.m")["rows"]) == [["a", 1], ["b", 2]]
    found = materialized_table(catalog, "db.m")
    assert (found.is_current, found.sources, found.is_stale(now_ms=99_000)) == (True, ("db.t",), False)
    paimon.write(tmp_path, "db.t", [["+I", ["c", 3]]])
    found = materialized_table(catalog, "db.m")
    assert found.changed_sources == ("db.t",)
    assert (found.is_stale(now_ms=31_000), found.is_stale(now_ms=31_001)) == (False, True)
    # It knows no query: its INSERT is accepted, and the next refresh replaces the row.
    paimon.write(tmp_path, "db.m", [["+I", ["x", 9]]])
    assert materialized_table(catalog, "db.m").refresh is None
    refreshed(catalog, "db.m", ROWS, at_ms=2_000)
    assert sorted(paimon.read(tmp_path, "db.m")["rows"]) == [["a", 1], ["b", 2]]


def test_a_table_with_the_options_that_flink_stores_is_one_of_ours(paimon: PaimonPeer, tmp_path: Path) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    options = {
        "type": "materialized-table",
        f"{KEY}definition-query": "SELECT `t`.`v`, `t`.`n` FROM `paimon`.`db`.`t` AS `t`",
        f"{KEY}interval-freshness": "3",
        f"{KEY}interval-freshness.time-unit": "MINUTE",
        f"{KEY}logical-refresh-mode": "AUTOMATIC",
        f"{KEY}refresh-mode": "CONTINUOUS",
        f"{KEY}refresh-status": "ACTIVATED",
        f"{KEY}refresh-handler-description": "ClusterId 1",
        f"{KEY}refresh-handler-bytes": "AAAA",
    }
    columns = [["v", "STRING"], ["n", "BIGINT"]]
    paimon.create_table(tmp_path, "db.m", columns=columns, primary_keys=[], partition_keys=[], options=options)
    paimon.write(tmp_path, "db.m", [["+I", ["a", 1]]])
    assert catalog.load_table("db.m").scan().to_arrow().to_pylist() == [{"v": "a", "n": 1}]
    found = materialized_table(catalog, "db.m")
    assert (str(found.freshness), found.is_suspended) == ("0:03:00", False)
    assert found.problem is not None
    assert "continuously" in found.problem
    paimon.alter_options(tmp_path, "db.m", {f"{KEY}refresh-mode": "FULL"})
    assert "workflow of Flink" in str(materialized_table(catalog, "db.m").problem)
