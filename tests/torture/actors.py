"""The processes: writers, streams with one open write, a compactor, one that looks after history, one that changes the
schema, and readers. ``rewind`` is the one that changes the history, ``follow`` one that reads it as a stream.

Each goes on until it is killed. An interrupt is raised only within ``act``; afterwards the process goes on with the
objects it has, as an interactive session or a server does. What goes wrong otherwise is reported.
"""

from __future__ import annotations

import logging
import random
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import FrameType
from typing import Final

# Imported here because pyarrow does so later, and an interrupt within an import leaves half a module behind.
import pandas as pd  # noqa: F401
import pyarrow as pa

from table_format import Catalog, Table, load_catalog
from table_format.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    OutcomeUnknownError,
    SnapshotNotFound,
)
from table_format.metastore.commit.key_places import snapshot_identity
from table_format.metastore.expiry.orphans import remove_orphan_files
from table_format.model.commit import CommitMessage
from table_format.model.schema_change import AddColumn, AlterColumnType, SetOption
from table_format.model.snapshot import Snapshot
from table_format.model.types import BigIntType, VarCharType
from tests.torture.gate import Gate
from tests.torture.jobs import Row, digest, extra_columns, found_rows, is_wide, job_of, properties_of, rows_of
from tests.torture.journal import Journal
from tests.torture.kinds import Kind, kind_named

CONSUMER: Final = "observer"
"""Keeps the snapshots that the observer did not look at yet from expiry."""

FORK_PREFIX: Final = "f"
"""The names of branches to which the main branch may be fast-forwarded."""

MAX_EXTRA_COLUMNS: Final = 8
HISTORY_STEPS: Final = (
    *("tag", "tag", "untag", "retag", "rename"),
    *("branch", "unbranch", "expire", "expire", "clean"),
)
ORPHANS_OLDER_THAN_MS: Final = 60_000
"""Far above what any write takes, stopped or not."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a table is, and what drives one actor of it."""

    warehouse: str
    kind: str
    seed: int

    def catalog(self) -> Catalog:
        """The catalog of the warehouse."""
        return load_catalog({"warehouse": f"{self.warehouse}/lake", "local-cache.dir": f"{self.warehouse}/cache"})

    def open(self) -> Table:
        """The table as a new process opens it."""
        return self.open_named("db.t")

    def open_named(self, name: str) -> Table:
        """The table, or a branch of it, as a new process opens it."""
        table = self.catalog().load_table(name)
        assert isinstance(table, Table)
        return table


def act(action: Callable[[], None]) -> None:
    """The only place an interrupt is raised in."""
    action()


def _interrupt(_number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code is act.__code__:
            raise KeyboardInterrupt
        frame = frame.f_back


class Actor:
    """One process at work on the table."""

    def __init__(self, place: Place, sender: Connection) -> None:
        # Compactions that others made impossible are dropped with a warning, hundreds of them.
        logging.getLogger("table_format").setLevel(logging.CRITICAL)
        self.kind: Kind = kind_named(place.kind)
        self.place = place
        self.rng = random.Random(place.seed)
        self.table = place.open()
        self.gate = Gate(place.warehouse)
        self.journal = Journal(place.warehouse)
        self._sender = sender

    def tell(self, what: str, detail: object) -> None:
        """Report to the one who sends the signals."""
        self._sender.send((what, detail))

    def tell_failure(self, error: Exception) -> bool:
        """Report an error that no caller has to expect; whether it is an interrupt that C code gave another name."""
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, KeyboardInterrupt):
                self.tell("interrupted", None)
                return True
            cause = cause.__cause__ or cause.__context__
        self.tell("failed", "".join(traceback.format_exception(error)))
        return False

    def sometimes_reopen(self) -> None:
        """Hold on to a handle for a while: others change the schema meanwhile."""
        if self.rng.random() < 0.2:
            self.table = self.place.open()

    def begin(self) -> None:
        """Say that the process is at work, and may be struck."""
        signal.signal(signal.SIGINT, _interrupt)
        self.tell("began", self.kind.name)

    def attempt(self, step: Callable[[], None]) -> bool:
        """Take a step that may be refused or interrupted. Return whether the process continues."""
        try:
            act(step)
        except KeyboardInterrupt:
            self.tell("interrupted", None)
        except (ConflictError, OutcomeUnknownError) as error:
            self.tell("refused", type(error).__name__)
            with suppress(KeyboardInterrupt):
                act(self._reopen)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
            return self.tell_failure(error)
        return True

    def attempt_together(self, step: Callable[[], None]) -> bool:
        """Take a step beside others that commit, but not beside a change of the history."""
        with self.gate.together():
            return self.attempt(step)

    def go_on(self, step: Callable[[], None], *, rest_s: float, commits: bool = False) -> None:
        """Take steps until killed."""
        self.begin()
        attempt = self.attempt_together if commits else self.attempt
        while attempt(step):
            time.sleep(self.rng.random() * rest_s)

    def claim(self, what: str, table: Table, snapshot: Snapshot, rows: pa.Table | Sequence[Row]) -> None:
        """Say which rows a snapshot has, unless the handle may lack a column."""
        if table.current() is table:
            found = found_rows(rows) if isinstance(rows, pa.Table) else sorted(rows)
            self.tell("claimed", (what, snapshot_identity(snapshot), digest(found)))

    def _reopen(self) -> None:
        self.table = self.place.open()


def write(place: Place, who: int, first: int, sender: Connection) -> None:
    """Commit job after job, each until it is committed."""
    actor = Actor(place, sender)
    number = first
    done = [first - 1]

    def one() -> None:
        actor.sometimes_reopen()
        commit_job(actor.kind, actor.table, who, number)
        done[0] = number

    actor.begin()
    goes_on = True
    while goes_on:
        with actor.gate.together():
            goes_on = actor.attempt(one)
            if done[0] == number:
                actor.journal.note_progress(who, number)
        if done[0] == number:
            actor.tell("acknowledged", (who, number))
            number += 1


def commit_job(kind: Kind, table: Table, who: int, number: int) -> None:
    """Do a job on a table or a branch of it."""
    job = job_of(kind, who, number)
    schema = table.arrow_schema
    facts = {"commit_user": job.user, "identifier": number, "properties": properties_of(schema)}
    match job.action:
        case "write":
            table.append(rows_of(kind, job, schema), **facts)
        case "update":
            table.update({"v": "v + 1"}, job.where, **facts)
        case "delete":
            table.delete(job.where, **facts)


def stream(place: Place, who: int, first: int, sender: Connection) -> None:
    """Commit job after job with one write that stays open, until a conflict requires a new one."""
    actor = Actor(place, sender)
    with ThreadPoolExecutor(1) as pool:
        open_write = OpenWrite(actor, who, first, pool if actor.rng.random() < 0.5 else None)
        actor.begin()
        while open_write.attempt():
            time.sleep(actor.rng.random() * 0.3)


class OpenWrite:
    """A writer for many commits. It pauses with rows that it has written and not committed."""

    def __init__(self, actor: Actor, who: int, first: int, compactor: Executor | None) -> None:
        self._actor = actor
        self._who = who
        self._number = first
        self._compactor = compactor
        self._messages: list[CommitMessage] = []
        self._written = 0
        self._is_written = False
        self._begin()

    def attempt(self) -> bool:
        """Take a step; after a refusal, begin the job again with a new write. Return whether the process continues."""
        actor, number = self._actor, self._number
        try:
            act(self._write_rows)
            with actor.gate.together():
                act(self._commit_messages)
                actor.journal.note_progress(self._who, number)
        except KeyboardInterrupt:
            actor.tell("interrupted", None)
            if self._is_written and actor.rng.random() < 0.5:
                return True  # the same messages again: they may have been committed
            self._begin_again()
        except (ConflictError, OutcomeUnknownError, SnapshotNotFound) as error:
            actor.tell("refused", type(error).__name__)
            self._begin_again()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
            if not actor.tell_failure(error):
                return False
            self._begin_again()
        if self._number > number:
            actor.tell("acknowledged", (self._who, number))
        return True

    def _begin(self) -> None:
        user = job_of(self._actor.kind, self._who, self._number).user
        self._table = self._actor.place.open()
        self._write = self._table.new_write(user, compactor=self._compactor)
        self._commit = self._table.new_commit(user)
        self._next_job()

    def _next_job(self) -> None:
        self._messages = []
        self._written = 0
        self._is_written = False

    def _begin_again(self) -> None:
        for undo in (self._write.abort, lambda: self._commit.abandon(self._messages), self._begin):
            while not _completed(undo):
                pass

    def _write_rows(self) -> None:
        actor = self._actor
        job = job_of(actor.kind, self._who, self._number)
        schema = self._table.arrow_schema
        rows = rows_of(actor.kind, job, schema)
        while self._written < rows.num_rows:
            part = rows.slice(self._written, actor.rng.randint(1, rows.num_rows))
            self._messages += self._write.write(part)
            self._written += part.num_rows
            time.sleep(actor.rng.random() * 0.2)
        self._is_written = True

    def _commit_messages(self) -> None:
        properties = properties_of(self._table.arrow_schema)
        self._commit.commit(self._messages, identifier=self._number, properties=properties)
        self._number += 1
        self._next_job()


def _completed(action: Callable[[], None]) -> bool:
    """Whether an action was not interrupted."""
    try:
        act(action)
    except KeyboardInterrupt:
        return False
    return True


def compact(place: Place, sender: Connection) -> None:
    """Compact, rescale, and put in order."""
    actor = Actor(place, sender)

    def step() -> None:
        actor.sometimes_reopen()
        choice = actor.rng.random()
        if actor.kind.bucket_counts and choice < 0.1:
            actor.table = actor.place.open()
            count = actor.rng.choice(actor.kind.bucket_counts)
            place.catalog().alter_table("db.t", SetOption("bucket", str(count)))
            actor.table = actor.place.open()
            actor.table.rescale()
        elif actor.table.options.bucket.count == -1 and choice < 0.2 and not actor.kind.moves_keys:
            actor.table.compact(order_by=["k"])
        else:
            actor.table.compact(full=choice > 0.7)

    actor.go_on(step, rest_s=0.2, commits=True)


def keep_history(place: Place, sender: Connection) -> None:
    """Expire, tag, branch, and clean."""
    actor = Actor(place, sender)
    count = 0

    def step() -> None:
        nonlocal count
        actor.sometimes_reopen()
        table, rng = actor.table, actor.rng
        count += 1
        tags = sorted(table.tags())
        with suppress(NotFoundError, AlreadyExistsError):
            match rng.choice(HISTORY_STEPS):
                case "tag":
                    table.create_tag(f"t{place.seed}-{count}", **_some_retained_id(table, rng))
                case "untag" if tags:
                    table.delete_tag(rng.choice(tags))
                case "retag" if tags:
                    with actor.gate.together():  # a rollback may be on its way to the tag
                        table.replace_tag(rng.choice(tags))
                case "rename" if tags:
                    table.rename_tag(rng.choice(tags), f"r{place.seed}-{count}")
                case "branch" if tags:
                    table.create_branch(f"b{place.seed}-{count}", tag=rng.choice(tags))
                case "unbranch" if branches := _idle_branches(table):
                    table.delete_branch(rng.choice(branches))
                case "expire":
                    table.expire_snapshots()
                case "clean":
                    remove_orphan_files(table.store, table.options, grace_ms=ORPHANS_OLDER_THAN_MS)

    actor.go_on(step, rest_s=0.3)


def _idle_branches(table: Table) -> list[str]:
    return [name for name in sorted(table.branches()) if not name.startswith(FORK_PREFIX)]


def _some_retained_id(table: Table, rng: random.Random) -> dict[str, int]:
    ids = table.facts.snapshots.ids()
    return {"snapshot_id": rng.choice(ids)} if ids else {}


def change_schema(place: Place, sender: Connection) -> None:
    """Add columns, widen, and set options."""
    actor = Actor(place, sender)

    def step() -> None:
        catalog = place.catalog()
        table = actor.place.open()
        extra = extra_columns(table.arrow_schema)
        choice = actor.rng.random()
        with suppress(InvalidInputError):
            if choice < 0.3 and len(extra) < MAX_EXTRA_COLUMNS:
                catalog.alter_table("db.t", AddColumn(f"c{len(extra)}", VarCharType()))
            elif choice < 0.5 and not is_wide(table.arrow_schema):
                catalog.alter_table("db.t", AlterColumnType("v", BigIntType()))
            else:
                catalog.alter_table("db.t", SetOption("file.format", actor.rng.choice(("parquet", "orc", "avro"))))

    actor.go_on(step, rest_s=3.0, commits=True)


def read(place: Place, sender: Connection) -> None:
    """Read the latest state, an old one, or a tag, through a handle that may be stale."""
    actor = Actor(place, sender)

    def step() -> None:
        actor.sometimes_reopen()
        table = actor.table
        options: dict[str, str] = {}
        ids = table.facts.snapshots.ids()
        tags = sorted(table.tags())
        if ids and actor.rng.random() < 0.4:
            options = {"scan.snapshot-id": str(actor.rng.choice(ids))}
        elif tags and actor.rng.random() < 0.3:
            options = {"scan.tag-name": actor.rng.choice(tags)}
        with suppress(SnapshotNotFound, NotFoundError):
            scan = table.scan(options=options)
            plan = scan.plan()
            time.sleep(actor.rng.random() ** 3)  # what is planned may go meanwhile
            found = pa.Table.from_batches((b for split in plan for b in scan.read(split)), schema=scan.schema)
            if plan.snapshot is not None:
                actor.claim("a read", table, plan.snapshot, found)
            if actor.kind.is_keyed:
                keys = list(zip(*(found.column(name).to_pylist() for name in ("who", "k")), strict=True))
                if len(keys) != len(set(keys)):
                    message = f"a key twice in a scan with {options}"
                    raise AssertionError(message)

    actor.go_on(step, rest_s=0.1)
