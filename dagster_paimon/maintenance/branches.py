"""Branches: created from a tag, deleted, and published."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from dagster_paimon.io.branches import lost_by_publishing, shown_snapshot
from dagster_paimon.maintenance.config import DeletingConfig, TablesConfig
from dagster_paimon.maintenance.expiry import deletes, tried, would
from dagster_paimon.maintenance.kinds import Maintenance, Outcome, Visit
from dagster_paimon.maintenance.names import names_before_and_after, require_name
from dagster_paimon.reporting.metadata import listed
from table_format import Table
from table_format.errors import BranchNotFound, InvalidInputError, TagNotFound


class CreateBranchConfig(TablesConfig):
    """The tables, the branch and its first snapshot."""

    name: str = Field(description="The name of the branch.")
    tag: str | None = Field(
        default=None, description="The branch begins with the snapshot of this tag; by default it is empty."
    )


def create_branch_of_one(visit: Visit, config: CreateBranchConfig) -> Outcome:
    """Create a branch of one table."""
    table = visit.table()
    before = table.branches()
    table.create_branch(config.name, tag=config.tag)
    origin = f"with the snapshot of tag '{config.tag}'" if config.tag else "without rows"
    return Outcome(
        title="branch",
        summary=f"branch '{config.name}' begins {origin}",
        metadata=names_before_and_after("branches", before, table.branches()),
    )


def _check_create(table: Table, config: CreateBranchConfig) -> None:
    if config.tag is not None:
        require_name(table, "tag", "tags", config.tag, table.tags(), TagNotFound)


CREATE_BRANCH: Final = Maintenance(
    job="create_branch",
    op="branch",
    description="Create a branch, with the snapshot of a tag or empty.",
    config=CreateBranchConfig,
    work=create_branch_of_one,
    check=_check_create,
    measured=False,
)


class DeleteBranchConfig(DeletingConfig):
    """The tables and the branch."""

    name: str = Field(description="The name of the branch.")


def delete_branch_of_one(visit: Visit, config: DeleteBranchConfig) -> Outcome:
    """Delete a branch of one table and the files that only it needs."""
    table = visit.table()
    before = table.branches()
    if not config.dry_run:
        table.delete_branch(config.name)
    return Outcome(
        title=tried("branch deletion", config.dry_run),
        summary=f"branch '{config.name}' {would(config.dry_run, 'be deleted', 'was deleted')}",
        metadata=names_before_and_after("branches", before, table.branches()),
    )


def _require_branch(table: Table, config: DeleteBranchConfig | PublishBranchConfig) -> None:
    require_name(table, "branch", "branches", config.name, table.branches(), BranchNotFound)


class PublishBranchConfig(TablesConfig):
    """The tables and the branch."""

    name: str = Field(description="The name of the branch.")
    including_others: bool = Field(
        default=False, description="Publish even if the table has commits that are not in the branch; these are lost."
    )


def _check_publish(table: Table, config: PublishBranchConfig) -> None:
    _require_branch(table, config)
    lost = None if config.including_others else lost_by_publishing(table, config.name)
    if lost is not None:
        message = (
            f"{table.identifier}: the latest snapshot, {shown_snapshot(lost)}, is not in branch '{config.name}'; "
            "publishing would lose it; set including_others to lose it"
        )
        raise InvalidInputError(message)


def publish_branch_of_one(visit: Visit, config: PublishBranchConfig) -> Outcome:
    """Fast-forward one table to its branch."""
    table = visit.table()
    # Others may have committed while the run waited for its turn.
    _check_publish(table, config)
    report = table.fast_forward(config.name)
    latest = visit.table().latest_snapshot()
    return Outcome(
        title="publication of a branch",
        summary=f"branch '{config.name}' is published: snapshots {_span(report.snapshot_ids)}",
        metadata={
            "snapshots of the branch": listed(map(str, report.snapshot_ids)),
            "snapshots replaced": listed(map(str, report.removed_ids)),
            "tags of the branch": listed(report.tags),
        },
        new_state=latest,
        state_metadata={"published_from": config.name},
    )


def _span(ids: tuple[int, ...]) -> str:
    return "none" if not ids else str(ids[0]) if len(ids) == 1 else f"{ids[0]} to {ids[-1]}"


DELETE_BRANCH: Final = Maintenance(
    job="delete_branch",
    op="delete_branch_of_table",
    description="Delete a branch and the files that only it needs. A dry run unless dry_run is false.",
    config=DeleteBranchConfig,
    work=delete_branch_of_one,
    check=_require_branch,
    changes=deletes,
    measured=False,
)

PUBLISH_BRANCH: Final = Maintenance(
    job="publish_branch",
    op="publish",
    description="Publish a branch: fast-forward the table to it. Stop other writers first.",
    config=PublishBranchConfig,
    work=publish_branch_of_one,
    check=_check_publish,
)
