"""Lets Spark's reader skip rows that deletion vectors mark (format chapter 08, section 2).

Spark's reader returns the file name and position of each row, even if a filter skips row groups and pages. A small
array has one bit for each row of each file, or no bits if all rows are live. A row whose file is missing in the
array, or whose position is beyond the bits, fails the query, since no other result is safe.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import numpy.typing as npt
from pyspark.sql import functions as F

from table_format.limits import MIB
from table_format.model.data_file import DataFileMeta
from table_format.spark.read.number_arrays import array_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

MAX_ROWS: Final = 32 * MIB * 8
"""Maximum rows, deleted or not, of all files whose vectors are sent to Spark: a bit each in the driver and executors.
"""

MAX_FILES: Final = 5_000
"""Maximum number of vectors that the driver reads for one DataFrame."""

MAX_ROWS_OF_SCAN: Final = 2 * MIB * 8
"""Maximum rows of all files with vectors of one scan. Their bits are copied to each of its tasks."""

MAX_FILES_OF_SCAN: Final = 200
"""Maximum number of files of one scan, with and without vectors."""

_METADATA: Final = "_metadata"

_SPARE_BITS: Final = 6
"""A directory has at most 64 places for each file, rounded up, if keys are distinct in so many of their bits."""

_KEY_BITS: Final = 63
"""Keys are not negative."""

_ALL_LIVE: Final = -1
"""The entry of a file without a vector."""

_LENGTH_BITS: Final = 32
"""The lower bits of an entry are the number of words, the others the position of the first word."""

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
"""File names that are the same in a path and in a URL. Spark returns URLs."""


class RowMask(Protocol):
    """The rows of a file to skip: those in a deletion vector, or those that newer versions supersede."""

    def words(self, row_count: int) -> npt.NDArray[np.int64]:
        """Return a bit for each of ``row_count`` rows, 64 in a word from the lowest bit; set bits mark rows to skip."""
        ...


@dataclass(frozen=True, slots=True)
class FileWithDeletedRows:
    """A data file with rows to skip, or, without a vector, a file that is read in the same scan as such files."""

    path: str
    file: DataFileMeta
    vector: RowMask | None


class DeletionVectorBudget:
    """Limits which files are read this way: the number of rows and of files with vectors. Names must be distinct."""

    def __init__(self, rows: int = MAX_ROWS, files: int = MAX_FILES) -> None:
        self._rows = rows
        self._files = files
        self._keys: set[int] = set()

    def takes(self, file: DataFileMeta) -> bool:
        """Return whether a file with deleted rows is within the limits; if so, count it."""
        if file.row_count > self._rows or self._files == 0 or not self.has_unique_name(file):
            return False
        self._rows -= file.row_count
        self._files -= 1
        return True

    def has_unique_name(self, file: DataFileMeta) -> bool:
        """Return whether the name of the file is unique among all previous files, so that Spark can identify it."""
        key = _key(file.file_name)
        if _PLAIN_NAME.fullmatch(file.file_name) is None or key in self._keys:
            return False
        self._keys.add(key)
        return True


def scans_of(
    files: Sequence[FileWithDeletedRows], *, rows: int = MAX_ROWS_OF_SCAN, count: int = MAX_FILES_OF_SCAN
) -> Iterator[Sequence[FileWithDeletedRows]]:
    """Divide files into scans. A file that exceeds the row limit alone gets its own scan."""
    scan: list[FileWithDeletedRows] = []
    marked = 0
    for found in files:
        more = found.file.row_count if found.vector else 0
        if scan and (len(scan) == count or marked + more > rows):
            yield scan
            scan, marked = [], 0
        scan.append(found)
        marked += more
    if scan:
        yield scan


def without_deleted_rows(
    spark: SparkSession, rows: DataFrame, files: Sequence[FileWithDeletedRows], columns: Sequence[str]
) -> DataFrame:
    """Return the rows of a DataFrame with these columns, over exactly these files, that no vector marks.

    The vectors are sent with the tasks as a constant array, and one condition tests each row. With a join, Spark might
    evaluate conditions of the user first, for deleted rows too, where they may fail. Put the result behind a barrier.
    """
    keys = [found.file.file_size for found in files]
    key = metadata_member(rows, "file_size", columns)
    if len(set(keys)) < len(keys):
        # Distinguishing files by name takes a fifth of the scan time, because Spark creates a string for each row.
        keys = [_key(found.file.file_name) for found in files]
        key = F.crc32(metadata_member(rows, "file_name", columns).cast("binary"))
    position = metadata_member(rows, "row_index", columns)
    names = key_name, position_name, words_name = _free_names(columns, ("file", "position", "words"))
    places = places_for(keys)
    words = _words(files, keys, places)
    added = zip((key, position, array_column(spark, words)), names, strict=True)
    test = _is_kept(words_name, places, key_name, position_name)
    return rows.select("*", *(value.alias(name) for value, name in added)).where(test).drop(*names)


def behind_barrier(rows: DataFrame) -> DataFrame:
    """Return the same rows. Spark evaluates no later condition before those of this DataFrame.

    Spark adds conditions that it infers, such as ``10 / b > 1`` from ``a = b AND 10 / a > 1``, in front of all others
    of a filter. It does not push conditions below a sample, and this sample has all rows.
    """
    return rows.sample(withReplacement=False, fraction=1.0, seed=0)


def metadata_member(rows: DataFrame, member: str, columns: Sequence[str]) -> Column:
    """Return a field of ``_metadata`` of Spark's reader. ``columns`` are the columns of the DataFrame."""
    if any(name.lower() == _METADATA for name in columns):
        return rows.metadataColumn(_METADATA).getField(member)
    # A name takes fewer calls to the JVM, but it could be a column of the table.
    return F.col(f"{_METADATA}.{member}")


@dataclass(frozen=True, slots=True)
class Places:
    """Where a directory has the files with certain keys: at the bits of ``mask`` in the key, folded by ``shift``.

    Spark computes this for each row. A remainder would take the time of a division.
    """

    shift: int
    mask: int

    def of(self, key: int) -> int:
        """Return the place of a key.

        >>> Places(4, 7).of(0b11_0001)
        2
        """
        return (key ^ key >> self.shift) & self.mask


def places_for(keys: Sequence[int]) -> Places:
    """Return distinct places with a mask as small as possible. Keys are folded only if they differ in no low bits.

    Both numbers are part of the code that Spark generates. With few different numbers, Spark often finds the code in
    its cache and does not compile it.

    Raises:
        ValueError: keys are equal.
    """
    least = (len(keys) - 1).bit_length()
    most = least + _SPARE_BITS
    whole = ((_KEY_BITS, bits) for bits in range(least, most))
    folded = ((shift, bits) for bits in range(most, _KEY_BITS + 1) for shift in range(1, _KEY_BITS + 1))
    for shift, bits in chain(whole, folded):
        places = Places(shift, (1 << bits) - 1)
        if len({places.of(key) for key in keys}) == len(keys):
            return places
    message = f"keys of files are equal: {sorted(keys)}"
    raise ValueError(message)


def _words(files: Sequence[FileWithDeletedRows], keys: Sequence[int], places: Places) -> npt.NDArray[np.int64]:
    """Return an array of the directory, then the bits of each file as words.

    The directory has two numbers at twice the place of a file: the key and the entry. A key that no file has is -1. The
    array has numbers, not structs, because Spark creates an object for each struct that it reads.
    """
    directory = np.full(2 * (places.mask + 1), -1, np.int64)
    parts = [directory]
    end = len(directory)
    for found, key in zip(files, keys, strict=True):
        place = 2 * places.of(key)
        directory[place] = key
        if found.vector is None:
            directory[place + 1] = _ALL_LIVE
            continue
        words = found.vector.words(found.file.row_count)
        directory[place + 1] = end << _LENGTH_BITS | len(words)
        parts.append(words)
        end += len(words)
    return np.concatenate(parts)


def _is_kept(words: str, places: Places, key: str, position: str) -> str:
    """Return the SQL test that the bit of a row is 0. Parsing one text is faster than creating twenty columns.

    The test raises an error if the row is unknown.
    """
    place = f"shiftleft(cast(({key} ^ shiftright({key}, {places.shift})) & {places.mask} AS int), 1)"
    entry = f"get({words}, {place} | 1)"
    length = f"{entry} & {(1 << _LENGTH_BITS) - 1}"
    word = f"get({words}, cast(shiftright({entry}, {_LENGTH_BITS}) + shiftright({position}, 6) AS int))"
    message = "a row is in no file, or beyond the end of a file, for which the table has deletion vectors: position "
    unknown = f"cast(raise_error(concat('{message}', {position})) AS boolean)"
    return (
        f"CASE WHEN NOT get({words}, {place}) <=> {key} THEN {unknown} WHEN {entry} < 0 THEN true "
        f"WHEN shiftright({position}, 6) >= ({length}) THEN {unknown} "
        f"ELSE (shiftright({word}, cast({position} & 63 AS int)) & 1) = 0 END"
    )


def _key(file_name: str) -> int:
    """Return a number for a name, as Spark also computes it. Finding a number is cheaper than finding a string."""
    return zlib.crc32(file_name.encode())


def _free_names(taken: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return names with a prefix that no taken name has, ignoring case.

    >>> _free_names(["k", "_MARK_x"], ["file"])
    ['_mark__file']
    """
    prefix = "_mark_"
    while any(name.lower().startswith(prefix) for name in taken):
        prefix += "_"
    return [prefix + name for name in wanted]
