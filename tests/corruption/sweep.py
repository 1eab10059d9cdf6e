"""Damages one file of a table in every way, one at a time: ``python -m tests.corruption.sweep`` counts what happens.

A damaged file may read as before, or raise an error of the library that names a file of the table; nothing else. Files
are first given to their decoder: only what still decodes, to other facts, is worth a scan of the table.
"""

from __future__ import annotations

import argparse
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any

import pyarrow as pa

from table_format import Table, load_catalog
from table_format.errors import CorruptionError, InvalidOption, TableFormatError, UnsupportedFeature
from table_format.io.file_io import FileStatus
from table_format.io.memory import MemoryFileIO
from table_format.model.identifier import Identifier

Rows = list[tuple[Any, ...]]


class Outcome(StrEnum):
    SAME = "same rows"
    NAMED = "error that names a file"
    NAMELESS = "error that names nothing"
    OTHER_ROWS = "other rows"


@dataclass(frozen=True)
class Target:
    """A file, how it is decoded, and the reading of the table that needs it."""

    kind: str
    path: str
    decode: Callable[[bytes, str], object]
    read: Callable[[Table], Rows]


@dataclass
class Tally:
    """What happened to one file."""

    kind: str
    size: int
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    failures: list[tuple[Outcome, str]] = field(default_factory=list)

    @property
    def damages(self) -> int:
        return self.outcomes.total()


class DamagedFileIO(MemoryFileIO):
    """A store in which one file has other bytes."""

    def __init__(self, below: MemoryFileIO, path: str, data: bytes) -> None:
        self.__dict__.update(below.__dict__)
        self._damaged, self._bytes = path, data

    def read(self, path: str) -> bytes:
        return self._bytes if path == self._damaged else super().read(path)

    def open_input(self, path: str) -> pa.NativeFile:
        return pa.BufferReader(self.read(path))

    def status(self, path: str) -> FileStatus | None:
        found = super().status(path)
        return replace(found, size=len(self._bytes)) if found is not None and path == self._damaged else found


def truncations(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Every shorter file."""
    for length in range(len(data)):
        yield f"cut to {length}", data[:length]


def flips(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Every file that differs in one bit."""
    for position in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[position] ^= 1 << bit
            yield f"bit {bit} of byte {position}", bytes(damaged)


def random_damages(count: int, data: bytes) -> Iterator[tuple[str, bytes]]:
    """So many files that differ in one bit, in a burst of bits, or in their length, always the same ones."""
    chance = random.Random(len(data))
    for number in range(count):
        damaged = bytearray(data)
        if number % 10 == 9:
            del damaged[chance.randrange(len(data)) :]
        for _ in range(1 if number % 3 else chance.randrange(1, 9)):
            if damaged:
                damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        yield f"damage {number}", bytes(damaged)


def damage_in_every_way(
    store: MemoryFileIO,
    identifier: Identifier,
    target: Target,
    ways: Callable[[bytes], Iterator[tuple[str, bytes]]],
) -> Tally:
    """Try all damages of a kind on a file, and count the outcomes."""
    data = store.read(target.path)
    facts = target.decode(data, target.path)
    expected = target.read(opened(store, identifier))
    tally = Tally(target.kind, len(data))
    for what, damaged in ways(data):
        outcome = _outcome(store, identifier, target, damaged, facts, expected)
        tally.outcomes[outcome] += 1
        if outcome in (Outcome.NAMELESS, Outcome.OTHER_ROWS):
            tally.failures.append((outcome, what))
    return tally


def opened(store: MemoryFileIO, identifier: Identifier) -> Table:
    table = load_catalog({"warehouse": "/w"}, file_io=store).load_table(str(identifier))
    assert isinstance(table, Table)
    return table


def _outcome(
    store: MemoryFileIO, identifier: Identifier, target: Target, damaged: bytes, facts: object, expected: Rows
) -> Outcome:
    try:
        if target.decode(damaged, target.path) == facts:
            return Outcome.SAME
    except CorruptionError as error:
        return Outcome.NAMED if target.path in str(error) else Outcome.NAMELESS
    except TableFormatError:
        pass  # a feature that the damaged file seems to need: the reading says which
    try:
        found = target.read(opened(DamagedFileIO(store, target.path, damaged), identifier))
    except TableFormatError as error:
        named = isinstance(error, InvalidOption | UnsupportedFeature)  # they name the option or feature in the schema
        named = named or identifier.table in str(error) or any(name in str(error) for name in _file_names(store))
        return Outcome.NAMED if named else Outcome.NAMELESS
    return Outcome.SAME if found == expected else Outcome.OTHER_ROWS


def _file_names(store: MemoryFileIO) -> Iterator[str]:
    directories = ["/w"]
    while directories:
        directory = directories.pop()
        for child in store.list(directory):
            if child.is_directory:
                directories.append(f"{directory}/{child.name}")
            else:
                yield child.name


def main() -> None:
    from tests.corruption.targets import data_files, worlds

    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--show", action="store_true", help="name the damages that went wrong")
    arguments.add_argument("--data", type=int, default=0, help="instead, so many damages of a data file in each format")
    arguments.add_argument(
        "--contents", type=int, default=0, help="instead, so many damages and exchanges of files for each operation"
    )
    arguments.add_argument("--seed", type=int, default=0, help="of --contents")
    chosen = arguments.parse_args()
    if chosen.contents:
        _sweep_contents(chosen.contents, chosen.seed)
        return
    if chosen.data:
        store, identifier, targets = data_files()
        for target in targets:
            _report("random", damage_in_every_way(store, identifier, target, partial(random_damages, chosen.data)))
        return
    for store, identifier, targets in worlds():
        for target in targets:
            for ways in (truncations, flips):
                tally = damage_in_every_way(store, identifier, target, ways)
                _report(ways.__name__, tally, show=chosen.show)


def _sweep_contents(trials: int, seed: int) -> None:
    from tests.corruption.contents import OPERATIONS, TABLES, Ground, count, randomly

    logging.disable(logging.WARNING)  # of indexes that are not used
    total: Counter[Outcome] = Counter()
    for kind in TABLES:
        ground = Ground(kind)
        for operation in OPERATIONS:
            found = count(ground, operation, randomly(ground, f"{operation}/{seed}", trials))
            total += found.outcomes
            shown = ", ".join(f"{number} {outcome}" for outcome, number in found.outcomes.most_common())
            print(f"{kind:22} {operation:20} {shown}", *found.wrong, sep="\n  " if found.wrong else " ", flush=True)
    print(f"{total.total()} trials:", ", ".join(f"{number} {outcome}" for outcome, number in total.most_common()))


def _report(ways: str, tally: Tally, *, show: bool = False) -> None:
    counts = ", ".join(f"{count} {outcome}" for outcome, count in tally.outcomes.most_common())
    print(f"{tally.kind:18} {ways:12} {tally.damages:7} damages of {tally.size} bytes: {counts}", flush=True)
    if show:
        print("\n".join(f"  {outcome}: {what}" for outcome, what in tally.failures))


if __name__ == "__main__":
    main()
