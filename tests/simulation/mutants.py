"""Protocol mutants: one small thing of the real code, or one fence, is replaced; the simulation must notice.

A mutant is a list of substitutions. Fences guard each other, so one of them alone may be missed without harm: they are
also removed in pairs. What no simulation can kill proves nothing, so a mutant that survives is as much a finding as a
seed that fails.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from table_format.errors import CommitOutcomeUnknown
from table_format.formats import newer_schemas
from table_format.metastore import publish
from table_format.metastore.commit import attempt, commit_check, commit_loop, confirmation, conflicts, publications
from table_format.metastore.commit import attempt as commit_prepare
from table_format.metastore.commit import history_link as commit_link
from table_format.metastore.commit import table_commit as commit
from table_format.metastore.commit.history_link import Link
from table_format.metastore.expiry import (
    branch_needs,
    expirable,
    file_deletions,
    removal,
    retained_files,
    table_history,
    tag_deletion,
)
from table_format.metastore.expiry import expire_snapshots as expire
from table_format.metastore.manifest import manifest_merge
from table_format.metastore.references import snapshot_files
from table_format.metastore.references import tag_store as tags
from table_format.metastore.scan import live_state
from table_format.metastore.snapshot import expiry_notices
from table_format.metastore.snapshot import snapshot_store as snapshots
from table_format.model.manifest import FileKind
from tests.simulation import maintenance, process, store, writers
from tests.simulation.settings import Settings

Substitution = tuple[object, str, object]


@dataclass(frozen=True)
class Mutant:
    """A name, what is replaced, and the settings under which it shows soonest.

    One that shows rarely is looked for from ``first_seed`` on, near a seed that is known to notice it.
    """

    name: str
    substitutions: tuple[Substitution, ...]
    settings: Callable[[int], Settings] = Settings.draw
    first_seed: int = 0

    @contextmanager
    def active(self) -> Iterator[None]:
        """Run with the mutation in place."""
        with ExitStack() as stack:
            for target, name, replacement in self.substitutions:
                stack.enter_context(patch.object(target, name, replacement))
            yield


# --- publishing -----------------------------------------------------------------------------------------------------


def _check_then_rename(self: store.FaultyFileIO, path: str, data: bytes) -> None:
    if self.status(path) is not None:
        raise FileExistsError(errno.EEXIST, "the file exists", path)
    self.overwrite(path, data)


def _refuse_what_is_unknown(*arguments: object, **options: object) -> publish.Put:
    put = publish.put_if_absent(*arguments, **options)
    return replace(put, outcome=publish.PutOutcome.REFUSED) if put.outcome is publish.PutOutcome.UNKNOWN else put


def _claim_what_exists(*arguments: object, **options: object) -> publish.Put:
    put = publish.put_if_absent(*arguments, **options)
    return replace(put, outcome=publish.PutOutcome.OURS) if put.outcome is publish.PutOutcome.OTHERS else put


def _verify_with_one_look(snapshot, found, manifests, _base) -> Link:
    if found.exists(snapshot.id - 1):
        return Link.SOUND
    successor = found.find(snapshot.id + 1)
    if successor is not None:
        return commit_link.built_upon(snapshot, successor, manifests)
    return Link.SOUND if found.highest_id() == snapshot.id else Link.FALSE


# --- finding what is there ------------------------------------------------------------------------------------------


def _trust_hint(self: snapshots.SnapshotStore, look: Callable[[int], Any]) -> Any:
    hint = self.hints.latest()
    latest = self._listed_latest() if hint is None else hint
    return None if latest is None else look(latest)


def _no_second_look(self: snapshots.SnapshotStore) -> int | None:
    candidate = self._guess() or self._listed_latest()
    return None if candidate is None else self._walk_up(candidate)


def _filter_ignoring_since(self, identifiers, *, since=None):
    return FILTER(self, identifiers)


def _filter_including_the_last(self, identifiers, *, since=None):
    asked = tuple(identifiers)
    return FILTER(self, asked, since=since) or asked[-1:]


FILTER = commit.TableCommit.filter_committed


def _not_landed_when_expired(self, *arguments, **options):
    try:
        return FIND_LANDED(self, *arguments, **options)
    except CommitOutcomeUnknown:
        return None


FIND_LANDED = commit_loop.CommitLoop._find_published


# --- what a snapshot names ------------------------------------------------------------------------------------------


def _merge_losing_removals(entries, merged=None):
    result = manifest_merge_entries(entries, merged)
    return {key: entry for key, entry in result.items() if entry.kind is FileKind.ADD}


manifest_merge_entries = manifest_merge.merge_entries


def _reuse_without_the_rest(self, current):
    found = ON_TOP_OF(self, current)
    return None if found is None else replace(found, after=self.after)


ON_TOP_OF = manifest_merge.MergedManifests.on_top_of


def _forgetful_follow(self, snapshot) -> None:
    self._at = snapshot


def _count_delta_only(*arguments, **options):
    made = SNAPSHOT(*arguments, **options)
    return replace(made, total_record_count=made.delta_record_count)


def _unclamped_time(c, job, written, latest, **options):
    made = SNAPSHOT(c, job, written, latest, **options)
    return replace(made, time_millis=c.store.runtime.clock.now_ms())


SNAPSHOT = commit_prepare.next_snapshot


def _propose_once(c, latest, new, target):
    key = (id(c), id(new))
    if key not in PROPOSED:
        PROPOSED[key] = (c, new, PROPOSE(c, latest, new, target))  # what is kept keeps its id
    return PROPOSED[key][-1]


PROPOSED: dict[tuple[int, int], tuple[object, ...]] = {}
PROPOSE = commit.propose_overwrite


def _compact_keeping_inputs(messages):
    changes = COMPACT(messages)
    return replace(changes, entries=tuple(e for e in changes.entries if e.kind is FileKind.ADD))


COMPACT = commit.compact_changes


def _discard_delta_too(self, files) -> None:
    DISCARD(self, files)
    DISCARD(self, self.lasting)


DISCARD = commit_prepare.AttemptFiles.discard


def _abort_lifted_files(self, messages) -> None:
    ABORT(self, [replace(m, compact_before=(), deleted_files=()) for m in messages])


ABORT = commit.TableCommit.abort


# --- interrupts -----------------------------------------------------------------------------------------------------


def _noted_when_answered(self, publication) -> None:
    if publication.is_reported:
        BEGIN(self, publication)


BEGIN = publications.Publications.begin


def _over_when_interrupted(self, *arguments):
    return replace(PUBLICATION(self, *arguments), last_effect_ms=-1)


PUBLICATION = commit_loop.CommitLoop._publication


# --- expiry and tags ------------------------------------------------------------------------------------------------


def _one_more(*arguments, **options):
    found = RANGE(*arguments, **options)
    return replace(found, end=found.end + 1) if found.ids and found.end < options["latest"] else found


RANGE = expirable.expiry_range


def _remove_lifted_files(delta):
    return [entry for entry in delta if entry.kind is FileKind.DELETE]


def _newest_first(self, table_store, threads) -> None:
    for path in reversed(self.snapshots):
        table_store.io.delete(path)
    APPLY(self, table_store, threads)


def _snapshots_without_files(self, table_store, _threads) -> None:
    for path in self.manifests:
        table_store.io.delete(path)


APPLY = file_deletions.FileDeletions.apply


class _NoNotices(expiry_notices.ExpiryNotices):
    def all(self) -> tuple[expiry_notices.ExpiryNotice, ...]:
        return ()


class _NeverGoing(snapshots.SnapshotStore):
    def __init__(self, table_store) -> None:
        super().__init__(table_store)
        self.notices = _NoNotices(table_store)


def _announce_nothing(self, end: int) -> str:
    return self.store.paths.expiry_notice(end, "0")


def _hinted(found: snapshots.SnapshotStore) -> int:
    return found.hints.earliest() or 0


def _kept_if_hinted(table_store, *, beside=frozenset()):
    return lambda snapshot: snapshot.id >= _hinted(snapshots.SnapshotStore(table_store))


def _needs_if_hinted(table_store, manifests, names, wanted):
    found = branch_needs.BranchHistory.of(table_store, without_tags=names)
    earliest = _hinted(snapshots.SnapshotStore(table_store))
    kept = tuple(snapshot for snapshot in found.snapshots if snapshot.id >= earliest)
    return branch_needs.needs_of([replace(found, snapshots=kept)], manifests, wanted=wanted)


def _needs_nothing(*_: object) -> file_deletions.NeededFiles:
    return file_deletions.NeededFiles(snapshot_files.MetadataNames(), frozenset())


def _without_floor(table_store, options, **others):
    return EXPIRE(table_store, options, retain_floor_ms=0, **others)


EXPIRE = expire.expire_snapshots


# --- fences: what keeps an expired id from being taken again --------------------------------------------------------

_LONG_MS = 10_000_000


def _patient_options(settings_options):
    return SCHEMA_WITH({**settings_options, "commit.attempt-timeout": f"{_LONG_MS} ms"})


SCHEMA_WITH = process.schema_with


def _floor_for_attempts_as_declared(options) -> int:
    # Who waits for ever still promises what the table's options say: expiry knows only those.
    return (1_500 + options.request_ms) * 5 // 2


FENCES: dict[str, tuple[Substitution, ...]] = {
    "attempt": (
        (process, "schema_with", _patient_options),
        (expire, "default_retain_floor_ms", _floor_for_attempts_as_declared),
    ),
    "request": ((process, "REQUEST_MS", None),),
    "floor": ((maintenance, "expire_snapshots", _without_floor),),
    "verify": ((confirmation, "verify_link", lambda *_: Link.SOUND),),
    "second look": ((snapshots.SnapshotStore, "latest_id", _no_second_look),),
    "since": (
        (commit.TableCommit, "filter_committed", _filter_ignoring_since),
        (commit_loop.CommitLoop, "_find_published", _not_landed_when_expired),
    ),
}


def without_fences(*names: str) -> Mutant:
    """The code without some of its fences."""
    return Mutant(
        f"without {' and '.join(names)}", tuple(s for name in names for s in FENCES[name]), Settings.draw_stalling
    )


def _mutant(name: str, *substitutions: Substitution) -> Mutant:
    return Mutant(name, substitutions)


def _under(settings: Callable[[int], Settings], mutant: Mutant) -> Mutant:
    return replace(mutant, settings=settings)


def _interrupted(name: str, *substitutions: Substitution) -> Mutant:
    return Mutant(name, substitutions, Settings.draw_interrupted)


def _nothing(*_: object, **__: object) -> None:
    return None


_always: Callable[..., bool] = lambda *_, **__: True  # noqa: E731

MUTANTS: tuple[Mutant, ...] = (
    # The eleven of the design, and what belongs to them.
    _mutant("check then rename", (store.FaultyFileIO, "create", _check_then_rename)),
    _under(
        Settings.draw_outages,
        _mutant("no dedupe", (commit_loop.CommitLoop, "_find_published", _nothing), (attempt, "require_new", _nothing)),
    ),
    _under(
        Settings.draw_outages,
        _mutant("clean up after unknown", (commit_loop, "put_if_absent", _refuse_what_is_unknown)),
    ),
    _mutant("no conflict check", (commit_check, "find_conflict", _nothing)),
    _mutant("expire off by one", (expirable, "expiry_range", _one_more)),
    _under(Settings.draw_stalling, _mutant("restart without filter", (writers, "must_commit", _always))),
    _mutant("compaction keeps old", (commit, "compact_changes", _compact_keeping_inputs)),
    _mutant("trust hint", (snapshots.SnapshotStore, "_find_latest", _trust_hint)),
    replace(without_fences("since"), first_seed=23),
    replace(without_fences("second look"), first_seed=560),
    without_fences("attempt", "request", "floor", "verify", "since"),
    # Publishing.
    _mutant("every error is a refusal", (publish, "_REFUSALS", frozenset(errno.errorcode))),
    # The confirmation would find the snapshot of the other writer, and repeat the commit.
    _mutant("claim what exists", (commit_loop, "put_if_absent", _claim_what_exists), *FENCES["verify"]),
    _under(Settings.draw_crowd, _mutant("verify with one look", (confirmation, "verify_link", _verify_with_one_look))),
    _mutant("filter by less", (commit.TableCommit, "filter_committed", _filter_including_the_last)),
    # What a snapshot names.
    _mutant("merge loses removals", (manifest_merge, "merge_entries", _merge_losing_removals)),
    _mutant("merged again without the rest", (manifest_merge.MergedManifests, "on_top_of", _reuse_without_the_rest)),
    _mutant("live state does not follow", (live_state.LiveState, "_follow", _forgetful_follow)),
    _mutant("overlaps are not seen", (conflicts, "_find_overlap", _nothing)),
    _mutant("total of the delta only", (commit_prepare, "next_snapshot", _count_delta_only)),
    _mutant("time as the clock says", (commit_prepare, "next_snapshot", _unclamped_time)),
    _under(
        Settings.draw_outages,
        _mutant("overwrite proposed once", (commit, "propose_overwrite", _propose_once)),
    ),
    _mutant("discard the delta too", (commit_prepare.AttemptFiles, "discard", _discard_delta_too)),
    _mutant("discard nothing", (commit_prepare.AttemptFiles, "discard", _nothing)),
    _mutant("abort lifted files", (commit.TableCommit, "abort", _abort_lifted_files)),
    _mutant("abort nothing", (commit.TableCommit, "abort", _nothing)),
    # Interrupts.
    _interrupted("abort without asking", (publications.Publications, "named_files", lambda *_: frozenset())),
    _interrupted("publication noted when answered", (publications.Publications, "begin", _noted_when_answered)),
    _interrupted("no request is under way", (commit_loop.CommitLoop, "_publication", _over_when_interrupted)),
    _interrupted("repetition without looking", (publications.Publications, "begun_before", _nothing)),
    replace(
        _interrupted("failed repetition is a failure", (publications.Publications, "outcome", _nothing)), first_seed=38
    ),
    _interrupted("landed and forgotten", (publications.Publications, "published_as", _nothing)),
    # Expiry and tags.
    _mutant(
        "lifted files are removed",
        (removal, "removed_files", _remove_lifted_files),
        (retained_files.RetainedFiles, "_protected", lambda *_: frozenset()),
    ),
    _mutant("tags protect nothing", (table_history.TableHistory, "kept_states", lambda _: {})),
    _mutant(
        "metadata of the next is deleted",
        (retained_files.RetainedFiles, "_metadata", lambda *_: snapshot_files.MetadataNames()),
    ),
    _mutant("newest first", (file_deletions.FileDeletions, "apply", _newest_first)),
    _mutant("files go, snapshots stay", (file_deletions.FileDeletions, "apply", _snapshots_without_files)),
    _under(
        Settings.draw_housekeeping,
        _mutant("expiry is not announced", (expiry_notices.ExpiryNotices, "announce", _announce_nothing)),
    ),
    _under(Settings.draw_housekeeping, _mutant("tags of going snapshots", (tags, "SnapshotStore", _NeverGoing))),
    _mutant("tag deletion asks nobody", (tag_deletion, "needs_beside_tags", _needs_nothing)),
    _under(
        Settings.draw_damaged,
        _mutant(
            "tags rest on the hint",
            (tag_deletion, "_kept_otherwise", _kept_if_hinted),
            (tag_deletion, "needs_beside_tags", _needs_if_hinted),
        ),
    ),
    # A schema that changes: either of the two checks alone is enough for a compaction.
    _under(
        Settings.draw_altering,
        _mutant(
            "stale handles rewrite",
            (newer_schemas, "refuse_newer", _nothing),
            (commit_check, "find_misfit", _nothing),
        ),
    ),
    # Fences in pairs.
    without_fences("floor", "verify"),
    without_fences("attempt", "verify"),
    without_fences("floor", "since"),
)
