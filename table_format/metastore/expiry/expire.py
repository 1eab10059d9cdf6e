"""The steps of every expiry: choose, plan, announce, delete, confirm (format chapter 10, section 9).

Everything that must stay is read before the first file is deleted; if something cannot be read, nothing is deleted.
The deletions are first planned; a dry run returns the plan.

Order of effects: 1 a notice names the snapshots to delete; then it deletes 2 data files, 3 changelog files, 4
directories, 5 manifests, index files and statistics, 6 the lists that name them, 7 snapshots or changelogs, oldest
first, and 8 the notice; 9 it writes the hint EARLIEST. A crash between any two steps leaves enough to find the
remaining files, and the next expiry deletes the notice of a crashed one. Changelogs need no notice.

The ids to delete are chosen from the listing, and so is everything that must stay: tags, branches, changelogs,
consumers, and snapshots below a gap in the ids, which a rollback may be restoring. Hints do not affect the choice. If
two expiries run at the same time, one may fail to read files that the other has deleted: it then starts again, and
leaves to the other what that has begun.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final, TypeVar

from table_format.errors import MissingFile, SnapshotNotFound, TableFormatError
from table_format.metastore.expiry.expirable import Expirable
from table_format.metastore.expiry.expiry_outcome import ExpiryOutcome
from table_format.metastore.expiry.file_deletions import NamedFiles, NeededFiles, plan_deletions
from table_format.metastore.expiry.kept_snapshots import Keeper
from table_format.metastore.expiry.removal import read_removed
from table_format.metastore.expiry.retained_files import RetainedFiles
from table_format.metastore.expiry.retention import ExpiryRange, Retention
from table_format.metastore.references.data_paths import DataPaths
from table_format.metastore.references.snapshot_files import file_key
from table_format.model.snapshot import Snapshot

_TRIES: Final = 4
_LOOKS: Final = 4
_LOOK_WAIT_MS: Final = 20
_OTHERS: Final = "another running expiry or deletion of a tag"


R = TypeVar("R", bound=ExpiryOutcome)


def expire(
    what: Expirable, rules: Retention, report: Callable[..., R], *, dry_run: bool = False, at_least: int = 1
) -> R:
    """Delete the oldest states that the rules allow, unless there are fewer than ``at_least``.

    ``report`` creates the result from the members of ``ExpiryOutcome``.

    Raises:
        CorruptionError: the files that must stay cannot be determined; nothing was deleted.
        OSError: the store failed; the next expiry deletes the remaining files.
    """
    for _ in range(_TRIES):
        chosen = what.choose(rules)
        if chosen is None or len(chosen.ids) < max(at_least, 1):
            if chosen is not None and what.is_announced and not dry_run:
                what.history.snapshots.record_earliest(chosen.begin)
            if chosen is None:
                return report(dry_run=dry_run)
            return report(kept_by=chosen.kept_by, beyond_max=chosen.beyond_max, dry_run=dry_run)
        try:
            return _expire(what, chosen, report, dry_run=dry_run)
        except (MissingFile, SnapshotNotFound):
            # Nothing was deleted. Either another process is deleting files, or the table is damaged.
            if not _is_overtaken(what, chosen):
                raise
    return report(kept_by=_OTHERS, dry_run=dry_run)


def _is_overtaken(what: Expirable, chosen: ExpiryRange) -> bool:
    """Return whether another expiry is running. Apache Paimon does not announce one, and deletes snapshots last."""
    for attempt in range(_LOOKS):
        if what.is_overtaken(chosen):
            return True
        what.history.store.runtime.clock.sleep_ms(_LOOK_WAIT_MS << attempt)
    return what.is_overtaken(chosen)


def _expire(what: Expirable, chosen: ExpiryRange, report: Callable[..., R], *, dry_run: bool) -> R:
    kept = what.history.kept_states()
    plan = _plan(what, chosen, kept, report)
    if dry_run:
        return replace(plan, dry_run=True)
    if not what.is_announced:
        what.delete(plan)
        what.write_hints(chosen.end)
        return plan
    io = what.history.store.io
    notice = what.history.snapshots.notices.announce(chosen.end)
    try:
        # Read the tags again after the notice: a later tag finds the notice, and an earlier tag is read here.
        kept_now = what.history.kept_states()
        if kept_now != kept:
            plan = _plan(what, chosen, kept_now, report)
    except (TableFormatError, OSError):
        with suppress(OSError):
            io.delete(notice)  # nothing was deleted
        raise
    what.delete(plan)
    io.delete(notice)
    what.write_hints(chosen.end)
    return plan


def _plan(what: Expirable, chosen: ExpiryRange, kept: Mapping[Keeper, Snapshot], report: Callable[..., R]) -> R:
    h = what.history
    removal = what.removal(chosen)
    named, unreadable = read_removed(removal, h.manifests)
    others = what.other_needs()
    kept_snapshots = h.kept_snapshots(kept, removal.first_retained)
    needed = RetainedFiles(h).needed(removal, (*named.data, *named.replaced.values()), kept_snapshots, others)
    ids = tuple(state.id for state in removal.states)
    clean = h.options.expire.clean_empty_directories
    files = plan_deletions(named, needed, DataPaths(h.store, h.partitions), clean_directories=clean)
    states = what.state_files(ids)
    return report(
        ids=ids,
        deletions=replace(files, snapshots=states.snapshots, changelogs=states.changelogs),
        kept_by=chosen.kept_by,
        beyond_max=chosen.beyond_max,
        unreadable=unreadable,
        bytes=_bytes(named, needed),
    )


def _bytes(named: NamedFiles, needed: NeededFiles) -> int:
    """Return the total size of the data and changelog files to delete."""
    gone = (e for e in (*named.data, *named.changelog) if file_key(e) not in needed.files)
    return sum({file_key(e): e.file.file_size for e in gone}.values())
