"""File indexes select rows, and no row is missed or added for it; of the others nothing is decoded."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from table_format import Schema, Table
from table_format.formats.data_file_reader import DataFileReader
from tests.support.matrix import tries
from tests.support.tables import memory_warehouse

COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("color", pa.string()),
        ("price", pa.int32()),
        ("score", pa.float64()),
    ]
)
INDEXES = {
    "file-index.bitmap.columns": "color",
    "file-index.bsi.columns": "price",
    "file-index.range-bitmap.columns": "score",
    "metadata.stats-mode": "none",
}
KINDS: dict[str, tuple[list[str], dict[str, str]]] = {
    "append": ([], {"bucket": "-1"}),
    "append with deletion vectors": ([], {"bucket": "-1", "deletion-vectors.enabled": "true"}),
    "merge on write": (["id"], {"bucket": "1", "deletion-vectors.enabled": "true"}),
    "merge on read": (["id"], {"bucket": "2"}),
    "first row": (["id"], {"bucket": "1", "merge-engine": "first-row"}),
    "copy on write": (["id"], {"bucket": "1", "full-compaction.delta-commits": "1"}),
    "summed": (["id"], {"bucket": "1", "merge-engine": "aggregation", "fields.price.aggregate-function": "sum"}),
}
FORMATS = ("parquet", "orc", "avro")
CONDITIONS = (
    "color = 'red'",
    "color <> 'red'",
    "color IN ('red', 'blue')",
    "color NOT IN ('red', 'blue')",
    "color IS NULL",
    "color IS NOT NULL AND price IS NULL",
    "price = 7",
    "price BETWEEN 3 AND 9",
    "price > 17 OR color = 'green'",
    "score < 2.5",
    "score >= 0.0 AND color = 'blue'",
    "NOT (price < 4 OR score > 1.0)",
    "color = 'red' AND price > 5 AND score < 9.0",
    "color = 'gray'",
    "id = 11 AND color = 'red'",
)


def rows(ids: list[int], step: int) -> pa.Table:
    colors = ["red", "green", "blue", None]
    columns: list[list[Any]] = [
        ids,
        [colors[(i * step) % 4] for i in ids],
        [None if (i + step) % 6 == 0 else (i * step) % 23 - 3 for i in ids],
        [None if i % 5 == 0 else (i + step) % 13 / 2 - 1 for i in ids],
    ]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, COLUMNS, strict=True)], schema=COLUMNS)


def a_table(kind: str, file_format: str, **more: str) -> Table:
    keys, options = KINDS[kind]
    catalog = memory_warehouse().catalog
    wanted = {"file.format": file_format, **INDEXES, **options, **more}
    catalog.create_table("db.t", Schema.from_arrow(COLUMNS, primary_keys=keys, options=wanted))
    table = catalog.load_table("db.t")
    assert isinstance(table, Table)
    return table


def found(table: Table, condition: str, *, with_indexes: bool) -> list[dict[str, Any]]:
    options = {} if with_indexes else {"file-index.read.enabled": "false"}
    scan = table.scan(filter=condition, options=options)
    return sorted(scan.to_arrow(threads=1).to_pylist(), key=repr)


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=tries(4, many=8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_scan_with_indexes_gives_the_rows_of_one_without(kind: str, file_format: str, data: st.DataObject) -> None:
    table = a_table(kind, file_format)
    for step in range(1, data.draw(st.integers(2, 4))):
        ids = data.draw(st.lists(st.integers(0, 60), min_size=1, max_size=40, unique=True))
        table.append(rows(ids, step))
    if "deletion" in kind or kind == "merge on write":
        table.delete("id IN (3, 11, 17)")
    if data.draw(st.booleans()):
        table.compact(full=True)
    for condition in CONDITIONS:
        assert found(table, condition, with_indexes=True) == found(table, condition, with_indexes=False), condition


@pytest.mark.parametrize("file_format", FORMATS)
def test_only_selected_rows_are_decoded(file_format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = a_table("append", file_format)
    table.append(rows(list(range(4000)), 1))
    decoded: list[int] = []
    read = DataFileReader.read

    def counted(self: DataFileReader, *arguments: Any, **more: Any) -> Any:
        for batch in read(self, *arguments, **more):
            decoded.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(DataFileReader, "read", counted)
    condition = "color = 'red' AND price = 7"
    expected = sorted(i for i in range(4000) if i % 4 == 0 and (i + 1) % 6 and i % 23 - 3 == 7)
    assert sorted(row["id"] for row in found(table, condition, with_indexes=True)) == expected
    assert sum(decoded) == len(expected)


def test_the_plan_says_how_many_rows_indexes_select() -> None:
    table = a_table("append", "parquet")
    table.append(rows(list(range(400)), 1))
    wanted = sum(i % 23 - 3 == 7 and (i + 1) % 6 != 0 for i in range(400))
    lines = str(table.scan(filter="price = 7").plan()).splitlines()
    assert f"  selected   {wanted} of 400 rows in 1 file by their indexes" in lines
    assert not any("selected" in line for line in str(table.scan(filter="color IS NOT NULL").plan()).splitlines())


def test_rows_that_have_to_be_merged_are_not_selected_one_by_one() -> None:
    table = a_table("merge on read", "parquet", bucket="1")
    table.append(rows(list(range(40)), 1))
    table.append(rows(list(range(40)), 2))
    plan = table.scan(filter="color = 'red'").plan()
    assert [split.raw_convertible for split in plan] == [False]
    assert [split.selections for split in plan] == [()]
