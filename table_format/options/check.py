"""Which options a new table may have, which may change, and which operations they prevent.

CREATE and ALTER refuse options that are unknown, malformed or without effect. An existing table loads with any
options; only operations whose result would be wrong are refused (``require``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import assert_never

from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.model.arguments import options_by_key
from table_format.model.column_names import does_not_exist
from table_format.model.schema import TableSchema
from table_format.nearest_names import did_you_mean
from table_format.options.bucket import BUCKET, BUCKET_KEY
from table_format.options.bucket_mode import (
    CrossPartition,
    Dynamic,
    Fixed,
    Postponed,
    Unaware,
    bucket_mode,
    check_cross_partition_mode,
)
from table_format.options.check_exchange import EXCHANGE_KEYS, check_exchange
from table_format.options.check_file_index import check_file_index, is_file_index_key
from table_format.options.check_files import FILE_KEYS, check_files
from table_format.options.check_levels import LEVEL_KEYS, check_levels
from table_format.options.check_limits import check_limits
from table_format.options.check_memory import MEMORY_KEYS, check_memory
from table_format.options.check_merge import check_merge_options
from table_format.options.check_schema import check_cross_partition
from table_format.options.check_secrets import refuse_secret
from table_format.options.check_stream import STREAM_KEYS, check_stream
from table_format.options.declare import AnyOption, Operation, Option, OptionPattern, parse_value
from table_format.options.deletion_vectors import ENABLED
from table_format.options.expire import (
    CHANGELOG_NUM_RETAINED_MAX,
    CHANGELOG_NUM_RETAINED_MIN,
    NUM_RETAINED_MAX,
    NUM_RETAINED_MIN,
)
from table_format.options.file_formats import FILE_FORMATS
from table_format.options.files import COLUMN_STATS_MODE, PARTITION_NAME_OPTIONS
from table_format.options.hints import PAGE_SIZE
from table_format.options.identity import PARTITION, PATH, PRIMARY_KEY
from table_format.options.manifest import FORMAT as MANIFEST_FORMAT
from table_format.options.materialized import OF_THE_QUERY, check_columns_of_query, check_materialized
from table_format.options.merge import (
    IGNORE_DELETE,
    IGNORE_UPDATE_BEFORE,
    MERGE_ENGINE,
    REMOVE_ON_SEQUENCE_GROUP,
    ROWKIND_FIELD,
    SEQUENCE_FIELDS,
)
from table_format.options.other_names import own_name
from table_format.options.preconditions import is_default, refuse_without_effect, without_effect
from table_format.options.record_expiry import time_field
from table_format.options.registry import BY_KEY, find
from table_format.options.scan import SNAPSHOT_ID, TAG_NAME, VERSION
from table_format.options.startup import given_starting_points, startup_mode
from table_format.options.table_options import TableOptions
from table_format.options.tags import CREATION_DELAY, CREATION_PERIOD, CREATION_PERIOD_DURATION
from table_format.options.write import SPARK_EXCHANGE
from table_format.secrets import shown_option

_ONLY_WITH_PRIMARY_KEY = (SEQUENCE_FIELDS, MERGE_ENGINE)
_NAMES_COLUMNS = (BUCKET_KEY, ROWKIND_FIELD, REMOVE_ON_SEQUENCE_GROUP)
_ONE_WAY = (IGNORE_DELETE, IGNORE_UPDATE_BEFORE)
_CROSS_PARTITION_KEYS = frozenset({*IGNORE_DELETE.keys, *MERGE_ENGINE.keys, *SEQUENCE_FIELDS.keys})


def check_options(options: Mapping[str, str]) -> None:
    """Refuse options that are unknown or malformed, hold a secret, or have an effect that this version does not
    support.

    Raises:
        InvalidOption: a key is unknown, a value malformed or a secret.
        UnsupportedFeature: a value has an effect that this version does not support.
    """
    for key, value in options_by_key(options, "options").items():
        refuse_secret(key, value)
        option = find(key)
        if option is None:
            raise InvalidOption(key, _unknown(key))
        parsed = parse_value(key, option.parser, value)
        if not _has_its_effect(option, parsed):
            raise _unsupported(option, key, value)
    given = [option.key for option in given_starting_points(options)]
    if len(given) > 1:
        message = f"may not be given together with {', '.join(given[1:])}: a scan has one starting point"
        raise InvalidOption(given[0], message)


def check_creatable(schema: TableSchema) -> None:
    """Refuse to create a table with these options; see ``check_schema`` for its columns.

    Raises:
        InvalidOption: a key is unknown, a value malformed, or two options contradict each other or the columns.
        UnsupportedFeature: an option has an effect that this version does not support.
    """
    check_options(schema.options)
    check_limits(schema.options)
    options = TableOptions.parse(schema.options)
    for option in (PRIMARY_KEY, PARTITION):
        if option.key in schema.options:
            raise InvalidOption(option.key, "is given in the schema and as an option; give it once")
    if PATH.key in schema.options:
        raise InvalidOption(PATH.key, "is decided by the catalog; leave it out")
    startup_mode(schema.options)
    _refuse_stored_version(schema.options)
    _check_bucket(schema, options)
    _check_retention(options)
    _check_tags(options)
    _check_columns(schema, options)
    check_files(schema, options)
    check_file_index(schema, options.file_index)
    check_stream(schema, options)
    check_levels(options)
    check_memory(schema, options)
    check_materialized(schema)
    refuse_without_effect(schema, options)
    check_exchange(schema, options)


def check_alterable(old: TableSchema, new: TableSchema, *, has_snapshots: bool = True) -> None:
    """Refuse a change of options from one schema to another; before the first snapshot, the merge engine and the
    format of manifests may change.

    Raises:
        InvalidOption: as for ``check_creatable``, or the option may not change.
        UnsupportedFeature: an option has an effect that this version does not support.
    """
    changed = {k: v for k, v in new.options.items() if old.options.get(k) != v}
    touched = {*changed, *(k for k in old.options if k not in new.options)}
    check_options(changed)
    check_limits(changed)
    for key in sorted(touched):
        if not _follows_renames(key, old, new):
            _check_change(key, old.options.get(key), new.options.get(key), has_snapshots=has_snapshots)
    _refuse_stored_version(changed)
    # Options that another program has set before are not checked again.
    options = TableOptions.parse(new.options)
    if touched & {BUCKET.key, BUCKET_KEY.key}:
        _check_bucket(new, options)
    if touched & _CROSS_PARTITION_KEYS:
        check_cross_partition(new, options)
    counts = (NUM_RETAINED_MIN, NUM_RETAINED_MAX, CHANGELOG_NUM_RETAINED_MIN, CHANGELOG_NUM_RETAINED_MAX)
    if touched & {option.key for option in counts}:
        _check_retention(options)
    if touched & {CREATION_DELAY.key, CREATION_PERIOD.key, CREATION_PERIOD_DURATION.key}:
        _check_tags(options)
    if touched or old.fields != new.fields:
        _check_columns(new, options)
    if touched & FILE_KEYS or (old.fields != new.fields and options.files.format in FILE_FORMATS):
        check_files(new, options)
    if old.fields != new.fields or any(map(is_file_index_key, touched)):
        check_file_index(new, options.file_index)
    if touched & STREAM_KEYS:
        check_stream(new, options)
    _check_compactions_and_memory(old, new, touched)
    check_materialized(new)
    check_columns_of_query(old, new)
    if touched & EXCHANGE_KEYS:
        check_exchange(new, options)
    # Refuse options that lose their effect because another option changes, but not those that had none before.
    before = {key for key, _ in without_effect(old, TableOptions.parse(old.options))}
    refuse_without_effect(new, options, unless=frozenset(before - changed.keys()))


def _check_compactions_and_memory(old: TableSchema, new: TableSchema, touched: Collection[str]) -> None:
    options = TableOptions.parse(new.options)
    if not LEVEL_KEYS.isdisjoint(touched):
        check_levels(options)
    if not MEMORY_KEYS.isdisjoint(touched) or (old.fields != new.fields and PAGE_SIZE.key in new.options):
        check_memory(new, options)


def check_dynamic(schema: TableSchema, options: Mapping[str, str]) -> None:
    """Refuse dynamic options of one call that are unknown, malformed or immutable.

    Raises:
        InvalidOption: a key is unknown, a value malformed, or the option may not change.
        UnsupportedFeature: an option has an effect that this version does not support.
    """
    check_options(options)
    for key, value in options.items():
        option = find(key)
        if option is None or schema.options.get(key) == value:
            continue
        if option.hint and not is_default(option, key, value):
            message = f"tunes other engines, which do not see options of one call ({option.doc.rstrip('.')})"
            raise InvalidOption(key, message)
        if option in OF_THE_QUERY:
            raise InvalidOption(key, "says what fills a materialized table, which one call cannot change")
        if key == ENABLED.key and ENABLED.read(schema.options) != ENABLED.read(options):
            raise InvalidOption(
                key, "says how the files of a table are read, which one call cannot change; alter the table"
            )
        if option in PARTITION_NAME_OPTIONS and schema.partition_keys:
            raise InvalidOption(key, "says where the files of a table are, which one call cannot change")
        _check_change(key, schema.options.get(key), value, has_snapshots=True)
        if option is BUCKET and BUCKET.read(schema.options) != BUCKET.read(options):
            message = "may not change for one call; alter the table, and overwrite or rescale its partitions"
            raise InvalidOption(key, message)
    together = TableOptions.parse({**schema.options, **options})
    refuse_without_effect(schema, together, unless=frozenset(schema.options.keys() - options.keys()))
    if SPARK_EXCHANGE.key in options:
        check_exchange(schema, together)


def require(schema: TableSchema, options: TableOptions, operation: Operation) -> None:
    """Refuse an operation whose result would be wrong under the options of the table.

    Raises:
        UnsupportedFeature: names the option and its value.
        InvalidOption: an option that the operation needs is malformed.
    """
    for key, value in options.raw.items():
        option = find(key)
        if option is None or operation not in option.blocks:
            continue
        if option in _ONLY_WITH_PRIMARY_KEY and not schema.primary_keys:
            continue
        if not _has_its_effect(option, parse_value(key, option.parser, value)):
            raise _unsupported(option, key, value, f" to {operation.value} the table")
    if operation is Operation.WRITE and schema.primary_keys:
        check_cross_partition_mode(schema, options.bucket)


def _has_its_effect(option: AnyOption, value: object) -> bool:
    return option.supported if isinstance(option, OptionPattern) else option.is_honoured(value)


def _unsupported(option: AnyOption, key: str, value: str, purpose: str = "") -> UnsupportedFeature:
    supported = option.shown_honoured() if isinstance(option, Option) else ""
    honoured = f"; this version supports {supported}" if supported else ""
    shown_value = shown_option(key, value)
    message = (
        f"option '{key}' = {shown_value!r} is not supported by this version{purpose} "
        f"({option.doc.rstrip('.')}){honoured}"
    )
    return UnsupportedFeature(f"{key}={shown_value}", message)


def _unknown(key: str) -> str:
    own = own_name(key)
    if own is not None:
        return f"is not known; use '{own}'"
    return f"is not known{did_you_mean(key, BY_KEY, show=repr, cutoff=0.75)}"


def _follows_renames(key: str, old: TableSchema, new: TableSchema) -> bool:
    """Whether an option names the same columns as before, by their new names."""
    before, after = old.options.get(key), new.options.get(key)
    if find(key) not in _NAMES_COLUMNS or before is None or after is None:
        return False
    new_names = {field.id: field.name for field in new.fields}
    renamed = {field.name: new_names.get(field.id) for field in old.fields}
    return [renamed.get(name.strip()) for name in before.split(",")] == [name.strip() for name in after.split(",")]


def _check_change(key: str, old: str | None, new: str | None, *, has_snapshots: bool) -> None:
    option = find(key)
    if option is MERGE_ENGINE and not has_snapshots:
        return
    if option is not None and (option.immutable or option in (PATH,)):
        before, after = ("unset" if value is None else f"'{shown_option(key, value)}'" for value in (old, new))
        raise InvalidOption(key, f"may not change after the table was created (from {before} to {after})")
    if option is BUCKET:
        count = BUCKET.default if old is None else parse_value(key, BUCKET.parser, old)
        wanted = BUCKET.default if new is None else parse_value(key, BUCKET.parser, new)
        if count != wanted and (count <= 0 or wanted <= 0):
            raise InvalidOption(key, f"may change only between positive numbers, not from {count} to {wanted}")
    if option is MANIFEST_FORMAT and has_snapshots:
        before, after = (MANIFEST_FORMAT.read({} if value is None else {key: value}) for value in (old, new))
        if before != after:
            reason = "Paimon reads all manifests of a table in one format"
            raise InvalidOption(key, f"may not change from {before} to {after} once there is a snapshot: {reason}")
    if option in _ONE_WAY and _is_true(old) and not _is_true(new):
        raise InvalidOption(key, "may not change from true to false: dropped rows cannot come back")


def _is_true(value: str | None) -> bool:
    return value is not None and value.strip().lower() == "true"


def _check_columns(schema: TableSchema, options: TableOptions) -> None:
    for name in options.files.column_stats_modes:
        _check_column(schema, COLUMN_STATS_MODE.key.replace("<column>", name), name)
    for name in options.merge.sequence_fields:
        _check_column(schema, SEQUENCE_FIELDS.key, name)
    if options.merge.rowkind_field is not None:
        _check_column(schema, ROWKIND_FIELD.key, options.merge.rowkind_field)
    if options.merge.sequence_fields and not schema.primary_keys:
        raise InvalidOption(SEQUENCE_FIELDS.key, "orders rows of one key, but the table has no primary key")
    if options.record_expiry.time_field is not None:
        time_field(schema, options.record_expiry)
    check_merge_options(schema, options)


def _check_bucket(schema: TableSchema, options: TableOptions) -> None:
    mode, key = bucket_mode(schema, options.bucket), options.bucket.key
    check_cross_partition_mode(schema, options.bucket)
    match mode:
        case Fixed():
            if not schema.primary_keys and not key:
                message = "is required for an append table with a positive number of buckets; name the columns to hash"
                raise InvalidOption(BUCKET_KEY.key, message)
        case Dynamic() | Unaware() | CrossPartition():
            if key:
                message = "has no meaning with bucket = -1; set 'bucket' to a positive number"
                raise InvalidOption(BUCKET_KEY.key, message)
        case Postponed():
            if not schema.primary_keys:
                raise InvalidOption(BUCKET.key, "-2 (postpone bucket) needs a primary key")
        case _:
            assert_never(mode)


def _refuse_stored_version(options: Mapping[str, str]) -> None:
    """Refuse to store an option with which Java can read and write a table, but not alter it."""
    if VERSION.key in options:
        message = (
            "is only for a single read, because Apache Paimon cannot alter a table that has it; "
            f"use '{SNAPSHOT_ID.key}' or '{TAG_NAME.key}'"
        )
        raise InvalidOption(VERSION.key, message)


def _check_retention(options: TableOptions) -> None:
    minimum, maximum = options.expire.num_retained_min, options.expire.num_retained_max
    if minimum > maximum:
        message = f"{minimum} is more than {NUM_RETAINED_MAX.key} = {maximum}"
        raise InvalidOption(NUM_RETAINED_MIN.key, message)
    minimum, maximum = options.expire.changelog_num_retained_min, options.expire.changelog_num_retained_max
    if minimum > maximum:
        message = f"the minimum of {minimum} commits is more than the maximum of {maximum}"
        raise InvalidOption(CHANGELOG_NUM_RETAINED_MIN.key, message)


def _check_tags(options: TableOptions) -> None:
    delay_ms, period_ms = options.tags.creation_delay_ms, options.tags.period_ms
    if delay_ms >= period_ms:
        shown = CREATION_DELAY.parser.show
        message = f"{shown(delay_ms)} is not shorter than the period of a tag, {shown(period_ms)}"
        raise InvalidOption(CREATION_DELAY.key, message)


def _check_column(schema: TableSchema, key: str, column: str) -> None:
    if column not in schema.field_names:
        message = f"column '{column}' {does_not_exist(column, schema.field_names)}"
        raise InvalidOption(key, message)
