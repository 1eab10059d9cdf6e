"""Compaction of one bucket (format chapter 07, sections 3 and 4; Java ``MergeTreeCompactManager``).

Rows keep their sequence numbers, retract rows are dropped only if nothing older remains, and the merge streams, so
memory does not depend on the size of the bucket. The result is not visible before the message is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from table_format.formats.batch_rows import batch_rows_of
from table_format.formats.bucket_files import BucketFiles
from table_format.io.uncommitted_files import DeletingOnFailure
from table_format.kernels.engines import FirstRow
from table_format.lsm.bucket_deletion_vectors import BucketDeletions, BucketVectors
from table_format.lsm.change_detection import ChangeDetection
from table_format.lsm.commit_increment import CommitIncrement, CompactResult
from table_format.lsm.compaction_task import Rewrite, Step, Upgrade, plan_steps
from table_format.lsm.first_row import new_keys_only, older_runs, rewrite_possible_repeats, rows_of_level_0
from table_format.lsm.flushed_rows import FlushedRows
from table_format.lsm.intervals import Run, Section
from table_format.lsm.keys import key_ranges
from table_format.lsm.levels import Levels, levels_of, replace_files
from table_format.lsm.merge_spec import merge_spec
from table_format.lsm.record_expiry import RecordExpiry
from table_format.lsm.runs import RunSource, has_disjoint_sequences, is_add, merge_section, physical_batch, with_levels
from table_format.lsm.universal import CompactUnit, drops_deletes, force_up_level_0, full_compaction, pick_compaction
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta, FileSource
from table_format.model.schema import SEQUENCE_NUMBER, VALUE_KIND
from table_format.options.merge import MergeEngine
from table_format.options.stream import ChangelogProducer


def compact_bucket(
    bucket: BucketFiles, files: Sequence[DataFileMeta], *, full: bool, deletions: BucketDeletions | None = None
) -> CommitMessage:
    """Compact the live files of a bucket, completely or as far as due. Return the message, which may be empty.

    Raises:
        RetractNotSupported: the merge engine does not support a retract row.
        CorruptionError: a file is missing or damaged.
    """
    key_range = key_ranges(bucket.schema)
    levels = levels_of(files, bucket.options.compaction.num_levels, key_range)
    deletion_vectors = bucket_vectors(bucket, deletions)
    unit = whole_compaction(bucket, levels, deletion_vectors) if full else due_compaction(bucket, levels)
    if unit is None:
        return bucket.message()
    changes = CommitIncrement(bucket)
    result = run_compaction(bucket, levels, unit, deletion_vectors)
    changes.compacted(result, levels)
    with DeletingOnFailure(changes.abort):
        return changes.drain(deletion_vectors, replace_files(levels, result.before, result.after, key_range))


def bucket_vectors(bucket: BucketFiles, deletions: BucketDeletions | None) -> BucketVectors | None:
    """Return the deletion vectors of a bucket if its table has, or had, deletion vectors."""
    if deletions is None and not bucket.options.deletion_vectors.enabled:
        return None
    return BucketVectors(bucket, deletions or BucketDeletions())


def whole_compaction(bucket: BucketFiles, levels: Levels, deletion_vectors: BucketVectors | None) -> CompactUnit | None:
    """Plan a compaction of all files to the highest level.

    Files that are already on that level are included if they have deleted or expired rows, or on request.
    """
    unit = full_compaction(levels)
    if unit is not None:
        return unit
    must_rewrite = _files_to_rewrite(bucket, RecordExpiry.of(bucket))
    marked = () if deletion_vectors is None else deletion_vectors.files_with_deletions(levels.files)
    names = {file.file_name for file in marked}
    files = tuple(file for file in levels.files if file.file_name in names or must_rewrite(file))
    return CompactUnit(files, levels.max_level, in_place=True) if files else None


def _files_to_rewrite(bucket: BucketFiles, expiry: RecordExpiry | None) -> Callable[[DataFileMeta], bool]:
    """Return which files are rewritten instead of left in place or moved."""
    rewrite_all = bucket.options.compaction.force_rewrite_all_files
    return lambda file: rewrite_all or (expiry is not None and expiry.is_in(file))


def due_compaction(bucket: BucketFiles, levels: Levels) -> CompactUnit | None:
    """Plan the compaction that is due. If readers skip level 0, its files are compacted immediately or gradually."""
    options, local_now_ms = bucket.options.compaction, bucket.store.runtime.clock.local_now_ms()
    if bucket.options.compacts_by_lookup:
        return force_up_level_0(levels, options, local_now_ms=local_now_ms, gathering=options.lookup_max_interval)
    if options.force_up_level_0:
        return force_up_level_0(levels, options, local_now_ms=local_now_ms)
    return pick_compaction(levels, options, local_now_ms=local_now_ms)


def run_compaction(
    bucket: BucketFiles,
    levels: Levels,
    unit: CompactUnit,
    deletion_vectors: BucketVectors | None = None,
    flushed: FlushedRows | None = None,
) -> CompactResult:
    """Run one compaction. If it fails, delete its files.

    The file whose rows are ``flushed`` is not read.
    """
    key_range, expiry = key_ranges(bucket.schema), RecordExpiry.of(bucket)
    source = RunSource(
        bucket.reader(), bucket.partition, bucket.bucket, deletions=deletion_vectors, flushed=flushed, expiry=expiry
    )
    steps: Iterable[Step] = (
        [Rewrite((((file,),),)) for file in unit.files]
        if unit.in_place
        else plan_steps(
            unit,
            max_level=levels.max_level,
            small_file_bytes=bucket.small_file_bytes,
            key_range=key_range,
            must_rewrite=_files_to_rewrite(bucket, expiry),
        )
    )
    older: Sequence[Run] = ()
    if bucket.options.merge.engine is MergeEngine.FIRST_ROW:
        older = older_runs(unit, levels)
        steps = rewrite_possible_repeats(tuple(steps), older, key_range)
    # Older rows are marked as deleted; otherwise newer rows must retract them.
    masked = bucket.options.deletion_vectors.enabled and unit.output_level != 0
    drop = drops_deletes(unit, levels) or masked
    detection = ChangeDetection.of(bucket, unit, levels, deletion_vectors, source)
    if detection is not None:
        steps = detection.plan(tuple(steps))
    before: list[DataFileMeta] = []
    after: list[DataFileMeta] = []
    changelog: list[DataFileMeta] = []
    written: list[DataFileMeta] = []
    with bucket.deleting_on_failure(written):
        for step in steps:
            match step:
                case Rewrite():
                    if detection is not None:
                        files, changelog_files = detection.rewrite(step, drop_retracts=drop)
                    else:
                        files, changelog_files = _rewrite(
                            bucket, source, step, unit.output_level, older, drop_retracts=drop
                        )
                    written.extend((*files, *changelog_files))
                    changelog.extend(changelog_files)
                    before.extend(step.files)
                    after.extend(files)
                case Upgrade(file):
                    before.append(file)
                    after.append(file.upgrade(unit.output_level))
                    changelog_files = (
                        detection.upgrade(file)
                        if detection is not None
                        else _changelog_of_first_rows(bucket, file, unit.output_level)
                    )
                    written.extend(changelog_files)
                    changelog.extend(changelog_files)
    return CompactResult(tuple(before), tuple(after), tuple(changelog))


def _rewrite(
    bucket: BucketFiles,
    source: RunSource,
    step: Rewrite,
    level: int,
    older: Sequence[Run],
    *,
    drop_retracts: bool,
) -> tuple[tuple[DataFileMeta, ...], tuple[DataFileMeta, ...]]:
    """Return the merged files, and the changelog files of a ``first-row`` table."""
    writes_changelog = _writes_changelog_of_first_rows(bucket)
    with (
        bucket.writing(level=level, source=FileSource.COMPACT) as writer,
        bucket.writing(level=level, source=FileSource.APPEND, changelog=True) as changelog,
    ):
        for section in step.sections:
            rows = _merged_rows(
                bucket, source, section, older, drop_retracts=drop_retracts, show_levels=writes_changelog
            )
            for batch in rows:
                writer.write(physical_batch(batch, bucket.schema))
                for new_rows in rows_of_level_0(batch) if writes_changelog else ():
                    changelog.write(physical_batch(new_rows, bucket.schema))
        return writer.close(), changelog.close()


def _changelog_of_first_rows(bucket: BucketFiles, file: DataFileMeta, level: int) -> tuple[DataFileMeta, ...]:
    """Return the changelog files of a file of a ``first-row`` table that is moved up without being rewritten."""
    if file.level != 0 or not _writes_changelog_of_first_rows(bucket):
        return ()
    source = RunSource(bucket.reader(), bucket.partition, bucket.bucket)
    with bucket.writing(level=level, source=FileSource.APPEND, changelog=True) as changelog:
        for batch in _merged_rows(bucket, source, ((file,),), (), drop_retracts=False):
            changelog.write(physical_batch(batch, bucket.schema))
        return changelog.close()


def _writes_changelog_of_first_rows(bucket: BucketFiles) -> bool:
    is_first_row = bucket.options.merge.engine is MergeEngine.FIRST_ROW
    return is_first_row and bucket.changelog_producer is ChangelogProducer.LOOKUP


def _merged_rows(
    bucket: BucketFiles,
    source: RunSource,
    section: Section,
    older: Sequence[Run],
    *,
    drop_retracts: bool,
    show_levels: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Yield the merged rows of a section in key order: sequence number, kind, columns, and ``_LEVEL`` on request."""
    fields = (SEQUENCE_NUMBER, VALUE_KIND, *bucket.schema.fields)
    members = [file for run in section for file in run]
    spec = merge_spec(bucket.schema, bucket.options)
    engine = spec.engine
    rows: Iterator[pa.RecordBatch]
    if len(section) == 1:
        batch_rows = batch_rows_of(members, fields)
        run = section[0]
        rows = (
            with_levels(source, run, fields, None, batch_rows)
            if show_levels
            else source.run(run, fields, batch_rows=batch_rows)
        )
    else:
        numbered = not has_disjoint_sequences(section)
        spec = replace(spec, by_sequence_number=numbered, lowest_level_only=show_levels or spec.lowest_level_only)
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
