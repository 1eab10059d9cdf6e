"""Sorts many texts: by the first eight bytes in which they differ, and by all bytes if these are equal."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_format.kernels.aggregates.buffers import numbers
from table_format.kernels.file_index.word_order import word_order
from table_format.kernels.row_words import BytesWords, column_words
from table_format.model.types import VarBinaryType

_WORD_BYTES: Final = 8
_FEW_TEXTS: Final = 1000
"""Up to this many texts, comparing them is as fast as building a dictionary."""
_KEPT: Final = np.array([(1 << 8 * kept) - 1 for kept in range(_WORD_BYTES + 1)], np.uint64)
"""Masks of the first bytes of a little-endian word."""


def text_order(texts: pa.Array) -> npt.NDArray[np.int64]:
    """Return the positions of non-null binary values in ascending order of their bytes.

    >>> text_order(pa.array([b"b", b"a\\0", b"a"])).tolist()
    [2, 1, 0]
    """
    return distinct_text_order(texts)[0]


def distinct_text_order(texts: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the stable order, and a mask of the ordered texts that differ from the previous one.

    >>> [found.tolist() for found in distinct_text_order(pa.array([b"b", b"a", b"b"]))]
    [[1, 0, 2], [True, True, False]]
    """
    is_new = np.ones(len(texts), np.bool_)
    if not len(texts):
        return np.empty(0, np.int64), is_new
    words = _first_words(texts)
    order = word_order(words)
    ordered = words[order]
    is_next_equal = np.append(ordered[1:] == ordered[:-1], False)
    is_tied = is_next_equal | np.append(False, is_next_equal[:-1])
    repeated = _by_dictionary(texts) if 4 * np.count_nonzero(is_tied) > len(texts) > _FEW_TEXTS else None
    if repeated is not None:
        return repeated
    if is_tied.any():
        # Texts with equal words are adjacent, at the positions that they also have in the order of all bytes.
        order = order.copy()
        tied = order[is_tied]
        found = texts.take(tied)
        by_bytes = pc.array_sort_indices(found).to_numpy().astype(np.int64)
        order[is_tied] = tied[by_bytes]
        found = found.take(by_bytes)
        is_equal = pc.equal(found.slice(1), found.slice(0, len(found) - 1)).to_numpy(zero_copy_only=False)
        is_new[np.flatnonzero(is_tied)[1:]] = ~is_equal
    return order, is_new


def _by_dictionary(texts: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]] | None:
    """Return the same for texts that occur at least twice on average, comparing distinct ones only; else ``None``."""
    encoded = texts.dictionary_encode()
    if 2 * len(encoded.dictionary) > len(texts):
        return None
    by_text, _ = distinct_text_order(encoded.dictionary)
    ranks = np.empty(len(by_text), np.uint32)
    ranks[by_text] = np.arange(len(by_text), dtype=np.uint32)
    words = ranks[numbers(encoded.indices, np.int32)]
    order = word_order(words)
    ordered = words[order]
    return order, np.append(True, ordered[1:] != ordered[:-1])


def _first_words(texts: pa.Array) -> npt.NDArray[np.uint64]:
    """Return the bytes of each text after the common prefix, as a number of the same order."""
    bounds = pc.min_max(texts)
    skipped = _shared(bounds["min"].as_py(), bounds["max"].as_py())
    stored = column_words(VarBinaryType(), texts)
    assert isinstance(stored, BytesWords)  # noqa: S101 - that is what bytes become
    words = stored.loads(stored.starts + skipped)
    kept: npt.NDArray[np.uint64] = (words & _KEPT[np.minimum(stored.lengths - skipped, _WORD_BYTES)]).byteswap()
    return kept


def _shared(smallest: bytes, largest: bytes) -> int:
    """Return the length of the common prefix of two texts, which all texts between them share."""
    length = min(len(smallest), len(largest))
    return next((at for at in range(length) if smallest[at] != largest[at]), length)
