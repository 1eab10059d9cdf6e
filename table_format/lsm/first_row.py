"""Compaction of ``first-row`` tables, which always includes level 0 and keeps a key on at most one level above it.

Readers of such tables skip level 0 and merge nothing, so compaction drops a row whose key is on a higher level. Java
``FirstRowMergeFunctionWrapper`` looks up each key. Here, the keys of the higher levels take part in the merge, which
reads only their key columns (format chapter 07, section 6; chapter 12, section 3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import RetractNotSupported
from table_format.formats.batch_rows import batch_rows_of
from table_format.formats.bucket_files import BucketFiles
from table_format.kernels.engines import FIRST_ROW_REFUSAL
from table_format.kernels.merge import LEVEL, MergeSpec, merge_batches
from table_format.lsm.compaction_task import Rewrite, Step, Upgrade
from table_format.lsm.intervals import Run
from table_format.lsm.key_filter import KeyFilter
from table_format.lsm.keys import KeyRangeOf
from table_format.lsm.levels import Levels
from table_format.lsm.runs import RunSource, is_add
from table_format.lsm.universal import CompactUnit
from table_format.model.data_file import DataFileMeta
from table_format.model.schema import VALUE_KIND


def older_runs(unit: CompactUnit, levels: Levels) -> tuple[Run, ...]:
    """Return the runs above the output of a compaction, whose rows are older and therefore win."""
    return tuple(run.files for run in levels.higher if run.level > unit.output_level)


def rewrite_possible_repeats(steps: Sequence[Step], older: Sequence[Run], key_range: KeyRangeOf) -> Iterator[Step]:
    """Return the steps. A file of level 0 is rewritten instead of moved if older runs may hold some of its keys."""
    for step in steps:
        if isinstance(step, Upgrade) and step.file.level == 0 and _overlapping(step.file, older, key_range):
            yield Rewrite((((step.file,),),))
        else:
            yield step


def new_keys_only(
    bucket: BucketFiles,
    batches: Iterator[pa.RecordBatch],
    files: Sequence[DataFileMeta],
    older: Sequence[Run],
    key_range: KeyRangeOf,
    *,
    ignore_delete: bool,
) -> Iterator[pa.RecordBatch]:
    """Return the merged rows whose keys are not in any older run, in key order.

    Raises:
        RetractNotSupported: there is a retract row, and the options do not ignore retract rows.
    """
    rows = _adds(batches, ignore_delete=ignore_delete)
    overlapping = _runs_with_possible_keys(files, older, bucket, key_range)
    if not overlapping:
        yield from rows
        return
    source = RunSource(bucket.reader(), bucket.partition, bucket.bucket)
    keys = bucket.schema.select(bucket.schema.trimmed_primary_keys)
    known = [source.run(run, keys, batch_rows=batch_rows_of(run, keys, side_by_side=len(older))) for run in overlapping]
    # Of equal keys, the row of the last run is kept: that of an older run, whose batches have only the key columns.
    spec = MergeSpec(bucket.schema.trimmed_primary_keys, by_sequence_number=False)
    for batch in merge_batches([rows, *known], spec, ordered=False):
        if VALUE_KIND.name in batch.schema.names:
            yield batch


def _runs_with_possible_keys(
    files: Sequence[DataFileMeta], older: Sequence[Run], bucket: BucketFiles, key_range: KeyRangeOf
) -> list[Run]:
    """Return the older runs, reduced to the files that may contain a key of ``files``."""
    runs = [tuple(f for f in run if any(_overlap(f, file, key_range) for file in files)) for run in older]
    key_filter = KeyFilter.of(bucket, files, [f for run in runs for f in run], key_range) if any(runs) else None
    if key_filter is not None:
        kept = {f.file_name for run in runs for f in run if (k := key_filter.may_be_in(f)) is None or k.keys.num_rows}
        runs = [tuple(f for f in run if f.file_name in kept) for run in runs]
    return [run for run in runs if run]


def rows_of_level_0(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield the rows that were only on level 0, if any: the changelog of the compaction."""
    fresh = batch.filter(pc.equal(batch.column(batch.schema.get_field_index(LEVEL)), pa.scalar(0, pa.int32())))
    if fresh.num_rows:
        yield fresh


def _adds(batches: Iterator[pa.RecordBatch], *, ignore_delete: bool) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        mask = is_add(batch.column(VALUE_KIND.name))
        if pc.all(mask).as_py():
            yield batch
        elif ignore_delete:
            yield batch.filter(mask)
        else:
            raise RetractNotSupported(FIRST_ROW_REFUSAL)


def _overlapping(file: DataFileMeta, runs: Sequence[Run], key_range: KeyRangeOf) -> bool:
    return any(_overlap(file, other, key_range) for run in runs for other in run)


def _overlap(left: DataFileMeta, right: DataFileMeta, key_range: KeyRangeOf) -> bool:
    (first, last), (other_first, other_last) = key_range(left), key_range(right)
    return first <= other_last and other_first <= last
