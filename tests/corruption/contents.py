"""Damages files whose names state their content, while tables are read, written, compacted and expired.

One file is damaged: a bit is flipped, the end is missing, a page is zero, or it has the bytes of another file. Then one
operation runs on the table. It either returns the same rows as without damage, or raises an error that names a damaged
file. After the files are restored, the table has the rows from before or after the operation: never others, and no key
twice.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from uuid import UUID

import pyarrow as pa

from table_format import Schema, Table, load_catalog
from table_format.codecs.content_name import states_content
from table_format.errors import TableFormatError
from table_format.io.file_io import FileIO
from table_format.io.memory import MemoryFileIO
from table_format.metastore.manifest.statistics_file import read_statistics
from table_format.runtime import Ids, Runtime, SystemIds
from tests.corruption.sweep import Outcome, Rows
from tests.support.metastore_table import ManualClock

NAME = "db.damaged"
PAGE = 128
COLUMNS = pa.schema(
    [pa.field("k", pa.int64(), nullable=False), pa.field("p", pa.string(), nullable=False), ("v", pa.string())]
)
KEYS = range(40)
BLOOM = {
    "metadata.stats-mode": "none",
    "file-index.bloom-filter.columns": "v,k",
    "file-index.bloom-filter.v.items": "40",
    "file-index.bloom-filter.k.items": "40",
}
BESIDE = {"file-index.in-manifest-threshold": "0 b"}
MARKS = {"deletion-vectors.enabled": "true"}
TABLES: Mapping[str, tuple[list[str], dict[str, str]]] = {
    "indexes in manifests": ([], {"bucket": "-1", **BLOOM}),
    "indexes beside": (["k", "p"], {"bucket": "1", **BLOOM, **BESIDE}),
    "deletion vectors": (["k", "p"], {"bucket": "1", **MARKS, **BLOOM, **BESIDE}),
    "wide deletion vectors": ([], {"bucket": "-1", **MARKS, "deletion-vectors.bitmap64": "true"}),
    "dynamic buckets": (["k", "p"], {"bucket": "-1", "dynamic-bucket.target-row-num": "5"}),
}

Damage = dict[str, bytes]


def some_rows(ids: range, word: str) -> pa.Table:
    columns = [list(ids), ["ab"[i % 2] for i in ids], [f"{word}{i}" for i in ids]]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, COLUMNS, strict=True)], schema=COLUMNS)


class SeededIds:
    """UUIDs of which each ground gets the same, so that the same damage can be done again."""

    def __init__(self) -> None:
        self._chance = random.Random(1)

    def uuid(self) -> str:
        return str(UUID(int=self._chance.getrandbits(128), version=4))


def opened(store: FileIO, ids: Ids | None = None, *, warehouse: str = "/w") -> Table:
    runtime = Runtime(clock=ManualClock(), ids=ids or SystemIds())
    table = load_catalog({"warehouse": warehouse}, file_io=store, runtime=runtime).load_table(NAME)
    assert isinstance(table, Table)
    return table


def rows_of(table: Table, filter: str | None = None) -> Rows:
    found = table.scan(filter=filter).to_arrow(threads=1)
    return sorted(zip(*(c.to_pylist() for c in found.columns), strict=True), key=repr)


def _point_reads(table: Table) -> Rows:
    return rows_of(table, "k = 7") + rows_of(table, "v = 'new12'") + rows_of(table, "k = 39")


def _statistics(table: Table) -> Rows:
    found = read_statistics(table.store, table.latest_snapshot())
    assert found is not None
    return [(repr(found),)]


def _changed(act: Callable[[Table], object]) -> Callable[[Table], Rows]:
    def run(table: Table) -> Rows:
        act(table)
        return []

    return run


READS: Mapping[str, Callable[[Table], Rows]] = {
    "scan": rows_of,
    "point reads": _point_reads,
    "statistics": _statistics,
}
WRITES: Mapping[str, Callable[[Table], Rows]] = {
    "upsert of all keys": _changed(lambda table: table.append(some_rows(KEYS, "last"))),
    "delete": _changed(lambda table: table.delete("k IN (1, 6, 11, 31)")),
    "compact": _changed(lambda table: table.compact(full=True)),
    "expire": _changed(lambda table: table.expire_snapshots(retain_max=1, retain_min=1, retain_floor_ms=0)),
}
OPERATIONS = READS | WRITES


@dataclass
class Ground:
    """A table, its files, and what each operation does to it without damage."""

    kind: str
    store: MemoryFileIO = field(default_factory=MemoryFileIO)
    answers: dict[str, Rows] = field(default_factory=dict)
    before: Rows = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        keys, options = TABLES[self.kind]
        # Times and names within files change their compressed sizes, and so which of them look alike.
        runtime = Runtime(clock=ManualClock(), ids=SeededIds())
        catalog = load_catalog({"warehouse": "/w"}, file_io=self.store, runtime=runtime)
        catalog.create_database("db")
        wanted = {**({"num-sorted-run.compaction-trigger": "9"} if keys else {}), **options}
        catalog.create_table(NAME, Schema.from_arrow(COLUMNS, primary_keys=keys, partition_keys=["p"], options=wanted))
        table = opened(self.store, SeededIds())
        table.append(some_rows(KEYS, "old"))
        if not keys:
            table.delete("k IN (0, 4, 5, 9)")
        table.append(some_rows(range(20), "new"))
        if keys and MARKS.items() <= options.items():
            table.compact()
        # One mark more in each partition: the files of their vectors look alike.
        table.delete("k IN (3, 6)")
        table.analyze()
        self.files = dict(_files(self.store, "/w"))
        self.before = rows_of(opened(self.store))
        for name, act in OPERATIONS.items():
            store = self.damaged({})
            found = act(opened(store))
            self.answers[name] = found if name in READS else rows_of(opened(store))

    @property
    def targets(self) -> list[str]:
        """The files whose names state their content."""
        return [path for path in self.files if states_content(path)]

    def damaged(self, damage: Damage) -> MemoryFileIO:
        """A copy of the store with other bytes in some files."""
        store = MemoryFileIO()
        for path, data in (self.files | damage).items():
            store.create(path, data)
        return store

    def outcome(self, damage: Damage, operation: str) -> tuple[Outcome, str]:
        """What an operation makes of damaged files, and which error says so."""
        store = self.damaged(damage)
        try:
            found = OPERATIONS[operation](opened(store))
            failure = None
            wrong = operation in READS and found != self.answers[operation]
        except TableFormatError as error:
            failure, wrong = str(error), False
        allowed = [self.answers[operation]] if failure is None else [self.answers[operation], self.before]
        if operation in WRITES:
            for path in damage:
                if store.status(path) is not None:
                    store.overwrite(path, self.files[path])
            wrong = rows_of(opened(store)) not in allowed
        if wrong:
            return Outcome.OTHER_ROWS, failure or ""
        if failure is None:
            return Outcome.SAME, ""
        return (Outcome.NAMED if any(path in failure for path in damage) else Outcome.NAMELESS), failure


def _files(store: MemoryFileIO, directory: str) -> Iterator[tuple[str, bytes]]:
    for child in store.list(directory):
        path = f"{directory}/{child.name}"
        if child.is_directory:
            yield from _files(store, path)
        else:
            yield path, store.read(path)


def exchanges(ground: Ground) -> Iterator[tuple[str, Damage]]:
    """Every two files exchanged, and every file with the bytes of every other."""
    targets, files = ground.targets, ground.files
    for path in targets:
        for other in targets:
            if files[path] != files[other]:
                yield f"{path} with the bytes of {other}", {path: files[other]}
                if path < other:
                    yield f"{path} and {other} exchanged", {path: files[other], other: files[path]}


def lookalikes(ground: Ground) -> Iterator[tuple[str, Damage]]:
    """Those exchanges of files that no comparison of sizes notices."""
    for what, damage in exchanges(ground):
        if all(len(ground.files[path]) == len(data) for path, data in damage.items()):
            yield what, damage


def random_damage(ground: Ground, chance: random.Random) -> tuple[str, Damage]:
    """A file with a flipped bit, a page of zeros, or a lost end."""
    path = chance.choice([path for path in ground.targets if ground.files[path]])
    data = bytearray(ground.files[path])
    at = chance.randrange(len(data))
    match chance.randrange(8):
        case 0:
            del data[at:]
            what = f"cut to {at}"
        case 1:
            start = at // PAGE * PAGE
            data[start : start + PAGE] = bytes(len(data[start : start + PAGE]))
            what = f"zeros from {start}"
        case _:
            bit = chance.randrange(8)
            data[at] ^= 1 << bit
            what = f"bit {bit} of byte {at}"
    return f"{path}: {what}", {path: bytes(data)}


@dataclass
class Count:
    """The outcomes of many trials, and those that went wrong."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def count(ground: Ground, operation: str, damages: Iterator[tuple[str, Damage]]) -> Count:
    """Run an operation with each damage by itself."""
    counted = Count()
    for what, damage in damages:
        if all(ground.files[path] == data for path, data in damage.items()):
            continue
        outcome, failure = ground.outcome(damage, operation)
        counted.outcomes[outcome] += 1
        if outcome in (Outcome.OTHER_ROWS, Outcome.NAMELESS):
            counted.wrong.append(f"{operation} on {ground.kind}, {what}: {outcome} {failure}")
    return counted


def randomly(ground: Ground, seed: object, trials: int) -> Iterator[tuple[str, Damage]]:
    """So many random damages, and half as many exchanged files, always the same ones for a seed."""
    chance = random.Random(f"{ground.kind}/{seed}")
    yield from (random_damage(ground, chance) for _ in range(trials))
    possible = list(exchanges(ground))
    yield from chance.sample(possible, min(trials // 2, len(possible)))
