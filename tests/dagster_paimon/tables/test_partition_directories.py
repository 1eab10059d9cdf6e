"""The partitions that due maintenance names, as arguments of a compaction."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest

from dagster_paimon.tables.partition_directories import specs_of_directories
from table_format import Table
from tests.support.tables import memory_warehouse

FIELDS = [pa.field("id", pa.int64(), nullable=False), pa.field("day", pa.date32()), pa.field("region", pa.string())]


def a_table(**options: str) -> Table:
    return memory_warehouse().table(schema=pa.schema(FIELDS), partition_keys=["day", "region"], options=options)


def directories(table: Table, *regions: str | None) -> list[str]:
    rows = [{"id": number, "day": date(2026, 1, 2), "region": region} for number, region in enumerate(regions)]
    table.append(pa.Table.from_pylist(rows, schema=pa.schema(FIELDS)))
    facts = table.facts
    return [facts.partitions.text(entry.partition) for entry in facts.live_files(facts.snapshots.latest()).entries]


def test_names_are_values_with_their_special_characters() -> None:
    table = a_table(**{"partition.legacy-name": "false"})
    found = specs_of_directories(table, directories(table, "a/b", "c=d"))
    assert found == [{"day": "2026-01-02", "region": "a/b"}, {"day": "2026-01-02", "region": "c=d"}]


@pytest.mark.parametrize("options", [{}, {"partition.default-name": "none"}])
def test_a_null_stands_for_all_partitions(options: dict[str, str]) -> None:
    table = a_table(**{"partition.legacy-name": "false"}, **options)
    assert specs_of_directories(table, directories(table, "a", None)) == []


def test_the_number_of_a_day_stands_for_all_partitions() -> None:
    table = a_table()
    assert specs_of_directories(table, directories(table, "a")) == []


def test_a_table_without_partitions_has_no_specs() -> None:
    assert specs_of_directories(memory_warehouse().table(), [""]) == []
