"""The files of a plan that their indexes exclude, and the rows of others that they select (format chapter 09, 7).

The reference reads the indexes of a file when it opens it. Here they are read when the files are planned, because an
engine's own reader knows nothing of them: those in manifests cost nothing, the others one small read each, several at
a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pyroaring import FrozenBitMap

from table_format.indexes.file_index import FileIndex, FileIndexes, has_index, may_help
from table_format.io.local import LocalFileIO
from table_format.kernels.file_index.results import UNKNOWN, IndexResult, Rows, Skip
from table_format.model.manifest import ManifestEntry
from table_format.pruning.pruning import IndexVerdict, Pruning
from table_format.table.facts import TableFacts

_THREADS: Final = 8
_MIN_READS_FOR_THREADS: Final = 8

_MAX_SHARE_OF_ROWS: Final = 0.5
"""Rows that an index selects of a file; where there are more, reading all of them is as quick."""

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


def index_results(facts: TableFacts, pruning: Pruning, entries: Sequence[ManifestEntry]) -> IndexResults:
    """The files that need not be read, and the rows of others that need not be, as far as their indexes show.

    An index that is missing or damaged excludes nothing, which is logged. Raises ``OSError``.
    """
    condition = pruning.index_condition
    indexed = [entry for entry in entries if has_index(entry.file)]
    if condition is None or not indexed or not may_help(condition, pruning.schema):
        return IndexResults()
    indexes = FileIndexes(facts.store, facts.schemas, pruning.schema)

    def verdict(index: FileIndex) -> _Verdict:
        return pruning.index_verdict(index.evaluate, unknown=UNKNOWN)

    def judged(entry: ManifestEntry) -> _Verdict:
        text = facts.partitions.text(entry.partition)
        return indexes.evaluated(text, entry.bucket, entry.file, verdict, IndexVerdict(by_key=UNKNOWN, by_row=UNKNOWN))

    # Local files are sooner read one after the other: threads would take turns.
    is_local = isinstance(facts.store.io, LocalFileIO)
    verdicts = list(map(judged, indexed)) if is_local else _side_by_side(judged, indexed)
    pairs = list(zip(indexed, verdicts, strict=True))
    return IndexResults(
        frozenset(entry.file.file_name for entry, found in pairs if isinstance(found.by_key, Skip)),
        frozenset(entry.file.file_name for entry, found in pairs if isinstance(found.by_row, Skip)),
        {
            entry.file.file_name: FrozenBitMap(found.by_row.positions)
            for entry, found in pairs
            if isinstance(found.by_row, Rows)
            and len(found.by_row.positions) <= _MAX_SHARE_OF_ROWS * entry.file.row_count
        },
    )


def _side_by_side(judged: Callable[[ManifestEntry], _Verdict], entries: Sequence[ManifestEntry]) -> list[_Verdict]:
    """The verdicts in order; where files have to be read, some wait while others do."""
    width = -(-len(entries) // _THREADS)
    if sum(entry.file.embedded_file_index is None for entry in entries) < _MIN_READS_FOR_THREADS:
        return list(map(judged, entries))
    shares = [entries[start : start + width] for start in range(0, len(entries), width)]
    with ThreadPoolExecutor(len(shares), "file-index") as pool:
        return [verdict for found in pool.map(lambda share: list(map(judged, share)), shares) for verdict in found]
