"""Sums that exceed the precision of their column: the stored form in each format, and later writes."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog

FULL = {
    # file format: of DECIMAL(5, 2) 999.99 + 0.01, of DECIMAL(9, 2) 3 * 9999999.99, of DECIMAL(18, 0) 10^18 - 1 + 1
    "parquet": (Decimal("1000.00"), Decimal("-12949672.99"), Decimal(10**18)),
    "orc": (None, None, None),
    "avro": (None, None, None),
}
TYPES = (pa.decimal128(5, 2), pa.decimal128(9, 2), pa.decimal128(18, 0))
COMMITS = (
    (Decimal("999.99"), Decimal("9999999.99"), Decimal(10**18 - 1)),
    (Decimal("0.01"), Decimal("9999999.99"), Decimal(1)),
    (Decimal("0.00"), Decimal("9999999.99"), Decimal(0)),
)
SUMS = {f"fields.s{i}.aggregate-function": "sum" for i in range(len(TYPES))}


def rows(values: tuple[Any, ...], nullable: bool) -> pa.Table:
    columns = [pa.field("k", pa.int32(), nullable=False)]
    columns += [pa.field(f"s{i}", t, nullable=nullable) for i, t in enumerate(TYPES)]
    schema = pa.schema(columns)
    return pa.table([pa.array([v], f.type) for v, f in zip((1, *values), schema, strict=True)], schema=schema)


def summed(warehouse: Path, *, nullable: bool = True, **options: str) -> Table:
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_database("db")
    given = {"bucket": "1", "merge-engine": "aggregation", **SUMS, **options}
    schema = Schema.from_arrow(rows(COMMITS[0], nullable).schema, primary_keys=["k"], options=given)
    table = catalog.create_table("db.t", schema)
    for values in COMMITS:
        table.append(rows(values, nullable))
    return table


def only_row(table: Table) -> tuple[Any, ...]:
    (row,) = table.scan().to_arrow().to_pylist()
    return tuple(row[f"s{i}"] for i in range(len(TYPES)))


@pytest.mark.parametrize("file_format", FULL)
@pytest.mark.parametrize("nullable", [True, False])
def test_a_sum_with_too_many_digits_is_compacted_as_the_reference_stores_it(
    tmp_path: Path, file_format: str, nullable: bool
) -> None:
    table = summed(tmp_path, nullable=nullable, **{"file.format": file_format})
    assert only_row(table) == (Decimal("1000.00"), Decimal("29999999.97"), Decimal(10**18))
    table.compact(full=True)
    assert only_row(table) == FULL[file_format]
    table.append(rows(COMMITS[1], nullable))
    table.compact(full=True)
    assert table.scan().to_arrow().num_rows == 1


@pytest.mark.parametrize("file_format", FULL)
def test_writing_is_not_blocked_where_commits_compact_look_up_and_index_such_sums(
    tmp_path: Path, file_format: str
) -> None:
    indexes = {"file-index.bsi.columns": "s0,s1,s2"}
    table = summed(tmp_path, **{"file.format": file_format, "changelog-producer": "lookup", **indexes})
    for _ in range(3):
        table.append(rows(COMMITS[2], True))
    assert table.scan().to_arrow().num_rows == 1


def test_a_filter_finds_a_stored_sum_beyond_its_precision(tmp_path: Path) -> None:
    table = summed(tmp_path)
    table.compact(full=True)
    assert table.scan(filter="s0 > 999").to_arrow().num_rows == 1
    assert table.scan(filter="s2 > 5").to_arrow().num_rows == 1
    assert table.scan(filter="s1 < 0").to_arrow().num_rows == 1
