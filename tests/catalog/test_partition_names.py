"""The directories of partitions keep their names once there are any."""

from __future__ import annotations

import pytest

from table_format.errors import InvalidOption
from table_format.model.schema_change import SetOption
from tests.support.tables import keyed, memory_warehouse, rows_of

CHANGES = (
    ("partition.default-name", "none", "__DEFAULT_PARTITION__"),
    ("partition.legacy-name", "false", "true"),
)


@pytest.mark.parametrize(("key", "value", "default"), CHANGES)
def test_partitions_are_not_named_otherwise_once_there_are_rows(key: str, value: str, default: str) -> None:
    warehouse = memory_warehouse()
    table = warehouse.table("t", primary_keys=["id", "dt"], partition_keys=["dt"], options={"bucket": "1"})
    table = warehouse.catalog.alter_table("db.t", SetOption(key, value))
    table.append(keyed([(1, "a", 1)]))
    with pytest.raises(InvalidOption, match=rf"'{key}': may not change from '{value}' to '{default}'.*copy the rows"):
        warehouse.catalog.alter_table("db.t", SetOption(key, default))
    with pytest.raises(InvalidOption, match="says where the files of a table are"):
        table.copy({key: default})
    assert rows_of(table.copy({key: value})) == [(1, "a", 1)]


def test_a_table_without_partitions_has_no_names_to_keep() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table("t", primary_keys=["id"], options={"bucket": "1"})
    with pytest.raises(InvalidOption, match="would have no effect: it needs partition columns"):
        table.copy({"partition.default-name": "none"})
