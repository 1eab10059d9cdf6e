"""Statistics of some columns only, as the real Paimon and this library write them for the same table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Table, load_catalog
from table_format.model.data_file import DataFileMeta
from tests.oracle.peer import PaimonPeer
from tests.support.deletion_marks import live_data_files

COLUMNS: list[list[Any]] = [
    ["k", "INT NOT NULL"],
    ["a", "STRING"],
    ["list", {"type": "ARRAY", "element": "INT"}],
    ["b", "BIGINT"],
    ["c", "STRING"],
]
ROWS: list[list[Any]] = [[i, f"{i:020}", [i], i * 7, "x" * i] for i in range(1, 40)]
SCHEMA = pa.schema(
    [("k", pa.int32()), ("a", pa.string()), ("list", pa.list_(pa.int32())), ("b", pa.int64()), ("c", pa.string())]
)


@pytest.fixture(scope="module")
def paimon(peers: Callable[[str], PaimonPeer]) -> PaimonPeer:
    """Version 0.9 stores no dense statistics."""
    return peers("1.4.2")


def facts(file: DataFileMeta) -> tuple[object, ...]:
    return file.value_stats_cols, file.value_stats, file.key_stats, file.min_key, file.max_key


@pytest.mark.parametrize("keys", [[], ["k"]])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"metadata.stats-mode": "none"},
        {"metadata.stats-mode": "none", "fields.b.stats-mode": "counts"},
        {"metadata.stats-keep-first-n-columns": "2"},
        {"metadata.stats-keep-first-n-columns": "1", "fields.c.stats-mode": "truncate(3)"},
        {"metadata.stats-keep-first-n-columns": "0"},
        {"metadata.stats-keep-first-n-columns": "2", "data-file.thin-mode": "true"},
        {"metadata.stats-mode.per.level": "0:counts,5:none"},
    ],
)
def test_files_of_both_have_the_same_statistics(
    paimon: PaimonPeer, tmp_path: Path, keys: list[str], options: dict[str, str]
) -> None:
    if not keys and {"data-file.thin-mode", "metadata.stats-mode.per.level"} & options.keys():
        pytest.skip("options of primary keys")
    given = {**options, "metadata.stats-dense-store": "true", **({"bucket": "1"} if keys else {})}
    load_catalog({"warehouse": str(tmp_path)}).create_database("db")
    files = []
    for name, is_ours in (("ours", True), ("theirs", False)):
        paimon.create_table(
            tmp_path, f"db.{name}", columns=COLUMNS, primary_keys=keys, partition_keys=[], options=given
        )
        table = load_catalog({"warehouse": str(tmp_path)}).load_table(f"db.{name}")
        assert isinstance(table, Table)
        if is_ours:
            columns = dict(zip(SCHEMA.names, zip(*ROWS, strict=True), strict=True))
            table.append(pa.table({n: pa.array(v, SCHEMA.field(n).type) for n, v in columns.items()}))
        else:
            paimon.write(tmp_path, f"db.{name}", [["+I", row] for row in ROWS])
        (file,) = live_data_files(table)
        files.append(file)
        assert table.scan(filter="b = 70").to_arrow()["k"].to_pylist() == [10]
        assert sorted(paimon.read_where(tmp_path, f"db.{name}", ["=", "b", 70]))[0][0] == 10
        assert paimon.read_where(tmp_path, f"db.{name}", ["=", "c", "nothing"]) == []
    assert facts(files[0]) == facts(files[1])
