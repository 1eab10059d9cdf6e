"""What the page on file indexes shows works as it is written there."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.code_blocks import code_blocks, run_block
from tests.support.tables import memory_warehouse

PAGE = (Path(__file__).parents[2] / "docs" / "file-index.md").read_text()


def test_the_example_of_aggregates_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = (block for block in code_blocks(PAGE) if "aggregate" in block)
    schema = pa.schema([("status", pa.string()), ("country", pa.string()), ("price", pa.decimal128(9, 2))])
    options = {"file-index.bitmap.columns": "status,country", "file-index.bsi.columns": "price"}
    table = memory_warehouse().table(schema=schema, options=options)
    for country in ("DE", "FR"):
        prices = [Decimal("1.50"), Decimal("2.25"), Decimal(7)]
        rows = {"status": ["paid", "paid", "open"], "country": [country] * 3, "price": prices}
        table.append(pa.table(rows, schema=schema))
    run_block(example, {"table": table})
    shown = capsys.readouterr().out.splitlines()
    assert shown[:3] == ["4", "DE 3.75 2", "FR 3.75 2"]
    # The example says how its report ends.
    (promise,) = re.findall(r"# \.\.\.(: .*)", example)
    assert shown[-1].endswith(promise)
