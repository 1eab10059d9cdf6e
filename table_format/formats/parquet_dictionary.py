"""Selects the columns of a Parquet file with few distinct values, which get a dictionary.

To start a dictionary and abandon it in the middle of a row group costs more than all other encoding. The decision is
therefore made once for each file, from rows spread over its first row group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_SAMPLE_ROWS: Final = 8192
_PART_OF_SAMPLE: Final = 8
"""First, every n-th row of the sample is examined."""

_MIN_ROWS: Final = 64
_MAX_DISTINCT_SHARE: Final = 0.1


def dictionary_columns(columns: Iterable[tuple[str, pa.ChunkedArray]]) -> list[str]:
    """Return the columns that a dictionary makes smaller, as paths in the Parquet schema.

    >>> ids, kinds = pa.array(range(1000)), pa.array(["a", "b"] * 500)
    >>> tags = pa.array([["x"]] * 1000)
    >>> dictionary_columns([(n, pa.chunked_array([a])) for n, a in (("id", ids), ("kind", kinds), ("tags", tags))])
    ['kind', 'tags.list.element']
    """
    return [
        path
        for name, column in columns
        if column.num_chunks and not _is_varied(column)
        for path, leaf in _leaves(name, _sample(column))
        if _pays(leaf)
    ]


def _is_varied(column: pa.ChunkedArray) -> bool:
    """Return whether a part of the sample already has more distinct values than the whole sample may have."""
    rows = len(column)
    if rows < _MIN_ROWS or pa.types.is_nested(column.type):
        return False
    sampled = _sampled_rows(rows)
    part = column.take(sampled[::_PART_OF_SAMPLE])
    distinct: int = pc.count_distinct(part).as_py()
    return distinct >= _MAX_DISTINCT_SHARE * sampled.size


def _sample(column: pa.ChunkedArray) -> pa.Array:
    rows = len(column)
    if rows > _SAMPLE_ROWS:
        column = column.take(_sampled_rows(rows))
    return column.combine_chunks()


@lru_cache(maxsize=4)
def _sampled_rows(rows: int) -> npt.NDArray[np.int64]:
    """Return positions spread over ``rows`` rows; all columns of a file use the same positions."""
    sampled = np.arange(rows) if rows <= _SAMPLE_ROWS else np.linspace(0, rows - 1, _SAMPLE_ROWS).astype(np.int64)
    sampled.flags.writeable = False
    return sampled


def _leaves(path: str, array: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    arrow = array.type
    if pa.types.is_list(arrow):
        yield from _leaves(f"{path}.list.element", cast("pa.ListArray", array).flatten())
    elif pa.types.is_map(arrow):
        maps = cast("pa.MapArray", array)
        yield from _leaves(f"{path}.key_value.key", maps.keys)
        yield from _leaves(f"{path}.key_value.value", maps.items)
    elif pa.types.is_struct(arrow):
        structs = cast("pa.StructArray", array)
        for i in range(arrow.num_fields):
            yield from _leaves(f"{path}.{arrow.field(i).name}", structs.field(i))
    else:
        yield path, array


def _pays(leaf: pa.Array) -> bool:
    if len(leaf) < _MIN_ROWS or pa.types.is_boolean(leaf.type):
        return False
    if len(leaf) > _SAMPLE_ROWS:
        leaf = leaf.slice(0, _SAMPLE_ROWS)
    distinct: int = pc.count_distinct(leaf).as_py()
    return distinct < _MAX_DISTINCT_SHARE * len(leaf)
