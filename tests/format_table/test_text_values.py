"""Texts in files are the values that Java reads from them, or none."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.format_table.text_values import from_text
from table_format.types import DataType, DoubleType, IntType
from tests.support.cell_texts import CELL_TEXTS, in_units


@pytest.mark.parametrize("data_type", CELL_TEXTS, ids=str)
def test_a_text_is_the_value_that_java_reads_or_none(data_type: DataType) -> None:
    texts = CELL_TEXTS[data_type]
    values, misfits = from_text(pa.array([*texts, None]), data_type)
    assert in_units(values) == [*texts.values(), None]
    assert misfits is not None
    assert misfits.tolist() == [*(value is None for value in texts.values()), False]
    for text, value in texts.items():
        alone, misfit = from_text(pa.array([text]), data_type)
        assert in_units(alone) == [value]
        assert (misfit is not None) == (value is None)


@given(st.text(alphabet="0123456789+-.xXeEnNaAiIfFdD ", max_size=5), st.sampled_from([IntType(), DoubleType()]))
def test_a_text_is_the_same_value_whatever_is_beside_it(text: str, data_type: DataType) -> None:
    alone, _ = from_text(pa.array([text]), data_type)
    beside, _ = from_text(pa.array(["no value", text]), data_type)
    assert str(alone[0]) == str(beside[1])
