"""The states that can expire: snapshots of a branch, and long-lived changelogs that outlive them.

Both expire oldest first, in the same steps (``expire``). This module contains the differences: which ids may expire,
which files are deleted with them, and how the deletion is announced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from table_format.metastore.expiry.branch_needs import needs_of_changelogs, needs_of_other_branches
from table_format.metastore.expiry.expiry_outcome import ExpiryOutcome
from table_format.metastore.expiry.file_deletions import FileDeletions, NeededFiles
from table_format.metastore.expiry.removal import Removal
from table_format.metastore.expiry.retention import ExpiryRange, Retention, changelog_range, expiry_range
from table_format.metastore.expiry.table_history import TableHistory
from table_format.metastore.references.change_source import keeps_deltas
from table_format.metastore.references.snapshot_files import (
    as_changelog,
    is_change,
    without_changelog,
)
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.metastore.snapshot.changelog_store import KeptChanges
from table_format.model.manifest import ManifestEntry
from table_format.model.snapshot import Snapshot


class Expirable(Protocol):
    """The states of a history that an expiry can remove."""

    @property
    def history(self) -> TableHistory:
        """The history to which the states belong."""
        ...

    @property
    def is_announced(self) -> bool:
        """Whether a notice must announce the deletion, because others rely on the states."""
        ...

    def choose(self, rules: Retention) -> ExpiryRange | None:
        """Return the ids that may expire; ``None`` if there are no states."""
        ...

    def removal(self, chosen: ExpiryRange) -> Removal:
        """Return what the expiry of these ids removes. Raises ``CorruptionError`` if a state cannot be read."""
        ...

    def other_needs(self) -> NeededFiles:
        """Return the needs of other branches and of changelogs. Raises ``CorruptionError`` if they cannot be read."""
        ...

    def delete(self, plan: ExpiryOutcome) -> None:
        """Delete files and states, in order. Raises ``OSError``."""
        ...

    def state_files(self, ids: Iterable[int]) -> FileDeletions:
        """Return the files of the states themselves, such as the snapshot files."""
        ...

    def write_hints(self, earliest_id: int) -> None:
        """Write the earliest remaining id to the hint. Raises ``OSError``."""
        ...

    def is_overtaken(self, chosen: ExpiryRange) -> bool:
        """Return whether files may be missing because another expiry, or the deletion of a tag, is running."""
        ...


@dataclass(frozen=True, slots=True)
class ExpirableSnapshots:
    """The retained snapshots. If changes outlive snapshots, an expiring snapshot becomes a long-lived changelog."""

    history: TableHistory

    @property
    def is_announced(self) -> bool:
        """Always true: tags and readers rely on snapshots."""
        return True

    @property
    def kept_changes(self) -> KeptChanges:
        """The part of a snapshot that is kept as a long-lived changelog."""
        return KeptChanges.by(self.history.options)

    def choose(self, rules: Retention) -> ExpiryRange | None:
        """Choose the ids from hints, and check them with the listing before anything is deleted."""
        h = self.history
        earliest, latest = h.snapshots.earliest_id(), h.snapshots.latest_id()
        if earliest is None or latest is None:
            return None
        expire = h.options.expire
        ignores_consumers = expire.consumers_keep_changelogs_only and expire.is_changelog_decoupled
        needed = None if ignores_consumers else h.first_needed()
        time_of = _times(h.snapshots.find)
        chosen = expiry_range(rules, earliest=earliest, latest=latest, time_of=time_of, first_needed=needed)
        run = h.snapshots.ids() if chosen.ids else ()
        if not run or run[0] <= chosen.begin:
            return chosen
        # The hint names a snapshot below a gap in the ids.
        return expiry_range(rules, earliest=run[0], latest=latest, time_of=time_of, first_needed=needed)

    def removal(self, chosen: ExpiryRange) -> Removal:
        """Include changelog files, unless a long-lived changelog keeps them."""
        end = self.history.snapshots.load(chosen.end)
        states = [s for s in map(self.history.snapshots.find, chosen.ids) if s is not None]
        kept = self._kept_changes_of(states)
        return Removal(
            states=states,
            deltas=(*states[1:], end),
            delta_ids=range(chosen.begin + 1, chosen.end + 1),
            takes=_is_no_change if kept is KeptChanges.DELTAS else _is_any,
            with_changelog_files=kept is KeptChanges.NOTHING,
            cut=lambda snapshot: _without_kept(snapshot, kept),
            first_retained=end,
            last_delta=end,
        )

    def _kept_changes_of(self, states: Sequence[Snapshot]) -> KeptChanges:
        """Include what commits wrote as long as changes from before the ``changelog-producer`` need it."""
        h, kept = self.history, self.kept_changes
        if kept is not KeptChanges.FILES:
            return kept
        return KeptChanges.DELTAS if keeps_deltas(SchemaStore(h.store), (*h.changelogs.all(), *states)) else kept

    def other_needs(self) -> NeededFiles:
        """Include long-lived changelogs if no new ones are created: they stay until they expire."""
        h = self.history
        needs = needs_of_other_branches(h.store, h.manifests)
        if self.kept_changes is KeptChanges.NOTHING and h.changelogs.ids():
            own = needs_of_changelogs(h.store, h.manifests)
            needs.metadata.add(own.metadata)
            return NeededFiles(needs.metadata, needs.files | own.files)
        return needs

    def delete(self, plan: ExpiryOutcome) -> None:
        """Delete files and snapshots. If changes are kept, create the changelog of each snapshot just before."""
        h = self.history
        if self.kept_changes is KeptChanges.NOTHING:
            plan.deletions.apply(h.store, h.options.expire.delete_threads)
            return
        replace(plan.deletions, snapshots=()).apply(h.store, h.options.expire.delete_threads)
        for snapshot_id in plan.ids:
            # One by one, as in the reference, so that a reader of changes finds each in one of the two places.
            h.changelogs.keep(snapshot_id)
            h.snapshots.delete(snapshot_id)

    def state_files(self, ids: Iterable[int]) -> FileDeletions:
        """Return the snapshot files."""
        return FileDeletions(snapshots=tuple(map(self.history.store.paths.snapshot, ids)))

    def write_hints(self, earliest_id: int) -> None:
        """Write the hint, and withdraw the notices of crashed expiries."""
        self.history.snapshots.record_earliest(earliest_id)

    def is_overtaken(self, chosen: ExpiryRange) -> bool:
        """Check for the notice of another expiry, or for a changed range if its notice is already deleted."""
        exists = self.history.snapshots.exists
        return self.history.is_overtaken(chosen.begin) or not all(map(exists, (chosen.begin, chosen.end)))


@dataclass(frozen=True, slots=True)
class ExpirableChangelogs:
    """The long-lived changelogs. With ``everything``, all of them expire, regardless of the rules."""

    history: TableHistory
    everything: bool = False

    @property
    def is_announced(self) -> bool:
        """Always false: no tag relies on a long-lived changelog."""
        return False

    def choose(self, rules: Retention) -> ExpiryRange | None:
        """Count commits from the latest snapshot; as in the reference, the last changelog stays."""
        h = self.history
        if self.everything:
            ids = h.changelogs.ids()
            return ExpiryRange(ids[0], ids[-1] + 1, "") if ids else None
        latest, ids = h.snapshots.latest_id(), h.changelogs.ids()
        if latest is None or not ids:
            return None
        return changelog_range(
            rules,
            earliest=ids[0],
            last=ids[-1],
            latest=latest,
            time_of=_times(h.changelogs.find),
            first_needed=h.first_needed(),
        )

    def removal(self, chosen: ExpiryRange) -> Removal:
        """Include the removed files that commits wrote. Files of compactions were deleted with the snapshots."""
        h = self.history
        first = h.snapshots.load(next(iter(h.snapshots.ids()), chosen.end))
        states = [c for c in map(h.changelogs.find, chosen.ids) if c is not None]
        # A manifest that a changelog shares with later ones is also named by the next one, or by the earliest snapshot.
        following = next((i for i in h.changelogs.ids() if i >= chosen.end), chosen.end)
        retained = (h.changelogs.find(following), h.snapshots.find(h.snapshots.earliest_id() or following))
        return Removal(
            states=states,
            deltas=states,
            delta_ids=range(chosen.begin, chosen.end),
            takes=is_change,
            with_changelog_files=True,
            cut=as_changelog,
            first_retained=first,
            last_delta=states[-1] if states else first,
            also_retained=[as_changelog(state) for state in retained if state is not None],
        )

    def other_needs(self) -> NeededFiles:
        """Return the needs of other branches."""
        return needs_of_other_branches(self.history.store, self.history.manifests)

    def delete(self, plan: ExpiryOutcome) -> None:
        """Delete in the order of the plan."""
        plan.deletions.apply(self.history.store, self.history.options.expire.delete_threads)

    def state_files(self, ids: Iterable[int]) -> FileDeletions:
        """Return the files of the long-lived changelogs themselves, not changelog files with rows."""
        return FileDeletions(changelogs=tuple(map(self.history.store.paths.changelog, ids)))

    def write_hints(self, earliest_id: int) -> None:
        """Write the hint, or delete it if no changelog is left."""
        if self.everything:
            self.history.changelogs.hints.delete()
        else:
            self.history.changelogs.hints.write_earliest(earliest_id)

    def is_overtaken(self, chosen: ExpiryRange) -> bool:
        """Check whether another expiry of changelogs has deleted the first of them."""
        return self.history.is_overtaken(chosen.begin) or self.history.changelogs.find(chosen.begin) is None


def _without_kept(snapshot: Snapshot, kept: KeptChanges) -> Snapshot:
    """Return the snapshot without the parts that a long-lived changelog keeps."""
    match kept:
        case KeptChanges.NOTHING:
            return snapshot
        case KeptChanges.FILES:
            return without_changelog(snapshot)
        case KeptChanges.DELTAS:
            # Manifests of the base list contain files of earlier commits, so they stay as long as the changelog.
            return replace(without_changelog(snapshot), base_manifest_list="", delta_manifest_list="")


def _is_any(_entry: ManifestEntry) -> bool:
    return True


def _is_no_change(entry: ManifestEntry) -> bool:
    return not is_change(entry)


def _times(find: Callable[[int], Snapshot | None]) -> Callable[[int], int | None]:
    def time_of(snapshot_id: int) -> int | None:
        snapshot = find(snapshot_id)
        return None if snapshot is None else snapshot.time_millis

    return time_of
