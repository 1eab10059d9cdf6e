"""Audits: blocking checks of the rows that a run has written to a branch, before they are published."""

# No postponed annotations here: Dagster inspects the types of the function's parameters.

from collections.abc import Callable
from typing import TypeAlias

import dagster as dg

from dagster_paimon.io.branches import AUDIT, AUDITED_STATE, audited_branch, existing_branch, on_branch
from dagster_paimon.io.publishing import staged_table
from dagster_paimon.reporting.metadata import data_version
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from table_format import Snapshot, Table

Evaluate: TypeAlias = Callable[[Table], bool | dg.AssetCheckResult]


def branch_audit(
    staged: dg.AssetsDefinition | dg.AssetSpec, name: str, evaluate: Evaluate, *, description: str | None = None
) -> dg.AssetChecksDefinition:
    """Return a blocking check of an asset with ``paimon/wap``. ``evaluate`` gets the branch as a table.

    It returns whether the rows may be published, as a bool or as a result with metadata. It reads the current latest
    snapshot, even if others commit to the branch, and only that snapshot can be published. The metadata of the check
    names the branch, because Dagster shows a failed check next to the last good state of the asset.

    Example::

        branch_audit(orders_staged, "not_empty", lambda table: table.scan().count() > 0)
    """
    spec = staged.get_asset_spec() if isinstance(staged, dg.AssetsDefinition) else staged
    table = staged_table(spec)

    @dg.asset_check(asset=spec.key, name=name, description=description, blocking=True, metadata={AUDIT: True})
    def check(context: dg.AssetCheckExecutionContext, lakehouse: LakehouseCatalog) -> dg.AssetCheckResult:
        branch = existing_branch(lakehouse.catalog(), table, audited_branch(context, spec.key))
        if branch is None:
            text = f"{table} has no branch to audit: it is already published, or the asset was never materialized"
            return dg.AssetCheckResult(passed=False, description=text)
        audited = lakehouse.table(on_branch(table, branch))
        latest = audited.latest_snapshot()
        found = evaluate(audited if latest is None else audited.copy({"scan.snapshot-id": str(latest.id)}))
        result = found if isinstance(found, dg.AssetCheckResult) else dg.AssetCheckResult(passed=bool(found))
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
                **({} if latest is None else _state(latest)),
            },
        )

    return check


def _state(snapshot: Snapshot) -> dict[str, dg.MetadataValue]:
    return {
        "paimon/snapshot_id": dg.MetadataValue.int(snapshot.id),
        AUDITED_STATE: dg.MetadataValue.text(data_version(snapshot).value),
    }
