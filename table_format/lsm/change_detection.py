"""A compaction that finds the previous version of each row, to write the changelog and to mark outdated rows.

Format chapter 07, sections 6 and 7. Java ``FullChangelogMergeTreeCompactRewriter``: a full compaction compares the
highest level with the result of the merge. ``LookupMergeTreeCompactRewriter``: the previous row of a key on level 0
is the one on the lowest level above. It is looked up if its file is not part of the compaction. Changelog files have
the output level and belong to the COMPACT snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa

from table_format.formats.batch_rows import batch_rows_of
from table_format.formats.bucket_files import BucketFiles
from table_format.kernels.changelog import Grouped, Merged, adds, changes, merge_onto
from table_format.kernels.merge import MergeSpec, merge_steps
from table_format.lsm.bucket_deletion_vectors import BucketVectors
from table_format.lsm.compaction_task import Rewrite, Step, Upgrade
from table_format.lsm.intervals import Section
from table_format.lsm.keys import key_ranges
from table_format.lsm.levels import Levels
from table_format.lsm.lookup import Lookup, LookupResult
from table_format.lsm.merge_spec import merge_spec
from table_format.lsm.runs import RunSource, has_disjoint_sequences, oldest_first, physical_batch, with_levels
from table_format.lsm.universal import CompactUnit
from table_format.model.data_file import DataFileMeta, FileSource
from table_format.model.schema import SEQUENCE_NUMBER, VALUE_KIND
from table_format.model.types import DataField
from table_format.options.merge import MergeEngine
from table_format.options.stream import ChangelogProducer

Files: TypeAlias = tuple[DataFileMeta, ...]


@dataclass(frozen=True, slots=True)
class ChangeDetection:
    """The change detection of a compaction to a level above 0.

    With ``lookup`` the keys on level 0 are new, otherwise all keys below ``level``. ``deletion_vectors`` are those of
    the bucket, if it has any. ``source`` reads the files of the compaction, without the rows that have expired.
    """

    bucket: BucketFiles
    level: int
    max_level: int
    lookup: Lookup | None
    deletion_vectors: BucketVectors | None
    source: RunSource
    writes_changelog: bool

    @classmethod
    def of(
        cls,
        bucket: BucketFiles,
        unit: CompactUnit,
        levels: Levels,
        deletion_vectors: BucketVectors | None,
        source: RunSource,
    ) -> ChangeDetection | None:
        """Return the change detection of a compaction; ``None`` if previous versions do not matter."""
        producer, options, level = bucket.changelog_producer, bucket.options, unit.output_level
        if producer is ChangelogProducer.FULL_COMPACTION:
            to_the_top = level == levels.max_level
            return cls(bucket, level, level, None, None, source, writes_changelog=True) if to_the_top else None
        if level == 0 or options.merge.engine is MergeEngine.FIRST_ROW or not options.compacts_by_lookup:
            return None
        writes_changelog = producer is ChangelogProducer.LOOKUP
        lookup = Lookup(
            bucket,
            [run for run in levels.higher if run.level > level],
            _fields(bucket) if writes_changelog or _row_matters(bucket) else _key_fields(bucket),
            key_files=[file for file in unit.files if file.level == 0],
            key_range=key_ranges(bucket.schema),
            deletions=deletion_vectors,
        )
        return cls(bucket, level, levels.max_level, lookup, deletion_vectors, source, writes_changelog)

    def plan(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """Return the steps. A file of level 0 is rewritten instead of moved if its rows may change."""
        if self.lookup is None:
            return steps
        return tuple(
            Rewrite((((s.file,),),)) if isinstance(s, Upgrade) and self._rewrites(s.file) else s for s in steps
        )

    def _rewrites(self, file: DataFileMeta) -> bool:
        files = self.bucket.options.files
        if file.level != 0:
            return False
        if files.at_level(0).format != files.at_level(self.level).format:
            return True
        if self.deletion_vectors is not None and file.delete_row_count != 0:
            return True
        return self.level != self.max_level and _row_matters(self.bucket)

    def rewrite(self, step: Rewrite, *, drop_retracts: bool) -> tuple[Files, Files]:
        """Merge into new files. Return them and the changelog files."""
        schema, level = self.bucket.schema, self.level
        has_level_0 = any(file.level == 0 for file in step.files)
        with (
            self.bucket.writing(level=level, source=FileSource.COMPACT) as data,
            self.bucket.writing(level=level, source=FileSource.APPEND, changelog=True) as changelog,
        ):
            for section in step.sections:
                for merged in self._steps(self.source, section, single_versions=has_level_0):
                    rows = merged.rows
                    kept = adds(rows) if drop_retracts else rows
                    if kept.num_rows:
                        data.write(physical_batch(kept, schema))
                    for changed in self._changes(merged):
                        changelog.write(physical_batch(changed, schema))
                    # Free the memory for the next step.
                    del rows, kept, merged
            return data.close(), changelog.close()

    def upgrade(self, file: DataFileMeta) -> Files:
        """Mark the rows that an upgraded file outdates. Return its changelog files."""
        if self.lookup is not None and file.level != 0:
            return ()
        if not self._needs_older_rows:
            self._mark_older_rows(file)
            return ()
        with self.bucket.writing(level=self.level, source=FileSource.APPEND, changelog=True) as changelog:
            for merged in self._steps(self._whole_source, ((file,),), single_versions=True):
                for changed in self._changes(merged):
                    changelog.write(physical_batch(changed, self.bucket.schema))
                del merged
            return changelog.close()

    @property
    def _needs_older_rows(self) -> bool:
        """Whether older rows are needed, and not only their positions."""
        return self.lookup is None or self.writes_changelog or _row_matters(self.bucket)

    @property
    def _whole_source(self) -> RunSource:
        """Reads expired rows too: they stay in a file that is not rewritten."""
        return replace(self.source, expiry=None)

    def _mark_older_rows(self, file: DataFileMeta) -> None:
        """Mark the rows that a file of level 0 outdates; only keys are read."""
        fields = _key_fields(self.bucket)
        for keys in self._whole_source.run((file,), fields, batch_rows=batch_rows_of((file,), fields)):
            self._find(keys)

    def _steps(self, source: RunSource, section: Section, *, single_versions: bool) -> Iterator[Merged]:
        """Yield the merge steps of a section.

        With ``single_versions`` a lookup passes every key through the merge engine (Java ``LookupMergeFunction``);
        otherwise the only version of a key is its row (Java ``ReducerMergeFunctionWrapper``).
        """
        bucket, fields = self.bucket, _fields(self.bucket)
        spec = merge_spec(bucket.schema, bucket.options)
        spec = replace(spec, by_sequence_number=self.lookup is not None or not has_disjoint_sequences(section))
        runs = oldest_first(section)
        batch_rows = batch_rows_of([file for run in runs for file in run], fields, side_by_side=len(runs))
        with ExitStack() as stack:
            streams = [with_levels(source, run, fields, None, batch_rows) for run in runs]
            for stream in streams:
                stack.callback(stream.close)
            for parts in merge_steps(streams, spec.key_columns):
                yield self._merged(parts, spec, single_versions=single_versions)

    def _merged(self, parts: list[pa.RecordBatch], spec: MergeSpec, *, single_versions: bool) -> Merged:
        versions = Grouped.of(parts, spec)
        if self.lookup is None:
            before = versions.levels == self.level
            return merge_onto(versions, before, versions.any_of_key(~before), spec)
        before = versions.lowest_above_0()
        found = self._find(versions.keys(~versions.any_of_key(before), spec.key_columns))
        if found is not None and self._needs_older_rows:
            # A version that has expired is marked as well, or else it would stay beside the new one.
            expiry = self.source.expiry
            older = found.rows if expiry is None else expiry.unexpired(found.rows)
            versions = Grouped.of([older, *parts], spec)
            before = versions.lowest_above_0()
        has_new_version = versions.any_of_key(versions.levels == 0)
        return merge_onto(versions, before, has_new_version, spec, single_versions=single_versions)

    def _find(self, keys: pa.RecordBatch) -> LookupResult | None:
        """Return the older rows of keys. If the bucket has deletion vectors, mark these rows as deleted."""
        found = None if self.lookup is None else self.lookup.find(keys)
        if found is not None and self.deletion_vectors is not None:
            for file, positions in found.by_file():
                self.deletion_vectors.mark_deleted(file, positions)
        return found

    def _changes(self, merged: Merged) -> Iterator[pa.RecordBatch]:
        if not self.writes_changelog:
            return
        options, compared = self.bucket.options.changelog, None
        if options.row_deduplicate:
            ignored = options.ignored_fields or ()
            compared = [name for name in self.bucket.schema.field_names if name not in ignored]
        changed = changes(merged, merge_spec(self.bucket.schema, self.bucket.options), compared=compared)
        if changed.num_rows:
            yield changed


def _fields(bucket: BucketFiles) -> tuple[DataField, ...]:
    return (SEQUENCE_NUMBER, VALUE_KIND, *bucket.schema.fields)


def _key_fields(bucket: BucketFiles) -> tuple[DataField, ...]:
    return tuple(bucket.schema.select(bucket.schema.trimmed_primary_keys))


def _row_matters(bucket: BucketFiles) -> bool:
    """Return whether an older row may change the result of a newer row, or take precedence over it."""
    merge = bucket.options.merge
    return merge.engine is not MergeEngine.DEDUPLICATE or bool(merge.sequence_fields)
