"""Rows that come with the buckets they were given by others."""

from __future__ import annotations

import pyarrow as pa

from table_format.table.placement.assigners import GivenBuckets
from table_format.table.write.table_write import TableWrite
from tests.support.tables import keyed, memory_warehouse, rows_of


def test_rows_that_are_ignored_take_no_bucket_of_others() -> None:
    options = {"bucket": "-1", "ignore-delete": "true"}
    table = memory_warehouse().table("t", primary_keys=["id"], options=options)
    data = keyed(
        [(1, "a", 1), (1, "a", 2), (2, "a", 3)],
        _row_kind=pa.array(["+I", "-D", "+I"]),
        given=pa.array([0, 0, 1], pa.int32()),
    )
    messages = TableWrite(table.facts, assignment=GivenBuckets("given", None)).write(data)
    assert sorted(message.bucket for message in messages) == [0, 1]
    table.new_commit().commit(messages)
    assert rows_of(table) == [(1, "a", 1), (2, "a", 3)]
