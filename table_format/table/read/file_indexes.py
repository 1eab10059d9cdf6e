"""Files of a plan whose indexes exclude that they hold a row which a filter selects (format chapter 09, section 7).

The reference asks the indexes when it opens a file. Here they are asked when the files are planned, because an engine's
own reader knows nothing of them: those in manifests cost nothing, the others one small read each, side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeAlias

from table_format.indexes.file_index import FileIndex, FileIndexes, has_index, may_help
from table_format.io.local import LocalFileIO
from table_format.kernels.predicate import normalise
from table_format.model.manifest import ManifestEntry
from table_format.model.predicate import Predicate, only_on
from table_format.model.schema import TableSchema
from table_format.table.facts import TableFacts

_THREADS: Final = 8
_MIN_READS_FOR_THREADS: Final = 8
_Verdict: TypeAlias = tuple[bool, bool]
"""Whether a file is excluded alone, and whether together with others."""


@dataclass(frozen=True, slots=True)
class Excluded:
    """Names of files. Those that are excluded ``alone`` need not be read, whatever other files hold of their keys;
    those excluded ``together`` only where nothing is merged with them, or all of that is excluded as well.
    """

    alone: frozenset[str] = frozenset()
    together: frozenset[str] = frozenset()


def excluded_files(
    facts: TableFacts, schema: TableSchema, predicate: Predicate | None, entries: Sequence[ManifestEntry]
) -> Excluded:
    """What the indexes of these files exclude, as far as the table's options let them be used.

    Rows of a primary-key table that have a key which is not in a file are neither there nor taken back there; of other
    columns a file may hold an outdated value.
    An index that is missing or damaged excludes nothing, which is logged. Raises ``OSError``.
    """
    indexed = [entry for entry in entries if has_index(entry.file)]
    if predicate is None or not indexed or not facts.options.file_index.read_enabled:
        return Excluded()
    predicate = normalise(predicate)
    if not may_help(predicate, schema):
        return Excluded()
    on_key = only_on(predicate, frozenset(schema.primary_keys)) if schema.is_primary_key_table else predicate
    indexes = FileIndexes(facts.store, facts.schemas, schema)

    def verdict(index: FileIndex) -> _Verdict:
        alone = on_key is not None and not index.may_match(on_key)
        return alone, alone or not index.may_match(predicate)

    def judged(entry: ManifestEntry) -> _Verdict:
        text = facts.partitions.text(entry.partition)
        return indexes.evaluated(text, entry.bucket, entry.file, verdict, (False, False))

    # Local files are sooner read one after the other: threads would take turns.
    is_local = isinstance(facts.store.io, LocalFileIO)
    verdicts = list(map(judged, indexed)) if is_local else _side_by_side(judged, indexed)
    pairs = list(zip(indexed, verdicts, strict=True))
    return Excluded(
        frozenset(entry.file.file_name for entry, (alone, _) in pairs if alone),
        frozenset(entry.file.file_name for entry, (_, together) in pairs if together),
    )


def _side_by_side(judged: Callable[[ManifestEntry], _Verdict], entries: Sequence[ManifestEntry]) -> list[_Verdict]:
    """The verdicts in order; where files have to be read, some wait while others do."""
    width = -(-len(entries) // _THREADS)
    if sum(entry.file.embedded_file_index is None for entry in entries) < _MIN_READS_FOR_THREADS:
        return list(map(judged, entries))
    shares = [entries[start : start + width] for start in range(0, len(entries), width)]
    with ThreadPoolExecutor(len(shares), "file-index") as pool:
        return [verdict for found in pool.map(lambda share: list(map(judged, share)), shares) for verdict in found]
