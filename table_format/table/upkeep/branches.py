"""The methods of a table on its branches and its history (Java ``AbstractFileStoreTable``)."""

from __future__ import annotations

from collections.abc import Mapping

from table_format.errors import InvalidInputError
from table_format.metastore.history import fast_forward as forwarding
from table_format.metastore.history import rollback_plan as plans
from table_format.metastore.history.branches import Branch, BranchStore, refuse_snapshot_without_tag
from table_format.metastore.history.fast_forward import FastForwardReport
from table_format.metastore.history.rollback import RollbackReport, find_snapshot, rollback
from table_format.metastore.history.rollback_plan import CommitMatch, RollbackPlan
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.arguments import flag, optional_text, texts_by_text, whole_number
from table_format.model.identifier import MAIN_BRANCH, check_name
from table_format.model.snapshot import Snapshot
from table_format.options.declare import Operation
from table_format.options.scan import FALLBACK_BRANCH
from table_format.table.facts import HasFacts, TableFacts, reporting_drops


def branches(table: HasFacts) -> Mapping[str, Branch]:
    """See ``Table.branches``."""
    return BranchStore(table.facts.store).all()


@reporting_drops
def create_branch(
    table: HasFacts,
    name: str,
    *,
    tag: str | None = None,
    snapshot_id: int | None = None,
    ignore_if_exists: bool = False,
) -> None:
    """See ``Table.create_branch``."""
    flag(ignore_if_exists, "ignore_if_exists")
    if snapshot_id is not None:
        raise refuse_snapshot_without_tag(name, whole_number(snapshot_id, "snapshot_id"))
    BranchStore(table.current_facts.store).create(name, tag=tag, ignore_if_exists=ignore_if_exists)


@reporting_drops
def delete_branch(table: HasFacts, name: str) -> None:
    """See ``Table.delete_branch``."""
    facts = table.current_facts
    facts.require(Operation.EXPIRE)
    _refuse_in_use(facts, name, "deleted")
    BranchStore(facts.store).delete(name, facts.options)


@reporting_drops
def rename_branch(table: HasFacts, name: str, new_name: str) -> None:
    """See ``Table.rename_branch``."""
    facts = table.current_facts
    _refuse_in_use(facts, name, "renamed")
    BranchStore(facts.store).rename(name, new_name)


@reporting_drops
def fast_forward(table: HasFacts, name: str, *, expected: Snapshot | None = None) -> FastForwardReport:
    """See ``Table.fast_forward``."""
    facts = table.current_facts
    facts.require(Operation.EXPIRE)
    return forwarding.fast_forward(facts.store, facts.options, name, expected=expected)


@reporting_drops
def rollback_to(table: HasFacts, target: int | str) -> RollbackReport:
    """See ``Table.rollback_to``."""
    facts = table.current_facts
    facts.require(Operation.EXPIRE)
    return rollback(facts.store, facts.options, _target(facts, target))


@reporting_drops
def rollback_to_timestamp(table: HasFacts, time_ms: int) -> RollbackReport:
    """See ``Table.rollback_to_timestamp``."""
    facts = table.current_facts
    facts.require(Operation.EXPIRE)
    return rollback(facts.store, facts.options, _at_time(facts, time_ms))


@reporting_drops
def rollback_before(
    table: HasFacts,
    *,
    commit_user: str | None = None,
    properties: Mapping[str, str] | None = None,
    including_others: bool = False,
) -> RollbackReport:
    """See ``Table.rollback_before``."""
    flag(including_others, "including_others")
    match = _match(commit_user, properties)
    facts = table.current_facts
    facts.require(Operation.EXPIRE)
    plan = plans.plan_rollback_before(facts.store, match)
    if not including_others:
        plan.require_no_others(match)
    return rollback(facts.store, facts.options, plan.target)


@reporting_drops
def plan_rollback(table: HasFacts, target: int | str) -> RollbackPlan:
    """See ``Table.plan_rollback``."""
    facts = table.current_facts
    return plans.plan_rollback(facts.store, _target(facts, target))


@reporting_drops
def plan_rollback_to_timestamp(table: HasFacts, time_ms: int) -> RollbackPlan:
    """See ``Table.plan_rollback_to_timestamp``."""
    facts = table.current_facts
    return plans.plan_rollback(facts.store, _at_time(facts, time_ms))


@reporting_drops
def plan_rollback_before(
    table: HasFacts, *, commit_user: str | None = None, properties: Mapping[str, str] | None = None
) -> RollbackPlan:
    """See ``Table.plan_rollback_before``."""
    return plans.plan_rollback_before(table.current_facts.store, _match(commit_user, properties))


def _match(commit_user: str | None, properties: Mapping[str, str] | None) -> CommitMatch:
    user = optional_text(commit_user, "commit_user")
    return CommitMatch(user, texts_by_text(properties, "properties"))


def _target(facts: TableFacts, target: int | str) -> Snapshot:
    if isinstance(target, str):
        return TagStore(facts.store).load(target).snapshot
    return find_snapshot(facts.store, target)


def _at_time(facts: TableFacts, time_ms: int) -> Snapshot:
    found = facts.snapshots.at_or_before(whole_number(time_ms, "time_ms"))
    return find_snapshot(facts.store, found.id)


def _refuse_in_use(facts: TableFacts, name: str, action: str) -> None:
    check_name(name, "branch")
    main = SchemaStore(BranchStore(facts.store).of(MAIN_BRANCH)).latest()
    if name in (FALLBACK_BRANCH.read(facts.options.raw), FALLBACK_BRANCH.read(main.options)):
        message = (
            f"branch '{name}' of {facts.name} cannot be {action} while '{FALLBACK_BRANCH.key}' names it; "
            "remove that option first"
        )
        raise InvalidInputError(message)
