"""Floating-point numbers of which equal ones have equal bits, for operations that compare bits."""

from __future__ import annotations

import math

import pyarrow as pa
import pyarrow.compute as pc

from table_format.model.arrow_calls import add, if_else


def with_equal_bits(numbers: pa.Array) -> pa.Array:
    """Return the numbers with one zero and one NaN: sets and groups of Arrow compare bits.

    The NaN that a processor computes has another sign than the NaN of a literal.

    >>> import numpy as np
    >>> computed = np.array([0xFFF8000000000000, 0], np.uint64).view(np.float64)
    >>> column = pa.array([*computed, math.nan, -0.0, None])
    >>> with_equal_bits(column).unique().to_pylist()
    [nan, 0.0, None]
    """
    nan, zero = (pa.scalar(value, numbers.type) for value in (math.nan, 0))
    return if_else(pc.is_nan(numbers), nan, add(numbers, zero))
