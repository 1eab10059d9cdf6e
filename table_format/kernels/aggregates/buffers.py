"""Arrow arrays as numpy arrays and back, without copies where the layout allows it (format chapter 06, section 3)."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.model.arrow_calls import arrow_array, frombuffer, py_buffer

Ints: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

_WORD: Final = 64
_LOW: Final = 2**64 - 1


def validity(array: pa.Array) -> Mask:
    """Return a mask of the values that are not null."""
    if not array.null_count:
        return np.ones(len(array), np.bool_)
    valid: Mask = array.is_valid().to_numpy(zero_copy_only=False)
    return valid


def numbers(array: pa.Array, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return the fixed-width values of an array; the values at nulls are undefined."""
    dtype = np.dtype(dtype)
    if len(array) == 0:
        return np.empty(0, dtype)
    return frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)


def bits(array: pa.Array) -> Mask:
    """Return the values of a boolean array, with null as false."""
    values: Mask = array.fill_null(False).to_numpy(zero_copy_only=False)
    return values


def array_of_numbers(values: npt.NDArray[Any], valid: Mask, arrow: pa.DataType) -> pa.Array:
    """Return an array of a fixed-width type with the bytes of ``values``.

    >>> array_of_numbers(np.array([1, 2], np.int32), np.array([True, False]), pa.int32()).to_pylist()
    [1, None]
    """
    if arrow == pa.bool_():
        return arrow_array(values, arrow, mask=~valid)
    bitmap = None if valid.all() else py_buffer(np.packbits(valid, bitorder="little"))
    data = py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(arrow, len(valid), [bitmap, data])


def decimal_words(array: pa.Array) -> tuple[npt.NDArray[np.uint64], Ints]:
    """Return the low and high words of the unscaled values of a decimal array."""
    words = numbers(array, np.dtype((np.void, 16))).view(np.uint64).reshape(-1, 2)
    return words[:, 0], words[:, 1].view(np.int64)


def decimals_of_words(low: npt.NDArray[np.uint64], high: Ints, valid: Mask, arrow: pa.DataType) -> pa.Array:
    """Return a decimal array of unscaled values; as in the reference, they may have too many digits."""
    return array_of_numbers(np.stack([low, high.view(np.uint64)], axis=1), valid, arrow)


def unscaled_ints(array: pa.Array) -> list[int | None]:
    """Return the unscaled values of a decimal array as exact integers."""
    low, high = decimal_words(array)
    pairs = zip(low.tolist(), high.tolist(), validity(array).tolist(), strict=True)
    return [(h << _WORD) | lo if valid else None for lo, h, valid in pairs]


def decimals_of_ints(unscaled: list[int | None], arrow: pa.DataType) -> pa.Array:
    """Return a decimal array of exact unscaled integers of at most 128 bits."""
    low = np.array([0 if v is None else v & _LOW for v in unscaled], np.uint64)
    high = np.array([0 if v is None else v >> _WORD for v in unscaled], np.int64)
    return decimals_of_words(low, high, np.array([v is not None for v in unscaled], np.bool_), arrow)


def take_or_null(array: pa.Array, rows: Ints) -> pa.Array:
    """Return the values at these rows; null if the row is negative."""
    missing = rows < 0
    if not missing.any():
        return array.take(rows)
    return array.take(arrow_array(np.where(missing, 0, rows), mask=missing))
