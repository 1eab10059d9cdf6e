"""Which partition and bucket each row belongs to."""

from __future__ import annotations

import pyarrow as pa
import pytest

from table_format.codecs.binary_row import serialize_row
from table_format.kernels.hashing import fixed_buckets, row_hashes
from table_format.model.schema import TableSchema
from table_format.model.types import BigIntType, DataField, DateType, DoubleType, VarCharType
from table_format.options.bucket import BucketOptions
from table_format.table.placement.routing import route

FIELDS = (
    DataField(0, "k", BigIntType()),
    DataField(1, "p", VarCharType()),
    DataField(2, "d", DateType()),
    DataField(3, "f", DoubleType()),
)
BATCH = pa.RecordBatch.from_arrays(
    [
        pa.array(range(200), pa.int64()),
        pa.array([None if i % 7 == 0 else ("" if i % 5 == 0 else f"p{i % 3}") for i in range(200)]),
        pa.array([i % 4 for i in range(200)], pa.date32()),
        pa.array([0.0 if i % 2 else -0.0 for i in range(200)]),
    ],
    names=["k", "p", "d", "f"],
)


@pytest.mark.parametrize("partition_keys", [(), ("p",), ("d", "p"), ("f",)])
@pytest.mark.parametrize("buckets", [-1, 1, 5])
def test_each_row_goes_where_it_belongs_in_its_order(partition_keys: tuple[str, ...], buckets: int) -> None:
    schema = TableSchema(0, FIELDS, 3, partition_keys, options={"bucket-key": "k"})
    expected: dict[tuple[bytes, int], list[int]] = {}
    types = [f.type for f in schema.partition_fields]
    numbers = fixed_buckets(row_hashes([FIELDS[0].type], [BATCH.column("k")]), max(buckets, 1))
    days = BATCH.column("d").cast(pa.int32())
    for i, row in enumerate(BATCH.select(["k", "p", "f"]).to_pylist()):
        values = [days[i].as_py() if key == "d" else row[key] for key in partition_keys]
        key = (serialize_row(types, values), int(numbers[i]) if buckets > 0 else 0)
        expected.setdefault(key, []).append(row["k"])
    found = {(p.partition, p.bucket): p.rows for p in route(BATCH, schema, BucketOptions(count=buckets))}
    assert {key: rows.column("k").to_pylist() for key, rows in found.items()} == expected


def test_no_rows_go_nowhere() -> None:
    assert list(route(BATCH.slice(0, 0), TableSchema(0, FIELDS, 3), BucketOptions())) == []


def test_rows_of_one_bucket_are_not_copied() -> None:
    [piece] = route(BATCH, TableSchema(0, FIELDS, 3), BucketOptions())
    assert piece.rows.column("k").buffers()[1].address == BATCH.column("k").buffers()[1].address


@pytest.mark.parametrize(("function", "buckets"), [("mod", [0, 1, 2, 0]), ("hive", [0, 1, 2, 0])])
def test_other_bucket_functions_are_used_when_the_table_says_so(function: str, buckets: list[int]) -> None:
    schema = TableSchema(0, FIELDS, 3, options={"bucket-key": "k"})
    bucketing = BucketOptions(count=3, function=function)
    found = {
        k: piece.bucket for piece in route(BATCH.slice(0, 4), schema, bucketing) for k in piece.rows[0].to_pylist()
    }
    assert [found[k] for k in range(4)] == buckets


def test_very_many_partitions_are_fine() -> None:
    count = 5_000
    batch = pa.RecordBatch.from_pydict({"k": range(count), "p": [f"p{i}" for i in range(count)]})
    schema = TableSchema(0, FIELDS[:2], 1, ("p",))
    assert sum(1 for _ in route(batch, schema, BucketOptions())) == count
