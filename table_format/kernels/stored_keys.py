"""Converts key columns to a form in which values are equal only if the keys are equal.

Floating-point numbers become the integers of their bits, because the format compares key rows by bytes. Times become
integers. All other types do not change.
"""

from __future__ import annotations

import pyarrow as pa

_AS_INTEGERS = {
    pa.float32(): pa.int32(),
    pa.float64(): pa.int64(),
    pa.time32("ms"): pa.int32(),
    pa.date32(): pa.int32(),
}


def stored_key(column: pa.Array) -> pa.Array:
    """Return a key column as integers, decimals, text, bytes or booleans.

    >>> stored_key(pa.array([1.5, -0.0])).to_pylist()
    [4609434218613702656, -9223372036854775808]
    """
    if pa.types.is_timestamp(column.type):
        return column.view(pa.int64())
    target = _AS_INTEGERS.get(column.type)
    return column if target is None else column.view(target)
