"""Controls what Dagster records for an output: its metadata, the rows of each partition, and its partitions.

Dagster copies the metadata of an output to every partition of a range, and records a materialization of each. So
metadata that differs between partitions is passed for each partition, and partitions that received no rows and never
had any are not recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import dagster as dg

from dagster_paimon.io.spec import EmptyPartitions, WriteSpec
from dagster_paimon.io.tally import PartitionRows
from dagster_paimon.io.writing import Written
from dagster_paimon.reporting.metadata import listed
from dagster_paimon.reporting.reports import Report


def record(
    context: dg.OutputContext,
    report: Report,
    own: Mapping[str, Any],
    rows: Mapping[str, PartitionRows],
    empty: Collection[str],
) -> None:
    """Pass the metadata of an output to Dagster. ``empty`` partitions get no materialization."""
    own = {**own, **({"paimon/unmaterialized": listed(sorted(empty))} if empty else {})}
    # Metadata that the asset has set itself stays.
    context.add_output_metadata({k: v for k, v in {**report.metadata, **own}.items() if k not in _given(context)})
    if not context.has_asset_key:
        return
    step = context.step_context
    for key, found in rows.items():
        metadata = {
            "dagster/partition_row_count": found.rows,
            **({"paimon/partition_deletes": found.deletes} if found.deletes else {}),
        }
        step.add_asset_metadata(metadata, asset_key=context.asset_key, partition_key=key)
    if report.data_version is not None:
        step.set_data_version(context.asset_key, report.data_version)
    if empty:
        context.log.info("%s: not materialized, because there are no rows", ", ".join(sorted(empty)))
        _record_only(context, [key for key in context.asset_partition_keys if key not in empty])


def unmaterialized(context: dg.OutputContext, spec: WriteSpec, written: Written) -> frozenset[str]:
    """Return the partitions of the run without rows and without a materialization, if these are to be skipped."""
    if spec.empty_partitions is EmptyPartitions.materialize or not context.has_asset_key:
        return frozenset()
    empty = {key for key, found in written.partition_rows.items() if not found.rows}
    return frozenset(empty - context.step_context.instance.get_materialized_partitions(context.asset_key))


def _given(context: dg.OutputContext) -> Collection[str]:
    # Dagster keeps output metadata of both the asset and its IO manager only if the keys differ.
    return set(context.output_metadata or {}) & {"dagster/column_lineage"}


def _record_only(context: dg.OutputContext, keys: Collection[str]) -> None:
    """Let Dagster record only these partitions.

    There is no public API: after ``handle_output``, Dagster records each partition of the output's subset.
    """
    definition = context.asset_partitions_def
    context._asset_partitions_subset = definition.subset_with_partition_keys(list(keys))
