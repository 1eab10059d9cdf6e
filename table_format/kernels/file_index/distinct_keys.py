"""The distinct keys of a column and the rows that have each of them, while its values come in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.kernels.aggregates.buffers import numbers, validity
from table_format.kernels.file_index.keys import Ints, keys_of
from table_format.model.arrow_calls import chunked_array
from table_format.model.types import CharType, DataType, VarCharType

_FEW_KEYS = (1 << 16) - 1
"""Places of so many keys are sorted by their two bytes."""


@dataclass(frozen=True, slots=True)
class DistinctKeys:
    """``keys`` in the order in which they first came, and the place in it of the key of each row; -1 for null."""

    keys: pa.Array
    codes: npt.NDArray[np.int32]

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return len(self.codes)

    def rows_by_key(self) -> tuple[npt.NDArray[Any], Ints]:
        """All rows, those with null first and then key by key, and where the rows of each key end.

        >>> DistinctKeys(pa.array([7, 8]), np.array([0, -1, 1, 0], np.int32)).rows_by_key()
        (array([1, 0, 3, 2]), array([1, 3, 4]))
        """
        places = self.codes + 1
        narrow = places.astype(np.uint16) if len(self.keys) < _FEW_KEYS else places
        return np.argsort(narrow, kind="stable"), np.cumsum(np.bincount(places, minlength=len(self.keys) + 1))


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
        key_type = pa.binary() if isinstance(self._type, CharType | VarCharType) else pa.int64()
        whole = chunked_array(self._pieces, pa.dictionary(pa.int32(), key_type)).unify_dictionaries()
        if not whole.num_chunks:
            return DistinctKeys(pa.array([], key_type), np.empty(0, np.int32))
        chunks = cast("list[pa.DictionaryArray]", whole.chunks)
        codes = [np.where(validity(c.indices), numbers(c.indices, np.int32), np.int32(-1)) for c in chunks]
        return DistinctKeys(chunks[-1].dictionary, np.concatenate(codes))
