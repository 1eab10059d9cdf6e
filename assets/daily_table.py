"""The common part of all tables of the pipeline: daily partitions, one run for a range, one writer at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import dagster as dg

from assets.links import maintenance_links
from assets.partitions import ONE_RUN, daily
from dagster_paimon import RetryUnlessTerminated

Make: TypeAlias = Callable[[Callable[..., Any]], dg.AssetsDefinition]


def daily_table(
    database: str,
    name: str,
    *,
    metadata: Mapping[str, Any],
    deps: Sequence[Sequence[str]] = (),
    ins: Mapping[str, dg.AssetIn] | None = None,
    backfill_policy: dg.BackfillPolicy = ONE_RUN,
    automation_condition: dg.AutomationCondition[Any] | None = None,
    freshness_policy: dg.FreshnessPolicy | None = None,
    pool: str | None = None,
) -> Make:
    """Decorate a function that returns the frame of some days of the table ``database.name``.

    Runs that write to one ``pool`` take turns. By default, each asset has its own.
    """
    return dg.asset(
        name=name,
        key_prefix=database,
        group_name=database,
        partitions_def=daily,
        backfill_policy=backfill_policy,
        io_manager_key="paimon_io",
        kinds={"paimon", "pyspark"},
        code_version="1",
        owners=["team:shop"],
        tags={"layer": database},
        # A failure of Spark or the store may be temporary. Permanent failures are raised without retries.
        retry_policy=RetryUnlessTerminated(max_retries=1, delay=5),
        pool=pool or f"write_{database}_{name}",
        metadata={**metadata, **maintenance_links(f"{database}.{name}")},
        deps=[dg.AssetKey(key) for key in deps],
        ins=ins,
        automation_condition=automation_condition,
        freshness_policy=freshness_policy,
    )
