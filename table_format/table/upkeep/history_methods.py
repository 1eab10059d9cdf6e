"""The methods of a table for tags, branches, rollback and consumers. Functions of ``table.upkeep`` do the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

from table_format.metastore.history.branches import Branch
from table_format.metastore.history.fast_forward import FastForwardReport
from table_format.metastore.history.rollback import RollbackReport
from table_format.metastore.history.rollback_plan import RollbackPlan
from table_format.metastore.schema.table_identity import require_same_table
from table_format.model.snapshot import Snapshot
from table_format.model.tag import Tag
from table_format.table.facts import HasFacts
from table_format.table.upkeep import branches as branch_actions
from table_format.table.upkeep import consumers as consumer_actions
from table_format.table.upkeep import tags as tag_actions

_T = TypeVar("_T")


class HistoryMethods(HasFacts, Protocol):
    """The methods of a table for tags, branches, rollback and consumers."""

    def tags(self) -> Mapping[str, Tag]:
        """Return all tags by name.

        >>> tag = table.create_tag("january", snapshot_id=2)
        >>> list(table.tags())
        ['january']
        """
        return _of_existing(self, tag_actions.tags(self))

    def create_tag(
        self,
        name: str,
        snapshot_id: int | None = None,
        *,
        time_retained_ms: int | None = None,
        ignore_if_exists: bool = False,
    ) -> Tag:
        """Create a tag of a snapshot, by default the latest. The tag keeps the snapshot forever or for some time.

        Only another tag may still keep the snapshot. The default of ``time_retained_ms`` is the option
        ``tag.default-time-retained``.

        >>> table.create_tag("january", snapshot_id=2).snapshot.id
        2
        >>> table.scan(options={"scan.tag-name": "january"}).count()
        3

        Raises:
            AlreadyExistsError: the tag already exists.
            SnapshotNotFound: the snapshot does not exist.
        """
        return tag_actions.create_tag(
            self, name, snapshot_id, time_retained_ms=time_retained_ms, ignore_if_exists=ignore_if_exists
        )

    def replace_tag(self, name: str, snapshot_id: int | None = None, *, time_retained_ms: int | None = None) -> Tag:
        """Move a tag to another snapshot, by default the latest. Files that only the old snapshot needs are deleted.

        >>> tag = table.create_tag("newest", snapshot_id=1)
        >>> table.replace_tag("newest").snapshot.id
        2

        Raises:
            TagNotFound: the tag does not exist.
            SnapshotNotFound: the snapshot does not exist.
            AlreadyExistsError: the name is that of a period, and the snapshot has the tag of another one.
        """
        return tag_actions.replace_tag(self, name, snapshot_id, time_retained_ms=time_retained_ms)

    def rename_tag(self, name: str, new_name: str) -> None:
        """Rename a tag.

        >>> tag = table.create_tag("jan")
        >>> table.rename_tag("jan", "january")

        Raises:
            TagNotFound: the tag does not exist.
            AlreadyExistsError: a tag with the new name exists; or the name is that of a period, and the snapshot has
            the tag of another one.
        """
        tag_actions.rename_tag(self, name, new_name)

    def delete_tag(self, name: str) -> None:
        """Delete a tag and the files that only it needs.

        >>> tag = table.create_tag("january")
        >>> table.delete_tag("january")

        Raises:
            TagNotFound: the tag does not exist.
        """
        tag_actions.delete_tag(self, name)

    def create_automatic_tags(self) -> tuple[str, ...]:
        """Create the tags that are due by ``tag.automatic-creation``, as each commit does. Return their names.

        >>> table.create_automatic_tags()
        ()
        """
        return tag_actions.create_automatic_tags(self)

    def expire_tags(self, *, older_than_ms: int | None = None, dry_run: bool = False) -> tuple[str, ...]:
        """Delete expired tags, and tags created before ``older_than_ms`` (milliseconds since 1970). Return the names
        of the deleted tags; with ``dry_run``, of those that would be deleted.

        >>> tag = table.create_tag("for an hour", time_retained_ms=3_600_000)
        >>> table.expire_tags()
        ()
        """
        return tag_actions.expire_tags(self, older_than_ms=older_than_ms, dry_run=dry_run)

    def branches(self) -> Mapping[str, Branch]:
        """Return the branches except main, by name. Load ``<table>$branch_<name>`` to read and write a branch.

        >>> table.create_branch("trial")
        >>> list(table.branches())
        ['trial']
        """
        return _of_existing(self, branch_actions.branches(self))

    def create_branch(
        self, name: str, *, tag: str | None = None, snapshot_id: int | None = None, ignore_if_exists: bool = False
    ) -> None:
        """Create a branch, with the snapshot of a tag or without rows.

        >>> tag = table.create_tag("january")
        >>> table.create_branch("trial", tag="january")
        >>> catalog.load_table("shop.orders$branch_trial").scan().count()
        3

        Raises:
            AlreadyExistsError: the branch already exists.
            InvalidIdentifier: the name is not legal, or purely numeric.
            TagNotFound: the tag does not exist. UnsupportedFeature: ``snapshot_id`` is given; only a tag keeps the
            first snapshot of a branch.
        """
        branch_actions.create_branch(self, name, tag=tag, snapshot_id=snapshot_id, ignore_if_exists=ignore_if_exists)

    def delete_branch(self, name: str) -> None:
        """Delete a branch and the files that only it needs.

        >>> table.create_branch("trial")
        >>> table.delete_branch("trial")

        Raises:
            BranchNotFound: the branch does not exist.
            InvalidInputError: the branch is the fallback branch of the table.
        """
        branch_actions.delete_branch(self, name)

    def rename_branch(self, name: str, new_name: str) -> None:
        """Rename a branch.

        >>> table.create_branch("trial")
        >>> table.rename_branch("trial", "audit")

        Raises:
            BranchNotFound: the branch does not exist. AlreadyExistsError: a branch with the new name exists.
            InvalidInputError: the branch is the fallback branch of the table.
        """
        branch_actions.rename_branch(self, name, new_name)

    def fast_forward(self, name: str, *, expected: Snapshot | None = None) -> FastForwardReport:
        """Replace the history of the table, from the first snapshot of a branch on, by the branch's snapshots, tags
        and schemas. Stop other writers first, and load the table again afterwards.

        ``expected`` is the required latest snapshot of the branch, such as one that was audited.

        >>> tag = table.create_tag("january")
        >>> table.create_branch("trial", tag="january")
        >>> branch = catalog.load_table("shop.orders$branch_trial")
        >>> [snapshot.id for snapshot in branch.truncate()]
        [3]
        >>> table.fast_forward("trial").snapshot_ids
        (2, 3)

        Raises:
            BranchNotFound: the branch does not exist.
            SnapshotNotFound: the branch has no snapshot.
            ConflictError: the latest snapshot of the branch is not the expected one; nothing was changed.
        """
        return branch_actions.fast_forward(self, name, expected=expected)

    def rollback_to(self, target: int | str) -> RollbackReport:
        """Make a snapshot, given by its id or a tag, the latest. Later snapshots and tags are deleted. Stop other
        writers first.

        >>> table.rollback_to(1).snapshot.id
        1

        Raises:
            SnapshotNotFound: the snapshot is neither retained nor kept by a tag. TagNotFound: the tag does not exist.
        """
        return branch_actions.rollback_to(self, target)

    def rollback_to_timestamp(self, time_ms: int) -> RollbackReport:
        """Make the last snapshot at or before a time (milliseconds since 1970) the latest; see ``rollback_to``.

        >>> table.rollback_to_timestamp(table.snapshots()[0].time_millis).snapshot.id
        1

        Raises:
            SnapshotNotFound: no retained snapshot is that old.
        """
        return branch_actions.rollback_to_timestamp(self, time_ms)

    def rollback_before(
        self,
        *,
        commit_user: str | None = None,
        properties: Mapping[str, str] | None = None,
        including_others: bool = False,
    ) -> RollbackReport:
        """Undo the commits of a job: make the snapshot before its first retained commit the latest; see
        ``rollback_to``.

        The commits are selected by user, by properties (all must match), or both. This would also undo later commits
        of others; it is refused unless ``including_others`` is set. Compactions and ANALYZE change no rows and are
        ignored.

        >>> [snapshot] = table.append(table.scan().to_arrow(), commit_user="job-7", identifier=1)
        >>> table.rollback_before(commit_user="job-7").snapshot.id
        2

        Raises:
            ConflictError: others have changed rows since; the message names their snapshots. Nothing was changed.
            SnapshotNotFound: no retained snapshot matches, or the table had no snapshot before.
            SnapshotExpired: the snapshot before has expired, and no tag keeps it.
        """
        return branch_actions.rollback_before(
            self, commit_user=commit_user, properties=properties, including_others=including_others
        )

    def plan_rollback(self, target: int | str) -> RollbackPlan:
        """Return what ``rollback_to`` would remove. Raises the same errors.

        >>> [snapshot.id for snapshot in table.plan_rollback(1).removed]
        [2]
        """
        return branch_actions.plan_rollback(self, target)

    def plan_rollback_to_timestamp(self, time_ms: int) -> RollbackPlan:
        """Return what ``rollback_to_timestamp`` would remove. Raises the same errors.

        >>> table.plan_rollback_to_timestamp(table.snapshots()[0].time_millis).target.id
        1
        """
        return branch_actions.plan_rollback_to_timestamp(self, time_ms)

    def plan_rollback_before(
        self, *, commit_user: str | None = None, properties: Mapping[str, str] | None = None
    ) -> RollbackPlan:
        """Return what ``rollback_before`` would remove, and which snapshots are those of others. Raises the same
        errors except ``ConflictError``.

        >>> [snapshot] = table.append(table.scan().to_arrow(), commit_user="job-7", identifier=1)
        >>> table.plan_rollback_before(commit_user="job-7").target.id
        2
        """
        return branch_actions.plan_rollback_before(self, commit_user=commit_user, properties=properties)

    def consumers(self) -> Mapping[str, int]:
        """Return the snapshot that each consumer reads next, by name. This and later snapshots do not expire.

        >>> table.reset_consumer("report", 2)
        >>> table.consumers()["report"]
        2
        """
        return _of_existing(self, consumer_actions.consumers(self))

    def reset_consumer(self, name: str, next_snapshot_id: int) -> None:
        """Set the next snapshot of a consumer. Create the consumer if it does not exist.

        >>> table.reset_consumer("report", 1)

        Raises:
            InvalidInputError: the name or the id is not legal.
        """
        consumer_actions.reset_consumer(self, name, next_snapshot_id)

    def delete_consumer(self, name: str) -> None:
        """Delete a consumer; do nothing if it does not exist.

        >>> table.reset_consumer("report", 1)
        >>> table.delete_consumer("report")
        """
        consumer_actions.delete_consumer(self, name)


def _of_existing(table: HasFacts, found: Mapping[str, _T]) -> Mapping[str, _T]:
    """Return what was found; if the table was dropped meanwhile, it may be a part."""
    require_same_table(table.facts.store)
    return found
