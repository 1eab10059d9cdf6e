"""``rbm32``, ``rbm64``, ``theta_sketch`` and ``hll_sketch``: unions of serialised sets, two at a time.

A group with one operand keeps its bytes; only the others are decoded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from table_format.errors import InvalidData
from table_format.kernels.aggregates.buffers import validity
from table_format.kernels.aggregates.function import BINARY, AggregateFunction
from table_format.kernels.aggregates.roaring import decode_bitmap32, encode_bitmap32, has_runs, union_bitmap32
from table_format.kernels.aggregates.roaring64 import Bitmap64, decode_bitmap64, encode_bitmap64
from table_format.kernels.aggregates.segments import Segments, piecewise, take_rows
from table_format.kernels.aggregates.sketches import unite_hll, unite_theta
from table_format.kernels.aggregates.spec import Action, AggregateSpec
from table_format.model.arrow_calls import arrow_array


@dataclass(frozen=True)
class Union:
    """The operations of a union of stored sets: decode each set once, unite them one by one, encode the result once."""

    unite: Callable[[Any, Any], Any]
    decode: Callable[[bytes], Any] = bytes
    encode: Callable[[Any], bytes] = bytes


def unite_bitmaps32(older: bytes, newer: bytes) -> bytes:
    """Return the union of two 32-bit bitmaps."""
    if has_runs(older) or has_runs(newer):
        return encode_bitmap32(union_bitmap32(decode_bitmap32(older), decode_bitmap32(newer)))
    union = BitMap.deserialize(older) | BitMap.deserialize(newer)
    # Without runs on either side, the C library creates the same containers.
    union.run_optimize()
    return bytes(union.serialize())


def unite_bitmaps64(older: Bitmap64, newer: Bitmap64) -> Bitmap64:
    """Add the values of the newer bitmap to the older one, and return it."""
    older.unite(newer)
    return older


def fold_united(union: Union, spec: AggregateSpec, segments: Segments) -> pa.Array:
    """Return the union of all inputs.

    Raises:
        InvalidData: an input is not a valid set of this kind.
    """
    chosen = segments.select(validity(segments.values) & (segments.actions != Action.SKIP))
    several = np.zeros(segments.count, np.bool_)
    several[chosen.groups[np.diff(chosen.starts, append=len(chosen.rows)) > 1]] = True
    if not several.any():
        return take_rows(segments, chosen, chosen.rows[chosen.starts])
    return piecewise(segments, several, partial(fold_united, union, spec), lambda s: _united(union, spec, s))


def _united(union: Union, spec: AggregateSpec, segments: Segments) -> pa.Array:
    values, actions = segments.values.to_pylist(), segments.actions.tolist()
    spans = zip(segments.starts.tolist(), segments.lengths.tolist(), strict=True)
    try:
        results = [_union_of(union, values, actions, range(start, start + length)) for start, length in spans]
    except (ValueError, RuntimeError, IndexError) as e:
        message = (
            f"column '{spec.field.name}': '{spec.function}' cannot unite its inputs, because one of them is not what "
            f"the function stores: {e}"
        )
        raise InvalidData(message) from e
    return arrow_array(results, segments.values.type)


def _union_of(union: Union, values: list[bytes | None], actions: list[int], rows: range) -> bytes | None:
    accumulator = None
    for row in rows:
        value = values[row]
        if actions[row] == Action.SKIP or value is None:
            continue
        operand = union.decode(value)
        if accumulator is None:
            accumulator = operand
        elif actions[row] == Action.REVERSED:
            accumulator = union.unite(operand, accumulator)
        else:
            accumulator = union.unite(accumulator, operand)
    return None if accumulator is None else union.encode(accumulator)


def _united_by(name: str, union: Union, summary: str) -> AggregateFunction:
    return AggregateFunction(name, partial(fold_united, union), BINARY, summary)


RBM32: Final = _united_by("rbm32", Union(unite_bitmaps32), "the union of 32-bit roaring bitmaps")
RBM64: Final = _united_by(
    "rbm64", Union(unite_bitmaps64, decode_bitmap64, encode_bitmap64), "the union of 64-bit roaring bitmaps"
)
THETA_SKETCH: Final = _united_by("theta_sketch", Union(unite_theta), "the union of theta sketches")
HLL_SKETCH: Final = _united_by("hll_sketch", Union(unite_hll), "the union of HyperLogLog sketches")
