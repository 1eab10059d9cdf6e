"""What the page on filters shows works as it is written there."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, load_catalog
from tests.support.code_blocks import code_blocks, run_block

PAGE = (Path(__file__).parents[2] / "docs" / "filters.md").read_text()


def test_the_examples_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("shop")
    columns = pa.schema([("id", pa.int64()), ("state", pa.string()), ("amount", pa.int64()), ("day", pa.date32())])
    orders = catalog.create_table("shop.orders", Schema.from_arrow(columns))
    days = [date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 2), date(2026, 1, 2)]
    rows = {"id": [1, 2, 3, 4], "state": ["new", "sent", None, "paid"], "amount": [200, 20, 100, 5], "day": days}
    orders.append(pa.table(rows, schema=columns))
    names = {"catalog": catalog}
    for example in code_blocks(PAGE):
        run_block(example, names)
    assert capsys.readouterr().out.splitlines() == [
        "2",
        "2",
        "amount >= 100 AND (state IN ('new', 'paid') OR state IS NULL)",
        "[1, 3]",
        "InvalidFilter",
        "column 'amuont' of the filter does not exist; the columns are id, state, amount, day; did you mean 'amount'?",
    ]
