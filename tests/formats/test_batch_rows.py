"""How many rows are decoded at once."""

from __future__ import annotations

import pytest

from table_format.formats.batch_rows import MAX_BATCH_ROWS, batch_rows_of
from table_format.limits import MIB
from table_format.model.types import BigIntType, DataField, VarCharType
from tests.lsm.files import a_file

NUMBER, TEXT = DataField(0, "n", BigIntType()), DataField(1, "s", VarCharType())


@pytest.mark.parametrize(
    ("stored_row_bytes", "fields", "side_by_side", "rows"),
    [
        pytest.param(10, [NUMBER, TEXT], 1, MAX_BATCH_ROWS, id="narrow rows"),
        pytest.param(MIB, [NUMBER], 1, MAX_BATCH_ROWS, id="wide rows, narrow columns"),
        pytest.param(1000, [TEXT], 1, 5024, id="wide rows"),
        pytest.param(1000, [TEXT], 1000, 209, id="wide rows of many files"),
        pytest.param(100 * MIB, [TEXT], 1, 1, id="one row is more than the budget"),
    ],
)
def test_batches_fit_their_budget(stored_row_bytes, fields, side_by_side, rows):
    assert batch_rows_of([a_file("a", size=stored_row_bytes)], fields, side_by_side=side_by_side) == rows
