"""Loops that are compiled with numba, and the decision when to use them.

Every kernel here has a numpy counterpart with the same result, so numba is optional. numba takes half a second of a
process (import, and loading cached machine code), so it is imported only if an input is large enough. Arrays are
C-contiguous; inputs may be read-only, such as views of Arrow arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from table_format.errors import UnsupportedFeature

MIN_COMPILED_ROWS: Final = 5_000_000
"""The minimum number of rows for loading the compiled kernels; smaller inputs use numpy unless they are loaded.

Measured: loading takes 0.5 s, and a million rows take 0.02 to 0.06 s less than with numpy.
"""

MAX_COMPILED_ROWS: Final = 2**31 - 1
"""The maximum number of rows, because compiled kernels count rows in 32 bits."""

Int64Array: TypeAlias = npt.NDArray[np.int64]
Int32Array: TypeAlias = npt.NDArray[np.int32]
UInt64Array: TypeAlias = npt.NDArray[np.uint64]


class Backend(StrEnum):
    """The version of the kernels to run; use ``AUTO`` outside tests."""

    AUTO = "auto"
    COMPILED = "compiled"
    NUMPY = "numpy"


@dataclass(frozen=True, slots=True)
class CompiledKernels:
    """The compiled functions. Each returns the number of rows that it wrote to its output arrays."""

    merge_newest: Callable[..., int]
    merge_versioned: Callable[..., int]
    merge_stable: Callable[..., int]
    merge_words: Callable[..., int]


def kernels_for(row_count: int, backend: Backend = Backend.AUTO) -> CompiledKernels | None:
    """Return the compiled kernels if they should process an input of this size; ``None`` means numpy.

    Raises:
        UnsupportedFeature: ``COMPILED`` is requested, but numba cannot run.
    """
    if backend is Backend.NUMPY or row_count > MAX_COMPILED_ROWS:
        return None
    if backend is Backend.AUTO and row_count < MIN_COMPILED_ROWS and compiled.cache_info().currsize == 0:
        return None
    kernels = compiled()
    if kernels is None and backend is Backend.COMPILED:
        feature = "compiled kernels"
        raise UnsupportedFeature(feature, "compiled kernels were requested, but numba is not usable here")
    return kernels


@functools.cache
def compiled() -> CompiledKernels | None:
    """Return all compiled kernels, or ``None`` if numba is missing or disabled."""
    try:
        import numba  # imported here, because small inputs do not need it
    except ImportError:
        return None
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # set from the environment
        return None
    try:
        return _compile(numba, cache=True)
    except (RuntimeError, OSError):
        # A read-only installation cannot store the machine code: compile only for this process.
        return _compile(numba, cache=False)


def _compile(numba: Any, *, cache: bool) -> CompiledKernels:  # noqa: ANN401 - numba has no types
    int64, int32 = _input_array(numba, numba.int64), _input_array(numba, numba.int32)
    word_table = _input_array(numba, numba.uint64, 2)
    keys_out, rows_out = numba.int64[::1], numba.int32[::1]
    jit = functools.partial(numba.njit, cache=cache, nogil=True, boundscheck=False)
    pair = (int64, int32, int64, int32)
    return CompiledKernels(
        merge_newest=jit(numba.int64(*pair, keys_out, rows_out))(_merge_newest),
        merge_versioned=jit(numba.int64(*pair, int64, keys_out, rows_out))(_merge_versioned),
        merge_stable=jit(numba.int64(*pair, keys_out, rows_out))(_merge_stable),
        merge_words=jit(numba.int64(word_table, int32, int32, numba.boolean, rows_out))(_merge_words),
    )


def _input_array(numba: Any, dtype: object, dimensions: int = 1) -> Any:  # noqa: ANN401
    # Declared read-only, so that one machine-code version accepts both views of Arrow and our own arrays.
    return numba.types.Array(dtype, dimensions, "C", readonly=True)


def _merge_newest(
    older_keys: Int64Array,
    older_rows: Int32Array,
    newer_keys: Int64Array,
    newer_rows: Int32Array,
    keys: Int64Array,
    rows: Int32Array,
) -> int:
    """Merge two runs of unique keys; of equal keys, keep the newer row. No branch depends on the data."""
    i = j = out = 0
    while i < older_keys.size and j < newer_keys.size:
        a = older_keys[i]
        b = newer_keys[j]
        take_older = a <= b
        take_newer = b <= a
        keys[out] = a if take_older else b
        rows[out] = newer_rows[j] if take_newer else older_rows[i]
        i += take_older
        j += take_newer
        out += 1
    while i < older_keys.size:
        keys[out] = older_keys[i]
        rows[out] = older_rows[i]
        i += 1
        out += 1
    while j < newer_keys.size:
        keys[out] = newer_keys[j]
        rows[out] = newer_rows[j]
        j += 1
        out += 1
    return out


def _merge_versioned(
    older_keys: Int64Array,
    older_rows: Int32Array,
    newer_keys: Int64Array,
    newer_rows: Int32Array,
    versions: Int64Array,
    keys: Int64Array,
    rows: Int32Array,
) -> int:
    """Merge two runs of unique keys; of equal keys, keep the row with the higher version, or else the newer one."""
    i = j = out = 0
    while i < older_keys.size and j < newer_keys.size:
        a = older_keys[i]
        b = newer_keys[j]
        older_row = older_rows[i]
        newer_row = newer_rows[j]
        take_older = a <= b
        take_newer = b <= a
        newer_wins = take_newer and (not take_older or versions[newer_row] >= versions[older_row])
        keys[out] = a if take_older else b
        rows[out] = newer_row if newer_wins else older_row
        i += take_older
        j += take_newer
        out += 1
    while i < older_keys.size:
        keys[out] = older_keys[i]
        rows[out] = older_rows[i]
        i += 1
        out += 1
    while j < newer_keys.size:
        keys[out] = newer_keys[j]
        rows[out] = newer_rows[j]
        j += 1
        out += 1
    return out


def _merge_stable(
    older_keys: Int64Array,
    older_rows: Int32Array,
    newer_keys: Int64Array,
    newer_rows: Int32Array,
    keys: Int64Array,
    rows: Int32Array,
) -> int:
    """Merge two sorted runs and keep every row; of equal keys, older rows come first."""
    i = j = out = 0
    while i < older_keys.size and j < newer_keys.size:
        a = older_keys[i]
        b = newer_keys[j]
        take_newer = b < a
        keys[out] = b if take_newer else a
        rows[out] = newer_rows[j] if take_newer else older_rows[i]
        j += take_newer
        i += not take_newer
        out += 1
    while i < older_keys.size:
        keys[out] = older_keys[i]
        rows[out] = older_rows[i]
        i += 1
        out += 1
    while j < newer_keys.size:
        keys[out] = newer_keys[j]
        rows[out] = newer_rows[j]
        j += 1
        out += 1
    return out


def _merge_words(
    words: UInt64Array,
    older_rows: Int32Array,
    newer_rows: Int32Array,
    newest: bool,  # noqa: FBT001 - compiled functions take arguments by position
    rows: Int32Array,
) -> int:
    """Merge two runs whose keys are rows of ``words``; of equal keys, keep only the newer row, or both in order."""
    i = j = out = 0
    while i < older_rows.size and j < newer_rows.size:
        a = older_rows[i]
        b = newer_rows[j]
        order = 0
        for w in range(words.shape[1]):
            if words[a, w] != words[b, w]:
                order = -1 if words[a, w] < words[b, w] else 1
                break
        newer_alone = order > 0 or (order == 0 and newest)
        rows[out] = b if newer_alone else a
        i += order < 0 or order == 0
        j += newer_alone
        out += 1
    while i < older_rows.size:
        rows[out] = older_rows[i]
        i += 1
        out += 1
    while j < newer_rows.size:
        rows[out] = newer_rows[j]
        j += 1
        out += 1
    return out
