"""Uses file indexes to exclude files of a plan and to select rows of the others (format chapter 09, 7).

The reference reads the indexes of a file when it opens the file. This library reads them during planning, because the
readers of engines do not support them. Indexes in manifests cost nothing; the others take one small read each,
several at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pyroaring import FrozenBitMap

from table_format.indexes.file_index import FileIndex, FileIndexes, has_index, index_file, may_help
from table_format.indexes.look_ups import LookUps
from table_format.kernels.file_index.results import SKIP, UNKNOWN, IndexResult, Rows, Skip
from table_format.kernels.predicate import in_partition
from table_format.model.manifest import ManifestEntry
from table_format.model.predicate import Predicate, columns_of
from table_format.pruning.pruning import IndexVerdict, Pruning
from table_format.table.facts import TableFacts
from table_format.table.read.index_reads import of_each_index

_MAX_SHARE_OF_ROWS: Final = 0.5
"""The most rows of a file that an index selects. With more, reading all rows is as fast."""

_MAX_KEPT_BYTES: Final = 32 * 2**20
"""Bytes of index contents, and of sets of rows, that a scan keeps for later use."""

_Verdict: TypeAlias = IndexVerdict[IndexResult]
"""Which keys, and which stored rows, of a file the filter can select."""
_NOTHING_KNOWN: Final[_Verdict] = IndexVerdict(by_key=UNKNOWN, by_row=UNKNOWN)
_NO_ROW: Final[_Verdict] = IndexVerdict(by_key=SKIP, by_row=SKIP)


@dataclass(frozen=True, slots=True)
class IndexResults:
    """The results of file indexes, by file name."""

    excluded_by_key: frozenset[str] = frozenset()
    """Files without a key that the filter selects. They need not be read in any case."""
    excluded_by_row: frozenset[str] = frozenset()
    """Files without a stored row that the filter selects. They need not be read if nothing is merged with them."""
    selections: Mapping[str, FrozenBitMap] = field(default_factory=dict)
    """The positions of all rows that the filter may select, if nothing is merged with the file."""
    exact: Mapping[str, FrozenBitMap] = field(default_factory=dict)
    """The positions of exactly the rows that the filter selects, if nothing is merged with the file."""
    indexes: FileIndexes | None = None
    """The reader of the indexes, with its cache."""


def index_results(facts: TableFacts, pruning: Pruning, entries: Sequence[ManifestEntry]) -> IndexResults:
    """Return the files and rows that need not be read, by their indexes.

    A missing or damaged index excludes nothing and is logged. Raises ``OSError``.
    """
    condition = pruning.index_condition
    indexed = [entry for entry in entries if has_index(entry.file)]
    if condition is None or not indexed or not may_help(condition, pruning.schema):
        return IndexResults()
    indexes = FileIndexes(facts.store, facts.schemas, pruning.schema, kept_bytes=_MAX_KEPT_BYTES)
    decided = _DecidedByPartition(facts)
    looks_up = pruning.is_look_up
    key_lookups = _KeyLookups(facts, pruning, indexes, decided)

    def verdict_of(entry: ManifestEntry) -> _Verdict:
        text = facts.partitions.text(entry.partition)
        if looks_up:
            found = key_lookups.verdict(entry, text)
            if found is not None:
                return found

        def verdict(index: FileIndex) -> _Verdict:
            return pruning.index_verdict(
                lambda part: index.evaluate(decided.rest(part, entry.partition)), unknown=UNKNOWN
            )

        return indexes.evaluated(text, entry.bucket, entry.file, verdict, _NOTHING_KNOWN, for_look_ups=looks_up)

    verdicts = of_each_index(facts.store.io, verdict_of, indexed)
    pairs = list(zip(indexed, verdicts, strict=True))
    found_rows = {
        entry.file.file_name: (entry.file.row_count, found.by_row, FrozenBitMap(found.by_row.positions))
        for entry, found in pairs
        if isinstance(found.by_row, Rows)
    }
    return IndexResults(
        frozenset(entry.file.file_name for entry, found in pairs if isinstance(found.by_key, Skip)),
        frozenset(entry.file.file_name for entry, found in pairs if isinstance(found.by_row, Skip)),
        {
            name: positions
            for name, (row_count, _, positions) in found_rows.items()
            if len(positions) <= _MAX_SHARE_OF_ROWS * row_count
        },
        dict(
            _of_bounded_size(
                (name, row_count, positions)
                for name, (row_count, rows, positions) in found_rows.items()
                if rows.is_exact
            )
        ),
        indexes,
    )


class _KeyLookups:
    """The results of the bloom filters of files whose other indexes cannot exclude more."""

    def __init__(self, facts: TableFacts, pruning: Pruning, indexes: FileIndexes, decided: _DecidedByPartition) -> None:
        self._paths = facts.store.paths
        self._schemas = facts.schemas
        self._look_ups = LookUps(facts.store, indexes)
        self._decided = decided
        self._conditions: IndexVerdict[Predicate | None] = pruning.index_verdict(lambda part: part, unknown=None)

    def verdict(self, entry: ManifestEntry, partition_text: str) -> _Verdict | None:
        """Return the result, or ``None`` if other indexes must be read. Raises ``OSError``."""
        file = entry.file
        name = index_file(file)
        if name is None:
            return None
        path = self._paths.beside(partition_text, entry.bucket, file, name)

        def result(condition: Predicate | None) -> IndexResult | None:
            if condition is None:
                return UNKNOWN
            rest = self._decided.rest(condition, entry.partition)
            return self._look_ups.result(rest, path, self._schemas[file.schema_id], file)

        on_key, on_row = self._conditions.by_key, self._conditions.by_row
        by_row = result(on_row)
        if by_row is None or on_key is on_row:
            return None if by_row is None else (_NOTHING_KNOWN if by_row is UNKNOWN else _NO_ROW)
        by_key = result(on_key)
        return None if by_key is None else IndexVerdict(by_key, by_row)


class _DecidedByPartition:
    """Conditions whose parts on partition columns are evaluated, by partition."""

    def __init__(self, facts: TableFacts) -> None:
        self._partitions = facts.partitions
        self._names = frozenset(field.name for field in facts.partitions.fields)
        # By identity: the conditions are the same objects for all files.
        self._free: dict[int, tuple[Predicate, bool]] = {}
        self._known: dict[tuple[int, bytes], Predicate] = {}

    def rest(self, condition: Predicate, partition: bytes) -> Predicate:
        """Return the rest of a condition in a partition."""
        known = self._free.get(id(condition))
        if known is None:
            known = self._free[id(condition)] = condition, not self._names & columns_of(condition)
        if known[1]:
            return condition
        key = id(condition), partition
        if key not in self._known:
            values = self._partitions.values(partition)
            self._known[key] = in_partition(condition, self._partitions.fields, values)
        return self._known[key]


def _of_bounded_size(found: Iterable[tuple[str, int, FrozenBitMap]]) -> Iterator[tuple[str, FrozenBitMap]]:
    """Return sets of rows by file name, up to a memory limit."""
    total = 0
    for name, row_count, positions in found:
        # Two bytes for each row, or a bit for each row of the file.
        total += min(2 * len(positions), row_count // 8)
        if total <= _MAX_KEPT_BYTES:
            yield name, positions
