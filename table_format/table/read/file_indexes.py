"""The files of a plan that their indexes exclude, and the rows of others that they select (format chapter 09, 7).

The reference reads the indexes of a file when it opens it. Here they are read when the files are planned, because an
engine's own reader knows nothing of them: those in manifests cost nothing, the others one small read each, several at
a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pyroaring import FrozenBitMap

from table_format.indexes.file_index import FileIndex, FileIndexes, has_index, may_help
from table_format.kernels.file_index.results import UNKNOWN, IndexResult, Rows, Skip
from table_format.kernels.predicate import in_partition
from table_format.model.manifest import ManifestEntry
from table_format.model.predicate import Predicate, columns_of
from table_format.pruning.pruning import IndexVerdict, Pruning
from table_format.table.facts import TableFacts
from table_format.table.read.index_reads import of_each_index

_MAX_SHARE_OF_ROWS: Final = 0.5
"""Rows that an index selects of a file; where there are more, reading all of them is as quick."""

_MAX_KEPT_BYTES: Final = 32 * 2**20
"""Of what was read of indexes, and of sets of rows: so much is kept for what the scan asks of the indexes later."""

_Verdict: TypeAlias = IndexVerdict[IndexResult]
"""Which keys, and which stored rows, of a file the filter can select."""


@dataclass(frozen=True, slots=True)
class IndexResults:
    """What file indexes show, by the names of files."""

    excluded_by_key: frozenset[str] = frozenset()
    """They hold no key that the filter admits, and need not be read, whatever other files hold."""
    excluded_by_row: frozenset[str] = frozenset()
    """They hold no stored row that the filter selects, and need not be read where nothing is merged with them."""
    selections: Mapping[str, FrozenBitMap] = field(default_factory=dict)
    """The positions of the only rows that the filter can select, where nothing is merged with the file."""
    exact: Mapping[str, FrozenBitMap] = field(default_factory=dict)
    """The positions of just those rows that the filter selects, where nothing is merged with the file."""
    indexes: FileIndexes | None = None
    """What the indexes were read with; it keeps some of what was read."""


def index_results(facts: TableFacts, pruning: Pruning, entries: Sequence[ManifestEntry]) -> IndexResults:
    """The files that need not be read, and the rows of others that need not be, as far as their indexes show.

    An index that is missing or damaged excludes nothing, which is logged. Raises ``OSError``.
    """
    condition = pruning.index_condition
    indexed = [entry for entry in entries if has_index(entry.file)]
    if condition is None or not indexed or not may_help(condition, pruning.schema):
        return IndexResults()
    indexes = FileIndexes(facts.store, facts.schemas, pruning.schema, kept_bytes=_MAX_KEPT_BYTES)
    decided = _DecidedByPartition(facts)

    def judged(entry: ManifestEntry) -> _Verdict:
        def verdict(index: FileIndex) -> _Verdict:
            return pruning.index_verdict(
                lambda part: index.evaluate(decided.rest(part, entry.partition)), unknown=UNKNOWN
            )

        text = facts.partitions.text(entry.partition)
        return indexes.evaluated(text, entry.bucket, entry.file, verdict, IndexVerdict(by_key=UNKNOWN, by_row=UNKNOWN))

    verdicts = of_each_index(facts.store.io, judged, indexed)
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


class _DecidedByPartition:
    """Conditions with those on partition keys decided, by partition."""

    def __init__(self, facts: TableFacts) -> None:
        self._partitions = facts.partitions
        self._names = frozenset(field.name for field in facts.partitions.fields)
        self._known: dict[tuple[Predicate, bytes], Predicate] = {}

    def rest(self, condition: Predicate, partition: bytes) -> Predicate:
        """What is left of a condition in a partition."""
        if not self._names & columns_of(condition):
            return condition
        key = condition, partition
        if key not in self._known:
            values = self._partitions.values(partition)
            self._known[key] = in_partition(condition, self._partitions.fields, values)
        return self._known[key]


def _of_bounded_size(found: Iterable[tuple[str, int, FrozenBitMap]]) -> Iterator[tuple[str, FrozenBitMap]]:
    """Sets of rows by file name, as many as may be kept."""
    total = 0
    for name, row_count, positions in found:
        # Two bytes for each row, or a bit for each row of the file.
        total += min(2 * len(positions), row_count // 8)
        if total <= _MAX_KEPT_BYTES:
            yield name, positions
