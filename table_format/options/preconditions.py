"""What options require to have an effect. Checks, documents and tests use this one list.

CREATE, ALTER and dynamic options refuse an option whose requirements the table does not meet, because it would never
be read. An option with its default value is always accepted. ``kernels/aggregates`` knows which functions read which
options of a column; the names are here because they are part of the format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from table_format.errors import InvalidOption
from table_format.model.schema import TableSchema
from table_format.options import (
    bucket,
    changelog,
    compaction,
    deletion_vectors,
    expire,
    files,
    hints,
    kind,
    materialized,
    merge,
    partitions,
    postpone,
    record_expiry,
    scan,
    spark_read,
    spark_stream,
    stream,
    tags,
    write,
)
from table_format.options.bucket_mode import BucketMode, CrossPartition, Dynamic, Fixed, Postponed, Unaware, bucket_mode
from table_format.options.declare import AnyOption, Option, OptionPattern, parse_value
from table_format.options.merge import MergeEngine
from table_format.options.registry import find
from table_format.options.stream import ChangelogProducer
from table_format.options.table_options import TableOptions
from table_format.secrets import Secret

Holds: TypeAlias = Callable[[TableSchema, TableOptions], bool]


@dataclass(frozen=True, slots=True)
class Need:
    """A requirement on a table."""

    words: str
    """What is needed, as the object of "needs"."""
    holds: Holds
    """Whether a table with this schema and these options has it."""


def _engine(*engines: MergeEngine) -> Need:
    words = f"a primary key and 'merge-engine' = {' or '.join(engines)}"
    return Need(words, lambda s, o: s.is_primary_key_table and o.merge.engine in engines)


def _without(option: Option[Any]) -> Need:
    """An option is at its default."""
    given = _option(option)
    return Need(f"no '{option.key}', which takes precedence", lambda s, o: not given.holds(s, o))


def _mode(words: str, *kinds: type[BucketMode]) -> Need:
    return Need(words, lambda s, o: isinstance(bucket_mode(s, o.bucket), kinds))


def _option(option: Option[Any], *values: object) -> Need:
    """An option has one of these values; without any, another value than its default."""
    words = f"'{option.key}'" + (f" = {' or '.join(map(option.parser.show, values))}" if values else "")

    def holds(_: TableSchema, options: TableOptions) -> bool:
        value = option.read(options.raw)
        return value in values if values else value != option.default

    return Need(words, holds)


def _writes_zstd(_: TableSchema, options: TableOptions) -> bool:
    data, levels = options.files, {level for level, _ in options.files.compression_per_level}
    codecs = {at.codec_of(name) for at in (data, *map(data.at_level, levels)) for name in options.written_formats}
    return "zstd" in codecs | {options.changelog.compression}


def _format(*names: str) -> Need:
    return Need(f"'file.format' = {' or '.join(names)}", lambda _, o: not o.written_formats.isdisjoint(names))


def _takes_common_codec(_: TableSchema, options: TableOptions) -> bool:
    return any(options.files.own_codec_of(name) is None for name in options.written_formats)


PRIMARY_KEY: Final = Need("a primary key", lambda s, _: s.is_primary_key_table)
NO_PRIMARY_KEY: Final = Need("a table without primary key", lambda s, _: not s.is_primary_key_table)
PARTITION_COLUMNS: Final = Need("partition columns", lambda s, _: bool(s.partition_keys))
_FIXED_APPEND: Final = Need(
    "a table without primary key and a positive 'bucket'",
    lambda s, o: not s.is_primary_key_table and isinstance(bucket_mode(s, o.bucket), Fixed),
)
_DYNAMIC: Final = _mode("a primary key and 'bucket' = -1", Dynamic, CrossPartition)
_CROSS_PARTITION: Final = _mode("a primary key without partition columns, and 'bucket' = -1", CrossPartition)
_POSTPONED: Final = _mode("a primary key and 'bucket' = -2", Postponed)
_NOT_POSTPONED: Final = Need(
    "another 'bucket' than -2, where only the compaction job compacts",
    lambda s, o: not isinstance(bucket_mode(s, o.bucket), Postponed),
)
_HASHED: Final = _mode("a positive 'bucket', or a primary key and 'bucket' = -2", Fixed, Postponed)
_TO_BUCKETS: Final = _mode(
    "a positive 'bucket', or a primary key and 'bucket' = -1: rows of other tables need not be in one task",
    Fixed,
    Dynamic,
    CrossPartition,
)
_SORTABLE: Final = _mode("'bucket' = -1, and a primary key that has all partition columns or none", Unaware, Dynamic)
_WITHOUT_BUCKETS: Final = _mode("a table without primary key and 'bucket' = -1", Unaware)
_CHANGELOG: Final = _option(
    stream.CHANGELOG_PRODUCER, ChangelogProducer.INPUT, ChangelogProducer.LOOKUP, ChangelogProducer.FULL_COMPACTION
)
_COMPARED_CHANGES: Final = _option(
    stream.CHANGELOG_PRODUCER, ChangelogProducer.LOOKUP, ChangelogProducer.FULL_COMPACTION
)
_LOOKUP: Final = Need(
    "compaction by lookup ('changelog-producer' = lookup, 'merge-engine' = first-row, 'deletion-vectors.enabled' or "
    "'force-lookup')",
    lambda s, o: s.is_primary_key_table and o.compacts_by_lookup,
)
_VECTORS: Final = _option(deletion_vectors.ENABLED, True)
_INDEX_FILES: Final = Need(
    "'deletion-vectors.enabled' = true, or a primary key and 'bucket' = -1",
    lambda s, o: _VECTORS.holds(s, o) or (s.is_primary_key_table and isinstance(bucket_mode(s, o.bucket), Dynamic)),
)
_MARKABLE: Final = Need(
    "a table that can have deletion vectors; with 'merge-engine' = first-row it cannot",
    lambda s, o: not s.is_primary_key_table or o.merge.engine is not MergeEngine.FIRST_ROW,
)
_COMPUTING: Final = _engine(MergeEngine.AGGREGATION, MergeEngine.PARTIAL_UPDATE)
_AUTOMATIC_TAGS: Final = _option(tags.AUTOMATIC_CREATION)
_TAGS_OF_PERIODS: Final = _option(tags.AUTOMATIC_CREATION, "process-time", "watermark")
_INCREMENTAL: Final = Need(
    "'incremental-between' or 'incremental-between-timestamp'",
    lambda _, o: o.scan.incremental_between is not None or o.scan.incremental_between_timestamp is not None,
)
_LONG_LIVED_CHANGES: Final = Need(
    "changes that outlive their snapshots ('changelog.time-retained', 'changelog.num-retained.min' or "
    "'changelog.num-retained.max' above those of snapshots)",
    lambda _, o: o.expire.is_changelog_decoupled,
)
_QUIET_HOURS: Final = Need(
    "'compaction.offpeak.start.hour' and 'compaction.offpeak.end.hour', which differ",
    lambda _, o: (
        -1 not in (hours := (o.compaction.offpeak_start_hour, o.compaction.offpeak_end_hour)) and hours[0] != hours[1]
    ),
)

NEEDS: Final[tuple[tuple[tuple[Need, ...], tuple[AnyOption, ...]], ...]] = (
    ((_FIXED_APPEND,), (bucket.APPEND_ORDERED,)),
    ((_HASHED,), (bucket.BUCKET_FUNCTION,)),
    ((_TO_BUCKETS,), (write.SPARK_EXCHANGE,)),
    (
        (_DYNAMIC,),
        (
            bucket.TARGET_ROWS,
            bucket.INITIAL_BUCKETS,
            bucket.MAX_DYNAMIC,
            bucket.ASSIGNER_PARALLELISM,
        ),
    ),
    ((_CROSS_PARTITION,), (bucket.INDEX_TTL, bucket.BOOTSTRAP_PARALLELISM)),
    ((_POSTPONED,), (postpone.DEFAULT_BUCKET_NUM,)),
    ((_POSTPONED, _without(postpone.DEFAULT_BUCKET_NUM)), (postpone.TARGET_ROWS,)),
    (
        (_POSTPONED, _without(postpone.DEFAULT_BUCKET_NUM), _without(postpone.TARGET_ROWS)),
        (postpone.TARGET_SIZE,),
    ),
    (
        (PRIMARY_KEY,),
        (
            files.FORMAT_PER_LEVEL,
            files.COMPRESSION_PER_LEVEL,
            files.THIN_MODE,
            files.STATS_MODE_PER_LEVEL,
            merge.MERGE_ENGINE,
            merge.IGNORE_DELETE,
            merge.IGNORE_UPDATE_BEFORE,
            merge.SEQUENCE_FIELDS,
            merge.ROWKIND_FIELD,
            merge.FORCE_LOOKUP,
            compaction.TRIGGER,
            compaction.STOP_TRIGGER,
            compaction.NUM_LEVELS,
            compaction.MAX_SIZE_AMPLIFICATION,
            compaction.SIZE_RATIO,
            compaction.OPTIMIZATION_INTERVAL,
            compaction.TOTAL_SIZE_THRESHOLD,
            compaction.INCREMENTAL_SIZE_THRESHOLD,
            compaction.FORCE_UP_LEVEL_0,
            compaction.FORCE_REWRITE_ALL_FILES,
            stream.CHANGELOG_PRODUCER,
            spark_read.MERGED_READ,
            hints.SORT_ENGINE,
            hints.LOCAL_MERGE_BUFFER,
        ),
    ),
    ((PRIMARY_KEY, _NOT_POSTPONED), (compaction.FORCE_COMPACT, compaction.FULL_COMPACTION_DELTA_COMMITS)),
    ((PRIMARY_KEY, _option(record_expiry.TIME_FIELD)), (record_expiry.EXPIRE_TIME,)),
    ((PRIMARY_KEY, _option(record_expiry.EXPIRE_TIME)), (record_expiry.TIME_FIELD,)),
    ((_SORTABLE,), (compaction.ZORDER_TEXT_BYTES,)),
    (
        (Need("a primary key ('streaming-read-append-overwrite' is for tables without)", PRIMARY_KEY.holds),),
        (stream.OVERWRITE,),
    ),
    ((PRIMARY_KEY, _option(merge.SEQUENCE_FIELDS)), (merge.SEQUENCE_ORDER,)),
    ((PRIMARY_KEY, _QUIET_HOURS), (compaction.OFFPEAK_RATIO,)),
    ((PRIMARY_KEY, _option(compaction.OFFPEAK_RATIO)), (compaction.OFFPEAK_START_HOUR, compaction.OFFPEAK_END_HOUR)),
    ((_LOOKUP, _NOT_POSTPONED), (compaction.LOOKUP_WAIT,)),
    ((_LOOKUP,), (compaction.LOOKUP_COMPACT,)),
    ((_LOOKUP, _option(compaction.LOOKUP_COMPACT, "gentle")), (compaction.LOOKUP_COMPACT_MAX_INTERVAL,)),
    ((NO_PRIMARY_KEY,), (compaction.MIN_FILE_NUM, stream.APPEND_OVERWRITE, hints.WRITE_BUFFER_FOR_APPEND)),
    ((NO_PRIMARY_KEY, _VECTORS), (compaction.DELETE_RATIO,)),
    ((_VECTORS,), (deletion_vectors.BITMAP64,)),
    ((_MARKABLE,), (deletion_vectors.MODIFIABLE,)),
    ((_INDEX_FILES,), (bucket.INDEX_IN_DATA_FILE_DIR,)),
    ((PRIMARY_KEY, _VECTORS), (deletion_vectors.MERGE_ON_READ,)),
    ((_WITHOUT_BUCKETS, _VECTORS), (deletion_vectors.INDEX_FILE_TARGET_SIZE,)),
    ((_engine(MergeEngine.PARTIAL_UPDATE),), (merge.REMOVE_ON_DELETE, merge.REMOVE_ON_SEQUENCE_GROUP)),
    ((_engine(MergeEngine.PARTIAL_UPDATE),), (merge.SEQUENCE_GROUP,)),
    ((_engine(MergeEngine.AGGREGATION),), (merge.AGGREGATION_REMOVE_ON_DELETE,)),
    ((_COMPUTING,), (merge.DEFAULT_AGGREGATE, merge.AGGREGATE_FUNCTION)),
    ((_option(files.EXTERNAL_PATHS),), (files.EXTERNAL_PATHS_STRATEGY,)),
    ((_option(files.EXTERNAL_PATHS_STRATEGY),), (files.EXTERNAL_PATHS,)),
    ((_option(files.EXTERNAL_PATHS_STRATEGY, "specific-fs"),), (files.EXTERNAL_PATHS_SPECIFIC_FS,)),
    ((_format("parquet"),), (files.PARQUET_DICTIONARY,)),
    ((_format("parquet", "orc"),), (files.BLOCK_SIZE,)),
    ((_format("orc"), _without(files.BLOCK_SIZE)), (files.ORC_STRIPE_SIZE,)),
    (
        (Need("a format whose compression is not set by 'orc.compress' or 'avro.codec'", _takes_common_codec),),
        (files.COMPRESSION,),
    ),
    (
        (_format("orc"),),
        (
            files.ORC_COMPRESSION_BLOCK_SIZE,
            files.ORC_ROW_INDEX_STRIDE,
            files.ORC_DICTIONARY_KEY_THRESHOLD,
            files.ORC_COMPRESSION,
        ),
    ),
    ((_format("avro"),), (files.AVRO_COMPRESSION,)),
    ((Need("files compressed with zstd", _writes_zstd),), (files.ZSTD_LEVEL,)),
    ((_CHANGELOG,), (changelog.PREFIX, changelog.FORMAT, changelog.COMPRESSION, changelog.STATS_MODE)),
    ((_COMPARED_CHANGES,), (changelog.ROW_DEDUPLICATE,)),
    ((_COMPARED_CHANGES, _option(changelog.ROW_DEDUPLICATE, True)), (changelog.IGNORED_FIELDS,)),
    (
        (PARTITION_COLUMNS,),
        (
            files.PARTITION_DEFAULT_NAME,
            files.PARTITION_LEGACY_NAME,
            partitions.EXPIRATION_TIME,
            partitions.EXPIRATION_STRATEGY,
            partitions.EXPIRATION_MAX_NUM,
            partitions.EXPIRATION_BATCH_SIZE,
            partitions.TIMESTAMP_FORMATTER,
            partitions.TIMESTAMP_PATTERN,
            hints.PARTITION_REPORT_DELAY,
        ),
    ),
    (
        (PARTITION_COLUMNS, _option(partitions.EXPIRATION_TIME)),
        (hints.PARTITION_EXPIRATION_CHECK_INTERVAL,),
    ),
    ((_INCREMENTAL,), (scan.INCREMENTAL_SCAN_MODE,)),
    ((_option(scan.INCREMENTAL_BETWEEN),), (scan.INCREMENTAL_TAG_TO_SNAPSHOT,)),
    (
        (_LONG_LIVED_CHANGES,),
        (expire.CONSUMER_CHANGELOG_ONLY,),
    ),
    ((_option(stream.CONSUMER_ID),), (stream.CONSUMER_MODE, stream.IGNORE_PROGRESS)),
    ((_option(scan.FALLBACK_BRANCH),), (scan.FALLBACK_READ_FAIL_FAST,)),
    ((_option(spark_stream.MIN_ROWS),), (spark_stream.MAX_DELAY,)),
    ((_option(spark_stream.MAX_DELAY),), (spark_stream.MIN_ROWS,)),
    ((_option(hints.SPILL_COMPRESSION, "zstd"),), (hints.SPILL_ZSTD_LEVEL,)),
    ((_option(hints.LOOKUP_BLOOM_FILTER, True),), (hints.LOOKUP_BLOOM_FILTER_FPP,)),
    ((_AUTOMATIC_TAGS,), (tags.NUM_RETAINED_MAX,)),
    (
        (_TAGS_OF_PERIODS,),
        (
            tags.CREATION_PERIOD_DURATION,
            tags.CREATION_DELAY,
            tags.AUTOMATIC_COMPLETION,
        ),
    ),
    (
        (_TAGS_OF_PERIODS, _without(tags.CREATION_PERIOD_DURATION), _option(tags.CREATION_PERIOD, "daily", "hourly")),
        (tags.PERIOD_FORMATTER,),
    ),
    ((_TAGS_OF_PERIODS, _without(tags.CREATION_PERIOD_DURATION)), (tags.CREATION_PERIOD,)),
    ((_option(tags.AUTOMATIC_CREATION, "batch"),), (tags.BATCH_CUSTOMIZED_NAME,)),
    ((_option(tags.AUTOMATIC_CREATION, "process-time", "batch"),), (tags.PROCESS_TIME_ZONE,)),
    ((_option(tags.AUTOMATIC_CREATION, "watermark"),), (tags.WATERMARK_TIME_ZONE,)),
    ((_option(kind.TYPE, kind.MATERIALIZED_TABLE),), materialized.OF_THE_QUERY),
)
"""What options need, all of it at once."""

_MERGED: Final = "a column that is neither of the primary key nor a partition column"
_COMPUTED: Final = (
    "a column with an aggregate function: none of the primary key, no partition column, and with 'merge-engine' = "
    "partial-update a member of a sequence group"
)

READERS: Final[Mapping[OptionPattern[Any], tuple[str, ...]]] = {
    merge.LIST_AGG_DELIMITER: ("listagg",),
    merge.DISTINCT: ("listagg", "collect"),
    merge.NESTED_KEY: ("nested_update", "nested_partial_update"),
    merge.NESTED_KEY_NULL_STRATEGY: ("nested_update",),
    merge.NESTED_SEQUENCE: ("nested_update",),
    merge.COUNT_LIMIT: ("nested_update",),
    merge.TIMESTAMP_FIELD: ("merge_map_with_keytime",),
    merge.IGNORE_RETRACT: (),
}
"""Options of one column, and the aggregate functions of the column that read them; without one, all do."""

_BY_KEY: Final = {option.key: needs for needs, options in NEEDS for option in options}


def needs_of(option: AnyOption) -> tuple[Need, ...]:
    """Return what an option requires of its table; nothing for most options.

    >>> [need.words for need in needs_of(changelog.IGNORED_FIELDS)]
    ["'changelog-producer' = lookup or full-compaction", "'changelog-producer.row-deduplicate' = true"]
    """
    return _BY_KEY.get(option.key, ())


def shown_needs(option: AnyOption) -> str:
    """Return the requirements of an option as text for the documentation; empty if there are none."""
    words = [need.words for need in needs_of(option)]
    if option is merge.AGGREGATE_FUNCTION:
        words.append(_MERGED)
    elif isinstance(option, OptionPattern) and option in READERS:
        functions = READERS[option]
        words.append(f"the column's aggregate function to be {' or '.join(functions)}" if functions else _COMPUTED)
    return ", and ".join(words)


def without_effect(schema: TableSchema, options: TableOptions) -> Iterator[tuple[str, str]]:
    """Return the options of a table that nothing reads, with what they lack. Unknown keys are left out.

    Raises:
        InvalidOption: the value of another option that an option needs is malformed.
    """
    for key in sorted(options.raw):
        option = find(key)
        if option is None or is_default(option, key, options.raw[key]):
            continue
        lacking = _lacking(option, key, schema, options)
        if lacking is not None:
            yield key, lacking


def refuse_without_effect(schema: TableSchema, options: TableOptions, *, unless: frozenset[str] = frozenset()) -> None:
    """Refuse options that nothing reads, except those in ``unless``.

    Raises:
        InvalidOption: names the option and what it needs.
    """
    for key, lacking in without_effect(schema, options):
        if key not in unless:
            raise InvalidOption(key, f"would have no effect: it needs {lacking}, which this table does not have")


def is_default(option: AnyOption, key: str, value: str | Secret) -> bool:
    """Return whether a value is the default of its option.

    Raises:
        InvalidOption: the value is malformed.
    """
    return isinstance(option, Option) and parse_value(key, option.parser, value) == option.default


def _lacking(option: AnyOption, key: str, schema: TableSchema, options: TableOptions) -> str | None:
    needed = next((need.words for need in needs_of(option) if not need.holds(schema, options)), None)
    if needed is not None or not isinstance(option, OptionPattern):
        return needed
    column = option.matches(key) or ""
    if option is merge.AGGREGATE_FUNCTION and column in schema.unmerged_columns:
        return _MERGED
    if option in READERS:
        function = options.merge.function_of(column, schema.unmerged_columns)
        if function is None or function not in (READERS[option] or (function,)):
            return shown_needs(option)
    return None
