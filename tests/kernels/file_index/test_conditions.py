"""Conditions on FLOAT columns are exact also for values that no FLOAT has."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from table_format.kernels.file_index.results import Rows, Skip
from table_format.model.arrow_types import arrow_schema
from table_format.model.predicate import Compare, CompareOp
from table_format.model.types import DataField, FloatType
from tests.kernels.file_index.columns import ROW_INDEXES, Indexed, built, reader_of

FIELD = DataField(0, "a", FloatType())
ORDERED = (CompareOp.EQ, CompareOp.NE, CompareOp.LT, CompareOp.LE, CompareOp.GT, CompareOp.GE)
DOUBLES = st.floats(allow_nan=False)


def around(value: float) -> list[float]:
    """The FLOAT values next to a DOUBLE."""
    ends = (np.float32("-inf"), np.float32("inf"))
    with np.errstate(over="ignore"):
        nearest = np.float32(value)
        return sorted({float(nearest), *(float(np.nextafter(nearest, end)) for end in ends)})


@pytest.mark.parametrize("index", [index for index in ROW_INDEXES if index != "bsi"])
@settings(max_examples=60, deadline=None)
@given(value=DOUBLES, op=st.sampled_from(ORDERED))
@example(value=0.7, op=CompareOp.LT)
@example(value=-0.7, op=CompareOp.GT)
@example(value=3.4028235677973366e38, op=CompareOp.EQ)
@example(value=1e300, op=CompareOp.LE)
@example(value=3.402823364973241e38, op=CompareOp.GT)
@example(value=3.40282348e38, op=CompareOp.GT)
def test_a_double_between_two_floats_selects_the_right_ones(index: str, value: float, op: CompareOp) -> None:
    column = pa.array(np.array(around(value), np.float32), pa.float32())
    batch = pa.RecordBatch.from_arrays([column], schema=arrow_schema([FIELD]))
    payload = built(index, FIELD.type, column)
    indexed = Indexed((FIELD,), batch, {"a": (reader_of(index, FIELD.type, payload, len(column)),)})
    condition = Compare("a", op, value)
    found = indexed.evaluate(condition)
    assert isinstance(found, Rows | Skip)
    assert set(found.positions if isinstance(found, Rows) else ()) == indexed.matching_rows(condition)
