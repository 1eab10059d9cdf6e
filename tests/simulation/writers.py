"""Actors that add rows: streaming jobs that continue from a checkpoint, and batch jobs that start again."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress

from table_format.codecs.commit_message import decode_messages, encode_messages
from table_format.errors import CommitOutcomeUnknown, ConflictError, CorruptionError, SchemaChanged, SnapshotNotFound
from table_format.metastore.commit.table_commit import TableCommit
from table_format.model.commit import CommitMessage, Committable
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind
from tests.simulation.interrupting_io import KINDS
from tests.simulation.process import Process
from tests.simulation.states import Intent
from tests.simulation.sum_table import (
    BUCKETS,
    MAX_LEVEL,
    Content,
    in_all_columns,
    message,
    partition,
    path_of,
    write_rows,
)
from tests.simulation.world import Violation

KEYS = 6
BATCHES = ("append", "append", "append", "overwrite one", "overwrite touched", "overwrite all", "drop")


def streaming_writer(p: Process) -> None:
    """One user, ascending identifiers; after a crash the last checkpoint is committed again."""
    durable = p.actor.durable
    durable.setdefault("next", 1)
    while durable["next"] <= p.settings.jobs:
        p.persistently("writing a checkpoint", lambda: write_checkpoint(p))
        p.persistently("committing a checkpoint", lambda: commit_checkpoint(p))
        p.persistently("looking at the own commit", lambda: check_reads_own_write(p))
        p.sleep(10, 2_500)


def write_checkpoint(p: Process) -> bool:
    """Write the files of the next job and remember them, as an engine does before it commits."""
    durable, user = p.actor.durable, p.actor.name
    identifier = durable["next"]
    if durable.get("prepared") == identifier:
        return True
    # The rows depend on the job alone: after a crash they are written again as they were.
    rng = random.Random(f"{p.world.seed}/{user}/{identifier}")
    rows = draw_rows(rng)
    since = p.committer(user).latest_id()
    rows = in_all_columns(rows, p.look_at_schema())
    messages = write_messages(p, rows, compact=durable.get("compact", rng.random() < 0.3))
    p.history.intend(user, identifier, Intent(rows))
    durable.update(prepared=identifier, since=since, messages=encode_messages(messages), tried=False)
    return True


def commit_checkpoint(p: Process) -> bool:
    """Commit the checkpoint, once whatever happens; ``False`` to try again."""
    durable, user = p.actor.durable, p.actor.name
    identifier = durable["next"]
    commit = p.interrupted.pop(user, None)
    knows = commit is not None or not durable["tried"]
    commit = commit or p.committer(user)
    try:
        if not knows and not must_commit(p, commit, identifier, durable["since"]):
            p.world.note("restart_filtered")
        else:
            durable["tried"] = knows = True
            _commit_twice_if_unknown(p, commit, identifier)
        p.history.acknowledge(user, identifier)
    except ConflictError:
        # Surely nothing of it landed up to now, so that is where to look from the next time.
        p.world.note("streaming_retries_exhausted")
        durable["since"] = commit.latest_id()
        return False
    except KINDS:
        p.note_interrupt()
        if knows and p.rng.random() < 0.6:
            p.interrupted[user] = commit  # which remembers what it does not know
        return False
    except CommitOutcomeUnknown:
        if not is_unknown_for_ever(p, user, identifier, durable["since"]):
            return False
        p.history.leave_unknown(user, identifier)
    durable["next"] = identifier + 1
    return True


def _commit_twice_if_unknown(p: Process, commit: TableCommit, identifier: int) -> None:
    """A committer remembers what it does not know, so the same job may be handed to it again."""
    committable = Committable(identifier=identifier, messages=decode_messages(p.actor.durable["messages"]))
    try:
        commit.commit(committable)
    except CommitOutcomeUnknown:
        p.world.note("outcome_unknown_at_first")
        p.sleep(100, 2_000)
        commit.commit(committable)


def must_commit(p: Process, commit: TableCommit, identifier: int, since: int) -> bool:
    """What a restarted job asks before it commits again."""
    return bool(commit.filter_committed([identifier], since=since))


def is_unknown_for_ever(p: Process, user: str, identifier: int, since: int) -> bool:
    """Whether the history that would tell has been expired."""
    try:
        p.committer(user).filter_committed([identifier], since=since)
    except CommitOutcomeUnknown:
        return True
    return False


def check_reads_own_write(p: Process) -> bool:
    """I5: who was told that its rows landed sees at least that snapshot."""
    landed = max(
        (i for job, at in p.history.landed.items() if job[0].partition(".")[0] == p.actor.name for _, i in at),
        default=0,
    )
    if (p.snapshots().latest_id() or 0) < landed:
        raise Violation(f"I5 {p.actor.name} does not see its own snapshot {landed}")
    return True


def batch_writer(p: Process) -> None:
    """A new user for each job; a job that crashed is lost, and the next does other work."""
    durable = p.actor.durable
    durable.setdefault("begun", 0)
    while durable["begun"] < p.settings.jobs:
        durable["begun"] += 1
        p.sleep(10, 2_500)
        batch_job(p, f"{p.actor.name}.{durable['begun']}", p.rng.choice(BATCHES))


def batch_job(p: Process, user: str, work: str) -> None:
    """One batch, tried once; what it was told is written down."""
    identifier = BATCH_COMMIT_IDENTIFIER
    messages: tuple[CommitMessage, ...] = ()
    try:
        commit = p.committer(user)
        rows = draw_rows(p.rng) if work != "drop" else Content()
        if work == "overwrite one":
            rows = Content({key: amount for key, amount in rows.items() if key[0] == partition(0)})
        rows = in_all_columns(rows, p.look_at_schema())
        messages = write_messages(p, rows)
        replaced = frozenset({partition(0)}) if work in ("drop", "overwrite one") else frozenset()
        if work == "overwrite touched":
            replaced = frozenset(key[0] for key in rows)
        p.history.intend(user, identifier, Intent(rows, None if work == "overwrite all" else replaced))
    except (OSError, CorruptionError, SnapshotNotFound) as error:
        p.excuse("preparing a batch", error)
        return
    committable = Committable(identifier=identifier, messages=messages)
    while True:
        try:
            _publish(commit, work, committable)
        except KINDS:
            p.note_interrupt()
            if p.rng.random() < 0.5:
                continue  # with the same committer
            _give_up(p, commit, user, messages)
            return
        except CommitOutcomeUnknown:
            _ask_later(p, commit, user)
            return
        except (ConflictError, OSError, CorruptionError, SnapshotNotFound) as error:
            if not isinstance(error, ConflictError):
                p.excuse("committing a batch", error)
            p.world.note("batch_rejected")
            p.history.reject(user, identifier)
            abort(p, commit, messages)
            return
        p.history.acknowledge(user, identifier)
        p.persistently("looking at the own commit", lambda: check_reads_own_write(p))
        return


def abort(p: Process, commit: TableCommit, messages: Sequence[CommitMessage]) -> bool:
    """Delete what was not published, again after each interrupt; whether it is known what was."""
    while True:
        try:
            commit.abort(messages)
        except KINDS:
            p.note_interrupt()
        except CommitOutcomeUnknown:
            p.world.note("abort_refused")
            return False
        else:
            return True


def _give_up(p: Process, commit: TableCommit, user: str, messages: Sequence[CommitMessage]) -> None:
    """Delete what an interrupted commit has left, and say what became of it."""
    identifier = BATCH_COMMIT_IDENTIFIER
    if not abort(p, commit, messages):
        p.history.leave_unknown(user, identifier)
        return
    landed = any(kind is not CommitKind.COMPACT for kind, _ in p.history.landed.get((user, identifier), ()))
    p.world.note("given_up_after_landing" if landed else "given_up")
    if not landed:
        p.history.reject(user, identifier)  # nor may it land later


def _publish(commit: TableCommit, work: str, committable: Committable) -> None:
    match work:
        case "append":
            commit.commit(committable)
        case "overwrite one":
            commit.overwrite(committable, partition={"p": 0})
        case "overwrite touched":
            commit.overwrite(committable, dynamic=True)
        case "overwrite all":
            commit.overwrite(committable, dynamic=False)
        case "drop":
            commit.drop_partitions([{"p": 0}])


def _ask_later(p: Process, commit: TableCommit, user: str) -> None:
    """The outcome is unknown: ask until there is an answer; while there is none, leave everything alone."""
    for _ in range(3):
        p.sleep(500, 1_000)
        try:
            if not commit.filter_committed([BATCH_COMMIT_IDENTIFIER]):
                p.world.note("unknown_resolved")
                p.history.acknowledge(user, BATCH_COMMIT_IDENTIFIER)
                return
        except (OSError, CorruptionError, SnapshotNotFound) as error:
            p.excuse("asking for an outcome", error)
        except CommitOutcomeUnknown:
            break
    p.history.leave_unknown(user, BATCH_COMMIT_IDENTIFIER)


def draw_rows(rng: random.Random) -> Content:
    """Some amounts in one or two buckets."""
    rows: Content = Counter()
    for _ in range(rng.choice((1, 1, 2))):
        place = (partition(rng.randrange(2)), rng.randrange(BUCKETS))
        for _ in range(rng.choice((1, 2, 3))):
            rows[(*place, rng.randrange(KEYS))] += rng.randrange(1, 100)
    return rows


def write_messages(p: Process, rows: Content, *, compact: bool = False) -> tuple[CommitMessage, ...]:
    """Write the rows to one file for each bucket; perhaps compact the bucket in the same commit."""
    buckets: dict[tuple[bytes, int], dict[int, int]] = defaultdict(dict)
    for (row, bucket, key), amount in rows.items():
        buckets[row, bucket][key] = amount
    messages: list[CommitMessage] = []
    try:
        for (row, bucket), amounts in sorted(buckets.items()):
            schema_id = p.actor.durable["schema"]
            new = write_rows(p.store.io, p.actor.runtime, row, bucket, amounts, schema_id=schema_id)
            messages.append(message(row, bucket, new_files=[new]))
            if compact:
                with suppress(SchemaChanged):  # then the rows are written, and compacted by others
                    messages[-1] = _compacted(p, messages[-1], amounts)
    except (OSError, CorruptionError):
        _delete_files(p, messages)
        raise
    return tuple(messages)


def _compacted(p: Process, written: CommitMessage, amounts: Mapping[int, int]) -> CommitMessage:
    place = (written.partition, written.bucket)
    before = [e for e in p.files_of(p.snapshots().latest()) if (e.partition, e.bucket) == place]
    total = Counter(amounts)
    for entry in before:
        total.update(p.rows_to_rewrite(entry))
    schema_id = p.actor.durable["schema"]
    after = write_rows(p.store.io, p.actor.runtime, *place, total, level=MAX_LEVEL, schema_id=schema_id)
    inputs = [*(e.file for e in before), *written.new_files]
    return message(*place, new_files=written.new_files, compact_before=inputs, compact_after=[after])


def _delete_files(p: Process, messages: list[CommitMessage]) -> None:
    for m in messages:
        for file in (*m.new_files, *m.compact_after):
            with suppress(OSError):
                p.store.io.delete(path_of(m.partition, m.bucket, file))
