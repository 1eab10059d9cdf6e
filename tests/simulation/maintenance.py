"""Actors that change no rows: compactors, expirers, taggers, cleaners of orphans, those who alter the schema."""

from __future__ import annotations

from collections import Counter

from table_format.errors import (
    AlreadyExistsError,
    CommitOutcomeUnknown,
    ConflictError,
    CorruptionError,
    OutcomeUnknownError,
    SchemaChanged,
    SnapshotNotFound,
    TagNotFound,
)
from table_format.metastore.expiry.expire_snapshots import expire_snapshots
from table_format.metastore.expiry.orphans import remove_orphan_files
from table_format.metastore.expiry.tag_deletion import delete_tag
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage, Committable
from table_format.model.manifest import ManifestEntry
from table_format.model.schema_change import AddColumn
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER
from table_format.model.types import BigIntType
from tests.simulation.interrupting_io import KINDS
from tests.simulation.process import Process
from tests.simulation.readers import check_content
from tests.simulation.settings import GRACE_MS
from tests.simulation.sum_table import MAX_LEVEL, message, write_rows
from tests.simulation.world import Violation
from tests.simulation.writers import abort


def compactor(p: Process) -> None:
    """Again and again make one file of a bucket's files, or lift a file to the top without writing it again."""
    durable = p.actor.durable
    durable.setdefault("begun", 0)
    while durable["begun"] < 2 * p.settings.jobs:
        durable["begun"] += 1
        p.sleep(10, 1_500)
        try:
            p.look_at_schema()
            compact(p, f"{p.actor.name}.{durable['begun']}")
        except SchemaChanged:
            p.world.note("stale_compaction_refused")
        except (OSError, CorruptionError, SnapshotNotFound) as error:
            if isinstance(error, CorruptionError):
                _check_expired_under_way(p, error)
            else:
                p.excuse("compacting", error)


def compact(p: Process, user: str) -> None:
    """Compact one bucket, if any has something to compact."""
    latest = p.snapshots().latest()
    buckets: dict[BucketId, list[ManifestEntry]] = {}
    for entry in p.files_of(latest):
        buckets.setdefault(entry.bucket_id, []).append(entry)
    busy = {place: files for place, files in buckets.items() if len(files) > 1 or files[0].file.level == 0}
    if not busy:
        return
    commit = p.committer(user)
    (row, bucket), files = p.rng.choice(sorted(busy.items(), key=lambda item: item[0]))
    if len(files) == 1:
        lifted = files[0].file.upgrade(MAX_LEVEL)
        work = message(row, bucket, compact_before=[files[0].file], compact_after=[lifted])
        p.world.note("upgraded")
    else:
        work = _rewrite(p, row, bucket, files)
    try:
        made = commit.commit(Committable(identifier=BATCH_COMMIT_IDENTIFIER, messages=(work,)))
    except KINDS:
        p.note_interrupt()
        if not abort(p, commit, [work]):
            p.history.leave_unknown(user, BATCH_COMMIT_IDENTIFIER)
    except CommitOutcomeUnknown:
        p.history.leave_unknown(user, BATCH_COMMIT_IDENTIFIER)
    except (ConflictError, OSError, CorruptionError, SnapshotNotFound) as error:
        if not isinstance(error, ConflictError):
            p.excuse("committing a compaction", error)
        p.world.note("compaction_conflict")
        p.history.reject_compaction(user, BATCH_COMMIT_IDENTIFIER)
        abort(p, commit, [work])
    else:
        p.world.note("compacted")
        if [s.id for s in made] != [i for _, i in p.history.landed[user, BATCH_COMMIT_IDENTIFIER]]:
            raise Violation(f"I2 {user} was told {[s.id for s in made]}")


def _rewrite(p: Process, row: bytes, bucket: int, files: list[ManifestEntry]) -> CommitMessage:
    total: Counter[int] = Counter()
    for entry in files:
        total.update(rows_to_keep(p, entry))
    schema_id = p.actor.durable.get("schema", 0)
    after = write_rows(p.store.io, p.actor.runtime, row, bucket, total, level=MAX_LEVEL, schema_id=schema_id)
    return message(row, bucket, compact_before=[e.file for e in files], compact_after=[after])


def rows_to_keep(p: Process, entry: ManifestEntry) -> dict[int, int]:
    return p.rows_to_rewrite(entry)


def _check_expired_under_way(p: Process, error: CorruptionError) -> None:
    """A file was missing: only because its snapshot went while it was read, or because of a fault."""
    if not p.history.doomed and len(p.history.retained) == p.history.highest:
        p.excuse("compacting", error)
    p.world.note("expired_while_compacting")


def expirer(p: Process) -> None:
    """Expire every now and then."""
    durable = p.actor.durable
    durable.setdefault("rounds", 0)
    while durable["rounds"] < 5 * p.settings.jobs:
        durable["rounds"] += 1
        p.sleep(100, 1_500)
        before = _ongoing_deletions(p)
        try:
            report = expire_snapshots(p.store, p.options)
        except (OSError, CorruptionError, SnapshotNotFound) as error:
            # Another expirer, or the deletion of a tag, may take files away under our eyes; nothing was deleted then.
            if isinstance(error, OSError) or (
                p.settings.expirers < 2 and not before[1] and before == _ongoing_deletions(p)
            ):
                p.excuse("expiring", error)
            p.world.note("expiry_put_off")
        else:
            p.world.note("expiries" if report.snapshot_ids else "expiries_of_nothing")


def alterer(p: Process) -> None:
    """Add a column every now and then."""
    durable = p.actor.durable
    durable.setdefault("begun", 0)
    while durable["begun"] < p.settings.jobs:
        durable["begun"] += 1
        p.sleep(100, 4_000)
        try:
            SchemaStore(p.store).change([AddColumn(f"c{p.rng.getrandbits(40)}", BigIntType())])
        except (OSError, CorruptionError, OutcomeUnknownError) as error:
            p.excuse("adding a column", error)
        else:
            p.world.note("altered")


def cleaner(p: Process) -> None:
    """Clean orphans every now and then."""
    durable = p.actor.durable
    durable.setdefault("rounds", 0)
    while durable["rounds"] < 5 * p.settings.jobs:
        durable["rounds"] += 1
        p.sleep(500, 3_000)
        try:
            report = remove_orphan_files(p.store, p.options, grace_ms=GRACE_MS)
        except (OSError, CorruptionError, ConflictError, SnapshotNotFound):
            # An expiry or the deletion of a tag may take files away under our eyes; nothing was deleted then.
            p.world.note("cleaning_put_off")
        else:
            p.world.note("cleaned" if report.files else "nothing_to_clean")


def _ongoing_deletions(p: Process) -> tuple[int, tuple[str, ...]]:
    """How many tags were let go so far, and which of them are still there."""
    return p.history.tags_let_go, tuple(sorted(set(p.history.tags) - p.history.kept_tags))


def tagger(p: Process) -> None:
    """Tag a snapshot, read it through the tag for a while, delete the tag."""
    durable = p.actor.durable
    durable.setdefault("begun", 0)
    while durable["begun"] < p.settings.jobs:
        durable["begun"] += 1
        name = f"{p.actor.name}-{durable['begun']}"
        p.sleep(100, 2_000)
        if create_tag(p, name):
            for _ in range(2):
                p.sleep(500, 5_000)
                p.persistently("reading a tag", lambda name=name: _read_tag(p, name))
            p.history.let_tag_go(name)
            p.persistently("deleting a tag", lambda name=name: remove_tag(p, name))


def create_tag(p: Process, name: str) -> bool:
    """Tag a retained snapshot; whether there is a tag now."""
    snapshots, tags = p.snapshots(), TagStore(p.store)
    try:
        ids = snapshots.ids()
        if not ids:
            return False
        tags.create(name, snapshots.load(p.rng.choice(ids)))
    except (OSError, AlreadyExistsError, OutcomeUnknownError) as error:
        p.excuse("creating a tag", error)
        return False
    except SnapshotNotFound:
        p.world.note("tag_of_an_expired_snapshot_refused")
        return False
    p.history.keep_tag(name)
    p.world.note("tagged")
    return True


def _read_tag(p: Process, name: str) -> bool:
    tag = TagStore(p.store).load(name)
    check_content(p, tag.snapshot, p.content_of(tag.snapshot), f"tag {name}")
    p.world.note("read_by_tag")
    return True


def remove_tag(p: Process, name: str) -> bool:
    """Delete a tag, which an earlier try may have deleted already."""
    try:
        delete_tag(p.store, p.options, name)
    except TagNotFound as error:
        p.excuse("deleting a tag", error)  # the answer to the first request was lost
    return True
