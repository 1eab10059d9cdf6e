"""Finds the live rows of merged files, once for each set of files, in the driver or in Spark tasks.

It reads only keys, and, if they are needed, sequence numbers, sequence fields and row kinds. The result for a set of
files never changes and is cached in the process, up to a limit.
"""

from __future__ import annotations

import os
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import pyarrow as pa
from pyroaring import FrozenBitMap

from table_format.errors import TableFormatError
from table_format.formats.data_file_reader import DataFileReader
from table_format.indexes.deletion_vectors import vectors_of
from table_format.limits import MIB
from table_format.lsm.hidden_rows import HiddenRows, hidden_rows
from table_format.lsm.intervals import partition_into_sections
from table_format.lsm.keys import key_ranges
from table_format.lsm.merge_spec import merge_spec
from table_format.model.data_file import DataFileMeta
from table_format.model.split import DataSplit
from table_format.spark.read.task_groups import grouped
from table_format.spark.tasks.task_inputs import TaskInputs, numbers_in
from table_format.spark.tasks.task_results import decode_error, encode_error
from table_format.spark.tasks.worker import Batches, map_in_workers
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_ROWS_IN_DRIVER: Final = 4_000_000
"""Maximum number of rows whose keys the driver compares. With more, a Spark job is faster."""

MAX_KEPT_BYTES: Final = 64 * MIB
"""Cache limit in bytes: a bit for each row of files with hidden rows, for half a billion rows."""

_ENTRY_BYTES: Final = 1_000
"""Additional bytes of the cache for each file."""

_MAX_THREADS: Final = 8
_DDL: Final = "file string, count bigint, bits binary, failure string"
_COLUMNS: Final = ("file", "count", "bits", "failure")

HiddenByFile: TypeAlias = Mapping[str, HiddenRows]
_Key: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Positions:
    """The hidden rows of merged files by name, and the files that Python still reads: small ones, if there are many."""

    hidden: HiddenByFile
    for_python: frozenset[str] = frozenset()

    def live_rows(self, splits: Iterable[DataSplit]) -> int:
        """Return the number of live rows of merged files."""
        counts = (file.row_count - self._count(file) for split in splits for file in split.files)
        return sum(counts)

    def mask_of(self, file: DataFileMeta) -> Callable[[], HiddenRows] | None:
        """Return a function that returns the hidden rows of a file; ``None`` if it has none."""
        hidden = self.hidden.get(file.file_name)
        return None if hidden is None else lambda: hidden

    def seen(self, split: DataSplit) -> DataSplit:
        """Return a merged split without the files that have no live row."""
        return replace(split, files=tuple(file for file in split.files if self._count(file) < file.row_count))

    def live_rows_of(self, split: DataSplit, wanted: Sequence[int]) -> DataSplit:
        """Return the live rows of some files of a merged split as a split whose files are read one after the other."""
        files = tuple(split.files[i] for i in wanted)
        selections = tuple(map(self._live, files))
        return replace(split, files=files, raw_convertible=True, deletion_files=(), selections=selections)

    def _count(self, file: DataFileMeta) -> int:
        hidden = self.hidden.get(file.file_name)
        return 0 if hidden is None else hidden.count

    def _live(self, file: DataFileMeta) -> FrozenBitMap | None:
        hidden = self.hidden.get(file.file_name)
        if hidden is None:
            return None
        live = np.flatnonzero(hidden.kept(file.row_count)).astype(np.uint32)
        # Building it from such an array is ten times as fast as from a list.
        return FrozenBitMap(array("I", live.tobytes()))


@dataclass(slots=True)
class KeptPositions:
    """A cache of hidden rows by the files that were compared. The least recently used are dropped first."""

    max_bytes: int = MAX_KEPT_BYTES
    _known: OrderedDict[_Key, HiddenByFile] = field(default_factory=OrderedDict)
    _bytes: int = 0
    _lock: Lock = field(default_factory=Lock)

    def find(self, key: _Key) -> HiddenByFile | None:
        """Return the cached result for these files, if there is one."""
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
            return found

    def keep(self, key: _Key, hidden: HiddenByFile) -> None:
        """Cache a result within the limit."""
        with self._lock:
            if key in self._known:
                return
            self._known[key] = hidden
            self._bytes += _size(hidden)
            while self._bytes > self.max_bytes:
                _, dropped = self._known.popitem(last=False)
                self._bytes -= _size(dropped)


def _size(hidden: HiddenByFile) -> int:
    return _ENTRY_BYTES + sum(_ENTRY_BYTES + len(rows.bits) for rows in hidden.values())


kept_positions: Final = KeptPositions()


@dataclass(frozen=True)
class Comparison:
    """The files of some splits whose keys must be compared: those with a cached result, and the others."""

    facts: TableFacts
    plan: Plan
    known: HiddenByFile
    unknown: Sequence[tuple[_Key, DataSplit]]
    """Each split has the files of one section."""

    @classmethod
    def of(cls, facts: TableFacts, plan: Plan, splits: Sequence[DataSplit]) -> Comparison:
        """Return the comparison of splits whose files are merged."""
        known: dict[str, HiddenRows] = {}
        unknown: list[tuple[_Key, DataSplit]] = []
        for section in _sections(plan, splits):
            key = _key(facts, plan, section)
            found = kept_positions.find(key)
            if found is None:
                unknown.append((key, section))
            else:
                known.update(found)
        return cls(facts, plan, known, unknown)

    @property
    def rows_to_compare(self) -> int:
        """The stored rows of files without a cached result."""
        return sum(split.row_count for _, split in self.unknown)

    def hidden(self, spark: SparkSession) -> HiddenByFile:
        """Return the hidden rows by file name, for files that have some.

        Raises:
            CorruptionError: a file or a deletion vector is missing or damaged.
            RetractNotSupported: the merge engine cannot apply a retract row.
        """
        found = dict(self.known)
        splits = [split for _, split in self.unknown]
        compare = _by_driver if self.rows_to_compare <= MAX_ROWS_IN_DRIVER else _by_tasks
        compared = compare(spark, self.facts, self.plan, splits) if splits else {}
        for key, split in self.unknown:
            of_split = {f.file_name: compared[f.file_name] for f in split.files if f.file_name in compared}
            kept_positions.keep(key, of_split)
            found.update(of_split)
        return found


def _sections(plan: Plan, splits: Sequence[DataSplit]) -> Iterator[DataSplit]:
    """Divide splits into groups of files whose keys overlap."""
    ranges = key_ranges(plan.schema)
    for split in splits:
        numbers = {file.file_name: number for number, file in enumerate(split.files)}
        for section in partition_into_sections(split.files, ranges):
            files = tuple(file for run in section for file in run)
            vectors = tuple(split.deletion_files[numbers[f.file_name]] for f in files) if split.deletion_files else ()
            yield replace(split, files=files, deletion_files=vectors if any(vectors) else (), selections=())


def _key(facts: TableFacts, plan: Plan, split: DataSplit) -> _Key:
    """Return the cache key. Files are immutable and have unique names, but options may change the order of rows."""
    spec = merge_spec(plan.schema, facts.options)
    vectors = tuple(found and (found.path, found.range) for found in split.deletion_files)
    return (facts.store.paths.root, spec, tuple(file.file_name for file in split.files), vectors)


def _hidden_rows_of(facts: TableFacts, plan: Plan, split: DataSplit) -> HiddenByFile:
    reader = DataFileReader(facts.store, plan.schemas, plan.schema, facts.options)
    deletions = vectors_of(facts.store.io, split.files, split.deletion_files)
    return hidden_rows(reader, split.partition, split.bucket, split.files, plan.schema, facts.options, deletions)


def _by_driver(_: SparkSession, facts: TableFacts, plan: Plan, splits: Sequence[DataSplit]) -> HiddenByFile:
    found: dict[str, HiddenRows] = {}
    with ThreadPoolExecutor(min(len(splits), os.cpu_count() or 1, _MAX_THREADS), "positions") as pool:
        for of_split in pool.map(lambda split: _hidden_rows_of(facts, plan, split), splits):
            found.update(of_split)
    return found


def _by_tasks(spark: SparkSession, facts: TableFacts, plan: Plan, splits: Sequence[DataSplit]) -> HiddenByFile:
    groups = TaskInputs.of(grouped(spark, splits, facts.options.scan))
    work = _comparer(facts, plan.without_splits, groups)
    numbers = spark.range(0, len(groups), 1, len(groups))
    found: dict[str, HiddenRows] = {}
    for row in map_in_workers(numbers, work, _DDL).collect():
        if row.failure is not None:
            raise decode_error(row.failure)
        found[row.file] = HiddenRows(bytes(row.bits), row["count"])
    return found


def _comparer(facts: TableFacts, plan: Plan, groups: TaskInputs[Sequence[DataSplit]]) -> Callable[[Batches], Batches]:
    """Compare the groups of splits with the given numbers. Return one row for each file with hidden rows."""

    def compare(numbers: Batches) -> Batches:
        for number in numbers_in(numbers):
            for split in groups[number]:
                try:
                    yield _result(_hidden_rows_of(facts, plan, split))
                except TableFormatError as error:
                    yield _failure(error)

    return compare


def _result(hidden: HiddenByFile) -> pa.RecordBatch:
    counts = pa.array([rows.count for rows in hidden.values()], pa.int64())
    bits = pa.array([rows.bits for rows in hidden.values()], pa.binary())
    files = pa.array(list(hidden), pa.string())
    return pa.RecordBatch.from_arrays([files, counts, bits, pa.nulls(len(hidden), pa.string())], names=list(_COLUMNS))


def _failure(error: TableFormatError) -> pa.RecordBatch:
    nothing = [pa.nulls(1, data_type) for data_type in (pa.string(), pa.int64(), pa.binary())]
    return pa.RecordBatch.from_arrays([*nothing, pa.array([encode_error(error)])], names=list(_COLUMNS))
