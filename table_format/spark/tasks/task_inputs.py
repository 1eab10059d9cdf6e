"""Pieces of work that travel with the code of every task of a job, of which each task unpacks its own.

To unpack a split takes 90 µs: were each of ten thousand tasks to unpack the splits of all, that alone would take hours.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import pyarrow as pa

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TaskInputs(Generic[T]):
    """Packed pieces, by their number.

    >>> TaskInputs.of(["a", "b"])[1]
    'b'
    """

    packed: Sequence[bytes]

    @classmethod
    def of(cls, pieces: Iterable[T]) -> TaskInputs[T]:
        """The pieces, each packed by itself."""
        return cls(tuple(pickle.dumps(piece, pickle.HIGHEST_PROTOCOL) for piece in pieces))

    def __len__(self) -> int:
        return len(self.packed)

    def __getitem__(self, number: int) -> T:
        # They come from the driver, as the code that unpacks them does.
        return cast("T", pickle.loads(self.packed[number]))  # noqa: S301


def numbers_in(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """The numbers of the pieces that a task is to do, which come in as the first column.

    >>> list(numbers_in([pa.record_batch({"id": [3, 1]}), pa.record_batch({"id": [2]})]))
    [3, 1, 2]
    """
    for batch in batches:
        yield from cast("list[int]", batch.column(0).to_pylist())
