"""One process of the simulation: its connection to the table and to the books the oracle keeps."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from table_format.errors import CorruptionError, SnapshotNotFound, TableFormatError
from table_format.formats import newer_schemas
from table_format.io.table_store import TableStore
from table_format.metastore.commit.table_commit import TableCommit
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.scan.file_plan import live_files
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.manifest import ManifestEntry
from table_format.model.snapshot import Snapshot
from table_format.options.table_options import TableOptions
from tests.simulation.faults import INTERRUPTS, NoFaults, PlannedFault
from tests.simulation.history import History
from tests.simulation.interrupting_io import KINDS
from tests.simulation.settings import LONGEST_STALL_MS, REQUEST_MS, Settings
from tests.simulation.store import FaultyFileIO, SharedStore
from tests.simulation.sum_table import NEXT_COLUMN, PATHS, Content, decode_rows, path_of, schema_with
from tests.simulation.world import Actor, Violation, World


@dataclass
class Process:
    """What an actor's code works with during one life."""

    world: World
    actor: Actor
    history: History
    settings: Settings
    store: TableStore
    options: TableOptions
    rng: random.Random
    interrupted: dict[str, TableCommit] = field(default_factory=dict)
    """Committers, by user, whose commit was interrupted and that are to be used again."""

    @classmethod
    def start(cls, shared: SharedStore, actor: Actor, history: History, settings: Settings) -> Process:
        io = FaultyFileIO(shared, actor, request_ms=None if actor.name.startswith("j") else REQUEST_MS)
        world = shared.world
        rng = random.Random(f"{world.seed}/{actor.name}/{actor.incarnation}/work")
        options = TableOptions.parse(schema_with(settings.options).options)
        return cls(world, actor, history, settings, TableStore(io, PATHS, actor.runtime), options, rng)

    def sleep(self, shortest_ms: int, longest_ms: int) -> None:
        self.actor.runtime.clock.sleep_ms(self.rng.randint(shortest_ms, longest_ms))

    def committer(self, user: str) -> TableCommit:
        return TableCommit(self.store, SchemaStore(self.store), self.options, user)

    def snapshots(self) -> SnapshotStore:
        return SnapshotStore(self.store)

    def files_of(self, snapshot: Snapshot | None) -> tuple[ManifestEntry, ...]:
        """The live files as a scan plans them."""
        manifests = ManifestStore(self.store, self.options)
        return live_files(manifests, snapshot, schema=schema_with(self.settings.options), schemas={}).entries

    def rows_of(self, entry: ManifestEntry) -> dict[int, int]:
        """The amounts in a data file.

        Raises:
            CorruptionError: the file is not there.
        """
        path = path_of(entry.partition, entry.bucket, entry.file)
        try:
            return decode_rows(self.store.io.read(path))
        except FileNotFoundError as error:
            raise CorruptionError(path, "the data file is missing") from error

    def look_at_schema(self) -> int:
        """The schema this process works under: the latest as of the last time it looked, which may be long ago."""
        durable = self.actor.durable
        if self.settings.alterers and self.rng.random() < 0.4:
            durable["schema"] = SchemaStore(self.store).latest().id
        return int(durable.setdefault("schema", 0))

    def rows_to_rewrite(self, entry: ManifestEntry) -> dict[int, int]:
        """The amounts that a handle of the schema last looked at finds in a data file, to write them back.

        Raises:
            SchemaChanged: the file has more columns.
        """
        known = self.actor.durable.get("schema", 0)
        if entry.file.schema_id > known:
            schemas = SchemaStore(self.store)
            written, schema = schemas.load(entry.file.schema_id), schemas.load(known)
            newer_schemas.refuse_newer((written,), schema, (), where=entry.file.file_name, rewriting=True)
        return {key: n for key, n in self.rows_of(entry).items() if key // NEXT_COLUMN <= known}

    def content_of(self, snapshot: Snapshot) -> Content:
        """What a scan of the snapshot answers."""
        content: Content = Content()
        for entry in self.files_of(snapshot):
            for key, amount in self.rows_of(entry).items():
                content[entry.partition, entry.bucket, key] += amount
        return Content({key: amount for key, amount in content.items() if amount})

    @property
    def faults_possible(self) -> bool:
        """Whether an error may be blamed on the world; without faults there is no excuse."""
        since_ms = self.world.calm_since_ms
        calm = since_ms is not None and self.world.now_ms - since_ms > 2 * LONGEST_STALL_MS
        return not calm and not isinstance(self.actor.faults, NoFaults)

    def persistently(self, what: str, action: Callable[[], bool]) -> None:
        """Repeat an action until it says it is done; errors of the store cost time and nothing else.

        Raises:
            Violation: an error that nothing excuses.
        """
        while True:
            try:
                if action():
                    return
            except (OSError, CorruptionError, SnapshotNotFound) as error:
                self.excuse(what, error)
            except KINDS:
                self.note_interrupt()
            self.sleep(50, 400)

    def note_interrupt(self) -> None:
        """Somebody was interrupted and goes on; ``MemoryError`` or Ctrl-C of this process itself is none.

        Raises:
            Violation: no fault was asked for.
        """
        if not INTERRUPTS & self.settings.faults.chances.keys() and not isinstance(self.actor.faults, PlannedFault):
            raise Violation(f"I12 {self.actor.name} was interrupted by nobody")
        self.world.note("went_on_after_interrupt")

    def excuse(self, what: str, error: OSError | TableFormatError) -> None:
        """Pass over an error that a fault may have caused.

        Raises:
            Violation: there are no faults.
        """
        if not self.faults_possible:
            raise Violation(f"I12 {self.actor.name} fails at {what} without faults: {error!r}") from error
        self.world.note(f"excused_{type(error).__name__}")
