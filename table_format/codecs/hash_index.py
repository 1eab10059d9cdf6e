"""Hash index files: the key hashes of one dynamic bucket (format chapter 08, section 1; Java ``HashIndexFile``).

A file consists only of distinct 32-bit numbers, big-endian, in any order. The index manifest states their count.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from table_format.errors import Truncated

HASH_BYTES = 4


def encode_hashes(hashes: npt.NDArray[np.int32]) -> bytes:
    """Return the content of a hash index file.

    >>> encode_hashes(np.array([123456, 789012], np.int32)).hex()
    '0001e240000c0a14'
    """
    return hashes.astype(">i4").tobytes()


def decode_hashes(data: bytes, *, count: int, path: str) -> npt.NDArray[np.int32]:
    """Return the hashes of a file whose index manifest entry states ``count`` hashes.

    Raises:
        Truncated: the file has a different length.
    """
    if len(data) != HASH_BYTES * count:
        raise Truncated(path, expected_bytes=HASH_BYTES * count, found_bytes=len(data))
    return np.frombuffer(data, ">i4").astype(np.int32)
