"""The text of very small floating-point numbers in Java."""

from __future__ import annotations

import numpy as np
import pytest

from table_format.codecs.java_floats import float_text
from table_format.io.partition_path import _value_text
from table_format.model.types import DoubleType, FloatType


@pytest.mark.parametrize(
    ("value", "text"),
    [(5e-324, "4.9E-324"), (1.5e-323, "1.5E-323"), (2e-322, "2.0E-322"), (1e-310, "1.0E-310"), (2e-3, "0.002")],
)
def test_a_double_has_two_digits_at_least_and_the_nearest_ones(value: float, text: str) -> None:
    assert float_text(value, single=False) == text
    assert _value_text(DoubleType(), value, legacy=True) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.4e-45, "1.4E-45"), (2.8e-45, "2.8E-45"), (1e-44, "9.8E-45"), (1.17549435e-38, "1.1754944E-38"), (1.5, "1.5")],
)
def test_a_float_has_two_digits_at_least_and_the_nearest_ones(value: float, text: str) -> None:
    single = float(np.float32(value))
    assert float_text(single, single=True) == text
    assert _value_text(FloatType(), single, legacy=True) == text
