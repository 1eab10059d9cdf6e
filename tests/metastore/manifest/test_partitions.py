"""Partitions are selected by the values of some or all of their columns."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from table_format.codecs.binary_row import serialize_row
from table_format.kernels.predicate import matches
from table_format.kernels.values import array_of
from table_format.metastore.manifest.partitions import Partitions
from table_format.model.schema import TableSchema
from table_format.model.types import DataField, DoubleType, InternalValue, IntType, VarCharType
from table_format.options.table_options import TableOptions

FIELDS = (DataField(0, "day", VarCharType()), DataField(1, "hour", IntType()), DataField(2, "rate", DoubleType()))
ROWS: list[tuple[InternalValue, ...]] = [
    ("a", 1, 1.5),
    ("a", 2, math.nan),
    ("a", None, 1.5),
    ("b", 1, None),
    ("b", 2, -0.0),
    (None, None, None),
]


@pytest.fixture
def partitions() -> Partitions:
    names = tuple(field.name for field in FIELDS)
    schema = TableSchema(id=0, fields=FIELDS, highest_field_id=2, partition_keys=names)
    return Partitions(schema, TableOptions.parse({}))


@pytest.mark.parametrize(
    ("specs", "expected"),
    [
        ([{"day": "a"}], [0, 1, 2]),
        ([{"hour": 1}, {"hour": 2}], [0, 1, 3, 4]),
        ([{"day": "a", "hour": 1}, {"hour": 2, "day": "a"}, {"day": "b", "hour": 1}], [0, 1, 3]),
        ([{"day": "a", "hour": None}, {"day": "a", "hour": 1}, {"day": None}], [0, 2, 5]),
        ([{"rate": math.nan}, {"rate": None}], [1, 3, 5]),
        ([{"rate": 0.0}], [4]),
        ([{"hour": 9}], []),
        ([], []),
        ([{}, {"hour": 9}], [0, 1, 2, 3, 4, 5]),
    ],
)
def test_specs_select_the_partitions_with_their_values(partitions, specs, expected):
    encoded = [serialize_row(partitions.types, row) for row in ROWS]
    is_selected = partitions.test(specs)
    assert [i for i, partition in enumerate(encoded) if is_selected(partition)] == expected
    arrays = [array_of(column, f.type) for column, f in zip(zip(*ROWS, strict=True), FIELDS, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, names=[f.name for f in FIELDS])
    predicate = partitions.predicate(specs)
    found = [True] * len(ROWS) if predicate is None else matches(predicate, batch, FIELDS).to_pylist()
    assert [i for i, is_match in enumerate(found) if is_match] == expected


def test_each_partition_is_looked_up_once_however_many_specs_there_are(partitions, monkeypatch):
    encoded = [serialize_row(partitions.types, ("a", hour, 0.0)) for hour in range(300)]
    decoded = []
    values = partitions.values
    monkeypatch.setattr(partitions, "values", lambda partition: decoded.append(partition) or values(partition))
    is_selected = partitions.test([{"day": "a", "hour": hour} for hour in range(0, 600, 2)])
    assert sum(map(is_selected, encoded)) == 150
    assert len(decoded) == 300
