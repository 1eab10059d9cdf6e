"""Branches: made from a tag, deleted, and published, so that the table becomes what the branch is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pydantic import Field

from dagster_paimon.maintenance.config import DeletingConfig, TablesConfig
from dagster_paimon.maintenance.expiry import deletes, tried, would
from dagster_paimon.maintenance.kinds import Maintenance, Outcome, Visit
from dagster_paimon.reporting.metadata import Metadata, listed
from table_format.errors import BranchNotFound, TagNotFound
from table_format.table.table import Table


class CreateBranchConfig(TablesConfig):
    """Which tables, which branch, and what it begins with."""

    name: str = Field(description="The name of the branch.")
    tag: str | None = Field(default=None, description="The branch begins with the snapshot of this tag; empty without.")


def create_branch_of_one(visit: Visit, config: CreateBranchConfig) -> Outcome:
    """Make a branch of one table."""
    table = visit.table()
    before = table.branches()
    table.create_branch(config.name, tag=config.tag)
    origin = f"with the snapshot of tag '{config.tag}'" if config.tag else "without rows"
    return Outcome(
        title="branch",
        summary=f"branch '{config.name}' begins {origin}",
        metadata=_branches_before_and_after(before, table.branches()),
    )


def _check_create(table: Table, config: CreateBranchConfig) -> None:
    tags = table.tags()
    if config.tag is not None and config.tag not in tags:
        message = f"{table.identifier} has no tag '{config.tag}'; its tags are {', '.join(sorted(tags)) or 'none'}"
        raise TagNotFound(message)


CREATE_BRANCH: Final = Maintenance(
    job="create_branch",
    op="branch",
    description="Make a branch, with the snapshot of a tag or empty.",
    config=CreateBranchConfig,
    work=create_branch_of_one,
    check=_check_create,
    measured=False,
)


class DeleteBranchConfig(DeletingConfig):
    """Which tables, and which branch."""

    name: str = Field(description="The name of the branch.")


def delete_branch_of_one(visit: Visit, config: DeleteBranchConfig) -> Outcome:
    """Remove a branch of one table and the files that only it needs."""
    table = visit.table()
    before = table.branches()
    if not config.dry_run:
        table.delete_branch(config.name)
    return Outcome(
        title=tried("branch deletion", config.dry_run),
        summary=f"branch '{config.name}' {would(config.dry_run, 'be deleted', 'was deleted')}",
        metadata=_branches_before_and_after(before, table.branches()),
    )


def _require_branch(table: Table, config: DeleteBranchConfig | PublishBranchConfig) -> None:
    branches = table.branches()
    if config.name not in branches:
        known = ", ".join(sorted(branches)) or "none"
        message = f"{table.identifier} has no branch '{config.name}'; its branches are {known}"
        raise BranchNotFound(message)


class PublishBranchConfig(TablesConfig):
    """Which tables, and which branch."""

    name: str = Field(description="The name of the branch.")


def publish_branch_of_one(visit: Visit, config: PublishBranchConfig) -> Outcome:
    """Let one table become what its branch is."""
    table = visit.table()
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


def _branches_before_and_after(before: Iterable[str], after: Iterable[str]) -> Metadata:
    return {"branches before": listed(sorted(before)), "branches after": listed(sorted(after))}


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
    description="Publish a branch: the table becomes what the branch is (fast-forward). Stop other writers before.",
    config=PublishBranchConfig,
    work=publish_branch_of_one,
    check=_require_branch,
)
