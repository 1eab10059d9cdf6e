"""The second phase of a write: commits the messages of writers.

After a commit, unless the table is ``write-only``, old snapshots are expired by the table options, as in the
reference. A failed expiry never makes the commit fail.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Protocol

from table_format.errors import (
    ConflictError,
    InvalidInputError,
    OutcomeUnknownError,
    TableFormatError,
    TableNotFound,
    TableReplaced,
    UnsupportedFeature,
)
from table_format.io.uncommitted_files import DeletingOnFailure
from table_format.metastore.commit.commit_job import CommitCheck
from table_format.metastore.commit.publications import REMEMBERED
from table_format.metastore.expiry.expire_changelogs import expire_changelogs
from table_format.metastore.expiry.expire_snapshots import expire_snapshots
from table_format.metastore.expiry.expire_tags import expire_tags
from table_format.metastore.expiry.orphans import reached_names
from table_format.metastore.history.automatic_tags import create_batch_tag, create_period_tags
from table_format.metastore.manifest.partitions import PartitionChoice, PartitionSpec
from table_format.metastore.references.consumers import expire_consumers
from table_format.model import arguments
from table_format.model.commit import CommitMessage, Committable
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot
from table_format.options.bucket_mode import CrossPartition
from table_format.options.check_secrets import refuse_secret_properties
from table_format.table.facts import TableFacts
from table_format.table.write.message_folding import Folded, delete_left_over, fold
from table_format.table.write.rebase import committed_on_latest
from table_format.table.write.written_files import require_written

_log = logging.getLogger(__name__)

_REMEMBERED_CALLS: Final = REMEMBERED // 2
"""Commits whose file names are remembered. Each creates at most two snapshots."""


class Abandoning(Protocol):
    """A commit that can delete the files of messages after an error: ``BatchCommit``, ``TableCommit``."""

    def abandon(self, messages: Iterable[CommitMessage]) -> None:
        """Delete the files that are certainly not committed. Raise no error."""
        ...


def aborting_on_failure(commit: Abandoning, messages: Iterable[CommitMessage]) -> DeletingOnFailure:
    """Delete the files of these messages if the block that creates and commits them fails or is interrupted.

    The sequence of messages may still grow. Files that ``commit`` has published stay, and so do all files if the
    outcome is unknown.
    """
    return DeletingOnFailure(lambda: commit.abandon(messages), unless=(OutcomeUnknownError,))


@dataclass(frozen=True, slots=True)
class CommitArguments:
    """The arguments of a commit besides its rows: 64-bit integers, and properties as texts."""

    identifier: int | None
    watermark: int | None
    properties: Mapping[str, str]

    @classmethod
    def of(
        cls, identifier: int | None, watermark: int | None = None, properties: Mapping[str, str] | None = None
    ) -> CommitArguments:
        """Check the arguments before anything is written.

        Raises:
            InvalidInputError: names the argument, what is expected and what was found.
        """
        texts = arguments.texts_by_text(properties, "properties")
        refuse_secret_properties(texts)
        return cls(
            arguments.optional_whole_number(identifier, "identifier"),
            arguments.optional_whole_number(watermark, "watermark"),
            texts,
        )

    def committable(self, identifier: int, messages: Sequence[CommitMessage]) -> Committable:
        """The messages with the arguments of their commit."""
        return Committable(
            identifier=identifier, messages=tuple(messages), watermark=self.watermark, properties=self.properties
        )


class BatchCommit:
    """Commits of one user. An identifier of a user is committed only once, even if ``commit`` is called again."""

    def __init__(self, facts: TableFacts, commit_user: str | None = None) -> None:
        self._facts = facts
        self.commit_user = fresh_user(facts) if commit_user is None else arguments.commit_user(commit_user)
        self._may_commit_once = commit_user is None
        self._committer = facts.committer(self.commit_user)
        self._handed: deque[frozenset[str]] = deque(maxlen=_REMEMBERED_CALLS)

    def commit(
        self,
        messages: Iterable[CommitMessage],
        *,
        identifier: int | None = None,
        watermark: int | None = None,
        properties: Mapping[str, str] | None = None,
        operation: str | None = None,
        check: CommitCheck | None = None,
    ) -> tuple[Snapshot, ...]:
        """Commit messages, which makes their work visible. Return the new snapshots; none if there is nothing to
        commit or the identifier is already committed.

        Messages of one bucket must be in the order in which they were written. The identifiers of a user must
        increase; only a new user, who commits once, needs none. If another commit has changed a bucket in the
        meantime, its compaction is dropped with a warning: the rows stay the same, and the next compaction takes
        them. ``operation`` is recorded in the snapshot: the kind of a statement whose rows depend on earlier ones.
        ``check`` is called with the latest snapshot before each attempt to publish, and raises a ``ConflictError`` if
        the messages no longer fit it.

        Raises:
            RowsChanged: a statement changed one of the keys after these rows were written, so they could have no
                effect; write them again.
            ConflictError: another commit made this one impossible, or the files of the messages no longer exist.
                Nothing was committed; ``abort`` deletes the files.
            CommitOutcomeUnknown: the commit may have succeeded; check ``is_committed``.
        """
        given = CommitArguments.of(identifier, watermark, properties)
        number = self._number(given.identifier)
        listed = tuple(messages)
        if identifier is not None and self.is_committed(number):
            return ()
        folded = fold(listed)
        self._note(number, listed, folded)
        dropped: list[ConflictError] = []

        def drop(partition: bytes, bucket: int, reason: ConflictError) -> None:
            where = self._facts.partitions.shown(partition)
            _log.warning("%s: the compaction of %s, bucket %s was dropped: %s", self._facts.name, where, bucket, reason)
            dropped.append(reason)

        def publish(work: Sequence[CommitMessage]) -> tuple[Snapshot, ...]:
            committable = replace(given.committable(number, work), operation=operation)
            return self._committer.commit(committable, on_drop=drop, check=check)

        snapshots = committed_on_latest(self._facts, folded.messages, publish)
        if dropped and not snapshots:
            raise dropped[0]
        self._after(folded, snapshots)
        return snapshots

    def overwrite(
        self,
        messages: Iterable[CommitMessage],
        *,
        partition: PartitionSpec | Sequence[PartitionSpec] | PartitionChoice | None = None,
        identifier: int | None = None,
        watermark: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> tuple[Snapshot, ...]:
        """Replace rows by those of the messages: in the partitions with the values of ``partition``, or in those that
        the function ``partition`` selects. Without it, ``dynamic-partition-overwrite`` decides: in the partitions of
        the new rows, or in the whole table.

        Raises:
            InvalidInputError: a new file is outside of ``partition``.
            UnsupportedFeature: the table is a cross-partition table, and not all of it is replaced.
            ConflictError, CommitOutcomeUnknown: as for ``commit``.
        """
        self._facts.require_changeable()
        given = CommitArguments.of(identifier, watermark, properties)
        if partition is not None and not isinstance(partition, Mapping) and not callable(partition):
            partition = [dict(spec) for spec in arguments.mappings(partition, "partition")]
        refuse_partial_overwrite(self._facts, partition)
        number = self._number(given.identifier)
        listed = tuple(messages)
        if identifier is not None and self.is_committed(number):
            return ()
        folded = fold(listed)
        self._note(number, listed, folded)
        committable = given.committable(number, folded.messages)
        snapshots = self._committer.overwrite(committable, partition=partition)
        self._after(folded, snapshots)
        return snapshots

    def is_committed(self, identifier: int) -> bool:
        """Return whether a retained snapshot shows that this user has committed the identifier or a later one."""
        return not self.filter_committed((identifier,))

    def filter_committed(self, identifiers: Iterable[int], *, since: int | None = None) -> tuple[int, ...]:
        """Return the identifiers that this user has not committed yet, ascending; see
        ``TableCommit.filter_committed``.
        """
        asked = arguments.whole_numbers(identifiers, "identifiers")
        return self._committer.filter_committed(asked, since=arguments.optional_whole_number(since, "since"))

    def abort(self, messages: Iterable[CommitMessage]) -> None:
        """Delete the files of messages that are certainly not committed.

        After an interrupt, the store is checked for the outcome of the commit. Files that the table names stay.

        Raises:
            CommitOutcomeUnknown: a commit with an unknown outcome may hold them; nothing was deleted.
            CorruptionError, ConflictError, OSError: the files of the table cannot be determined; nothing was deleted.
        """
        # Another object may have committed them, also if this one was refused to.
        self._abort(tuple(messages), but_for=())

    def abandon(self, messages: Iterable[CommitMessage]) -> None:
        """Delete the files of the caller's own messages after an error or an interrupt of the work.

        Files that may be committed stay, and nothing is raised. Only this object may have committed the messages.
        """
        # The caller needs the first error; remaining files are orphans at worst.
        with suppress(TableFormatError, OSError):
            self._abort(tuple(messages), but_for=self._handed)

    def _abort(self, messages: Sequence[CommitMessage], *, but_for: Iterable[frozenset[str]]) -> None:
        """Delete files that the table does not name; of those ``but_for``, only the committer knows whether it does."""
        self._committer.refuse_unknown()  # first, because such a snapshot may be unreadable
        asked = _file_names(messages).difference(*but_for)
        try:
            named = reached_names(self._facts.store, self._facts.options, asked) if asked else frozenset[str]()
        except (TableNotFound, TableReplaced):
            named = _names_outside(messages)  # if the table was renamed, it may name them
        self._committer.abort(messages, named=named)

    def _note(self, number: int, messages: Sequence[CommitMessage], folded: Folded) -> None:
        """Remember messages that are about to be committed.

        Raises:
            ConflictError: this commit was not requested before, and files of the messages do not exist.
        """
        if not self._committer.has_requested(number, folded.messages):
            require_written(self._facts, folded.messages)
        self._handed.append(_file_names(messages))

    def _number(self, identifier: int | None) -> int:
        if identifier is not None:
            return identifier
        if not self._may_commit_once:
            message = (
                f"commit user '{self.commit_user}' needs an identifier for each commit, larger than the last: "
                "without one, a second commit looks like a repetition of the first"
            )
            raise InvalidInputError(message)
        return BATCH_COMMIT_IDENTIFIER

    def _after(self, folded: Folded, snapshots: tuple[Snapshot, ...]) -> None:
        delete_left_over(self._facts, folded)
        if snapshots:
            expire_after_commit(self._facts)
            tag_after_batch(self._facts)
        # Last: a caller that is interrupted before can pass the same messages again, and they are committed once.
        self._may_commit_once = False


def refuse_partial_overwrite(
    facts: TableFacts, partition: PartitionSpec | Sequence[PartitionSpec] | PartitionChoice | None = None
) -> None:
    """Refuse to replace only some partitions of a cross-partition table.

    Raises:
        UnsupportedFeature: says how to replace the whole table.
    """
    is_whole = not partition and not facts.options.commit.dynamic_partition_overwrite
    if isinstance(facts.bucket_mode, CrossPartition) and not is_whole:
        feature = "overwrite of partitions with cross-partition update"
        message = (
            f"table {facts.name}: the primary key lacks partition columns, and its keys may be in partitions that "
            "are not replaced; drop the partitions and append, or replace the whole table with "
            "'dynamic-partition-overwrite' = 'false' and no partition"
        )
        raise UnsupportedFeature(feature, message)


def fresh_user(facts: TableFacts) -> str:
    """Return a new, unique commit user."""
    fresh = facts.store.runtime.ids.uuid()
    prefix = facts.options.commit.user_prefix
    return fresh if prefix is None else f"{prefix}_{fresh}"


def expire_after_commit(facts: TableFacts) -> None:
    """Create the tags that are due, and expire tags, consumers and snapshots, by the table options.

    A failure is only logged: the rows are committed, and the next commit catches up.
    """
    if facts.options.compaction.write_only:
        return
    for what, work in _UPKEEP:
        _attempt(facts, what, work)


def tag_after_batch(facts: TableFacts) -> None:
    """Move the tag of the day to the latest snapshot, if the options request it; a failure is logged."""
    _attempt(facts, "the tag of the batch could not be created", lambda f: create_batch_tag(f.store, f.options))


def _expire_tags(facts: TableFacts) -> None:
    if facts.options.tags.time_expire_enabled:
        expire_tags(facts.store, facts.options)


def _expire_consumers(facts: TableFacts) -> None:
    retained_ms = facts.options.expire.consumer_retained_ms
    if retained_ms is not None:
        expire_consumers(facts.store, retained_ms=retained_ms)


def _expire_changelogs(facts: TableFacts) -> None:
    if facts.options.expire.is_changelog_decoupled:
        expire_changelogs(facts.store, facts.options, snapshots=facts.snapshots, manifests=facts.manifests)


_UPKEEP: Final[tuple[tuple[str, Callable[[TableFacts], object]], ...]] = (
    ("tags by period could not be created", lambda f: create_period_tags(f.store, f.options)),
    ("tags could not be expired", _expire_tags),
    ("consumers could not be expired", _expire_consumers),
    (
        "snapshots could not be expired",
        lambda f: expire_snapshots(f.store, f.options, snapshots=f.snapshots, manifests=f.manifests),
    ),
    ("changelogs could not be expired", _expire_changelogs),
)
"""Expire in the order of the reference, so that snapshots of expired consumers and tags can expire in the same step."""


def _attempt(facts: TableFacts, what: str, work: Callable[[TableFacts], object]) -> None:
    try:
        work(facts)
    except (TableFormatError, OSError):
        _log.warning("%s: %s after a commit", facts.name, what, exc_info=True)


def _names_outside(messages: Iterable[CommitMessage]) -> frozenset[str]:
    """Return the names of the new files of messages that are outside the directory of the table."""
    new = (
        f for m in messages for f in (*m.new_files, *m.changelog_files, *m.compact_after, *m.compact_changelog_files)
    )
    return frozenset(name for f in new if f.external_path is not None for name in (f.file_name, *f.extra_files))


def _file_names(messages: Iterable[CommitMessage]) -> frozenset[str]:
    """Return the names of the files that messages would add to the table."""
    return frozenset(
        name
        for m in messages
        for name in (
            *(f.file_name for f in (*m.new_files, *m.changelog_files, *m.compact_after, *m.compact_changelog_files)),
            *(f.file_name for f in (*m.new_index_files, *m.compact_new_index_files)),
        )
    )
