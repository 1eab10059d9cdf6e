"""Finds the hidden rows of a bucket, which a merge drops, by reading only their keys.

Rows are hidden if they are superseded by another version, retracted, or marked by a deletion vector. If the merge
engine keeps one stored row of each key, a merged read is equivalent to reading the files without the hidden rows. The
hidden rows of a set of files never change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.formats.batch_rows import batch_rows_of
from table_format.formats.data_file_reader import POSITION, DataFileReader
from table_format.indexes.deletion_vectors import DeletionVectors
from table_format.kernels.engines import FirstRow
from table_format.kernels.merge import MergeSpec
from table_format.lsm.intervals import Section, partition_into_sections
from table_format.lsm.keys import key_ranges
from table_format.lsm.merge_spec import merge_spec
from table_format.lsm.runs import RunSource, has_disjoint_sequences, is_add, merge_section
from table_format.model.data_file import DataFileMeta
from table_format.model.schema import SEQUENCE_NUMBER, VALUE_KIND, TableSchema
from table_format.model.types import DataField
from table_format.options.table_options import TableOptions

_WORD_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class HiddenRows:
    """The hidden rows of one file: one bit for each row, 64 to a word, lowest bit first, and the number of set bits.

    >>> hidden = HiddenRows.of(np.array([True, False, True]))
    >>> hidden.count, hidden.words(3).tolist(), hidden.kept(3).tolist()
    (2, [5], [False, True, False])
    """

    bits: bytes
    count: int

    @classmethod
    def of(cls, hidden: npt.NDArray[np.bool_]) -> HiddenRows:
        """Return the hidden rows from a mask over all rows of the file."""
        packed = np.packbits(hidden, bitorder="little").tobytes()
        return cls(packed.ljust(-(-len(packed) // _WORD_BYTES) * _WORD_BYTES, b"\0"), int(np.count_nonzero(hidden)))

    def words(self, row_count: int) -> npt.NDArray[np.int64]:
        """Return the bits as words; ``row_count`` is the number of rows in the file."""
        found = np.frombuffer(self.bits, np.int64)
        assert len(found) == (row_count + 63) // 64  # noqa: S101 - created for a file of this size
        return found

    def kept(self, row_count: int) -> npt.NDArray[np.bool_]:
        """Return, for each row of the file, whether a reader sees it."""
        bits = np.unpackbits(np.frombuffer(self.bits, np.uint8), count=row_count, bitorder="little")
        kept: npt.NDArray[np.bool_] = bits == 0
        return kept


def keeps_stored_rows(schema: TableSchema, options: TableOptions) -> bool:
    """Return whether the merge engine keeps one stored row of each key unchanged."""
    engine = merge_spec(schema, options).engine
    return engine is None or isinstance(engine, FirstRow)


def hidden_rows(
    reader: DataFileReader,
    partition: bytes,
    bucket: int,
    files: Sequence[DataFileMeta],
    schema: TableSchema,
    options: TableOptions,
    deletions: DeletionVectors | None = None,
) -> Mapping[str, HiddenRows]:
    """Return the hidden rows by file name, for the files of a merged split that have some.

    Only the key columns, the sequence fields and other columns that order versions are read, and only from files that
    are merged or have retract rows. Requires ``keeps_stored_rows``.

    Raises:
        RetractNotSupported: the merge engine does not support a retract row.
        CorruptionError: a file is missing or damaged.
    """
    spec = merge_spec(schema, options)
    found: dict[str, HiddenRows] = {}
    for section in partition_into_sections(files, key_ranges(schema)):
        has_retracts = any(file.delete_row_count != 0 for run in section for file in run)
        members = [file for run in section for file in run]
        if len(section) == 1 and not has_retracts:
            found.update(_marked(members, deletions))
            continue
        firsts = dict(zip((f.file_name for f in members), _firsts(members), strict=True))
        source = RunSource(reader, partition, bucket, deletions=deletions, firsts=firsts)
        kept = np.zeros(sum(file.row_count for file in members), np.bool_)
        for places in _kept_places(source, section, schema, spec, has_retracts=has_retracts):
            kept[places] = True
        for file in members:
            hidden = ~kept[firsts[file.file_name] : firsts[file.file_name] + file.row_count]
            if hidden.any():
                found[file.file_name] = HiddenRows.of(hidden)
    return found


def _marked(files: Sequence[DataFileMeta], deletions: DeletionVectors | None) -> Iterator[tuple[str, HiddenRows]]:
    """Yield the rows that deletion vectors mark, by file name."""
    for file in files:
        vector = None if deletions is None else deletions.of(file)
        if vector is not None:
            yield file.file_name, HiddenRows(vector.words(file.row_count).tobytes(), vector.cardinality)


def _firsts(files: Sequence[DataFileMeta]) -> Sequence[int]:
    """Return the position of the first row of each file, counted over all files."""
    return list(accumulate((file.row_count for file in files[:-1]), initial=0))


def _kept_places(
    source: RunSource, section: Section, schema: TableSchema, spec: MergeSpec, *, has_retracts: bool
) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the positions of live rows, counted over all files of the section."""
    if len(section) == 1:
        fields: Sequence[DataField] = [VALUE_KIND]
        batches: Iterator[pa.RecordBatch] = source.run(section[0], fields, batch_rows=batch_rows_of(section[0], fields))
    else:
        spec = replace(
            spec,
            by_sequence_number=not has_disjoint_sequences(section),
            ignore_delete=spec.ignore_delete and has_retracts,
        )
        names = dict.fromkeys((*spec.key_columns, *spec.sequence_columns))
        fields = [schema.field(name) for name in names]
        fields += [SEQUENCE_NUMBER] if spec.by_sequence_number else []
        fields += [VALUE_KIND] if has_retracts else []
        batches = merge_section(source, section, fields, spec, ordered=False)
    for batch in batches:
        live = batch.filter(is_add(batch.column(VALUE_KIND.name))) if has_retracts else batch
        yield live.column(POSITION).to_numpy()
