"""Every merge engine through Spark: written in tasks, merged in reads and compactions, equal to one process."""

from __future__ import annotations

import pyarrow as pa
import pytest

from table_format.errors import RetractNotSupported
from tests.spark.lakes import TestLake

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

COLUMNS = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("g", pa.int32()), ("v", pa.string()), ("n", pa.int64())]
)
DDL = "id long, g int, v string, n long"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"merge-engine": "partial-update", "fields.g.sequence-group": "v"},
            [(1, 5, None, 30), (2, 2, "b", 20)],
        ),
        (
            {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "fields.g.aggregate-function": "max"},
            [(1, 5, "late", 60), (2, 2, "b", 20)],
        ),
        ({"merge-engine": "first-row"}, [(1, 1, "a", 10), (2, 2, "b", 20)]),
    ],
    ids=lambda value: value.get("merge-engine") if isinstance(value, dict) else "",
)
def test_rows_of_a_key_are_merged_by_the_merge_engine(
    lake: TestLake, options: dict[str, str], expected: list[tuple[object, ...]]
) -> None:
    lake.create(schema=COLUMNS, **options)
    lake.write([(1, 1, "a", 10), (2, 2, "b", 20)], DDL)
    lake.write([(1, 5, None, 20)], DDL)
    lake.write([(1, 3, "late", 30)], DDL)
    assert lake.rows() == expected
    lake.lake.compact("s.t", full=True)
    assert lake.rows() == expected
    assert lake.rows(filter="id = 1", columns=["n"]) == [(expected[0][3],)]


def test_a_retract_that_the_merge_engine_does_not_support_stops_the_write(lake: TestLake) -> None:
    lake.create(schema=COLUMNS, **{"merge-engine": "aggregation", "fields.n.aggregate-function": "max"})
    with pytest.raises(RetractNotSupported, match=r"fields\.n\.ignore-retract"):
        lake.write([(1, 1, "a", 1, "-D")], DDL + ", _row_kind string")
    assert lake.files() == []
    assert lake.table().latest_snapshot() is None
