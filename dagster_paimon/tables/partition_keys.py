"""Converts values of a column to Dagster partition keys of an asset."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any, Final
from zoneinfo import ZoneInfo

import dagster as dg

from table_format.errors import InvalidInputError

_UTC: Final = "UTC"


@dataclass(frozen=True, slots=True)
class PartitionKeys:
    """The partitions of some values, in the order of the definition, and the values without a partition.

    ``to_come`` are the partitions of other values that the definition does not have yet.
    """

    keys: tuple[str, ...]
    others: tuple[object, ...] = ()
    to_come: frozenset[str] = frozenset()


def keys_of_values(
    partitions: dg.PartitionsDefinition[Any], values: Iterable[object], instance: dg.DagsterInstance
) -> PartitionKeys:
    """Return the partition of each value: its text, or the time window that contains a date or time.

    A time without a zone is in the time zone of the partitions. If the clock shows it twice, both partitions are
    returned, because neither can be computed without the other. ``instance`` holds the dynamic partitions.

    Raises:
        InvalidInputError: the partitions have several dimensions, so one value does not determine a partition.
    """
    if isinstance(partitions, dg.MultiPartitionsDefinition):
        message = (
            "one value does not determine a partition of several dimensions; give a function that returns the keys"
        )
        raise InvalidInputError(message)
    given = [(value, _spellings(partitions, value)) for value in values]
    again = {key for value, _ in given if (key := _second_key(partitions, value)) is not None}
    existing = known_keys(partitions, again | {key for _, spellings in given for key in spellings}, instance)
    placed = [
        (value, next((key for key in keys if key in existing), keys[0] if keys else None)) for value, keys in given
    ]
    found = {key for _, key in placed if key is not None}
    found |= again
    known = found & existing
    to_come = keys_to_come(partitions, found - known)
    others = tuple(value for value, key in placed if key not in known | to_come)
    return PartitionKeys(in_order(partitions, known, instance), others, to_come)


def known_keys(
    partitions: dg.PartitionsDefinition[Any], keys: Iterable[str], instance: dg.DagsterInstance
) -> frozenset[str]:
    """Return the keys that are currently in the definition."""
    if isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        return frozenset(key for key in keys if partitions.has_partition_key(key))
    if isinstance(partitions, dg.MultiPartitionsDefinition):
        with dg.partition_loading_context(dynamic_partitions_store=instance):  # a dimension may be dynamic
            return frozenset(key for key in keys if partitions.has_partition_key(key))
    return frozenset(keys) & frozenset(partitions.get_partition_keys(dynamic_partitions_store=instance))


def keys_to_come(partitions: dg.PartitionsDefinition[Any], unknown: Iterable[str]) -> frozenset[str]:
    """Return those keys, among some that are not in the definition, that may be in it later.

    A time window becomes a partition when it ends, and a dynamic partition when it is added.
    """
    if isinstance(partitions, dg.StaticPartitionsDefinition):
        return frozenset()
    if isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        return frozenset(key for key in unknown if _is_within(partitions, key))
    return frozenset(unknown)


def _is_within(partitions: dg.TimeWindowPartitionsDefinition, key: str) -> bool:
    try:
        began = partitions.start_time_for_partition_key(key)
    except ValueError:
        return False
    return partitions.start <= began and (partitions.end is None or began < partitions.end)


def in_order(
    partitions: dg.PartitionsDefinition[Any], keys: Iterable[str], instance: dg.DagsterInstance
) -> tuple[str, ...]:
    """Return the keys in the order of the definition."""
    wanted = frozenset(keys)
    if isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        return tuple(sorted(wanted, key=partitions.start_time_for_partition_key))
    ordered = partitions.get_partition_keys(dynamic_partitions_store=instance)
    return tuple(key for key in ordered if key in wanted)


def successive(
    partitions: dg.PartitionsDefinition[Any], keys: Iterable[str], instance: dg.DagsterInstance
) -> tuple[tuple[str, ...], ...]:
    """Return the keys in groups. Each group is a range of the definition without gaps."""
    groups: list[list[str]] = []
    ordered = in_order(partitions, keys, instance)
    positions = _positions(partitions, ordered, instance)
    for key in ordered:
        if groups and positions[key] == positions[groups[-1][-1]] + 1:
            groups[-1].append(key)
        else:
            groups.append([key])
    return tuple(map(tuple, groups))


def _positions(
    partitions: dg.PartitionsDefinition[Any], ordered: tuple[str, ...], instance: dg.DagsterInstance
) -> dict[str, int]:
    if not ordered:
        return {}
    if isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        keys = partitions.get_partition_keys_in_range(dg.PartitionKeyRange(ordered[0], ordered[-1]))
    else:
        keys = partitions.get_partition_keys(dynamic_partitions_store=instance)
    return {key: position for position, key in enumerate(keys)}


def key_of_moment(partitions: dg.TimeWindowPartitionsDefinition, moment: date) -> str:
    """Return the key of the time window that contains a date or time; it need not be in the definition.

    A time without a zone, and the beginning of a day, are in the time zone of the partitions.
    """
    zone = UTC if partitions.timezone == _UTC else ZoneInfo(partitions.timezone)
    at = moment if isinstance(moment, datetime) else datetime.combine(moment, time(), zone)
    return partitions.get_partition_key_for_timestamp((at if at.tzinfo else at.replace(tzinfo=zone)).timestamp())


def _second_key(partitions: dg.PartitionsDefinition[Any], value: object) -> str | None:
    """Return the partition of a time without a zone when the clock shows it again; ``None`` if it does not."""
    if not isinstance(partitions, dg.TimeWindowPartitionsDefinition) or partitions.timezone == _UTC:
        return None
    if not isinstance(value, datetime) or value.tzinfo is not None:
        return None
    zone = ZoneInfo(partitions.timezone)
    first, second = (value.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if first.timestamp() >= second.timestamp():  # the clock shows the time once, or leaps over it
        return None
    return partitions.get_partition_key_for_timestamp(second.timestamp())


def _spellings(partitions: dg.PartitionsDefinition[Any], value: object) -> tuple[str, ...]:
    """Return the keys that a value may have; the first one is what ``new_partitions_sensor`` adds."""
    if value is None:
        return ()
    if not isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        also = value.isoformat() if isinstance(value, datetime) else str(value)
        return (str(value), also.lower() if isinstance(value, bool) else also)
    moment = value
    if isinstance(value, str):
        if partitions.has_partition_key(value):
            return (value,)
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return ()
    return (key_of_moment(partitions, moment),) if isinstance(moment, date) else ()
