"""Adds the values of a column of a table as dynamic partitions."""
# No postponed annotations here: Dagster inspects the type of `context`.

from collections.abc import Iterable

import dagster as dg

from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.sensors.followed_column import Changes, PartitionColumn, changes_since
from dagster_paimon.sensors.request_state import RequestState, decode_state, encode_state
from table_format.counted import counted
from table_format.errors import InvalidInputError, TableNotFound


def new_partitions_sensor(
    table: str,
    column: str,
    partitions: dg.DynamicPartitionsDefinition,
    *,
    name: str | None = None,
    minimum_interval_seconds: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """Return a sensor that adds the values of a column, as text, to dynamic partitions. Null is not a partition.

    For a partition column, it reads only manifests; otherwise, the column in files that commits have added, unless the
    statistics of a file tell its values.
    Partitions are never removed, because that would remove their history.

    Raises:
        InvalidInputError: the partitions are not dynamic, or have no name.
    """
    added_to: str | None = getattr(partitions, "name", None)
    if added_to is None:
        message = f"new partitions of {table}.{column}: expected dynamic partitions with a name, found {partitions!r}"
        raise InvalidInputError(message)

    @dg.sensor(
        name=name or f"new_partitions_of_{added_to}",
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description=f"Adds new values of {column} in {table} to the dynamic partitions '{added_to}'.",
    )
    def sensor(context: dg.SensorEvaluationContext, lakehouse: LakehouseCatalog) -> dg.SensorResult:
        """Check the commits since the last tick."""
        state = decode_state(context.cursor)
        try:
            facts = lakehouse.table(table).facts
        except TableNotFound:
            return dg.SensorResult(skip_reason=dg.SkipReason(f"{table} does not exist"), cursor=encode_state(state))
        changes = changes_since(state.trails.get(table, ()), facts, PartitionColumn(table, column), _texts)
        known = frozenset(context.instance.get_dynamic_partitions(added_to))
        keys = sorted(changes.keys - known)
        note = f"added {', '.join(keys[:20])}{' ...' if len(keys) > 20 else ''}" if keys else "no new value"
        more = f"; the next tick reads {counted(changes.left, 'more snapshot')}" if changes.left else ""
        return dg.SensorResult(
            skip_reason=dg.SkipReason(f"{note} of {column} in {table}{more}"),
            dynamic_partitions_requests=[partitions.build_add_request(keys)] if keys else None,
            cursor=encode_state(_remembered(table, changes)),
        )

    return sensor


def _remembered(table: str, changes: Changes) -> RequestState:
    return RequestState(trails={table: changes.trail})


def _texts(values: Iterable[object]) -> frozenset[str]:
    return frozenset(str(value) for value in values if value is not None and str(value))
