"""Writing to a branch of a table, and publishing it: write, audit, publish.

A branch begins with the latest snapshot of the main branch. A run of an asset with ``paimon/wap`` writes to a branch
named after the run, so that checks see its rows before readers of the table do. Publishing fast-forwards the main
branch to the branch. It is refused if another process has committed to the main branch since the branch was created,
because that commit would be lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import dagster as dg

from dagster_paimon.io.commits import Run, Runs, runs_of_work
from table_format import Catalog, FormatTable, Identifier, Snapshot, SystemTable, Table
from table_format.engine import snapshot_of_branch
from table_format.engine.support import MAIN_BRANCH
from table_format.errors import BranchNotFound, ConflictError, InvalidInputError, TagNotFound

BRANCH_TAG: Final = "paimon/branch"
"""Run tag: all assets of the run, or of the runs of a backfill, write to this branch, and read it if it exists."""

BRANCH_METADATA: Final = "paimon/branch"
"""Metadata of a materialization: the branch it was written to."""

AUDIT: Final = "paimon/audit"
"""Metadata of a check that audits a branch before it is published."""

AUDITED_STATE: Final = "paimon/audited_state"
"""Metadata of the evaluation of an audit: the version of the data that was audited."""

_WAP: Final = "wap-"


def wap_branch(run: Run, runs: Runs) -> str:
    """Return the branch of a run that writes, audits and publishes. A run that continues a failed run uses its branch.

    Example: ``wap-3f2c…`` for the run ``3f2c…``.
    """
    return f"{_WAP}{runs_of_work(run, runs)[-1]}"


def branch_of(metadata: Mapping[str, Any], tags: Mapping[str, str]) -> str | None:
    """Return the branch that an asset continues in a run with these tags; ``None`` for the main branch.

    A run that writes, audits and publishes begins with the main branch.

    >>> branch_of({"paimon/branch": "dev"}, {"paimon/branch": "test"}), branch_of({}, {"paimon/branch": "test"})
    ('dev', 'test')
    """
    if metadata.get("paimon/wap") is True:
        return None
    named = metadata.get(BRANCH_METADATA)
    return tags.get(BRANCH_TAG) if named is None else str(named)


def on_branch(table: str, branch: str | None) -> str:
    """Return the name of a branch of a table.

    >>> on_branch("shop.orders", "dev"), on_branch("shop.orders", None)
    ('shop.orders$branch_dev', 'shop.orders')

    Raises:
        InvalidInputError: the name already has a branch.
        InvalidIdentifier: the name of the branch is not legal.
    """
    if branch is None or branch == MAIN_BRANCH:
        return table
    identifier = Identifier.parse(table)
    if identifier.branch != MAIN_BRANCH or identifier.system_table is not None:
        message = f"'{table}' with branch '{branch}': name the table itself in paimon/table"
        raise InvalidInputError(message)
    name = str(Identifier(identifier.database, identifier.table, branch))
    Identifier.parse(name)  # refuses an illegal branch
    return name


def ensure_branch(table: Table, branch: str) -> None:
    """Create a branch at the latest snapshot if it does not exist."""
    tag = f"begins-{branch}"
    if branch in table.branches():
        return
    with suppress(TagNotFound):  # left behind by an attempt that was killed
        table.delete_tag(tag)
    latest = table.latest_snapshot()
    if latest is None:
        table.create_branch(branch, ignore_if_exists=True)
        return
    table.create_tag(tag, snapshot_id=latest.id)
    try:
        table.create_branch(branch, tag=tag, ignore_if_exists=True)
    finally:
        table.delete_tag(tag)


def existing_branch(catalog: Catalog, table: str, branch: str | None) -> str | None:
    """Return the branch if it exists; otherwise ``None``, which means the main branch."""
    return branch if branch is not None and catalog.table_exists(on_branch(table, branch)) else None


def on_existing_branch(catalog: Catalog, table: str, branch: str | None) -> str:
    """Return the name of the branch if it exists; otherwise the given name, which may have a branch of its own."""
    if Identifier.parse(table).branch != MAIN_BRANCH:
        return table
    return on_branch(table, existing_branch(catalog, table, branch))


def audited_branch(
    context: dg.AssetExecutionContext | dg.AssetCheckExecutionContext, staged: dg.AssetKey
) -> str | None:
    """Return the branch for a check or publication of an asset: that of the last materialization of the asset.

    In the run that wrote the branch this is the branch of the run.
    """
    event = context.instance.get_latest_materialization_event(staged)
    if event is None or event.asset_materialization is None:
        return None
    value = event.asset_materialization.metadata.get(BRANCH_METADATA)
    return None if value is None else str(value.value)


@dataclass(frozen=True, slots=True)
class Publication:
    """The table after a branch was published; ``snapshots`` are those that the branch had beyond the main branch."""

    table: Table
    branch: str
    snapshots: tuple[Snapshot, ...]


def publish_branch(
    catalog: Catalog, name: str, branch: str, *, expected: Snapshot | None = None, delete: bool = True
) -> Publication:
    """Fast-forward the main branch to a branch, and delete the branch.

    A repeated call after a crash completes the first one. Other writers of the table must wait: give publishing and
    writing assets the same pool. ``expected`` is the audited snapshot of the branch.

    Raises:
        BranchNotFound: the branch does not exist or is empty.
        ConflictError: the main branch has snapshots that the branch does not begin with, or the latest snapshot of the
            branch is not the expected one; nothing was changed.
    """
    main, staged = _load(catalog, name), _load(catalog, on_branch(name, branch))
    written, latest = staged.snapshots(), main.latest_snapshot()
    if not written:
        message = f"{name}: branch '{branch}' has no snapshot, so there is nothing to publish"
        raise BranchNotFound(message)
    new = written if latest is None else tuple(s for s in written if s.id > latest.id)
    lost = lost_by_publishing(main, branch)
    if lost is not None:
        message = (
            f"{name}: the main branch has a snapshot, {shown_snapshot(lost)}, which branch '{branch}' does not have; "
            "publishing would lose it. Run the asset again to start a new branch; this one stays for inspection"
        )
        raise ConflictError(message)
    with suppress(TagNotFound):
        staged.delete_tag(f"begins-{branch}")
    if latest is None or new:
        main.fast_forward(branch, expected=expected)
    main = _load(catalog, name)
    if delete:
        main.delete_branch(branch)
    return Publication(main, branch, new)


def lost_by_publishing(table: Table, branch: str) -> Snapshot | None:
    """Return the latest snapshot of a table if its branch does not contain it; otherwise ``None``.

    Raises:
        BranchNotFound: the branch does not exist.
    """
    latest = table.latest_snapshot()
    if latest is None:
        return None
    there = snapshot_of_branch(table, branch, latest.id)
    return None if there is not None and there.is_same(latest) else latest


def shown_snapshot(snapshot: Snapshot) -> str:
    """Return the text of a snapshot in an error: its id and committer."""
    return f"{snapshot.id} by {snapshot.commit_user}"


def _load(catalog: Catalog, name: str) -> Table:
    table = catalog.load_any(name)
    if isinstance(table, FormatTable):
        message = f"'{name}' is a format table, which has no snapshots; read and write it with its own methods"
        raise InvalidInputError(message)
    if isinstance(table, SystemTable):
        message = f"'{name}' is a system table; name the table itself"
        raise InvalidInputError(message)
    return table


def branch_metadata(branch: str | None) -> dict[str, Any]:
    """Return the metadata of a materialization about its branch; nothing for the main branch."""
    return {} if branch is None else {BRANCH_METADATA: branch}
