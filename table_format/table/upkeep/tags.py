"""The methods of a table on its tags (Java ``AbstractFileStoreTable``, ``TagAutoManager``)."""

from __future__ import annotations

from collections.abc import Mapping

from table_format.errors import AlreadyExistsError, SnapshotNotFound
from table_format.metastore.expiry import expire_tags as tag_expiry
from table_format.metastore.expiry import tag_deletion
from table_format.metastore.history.automatic_tags import create_batch_tag, create_period_tags, is_automatic
from table_format.metastore.history.rollback import find_snapshot
from table_format.metastore.references.tag_store import TagStore
from table_format.model.arguments import flag
from table_format.model.snapshot import Snapshot
from table_format.model.tag import Tag
from table_format.options.declare import Operation
from table_format.table.facts import HasFacts, TableFacts, reporting_drops


def tags(table: HasFacts) -> Mapping[str, Tag]:
    """See ``Table.tags``."""
    return TagStore(table.facts.store).all()


@reporting_drops
def create_tag(
    table: HasFacts,
    name: str,
    snapshot_id: int | None = None,
    *,
    time_retained_ms: int | None = None,
    ignore_if_exists: bool = False,
) -> Tag:
    """See ``Table.create_tag``."""
    flag(ignore_if_exists, "ignore_if_exists")
    facts = table.current_facts
    facts.require(Operation.EXPIRE)
    stored = TagStore(facts.store)
    existing = stored.find(name)
    if existing is not None and not stored.is_being_deleted(name):
        if ignore_if_exists:
            return existing
        message = f"tag '{name}' of {facts.name} already exists; delete it or choose another name"
        raise AlreadyExistsError(message)
    snapshot = _snapshot(facts, name, snapshot_id)
    _refuse_second_period(facts, name, snapshot)
    retained_ms = facts.options.tags.default_time_retained_ms if time_retained_ms is None else time_retained_ms
    try:
        return stored.create(name, snapshot, time_retained_ms=retained_ms)
    except AlreadyExistsError:
        existing = stored.find(name) if ignore_if_exists else None
        if existing is None:
            raise
        return existing


@reporting_drops
def replace_tag(
    table: HasFacts, name: str, snapshot_id: int | None = None, *, time_retained_ms: int | None = None
) -> Tag:
    """See ``Table.replace_tag``."""
    facts = table.current_facts
    facts.require(Operation.EXPIRE)
    TagStore(facts.store).load(name)
    snapshot = _snapshot(facts, name, snapshot_id)
    _refuse_second_period(facts, name, snapshot, besides=name)
    return tag_deletion.replace_tag(facts.store, facts.options, name, snapshot, time_retained_ms=time_retained_ms)


@reporting_drops
def rename_tag(table: HasFacts, name: str, new_name: str) -> None:
    """See ``Table.rename_tag``."""
    facts = table.current_facts
    facts.require(Operation.EXPIRE)
    stored = TagStore(facts.store)
    _refuse_second_period(facts, new_name, stored.load(name).snapshot, besides=name)
    stored.rename(name, new_name)


@reporting_drops
def delete_tag(table: HasFacts, name: str) -> None:
    """See ``Table.delete_tag``."""
    facts = table.current_facts
    facts.require(Operation.EXPIRE)
    tag_deletion.delete_tag(facts.store, facts.options, name)


@reporting_drops
def create_automatic_tags(table: HasFacts) -> tuple[str, ...]:
    """See ``Table.create_automatic_tags``."""
    facts = table.current_facts
    facts.require(Operation.EXPIRE)
    batch = create_batch_tag(facts.store, facts.options)
    return create_period_tags(facts.store, facts.options) if batch is None else (batch,)


@reporting_drops
def expire_tags(table: HasFacts, *, older_than_ms: int | None = None, dry_run: bool = False) -> tuple[str, ...]:
    """See ``Table.expire_tags``."""
    flag(dry_run, "dry_run")
    facts = table.current_facts
    facts.require(Operation.EXPIRE)
    return tag_expiry.expire_tags(facts.store, facts.options, older_than_ms=older_than_ms, dry_run=dry_run)


def _snapshot(facts: TableFacts, name: str, snapshot_id: int | None) -> Snapshot:
    if snapshot_id is not None:
        return find_snapshot(facts.store, snapshot_id)
    latest = facts.snapshots.latest()
    if latest is None:
        message = f"tag '{name}' cannot be created: {facts.name} has no snapshot yet"
        raise SnapshotNotFound(message)
    return latest


def _refuse_second_period(facts: TableFacts, name: str, snapshot: Snapshot, *, besides: str | None = None) -> None:
    """Refuse a tag with which the commits of Java would fail: they expect one tag of a period on a snapshot."""
    if not is_automatic(name, facts.options.tags):
        return
    tags = (other for other in TagStore(facts.store).keeping(snapshot.id) if other != besides)
    made = [other for other in tags if is_automatic(other, facts.options.tags)]
    if made:
        message = (
            f"tag '{name}' would be the second tag of a period on snapshot {snapshot.id}, which has {', '.join(made)}; "
            "choose a name that is not a period"
        )
        raise AlreadyExistsError(message)
