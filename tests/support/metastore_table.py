"""Tables made of metadata only: entries name data files that are a few bytes long."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from table_format.codecs.binary_row import serialize_row
from table_format.io.memory import MemoryFileIO
from table_format.io.paths import TablePaths
from table_format.io.table_store import TableStore
from table_format.metastore.commit.table_commit import TableCommit
from table_format.metastore.expiry.expire_snapshots import ExpiryReport, expire_snapshots
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.scan.file_plan import live_files
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.commit import CommitMessage, Committable
from table_format.model.data_file import EMPTY_ROW, EMPTY_STATS, DataFileMeta, FileSource, SimpleStats
from table_format.model.manifest import ManifestEntry
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.model.types import DataField, InternalValue, IntType, VarCharType
from table_format.options.table_options import TableOptions
from table_format.runtime import Runtime

HOUR = 3_600_000
FIELDS = (
    DataField(0, "k", IntType(nullable=False)),
    DataField(1, "dt", VarCharType(nullable=False)),
    DataField(2, "v", VarCharType()),
)
_KEY = (IntType(),)
_VALUES = (IntType(), VarCharType(), VarCharType())


class ManualClock:
    """Time that passes only when told, or slept."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.ms = now_ms
        self.slept: list[int] = []

    def now_ms(self) -> int:
        return self.ms

    def local_now_ms(self) -> int:
        return self.ms

    def monotonic_ms(self) -> int:
        return self.ms

    def sleep_ms(self, duration_ms: int) -> None:
        self.slept.append(duration_ms)
        self.ms += duration_ms


class NoChance:
    def random(self) -> float:
        return 0.5


class CountedIds:
    def __init__(self) -> None:
        self._count = 0

    def uuid(self) -> str:
        self._count += 1
        return f"00000000-0000-0000-0000-{self._count:012d}"


class HookedFileIO:
    """A store that calls a function before each verb on a matching path; the function may raise, or act for others."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.calls: list[tuple[str, str]] = []
        self._before: list[tuple[str, str, Callable[[], object]]] = []
        self._after: list[tuple[str, str, Callable[[], object]]] = []

    def before(self, verb: str, part: str, action: Callable[[], object]) -> None:
        self._before.append((verb, part, action))

    def after(self, verb: str, part: str, action: Callable[[], object]) -> None:
        self._after.append((verb, part, action))

    def calm(self) -> None:
        self._before.clear()
        self._after.clear()

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        function = getattr(self._inner, verb)

        def call(path: str, *args: Any) -> Any:
            self.calls.append((verb, path))
            self._run(self._before, verb, path)
            result = function(path, *args)
            self._run(self._after, verb, path)
            return result

        return call

    def _run(self, hooks: Sequence[tuple[str, str, Callable[[], object]]], verb: str, path: str) -> None:
        for wanted, part, action in tuple(hooks):
            if verb == wanted and part in path:
                action()


def once(action: Callable[[], object]) -> Callable[[], object]:
    """The action at the first call, nothing afterwards."""
    done: list[bool] = []

    def run() -> None:
        if not done:
            done.append(True)
            action()

    return run


def failing(error: BaseException) -> Callable[[], object]:
    def run() -> None:
        raise error

    return run


@dataclass
class MetastoreTable:
    """A table with columns ``k``, ``dt``, ``v``."""

    schema: TableSchema
    io: HookedFileIO
    clock: ManualClock
    store: TableStore
    files: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def options(self) -> TableOptions:
        return TableOptions.parse(self.schema.options)

    @property
    def snapshots(self) -> SnapshotStore:
        return SnapshotStore(self.store)

    @property
    def manifests(self) -> ManifestStore:
        return ManifestStore(self.store, self.options)

    @property
    def partitions(self) -> Partitions:
        return Partitions(self.schema, self.options)

    def committer(self, user: str = "writer", **options: str) -> TableCommit:
        return TableCommit(self.store, SchemaStore(self.store), self.options.with_options(options), user)

    def partition(self, *values: InternalValue) -> bytes:
        return serialize_row(tuple(f.type for f in self.schema.partition_fields), values)

    def file(
        self, first: int = 0, last: int | None = None, *, level: int = 0, rows: int = 1, name: str | None = None
    ) -> DataFileMeta:
        last = first if last is None else last
        low, high = serialize_row(_KEY, (first,)), serialize_row(_KEY, (last,))
        is_keyed = self.schema.is_primary_key_table
        return DataFileMeta(
            file_name=name or f"data-{next(self.files):04d}-0.parquet",
            file_size=4,
            row_count=rows,
            min_key=low if is_keyed else EMPTY_ROW,
            max_key=high if is_keyed else EMPTY_ROW,
            key_stats=SimpleStats(low, high, (0,)) if is_keyed else EMPTY_STATS,
            value_stats=SimpleStats(
                serialize_row(_VALUES, (first, "", "a")), serialize_row(_VALUES, (last, "~", "z")), (0, 0, 0)
            ),
            min_sequence_number=0,
            max_sequence_number=rows - 1,
            schema_id=0,
            level=level,
            creation_time=1,
            delete_row_count=0,
            file_source=FileSource.APPEND,
        )

    def message(self, partition: bytes | None = None, bucket: int = 0, **groups: Any) -> CommitMessage:
        total = self.options.bucket.count
        groups = {"total_buckets": total, **groups}
        return CommitMessage(partition=self.one_partition(partition), bucket=bucket, **groups)

    def one_partition(self, partition: bytes | None) -> bytes:
        return self.partition(*(["a"] * len(self.schema.partition_keys))) if partition is None else partition

    def append(
        self, *files: DataFileMeta, partition: bytes | None = None, user: str = "writer", identifier: int = 1
    ) -> Snapshot:
        """Write the files and commit them."""
        message = self.message(partition, new_files=files or (self.file(),))
        self.write(message)
        return self.committer(user).commit(Committable(identifier=identifier, messages=(message,)))[0]

    def write(self, *messages: CommitMessage) -> None:
        """Put the data files of messages where they belong."""
        for m in messages:
            for file in (*m.new_files, *m.changelog_files, *m.compact_after, *m.compact_changelog_files):
                path = self.data_path(m.partition, m.bucket, file)
                if self.store.io.status(path) is None:
                    self.store.io.create(path, b"data")

    def data_path(self, partition: bytes, bucket: int, file: DataFileMeta) -> str:
        return self.store.paths.data_file(self.partitions.text(partition), bucket, file)

    def live(self, snapshot: Snapshot | None = None) -> list[ManifestEntry]:
        snapshot = snapshot or self.snapshots.latest()
        return list(live_files(self.manifests, snapshot, schema=self.schema, schemas={0: self.schema}).entries)

    def live_names(self, snapshot: Snapshot | None = None) -> list[str]:
        return [entry.file.file_name for entry in self.live(snapshot)]

    def expire(self, **arguments: Any) -> ExpiryReport:
        return expire_snapshots(self.store, self.options, **arguments)

    def all_files(self, directory: str | None = None) -> set[str]:
        """Every file of the table."""
        root = directory or self.store.paths.root
        found: set[str] = set()
        for child in self.store.io.list(root):
            path = f"{root}/{child.name}"
            found |= self.all_files(path) if child.is_directory else {path}
        return found

    def reachable(self) -> set[str]:
        """Every file that snapshots and tags need, and the fixed ones."""
        from table_format.metastore.references.data_paths import DataPaths
        from table_format.metastore.references.snapshot_files import metadata_names, without_changelog
        from table_format.metastore.references.tag_store import TagStore

        paths, manifests = self.store.paths, self.manifests
        found = {paths.latest_hint, paths.earliest_hint, paths.schema(0)}
        data = DataPaths(self.store, self.partitions)
        states = [self.snapshots.load(i) for i in self.snapshots.ids()]
        found |= {paths.snapshot(s.id) for s in states}
        tags = TagStore(self.store).all()
        found |= {paths.tag(name) for name in tags}
        for s in [*states, *(without_changelog(tag.snapshot) for tag in tags.values())]:
            names = metadata_names(s, manifests)
            found |= {paths.manifest(n) for n in (*names.manifests, *names.manifest_lists, *names.index_manifests)}
            found |= {data.index_file(key) for key in names.index_files}
            found |= set(data.files_of(self.live(s), frozenset()))
            for manifest in manifests.changelog_manifests(s):
                found |= set(data.files_of(manifests.read(manifest), frozenset()))
        return found & self.all_files() | (found - {paths.latest_hint, paths.earliest_hint})


def a_table(
    *,
    primary_keys: tuple[str, ...] = (),
    partition_keys: tuple[str, ...] = (),
    options: Mapping[str, str] | None = None,
) -> MetastoreTable:
    """An empty table in memory; with primary key it has one bucket."""
    defaults = {"bucket": "1" if primary_keys else "-1"}
    schema = TableSchema(
        0, FIELDS, 2, partition_keys, primary_keys, {**defaults, **(options or {})}, time_millis=1_700_000_000_000
    )
    clock = ManualClock()
    io = HookedFileIO(MemoryFileIO(clock))
    runtime = Runtime(clock=clock, random=NoChance(), ids=CountedIds())
    store = TableStore(io, TablePaths("/w/db.db/t"), runtime)
    SchemaStore(store).create(schema)
    return MetastoreTable(schema, io, clock, store)


def committable(identifier: int, *messages: CommitMessage, **arguments: Any) -> Committable:
    return Committable(identifier=identifier, messages=messages, **arguments)


def renamed(file: DataFileMeta, name: str) -> DataFileMeta:
    return replace(file, file_name=name)
