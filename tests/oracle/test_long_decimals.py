"""Sums that leave the precision of their column: the real Paimon continues, and stores the same values."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, load_catalog
from table_format.table.table import Table
from tests.oracle.peer import PaimonPeer
from tests.support.json_rows import json_rows

TYPES = {
    f"p{precision}_{scale}": pa.decimal128(precision, scale)
    for precision, scale in ((1, 0), (2, 2), (5, 2), (9, 2), (10, 0), (18, 0), (18, 18), (19, 0), (38, 0))
}
COMMITS = 13


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_sums_beyond_their_precision_are_those_of_the_real_paimon(
    paimon: PaimonPeer, tmp_path: Path, file_format: str
) -> None:
    schema = pa.schema([pa.field("k", pa.int32(), nullable=False), *(pa.field(n, t) for n, t in TYPES.items())])
    rows = [
        {"k": sign, **{n: Decimal(f"{sign * (10**t.precision - 1)}e-{t.scale}") for n, t in TYPES.items()}}
        for sign in (-1, 1)
    ]
    options = {
        "bucket": "1",
        "merge-engine": "aggregation",
        "fields.default-aggregate-function": "sum",
        "file.format": file_format,
        "write-only": "true",
    }
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    tables: dict[str, Table] = {}
    for name in ("ours", "theirs"):
        tables[name] = catalog.create_table(
            f"db.{name}", Schema.from_arrow(schema, primary_keys=["k"], options=options)
        )
    batch = pa.Table.from_pylist(rows, schema=schema)
    fields = tables["ours"].schema.fields
    texts = json_rows(batch, fields)

    def all_equal() -> bool:
        ours = [json_rows(table.scan().to_arrow(), fields) for table in tables.values()]
        theirs = [sorted(paimon.read(tmp_path, f"db.{name}")["rows"]) for name in tables]
        return all(rows == ours[0] for rows in ours + theirs)

    for step in range(COMMITS):
        tables["ours"].append(batch)
        paimon.write(tmp_path, "db.theirs", [["+I", row] for row in texts])
        if step % 4 == 3:
            assert all_equal(), step
            tables["ours"].compact(full=True)
            paimon.compact(tmp_path, "db.theirs", {"write-only": "false"})
            assert all_equal(), step
