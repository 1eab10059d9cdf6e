"""The distinct keys of a column and the rows that have each of them, while its values come in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_format.kernels.aggregates.buffers import numbers, validity
from table_format.kernels.file_index.keys import Ints, keys_of
from table_format.model.arrow_calls import arrow_array
from table_format.model.types import DataType, TextType

_FEW_KEYS = (1 << 16) - 1
"""Places of so many keys fit into two bytes."""


@dataclass(frozen=True, slots=True)
class DistinctKeys:
    """``keys`` in the order in which they first came, and the place in it of the key of each row; -1 for null."""

    keys: pa.Array
    codes: npt.NDArray[np.int32]

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return len(self.codes)

    @property
    def ends_with_new_key(self) -> bool:
        """Whether the last row that is not null is the first one with its key.

        >>> DistinctKeys(pa.array([7, 8]), np.array([0, 1, -1], np.int32)).ends_with_new_key
        True
        """
        with_last_key = np.flatnonzero(self.codes == len(self.keys) - 1)
        if not len(self.keys) or len(with_last_key) != 1:
            return False
        return bool((self.codes[with_last_key[0] + 1 :] < 0).all())

    def rows_by_key(self) -> tuple[Ints, Ints]:
        """All rows, those with null first and then key by key, and where the rows of each key end.

        >>> DistinctKeys(pa.array([7, 8]), np.array([0, -1, 1, 0], np.int32)).rows_by_key()
        (array([1, 0, 3, 2]), array([1, 3, 4]))
        """
        places = self.codes + 1
        ends = np.cumsum(np.bincount(places, minlength=len(self.keys) + 1))
        if len(self.keys) < _FEW_KEYS:
            # Arrow counts them, which numpy does not.
            order: Ints = pc.array_sort_indices(arrow_array(places.astype(np.uint16))).to_numpy().view(np.int64)
            return order, ends
        return np.argsort(places, kind="stable"), ends


class DistinctKeysBuilder:
    """Takes a column piece by piece."""

    def __init__(self, data_type: DataType) -> None:
        self._type = data_type
        self._pieces: list[pa.DictionaryArray] = []

    def add(self, column: pa.Array) -> None:
        """The values of the next rows."""
        self._pieces.append(keys_of(column, self._type).dictionary_encode())

    def finish(self) -> DistinctKeys:
        """What came in."""
        if not self._pieces:
            key_type = pa.binary() if isinstance(self._type, TextType) else pa.int64()
            return DistinctKeys(arrow_array([], key_type), np.empty(0, np.int32))
        whole = cast("list[pa.DictionaryArray]", pa.chunked_array(self._pieces).unify_dictionaries().chunks)
        codes = [np.where(validity(c.indices), numbers(c.indices, np.int32), np.int32(-1)) for c in whole]
        return DistinctKeys(whole[-1].dictionary, np.concatenate(codes))
