"""The order of keys outside Arrow is the order of the merge."""

from __future__ import annotations

import math
from decimal import Decimal

import pyarrow as pa
import pytest

from table_format.lsm.compact import compact_bucket
from table_format.lsm.keys import key_ranges, sort_key
from table_format.model.arrow_types import arrow_schema
from table_format.model.schema import VALUE_KIND, TableSchema
from table_format.model.types import BinaryType, DataField, DataType, DecimalType, DoubleType, IntType, VarCharType
from tests.lsm.tables import Bucket

ORDERED: list[tuple[DataType, list]] = [
    (DoubleType(nullable=False), [-math.inf, -1.5, 0.0, 1.5, math.inf, math.nan]),
    (VarCharType(nullable=False), ["", "a", "a\0", "aa", "é", "\ufffd", "\U0001f600"]),
    (BinaryType(nullable=False, length=3), [b"", b"\x00", b"\x7f", b"\x80", b"\xff\x00"]),
    (DecimalType(nullable=False, precision=20, scale=2), [Decimal("-1.50"), Decimal("0.00"), Decimal("10.00")]),
]


@pytest.mark.parametrize(("data_type", "values"), ORDERED)
def test_keys_of_a_type_are_ordered(data_type, values):
    keys = [sort_key([value]) for value in values]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


def test_negative_zero_is_zero_and_not_a_number_is_one_key():
    assert sort_key([-0.0]) == sort_key([0.0])
    assert sort_key([math.nan]) == sort_key([float("nan")])


def test_a_composite_key_is_ordered_by_its_first_column_first():
    assert sort_key([1, "b"]) < sort_key([2, "a"]) < sort_key([2, "b"])


@pytest.mark.parametrize(("data_type", "values"), ORDERED)
def test_a_bucket_with_such_keys_is_written_merged_and_compacted_in_that_order(data_type, values):
    fields = (DataField(0, "k", data_type), DataField(1, "n", IntType(nullable=False)), DataField(2, "v", IntType()))
    bucket = Bucket(
        {"write-only": "true"},
        TableSchema(id=0, fields=fields, highest_field_id=2, primary_keys=("k", "n")),
    )
    for version in range(3):
        writer = bucket.writer()
        rows = [(value, n) for n in (2, 1) for value in reversed(values)]
        columns = [[r[0] for r in rows], [r[1] for r in rows], [version] * len(rows)]
        schema = arrow_schema(fields)
        batch = pa.record_batch([pa.array(c, t.type) for c, t in zip(columns, schema, strict=True)], schema=schema)
        kinds = pa.array([0] * len(rows), pa.int8())
        writer.write(batch.append_column(pa.field(VALUE_KIND.name, pa.int8(), nullable=False), kinds))
        bucket.live += writer.prepare(compact=False).new_files
    expected = sorted([(value, n, 2) for value in values for n in (1, 2)], key=repr)
    assert repr(bucket.read()) == repr(expected)
    (file,) = compact_bucket(bucket.files, bucket.live, full=True).compact_after
    assert file.row_count == len(expected)
    assert key_ranges(bucket.schema)(file) == (sort_key([values[0], 1]), sort_key([values[-1], 2]))
    assert repr(bucket.read(files=[file])) == repr(expected)
