"""The order of the keys in the ``HashMap`` in which Java gathers the bitmaps of a file.

No reader needs it; with it, equal rows make equal bytes.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from table_format.kernels.aggregates.buffers import numbers
from table_format.kernels.aggregates.java_order import HashOrder, java_hashes, spread
from table_format.kernels.file_index.distinct_keys import DistinctKeys
from table_format.kernels.file_index.keys import Ints, KeyFormat, float_keys_as_values
from table_format.model.arrow_calls import arrow_array
from table_format.model.types import BooleanType, DataType

_FIRST_CAPACITY: Final = 16
_FEW: Final = 64
"""Of more keys than this, buckets that are too full never make the table grow early."""


def hash_map_order(found: DistinctKeys, data_type: DataType, stored: KeyFormat) -> Ints:
    """The places of distinct keys, in the order in which the map gives them.

    >>> from table_format.model.types import IntType
    >>> found = DistinctKeys(pa.array([33, 2, 1]), np.array([0, 1, 2], np.int32))
    >>> hash_map_order(found, IntType(), KeyFormat(4)).tolist()
    [2, 0, 1]
    """
    keys = found.keys
    hashes = java_hashes(_as_java_holds(keys, data_type, stored))
    assert hashes is not None  # noqa: S101 - these types have hashes of their values
    spreads = spread(hashes)
    ends_with_new_key = found.ends_with_new_key
    if len(keys) <= _FEW:
        order = HashOrder()
        for place, spread_hash in enumerate(spreads.tolist()):
            order.compute(place, spread_hash)
        if len(keys) and not ends_with_new_key:
            # The table also grows when a key is looked up that is there.
            order.compute(0, int(spreads[0]))
        return np.array(list(order), np.int64)
    capacity = _FIRST_CAPACITY
    while 4 * (len(keys) - ends_with_new_key) > 3 * capacity:
        capacity *= 2
    buckets = spreads & np.uint32(capacity - 1)
    # ``computeIfAbsent`` inserts at the head of a bucket.
    return np.lexsort((-np.arange(len(keys)), buckets)).astype(np.int64)


def _as_java_holds(keys: pa.Array, data_type: DataType, stored: KeyFormat) -> pa.Array:
    if stored.is_text:
        text: pa.Array = keys.view(pa.string())
        return text
    if isinstance(data_type, BooleanType):
        return keys.cast(pa.bool_())
    if stored.is_float:
        return arrow_array(float_keys_as_values(numbers(keys, np.int64), stored.width or 0), from_pandas=False)
    return keys if stored.width == 8 else keys.cast(pa.int32())
