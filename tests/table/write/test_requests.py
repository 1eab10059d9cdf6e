"""The requests of a write to the store."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from table_format import AddColumn
from table_format.io.memory import MemoryFileIO
from table_format.types import IntType
from tests.support.metastore_table import HookedFileIO
from tests.support.tables import warehouse_on

ROWS = pa.table({"a": [1]})


def test_an_append_looks_for_the_schema_three_times() -> None:
    store = HookedFileIO(MemoryFileIO())
    table = warehouse_on(store).table(schema=ROWS.schema)
    table.append(ROWS)
    store.calls.clear()
    table.append(ROWS)
    of_schemas = Counter((verb, path.rpartition("/")[2]) for verb, path in store.calls if "/schema/" in path)
    # When the append begins, when its commit begins, and when the commit writes its manifests. The identity of the
    # table is also checked before the rows are written and after the commit. The last known schema is read, because a
    # fast-forward may have replaced it.
    assert of_schemas == {("read", "schema-0"): 7, ("status", "schema-1"): 3}


def test_an_append_notices_a_column_that_is_added_while_it_writes() -> None:
    store = HookedFileIO(MemoryFileIO())
    warehouse = warehouse_on(store)
    table = warehouse.table(schema=ROWS.schema)

    def add_column() -> None:
        store.calm()
        warehouse.catalog.alter_table(str(table.identifier), AddColumn("b", IntType()))

    store.before("open_output", "data-", add_column)
    table.append(ROWS)
    assert table.current().scan().to_arrow().to_pylist() == [{"a": 1, "b": None}]
