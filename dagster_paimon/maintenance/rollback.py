"""Rollback of a table to a snapshot, a tag, a time, or the state before a Dagster run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from pydantic import Field

from dagster_paimon.io.commits import RUN_ID_PROPERTY
from dagster_paimon.maintenance.config import DeletingConfig
from dagster_paimon.maintenance.expiry import deletes, tried, would
from dagster_paimon.maintenance.kinds import Maintenance, Outcome, Visit
from dagster_paimon.reporting.metadata import listed, markdown_lines
from table_format import RollbackPlan, Table
from table_format.errors import InvalidInputError


class RollbackConfig(DeletingConfig):
    """The tables, and the target: exactly one of snapshot, tag, time and run."""

    snapshot_id: int | None = Field(default=None, description="Roll back to this snapshot.")
    tag: str | None = Field(default=None, description="Roll back to the snapshot of this tag.")
    time: str | None = Field(
        default=None,
        description="Roll back to the last snapshot at or before this time, such as 2026-01-31 12:00 (UTC).",
    )
    before_run: str | None = Field(
        default=None, description="Roll back to the state before the commits of the Dagster run with this id."
    )
    including_others: bool = Field(default=False, description="With before_run: also undo later commits of others.")


def rollback_one(visit: Visit, config: RollbackConfig) -> Outcome:
    """Make an earlier snapshot of one table the latest, and delete later snapshots and tags."""
    table = visit.table()
    plan, latest = _allowed_plan(table, config), table.latest_snapshot()
    if not config.dry_run:
        # Use the tag if one is given, because only the tag may keep the snapshot.
        table.rollback_to(config.tag or plan.target.id)
    left = latest.id if latest else None
    verb = would(config.dry_run, "be rolled back", "was rolled back")
    head = ("| id | kind | by |", "|--:|:--|:--|")
    lines = (f"| {gone.id} | {gone.commit_kind} | {gone.commit_user} |" for gone in plan.removed)
    return Outcome(
        title=tried("rollback", config.dry_run),
        summary=f"{verb} from snapshot {left} to snapshot {plan.target.id}",
        metadata={
            "paimon/snapshot_id": plan.target.id,
            "rolled_back_from": left,
            "removed snapshots": markdown_lines(head, lines) if plan.removed else listed(()),
            "removed tags": listed(plan.tags),
            "snapshots of others": listed(str(snapshot.id) for snapshot in plan.others),
        },
        new_state=None if config.dry_run else plan.target,
        state_metadata={"rolled_back_from": left},
    )


def _plan(table: Table, config: RollbackConfig) -> RollbackPlan:
    if config.before_run is not None:
        return table.plan_rollback_before(properties={RUN_ID_PROPERTY: config.before_run})
    if config.time is not None:
        return table.plan_rollback_to_timestamp(_epoch_ms(config.time))
    if config.tag is not None:
        return table.plan_rollback(config.tag)
    assert config.snapshot_id is not None  # noqa: S101 - the configuration is checked
    return table.plan_rollback(config.snapshot_id)


def _epoch_ms(text: str) -> int:
    """Parse an ISO text to epoch milliseconds. It is in UTC unless it contains an offset.

    >>> _epoch_ms("1970-01-01 00:00:01"), _epoch_ms("1970-01-01T01:00:00+01:00")
    (1000, 0)
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        message = f"time '{text}': expected a date and time such as 2026-01-31 12:00:00"
        raise InvalidInputError(message) from None
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def _check(table: Table, config: RollbackConfig) -> None:
    targets = {name: getattr(config, name) for name in ("snapshot_id", "tag", "time", "before_run")}
    given = [name for name, value in targets.items() if value is not None]
    if len(given) != 1:
        found = ", ".join(given) or "none"
        message = f"a rollback needs exactly one of {', '.join(targets)}; found {found}"
        raise InvalidInputError(message)
    if config.including_others and config.before_run is None:
        message = f"including_others has no effect with {given[0]}, which undoes all later commits; remove it"
        raise InvalidInputError(message)
    _allowed_plan(table, config)


def _allowed_plan(table: Table, config: RollbackConfig) -> RollbackPlan:
    """Return the plan. It is made again when the run has its turn, because others may have committed since the check.

    Raises:
        InvalidInputError: the rollback would undo commits of others.
    """
    plan = _plan(table, config)
    if plan.others and not config.including_others and not config.dry_run:
        ids = ", ".join(str(snapshot.id) for snapshot in plan.others)
        message = (
            f"{table.identifier}: a rollback to snapshot {plan.target.id}, before run {config.before_run}, would also "
            f"undo later commits of others: snapshots {ids}; set including_others to undo them too"
        )
        raise InvalidInputError(message)
    return plan


def _is_not_of_run(table: Table, config: RollbackConfig) -> str | None:
    """Return why a rollback to before a run does not concern a table; ``None`` if it does."""
    run = config.before_run
    if run is None or any(snapshot.properties.get(RUN_ID_PROPERTY) == run for snapshot in table.snapshots()):
        return None
    return f"no retained snapshot is from run {run}"


ROLLBACK: Final = Maintenance(
    job="rollback_table",
    op="rollback",
    description="Roll back to a snapshot, a tag, a time, or the state before a run. A dry run unless dry_run is false.",
    config=RollbackConfig,
    work=rollback_one,
    check=_check,
    skips=_is_not_of_run,
    changes=deletes,
)
