"""Each placement by itself, and which one a table takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import InvalidInputError
from table_format.metastore.commit.key_places import snapshot_identity
from table_format.model.commit import CommitMessage
from table_format.model.row_kind import RowKind
from table_format.model.schema import VALUE_KIND
from table_format.runtime import Runtime
from table_format.table.placement.assigners import Assignment, GivenBuckets, WritingAssigner
from table_format.table.placement.choose import placement_of
from table_format.table.placement.cross_partition import CrossPartitionPlacement
from table_format.table.placement.dynamic_placement import DynamicPlacement, GivenDynamicPlacement
from table_format.table.placement.given import GivenPlacement, place_column
from table_format.table.placement.placement import Placement
from table_format.table.placement.stateless import StatelessPlacement
from tests.support.moving_keys import with_runtime
from tests.support.tables import KEYED, Warehouse, memory_warehouse

TABLES: dict[str, dict[str, Any]] = {
    "append": {},
    "append in buckets": {"options": {"bucket": "2", "bucket-key": "id"}},
    "fixed": {"primary_keys": ["id"]},
    "postponed": {"primary_keys": ["id"], "options": {"bucket": "-2"}},
    "dynamic": {"primary_keys": ["id"], "options": {"bucket": "-1", "dynamic-bucket.target-row-num": "2"}},
    "cross-partition": {"primary_keys": ["id"], "partition_keys": ["dt"], "options": {"bucket": "-1"}},
}


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return with_runtime(memory_warehouse(), Runtime(cache_directory=str(tmp_path / "cache")))


def table_of(warehouse: Warehouse, kind: str) -> Table:
    return warehouse.table(**TABLES[kind])


def batch(*rows: tuple[int, str, int]) -> pa.RecordBatch:
    """Rows as a write checks them: the columns of the table and their kind."""
    columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), KEYED, strict=True)]
    kinds = pa.array([RowKind.INSERT.value] * len(rows), pa.int8())
    return pa.RecordBatch.from_arrays([*columns, kinds], names=[*KEYED.names, VALUE_KIND.name])


def placed(table: Table, placement: Placement, rows: pa.RecordBatch, given: pa.Array | None = None) -> list[Any]:
    """Partition, bucket, ids and kinds of what a placement makes of rows."""
    text = table.facts.partitions.text
    return [
        (
            text(piece.partition),
            piece.bucket,
            piece.rows.column("id").to_pylist(),
            piece.rows.column(VALUE_KIND.name).to_pylist(),
        )
        for piece in placement.place(rows, given)
    ]


@pytest.mark.parametrize(
    ("kind", "assignment", "expected"),
    [
        ("append", None, StatelessPlacement),
        ("append in buckets", None, StatelessPlacement),
        ("fixed", None, StatelessPlacement),
        ("postponed", None, StatelessPlacement),
        ("dynamic", None, DynamicPlacement),
        ("dynamic", WritingAssigner(3, None), DynamicPlacement),
        ("dynamic", GivenBuckets("b", None), GivenDynamicPlacement),
        ("cross-partition", None, CrossPartitionPlacement),
        ("cross-partition", GivenBuckets("b", None), GivenPlacement),
    ],
)
def test_the_bucket_mode_and_the_assigners_choose_the_placement(
    warehouse: Warehouse, kind: str, assignment: Assignment | None, expected: type
) -> None:
    placement = placement_of(table_of(warehouse, kind).facts, assignment=assignment)
    assert type(placement) is expected
    assert placement.given_column == (assignment.column if isinstance(assignment, GivenBuckets) else None)


@pytest.mark.parametrize(
    ("kind", "assignment"),
    [
        ("append", GivenBuckets("b", None)),
        ("fixed", WritingAssigner(2, None)),
        ("postponed", GivenBuckets("b", None)),
        ("cross-partition", WritingAssigner(2, None)),
    ],
)
def test_an_assignment_that_the_mode_cannot_have_is_refused(
    warehouse: Warehouse, kind: str, assignment: Assignment
) -> None:
    facts = table_of(warehouse, kind).facts
    with pytest.raises(InvalidInputError, match=f"bucket mode .* does not allow {type(assignment).__name__}"):
        placement_of(facts, assignment=assignment)


@pytest.mark.parametrize(
    ("kind", "buckets"), [("append", {0}), ("postponed", {-2}), ("fixed", {0, 1}), ("append in buckets", {0, 1})]
)
def test_without_state_rows_go_by_what_they_hold(warehouse: Warehouse, kind: str, buckets: set[int]) -> None:
    table = table_of(warehouse, kind)
    placement = placement_of(table.facts)
    rows = batch(*((i, "a", i) for i in range(20)))
    pieces = placed(table, placement, rows)
    assert {bucket for _, bucket, _, _ in pieces} == buckets
    assert all(ids == sorted(ids) for _, _, ids, _ in pieces)
    assert pieces == placed(table, placement, rows)
    messages = [CommitMessage(partition=b"", bucket=0, total_buckets=1)]
    assert list(placement.complete(messages)) == messages


def test_a_dynamic_key_keeps_its_bucket_and_the_index_is_written_once(warehouse: Warehouse) -> None:
    table = table_of(warehouse, "dynamic")
    placement = placement_of(table.facts)
    placement.open()
    placement.begin(None, frozenset())
    first = placed(table, placement, batch(*((i, "a", 0) for i in range(3))))
    again = placed(table, placement, batch(*((i, "a", 1) for i in range(3))))
    assert [(bucket, ids) for _, bucket, ids, _ in first] == [(0, [0, 1]), (1, [2])]
    assert [piece[1:3] for piece in again] == [piece[1:3] for piece in first]
    partition = next(placement.place(batch((0, "a", 2)), None)).partition
    messages = [CommitMessage(partition=partition, bucket=bucket, total_buckets=-1) for bucket in (0, 1)]
    completed = list(placement.complete(messages))
    assert [file.row_count for message in completed for file in message.new_index_files] == [2, 1]
    # Both were assigned by the index as it was loaded, before any of the files was written.
    assert len({message.hash_index_base for message in completed}) == 1
    assert not any(message.new_index_files for message in placement.complete(messages))


def test_given_dynamic_buckets_are_recorded_as_they_come(warehouse: Warehouse) -> None:
    table = table_of(warehouse, "dynamic")
    placement = placement_of(table.facts, assignment=GivenBuckets("b", None))
    placement.begin(table.latest_snapshot(), frozenset())
    pieces = list(placement.place(batch((1, "a", 0), (2, "a", 0), (3, "a", 0)), pa.array([4, 0, 4], pa.int32())))
    assert [(piece.bucket, piece.rows.column("id").to_pylist()) for piece in pieces] == [(0, [2]), (4, [1, 3])]
    assert pieces[0].rows.schema.names == batch((1, "a", 0)).schema.names
    messages = [CommitMessage(partition=pieces[0].partition, bucket=4, total_buckets=-1)]
    [completed] = placement.complete(messages)
    assert [file.row_count for file in completed.new_index_files] == [2]


def test_what_a_dynamic_placement_forgets_it_assigns_again(warehouse: Warehouse) -> None:
    table = table_of(warehouse, "dynamic")
    placement = placement_of(table.facts)
    placement.begin(None, frozenset())
    assert [piece[1] for piece in placed(table, placement, batch((1, "a", 0), (2, "a", 0), (3, "a", 0)))] == [0, 1]
    placement.forget()
    assert [piece[1:3] for piece in placed(table, placement, batch((3, "a", 0)))] == [(0, [3])]


def test_a_key_of_another_partition_is_deleted_there(warehouse: Warehouse) -> None:
    table = table_of(warehouse, "cross-partition")
    table.append(batch((1, "p1", 1)).drop_columns([VALUE_KIND.name]))
    placement = placement_of(table.facts)
    placement.open()
    placement.begin(table.latest_snapshot(), frozenset())
    insert, delete = RowKind.INSERT.value, RowKind.DELETE.value
    found = placed(table, placement, batch((1, "p2", 2), (2, "p2", 2)))
    assert found == [("dt=p1", 0, [1], [delete]), ("dt=p2", 0, [1, 2], [insert, insert])]
    [message] = placement.complete([CommitMessage(partition=b"", bucket=0, total_buckets=-1)])
    assert message.key_places_base == snapshot_identity(table.latest_snapshot())
    placement.forget()


def test_uncommitted_files_keep_the_snapshot_that_keys_were_placed_by(warehouse: Warehouse) -> None:
    table = table_of(warehouse, "cross-partition")
    placement = placement_of(table.facts)
    placement.open()
    placement.begin(None, frozenset())
    table.append(batch((1, "p1", 1)).drop_columns([VALUE_KIND.name]))
    message = CommitMessage(partition=b"", bucket=0, total_buckets=-1)
    placement.begin(table.latest_snapshot(), frozenset({b""}))
    assert [m.key_places_base for m in placement.complete([message])] == [snapshot_identity(None)]
    placement.forget()


@pytest.mark.parametrize("replacing", [False, True])
def test_given_places_are_those_that_an_assigner_chose(warehouse: Warehouse, replacing: bool) -> None:
    table = table_of(warehouse, "cross-partition")
    table.append(batch((1, "p1", 1)).drop_columns([VALUE_KIND.name]))
    base = table.latest_snapshot()
    rows = batch((1, "p2", 2), (2, "p2", 2))
    assigner = CrossPartitionPlacement(table.facts)
    assigner.begin(base)
    places = assigner.choose(rows)
    writer = placement_of(table.facts, replacing=replacing, assignment=GivenBuckets("place", base))
    sent = rows.take(pa.array(np.asarray(places.rows)))
    insert, delete = RowKind.INSERT.value, RowKind.DELETE.value
    assert placed(table, writer, sent, place_column(places)) == [
        ("dt=p1", 0, [1], [delete]),
        ("dt=p2", 0, [1, 2], [insert, insert]),
    ]
    [message] = writer.complete([CommitMessage(partition=b"", bucket=0, total_buckets=-1)])
    assert message.key_places_base == (None if replacing else snapshot_identity(base))
    assigner.forget()
