"""The partitions that callers name: by values, as text, or as null."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import InvalidData
from tests.support.tables import keyed, memory_warehouse, rows_of

NULL_NAMES = {
    "default": ({}, "__DEFAULT_PARTITION__"),
    "named": ({"partition.default-name": "nothing"}, "nothing"),
}
ROWS = [(1, "a", 1), (2, None, 2)]


def a_table(options: dict[str, str]) -> Table:
    table = memory_warehouse().table(partition_keys=["dt"], options={"write-only": "true", **options})
    for _ in range(2):
        table.append(keyed(ROWS))
    return table


def drop(table: Table, name: str) -> None:
    table.drop_partitions([{"dt": name}])
    assert {row[1] for row in rows_of(table)} == {"a"}


def compact(table: Table, name: str) -> None:
    table.compact(full=True, partitions=[{"dt": name}])
    assert sorted((split.partition is not None, len(split.files)) for split in table.scan().plan().splits) == [
        (True, 1),
        (True, 2),
    ]


def verify(table: Table, name: str) -> None:
    assert table.verify(depth="rows", partitions=[{"dt": name}]).is_healthy


def mark(table: Table, name: str) -> None:
    [path] = table.mark_partitions_done([{"dt": name}])
    assert name in path


@pytest.mark.parametrize(("options", "name"), NULL_NAMES.values(), ids=NULL_NAMES.keys())
@pytest.mark.parametrize("work", [drop, compact, verify, mark])
def test_the_directory_name_of_null_selects_the_partition_without_a_value(
    options: dict[str, str], name: str, work: Callable[[Table, str], None]
) -> None:
    work(a_table(options), name)


def test_rows_are_written_to_a_partition_whose_value_is_the_name_of_null() -> None:
    table = a_table({})
    rows = pa.table({"id": pa.array([3], pa.int64()), "v": pa.array([3], pa.int32())})
    table.overwrite(rows, partition={"dt": "__DEFAULT_PARTITION__"})
    assert sorted(map(str, rows_of(table)))[-1] == "(3, '__DEFAULT_PARTITION__', 3)"
    assert len(rows_of(table)) == 5


def test_a_float_names_the_partition_with_the_nearest_value() -> None:
    schema = pa.schema([("id", pa.int64()), ("f", pa.float32()), ("d", pa.float64())])
    table = memory_warehouse().table(schema=schema, partition_keys=["f", "d"])
    table.append(pa.table({"id": [1, 2], "f": [0.1, 2.5], "d": [0.1, 0.1]}, schema=schema))
    table.drop_partitions([{"f": 0.1}])
    assert [row[0] for row in rows_of(table)] == [2]
    table.drop_partitions([{"d": Decimal("0.1")}])
    assert rows_of(table) == []
    for value in (1e300, Decimal("1e300")):
        with pytest.raises(InvalidData, match="partition column 'f' is FLOAT, which cannot hold"):
            table.drop_partitions([{"f": value}])
