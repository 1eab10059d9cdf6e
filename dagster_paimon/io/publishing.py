"""Write, audit, publish: the asset that publishes what another asset has written to a branch."""

# No postponed annotations here: Dagster inspects the types of the function's parameters.

from collections.abc import Callable, Mapping
from typing import Any, Final

import dagster as dg

from dagster_paimon.io.branches import AUDIT, AUDITED_STATE, audited_branch, on_branch, publish_branch, wap_branch
from dagster_paimon.reporting.metadata import data_version
from dagster_paimon.reporting.reports import report_of
from dagster_paimon.resources.lakehouse import LakehouseCatalog, asset_key
from dagster_paimon.tables.asset_keys import repository_of
from table_format import Snapshot, Table
from table_format.errors import ConflictError, NotFoundError

_LAST_EVALUATIONS: Final = 100
"""The number of recent evaluations of an audit in which to look for that of a branch."""


def published_table(
    staged: dg.AssetsDefinition | dg.AssetSpec,
    *,
    key: dg.AssetKey | None = None,
    metadata: Mapping[str, Any] | None = None,
    **arguments: Any,  # noqa: ANN401 - the arguments of dg.asset
) -> dg.AssetsDefinition:
    """Return the asset that publishes a table after its audits, for an asset with ``paimon/wap``.

    The staged asset writes to a branch of its run; its blocking checks (``branch_audit``) read the branch. After they
    pass, this asset fast-forwards the table to the branch and deletes the branch. If one fails, this asset does not
    run, readers of the table see no change, and the branch stays for inspection. A branch with a new snapshot since
    its audit, or without an audit, is refused. Assets that depend on this one read the table.

    ``key`` is its asset key, by default derived from the name of the table. Other ``arguments`` are those of
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
            audited = audited_snapshot(context, spec.key, lakehouse.table(on_branch(table, branch)), branch)
            publication = publish_branch(catalog, table, branch, expected=audited)
        except NotFoundError as error:
            description = f"{error}. It may already be published; materialize {spec.key.to_user_string()} again"
            raise dg.Failure(description=description, allow_retries=False) from error
        except ConflictError as error:
            # The branch begins before commits of others, also for a retry.
            raise dg.Failure(description=str(error), allow_retries=False) from error
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
    """Return the table of an asset that writes to a branch of its run.

    Raises:
        DagsterInvalidDefinitionError: the asset does not write to such a branch, or does not name its table.
    """
    table = spec.metadata.get("paimon/table")
    if spec.metadata.get("paimon/wap") is not True or not isinstance(table, str):
        message = (
            f"{spec.key.to_user_string()} does not write to a branch that can be audited and published: its "
            "metadata needs 'paimon/wap': True and the name of the table as 'paimon/table'"
        )
        raise dg.DagsterInvalidDefinitionError(message)
    return table


def audited_snapshot(
    context: dg.AssetExecutionContext, staged: dg.AssetKey, table: Table, branch: str
) -> Snapshot | None:
    """Return the latest snapshot of a branch, which has passed every audit of the staged asset.

    Raises:
        Failure: an audit has not checked this snapshot, or it failed; nothing was changed.
    """
    latest = table.latest_snapshot()
    if latest is None:
        return None
    for key in _audits(context, staged):
        evaluation = _evaluation_of(context.instance, key, data_version(latest).value)
        if evaluation is None:
            message = (
                f"{table.identifier}: the audit {key.name} has not checked snapshot {latest.id}, the latest of branch "
                f"'{branch}'; run the check, then publish"
            )
            raise dg.Failure(description=message, allow_retries=False)
        if not evaluation.passed and evaluation.severity is dg.AssetCheckSeverity.ERROR:
            message = f"{table.identifier}: the audit {key.name} has refused snapshot {latest.id}"
            raise dg.Failure(description=message, allow_retries=False)
    return latest


def _audits(context: dg.AssetExecutionContext, staged: dg.AssetKey) -> list[dg.AssetCheckKey]:
    """Return the audits of an asset. In a run without its code location, these are the checks that its job selects."""
    repository = repository_of(context)
    graph = context.job_def.asset_layer.asset_graph if repository is None else repository.asset_graph
    keys = graph.get_check_keys_for_assets({staged})
    return sorted((key for key in keys if AUDIT in graph.get_check_spec(key).metadata), key=str)


def _evaluation_of(instance: dg.DagsterInstance, audit: dg.AssetCheckKey, state: str) -> dg.AssetCheckEvaluation | None:
    """Return the last evaluation of an audit for this state. Other runs may have evaluated it since."""
    storage = instance.event_log_storage
    for record in storage.get_asset_check_execution_history(audit, limit=_LAST_EVALUATIONS):
        found = record.evaluation
        # The evaluation of a run that has not reached the audit is only planned.
        evaluated = found.metadata.get(AUDITED_STATE) if isinstance(found, dg.AssetCheckEvaluation) else None
        if evaluated is not None and evaluated.value == state:
            return found
    return None
