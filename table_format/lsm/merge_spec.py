"""Determines how rows of a table are merged. Only this module chooses the merge engine (format chapter 12).

Rows of one key are ordered by the sequence columns, then by ``_SEQUENCE_NUMBER`` (format chapter 07, section 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from table_format.kernels.aggregates import (
    FUNCTIONS,
    AggregateSpec,
    NestedKeyNullStrategy,
    check_aggregate,
    counts_inputs,
)
from table_format.kernels.aggregates.function import AggregateFunction
from table_format.kernels.engines import Aggregation, Engine, FirstRow, PartialUpdate, SequenceGroup
from table_format.kernels.merge import MergeSpec
from table_format.model.schema import TableSchema
from table_format.model.types import DataField
from table_format.options.merge import MergeEngine, MergeOptions
from table_format.options.table_options import TableOptions

_FIRST_VERSION_WITH_COUNTS: Final = 3
"""Schemas before this version are from release 0.8, whose ``count`` columns store the counted values."""


def merge_spec(schema: TableSchema, options: TableOptions) -> MergeSpec:
    """Return how rows of one key are merged. Keys are compared by the table's columns, not by the ``_KEY_`` columns.

    Raises:
        InvalidOption: an option of the merge engine is malformed.
    """
    return MergeSpec(
        key_columns=schema.trimmed_primary_keys,
        sequence_columns=options.merge.sequence_fields,
        sequence_descending=options.merge.sequence_descending,
        engine=engine_of(schema, options.merge),
        ignore_delete=options.merge.ignore_delete,
        lowest_level_only=options.merge.computes_values and options.compacts_by_lookup,
    )


def check_merge(schema: TableSchema) -> None:
    """Refuse aggregate functions that do not exist or do not fit the type of their column.

    Raises:
        InvalidOption: the function of a column does not exist or does not support its type; the message names the
            option.
        UnsupportedFeature: this version does not support a function.
    """
    if not schema.primary_keys:
        return
    engine = engine_of(schema, TableOptions.parse(schema.options).merge)
    if isinstance(engine, PartialUpdate | Aggregation):
        for spec in engine.aggregates:
            check_aggregate(replace(spec, field=schema.field(spec.field.name)))


def engine_of(schema: TableSchema, options: MergeOptions) -> Engine | None:
    """Return the merge engine of a table; ``None`` is ``deduplicate``."""
    required = frozenset(f.name for f in schema.fields if not f.type.nullable and f.name not in schema.primary_keys)
    match options.engine:
        case MergeEngine.FIRST_ROW:
            return FirstRow(options.ignore_delete)
        case MergeEngine.AGGREGATION:
            return Aggregation(_functions(schema, options), options.aggregation_remove_on_delete, required)
        case MergeEngine.PARTIAL_UPDATE:
            return PartialUpdate(
                _groups(schema, options),
                _functions(schema, options),
                options.ignore_delete,
                options.remove_on_delete,
                required,
            )
        case _:
            return None


def _groups(schema: TableSchema, options: MergeOptions) -> tuple[SequenceGroup, ...]:
    removing = set(options.remove_on_sequence_group)
    groups = []
    for columns, members in options.sequence_groups.items():
        sequence = tuple(name.strip() for name in columns.split(","))
        others = tuple(name for name in members if name not in sequence and name not in schema.partition_keys)
        groups.append(SequenceGroup(sequence, others, not removing.isdisjoint(sequence)))
    return tuple(groups)


def _functions(schema: TableSchema, options: MergeOptions) -> tuple[AggregateSpec, ...]:
    chosen = ((field, options.function_of(field.name, schema.unmerged_columns)) for field in schema.fields)
    return tuple(_aggregate(field, function, options, schema) for field, function in chosen if function)


def _aggregate(field: DataField, function: str, options: MergeOptions, schema: TableSchema) -> AggregateSpec:
    name = field.name
    declared = FUNCTIONS.get(function)
    folded_field = None if declared is None else declared.folded_field
    return AggregateSpec(
        function=function,
        field=field if folded_field is None else folded_field(field),
        delimiter=options.list_agg_delimiters.get(name, ","),
        distinct=options.distinct.get(name, False),
        ignore_retract=options.ignore_retract.get(name, False),
        nested_key=options.nested_keys.get(name, ()),
        nested_sequence=options.nested_sequences.get(name, ()),
        nested_key_null_strategy=NestedKeyNullStrategy(options.nested_key_null_strategies.get(name, "merge")),
        count_limit=options.count_limits.get(name),
        partial_counts=counts_inputs(function) and schema.version >= _FIRST_VERSION_WITH_COUNTS,
        timestamp_field=options.timestamp_fields.get(name),
        own_options=() if declared is None else _own_options(declared, name, schema.options),
    )


def _own_options(
    function: AggregateFunction, column: str, options: Mapping[str, str]
) -> tuple[tuple[str, object], ...]:
    values = ((pattern.key.rpartition(".")[2], pattern.read(options)) for pattern in function.options)
    return tuple((name, by_column[column]) for name, by_column in values if column in by_column)
