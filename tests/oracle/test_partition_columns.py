"""Partition columns whose values the files lack or do not hold exactly: both readers take them from the partition."""

from __future__ import annotations

from pathlib import Path

import pytest

from table_format import Schema, Table, load_catalog
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer
from tests.support.json_rows import json_rows
from tests.support.tables import KEYED, keyed
from tests.support.taken_over_files import taken_over


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_files_taken_over_from_hive_are_read_and_changed_as_by_paimon(
    paimon: PaimonPeer, tmp_path: Path, file_format: str
) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    options = {"file.format": file_format}
    table = catalog.create_table("db.t", Schema.from_arrow(KEYED, partition_keys=["dt"], options=options))
    table.append(keyed([(i, "abc"[i % 3], i) for i in range(9)]))
    table = taken_over(table)
    table.update({"v": "7"}, "dt = 'b' AND id > 2")
    paimon.write(tmp_path, "db.t", [["+I", [9, "a", 9]]])
    table.delete("dt = 'c' AND id = 5")
    assert assert_same_at_every_snapshot(paimon, tmp_path, "db.t") == 4


def test_a_timestamp_before_1970_in_orc_is_that_of_the_partition(paimon: PaimonPeer, tmp_path: Path) -> None:
    load_catalog({"warehouse": str(tmp_path)}).create_database("db")
    columns = [["k", "INT"], ["at", "TIMESTAMP(3)"]]
    paimon.create_table(tmp_path, "db.t", columns=columns, partition_keys=["at"], options={"file.format": "orc"})
    rows = [[1, "1969-12-31T23:59:59.120"], [2, "1970-01-01T00:00:00.120"]]
    paimon.write(tmp_path, "db.t", [["+I", row] for row in rows])  # in the file, the first is one second late
    assert assert_same_at_every_snapshot(paimon, tmp_path, "db.t") == 1
    table = load_catalog({"warehouse": str(tmp_path)}).load_table("db.t")
    assert isinstance(table, Table)
    scan = table.scan(filter="at < TIMESTAMP '1970-01-01 00:00:00'")
    assert json_rows(scan.to_arrow(), scan.plan().fields) == rows[:1]
    assert table.verify(depth="rows").is_healthy
