"""Finds the Dagster partition of values of a column: the one whose materialization has exactly such values.

It is the inverse of the selection of rows by the I/O manager: a DATE or TIMESTAMP belongs to a time window, and a value
of another type to the key that is converted to it, such as ``true`` or ``07``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import dagster as dg

from dagster_paimon.tables.measure import moment_of, partition_key, value_of_text
from dagster_paimon.tables.partition_keys import key_of_moment, known_keys
from table_format.errors import InvalidData
from table_format.types import AnyTimestampType, DataField, DateType, InternalValue


def keys_of_column(
    partitions: dg.PartitionsDefinition[Any],
    field: DataField,
    values: Collection[InternalValue],
    instance: dg.DagsterInstance,
) -> dict[InternalValue, str]:
    """Return the partition of each value that has one; a new key for a value that dynamic partitions do not have yet.

    Null and the empty text have none. ``partitions`` has one dimension. ``instance`` holds the dynamic partitions.
    """
    placed: list[InternalValue] = [value for value in values if value is not None and value != ""]
    if isinstance(partitions, dg.TimeWindowPartitionsDefinition) and isinstance(
        field.type, DateType | AnyTimestampType
    ):
        moments = {value: moment_of(field, value) for value in placed}
        windows = {value: key_of_moment(partitions, moment) for value, moment in moments.items() if moment is not None}
        return _only(windows, known_keys(partitions, windows.values(), instance))
    texts = {value: partition_key(field, value) for value in placed}
    found = _only(texts, known_keys(partitions, texts.values(), instance))
    if len(found) == len(texts) or isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        return found
    others = _keys_by_value(partitions, field, instance)
    found |= {value: others[value] for value in texts if value not in found and value in others}
    return {**texts, **found} if isinstance(partitions, dg.DynamicPartitionsDefinition) else found


def _only(keys: dict[InternalValue, str], known: Collection[str]) -> dict[InternalValue, str]:
    return {value: key for value, key in keys.items() if key in known}


def _keys_by_value(
    partitions: dg.PartitionsDefinition[Any], field: DataField, instance: dg.DagsterInstance
) -> dict[InternalValue, str]:
    """Return the first key of each value that a key is converted to."""
    found: dict[InternalValue, str] = {}
    for key in partitions.get_partition_keys(dynamic_partitions_store=instance):
        try:
            found.setdefault(value_of_text(field, key), key)
        except InvalidData:  # no value of the column belongs to this key
            continue
    return found
