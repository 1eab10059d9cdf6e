"""The ORC writer and values that become much larger in the file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, load_catalog
from table_format.formats import orc_writer
from table_format.model.types import CharType, DataField


def test_long_chars_are_padded_a_few_rows_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orc_writer, "_PADDED_CHARACTERS", 3_000)
    widths: list[int] = []
    to_storage = orc_writer.to_storage

    def storing(array: pa.Array, data_type: CharType) -> pa.Array:
        stored = to_storage(array, data_type)
        widths.append(stored.nbytes)
        return stored

    monkeypatch.setattr(orc_writer, "to_storage", storing)
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    fields = (DataField(0, "c", CharType(1_000)),)
    table = catalog.create_table("db.t", Schema(fields, options={"file.format": "orc"}))
    rows = pa.table({"c": [str(number) for number in range(10)]})
    table.append(rows)
    assert len(widths) == 4
    assert max(widths) < 3_100
    assert sorted(table.scan().to_arrow().column("c").to_pylist()) == rows.column("c").to_pylist()
