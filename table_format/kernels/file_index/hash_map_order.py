"""The order of the keys in the ``HashMap`` in which Java collects the bitmaps of a file.

Readers do not need this order, but with it, equal rows make the same bytes as in Java.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from table_format.kernels.aggregates.buffers import numbers
from table_format.kernels.aggregates.java_order import HashOrder, java_hashes, spread
from table_format.kernels.file_index.keys import Ints, KeyFormat, float_keys_as_values
from table_format.model.arrow_calls import arrow_array
from table_format.model.types import BooleanType, DataType

_FIRST_CAPACITY: Final = 16
FEW_KEYS: Final = 64
"""With more keys than this, full buckets never make the table grow early."""


@dataclass(frozen=True, slots=True)
class InsertedKeys:
    """Distinct keys of a map, and the first row of each.

    ``count`` is the number of all keys; if there are more than ``FEW_KEYS``, some may be missing here.
    """

    keys: pa.Array
    first_rows: Ints
    count: int
    ends_with_new_key: bool
    """Whether the key of the last row occurs for the first time in that row."""


def hash_map_order(inserted: InsertedKeys, data_type: DataType, stored: KeyFormat) -> Ints:
    """Return the positions of distinct keys, in the iteration order of the map.

    >>> from table_format.model.types import IntType
    >>> inserted = InsertedKeys(pa.array([1, 2, 33]), np.array([2, 1, 0]), 3, True)
    >>> hash_map_order(inserted, IntType(), KeyFormat(4)).tolist()
    [0, 2, 1]
    """
    hashes = java_hashes(_as_java_holds(inserted.keys, data_type, stored))
    assert hashes is not None  # noqa: S101 - these types have hashes of their values
    spreads = spread(hashes)
    if inserted.count <= FEW_KEYS:
        order = HashOrder()
        places = np.argsort(inserted.first_rows).tolist()
        for place in places:
            order.compute(place, int(spreads[place]))
        if places and not inserted.ends_with_new_key:
            # The table also grows when an existing key is looked up.
            order.compute(places[0], int(spreads[places[0]]))
        return np.array(list(order), np.int64)
    capacity = _FIRST_CAPACITY
    while 4 * (inserted.count - inserted.ends_with_new_key) > 3 * capacity:
        capacity *= 2
    buckets = spreads & np.uint32(capacity - 1)
    # ``computeIfAbsent`` inserts at the head of a bucket.
    return np.lexsort((-inserted.first_rows, buckets)).astype(np.int64)


def _as_java_holds(keys: pa.Array, data_type: DataType, stored: KeyFormat) -> pa.Array:
    if stored.is_text:
        text: pa.Array = keys.view(pa.string())
        return text
    if isinstance(data_type, BooleanType):
        return keys.cast(pa.bool_())
    if stored.is_float:
        return arrow_array(float_keys_as_values(numbers(keys, np.int64), stored.width or 0), from_pandas=False)
    return keys if stored.width == 8 else keys.cast(pa.int32())
