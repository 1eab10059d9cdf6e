"""Builds the first schema of a table from the arguments of a caller (format chapter 02, sections 3 and 5; Java
``Schema``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import count

from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.kernels.aggregates import counts_inputs
from table_format.kernels.engines import Aggregation, PartialUpdate
from table_format.kernels.merge import MergeSpec
from table_format.lsm.merge_spec import check_merge, merge_spec
from table_format.metastore.schema.schema_arguments import checked_schema
from table_format.model.schema import Schema, TableSchema
from table_format.model.types import ArrayType, DataField, DataType, MapType, MultisetType, RowType
from table_format.object_table.columns import check_object_columns
from table_format.options.char_keys import check_char_keys
from table_format.options.check import check_alterable, check_creatable
from table_format.options.check_schema import check_schema
from table_format.options.check_secrets import refuse_secret_comments
from table_format.options.declare import Option, parse_value
from table_format.options.identity import PARTITION, PRIMARY_KEY
from table_format.options.preconditions import without_effect
from table_format.options.stored_text import stored_options
from table_format.options.table_options import TableOptions


def first_schema(wanted: Schema, *, defaults: Mapping[str, str], time_millis: int) -> TableSchema:
    """Build and check schema 0: assign field ids depth first, move keys out of the options, make key columns NOT NULL.

    ``defaults`` are options for tables that do not set them. A default that has no effect on a table is left out.

    Raises:
        InvalidSchema, InvalidOption, UnsupportedFeature: no table can have this schema.
        InvalidInputError: a member of the schema has the wrong type.
    """
    wanted = checked_schema(wanted)
    options = stored_options({**defaults, **wanted.options})
    primary_keys = _keys(options, PRIMARY_KEY, wanted.primary_keys)
    partition_keys = _keys(options, PARTITION, wanted.partition_keys)
    ids = count()
    fields = tuple(_numbered(field, ids) for field in wanted.fields)
    schema = TableSchema(
        id=0,
        fields=tuple(replace(f, type=f.type.not_null()) if f.name in primary_keys else f for f in fields),
        highest_field_id=next(ids) - 1,
        partition_keys=partition_keys,
        primary_keys=primary_keys,
        options=options,
        comment=wanted.comment,
        time_millis=time_millis,
    )
    schema = _without_idle_defaults(schema, defaults.keys() - wanted.options.keys())
    check_object_columns(schema)
    check_creatable(schema)
    refuse_secret_comments(schema)
    check_schema(schema)
    check_merge(schema)
    return schema


def _without_idle_defaults(schema: TableSchema, defaults: Collection[str]) -> TableSchema:
    try:
        idle = {key for key, _ in without_effect(schema, TableOptions.parse(schema.options)) if key in defaults}
    except InvalidOption:
        return schema  # The following checks report what is wrong.
    return replace(schema, options={k: v for k, v in schema.options.items() if k not in idle})


def check_changed(old: TableSchema, new: TableSchema, *, has_snapshots: bool) -> None:
    """Refuse a schema change that the options or the merge engine do not allow.

    Raises:
        InvalidOption, UnsupportedFeature: names the option. InvalidSchemaChange: an object table has fixed columns.
    """
    check_object_columns(new, old)
    check_alterable(old, new, has_snapshots=has_snapshots)
    if has_snapshots:
        check_char_keys(old, new)
    refuse_secret_comments(new, old)
    before, after = (merge_spec(schema, TableOptions.parse(schema.options)) for schema in (old, new))
    counted = [name for name in _counted_by_release_0_8(before) if name not in _counted_by_release_0_8(after)]
    if counted:
        feature = f"altering a table of release 0.8 that counts ({counted[0]})"
        message = (
            f"{feature} is not supported: its files hold the values that are counted, and files of the new schema "
            "would hold counts"
        )
        raise UnsupportedFeature(feature, message)
    # Options that another program has set before are not checked again.
    if before != after:
        check_merge(new)


def _counted_by_release_0_8(spec: MergeSpec) -> tuple[str, ...]:
    if not isinstance(spec.engine, Aggregation | PartialUpdate):
        return ()
    return tuple(a.field.name for a in spec.engine.aggregates if counts_inputs(a.function) and not a.partial_counts)


def _keys(options: dict[str, str], option: Option[tuple[str, ...]], given: tuple[str, ...]) -> tuple[str, ...]:
    text = options.pop(option.key, None)
    if text is None:
        return tuple(given)
    if given:
        raise InvalidOption(option.key, "is also given in the schema; give it once")
    return parse_value(option.key, option.parser, text)


def _numbered(field: DataField, ids: Iterator[int]) -> DataField:
    identifier = next(ids)
    return replace(field, id=identifier, type=_renumbered(field.type, ids))


def _renumbered(data_type: DataType, ids: Iterator[int]) -> DataType:
    match data_type:
        case RowType(fields=fields):
            return replace(data_type, fields=tuple(_numbered(f, ids) for f in fields))
        case ArrayType(element=element) | MultisetType(element=element):
            return replace(data_type, element=_renumbered(element, ids))
        case MapType(key=key, value=value):
            return replace(data_type, key=_renumbered(key, ids), value=_renumbered(value, ids))
        case _:
            return data_type
