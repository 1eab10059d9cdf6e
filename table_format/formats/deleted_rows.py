"""Removes rows that are deleted by a deletion vector, or not selected, from the batches of a file.

Java ``ApplyDeletionVectorReader``.

A deletion vector counts positions from the first row of the file, while a reader returns only the rows of the row
groups that are needed. The reader therefore also states the positions of its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.codecs.deletion_vector import DeletionVector
from table_format.counted import counted
from table_format.errors import BadEncoding
from table_format.formats.nested import empty_columns


def without_deleted(
    batches: Iterable[pa.RecordBatch], deleted: DeletionVector, positions: Sequence[range], *, path: str = ""
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of batches that are not deleted; ``positions`` are the positions of the rows in the file.

    Raises:
        BadEncoding: the batches have more rows than there are positions.

    >>> batches = [pa.record_batch({"v": [4, 5, 8]}), pa.record_batch({"v": [9]})]
    >>> kept = without_deleted(batches, DeletionVector.of([0, 4, 9]), [range(4, 6), range(8, 10)])
    >>> [batch.column("v").to_pylist() for batch in kept]
    [[5, 8]]
    """
    waiting = list(reversed(positions))
    for batch in batches:
        mask = np.concatenate([deleted.kept(p.start, p.stop) for p in _taken(waiting, batch.num_rows, path)])
        left = int(np.count_nonzero(mask))
        if left == batch.num_rows:
            yield batch
        elif left:
            # A mask cannot be applied to a batch without columns.
            yield batch.filter(pa.array(mask)) if batch.num_columns else empty_columns(left)


def with_positions(
    batches: Iterable[pa.RecordBatch], positions: Sequence[range], *, path: str = ""
) -> Iterator[tuple[pa.RecordBatch, npt.NDArray[np.int64]]]:
    """Yield batches with the positions of their rows in the file.

    Raises:
        BadEncoding: the batches have more rows than there are positions.

    >>> batches = [pa.record_batch({"v": [4, 5, 8]}), pa.record_batch({"v": [9]})]
    >>> [found.tolist() for _, found in with_positions(batches, [range(4, 6), range(8, 10)])]
    [[4, 5, 8], [9]]
    """
    waiting = list(reversed(positions))
    for batch in batches:
        taken = _taken(waiting, batch.num_rows, path)
        yield batch, np.concatenate([np.arange(p.start, p.stop, dtype=np.int64) for p in taken])


def only_selected(
    batches: Iterable[pa.RecordBatch],
    positions: Sequence[range],
    selected: npt.NDArray[np.int64],
    *,
    path: str = "",
) -> Iterator[tuple[pa.RecordBatch, npt.NDArray[np.int64]]]:
    """Yield the rows of batches whose positions are in ``selected``, which is ascending, with their positions.

    Raises:
        BadEncoding: the batches have more rows than there are positions.

    >>> batches = [pa.record_batch({"v": [4, 5, 8]}), pa.record_batch({"v": [9]})]
    >>> found = only_selected(batches, [range(4, 6), range(8, 10)], np.array([5, 6, 9]))
    >>> [(batch.column("v").to_pylist(), rows.tolist()) for batch, rows in found]
    [([5], [5]), ([9], [9])]
    """
    for batch, found in with_positions(batches, positions, path=path):
        first, last = np.searchsorted(selected, [found[0], found[-1] + 1]) if found.size else (0, 0)
        wanted = selected[first:last]
        at = np.searchsorted(found, wanted)
        at = at[found[at] == wanted]
        if at.size:
            taken = batch.take(at) if batch.num_columns else empty_columns(at.size)
            yield (batch if at.size == batch.num_rows else taken), found[at]


def _taken(waiting: list[range], rows: int, path: str) -> Iterator[range]:
    """Take the positions of the next ``rows`` rows from the end of the list."""
    yield range(0)
    while rows > 0:
        if not waiting:
            raise BadEncoding(path, f"{counted(rows, 'row')} more than the stated number of rows in its row groups")
        head = waiting.pop()
        if len(head) > rows:
            waiting.append(head[rows:])
            head = head[:rows]
        rows -= len(head)
        yield head
