"""JSON lines: Arrow and Python read the same rows, in blocks of any size."""

from __future__ import annotations

from io import BytesIO

import click
import pyarrow as pa
import pytest

from table_format.cli import json_lines
from table_format.cli.json_lines import read_json_lines
from table_format.cli.values import json_lines as written_lines
from tests.support.typed_rows import SCALARS, fields_of, rows_of

# Arrow reads no NaN and no infinity, which JSON does not have.
TYPED = {name: column for name, column in SCALARS.items() if name not in ("single", "double_")}


@pytest.mark.parametrize("by", ["Arrow", "Python"])
@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 20])
def test_every_value_is_read_in_blocks_of_any_size(by: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if by == "Arrow":
        monkeypatch.delattr(json_lines, "_read_with_python")
    else:
        monkeypatch.delattr(json_lines, "_read_with_arrow")
        monkeypatch.setattr(json_lines, "_needs_python", lambda _: True)
    monkeypatch.setattr(json_lines, "_BLOCK_BYTES", size)
    rows = rows_of(TYPED, fields_of(TYPED))
    text = "\r\n\n".join(line for batch in rows.to_batches() for line in written_lines(batch))
    found = pa.Table.from_batches(read_json_lines(BytesIO(text.encode()), rows.schema))
    assert str(found.to_pylist()) == str(rows.to_pylist())


@pytest.mark.parametrize("needs_python", [False, True])
def test_a_column_that_is_missing_is_null_and_another_one_is_text(
    needs_python: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_lines, "_needs_python", lambda _: needs_python)
    monkeypatch.setattr(json_lines, "_BLOCK_BYTES", 1)
    lines = b'{"b": 1, "kind": "+I"}\n{"a": null, "b": 2}\n'
    wanted = pa.schema([("a", pa.string()), ("b", pa.int8())])
    found = pa.Table.from_batches(read_json_lines(BytesIO(lines), wanted)).to_pylist()
    assert found == [{"a": None, "b": 1, "kind": "+I"}, {"a": None, "b": 2, "kind": None}]
    with pytest.raises(click.ClickException, match="line 3: column 'c' is not in the first lines of the file"):
        list(read_json_lines(BytesIO(lines + b'{"c": 1}\n'), wanted))
