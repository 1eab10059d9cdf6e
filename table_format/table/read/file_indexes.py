"""The files of a plan that their indexes exclude (format chapter 09, section 7).

The reference reads the indexes of a file when it opens it. Here they are read when the files are planned, because an
engine's own reader knows nothing of them: those in manifests cost nothing, the others one small read each, several at
a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeAlias

from table_format.indexes.file_index import FileIndex, FileIndexes, has_index, may_help
from table_format.io.local import LocalFileIO
from table_format.model.manifest import ManifestEntry
from table_format.pruning.pruning import IndexVerdict, Pruning
from table_format.table.facts import TableFacts

_THREADS: Final = 8
_MIN_READS_FOR_THREADS: Final = 8

_Verdict: TypeAlias = IndexVerdict[bool]
"""Whether the file may hold a key, and a stored row, that the filter selects."""


@dataclass(frozen=True, slots=True)
class SkippedFiles:
    """Names of files that their indexes exclude."""

    by_key: frozenset[str] = frozenset()
    """They hold no key that the filter admits, and need not be read, whatever other files hold."""
    by_row: frozenset[str] = frozenset()
    """They hold no stored row that the filter selects, and need not be read where nothing is merged with them."""


def skipped_by_index(facts: TableFacts, pruning: Pruning, entries: Sequence[ManifestEntry]) -> SkippedFiles:
    """The files that need not be read, as far as their indexes show.

    An index that is missing or damaged excludes nothing, which is logged. Raises ``OSError``.
    """
    condition = pruning.index_condition
    indexed = [entry for entry in entries if has_index(entry.file)]
    if condition is None or not indexed or not may_help(condition, pruning.schema):
        return SkippedFiles()
    indexes = FileIndexes(facts.store, facts.schemas, pruning.schema)

    def verdict(index: FileIndex) -> _Verdict:
        return pruning.index_verdict(index.may_match, unknown=True)

    def judged(entry: ManifestEntry) -> _Verdict:
        text = facts.partitions.text(entry.partition)
        return indexes.evaluated(text, entry.bucket, entry.file, verdict, IndexVerdict(by_key=True, by_row=True))

    # Local files are sooner read one after the other: threads would take turns.
    is_local = isinstance(facts.store.io, LocalFileIO)
    verdicts = list(map(judged, indexed)) if is_local else _side_by_side(judged, indexed)
    pairs = list(zip(indexed, verdicts, strict=True))
    return SkippedFiles(
        frozenset(entry.file.file_name for entry, found in pairs if not found.by_key),
        frozenset(entry.file.file_name for entry, found in pairs if not found.by_row),
    )


def _side_by_side(judged: Callable[[ManifestEntry], _Verdict], entries: Sequence[ManifestEntry]) -> list[_Verdict]:
    """The verdicts in order; where files have to be read, some wait while others do."""
    width = -(-len(entries) // _THREADS)
    if sum(entry.file.embedded_file_index is None for entry in entries) < _MIN_READS_FOR_THREADS:
        return list(map(judged, entries))
    shares = [entries[start : start + width] for start in range(0, len(entries), width)]
    with ThreadPoolExecutor(len(shares), "file-index") as pool:
        return [verdict for found in pool.map(lambda share: list(map(judged, share)), shares) for verdict in found]
