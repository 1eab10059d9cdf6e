"""The list of aggregate functions: its reference, and functions that a program registers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from table_format.errors import AlreadyExistsError, InvalidOption, RetractNotSupported
from table_format.kernels.aggregates.buffers import validity
from table_format.kernels.aggregates.function import NUMBERS, AggregateFunction
from table_format.kernels.aggregates.functions import FUNCTIONS, functions_markdown, register_function
from table_format.kernels.aggregates.segments import Segments, take_rows
from table_format.kernels.aggregates.spec import Action, AggregateSpec
from table_format.options import registry as options
from table_format.options.declare import OptionPattern
from table_format.options.values import integer
from tests.support.registries import forgotten_again
from tests.support.tables import Warehouse, memory_warehouse, rows_of

AT_LEAST = OptionPattern("fields.<column>.at-least", integer(), "Smaller values do not count.")


def fold_latest_large(spec: AggregateSpec, segments: Segments) -> pa.Array:
    """The last value that is large enough."""
    least = dict(spec.own_options).get("at-least", 0)
    large = np.asarray(pa.compute.greater_equal(segments.values, least).fill_null(False))
    chosen = segments.select(validity(segments.values) & large & (segments.actions != Action.SKIP))
    ends = np.append(chosen.starts[1:], len(chosen.rows)) - 1
    return take_rows(segments, chosen, chosen.rows[ends])


LATEST_LARGE = AggregateFunction(
    "latest_large", fold_latest_large, NUMBERS, "the last value that is large enough", options=(AT_LEAST,)
)


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    with forgotten_again(FUNCTIONS, options._REGISTERED):
        yield


def large_table(warehouse: Warehouse, **more: str):
    chosen = {"merge-engine": "aggregation", "fields.v.aggregate-function": "latest_large", **more}
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.int32())])
    return warehouse.table("t", schema, primary_keys=["id"], options=chosen)


def test_the_reference_is_that_of_the_functions() -> None:
    written = Path(__file__).parents[3] / "docs" / "aggregate-functions.md"
    expected = functions_markdown()
    assert written.read_text() == expected, (
        "run python -m table_format.kernels.aggregates > docs/aggregate-functions.md"
    )
    assert all(f"`{name}`" in expected for name in FUNCTIONS)


def test_a_registered_function_folds_the_columns_that_name_it() -> None:
    register_function(LATEST_LARGE)
    table = large_table(memory_warehouse(), **{"fields.v.at-least": "10"})
    for value in (12, 40, 7):
        table.append(pa.table({"id": pa.array([1, 2]), "v": pa.array([value, 1], pa.int32())}))
    assert rows_of(table) == [(1, 40), (2, None)]


def test_its_options_are_unknown_without_it_and_checked_with_it() -> None:
    with pytest.raises(InvalidOption, match=r"'fields\.v\.at-least' is not known"):
        large_table(memory_warehouse(), **{"fields.v.at-least": "10"})
    register_function(LATEST_LARGE)
    with pytest.raises(
        InvalidOption, match=r"'fields\.v\.at-least': 'x' is not a legal value; it takes a whole number"
    ):
        large_table(memory_warehouse(), **{"fields.v.at-least": "x"})


def test_a_table_whose_function_is_not_registered_here_says_which() -> None:
    warehouse = memory_warehouse()
    with forgotten_again(FUNCTIONS):
        register_function(LATEST_LARGE)
        table = large_table(warehouse)
    row = pa.table({"id": pa.array([1, 1]), "v": pa.array([2, 3], pa.int32())})
    with pytest.raises(InvalidOption, match="there is no aggregate function 'latest_large'; known are sum"):
        table.append(row)


def test_a_registered_function_without_retraction_refuses_retracts() -> None:
    register_function(LATEST_LARGE)
    table = large_table(memory_warehouse())
    rows = pa.table({"id": pa.array([1, 1]), "v": pa.array([2, 3], pa.int32()), "_row_kind": ["+I", "-D"]})
    with pytest.raises(RetractNotSupported, match="aggregate function 'latest_large' cannot retract"):
        table.append(rows)


def test_a_name_that_is_taken_is_refused() -> None:
    register_function(LATEST_LARGE)
    with pytest.raises(AlreadyExistsError, match="already exists"):
        register_function(LATEST_LARGE)
    taken = OptionPattern("fields.<column>.distinct", integer(), "Taken.")
    with pytest.raises(AlreadyExistsError, match=r"option 'fields\.<column>\.distinct' already exists"):
        register_function(AggregateFunction("other", fold_latest_large, NUMBERS, "", options=(taken,)))
    assert "other" not in FUNCTIONS
