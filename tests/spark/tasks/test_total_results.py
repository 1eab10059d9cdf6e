"""Totals travel from tasks to the driver without a change."""

from __future__ import annotations

import math
from decimal import Decimal

import pyarrow as pa
import pytest

from table_format.errors import MissingFile
from table_format.kernels.totals import Wanted
from table_format.spark.tasks.total_results import decode_totals, encode_totals, gathered_totals, total_result
from table_format.table.read.aggregates import Totals, totals_of_splits
from tests.support.tables import memory_warehouse

COLUMNS = pa.schema(
    [
        ("color", pa.string()),
        ("size", pa.float64()),
        ("n", pa.int64()),
        ("price", pa.decimal128(38, 2)),
        ("seen", pa.timestamp("us")),
    ]
)
WANTED = {
    "rows": ("count", "*"),
    "sizes": ("count", "size"),
    "sum": ("sum", "n"),
    "high": ("max", "seen"),
    "sum of prices": ("sum", "price"),
}


@pytest.mark.parametrize("group_by", [None, "color", "size", "n", "price", "seen"])
@pytest.mark.parametrize("filter", [None, "color = 'red'", "n < 0"])
def test_totals_are_preserved_between_task_and_driver(group_by: str | None, filter: str | None) -> None:
    table = memory_warehouse().table(schema=COLUMNS)
    ids = range(40)
    table.append(
        pa.table(
            {
                "color": [("red", "blue", None)[i % 3] for i in ids],
                "size": [(0.0, -0.0, math.nan, None, 2.5)[i % 5] for i in ids],
                "n": [None if i % 7 == 0 else 2**62 + i for i in ids],
                "price": [Decimal(10**35 + i) for i in ids],
                "seen": [i * 10**9 for i in ids],
            },
            schema=COLUMNS,
        )
    )
    plan, aggregation = table.scan(filter=filter).aggregation(WANTED, group_by=group_by)
    totals = totals_of_splits(table.facts, plan, aggregation.wanted, plan.splits)
    found = decode_totals(encode_totals(totals, aggregation.wanted), aggregation.wanted)
    assert repr(aggregation.rows(found.groups)) == repr(aggregation.rows(totals.groups))
    assert found.files_read == totals.files_read


class _Row:
    def __init__(self, row: dict[str, object]) -> None:
        self.messages, self.failure = row["messages"], row["failure"]


def test_the_error_of_a_task_is_raised_on_the_driver_with_its_own_class() -> None:
    wanted = Wanted()

    def fail() -> Totals:
        raise MissingFile("/t/data-1.parquet")

    rows = [_Row(total_result(work, wanted).to_pylist()[0]) for work in (lambda: Totals({}), fail)]
    with pytest.raises(MissingFile, match="data-1"):
        list(gathered_totals(rows, wanted))
    assert list(gathered_totals(rows[:1], wanted)) == [Totals({})]
