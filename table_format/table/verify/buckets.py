"""Checks the files of one bucket against their metadata. A piece of work is a picklable fact.

By files: each exists with its size and number of rows, and its extra files can be read. By rows: each column of
each live file is read in batches, and compared with statistics, key range, order, bucket and indexes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_format.counted import counted
from table_format.errors import CorruptionError, TableFormatError, UnsupportedFeature
from table_format.formats.data_file_reader import DataFileReader
from table_format.indexes.deletion_vectors import DeletionVectors, VectorReader
from table_format.indexes.file_index import INDEX_SUFFIX, FileIndex, FileIndexes, names_of_indexes
from table_format.indexes.hash_index import read_hashes
from table_format.kernels.file_index.conditions import SoughtValues
from table_format.kernels.file_index.results import Skip
from table_format.kernels.merge import MergeSpec
from table_format.lsm.intervals import partition_into_sections
from table_format.lsm.keys import key_ranges
from table_format.lsm.runs import RunSource, merge_section
from table_format.model.bucket_id import BucketId
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import IndexManifestEntry
from table_format.model.predicate import IsNull
from table_format.model.schema import TableSchema
from table_format.model.split import DeletionFile
from table_format.model.types import NESTED, DataField
from table_format.options.bucket_mode import Dynamic, Fixed, Postponed
from table_format.shown_paths import shown_paths
from table_format.table.facts import TableFacts
from table_format.table.verify.file_rows import FileRows, RowExpectations
from table_format.table.verify.key_places import are_placed_by_index
from table_format.table.verify.report import Checked, Depth, Finding, KeyHashes, Severity


@dataclass(frozen=True, slots=True)
class BucketFiles:
    """The known facts of the files of a bucket.

    ``files`` are all referenced files, by name; ``live`` are the names of those of the latest state, to which
    ``total_buckets``, ``deletions`` and ``hash_index`` belong.
    """

    bucket_id: BucketId
    files: Mapping[str, DataFileMeta]
    live: frozenset[str] = frozenset()
    total_buckets: int = 0
    deletions: Mapping[str, DeletionFile] = field(default_factory=dict)
    hash_index: IndexManifestEntry | None = None


def check_bucket(facts: TableFacts, work: BucketFiles, depth: Depth) -> Checked:
    """Check the files of a bucket; an unreadable file is a finding.

    Raises ``OSError`` if the store fails.
    """
    check = _BucketCheck(facts, work)
    findings = [finding for file in work.files.values() for finding in check.file(file)]
    findings += check.hash_index()
    rows = 0
    if depth is Depth.ROWS:
        damaged = {finding.path for finding in findings if finding.severity is Severity.ERROR}
        for file in work.files.values():
            if file.file_name in work.live and check.path(file) not in damaged:
                findings += check.rows(file)
                rows += file.row_count
        if not findings:
            findings += check.keys_once()
    return Checked(tuple(findings), len(work.files), rows, check.key_hashes())


class _BucketCheck:
    """The checks of one bucket."""

    def __init__(self, facts: TableFacts, work: BucketFiles) -> None:
        self._facts = facts
        self._work = work
        self._text = facts.partitions.text(work.bucket_id.partition)
        self._vectors = VectorReader(facts.store.io)
        self._key_hashes: list[npt.NDArray[np.int32]] = []

    def key_hashes(self) -> KeyHashes | None:
        """Return the hashes of the keys whose rows were checked; ``None`` if no index decides on their bucket."""
        if not self._key_hashes:
            return None
        return KeyHashes(self._work.bucket_id, np.unique(np.concatenate(self._key_hashes)).tobytes())

    def path(self, file: DataFileMeta) -> str:
        """The path of a file, for findings."""
        try:
            return self._facts.store.paths.data_file(self._text, self._work.bucket_id.bucket, file)
        except TableFormatError:
            return file.external_path or file.file_name

    def file(self, file: DataFileMeta) -> Iterator[Finding]:
        """Check a data file, its extra files, and its deletion vector."""
        partition, bucket = self._work.bucket_id
        try:
            self._reader(file).row_groups(partition, bucket, file, None)
        except CorruptionError as error:
            expected = f"a file of {file.file_size} bytes with {counted(file.row_count, 'row')}"
            yield self._finding("data file", self.path(file), expected, _reason(error))
        except UnsupportedFeature as error:
            yield self._finding("data file", self.path(file), "a file that can be read", str(error), Severity.WARNING)
            return
        yield from self._beside(file)
        deletion = self._work.deletions.get(file.file_name)
        if deletion is not None:
            try:
                self._vectors.read(deletion, file.row_count)
            except CorruptionError as error:
                expected = f"a deletion vector of '{file.file_name}' within {counted(file.row_count, 'row')}"
                yield self._finding("deletion vector", deletion.path, expected, _reason(error))

    def _beside(self, file: DataFileMeta) -> Iterator[Finding]:
        facts, bucket = self._facts, self._work.bucket_id.bucket
        for path in facts.store.paths.extra_files(self._text, bucket, file):
            if not path.endswith(INDEX_SUFFIX) and facts.store.io.status(path) is None:
                yield self._finding("extra file", path, f"a file beside '{file.file_name}'", "none")
        try:
            names_of_indexes(facts.store, self._text, bucket, file)
        except CorruptionError as error:
            # Without its index the file is read as a whole, and the rows are the same.
            expected = f"indexes of '{file.file_name}'"
            yield self._finding("file index", error.path, expected, _reason(error), Severity.WARNING)

    def hash_index(self) -> Iterator[Finding]:
        """Check that the hash index of a dynamic bucket can be read."""
        entry = self._work.hash_index
        if entry is None:
            return
        try:
            self._hashes(entry)
        except CorruptionError as error:
            expected = f"the hashes of {counted(entry.index_file.row_count, 'key')}"
            yield self._finding("hash index", error.path, expected, _reason(error))

    def rows(self, file: DataFileMeta) -> Iterator[Finding]:
        """Check the rows of a live file, column by column."""
        partition, bucket = self._work.bucket_id
        facts = self._facts
        schema = facts.schemas[file.schema_id]
        rows = FileRows(file, schema, self._expectations())
        try:
            for batch in self._reader(file).read(partition, bucket, file, rows.fields):
                rows.add(batch)
        except (CorruptionError, UnsupportedFeature) as error:
            severity = Severity.ERROR if isinstance(error, CorruptionError) else Severity.WARNING
            yield self._finding("rows", self.path(file), "rows that can be read", _reason(error), severity)
            return
        self._key_hashes += rows.key_hashes
        for check, expected, found in rows.contradictions():
            yield self._finding(check, self.path(file), expected, found)
        yield from self._index_misses(file, schema)

    def _index_misses(self, file: DataFileMeta, schema: TableSchema) -> Iterator[Finding]:
        """Check that the indexes of a file know its values: a read by an unknown value would miss the row."""
        facts, (partition, bucket) = self._facts, self._work.bucket_id
        try:
            names = {column for column, _ in names_of_indexes(facts.store, self._text, bucket, file)}
        except CorruptionError:
            return  # that is a finding of its own
        fields = [column for column in schema.fields if column.name in names and not isinstance(column.type, NESTED)]
        if not fields:
            return
        indexes = FileIndexes(facts.store, facts.schemas, schema)

        def misses(index: FileIndex) -> dict[str, int]:
            found: dict[str, int] = {}
            for batch in self._reader(file).read(partition, bucket, file, fields):
                for column in fields:
                    count = denied_values(index, column, batch.column(column.name))
                    found[column.name] = found.get(column.name, 0) + count
            return found

        denied = indexes.evaluated(self._text, bucket, file, misses, None)
        if denied is None:
            expected = f"indexes of '{file.file_name}' that can be evaluated"
            yield self._finding("file index", self.path(file), expected, "damaged ones", Severity.WARNING)
            return
        for name, count in denied.items():
            if count:
                expected = f"an index of '{name}' that knows each value"
                yield self._finding(
                    "file index", self.path(file), expected, f"{counted(count, 'value')} that it denies"
                )

    def keys_once(self) -> Iterator[Finding]:
        """If rows are read without a merge, check that no key is in two files."""
        facts, work = self._facts, self._work
        if not (facts.schema.is_primary_key_table and facts.options.merges_on_write) or work.bucket_id.bucket < 0:
            return
        files = [file for name, file in work.files.items() if name in work.live and file.level > 0]
        if any(file.schema_id > facts.schema.id for file in files):
            return
        reader = DataFileReader(facts.store, facts.schemas, facts.schema, facts.options)
        deletions = DeletionVectors(self._vectors, work.deletions)
        source = RunSource(reader, *work.bucket_id, deletions=deletions)
        names = facts.schema.trimmed_primary_keys
        spec = MergeSpec(names, by_sequence_number=False)
        for section in partition_into_sections(files, key_ranges(facts.schema)):
            if len(section) == 1:
                continue
            within = [file for run in section for file in run]
            vectors = (deletions.of(file) for file in within)
            stored = sum(file.row_count for file in within) - sum(v.cardinality for v in vectors if v is not None)
            merged = merge_section(source, section, facts.schema.select(names), spec)
            keys = sum(batch.num_rows for batch in merged)
            if keys != stored:
                paths = ", ".join(sorted(file.file_name for file in within)[:4])
                found = f"{counted(stored, 'row')} of {counted(keys, 'key')} in {paths}"
                yield self._finding("one row per key", self.path(within[0]), counted(stored, "key"), found)

    def _expectations(self) -> RowExpectations:
        facts, work = self._facts, self._work
        mode = facts.bucket_mode
        is_fixed = isinstance(mode, Fixed | Postponed) and work.total_buckets > 0 and work.bucket_id.bucket >= 0
        hashes = None
        if isinstance(mode, Dynamic) and work.hash_index is not None:
            try:
                hashes = self._hashes(work.hash_index)
            except CorruptionError:
                hashes = None  # that is a finding of its own
        return RowExpectations(
            bucket_id=work.bucket_id,
            bucket_count=work.total_buckets if is_fixed else None,
            bucket_function=facts.options.bucket.function,
            hashes=hashes,
            collects_hashes=are_placed_by_index(facts),
        )

    def _hashes(self, entry: IndexManifestEntry) -> npt.NDArray[np.int32]:
        return read_hashes(self._facts.store, entry, self._facts.index_path)

    def _reader(self, file: DataFileMeta) -> DataFileReader:
        facts = self._facts
        return DataFileReader(facts.store, facts.schemas, facts.schemas[file.schema_id], facts.options, as_stored=True)

    def _finding(
        self, check: str, path: str, expected: str, found: str, severity: Severity = Severity.ERROR
    ) -> Finding:
        return Finding(severity, check, path, expected, found, self._text, self._work.bucket_id.bucket)


def denied_values(index: FileIndex, indexed: DataField, column: pa.Array) -> int:
    """Return the number of distinct values of a column, including null, that the indexes of its file do not know."""
    denied = 0
    if column.null_count:
        denied += isinstance(index.evaluate(IsNull(indexed.name)), Skip)
    values = pc.unique(column.drop_null())
    if len(values):
        known = index.may_equal(indexed, SoughtValues(indexed.type, values))
        denied += 0 if known is None else int((~known).sum())
    return denied


def _reason(error: TableFormatError) -> str:
    """The message of an error without the path that the finding names."""
    text = str(error)
    return text.removeprefix(f"{shown_paths(error.path)}: ") if isinstance(error, CorruptionError) else text
