"""The distinct keys of a column in ascending order, and the rank of the key of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.kernels.aggregates.buffers import numbers, validity
from table_format.kernels.file_index.keys import Ints, keys_of, sort_order
from table_format.kernels.file_index.row_bitmaps import Mask
from table_format.kernels.file_index.text_order import distinct_text_order
from table_format.kernels.file_index.text_words import TextWords
from table_format.kernels.file_index.word_order import word_order
from table_format.limits import MIB
from table_format.model.arrow_calls import arrow_array
from table_format.model.types import DataType, TextType

Ranks: TypeAlias = npt.NDArray[np.int32]

_WORD_BITS: Final = 64
_TABLE_PLACES_PER_ROW: Final = 8
"""Keys whose range is at most this many times the rows are ranked with a table over the range, without sorting."""
_TWO_BYTES: Final = 1 << 16
_SAMPLE_ROWS: Final = 4096
_MAX_SAMPLE_KEYS: Final = 3072
"""With more distinct texts in a sample, sorting the texts is faster than collecting them in a dictionary."""
_MAX_TEXT_BYTES: Final = 1024 * MIB
"""More bytes are always collected in dictionaries, because an array of text is limited to 2 GB."""


@dataclass(frozen=True, slots=True)
class RankedKeys:
    """Distinct ascending ``keys``; ``ranks`` are the positions in it of the key of each row, -1 for null."""

    keys: pa.Array
    ranks: Ranks

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self.ranks)


@dataclass(frozen=True, slots=True)
class RowsByKey:
    """Distinct ascending ``keys``; ``rows`` are the rows of each, which end at ``ends``.

    >>> found = RowsByKey(pa.array([7, 8]), np.array([1]), np.array([0, 3, 2]), np.array([2, 3]))
    >>> found.counts, found.firsts, found.ends_with_new_key
    (array([2, 1]), array([0, 2]), False)
    """

    keys: pa.Array
    nulls: Ints
    """The null rows."""
    rows: Ints
    ends: Ints

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self.rows) + len(self.nulls)

    @property
    def counts(self) -> Ints:
        """The number of rows of each key."""
        return np.diff(self.ends, prepend=0)

    @property
    def firsts(self) -> Ints:
        """The first row of each key."""
        firsts: Ints = self.rows[self.ends - self.counts]
        return firsts

    @property
    def ends_with_new_key(self) -> bool:
        """Whether the key of the last non-null row occurs for the first time in that row."""
        return bool(len(self.rows) and self.firsts.max() == self.rows[self.ends - 1].max())


class RankedKeysBuilder:
    """Ranks the keys of a column that is added in pieces."""

    def __init__(self, data_type: DataType) -> None:
        self._type = data_type
        self._is_text = isinstance(data_type, TextType)
        self._words = TextWords() if self._is_text else None
        self._texts: list[pa.Array] = []
        self._text_bytes = 0
        self._keys: list[Ints] = []
        self._present: list[Mask] = []

    def add(self, column: pa.Array) -> None:
        """Add the values of the next rows."""
        keys = keys_of(column, self._type)
        if not self._is_text:
            self._keys.append(numbers(keys, np.int64))
            self._present.append(validity(keys))
            return
        if self._words is not None:
            if self._words.add(keys):
                return
            earlier, self._words = self._words, None
            for piece in earlier.pieces():
                self._add_texts(piece)
        self._add_texts(keys)

    def _add_texts(self, keys: pa.Array) -> None:
        self._text_bytes += keys.nbytes
        self._texts.append(keys if self._are_mostly_distinct(keys) else keys.dictionary_encode())

    def _are_mostly_distinct(self, keys: pa.Array) -> bool:
        if self._text_bytes > _MAX_TEXT_BYTES:
            return False
        return len(keys.slice(0, _SAMPLE_ROWS).unique()) > _MAX_SAMPLE_KEYS

    def ranked(self) -> RankedKeys:
        """Return the distinct keys, and the rank of each row."""
        if self._has_integers:
            keys, present = self._integers()
            distinct, known = ranked(keys)
            return RankedKeys(self._as_keys(distinct), _among_nulls(known, present))
        dictionary = self._dictionary()
        return _ranked_texts(self._plain_texts()) if dictionary is None else dictionary

    def rows_by_key(self) -> RowsByKey:
        """Return the distinct keys, and the rows of each."""
        if self._has_integers:
            keys, present = self._integers()
            distinct, rows, ends = grouped(keys)
            return _with_nulls(self._as_keys(distinct), rows, ends, present)
        dictionary = self._dictionary()
        if dictionary is None:
            return _grouped_texts(self._plain_texts())
        present = None if dictionary.ranks.min(initial=0) == 0 else dictionary.ranks >= 0
        ranks = dictionary.ranks if present is None else dictionary.ranks[present]
        return _with_nulls(dictionary.keys, *_grouped_by_counting(ranks)[1:], present)

    @property
    def _has_integers(self) -> bool:
        """Whether keys are integers, or texts that are encoded as integers."""
        return not self._is_text or self._words is not None

    def _integers(self) -> tuple[Ints, Mask | None]:
        """Return all non-null keys, and a mask of them if some keys are null."""
        if self._words is not None:
            known, present = self._words.gathered()
            return known, None if present.all() else present
        present = np.concatenate([np.empty(0, np.bool_), *self._present])
        keys = np.concatenate([np.empty(0, np.int64), *self._keys])
        return (keys, None) if present.all() else (keys[present], present)

    def _as_keys(self, distinct: Ints) -> pa.Array:
        return arrow_array(distinct) if self._words is None else self._words.texts_of(distinct)

    def _dictionary(self) -> RankedKeys | None:
        """Rank texts that were collected in dictionaries; return ``None`` if most of them are distinct."""
        if not self._texts or (self._text_bytes <= _MAX_TEXT_BYTES and not any(map(_is_encoded, self._texts))):
            return None
        pieces = [texts if _is_encoded(texts) else texts.dictionary_encode() for texts in self._texts]
        return _ranked_by_dictionary(cast("list[pa.DictionaryArray]", pieces))

    def _plain_texts(self) -> pa.Array:
        return pa.concat_arrays([arrow_array([], pa.binary()), *self._texts])


def _is_encoded(texts: pa.Array) -> bool:
    return pa.types.is_dictionary(texts.type)


def _among_nulls(known: Ranks, present: Mask | None) -> Ranks:
    """Convert ranks of the non-null rows to ranks of all rows."""
    if present is None:
        return known
    ranks = np.full(len(present), -1, np.int32)
    ranks[present] = known
    return ranks


def _with_nulls(keys: pa.Array, rows: Ints, ends: Ints, present: Mask | None) -> RowsByKey:
    """Convert positions among the non-null rows to positions among all rows."""
    if present is None:
        return RowsByKey(keys, np.empty(0, np.int64), rows, ends)
    return RowsByKey(keys, np.flatnonzero(~present), np.flatnonzero(present)[rows], ends)


def ranked(keys: Ints) -> tuple[Ints, Ranks]:
    """Return the distinct numbers in ascending order, and the rank of each number.

    >>> ranked(np.array([30, 10, 30]))
    (array([10, 30]), array([1, 0, 1], dtype=int32))
    """
    if not len(keys):
        return keys, np.empty(0, np.int32)
    distances, low, width = _distances(keys)
    if width < _TABLE_PLACES_PER_ROW * len(keys):
        distinct, ranks = _ranked_by_table(distances.view(np.int64), width)
        return distinct + np.int64(low), ranks.astype(np.int32, copy=False)
    if _are_few(keys):
        return _ranked_by_hashing(keys)
    order = word_order(distances)
    ordered = keys[order]
    is_new = _are_new(ordered)
    return ordered[is_new], _ranks(order, is_new)


def grouped(keys: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the distinct numbers in ascending order, the positions of each, and the ends of these.

    >>> grouped(np.array([30, 10, 30]))
    (array([10, 30]), array([1, 0, 2]), array([1, 3]))
    """
    if not len(keys):
        return keys, keys, keys
    distances, low, width = _distances(keys)
    is_narrow, are_few = width < len(keys), width >= _TWO_BYTES and _are_few(keys)
    if is_narrow and not are_few:
        found, order, ends = _grouped_by_counting(distances.view(np.int64))
        return found + np.int64(low), order, ends
    if are_few:
        # Ranks have fewer digits to sort by.
        if width >= _TABLE_PLACES_PER_ROW * len(keys):
            distinct, ranks = _ranked_by_hashing(keys)
            return distinct, *_grouped_by_counting(ranks)[1:]
        found, places = _ranked_by_table(distances.view(np.int64), width)
        return found + np.int64(low), *_grouped_by_counting(places)[1:]
    order = word_order(distances)
    ordered = keys[order]
    is_new = _are_new(ordered)
    return ordered[is_new], order, _ends(is_new)


def _grouped_by_counting(numbers: Ints | Ranks | npt.NDArray[np.uint16]) -> tuple[Ints, Ints, Ints]:
    """Return the same as ``grouped``, for few different numbers from 0 on."""
    counts = _counts(numbers)
    distinct = np.flatnonzero(counts)
    words = numbers.astype(np.uint16, copy=False) if len(counts) <= _TWO_BYTES else numbers.astype(np.uint32)
    return distinct, word_order(words), np.cumsum(counts[distinct])


def _counts(numbers: Ints | Ranks | npt.NDArray[np.uint16]) -> Ints:
    """Return the count of each number from 0 on. Two-byte words are widened in blocks that fit into the cache."""
    if numbers.dtype != np.uint16:
        return np.bincount(numbers)
    counts = np.zeros(int(numbers.max(initial=0)) + 1, np.int64)
    for start in range(0, len(numbers), _TWO_BYTES):
        counts += np.bincount(numbers[start : start + _TWO_BYTES], minlength=len(counts))
    return counts


def _are_few(keys: Ints) -> bool:
    """Return whether the first keys have many repetitions."""
    sample = keys[:_SAMPLE_ROWS]
    return len(keys) > _SAMPLE_ROWS and len(np.unique(sample)) <= _MAX_SAMPLE_KEYS


def _ranked_by_hashing(keys: Ints) -> tuple[Ints, Ranks]:
    encoded = arrow_array(keys).dictionary_encode()
    found = numbers(encoded.dictionary, np.int64)
    order = np.argsort(found)
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return found[order], ranks[numbers(encoded.indices, np.int32)]


def _distances(keys: Ints) -> tuple[npt.NDArray[np.uint64], int, int]:
    """Return the distances of keys from the smallest, the smallest key, and the largest distance."""
    low = int(keys.min())
    # Unsigned arithmetic wraps around, so no range is too wide.
    return keys.view(np.uint64) - np.uint64(low & (1 << _WORD_BITS) - 1), low, int(keys.max()) - low


def _are_new(ordered: Ints) -> Mask:
    """Return a mask of ordered keys that differ from the previous one."""
    is_new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return is_new


def _ends(is_new: Mask) -> Ints:
    return np.append(np.flatnonzero(is_new)[1:], len(is_new)) if len(is_new) else np.empty(0, np.int64)


def _ranked_by_table(distances: Ints, width: int) -> tuple[Ints, Ranks | npt.NDArray[np.uint16]]:
    occurs = np.zeros(width + 1, np.bool_)
    occurs[distances] = True
    distinct = np.flatnonzero(occurs)
    if len(distinct) > _TWO_BYTES:
        ranks = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
        return distinct, ranks[distances]
    # A small table fits into the cache and needs no sums over the range.
    few = np.empty(width + 1, np.uint16)
    few[distinct] = np.arange(len(distinct), dtype=np.uint16)
    return distinct, few[distances]


def _ranks(order: Ints, is_new: Mask) -> Ranks:
    """Return the rank of each row; ``order`` sorts the rows, and ``is_new`` marks those that begin a new key."""
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.cumsum(is_new, dtype=np.int32) - np.int32(1)
    return ranks


def _ranked_texts(texts: pa.Array) -> RankedKeys:
    known, present = _without_nulls(texts)
    order, is_new = distinct_text_order(known)
    return RankedKeys(known.take(arrow_array(order[is_new])), _among_nulls(_ranks(order, is_new), present))


def _grouped_texts(texts: pa.Array) -> RowsByKey:
    known, present = _without_nulls(texts)
    order, is_new = distinct_text_order(known)
    return _with_nulls(known.take(arrow_array(order[is_new])), order, _ends(is_new), present)


def _without_nulls(texts: pa.Array) -> tuple[pa.Array, Mask | None]:
    return (texts.drop_null(), validity(texts)) if texts.null_count else (texts, None)


def _ranked_by_dictionary(pieces: list[pa.DictionaryArray]) -> RankedKeys:
    whole = cast("list[pa.DictionaryArray]", pa.chunked_array(pieces).unify_dictionaries().chunks)
    keys = whole[-1].dictionary
    order = sort_order(keys)
    # A null has the position -1, the last one.
    ranks = np.empty(len(order) + 1, np.int32)
    ranks[order], ranks[-1] = np.arange(len(order), dtype=np.int32), -1
    return RankedKeys(keys.take(order), ranks[np.concatenate([_codes(piece) for piece in whole])])


def _codes(piece: pa.DictionaryArray) -> Ranks:
    codes: Ranks = numbers(piece.indices, np.int32)
    return np.where(validity(piece.indices), codes, np.int32(-1)) if piece.indices.null_count else codes
