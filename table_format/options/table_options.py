"""The typed options of one table, as a frozen value that can be pickled.

A group is parsed on first use: a malformed or unknown value in a table written by others fails only the operation
that needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from table_format.options.alter import AlterOptions
from table_format.options.bucket import POSTPONED, BucketOptions
from table_format.options.changelog import ChangelogOptions
from table_format.options.commit import CommitOptions
from table_format.options.compaction import CompactionOptions
from table_format.options.declare import parse_group
from table_format.options.deletion_vectors import DeletionVectorOptions
from table_format.options.expire import ExpireOptions
from table_format.options.file_formats import AVRO
from table_format.options.file_index import FileIndexOptions
from table_format.options.files import FileOptions
from table_format.options.kind import KindOptions
from table_format.options.manifest import ManifestOptions
from table_format.options.merge import MergeEngine, MergeOptions
from table_format.options.partitions import PartitionOptions
from table_format.options.postpone import PostponeOptions
from table_format.options.record_expiry import RecordExpiryOptions
from table_format.options.scan import ScanOptions
from table_format.options.spark_read import SparkReadOptions
from table_format.options.spark_stream import SparkStreamOptions
from table_format.options.stream import ChangelogProducer, StreamOptions
from table_format.options.tags import TagOptions
from table_format.options.write import WriteOptions
from table_format.secrets import masked_repr, shown_options


@dataclass(frozen=True, repr=False)
class TableOptions:
    """``raw`` holds the options of the schema, overridden by those of this call.

    >>> TableOptions.parse({"bucket": "4", "target-file-size": "1 mb"}).files.target_file_size
    1048576
    """

    raw: Mapping[str, str] = field(default_factory=dict)

    __repr__ = masked_repr

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> TableOptions:
        """Return the options of a table; nothing is refused here."""
        return cls(dict(options))

    def __reduce__(self) -> tuple[object, ...]:
        # Parsed groups are parsed again where they are needed.
        return (TableOptions, (shown_options(self.raw),))

    def with_options(self, options: Mapping[str, str]) -> TableOptions:
        """Return these options, overridden by others."""
        return TableOptions({**self.raw, **options})

    @cached_property
    def kind(self) -> KindOptions:
        """What the table is.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(KindOptions, self.raw)

    @cached_property
    def bucket(self) -> BucketOptions:
        """How rows find their bucket.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(BucketOptions, self.raw)

    @cached_property
    def postpone(self) -> PostponeOptions:
        """How postponed rows get their buckets.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(PostponeOptions, self.raw)

    @cached_property
    def files(self) -> FileOptions:
        """How data files are written.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(FileOptions, self.raw)

    @cached_property
    def file_index(self) -> FileIndexOptions:
        """Which columns have file indexes.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(FileIndexOptions, self.raw)

    @cached_property
    def manifest(self) -> ManifestOptions:
        """How manifests are written and merged.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(ManifestOptions, self.raw)

    @cached_property
    def merge(self) -> MergeOptions:
        """How rows of one key become one row.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(MergeOptions, self.raw)

    @cached_property
    def compaction(self) -> CompactionOptions:
        """When buckets are compacted.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(CompactionOptions, self.raw)

    @cached_property
    def deletion_vectors(self) -> DeletionVectorOptions:
        """Whether and how deleted rows are marked.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(DeletionVectorOptions, self.raw)

    @cached_property
    def record_expiry(self) -> RecordExpiryOptions:
        """When rows expire.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(RecordExpiryOptions, self.raw)

    @property
    def merges_on_write(self) -> bool:
        """Whether each key above level 0 is live in at most one file, so that nothing needs merging."""
        return self.deletion_vectors.enabled or self.merge.engine is MergeEngine.FIRST_ROW

    @property
    def compacts_by_lookup(self) -> bool:
        """Whether compaction looks up keys in higher levels without removing them there. Of the versions above level
        0, only the one on the lowest level then counts (Java ``needLookup``).
        """
        by_lookup = self.stream.changelog_producer is ChangelogProducer.LOOKUP or self.merge.force_lookup
        return by_lookup or self.merges_on_write

    @property
    def skips_level_0(self) -> bool:
        """Whether batch scans of a primary key table read only compacted files (Java ``batchScanSkipLevel0``)."""
        vectors = self.deletion_vectors
        return self.merges_on_write and not (vectors.enabled and vectors.merge_on_read)

    @cached_property
    def written_formats(self) -> frozenset[str]:
        """The formats of all files that rows of the table are written to, sooner or later.

        >>> sorted(TableOptions.parse({"file.format": "orc", "file.format.per.level": "0:avro"}).written_formats)
        ['avro', 'orc']
        """
        postponed = {AVRO.name} if self.bucket.count == POSTPONED else set()
        changes = {self.changelog.format} if self.changelog.format else set()
        levels = {name.lower() for _, name in self.files.format_per_level}
        return frozenset({self.files.format, *levels, *postponed, *changes})

    @cached_property
    def write(self) -> WriteOptions:
        """How much a writer buffers.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(WriteOptions, self.raw)

    @cached_property
    def commit(self) -> CommitOptions:
        """How often a commit is retried.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(CommitOptions, self.raw)

    @cached_property
    def expire(self) -> ExpireOptions:
        """Which snapshots are kept.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(ExpireOptions, self.raw)

    @cached_property
    def partitions(self) -> PartitionOptions:
        """Which partitions expire.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(PartitionOptions, self.raw)

    @cached_property
    def scan(self) -> ScanOptions:
        """What is read.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(ScanOptions, self.raw)

    @cached_property
    def spark_read(self) -> SparkReadOptions:
        """How Spark reads the table.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(SparkReadOptions, self.raw)

    @cached_property
    def spark_stream(self) -> SparkStreamOptions:
        """How Spark's streaming queries read the table.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(SparkStreamOptions, self.raw)

    @cached_property
    def tags(self) -> TagOptions:
        """Which tags are created automatically.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(TagOptions, self.raw)

    @cached_property
    def alter(self) -> AlterOptions:
        """Which changes of columns are allowed.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(AlterOptions, self.raw)

    @cached_property
    def stream(self) -> StreamOptions:
        """How changes are produced and read.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(StreamOptions, self.raw)

    @cached_property
    def changelog(self) -> ChangelogOptions:
        """How changelogs are written and retained.

        Raises:
            InvalidOption: a value cannot be parsed.
        """
        return parse_group(ChangelogOptions, self.raw)
