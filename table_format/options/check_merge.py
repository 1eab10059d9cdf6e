"""Checks that the options of merge engines fit each other and the columns (format chapter 12).

Java ``SchemaValidation``, ``PartialUpdateMergeFunction.Factory`` and ``FieldAggregatorFactory``; which types a function
takes is known where the functions are.
"""

from __future__ import annotations

from collections import Counter

from table_format.errors import InvalidOption
from table_format.model.column_names import does_not_exist
from table_format.model.schema import TableSchema
from table_format.model.types import NESTED
from table_format.options.declare import OptionPattern
from table_format.options.deletion_vectors import ENABLED
from table_format.options.merge import (
    AGGREGATE_FUNCTION,
    AGGREGATION_REMOVE_ON_DELETE,
    DEFAULT_AGGREGATE,
    IGNORE_DELETE,
    IGNORE_RETRACT,
    LAST_NON_NULL_VALUE,
    MERGE_ENGINE,
    REMOVE_ON_DELETE,
    REMOVE_ON_SEQUENCE_GROUP,
    SEQUENCE_FIELDS,
    SEQUENCE_GROUP,
    MergeEngine,
    MergeOptions,
)
from table_format.options.registry import find
from table_format.options.table_options import TableOptions

_FIELDS = "fields."
_CHANGELOG_PRODUCER = "changelog-producer"


def check_merge_options(schema: TableSchema, options: TableOptions) -> None:
    """Refuse options of merge engines that contradict each other or the columns.

    Raises:
        InvalidOption: names the option.
    """
    _check_fields_keys(schema, options)
    if not schema.primary_keys:
        return
    merge = options.merge
    _check_sequence_fields(merge)
    _check_first_row(merge, options)
    if merge.engine is MergeEngine.PARTIAL_UPDATE:
        _check_groups(schema, merge)
        _check_removal(merge)
        _check_functions_of_members(schema, merge)
    if merge.engine in (MergeEngine.PARTIAL_UPDATE, MergeEngine.AGGREGATION):
        _check_ignored_retracts(merge)


def _check_fields_keys(schema: TableSchema, options: TableOptions) -> None:
    """Every ``fields.<column>.*`` is about a column that exists."""
    for key in sorted(options.raw):
        option = find(key)
        if not isinstance(option, OptionPattern) or not option.key.startswith(_FIELDS):
            continue
        named = option.matches(key) or ""
        for column in named.split(",") if option is SEQUENCE_GROUP else (named,):
            _check_exists(schema, key, column.strip())


def _check_exists(schema: TableSchema, key: str, column: str) -> None:
    if column not in schema.field_names:
        message = f"column '{column}' {does_not_exist(column, schema.field_names)}"
        raise InvalidOption(key, message)


def _check_first_row(merge: MergeOptions, options: TableOptions) -> None:
    if merge.engine is not MergeEngine.FIRST_ROW:
        return
    producer = options.raw.get(_CHANGELOG_PRODUCER, "none").strip().lower()
    if producer not in ("none", "lookup"):
        message = f"'{producer}' does not go with {MERGE_ENGINE.key} = first-row; it takes none or lookup"
        raise InvalidOption(_CHANGELOG_PRODUCER, message)
    if options.deletion_vectors.enabled:
        message = f"does not go with {MERGE_ENGINE.key} = first-row, which never deletes a row"
        raise InvalidOption(ENABLED.key, message)


def _check_sequence_fields(merge: MergeOptions) -> None:
    if not merge.sequence_fields:
        return
    if merge.engine is MergeEngine.FIRST_ROW:
        message = f"has no meaning with {MERGE_ENGINE.key} = first-row, which keeps the row that arrived first"
        raise InvalidOption(SEQUENCE_FIELDS.key, message)
    for column in merge.sequence_fields:
        if column in merge.aggregates:
            key = AGGREGATE_FUNCTION.key.replace("<column>", column)
            raise InvalidOption(
                key, f"column '{column}' is in '{SEQUENCE_FIELDS.key}', whose last value is always used"
            )


def _check_groups(schema: TableSchema, merge: MergeOptions) -> None:
    places: Counter[str] = Counter()
    for columns, members in merge.sequence_groups.items():
        key = SEQUENCE_GROUP.key.replace("<columns>", columns)
        ordering = [name.strip() for name in columns.split(",")]
        for column in dict.fromkeys((*ordering, *members)):
            _check_exists(schema, key, column)
            if column in schema.primary_keys:
                raise InvalidOption(key, f"column '{column}' is a primary key column, which is in no group")
            if column in schema.partition_keys:
                raise InvalidOption(key, f"column '{column}' is a partition column, which no merge changes")
            places[column] += 1
            if places[column] > 1:
                raise InvalidOption(key, f"column '{column}' is in another sequence group already; it can be in one")
        for column in ordering:
            if isinstance(schema.field(column).type, NESTED):
                raise InvalidOption(key, f"column '{column}' is {schema.field(column).type}, which has no order")
            if column in merge.aggregates:
                option = AGGREGATE_FUNCTION.key.replace("<column>", column)
                raise InvalidOption(option, f"column '{column}' orders the sequence group '{key}'; it has no function")


def _check_removal(merge: MergeOptions) -> None:
    if merge.remove_on_delete and merge.ignore_delete:
        _refuse_both(REMOVE_ON_DELETE.key, IGNORE_DELETE.key)
    if merge.remove_on_sequence_group and merge.ignore_delete:
        _refuse_both(REMOVE_ON_SEQUENCE_GROUP.key, IGNORE_DELETE.key)
    if merge.remove_on_delete and merge.sequence_groups:
        group = next(iter(merge.sequence_groups))
        _refuse_both(REMOVE_ON_DELETE.key, SEQUENCE_GROUP.key.replace("<columns>", group))
    ordering = {name.strip() for columns in merge.sequence_groups for name in columns.split(",")}
    for column in merge.remove_on_sequence_group:
        if column not in ordering:
            message = f"column '{column}' orders no sequence group; set 'fields.{column}.sequence-group'"
            raise InvalidOption(REMOVE_ON_SEQUENCE_GROUP.key, message)


def _check_functions_of_members(schema: TableSchema, merge: MergeOptions) -> None:
    """Outside of sequence groups, a partial update only allows ``last_non_null_value``, which is its behaviour
    anyway.
    """
    ordering = {name.strip() for columns in merge.sequence_groups for name in columns.split(",")}
    members = {name for names in merge.sequence_groups.values() for name in names}
    for column in schema.field_names:
        if column in ordering or column in members or column in schema.unmerged_columns:
            continue
        own = merge.aggregates.get(column)
        function = own or merge.default_aggregate
        if function not in (None, LAST_NON_NULL_VALUE):
            key = AGGREGATE_FUNCTION.key.replace("<column>", column) if own else DEFAULT_AGGREGATE.key
            message = (
                f"'{function}' of column '{column}' needs a sequence group with {MERGE_ENGINE.key} = partial-update; "
                f"put the column into a 'fields.<column>.sequence-group'"
            )
            raise InvalidOption(key, message)


def _check_ignored_retracts(merge: MergeOptions) -> None:
    ignoring = [column for column, is_set in merge.ignore_retract.items() if is_set]
    if merge.aggregation_remove_on_delete and ignoring:
        _refuse_both(AGGREGATION_REMOVE_ON_DELETE.key, IGNORE_RETRACT.key.replace("<column>", ignoring[0]))


def _refuse_both(key: str, other: str) -> None:
    raise InvalidOption(key, f"contradicts '{other}'; set one of them")
