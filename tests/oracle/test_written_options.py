"""Options that only a writer uses: what CREATE accepts and stores here, the real Paimon can write with."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, load_catalog
from tests.oracle.peer import PaimonPeer
from tests.support.tables import rows_of

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int32())])
OPTIONS: tuple[dict[str, str], ...] = (
    *({"file.format": name, "file.compression": "none"} for name in ("parquet", "orc", "avro")),
    *({"changelog-file.format": name, "changelog-file.compression": "none"} for name in ("parquet", "orc", "avro")),
    {"file.format": "orc", "changelog-file.format": "parquet", "file.compression": "none"},
    {"file.format": "orc", "orc.stripe.size": "32 mb", "orc.compress.size": "128 kb"},
    {"lookup.cache.high-priority-pool-ratio": "0.999", "changelog-producer": "lookup"},
)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(f"{k}={v}" for k, v in options.items()))
def test_both_write_with_the_options_that_are_accepted(
    paimon: PaimonPeer, tmp_path: Path, options: dict[str, str]
) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    given = {"bucket": "1", "changelog-producer": "input", **options}
    table = catalog.create_table("db.t", Schema.from_arrow(SCHEMA, primary_keys=["k"], options=given))
    table.append(pa.table([[1], [1]], schema=SCHEMA))
    paimon.write(tmp_path, "db.t", [["+I", [2, 2]]])
    assert sorted(paimon.read(tmp_path, "db.t")["rows"]) == [[1, 1], [2, 2]]
    assert rows_of(table) == [(1, 1), (2, 2)]
