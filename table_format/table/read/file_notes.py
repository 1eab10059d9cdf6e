"""Notes on the files of a plan: which index excluded a file, or how many of its rows were selected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from table_format.counted import counted
from table_format.indexes.file_index import Evidence, FileIndex, FileIndexes, has_index, may_help
from table_format.kernels.file_index.results import UNKNOWN, IndexResult, Rows, Skip
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import ManifestEntry
from table_format.model.split import DataSplit
from table_format.pruning.pruning import IndexVerdict, Pruning
from table_format.table.facts import TableFacts

_Found = tuple[IndexResult, tuple[Evidence, ...]]


@dataclass(frozen=True, slots=True)
class FileNote:
    """A note on one file: whether it is read, how many rows the indexes selected, and which indexes, or why none.

    ``selected`` is ``None`` if indexes do not select rows. ``indexes`` are texts such as ``bitmap(color)``.
    """

    path: str
    rows: int
    is_read: bool
    selected: int | None
    indexes: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def file_notes(
    facts: TableFacts,
    pruning: Pruning,
    candidates: Sequence[ManifestEntry],
    splits: Sequence[DataSplit],
    left_out: Mapping[str, str],
) -> Iterator[FileNote]:
    """Return a note on each candidate of a plan of one state. Reads the indexes again. Raises ``OSError``.

    ``left_out`` says why the limit of the scan left out files, by their names.
    """
    is_merged = {file.file_name: not split.raw_convertible for split in splits for file in split.files}
    indexes = FileIndexes(facts.store, facts.schemas, pruning.schema)
    idle = _why_not(pruning)
    for entry in candidates:
        file, text = entry.file, facts.partitions.text(entry.partition)
        path = facts.store.paths.data_file(text, entry.bucket, file)
        merged = is_merged.get(file.file_name)
        if merged is None and file.file_name in left_out:
            yield FileNote(path, file.row_count, is_read=False, selected=0, indexes=(), reason=left_out[file.file_name])
            continue
        if idle is not None or not has_index(file):
            yield _note(path, file, merged, reason=idle or "it has no index")
            continue
        found = indexes.evaluated(text, entry.bucket, file, lambda index: _verdict(pruning, index), None)
        if found is None:
            yield _note(path, file, merged, reason="its index is missing or damaged")
        else:
            yield _note_of(path, file, merged, found)


def _why_not(pruning: Pruning) -> str | None:
    """Why indexes are not used at all."""
    if pruning.predicate is None:
        return "there is no filter"
    if not pruning.may_read_indexes:
        return "'file-index.read.enabled' is false"
    condition = pruning.index_condition
    if condition is None:
        return "this kind of read does not use indexes"
    return None if may_help(condition, pruning.schema) else "no index of the table helps with the filter"


def _verdict(pruning: Pruning, index: FileIndex) -> IndexVerdict[_Found]:
    return pruning.index_verdict(index.evidence, unknown=(UNKNOWN, ()))


def _note_of(path: str, file: DataFileMeta, merged: bool | None, found: IndexVerdict[_Found]) -> FileNote:  # noqa: FBT001
    for result, evidence in (found.by_key, found.by_row):
        if merged is None and isinstance(result, Skip):
            names = _names(each for each in evidence if isinstance(each.result, Skip)) or _names(iter(evidence))
            return _note(path, file, merged, names, reason=f"left out by {', '.join(names)}", selected=0)
    if merged:
        return _note(path, file, merged, reason="its rows are merged with those of other files, which may replace them")
    result, evidence = found.by_row
    names = _names(each for each in evidence if isinstance(each.result, Rows))
    if isinstance(result, Rows):
        count = len(result.positions)
        reason = f"{count} of {counted(file.row_count, 'row')} selected by {', '.join(names)}"
        return _note(path, file, merged, names, reason=reason, selected=count)
    silent = ", ".join(_names(iter(evidence)))
    return _note(
        path, file, merged, reason=f"{silent} may hold the values" if silent else "no index of its columns helps"
    )


def _names(evidence: Iterator[Evidence]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(str, evidence)))


def _note(
    path: str,
    file: DataFileMeta,
    merged: bool | None,  # noqa: FBT001 - None: not read
    indexes: tuple[str, ...] = (),
    *,
    reason: str,
    selected: int | None = None,
) -> FileNote:
    is_read = merged is not None
    if not is_read and not indexes:
        reason = f"left out by statistics; {reason}"
    return FileNote(path, file.row_count, is_read, selected, indexes, reason)
