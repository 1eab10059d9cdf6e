"""Damages the indexes of data files, and asks the table for rows that they would find.

An index has bits flipped, is cut short or lengthened, loses a page to zeros, lies about a place, a length or a number,
is of a newer version, or has the bytes of another index: of another file, another column, another type. It lies in the
manifest or beside a Parquet, ORC or Avro file, and was written by this library, whose names state their content, or by
another writer, whose names state nothing. In the place ``in parts`` names also state a hash of what a look-up of keys
reads, as those of large indexes do, and files lie on a local disk: only the head and the bloom filters are read first.

With our own names each damage of what is read is noticed and named, and the rows are those of a scan without indexes.
With other names
this holds for all damage that can be noticed. Damage that makes another sound index of a file with as many rows may
hide rows, or change what is counted from an index alone. It never adds a row, and nothing ever fails but by an error
that names the file.
"""

from __future__ import annotations

import argparse
import logging
import random
import struct
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa

from table_format import Schema, Table, load_catalog
from table_format.codecs.file_index import encode_file_index
from table_format.codecs.filter_sql import parse_filter
from table_format.codecs.manifest_avro import decode_manifest, encode_manifest, encode_manifest_list
from table_format.codecs.snapshot_json import encode_snapshot
from table_format.errors import TableFormatError
from table_format.formats.index_writer import index_file_name
from table_format.indexes.file_index import FileIndexes
from table_format.indexes.index_container import FIRST_READS, FirstReads
from table_format.io.file_io import FileIO
from table_format.io.local import LocalFileIO
from table_format.io.memory import MemoryFileIO
from table_format.kernels.file_index.results import IndexResult
from table_format.metastore.manifest.manifest_store import manifest_file_meta
from table_format.model.manifest import ManifestEntry
from table_format.runtime import Runtime
from tests.corruption.contents import SeededIds, opened
from tests.corruption.index_layout import content_of, places_of
from tests.support.deletion_marks import live
from tests.support.metastore_table import ManualClock

NAME = "db.damaged"
ROWS = 40
EPOCH = date(1970, 1, 1)
COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("name", pa.string()),
        ("city", pa.string()),
        ("amount", pa.int32()),
        ("rank", pa.int32()),
        ("share", pa.float64()),
        ("at", pa.timestamp("us")),
        ("price", pa.decimal128(12, 2)),
        ("paid", pa.bool_()),
        ("day", pa.date32()),
    ]
)
INDEXES = {
    "file-index.bloom-filter.columns": "id,name,at,share",
    "file-index.bitmap.columns": "city,rank,at,paid,name",
    "file-index.bitmap.city.version": "1",
    "file-index.bitmap.at.index-block-size": "40 b",
    "file-index.bsi.columns": "amount,price,day",
    "file-index.range-bitmap.columns": "share,name,id,amount",
    "file-index.range-bitmap.name.chunk-size": "30 b",
    "file-index.range-bitmap.id.chunk-size": "0 b",
    **{f"file-index.bloom-filter.{column}.items": str(ROWS) for column in ("id", "name", "at", "share")},
}
NO_STATISTICS = {"metadata.stats-mode": "none", "write-only": "true"}
SMALL_READS = FirstReads(container=16, index=1)
"""Nearly every head needs several reads."""
MARKS = {"bucket": "1", "deletion-vectors.enabled": "true"}
KINDS: Mapping[str, tuple[list[str], dict[str, str]]] = {
    "parquet": ([], {"bucket": "-1"}),
    "orc": ([], {"bucket": "-1", "file.format": "orc"}),
    "avro": ([], {"bucket": "-1", "file.format": "avro"}),
    "marked": (["id"], MARKS),
}
IN_PARTS = "in parts"
PLACES = {"beside": "1 b", "in manifest": "1 mb", IN_PARTS: "1 b"}
WRITERS = ("ours", "others")
GROUNDS = [
    (kind, place, writer)
    for kind in KINDS
    for place in PLACES
    for writer in WRITERS
    if place != IN_PARTS or writer == "ours"
]

QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "id": ("id = 43", "id IN (2, 81, 1000)", "id > 115", "id <> 7 AND id < 9"),
    "name": ("name = 'n-7'", "name IN ('n-46', 'n-92')", "name >= 'n-9'", "name NOT IN ('n-1', 'x') AND id < 6"),
    "city": ("city = 'Oslo'", "city <> 'Rome'", "city IS NULL", "city > 'Q' AND id < 50"),
    "amount": ("amount = -15", "amount < -40", "amount BETWEEN 40 AND 50", "amount IS NULL"),
    "rank": ("rank = 3", "rank IS NULL", "rank IN (1, 4)", "rank > 4"),
    "share": ("share = 2.5", "share < 1.0", "share >= 9.5"),
    "at": ("at = '2024-01-01T00:00:07'", "at > '2024-01-01T00:01:50'"),
    "price": ("price = 10.75", "price < -8.00", "price > 17.50"),
    "paid": ("paid = true AND id < 90", "paid IS NULL"),
    "day": ("day = '1970-01-04'", "day < '1969-12-25'", "day > '1970-01-20'"),
}


class Outcome(StrEnum):
    SAME = "same rows"
    WARNED = "same rows, and a warning names the file"
    NAMED = "an error names the file"
    HIDDEN = "rows hidden"
    MISCOUNTED = "another count"
    NAMELESS = "an error or a warning names nothing"
    MORE_ROWS = "other rows"


WRONG = (Outcome.NAMELESS, Outcome.MORE_ROWS)


@dataclass(frozen=True)
class Damage:
    """Other bytes for the container of a file; ``may_hide`` says that they may be sound ones of other rows."""

    what: str
    number: int
    data: bytes
    columns: tuple[str, ...]
    may_hide: bool


def some_rows(first: int, count: int) -> pa.Table:
    ids = range(first, first + count)
    cities = ["Oslo", "Rome", "Paris", None, "Quito"]
    columns: list[list[Any]] = [
        list(ids),
        [f"n-{i}" if i % 9 else None for i in ids],
        [cities[i * 7 % 5] for i in ids],
        [i - 60 if i % 11 else None for i in ids],
        [i * 5 % 6 if i % 4 else None for i in ids],
        [i % 20 / 2 for i in ids],
        [1_704_067_200_000_000 + 1_000_000 * i for i in ids],
        [None if i % 13 == 0 else i * 0.25 - 9 for i in ids],
        [None if i % 8 == 0 else i % 3 == 0 for i in ids],
        [EPOCH + timedelta(i % 40 - 12) for i in ids],
    ]
    arrays = [pa.array(c).cast(f.type) for c, f in zip(columns, COLUMNS, strict=True)]
    return pa.table(arrays, schema=COLUMNS)


@dataclass
class IndexGround:
    """A table of three files with indexes, and what it answers without damage.

    The first two files have as many rows; the third has another number. ``directory`` is an empty one for the files,
    which are in memory otherwise; ``IN_PARTS`` needs one.
    """

    kind: str
    place: str
    writer: str
    directory: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    answers: dict[str, list[Any]] = field(default_factory=dict)
    entries: list[ManifestEntry] = field(default_factory=list)
    _exchanged: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        keys, options = KINDS[self.kind]
        store = MemoryFileIO()
        catalog = load_catalog(
            {"warehouse": "/w"}, file_io=store, runtime=Runtime(clock=ManualClock(), ids=SeededIds())
        )
        catalog.create_database("db")
        wanted = {**INDEXES, **NO_STATISTICS, **options, "file-index.in-manifest-threshold": PLACES[self.place]}
        catalog.create_table(NAME, Schema.from_arrow(COLUMNS, primary_keys=keys, options=wanted))
        table = opened(store, SeededIds())
        for first, count in ((0, ROWS), (ROWS, ROWS), (2 * ROWS, ROWS - 3)):
            table.append(some_rows(first, count))
        if keys:
            compacting = table.copy({"write-only": "false", "target-file-size": "1 b"})
            compacting.compact(full=True)
            table.delete("id = 3 OR id = 44")
            compacting.compact()
        self._take(table)
        if self.writer == "others":
            self._rename(lambda file, _: f"{file}.index")
        if self.place == IN_PARTS:
            unique = SeededIds().uuid()
            self._rename(lambda file, data: index_file_name(file, unique, data, min_bytes=0))
            self._write(self.files)
        for question in (question for questions in QUESTIONS.values() for question in questions):
            self.answers[question] = self.ask(self.damaged(None), question)
            assert self.answers[question], question
            assert self.answers[question] == self._without_indexes(question), question

    def _take(self, table: Table) -> None:
        self.table = table
        assert isinstance(table.store.io, MemoryFileIO)
        self.files = dict(_files(table.store.io, "/w"))
        self.entries = sorted(live(table), key=lambda entry: entry.file.file_name)

    def _rename(self, name_of: Callable[[str, bytes], str]) -> None:
        """Give index files other names, by the name of the data file and their content, and exchange the manifests."""
        if self.is_beside:
            for n, entry in enumerate(self.entries):
                path = self.index_path(n)
                name = name_of(entry.file.file_name, self.files[path])
                self.files[f"{path.rpartition('/')[0]}/{name}"] = self.files.pop(path)
                self.entries[n] = replace(entry, file=replace(entry.file, extra_files=(name,)))
        self.files |= self._restated(self.entries)

    def _restated(self, entries: Sequence[ManifestEntry]) -> dict[str, bytes]:
        """One manifest with these entries, and the lists and the snapshot that lead to it."""
        paths, snapshot = self.table.store.paths, self.table.latest_snapshot()
        assert snapshot is not None
        manifest, base, delta = (f"{word}-{UUID(int=n, version=4)}-0" for n, word in enumerate(_MANIFESTS))
        data = encode_manifest(entries)
        meta = manifest_file_meta(manifest, len(data), entries, types=[], schema_id=snapshot.schema_id)
        lists = [encode_manifest_list(metas) for metas in ([meta], [])]
        restated = replace(
            snapshot,
            base_manifest_list=base,
            base_manifest_list_size=len(lists[0]),
            delta_manifest_list=delta,
            delta_manifest_list_size=len(lists[1]),
        )
        names = (manifest, base, delta)
        found = {paths.manifest(name): held for name, held in zip(names, (data, *lists), strict=True)}
        return found | {paths.snapshot(snapshot.id): encode_snapshot(restated)}

    @property
    def is_beside(self) -> bool:
        return self.place != "in manifest"

    def _write(self, files: Mapping[str, bytes]) -> None:
        for path, data in files.items():
            target = Path(f"{self.directory}{path}")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)

    def index_path(self, number: int) -> str:
        (path,) = self.table.store.paths.extra_files("", self.entries[number].bucket, self.entries[number].file)
        return path

    @cached_property
    def containers(self) -> list[bytes]:
        """The indexes of each file."""
        if self.is_beside:
            return [self.files[self.index_path(n)] for n in range(len(self.entries))]
        return [entry.file.embedded_file_index or b"" for entry in self.entries]

    def damaged(self, damage: Damage | None) -> FileIO:
        """The store with the container of one file exchanged; it replaces the one before where files are on disk."""
        if self.place == IN_PARTS:
            self._write({path: self.files[path] for path in self._exchanged})
            changes = self._changes(damage) if damage else {}
            self._exchanged = tuple(changes)
            self._write(changes)
            return LocalFileIO()
        store = MemoryFileIO()
        for path, data in (self.files | (self._changes(damage) if damage else {})).items():
            store.create(path, data)
        return store

    def _changes(self, damage: Damage) -> dict[str, bytes]:
        if self.is_beside:
            return {self.index_path(damage.number): damage.data}

        def changed(entry: ManifestEntry) -> ManifestEntry:
            if entry.file.file_name != self.entries[damage.number].file.file_name:
                return entry
            return replace(entry, file=replace(entry.file, embedded_file_index=damage.data))

        if self.writer == "others":
            return self._restated(list(map(changed, self.entries)))
        path = self._manifest_of(damage.number)
        return {path: encode_manifest(list(map(changed, decode_manifest(self.files[path], path=path))))}

    def _manifest_of(self, number: int) -> str:
        for path, data in self.files.items():
            if "/manifest/manifest-" in path and "/manifest-list-" not in path:
                entries = decode_manifest(data, path=path)
                if any(self.entries[number].file.file_name == entry.file.file_name for entry in entries):
                    return path
        raise AssertionError(number)

    def named(self, damage: Damage) -> str:
        """The file that an error or a warning has to name."""
        if self.is_beside:
            return self.index_path(damage.number)
        if self.writer == "ours":
            return self._manifest_of(damage.number)
        entry = self.entries[damage.number]
        return self.table.store.paths.data_file("", entry.bucket, entry.file)

    def opened(self, store: FileIO) -> Table:
        return opened(store, warehouse=f"{self.directory}/w" if self.place == IN_PARTS else "/w")

    def ask(self, store: FileIO, question: str) -> list[Any]:
        """The ids of the rows that a filter finds."""
        return sorted(self.opened(store).scan(columns=["id"], filter=question).to_arrow(threads=1)["id"].to_pylist())

    def evaluated(self, container: bytes, question: str, first_reads: FirstReads = FIRST_READS) -> IndexResult | None:
        """Return what the container says about the rows of the first file; ``None`` if it is not used."""
        facts = self.table.facts
        condition = parse_filter(question, facts.schema.fields)
        file = replace(self.entries[0].file, extra_files=(), embedded_file_index=container)
        indexes = FileIndexes(facts.store, facts.schemas, facts.schema, first_reads=first_reads)
        with _warnings():
            return indexes.evaluated("", 0, file, lambda index: index.evaluate(condition), None)

    def unread(self, question: str) -> tuple[Outcome, ...]:
        """``SAME`` where the damage may not be read.

        The range of its keys may leave out a file before its index is read, and a look-up reads parts of the index.
        """
        keys, _ = KINDS[self.kind]
        is_unread = self.place == IN_PARTS or any(key in question.split() for key in keys)
        return (Outcome.SAME,) if is_unread else ()

    def _without_indexes(self, question: str) -> list[Any]:
        scan = self.opened(self.damaged(None)).scan(
            columns=["id"], filter=question, options={"file-index.read.enabled": "false"}
        )
        return sorted(scan.to_arrow(threads=1)["id"].to_pylist())

    def outcome(self, damage: Damage, question: str) -> tuple[Outcome, str]:
        """What a scan makes of a damaged index, and what it says of it."""
        expected = self.answers[question]
        with _warnings() as told:
            try:
                store = self.damaged(damage)
                found, count = self.ask(store, question), self.opened(store).scan(filter=question).count()
            except TableFormatError as error:
                is_named = self.named(damage) in str(error)
                return (Outcome.NAMED if is_named else Outcome.NAMELESS), str(error)
        if found != expected:
            return (Outcome.HIDDEN if set(found) < set(expected) else Outcome.MORE_ROWS), str(found)
        if count != len(expected):
            return Outcome.MISCOUNTED, str(count)
        if not told:
            return Outcome.SAME, ""
        is_named = all(self.named(damage) in message for message in told)
        return (Outcome.WARNED if is_named else Outcome.NAMELESS), told[0]


_MANIFESTS = ("manifest", "manifest-list", "manifest-list")


def _files(store: MemoryFileIO, directory: str) -> Iterator[tuple[str, bytes]]:
    for child in store.list(directory):
        path = f"{directory}/{child.name}"
        if child.is_directory:
            yield from _files(store, path)
        else:
            yield path, store.read(path)


class _Listening(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(record.getMessage())


@contextmanager
def _warnings() -> Iterator[list[str]]:
    logger, handler = logging.getLogger("table_format"), _Listening()
    logger.addHandler(handler)
    propagates, logger.propagate = logger.propagate, False
    try:
        yield handler.told
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagates


# --- damages ---------------------------------------------------------------------------------------------------------


def flipped(ground: IndexGround, number: int, chance: random.Random) -> Damage:
    """One bit, or a few; every other time in the structure."""
    data = ground.containers[number]
    content = content_of(data)
    structure = sorted(set(range(len(data))) - content)
    count = chance.choice((1, 1, 1, 2, 5))
    if chance.random() < 0.5:
        count, places = 1, [chance.choice(structure)]
    else:
        places = [chance.randrange(len(data)) for _ in range(count)]
    damaged = bytearray(data)
    for at in places:
        damaged[at] ^= 1 << chance.randrange(8)
    may_hide = not content.isdisjoint(places)
    return Damage(f"bits of bytes {places}", number, bytes(damaged), columns_at(data, places), may_hide)


def cut(ground: IndexGround, number: int, chance: random.Random) -> Damage:
    data = ground.containers[number]
    at = chance.randrange(len(data))
    return Damage(f"cut to {at}", number, data[:at], _some_columns(chance), may_hide=False)


def lengthened(ground: IndexGround, number: int, chance: random.Random) -> Damage:
    data = ground.containers[number] + chance.randbytes(chance.randrange(1, 40))
    return Damage("lengthened", number, data, _some_columns(chance), may_hide=False)


def zeroed(ground: IndexGround, number: int, chance: random.Random) -> Damage:
    data = bytearray(ground.containers[number])
    start = chance.randrange(len(data) // 64) * 64
    data[start : start + 64] = bytes(len(data[start : start + 64]))
    places = range(start, min(start + 64, len(data)))
    return Damage(f"zeros from {start}", number, bytes(data), columns_at(ground.containers[number], places), True)


def lying(ground: IndexGround, number: int, chance: random.Random) -> Damage:
    """A start or a length in the head that is another number."""
    data = bytearray(ground.containers[number])
    place = chance.choice(places_of(ground.containers[number]))
    at = place.stated_at + chance.choice((0, 4))
    (said,) = struct.unpack_from(">i", data, at)
    others = (said - 1, said + 1, said + 4, 0, -1, -(2**31), 2**31 - 1, said * 2, said // 2, len(data))
    lie = max(min(chance.choice([number for number in others if number != said]), 2**31 - 1), -(2**31))
    struct.pack_into(">i", data, at, lie)
    return Damage(f"{lie} for {said} of {place}", number, bytes(data), (place.column,), may_hide=False)


def newer(ground: IndexGround, number: int, chance: random.Random) -> Damage:
    """A version that is not known: of the container, or of one index."""
    data = bytearray(ground.containers[number])
    place = chance.choice(places_of(ground.containers[number]))
    at = {"bloom-filter": None, "range-bitmap": place.start + 4}.get(place.index_type, place.start)
    version = chance.randrange(3, 127)
    if at is None or chance.random() < 0.3:
        struct.pack_into(">i", data, 8, version)
    else:
        data[at] = version
    return Damage(f"version {version} of {place}", number, bytes(data), (place.column,), may_hide=False)


def exchanged(ground: IndexGround, number: int, chance: random.Random) -> Damage:
    """The container of another file: of one with another number of rows that can be noticed, but for bloom filters."""
    other = chance.choice([n for n in range(len(ground.containers)) if n != number])
    return Damage(f"the indexes of file {other}", number, ground.containers[other], _some_columns(chance), True)


def misplaced(ground: IndexGround, number: int, chance: random.Random) -> Damage:
    """An index of another column or another type, under a name that is not its own."""
    indexes = _decoded(ground.containers[number])
    (column, kind), (other, other_kind) = chance.sample(
        [(column, kind) for column, kinds in indexes.items() for kind in kinds], 2
    )
    wanted = {name: dict(kinds) for name, kinds in indexes.items()}
    wanted[column][kind] = indexes[other][other_kind]
    # The version and the number of rows tell types apart: but a number of hash functions can be any.
    may_hide = kind == other_kind or kind == "bloom-filter"
    what = f"{other_kind}({other}) for {kind}({column})"
    return Damage(what, number, encode_file_index(wanted), (column,), may_hide)


def spliced(ground: IndexGround, number: int, chance: random.Random) -> Damage:
    """One index that continues with the bytes of the index of another file or column."""
    indexes = _decoded(ground.containers[number])
    column = chance.choice(sorted(indexes))
    kind = chance.choice(sorted(indexes[column]))
    others = [_decoded(ground.containers[n])[column][kind] for n in range(len(ground.containers)) if n != number]
    others += [kinds[kind] for name, kinds in indexes.items() if name != column and kind in kinds]
    payload, other = indexes[column][kind], chance.choice(others)
    at = chance.randrange(min(len(payload), len(other)))
    wanted = {name: dict(kinds) for name, kinds in indexes.items()}
    wanted[column][kind] = payload[:at] + other[at:]
    return Damage(f"{kind}({column}) of two from {at}", number, encode_file_index(wanted), (column,), True)


def noise(ground: IndexGround, number: int, chance: random.Random) -> Damage:
    """Nothing that was ever an index."""
    data = chance.randbytes(chance.randrange(0, 300))
    return Damage("noise", number, data, _some_columns(chance), may_hide=False)


WAYS = (*4 * (flipped,), cut, lengthened, zeroed, lying, lying, newer, exchanged, misplaced, spliced, noise)
"""Flipped bits come most often."""


def _decoded(container: bytes) -> dict[str, dict[str, bytes]]:
    found: dict[str, dict[str, bytes]] = {}
    for place in places_of(container):
        found.setdefault(place.column, {})[place.index_type] = container[place.start : place.start + place.length]
    return found


def _some_columns(chance: random.Random) -> tuple[str, ...]:
    return tuple(chance.sample(sorted(QUESTIONS), 2))


def columns_at(container: bytes, places: Sequence[int]) -> tuple[str, ...]:
    """The columns whose indexes have one of these bytes; those of a few where the head has."""
    found = {
        place.column
        for place in places_of(container)
        for at in places
        if place.start <= at < place.start + place.length or place.stated_at <= at < place.stated_at + 8
    }
    return tuple(sorted(found)) or ("id", "city", "price")


def random_damages(ground: IndexGround, seed: object, count: int) -> Iterator[Damage]:
    """So many damages, none of which leaves the bytes as they are; always the same ones for a seed."""
    chance = random.Random(f"{ground.kind}/{ground.place}/{ground.writer}/{seed}")
    made = 0
    while made < count:
        number = chance.randrange(len(ground.containers))
        damage = chance.choice(WAYS)(ground, number, chance)
        if damage.data != ground.containers[number]:
            made += 1
            yield damage


def structural_flips(container: bytes) -> Iterator[tuple[int, bytes]]:
    """Every bit of the structure, flipped by itself, with the byte it is in."""
    for at in sorted(set(range(len(container))) - content_of(container)):
        for bit in range(8):
            damaged = bytearray(container)
            damaged[at] ^= 1 << bit
            yield at, bytes(damaged)


@dataclass
class Tally:
    """The outcomes of many damages, each asked one question, and those that went wrong."""

    damages: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    hidden: Counter[str] = field(default_factory=Counter)


def tried(ground: IndexGround, damages: Iterator[Damage], seed: object = 0) -> Tally:
    """Ask the table with each damage by itself questions on the columns that it concerns."""
    tally, chance = Tally(), random.Random(f"questions {seed}")
    for damage in damages:
        tally.damages += 1
        questions = [chance.choice(QUESTIONS[column]) for column in damage.columns[:2]]
        for question in questions:
            outcome, told = ground.outcome(damage, question)
            tally.outcomes[outcome] += 1
            is_other = outcome in (Outcome.HIDDEN, Outcome.MISCOUNTED)
            is_wrong = outcome in WRONG or (is_other and not damage.may_hide)
            if ground.writer == "ours":
                is_wrong = outcome not in (Outcome.WARNED, Outcome.NAMED, *ground.unread(question))
            if is_wrong:
                tally.wrong.append(
                    f"{ground.kind} {ground.place} {ground.writer}, {damage.what}, {question}: {outcome} {told}"
                )
            elif is_other:
                tally.hidden[damage.what.split()[0]] += 1
    return tally


def differ_in_parts(ground: IndexGround, damages: Iterator[Damage], seed: object = 0) -> list[str]:
    """The damages of which an index that is read in small parts says something else than one that is read whole."""
    chance, found = random.Random(f"questions in parts {seed}"), []
    for damage in damages:
        for column in damage.columns[:2]:
            question = chance.choice(QUESTIONS[column])
            whole, parts = (ground.evaluated(damage.data, question, each) for each in (FIRST_READS, SMALL_READS))
            if whole != parts:
                found.append(f"{ground.kind}, {damage.what}, {question}: {parts} in parts, {whole} from all")
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--damages", type=int, default=20_000, help="in all, of all kinds of tables")
    arguments.add_argument("--seed", type=int, default=0)
    chosen = arguments.parse_args()
    total: Counter[Outcome] = Counter()
    damages, wrong = 0, 0
    for kind, place, writer in GROUNDS:
        with tempfile.TemporaryDirectory() as directory:
            ground = IndexGround(kind, place, writer, directory)
            tally = tried(ground, random_damages(ground, chosen.seed, -(-chosen.damages // len(GROUNDS))), chosen.seed)
        total += tally.outcomes
        damages, wrong = damages + tally.damages, wrong + len(tally.wrong)
        shown = ", ".join(f"{count} {outcome}" for outcome, count in tally.outcomes.most_common())
        print(f"{kind:8} {place:12} {writer:7} {tally.damages} damages: {shown}", flush=True)
        print("".join(f"  {text}\n" for text in tally.wrong[:40]), end="", flush=True)
    ground = IndexGround("parquet", "in manifest", "others")
    again = random_damages(ground, f"{chosen.seed} in parts", chosen.damages)
    in_parts = differ_in_parts(ground, again, chosen.seed)
    print("".join(f"  {text}\n" for text in in_parts[:40]), end="")
    print(
        f"{chosen.damages} damaged indexes read in small parts: {len(in_parts)} differ from those that are read whole"
    )
    shown = ", ".join(f"{count} {outcome}" for outcome, count in total.most_common())
    print(f"{damages} damaged indexes, {wrong} wrong: {shown}")
    raise SystemExit(bool(wrong or in_parts))


if __name__ == "__main__":
    main()
