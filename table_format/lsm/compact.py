"""Compaction of one bucket (format chapter 07, sections 3 and 4; Java ``MergeTreeCompactManager``).

Rows keep their sequence numbers, retract rows end only where nothing older is left, and the merge streams: memory does
not depend on the size of the bucket. Nothing of it is visible before the message is committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from table_format.formats.batch_rows import batch_rows_of
from table_format.formats.bucket_files import BucketFiles
from table_format.kernels.engines import FirstRow
from table_format.lsm.first_row import new_keys_only, older_runs, rewriting_what_may_repeat
from table_format.lsm.intervals import Run, Section
from table_format.lsm.keys import key_ranges
from table_format.lsm.levels import Levels, levels_of
from table_format.lsm.merge_spec import merge_spec
from table_format.lsm.runs import RunSource, has_disjoint_sequences, is_add, merge_section
from table_format.lsm.task import Rewrite, Step, Upgrade, plan_steps
from table_format.lsm.universal import CompactUnit, drops_deletes, force_up_level_0, full_compaction, pick_compaction
from table_format.model.arrow_types import arrow_schema
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta, FileSource
from table_format.model.schema import SEQUENCE_NUMBER, VALUE_KIND, TableSchema
from table_format.options.merge import MergeEngine
from table_format.options.table_options import TableOptions


@dataclass(frozen=True, slots=True)
class CompactResult:
    """Files gone and files come. An upgraded file is in both, at another level."""

    before: tuple[DataFileMeta, ...]
    after: tuple[DataFileMeta, ...]


def compact_bucket(bucket: BucketFiles, files: Sequence[DataFileMeta], *, full: bool) -> CommitMessage:
    """Compact all live files of a bucket: to the highest level, or what is due; the message may be empty.

    Raises:
        RetractNotSupported: a row takes back what the merge engine cannot.
        CorruptionError: a file is missing or damaged.
    """
    levels = levels_of(files, bucket.options.compaction.num_levels, key_ranges(bucket.schema))
    unit = full_compaction(levels) if full else due_compaction(levels, bucket.options)
    if unit is None:
        return bucket.message()
    result = run_compaction(bucket, levels, unit)
    return bucket.message(compact_before=result.before, compact_after=result.after)


def due_compaction(levels: Levels, options: TableOptions) -> CompactUnit | None:
    """The compaction that is due; what readers skip while it is on level 0 is always moved up."""
    if options.merge.engine is MergeEngine.FIRST_ROW:
        return force_up_level_0(levels, options.compaction)
    return pick_compaction(levels, options.compaction)


def run_compaction(bucket: BucketFiles, levels: Levels, unit: CompactUnit) -> CompactResult:
    """Carry out one compaction; if it fails, the files it made are deleted again."""
    key_range = key_ranges(bucket.schema)
    steps: Iterable[Step] = plan_steps(
        unit, max_level=levels.max_level, small_file_bytes=bucket.small_file_bytes, key_range=key_range
    )
    older: Sequence[Run] = ()
    if bucket.options.merge.engine is MergeEngine.FIRST_ROW:
        older = older_runs(unit, levels)
        steps = rewriting_what_may_repeat(tuple(steps), older, key_range)
    drop = drops_deletes(unit, levels)
    before: list[DataFileMeta] = []
    after: list[DataFileMeta] = []
    written: list[DataFileMeta] = []
    with bucket.deleting_on_failure(written):
        for step in steps:
            match step:
                case Rewrite():
                    files = _rewrite(bucket, step, unit.output_level, older, drop_retracts=drop)
                    written.extend(files)
                    before.extend(step.files)
                    after.extend(files)
                case Upgrade(file):
                    before.append(file)
                    after.append(file.upgrade(unit.output_level))
    return CompactResult(tuple(before), tuple(after))


def _rewrite(
    bucket: BucketFiles, step: Rewrite, level: int, older: Sequence[Run], *, drop_retracts: bool
) -> tuple[DataFileMeta, ...]:
    with bucket.writing(level=level, source=FileSource.COMPACT) as writer:
        for section in step.sections:
            for batch in _merged_rows(bucket, section, older, drop_retracts=drop_retracts):
                writer.write(physical_batch(batch, bucket.schema))
        return writer.close()


def _merged_rows(
    bucket: BucketFiles, section: Section, older: Sequence[Run], *, drop_retracts: bool
) -> Iterator[pa.RecordBatch]:
    """The merged rows of a section in key order: sequence number, kind and the table's columns."""
    source = RunSource(bucket.reader(), bucket.partition, bucket.bucket)
    fields = (SEQUENCE_NUMBER, VALUE_KIND, *bucket.schema.fields)
    members = [file for run in section for file in run]
    spec = merge_spec(bucket.schema, bucket.options)
    engine = spec.engine
    rows: Iterator[pa.RecordBatch]
    if len(section) == 1:
        rows = source.run(section[0], fields, batch_rows=batch_rows_of(members, fields))
    else:
        spec = replace(spec, by_sequence_number=not has_disjoint_sequences(section))
        rows = merge_section(source, section, fields, spec)
    if isinstance(engine, FirstRow):
        rows = new_keys_only(
            bucket, rows, members, older, key_ranges(bucket.schema), ignore_delete=engine.ignore_delete
        )
    filtering = drop_retracts and any(file.delete_row_count != 0 for file in members)
    for batch in rows:
        kept = batch.filter(is_add(batch.column(VALUE_KIND.name))) if filtering else batch
        if kept.num_rows:
            yield kept


def physical_batch(batch: pa.RecordBatch, schema: TableSchema) -> pa.RecordBatch:
    """Rows in the layout of a data file: the key columns once more, in front (format chapter 06, section 1)."""
    names = [*schema.trimmed_primary_keys, SEQUENCE_NUMBER.name, VALUE_KIND.name, *schema.field_names]
    columns = [batch.column(name) for name in names]
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(schema.physical_fields))
