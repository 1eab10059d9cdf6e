"""A partition whose directory no file system can name is refused before anything is written, on any store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import InvalidData
from table_format.table.changes.merge_into import Insert
from tests.support.odd_arguments import everything
from tests.support.tables import Warehouse, disk_warehouse, keyed, memory_warehouse, rows_of

KINDS: dict[str, dict[str, Any]] = {
    "append": {},
    "append with buckets": {"options": {"bucket": "2", "bucket-key": "id"}},
    "fixed buckets": {"primary_keys": ["id", "dt"]},
    "dynamic buckets": {"primary_keys": ["id", "dt"], "options": {"bucket": "-1"}},
    "moving keys": {"primary_keys": ["id"], "options": {"bucket": "-1"}},
    "postponed": {"primary_keys": ["id", "dt"], "options": {"bucket": "-2"}},
    "deletion vectors": {"primary_keys": ["id", "dt"], "options": {"deletion-vectors.enabled": "true"}},
    "first row": {"primary_keys": ["id", "dt"], "options": {"merge-engine": "first-row"}},
}
FITS = ("x" * 252, "é" * 126, "%" * 84, "日" * 84)
DOES_NOT_FIT = ("x" * 253, "é" * 127, "%" * 85, "日" * 85, "/" * 100, "x" * 100_000)


@pytest.fixture(params=["memory", "disk"])
def warehouse(request: pytest.FixtureRequest, tmp_path: Path) -> Warehouse:
    return memory_warehouse() if request.param == "memory" else disk_warehouse(tmp_path)


def _files(table: Table) -> dict[str, bytes]:
    return everything(table.store.io, table.store.paths.root)


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_too_long_for_a_directory_is_refused_and_nothing_written(warehouse: Warehouse, kind: str):
    table = warehouse.table("t", partition_keys=["dt"], **KINDS[kind])
    table.append(keyed([(1, "a", 1)]))
    before = _files(table)
    for value in DOES_NOT_FIT:
        with pytest.raises(InvalidData, match=r"partition column 'dt': .* directory name of \d+ bytes.*at most 255"):
            table.append(keyed([(2, "b", 2), (3, value, 3)]))
        assert _files(table) == before
    if kind == "postponed":
        table.compact()
    assert rows_of(warehouse.reopened(table)) == [(1, "a", 1)]


@pytest.mark.parametrize("kind", ["append", "fixed buckets"])
def test_a_value_whose_escaped_name_just_fits_is_written_and_read(warehouse: Warehouse, kind: str):
    table = warehouse.table("t", partition_keys=["dt"], **KINDS[kind])
    for number, value in enumerate(FITS):
        table.append(keyed([(number, value, 1)]))
    assert {row[1] for row in rows_of(table)} == set(FITS)


def test_rows_that_are_moved_to_such_a_partition_are_refused(warehouse: Warehouse):
    table = warehouse.table("t", partition_keys=["dt"])
    table.append(keyed([(1, "a", 1)]))
    before = _files(table)
    with pytest.raises(InvalidData, match="partition column 'dt'"):
        table.update({"dt": f"'{'x' * 300}'"}, "id = 1")
    with pytest.raises(InvalidData, match="partition column 'dt'"):
        table.merge(keyed([(2, "x" * 300, 1)]), "id", when_not_matched=Insert())
    with pytest.raises(InvalidData, match="partition column 'dt'"):
        table.overwrite(keyed([(2, "b" * 300, 1)]))
    assert _files(table) == before


def test_a_path_of_many_partition_columns_that_is_too_long_is_refused(warehouse: Warehouse):
    names = [f"p{i}" for i in range(20)]
    schema = pa.schema([("id", pa.int64()), *((name, pa.string()) for name in names)])
    table = warehouse.table("t", schema, partition_keys=names)
    rows = pa.table({"id": pa.array([1]), **{name: ["x" * 250] for name in names}})
    with pytest.raises(InvalidData, match=r"directory path of \d+ bytes"):
        table.append(rows)
    assert table.latest_snapshot() is None
