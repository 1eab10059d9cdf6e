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
from itertools import count
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import functions as F

from table_format.limits import MIB
from table_format.model.data_file import DataFileMeta
from table_format.spark.tasks.arrow_rows import frame_of_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAX_ROWS: Final = 32 * MIB * 8
"""Maximum rows, deleted or not, of all files whose vectors are sent to Spark: a bit each in the driver and executors.
"""

MAX_FILES: Final = 5_000
"""Maximum number of vectors that the driver reads for one DataFrame."""

MAX_ROWS_OF_SCAN: Final = 2 * MIB * 8
"""Maximum rows of all files with vectors of one scan. Their bits are copied to each of its tasks."""

MAX_FILES_OF_SCAN: Final = 200
"""Maximum number of files of one scan, with and without vectors."""

_NOTHING: Final = np.zeros(0, np.int64)

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


def without_deleted_rows(spark: SparkSession, rows: DataFrame, files: Sequence[FileWithDeletedRows]) -> DataFrame:
    """Return the rows of a DataFrame over exactly these files that no vector marks, with three additional columns.

    The vectors are sent with the tasks as the result of a subquery, and one condition tests each row. Conditions of the
    user follow it. With a join, Spark might evaluate them first, for deleted rows too, where they may fail.
    """
    metadata = rows.metadataColumn("_metadata")
    position = metadata.getField("row_index")
    keys = [found.file.file_size for found in files]
    key = metadata.getField("file_size")
    if len(set(keys)) < len(keys):
        # Distinguishing files by name takes a fifth of the scan time, because Spark creates a string for each row.
        keys = [_key(found.file.file_name) for found in files]
        key = F.crc32(metadata.getField("file_name").cast("binary"))
    names = key_name, position_name, words_name = _free_names(rows.columns, ("file", "position", "words"))
    places, words = _words(files, keys)
    array = pa.ListArray.from_arrays(pa.array([0, len(words)], pa.int32()), pa.array(words))
    bits = frame_of_rows(spark, pa.table({"words": array}), "words array<bigint>").scalar()
    found = rows.select("*", *(c.alias(n) for c, n in zip((key, position, bits), names, strict=True)))
    return found.where(_is_kept(words_name, f"cast(pmod({key_name}, {places}) * 3 AS int)", key_name, position_name))


def _words(files: Sequence[FileWithDeletedRows], keys: Sequence[int]) -> tuple[int, npt.NDArray[np.int64]]:
    """Return one array with an entry of three words for each file, then the bits of all files as words.

    The position of the entry of a file is its key modulo the number of entries. An entry holds the key, the start of
    the bits, and the number of their words. It is an array of numbers, not of structs, because Spark creates an object
    for each struct that it reads.
    """
    places = next(n for n in count(len(keys)) if len({key % n for key in keys}) == len(keys))
    directory = np.full((places, 3), -1, np.int64)
    bits = []
    end = directory.size
    for found, key in zip(files, keys, strict=True):
        words = _NOTHING if found.vector is None else found.vector.words(found.file.row_count)
        directory[key % places] = (key, end, len(words))
        bits.append(words)
        end += len(words)
    return places, np.concatenate([directory.ravel(), *bits])


def _is_kept(words: str, place: str, key: str, position: str) -> str:
    """Return the SQL test that the bit of a row is 0. Parsing one text is faster than creating twenty columns.

    The test raises an error if the row is unknown.
    """
    first, length = f"get({words}, {place} + 1)", f"get({words}, {place} + 2)"
    word = f"get({words}, cast({first} + shiftright({position}, 6) AS int))"
    message = "a row is in no file, or beyond the end of a file, for which the table has deletion vectors: position "
    unknown = f"cast(raise_error(concat('{message}', {position})) AS boolean)"
    return (
        f"CASE WHEN NOT get({words}, {place}) <=> {key} THEN {unknown} WHEN {length} = 0 THEN true "
        f"WHEN shiftright({position}, 6) >= {length} THEN {unknown} "
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
