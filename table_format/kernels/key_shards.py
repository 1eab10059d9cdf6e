"""Key shards: the assignment of keys of a cross-partition table to assigners (format chapter 11, section 2).

Java ``GlobalIndexAssigner`` with ``numAssigners`` and ``assignId``: the hash of the whole primary key determines the
assigner, as for dynamic buckets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.kernels.hash_buckets import assigner_of
from table_format.kernels.hashing import row_hashes
from table_format.model.types import DataType


@dataclass(frozen=True, slots=True)
class KeyShard:
    """The keys whose hash modulo ``of`` is ``number``."""

    number: int
    of: int

    @property
    def is_whole(self) -> bool:
        """Whether the shard has all keys."""
        return self.of == 1

    def owns(self, types: Sequence[DataType], columns: Sequence[pa.Array]) -> npt.NDArray[np.bool_]:
        """Return a mask of the rows in this shard, from the columns of the primary key.

        >>> from table_format.model.types import BigIntType
        >>> keys = pa.array([0, 1, 2, 3])
        >>> [KeyShard(n, 2).owns([BigIntType()], [keys]).tolist() for n in (0, 1)]
        [[False, True, True, False], [True, False, False, True]]
        """
        return np.asarray(assigner_of(row_hashes(types, columns), self.of) == self.number)

    def part_of(self, types: Sequence[DataType], batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch in this shard; the columns of the primary key must come first."""
        if self.is_whole or not batch.num_rows:
            return batch
        return batch.filter(pa.array(self.owns(types, batch.columns[: len(types)])))


WHOLE: Final = KeyShard(0, 1)
"""The shard of a single writer, with all keys."""
