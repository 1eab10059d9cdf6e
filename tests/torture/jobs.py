"""What writers do, and what a table holds after it: a model that shares nothing with the library.

A job is drawn from its writer, its number and the table's kind, so the commit user and identifier of a snapshot say
what it has to change. Columns come and types widen while writers hold older handles. The snapshot's properties say
which of them the writer knew.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyarrow as pa

from tests.torture.kinds import Kind

KEYS: Final = 60
"""Keys of one writer."""

FIRST_STREAM: Final = 10
"""Writers with this number or a larger one keep one write open for many commits."""

FORK_WRITER: Final = 20
"""The writer of branches to which the main branch is fast-forwarded."""

DAYS: Final = ("d1", "d2", "d3")
LARGE: Final = 1 << 40
"""Added to values once the column holds them: a narrower handle would cut it off."""

COLUMNS_PROPERTY: Final = "torture.columns"
WIDE_PROPERTY: Final = "torture.wide"
_FIXED: Final = ("who", "k", "dt", "v")

Row: TypeAlias = tuple[tuple[str, object], ...]
"""The values of a row that are not null, by column, sorted."""


@dataclass(frozen=True, slots=True)
class Job:
    """One commit of a writer: rows, or a DELETE or UPDATE of the writer's own rows."""

    who: int
    number: int
    action: str
    keys: tuple[int, ...]
    removed: frozenset[int] = frozenset()
    remainder: tuple[int, int] = (1, 0)

    @property
    def user(self) -> str:
        """The commit user of the writer."""
        return f"w{self.who}"

    @property
    def where(self) -> str:
        """The filter of a DELETE or UPDATE."""
        divisor, rest = self.remainder
        keys = ", ".join(str(key) for key in range(KEYS) if key % divisor == rest)
        return f"who = {self.who} AND k IN ({keys})"

    def hits(self, key: int) -> bool:
        """Whether the filter selects a key."""
        divisor, rest = self.remainder
        return key % divisor == rest


def job_of(kind: Kind, who: int, number: int) -> Job:
    """The job of that number. Streams only write."""
    rng = random.Random(f"{kind.name}/{who}/{number}")
    changes = kind.changes_rows and who < FIRST_STREAM
    action = rng.choices(("write", "update", "delete"), (6, 2, 1))[0] if changes else "write"
    keys = tuple(sorted(rng.sample(range(KEYS), rng.randint(1, KEYS // 3))))
    removed = frozenset(key for key in keys if kind.is_keyed and kind.writes_deletes and rng.random() < 0.2)
    divisor = rng.choice((2, 3, 5, 7))
    return Job(who, number, action, keys, removed, (divisor, rng.randrange(divisor)))


def owner_of(kind: Kind, job: Job) -> int:
    """Whose keys a job writes: writers share the keys of a table that adds up."""
    return 0 if kind.adds_up else job.who


def day_of(kind: Kind, job: Job, key: int) -> str:
    """The partition of a key: it stays there, unless keys move."""
    moves = job.number if kind.moves_keys else 0
    return DAYS[(key + moves) % len(DAYS)]


def value_of(job: Job, key: int, *, wide: bool) -> int:
    """What a job writes for a key."""
    return 1000 * job.number + key + (LARGE if wide else 0)


def rows_of(kind: Kind, job: Job, schema: pa.Schema) -> pa.Table:
    """The rows of a job that writes, in the columns that the writer knows."""
    wide = is_wide(schema)
    data: dict[str, list[object]] = {name: [] for name in schema.names}
    for key in job.keys:
        row = dict(_row(kind, job, key, extra_columns(schema), wide=wide))
        for name, values in data.items():
            values.append(row.get(name))
    table = pa.table(data, schema=schema)
    if kind.is_keyed:
        kinds = ["-D" if key in job.removed else "+I" for key in job.keys]
        table = table.append_column("_row_kind", pa.array(kinds))
    return table


def extra_columns(schema: pa.Schema) -> tuple[str, ...]:
    """The columns that came later."""
    return tuple(name for name in schema.names if name not in _FIXED)


def is_wide(schema: pa.Schema) -> bool:
    """Whether the column of values has been widened."""
    return bool(schema.field("v").type == pa.int64())


def properties_of(schema: pa.Schema) -> Mapping[str, str]:
    """What a commit says of the schema it was made under."""
    return {COLUMNS_PROPERTY: ",".join(extra_columns(schema)), WIDE_PROPERTY: str(is_wide(schema))}


def _row(kind: Kind, job: Job, key: int, columns: tuple[str, ...], *, wide: bool) -> Row:
    value = value_of(job, key, wide=wide)
    row: dict[str, object] = {"who": owner_of(kind, job), "k": key, "dt": day_of(kind, job, key), "v": value}
    row.update((name, f"{name}-{value}") for name in columns)
    return tuple(sorted(row.items()))


class Model:
    """The rows of the table after each commit, by key or, without a primary key, as a list of versions."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._rows: dict[tuple[int, ...], dict[str, object]] = {}
        self._past: dict[tuple[int, ...], set[Row]] = {}

    def apply(self, job: Job, properties: Mapping[str, str]) -> bool:
        """Do what the job does, under the schema the properties name; whether that changed anything."""
        columns = tuple(name for name in properties[COLUMNS_PROPERTY].split(",") if name)
        wide = properties[WIDE_PROPERTY] == "True"
        before = dict(self._rows)
        match job.action:
            case "write":
                for key in job.keys:
                    self._write(job, key, dict(_row(self._kind, job, key, columns, wide=wide)))
            case "update":
                for place, row in list(self._rows.items()):
                    if place[0] == job.who and job.hits(place[1]):
                        value = row["v"]
                        assert isinstance(value, int)
                        self._put(place, {**row, "v": value + 1})
            case "delete":
                for place in list(self._rows):
                    if place[0] == job.who and job.hits(place[1]):
                        self._put(place, None)
        return before != self._rows

    def _write(self, job: Job, key: int, row: dict[str, object]) -> None:
        if not self._kind.is_keyed:
            self._put((job.who, key, job.number), row)
            return
        place = (owner_of(self._kind, job), key)
        if key in job.removed:
            self._put(place, None)
            return
        old = self._rows.get(place)
        if self._kind.adds_up and old is not None:
            total = old["v"]
            value = row["v"]
            assert isinstance(total, int)
            assert isinstance(value, int)
            largest = {name: max(str(old.get(name, "")), str(row.get(name, ""))) for name in {*old, *row} - set(_FIXED)}
            row = {**row, **largest, "v": total + value}
        self._put(place, row)

    def _put(self, place: tuple[int, ...], row: dict[str, object] | None) -> None:
        old = self._rows.pop(place, None)
        past = self._past.setdefault(place[:2], set())
        if old is not None:
            past.add(tuple(sorted(old.items())))
        if row is not None:
            self._rows[place] = row

    def state(self) -> Mapping[tuple[int, ...], dict[str, object]]:
        """What ``go_back`` returns to."""
        return dict(self._rows)  # rows are replaced, never changed

    def go_back(self, state: Mapping[tuple[int, ...], dict[str, object]]) -> None:
        """Return to an earlier state."""
        self._rows = dict(state)

    def rows(self) -> list[Row]:
        """All rows, sorted."""
        return sorted(tuple(sorted(row.items())) for row in self._rows.values())

    def has_been(self, row: Row) -> bool:
        """Whether the row is or was that of its key."""
        facts = dict(row)
        place = (facts["who"], facts["k"])
        assert isinstance(place[0], int)
        assert isinstance(place[1], int)
        now = (tuple(sorted(r.items())) for p, r in self._rows.items() if p[:2] == place)
        return row in self._past.get((place[0], place[1]), ()) or row in now


def found_rows(table: pa.Table) -> list[Row]:
    """The rows of a scan as the model has them: without nulls, sorted."""
    return sorted(
        tuple(sorted((name, value) for name, value in row.items() if value is not None)) for row in table.to_pylist()
    )


def digest(rows: Sequence[Row]) -> str:
    """A short text that is the same for the same rows."""
    return hashlib.sha256(repr(rows).encode()).hexdigest()
