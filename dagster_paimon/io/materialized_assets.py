"""Turns the materialized tables of a catalog into assets, whose runs refresh them on Spark."""
# No postponed annotations here: Dagster inspects the types of the arguments of an asset.

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, Final, TypeAlias

import dagster as dg
from pydantic import Field

from dagster_paimon.io.commits import RUN_ID_PROPERTY
from dagster_paimon.reporting.metadata import data_version, listed
from dagster_paimon.reporting.reports import report_of
from dagster_paimon.resources.lakehouse import LakehouseCatalog, asset_key, table_name
from dagster_paimon.resources.retries import RetryUnlessTerminated
from dagster_paimon.resources.spark import SparkResource
from dagster_paimon.tables.asset_keys import TableAssets
from dagster_paimon.tables.selection import TableNames, TableSelection
from table_format import MaterializedTable, Refresh, RefreshReport, Table, materialized_table, materialized_tables
from table_format.engine.support import Consumed, shown_partition
from table_format.errors import InvalidInputError, NotFoundError

Asset: TypeAlias = dg.AssetsDefinition | dg.AssetSpec

_LEAST_WINDOW: Final = timedelta(minutes=1)
"""Dagster accepts no shorter window of a freshness policy."""
_RETRIES: Final = RetryUnlessTerminated(max_retries=2, delay=2, jitter=dg.Jitter.PLUS_MINUS)


class RefreshConfig(dg.Config):
    """The configuration of a run that refreshes a materialized table."""

    force: bool = Field(
        default=False, description="Run the query although neither its sources nor the query have changed."
    )


def materialized_table_assets(
    lakehouse: LakehouseCatalog,
    tables: TableNames = "*",
    *,
    assets: Iterable[Asset] = (),
    **arguments: Any,  # noqa: ANN401 - the arguments of dg.asset
) -> tuple[dg.AssetsDefinition, ...]:
    """Return an asset for each materialized table of the catalog, which depends on the tables that its query reads.

    A run of the asset refreshes the table with Spark; it needs the resources ``lakehouse`` and ``spark``. The catalog
    is read now, so reload the code location after a table was created, dropped or given another query. ``assets`` are
    other assets of the code location: if the ``paimon/table`` of one names a source, the table depends on it. A
    freshness policy warns when the last materialization is older than the freshness of the table, and fails after twice
    that time, but not before one and two minutes. Other ``arguments`` are those of ``dg.asset``, such as
    ``group_name``.

    Example::

        totals = materialized_table_assets(lakehouse, "shop.*", assets=[orders])
        defs = dg.Definitions(
            assets=[orders, *totals],
            sensors=[stale_tables_sensor(totals)],
            resources={"lakehouse": lakehouse, "spark": SparkResource()},
        )

    Raises:
        InvalidInputError: a name is not that of a materialized table. TableNotFound: there is no such table.
    """
    catalog, selection = lakehouse.catalog(), TableSelection.of(tables)
    known = {table.name: table for table in materialized_tables(catalog)}
    specs = [spec for given in assets for spec in (given.specs if isinstance(given, dg.AssetsDefinition) else [given])]
    keys = TableAssets({table_name(spec.key, spec.metadata): spec.key for spec in specs})
    return tuple(
        _asset(known.get(name) or materialized_table(catalog, name), keys, arguments)
        for name in selection.names(catalog)
        if name in known or name in selection.patterns
    )


def _asset(table: MaterializedTable, keys: TableAssets, arguments: Mapping[str, Any]) -> dg.AssetsDefinition:
    name = table.name

    def refresh(
        context: dg.AssetExecutionContext, config: RefreshConfig, lakehouse: LakehouseCatalog, spark: SparkResource
    ) -> dg.MaterializeResult[Any]:
        properties = {RUN_ID_PROPERTY: context.run.run_id, "dagster.asset": context.asset_key.to_user_string()}
        try:
            with spark.following(context.log.info, f"refreshing {name}") as session:
                report = lakehouse.lake(session).refresh(name, force=config.force, properties=properties)
        except (InvalidInputError, NotFoundError) as error:
            raise dg.Failure(description=str(error), allow_retries=False) from error
        found = lakehouse.table(name)
        if report.skipped is not None:
            context.log.info("%s was not refreshed: %s", name, report.skipped)
        described = report_of(found, report.snapshots, plots=True, count_keys_up_to=0)
        now = materialized_table(lakehouse.catalog(), name)
        return dg.MaterializeResult(
            metadata={**described.metadata, **refresh_metadata(now.refresh, report.skipped), **_replaced(report)},
            data_version=described.data_version or version_of(found, now.refresh),
        )

    decorate: Callable[[Callable[..., Any]], dg.AssetsDefinition] = dg.asset(
        key=asset_key(name),
        deps=[keys.key_of(source) for source in table.sources],
        metadata={
            "paimon/table": name,
            "paimon/query": dg.MetadataValue.md(f"```sql\n{table.query}\n```"),
            "paimon/refreshes_after": "unknown" if table.freshness is None else str(table.freshness),
        },
        **{
            "kinds": {"paimon", "spark"},
            "description": f"Materialized table {name}, refreshed from its query",
            "freshness_policy": _policy(table.freshness),
            "retry_policy": _RETRIES,
            **arguments,
        },
    )
    return decorate(refresh)


def _policy(freshness: timedelta | None) -> dg.FreshnessPolicy | None:
    if freshness is None:
        return None
    warn = max(freshness, _LEAST_WINDOW)
    return dg.FreshnessPolicy.time_window(fail_window=2 * warn, warn_window=warn)


def _replaced(report: RefreshReport) -> dict[str, Any]:
    """Return which partitions a refresh replaced, or why all rows."""
    if report.partitions is not None:
        return {"paimon/replaced": listed(map(shown_partition, report.partitions))}
    return {} if report.whole_because is None else {"paimon/replaced": f"all rows: {report.whole_because}"}


def refresh_metadata(refresh: Refresh | None, skipped: str | None) -> dict[str, Any]:
    """Return what the UI shows of the refresh that the rows come from. ``skipped`` is why it was not a new one."""
    outcome = {"paimon/refresh": "refreshed" if skipped is None else f"unchanged: {skipped}"}
    if refresh is None:
        return outcome
    return {
        **outcome,
        "paimon/refreshed": dg.MetadataValue.timestamp(refresh.time_ms / 1000),
        "paimon/consumed": listed(_shown(source, state) for source, state in refresh.consumed.items()),
        "dagster/row_count": refresh.row_count,
    }


def _shown(source: str, state: Consumed) -> str:
    return f"{source}: snapshot {state.id}" if state.id else f"{source}: no snapshot"


def version_of(table: Table, refresh: Refresh | None) -> dg.DataVersion | None:
    """Return the version of the rows of a refresh; ``None`` if its snapshot has expired."""
    snapshot = None if refresh is None else table.facts.snapshots.find(refresh.snapshot_id)
    return None if snapshot is None else data_version(snapshot)
