"""What the page on engines shows works as it is written there."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, load_catalog
from tests.support.code_blocks import code_blocks, run_block

PAGE = (Path(__file__).parents[2] / "docs" / "engines.md").read_text()


def test_the_examples_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("shop")
    columns = pa.schema(
        [pa.field("id", pa.int64(), nullable=False), ("state", pa.string()), ("price", pa.decimal128(9, 2))]
    )
    orders = catalog.create_table("shop.orders", Schema.from_arrow(columns, ["id"], options={"bucket": "1"}))
    for ids, states in (([1, 2], ["paid", "new"]), ([2, 3], ["paid", "sent"])):
        rows = {"id": ids, "state": states, "price": [Decimal(10 * i) for i in ids]}
        orders.append(pa.table(rows, schema=columns))
    names = {"catalog": catalog}
    for example in code_blocks(PAGE):
        run_block(example, names)
    assert capsys.readouterr().out.splitlines() == [
        "30.00",
        "[(1, 'paid'), (2, 'paid')]",
        "[('paid', 2), ('sent', 1)]",
        "3 3",
        "[2, 3]",
        "[(2, Decimal('40.00')), (3, Decimal('60.00'))]",
        "[(3,)]",
        "[(2,)]",
    ]
