"""Audits: blocking checks of what a run has written to a branch, before it is published."""

# Annotations are not postponed here: Dagster looks at the types of the function's parameters itself.

from collections.abc import Callable
from typing import TypeAlias

import dagster as dg

from dagster_paimon.io.branches import audited_branch, existing_branch, on_branch
from dagster_paimon.io.publishing import staged_table
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from table_format.table.table import Table

Judge: TypeAlias = Callable[[Table], bool | dg.AssetCheckResult]


def branch_audit(
    staged: dg.AssetsDefinition | dg.AssetSpec, name: str, judge: Judge, *, description: str | None = None
) -> dg.AssetChecksDefinition:
    """A blocking check of an asset with ``paimon/wap``: ``judge`` is given the branch as a table.

    It says whether the rows may be published, as a bool or as a result with metadata. The metadata of the check name
    the branch, because Dagster shows a failed check beside the last good state of the asset.

    Example::

        branch_audit(orders_staged, "not_empty", lambda table: table.scan().count() > 0)
    """
    spec = staged.get_asset_spec() if isinstance(staged, dg.AssetsDefinition) else staged
    table = staged_table(spec)

    @dg.asset_check(asset=spec.key, name=name, description=description, blocking=True)
    def check(context: dg.AssetCheckExecutionContext, lakehouse: LakehouseCatalog) -> dg.AssetCheckResult:
        branch = existing_branch(lakehouse.catalog(), table, audited_branch(context, spec.key))
        if branch is None:
            text = f"{table} has no branch to audit: it was published already, or the asset was never materialized"
            return dg.AssetCheckResult(passed=False, description=text)
        audited = lakehouse.table(on_branch(table, branch))
        found = judge(audited)
        result = found if isinstance(found, dg.AssetCheckResult) else dg.AssetCheckResult(passed=bool(found))
        latest = audited.latest_snapshot()
        told = (
            f"branch {branch} of {table}"
            if result.passed
            else f"{on_branch(table, branch)} was not published and stays for inspection"
        )
        return result._replace(
            description=result.description or told,
            metadata={
                **result.metadata,
                "paimon/branch": dg.MetadataValue.text(branch),
                **({} if latest is None else {"paimon/snapshot_id": dg.MetadataValue.int(latest.id)}),
            },
        )

    return check
