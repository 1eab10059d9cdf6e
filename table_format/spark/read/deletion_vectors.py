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
"""Rows, deleted or not, of all files whose vectors go to Spark: each costs a bit in the driver and in each executor."""

MAX_FILES: Final = 5_000
"""Vectors that the driver reads for one frame."""

MAX_ROWS_OF_SCAN: Final = 2 * MIB * 8
"""Rows of all files with vectors of one scan, whose bits are copied into each of its tasks, ..."""

MAX_FILES_OF_SCAN: Final = 200
"""... and files of one scan, with and without vectors."""

_NOTHING: Final = np.zeros(0, np.int64)

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
"""Names that are the same in a path and in a URL, which is what Spark shows."""


class RowMask(Protocol):
    """The rows of a file that are left out: a deletion vector, or what the keys of merged files say."""

    def words(self, row_count: int) -> npt.NDArray[np.int64]:
        """A bit for each row of a file with that many, 64 in a word from the lowest on, set for those left out."""
        ...


@dataclass(frozen=True, slots=True)
class FileWithDeletedRows:
    """A data file some of whose rows are left out, or, without a vector, one that is read beside such files."""

    path: str
    file: DataFileMeta
    vector: RowMask | None


class DeletionVectorBudget:
    """Which files may be read so: vectors of so many rows and files, and no two files whose names look alike."""

    def __init__(self, rows: int = MAX_ROWS, files: int = MAX_FILES) -> None:
        self._rows = rows
        self._files = files
        self._keys: set[int] = set()

    def takes(self, file: DataFileMeta) -> bool:
        """Whether the file, which has deleted rows, is one of those; if so, it counts."""
        if file.row_count > self._rows or self._files == 0 or not self.has_unique_name(file):
            return False
        self._rows -= file.row_count
        self._files -= 1
        return True

    def has_unique_name(self, file: DataFileMeta) -> bool:
        """Whether Spark can find the file among all those before it by its name."""
        key = _key(file.file_name)
        if _PLAIN_NAME.fullmatch(file.file_name) is None or key in self._keys:
            return False
        self._keys.add(key)
        return True


def scans_of(
    files: Sequence[FileWithDeletedRows], *, rows: int = MAX_ROWS_OF_SCAN, count: int = MAX_FILES_OF_SCAN
) -> Iterator[Sequence[FileWithDeletedRows]]:
    """The files of one scan after the other: a file that alone is beyond the bound on rows has a scan of its own."""
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
    """The rows of a frame over exactly these files that no vector marks, with three columns more.

    The vectors travel with the tasks, as the answer of a subquery, and the test of a row is one condition. What a user
    puts on the frame is a condition after it. A join would let Spark evaluate that first, for deleted rows too, of
    which it may be an error.
    """
    metadata = rows.metadataColumn("_metadata")
    position = metadata.getField("row_index")
    keys = [found.file.file_size for found in files]
    key = metadata.getField("file_size")
    if len(set(keys)) < len(keys):
        # To tell files apart by their names takes a fifth of the scan's time, as Spark makes them a text for each row.
        keys = [_key(found.file.file_name) for found in files]
        key = F.crc32(metadata.getField("file_name").cast("binary"))
    names = key_name, position_name, words_name = _free_names(rows.columns, ("file", "position", "words"))
    places, words = _words(files, keys)
    array = pa.ListArray.from_arrays(pa.array([0, len(words)], pa.int32()), pa.array(words))
    bits = frame_of_rows(spark, pa.table({"words": array}), "words array<bigint>").scalar()
    found = rows.select("*", *(c.alias(n) for c, n in zip((key, position, bits), names, strict=True)))
    return found.where(_is_kept(words_name, f"cast(pmod({key_name}, {places}) * 3 AS int)", key_name, position_name))


def _words(files: Sequence[FileWithDeletedRows], keys: Sequence[int]) -> tuple[int, npt.NDArray[np.int64]]:
    """One array with a place of three words for each file, and after all places the bits of the files, as words.

    The place of a file is the remainder of its key by the number of places. It holds the key, where the bits of the
    file begin, and the number of words that they take. That is one array of numbers, and not one of structures, because
    Spark makes an object for each structure that it looks at.
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
    """Whether the bit of a row is 0, as SQL: one text is parsed sooner than twenty columns are made one by one.

    It is an error where nothing is known of the row.
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
    """A number for a name, as Spark computes it too: to look up a number is cheaper than to look up a text."""
    return zlib.crc32(file_name.encode())


def _free_names(taken: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Names with a prefix that no taken name has, whatever its case.

    >>> _free_names(["k", "_MARK_x"], ["file"])
    ['_mark__file']
    """
    prefix = "_mark_"
    while any(name.lower().startswith(prefix) for name in taken):
        prefix += "_"
    return [prefix + name for name in wanted]
