"""Write, audit, publish: the asset that publishes what another asset has written to a branch."""

# Annotations are not postponed here: Dagster looks at the types of the function's parameters itself.

from collections.abc import Callable, Mapping
from typing import Any

import dagster as dg

from dagster_paimon.io.branches import audited_branch, publish_branch, wap_branch
from dagster_paimon.reporting.metadata import data_version
from dagster_paimon.reporting.reports import report_of
from dagster_paimon.resources.lakehouse import LakehouseCatalog, asset_key
from table_format.errors import NotFoundError


def published_table(
    staged: dg.AssetsDefinition | dg.AssetSpec,
    *,
    key: dg.AssetKey | None = None,
    metadata: Mapping[str, Any] | None = None,
    **arguments: Any,  # noqa: ANN401 - those of dg.asset
) -> dg.AssetsDefinition:
    """The asset of a table after its audits, for an asset with ``paimon/wap``.

    The staged asset writes to a branch of its run; its blocking checks (``branch_audit``) read the branch. When they
    have passed this asset lets the table become what the branch is, and deletes the branch. When one fails this asset
    does not run, readers of the table see nothing, and the branch stays for inspection. Assets that depend on this one
    read the table. ``key`` is its asset key, by default that of the table's name; further ``arguments`` are those of
    ``dg.asset``, such as ``group_name``, ``pool`` and ``automation_condition``.

    Example::

        @dg.asset(key=["dwd", "orders_staged"], metadata={"paimon/wap": True, "paimon/table": "dwd.orders", ...}, ...)
        def orders_staged(...): ...

        orders = published_table(orders_staged)
        few_nulls = branch_audit(orders_staged, "few_nulls", lambda table: ...)

    Raises:
        DagsterInvalidDefinitionError: the staged asset has no ``paimon/wap``, or does not name its table.
    """
    spec = staged.get_asset_spec() if isinstance(staged, dg.AssetsDefinition) else staged
    table = staged_table(spec)

    def publish(context: dg.AssetExecutionContext, lakehouse: LakehouseCatalog) -> dg.MaterializeResult[Any]:
        own = wap_branch(context.run, context.instance)
        catalog = lakehouse.catalog()
        wrote = spec.key in context.job_def.asset_layer.selected_asset_keys
        branch = own if wrote else audited_branch(context, spec.key)
        if branch is None:
            message = f"{table}: {spec.key.to_user_string()} was never materialized to a branch; materialize it first"
            raise dg.Failure(description=message, allow_retries=False)
        try:
            publication = publish_branch(catalog, table, branch)
        except NotFoundError as error:
            description = f"{error}. It may be published already; materialize {spec.key.to_user_string()} again"
            raise dg.Failure(description=description, allow_retries=False) from error
        report = report_of(publication.table, publication.snapshots, plots=False, count_keys_up_to=0)
        latest = publication.table.latest_snapshot()
        return dg.MaterializeResult(
            metadata={**report.metadata, "paimon/published_branch": branch},
            data_version=None if latest is None else data_version(latest),
        )

    decorate: Callable[[Callable[..., Any]], dg.AssetsDefinition] = dg.asset(
        key=key or asset_key(table),
        deps=[dg.AssetDep(spec.key)],
        partitions_def=spec.partitions_def,
        metadata={**(metadata or {}), "paimon/table": table},
        **{"kinds": {"paimon"}, "description": f"{table} after its audits", **arguments},
    )
    return decorate(publish)


def staged_table(spec: dg.AssetSpec) -> str:
    """The table of an asset that writes to a branch of its run.

    Raises:
        DagsterInvalidDefinitionError: the asset does not, or does not name its table.
    """
    table = spec.metadata.get("paimon/table")
    if spec.metadata.get("paimon/wap") is not True or not isinstance(table, str):
        message = (
            f"{spec.key.to_user_string()} does not write to a branch that could be audited and published: its metadata "
            "need 'paimon/wap': True and the name of the table as 'paimon/table'"
        )
        raise dg.DagsterInvalidDefinitionError(message)
    return table
