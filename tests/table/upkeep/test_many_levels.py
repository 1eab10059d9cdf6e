"""Tables with more levels than a byte can count."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, load_catalog


@pytest.mark.parametrize(
    "options",
    [
        {"deletion-vectors.enabled": "true"},
        {"changelog-producer": "lookup"},
        {"changelog-producer": "full-compaction"},
        {"merge-engine": "first-row"},
    ],
    ids=str,
)
def test_a_table_with_a_thousand_levels_is_compacted_and_looked_up(tmp_path: Path, options: dict[str, str]) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    schema = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int32())])
    given = {"bucket": "1", "num-levels": "1000", **options}
    table = catalog.create_table("db.t", Schema.from_arrow(schema, primary_keys=["k"], options=given))
    for value in range(3):
        table.append(pa.table({"k": [1], "v": [value]}, schema=schema))
        table.compact(full=True)
    expected = 0 if "merge-engine" in options else 2
    assert table.scan().to_arrow().to_pylist() == [{"k": 1, "v": expected}]
