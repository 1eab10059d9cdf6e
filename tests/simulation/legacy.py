"""A writer of another library: put-if-absent and nothing more, as the reference writes.

It knows no time fence, so when it stalls for longer than snapshots live it takes an id that was used before; and it
believes the hint as Java does. What becomes of its own rows is not our promise; what becomes of everybody else's is.
"""

from __future__ import annotations

from table_format.codecs.manifest_avro import decode_manifest_list, encode_manifest, encode_manifest_list
from table_format.codecs.snapshot_json import decode_snapshot, encode_snapshot
from table_format.io.paths import manifest_list_name, manifest_name, snapshot_id_of
from table_format.metastore.manifest.manifest_store import manifest_file_meta
from table_format.model.manifest import FileKind, ManifestEntry, ManifestFileMeta
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Snapshot
from tests.simulation.process import Process
from tests.simulation.settings import FLOOR_MS, LONGEST_STALL_MS
from tests.simulation.states import Intent
from tests.simulation.sum_table import BUCKETS, PARTITION_FIELD, PATHS, write_rows
from tests.simulation.writers import draw_rows


def legacy_writer(p: Process) -> None:
    """Append a few times, each time as another user."""
    durable = p.actor.durable
    durable.setdefault("begun", 0)
    while durable["begun"] < 2 * p.settings.jobs:
        durable["begun"] += 1
        p.sleep(10, 2_000)
        user = f"{p.actor.name}.{durable['begun']}"
        p.history.foreign.add(user)
        try:
            _append(p, user)
        except OSError as error:
            p.excuse("appending as a legacy writer", error)


def _append(p: Process, user: str) -> None:
    rows = draw_rows(p.rng)
    p.history.intend(user, BATCH_COMMIT_IDENTIFIER, Intent(rows))
    entries = []
    for row, bucket in sorted({key[:2] for key in rows}):
        amounts = {key[2]: amount for key, amount in rows.items() if key[:2] == (row, bucket)}
        file = write_rows(p.store.io, p.actor.runtime, row, bucket, amounts)
        entries.append(ManifestEntry(FileKind.ADD, row, bucket, BUCKETS, file))
    uuid = p.actor.runtime.ids.uuid()
    data = encode_manifest(entries)
    p.store.io.create(PATHS.manifest(manifest_name(uuid, 0)), data)
    types = (PARTITION_FIELD.type,)
    delta = manifest_file_meta(manifest_name(uuid, 0), len(data), entries, types=types, schema_id=0)
    _write_list(p, manifest_list_name(uuid, 0), [delta])
    for attempt in range(1, 11):
        latest = _latest(p)
        base = (
            []
            if latest is None
            else [*_read_list(p, latest.base_manifest_list), *_read_list(p, latest.delta_manifest_list)]
        )
        _write_list(p, manifest_list_name(uuid, attempt), base)
        if p.rng.random() < 0.1:
            p.sleep(FLOOR_MS, LONGEST_STALL_MS)
        snapshot = _snapshot(p, user, uuid, attempt, latest, sum(e.file.row_count for e in entries))
        try:
            p.store.io.create(PATHS.snapshot(snapshot.id), encode_snapshot(snapshot))
        except FileExistsError:
            if p.store.io.read(PATHS.snapshot(snapshot.id)) != encode_snapshot(snapshot):
                continue
        p.world.note("legacy_appended")
        p.store.io.overwrite(PATHS.latest_hint, str(snapshot.id).encode())
        return


def _latest(p: Process) -> Snapshot | None:
    """Java's ``findLatest``: the hint, unless its successor exists; it is not asked whether the hinted one does."""
    try:
        hint = int(p.store.io.read(PATHS.latest_hint))
    except FileNotFoundError:
        hint = 0
    if not hint or p.store.io.status(PATHS.snapshot(hint + 1)):
        listed = p.store.io.list(PATHS.snapshot_directory)
        hint = max((snapshot_id_of(status.name) or 0 for status in listed), default=0)
    if not hint:
        return None
    path = PATHS.snapshot(hint)
    return decode_snapshot(p.store.io.read(path), path=path)


def _snapshot(p: Process, user: str, uuid: str, attempt: int, latest: Snapshot | None, added: int) -> Snapshot:
    now_ms = p.actor.runtime.clock.now_ms()
    return Snapshot(
        id=latest.id + 1 if latest else 1,
        schema_id=0,
        base_manifest_list=manifest_list_name(uuid, attempt),
        delta_manifest_list=manifest_list_name(uuid, 0),
        commit_user=user,
        commit_identifier=BATCH_COMMIT_IDENTIFIER,
        commit_kind=CommitKind.APPEND,
        time_millis=max(now_ms, latest.time_millis if latest else 0),
        total_record_count=(latest.total_record_count or 0 if latest else 0) + added,
        delta_record_count=added,
    )


def _read_list(p: Process, name: str) -> list[ManifestFileMeta]:
    path = PATHS.manifest(name)
    return decode_manifest_list(p.store.io.read(path), path=path)


def _write_list(p: Process, name: str, manifests: list[ManifestFileMeta]) -> None:
    p.store.io.create(PATHS.manifest(name), encode_manifest_list(manifests))
