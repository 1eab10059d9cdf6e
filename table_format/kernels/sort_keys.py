"""The sort key of a sort compaction, as columns without nulls.

``order`` compares one column after the other, null before every value; ``zorder`` and ``hilbert`` compare positions on
a curve through all of them (Java ``OrderType``; ``kernels/curves.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.kernels.curves import (
    WORD_BYTES,
    Sample,
    Spread,
    as_signed_words,
    hilbert,
    interleaved,
    ordered_bytes,
)
from table_format.kernels.key_words import integers, is_bytes
from table_format.kernels.sort import sort_order
from table_format.model.arrow_calls import concat_batches

_PREFIX: Final = "_SORT_"


class OrderStrategy(StrEnum):
    """How rows are sorted by several columns."""

    ORDER = "order"
    ZORDER = "zorder"
    HILBERT = "hilbert"


@dataclass(frozen=True, slots=True)
class SortKey:
    """A sort key over ``columns``; curves also need ``spread``, the distribution of all rows that are sorted together.

    ``text_bytes`` is the number of bytes that a string or binary column contributes to the z-order.
    """

    strategy: OrderStrategy
    columns: tuple[str, ...]
    text_bytes: int = WORD_BYTES
    spread: Mapping[str, Spread] = field(default_factory=dict)

    @property
    def needs_spread(self) -> bool:
        """Whether all rows must be read before the key of the first can be computed."""
        return self.strategy is not OrderStrategy.ORDER

    @property
    def width(self) -> int:
        """The number of bytes of a string or binary column on a curve."""
        return self.text_bytes if self.strategy is OrderStrategy.ZORDER else WORD_BYTES


class SortKeySample:
    """Collects the distribution of the columns of a key over all rows."""

    def __init__(self, key: SortKey) -> None:
        self._key = key
        self._samples = {name: Sample() for name in key.columns}

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        for name, sample in self._samples.items():
            sample.add(batch.column(name))

    def with_spread(self) -> SortKey:
        """Return the key with the distribution of the rows that were added."""
        width = self._key.width
        return replace(self._key, spread={name: s.spread(width=width) for name, s in self._samples.items()})


def with_sort_key(batch: pa.RecordBatch, key: SortKey) -> pa.RecordBatch:
    """Return the batch with the columns of the key appended; their names have a common prefix.

    >>> rows = pa.record_batch({"a": [3, None, 1]})
    >>> with_sort_key(rows, SortKey(OrderStrategy.ORDER, ("a",))).to_pydict()
    {'a': [3, None, 1], '_SORT_0': [1, 0, 1], '_SORT_1': [3, 0, 1]}
    """
    columns = _ordered(batch, key) if key.strategy is OrderStrategy.ORDER else _on_curve(batch, key)
    for number, column in enumerate(columns):
        batch = batch.append_column(f"{_PREFIX}{number}", column)
    return batch


def sort_columns(batch: pa.RecordBatch) -> list[str]:
    """Return the columns of the key that ``with_sort_key`` appended."""
    return [name for name in batch.schema.names if name.startswith(_PREFIX)]


def without_sort_key(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch without the columns of the key."""
    return batch.select([name for name in batch.schema.names if not name.startswith(_PREFIX)])


def bounds_of(sample: pa.RecordBatch, count: int) -> pa.RecordBatch:
    """Return at most ``count`` - 1 ascending keys that divide rows like those of the sample into about equal parts.

    >>> rows = with_sort_key(pa.record_batch({"a": list(range(100))}), SortKey(OrderStrategy.ORDER, ("a",)))
    >>> bounds_of(rows, 4).column(1).to_pylist()
    [25, 50, 75]
    """
    columns = sort_columns(sample)
    ordered = sample.select(columns).take(sort_order(sample, columns))
    places = sorted({ordered.num_rows * part // count for part in range(1, count)} - {0})
    return ordered.take(pa.array(places, pa.int64()))


def parts_of(batch: pa.RecordBatch, bounds: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """Return, for each row of a batch with its key, the number of bounds that are not above it.

    >>> key = SortKey(OrderStrategy.ORDER, ("a",))
    >>> bounds = bounds_of(with_sort_key(pa.record_batch({"a": [1, 2, 3, 4]}), key), 2)
    >>> parts_of(with_sort_key(pa.record_batch({"a": [3, 1, 9, 2]}), key), bounds).tolist()
    [1, 0, 1, 0]
    """
    columns = bounds.schema.names
    # The bounds come first, so a row that equals a bound comes after it.
    together = concat_batches([bounds, batch.select(columns)])
    order = sort_order(together, columns)
    parts = np.empty(len(order), np.int64)
    parts[order] = np.cumsum(order < bounds.num_rows)
    return parts[bounds.num_rows :]


def _ordered(batch: pa.RecordBatch, key: SortKey) -> Sequence[pa.Array]:
    found: list[pa.Array] = []
    for name in key.columns:
        array = batch.column(name)
        # Check the nullability of the column instead of the batch, so that all batches get the same columns.
        if batch.schema.field(name).nullable:
            found.append(array.is_valid().cast(pa.int8()))
        found.append(_filled(array))
    return found


def _filled(array: pa.Array) -> pa.Array:
    """Return the column in the form that the kernels compare, with the smallest value at nulls."""
    if is_bytes(array.type):
        return array.fill_null(b"" if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type) else "")
    values = integers(array)
    if values is None:
        return array.fill_null(0)
    if array.null_count:
        values = np.where(array.is_null().to_numpy(zero_copy_only=False), 0, values)
    return pa.array(np.ascontiguousarray(values))


def _on_curve(batch: pa.RecordBatch, key: SortKey) -> Sequence[pa.Array]:
    curve = interleaved if key.strategy is OrderStrategy.ZORDER else hilbert
    columns = [ordered_bytes(batch.column(name), key.spread[name], width=key.width) for name in key.columns]
    return [pa.array(word) for word in as_signed_words(curve(columns))]
