"""Rows that deletion vectors mark, left out by Spark itself (format chapter 08, section 2).

Spark's reader tells of each row the name of its file and its position there, whatever row groups and pages a filter
skips. A small table holds, for each file, one bit for each of its rows, or none when all are there. A row whose file is
not found there, or that lies beyond the bits, fails the query, since no other answer is safe.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from table_format.codecs.deletion_vector import DeletionVector
from table_format.limits import MIB
from table_format.model.data_file import DataFileMeta

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

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
"""Names that are the same in a path and in a URL, which is what Spark shows."""


@dataclass(frozen=True, slots=True)
class FileWithDeletedRows:
    """A data file with deleted rows, or, without a vector, one that is read beside such files."""

    path: str
    file: DataFileMeta
    vector: DeletionVector | None


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
    places, array = _places(files, keys)
    bits = spark.createDataFrame(pa.table({"places": array})).scalar()
    found = rows.select("*", *(c.alias(n) for c, n in zip((key, position, bits), names, strict=True)))
    place = f"get({words_name}, cast(pmod({key_name}, {places}) AS int))"
    return found.where(_is_kept(f"if({place}.key = {key_name}, {place}.words, null)", position_name))


def _places(files: Sequence[FileWithDeletedRows], keys: Sequence[int]) -> tuple[int, pa.ListArray]:
    """An array in which each file has a place of its own: the remainder of its key by the number of places."""
    places = next(n for n in count(len(keys)) if len({key % n for key in keys}) == len(keys))
    at = [-1] * places
    for i, of_file in enumerate(keys):
        at[of_file % places] = i
    taken = pa.array([i if i >= 0 else None for i in at], pa.int64())
    filled = pa.StructArray.from_arrays(
        [pa.array(keys, pa.int64()).take(taken), _words(files).take(taken)], ["key", "words"]
    )
    return places, pa.ListArray.from_arrays(pa.array([0, places], pa.int32()), filled)


def _words(files: Sequence[FileWithDeletedRows]) -> pa.Array:
    none = np.zeros(0, np.int64)
    words = [none if found.vector is None else found.vector.words(found.file.row_count) for found in files]
    return pa.array(words, pa.list_(pa.int64()))


def _is_kept(words: str, position: str) -> str:
    """Whether the bit of a row is 0, as SQL: one text is parsed sooner than twenty columns are made one by one.

    It is an error where nothing is known of the row.
    """
    bit = f"shiftright(get({words}, cast(shiftright({position}, 6) AS int)), cast({position} & 63 AS int)) & 1"
    message = "a row lies in no file, or beyond the end of one, that the table has deletion vectors for: position "
    unknown = f"cast(raise_error(concat('{message}', {position})) AS bigint)"
    return f"coalesce({bit}, if(size({words}) = 0, 0L, null), {unknown}) = 0"


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
