"""Kinds of tables for histories of open writes, and what a table must hold after rows were committed to it.

A row of the model maps the ids of columns to values, so that it means the same under every schema. It also knows which
rows its writer went on from: in a table without a sequence field, a row wins over these.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from table_format.model.schema import TableSchema

ID, P, V, S = range(4)
COLUMNS: Final = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("p", pa.string(), nullable=False),
        ("v", pa.int32()),
        ("s", pa.int64()),
    ]
)
PARTITIONS: Final = ("a", "b")
MARKS: Final = {"deletion-vectors.enabled": "true"}


@dataclass(frozen=True)
class Row:
    """A row that was written: its number, its values by the ids of columns, and the rows that its writer knew."""

    number: int
    values: Mapping[int, Any]
    is_delete: bool
    seen: frozenset[int]


Rows = tuple[Row, ...]
"""The rows of a snapshot in the order of their commits; an overwrite leaves some out."""


@dataclass(frozen=True)
class Kind:
    """How a table keeps its rows. ``engine`` is ``append`` without a primary key."""

    engine: str
    keys: tuple[str, ...]
    options: Mapping[str, str]

    @property
    def is_fixed(self) -> bool:
        return int(self.options["bucket"]) > 0

    @property
    def crosses(self) -> bool:
        return self.keys == ("id",)

    @property
    def has_sequence(self) -> bool:
        return "sequence.field" in self.options

    @property
    def takes_deletes(self) -> bool:
        # With a sequence field, an earlier row comes back after a compaction has removed the deletion of a later one.
        return self.engine == "deduplicate" and not self.has_sequence

    @property
    def kept(self) -> frozenset[int]:
        """The columns that must stay, because options name them."""
        return frozenset((ID, P, S)) if self.engine != "aggregation" else frozenset((ID, P))

    @property
    def shows_all(self) -> bool:
        """Whether a read shows rows that were not compacted yet."""
        hides = self.engine == "first-row" or self.options["bucket"] == "-2" or (self.keys and self.has_marks)
        return not hides

    @property
    def has_marks(self) -> bool:
        return "deletion-vectors.enabled" in self.options

    @property
    def producer(self) -> str:
        return self.options.get("changelog-producer", "none")


ENGINES: Final = {
    "append": {},
    "deduplicate": {},
    "aggregation": {"merge-engine": "aggregation", "fields.default-aggregate-function": "sum"},
    "partial-update": {"merge-engine": "partial-update", "fields.s.sequence-group": "v"},
    "first-row": {"merge-engine": "first-row"},
}


def drawn_kind(draw: random.Random) -> Kind:
    """Draw a kind of table."""
    engine = draw.choice(
        ("append", "deduplicate", "deduplicate", "aggregation", "aggregation", "partial-update", "first-row")
    )
    options = dict(ENGINES[engine])
    if engine == "append":
        options |= {"bucket": "2", "bucket-key": "id"} if draw.random() < 0.5 else {"bucket": "-1"}
        if draw.random() < 0.4:
            options |= MARKS
        return Kind(engine, (), options)
    return _keyed_kind(draw, engine, options)


def _keyed_kind(draw: random.Random, engine: str, options: dict[str, str]) -> Kind:
    options["num-sorted-run.compaction-trigger"] = str(draw.randrange(2, 5))
    keys: tuple[str, ...] = ("id", "p")
    is_first_row = engine == "first-row"
    place = draw.choice(("fixed", "fixed", "fixed", "dynamic", "crossing", "postponed"))
    if place == "fixed" or (place == "postponed" and is_first_row):
        options["bucket"] = str(draw.randrange(1, 3))
    elif place == "postponed":
        options["bucket"] = "-2"
    else:
        options |= {"bucket": "-1", "dynamic-bucket.target-row-num": str(draw.randrange(2, 9))}
        keys = ("id",) if place == "crossing" else keys
    if engine == "deduplicate" and place != "crossing" and draw.random() < 0.5:
        options["sequence.field"] = "s"
    producers = ("none", "lookup") if is_first_row else ("none", "none", "none", "lookup", "full-compaction")
    options["changelog-producer"] = draw.choice(producers)
    if not is_first_row and draw.random() < 0.3 and options["changelog-producer"] != "full-compaction":
        options |= MARKS
    if draw.random() < 0.2:
        options["write-only"] = "true"
    return Kind(engine, keys, options)


# --- what a table must hold -------------------------------------------------------------------------------------------


def key_of(kind: Kind, row: Row) -> tuple[Any, ...]:
    return (row.values[ID],) if kind.crosses else (row.values[ID], row.values[P])


def find_difference(kind: Kind, schema: TableSchema, rows: Rows, found: pa.Table) -> str | None:
    """Say how the rows of a read differ from what must be in the table; ``None`` if they do not."""
    ids = {f.name: f.id for f in schema.fields}
    shown = [{ids[name]: value for name, value in row.items()} for row in found.to_pylist()]
    if kind.engine == "append":
        return _multisets(schema, rows, shown)
    by_key: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        by_key[key_of(kind, row)].append(row)
    seen: dict[tuple[Any, ...], dict[int, Any]] = {}
    for values in shown:
        key = (values[ID],) if kind.crosses else (values[ID], values[P])
        if key in seen:
            return f"key {key} is there twice: {seen[key]} and {values}"
        seen[key] = values
    for key in sorted(by_key.keys() | seen.keys()):
        if key not in by_key:
            return f"key {key} was never written: {seen[key]}"
        problem = _problem(kind, schema, by_key[key], seen.get(key))
        if problem is not None:
            return (
                f"key {key}: {problem}; written were {[(r.number, dict(r.values), r.is_delete) for r in by_key[key]]}"
            )
    return None


def _multisets(schema: TableSchema, rows: Rows, shown: Sequence[Mapping[int, Any]]) -> str | None:
    ids = [f.id for f in schema.fields]
    wanted = sorted(repr([row.values.get(i) for i in ids]) for row in rows)
    there = sorted(repr([row[i] for i in ids]) for row in shown)
    if wanted == there:
        return None
    lost, more = list(wanted), []
    for text in there:
        if text in lost:
            lost.remove(text)
        else:
            more.append(text)
    return f"lost rows {lost}, wrong or doubled rows {more}"


def _problem(kind: Kind, schema: TableSchema, rows: Sequence[Row], found: Mapping[int, Any] | None) -> str | None:
    ids = [f.id for f in schema.fields]
    if kind.engine == "deduplicate":
        return _no_winner(rows, found, ids, by_sequence=kind.has_sequence)
    if found is None:
        return "is missing"
    for i in ids:
        values = [row.values.get(i) for row in rows]
        known = [value for value in values if value is not None]
        match kind.engine:
            case "first-row":
                allowed: set[Any] = set(values)
            case "aggregation" if i not in (ID, P):
                allowed = {sum(known) if known else None}
            case "partial-update" if i == V:
                allowed = {max(rows, key=lambda row: row.values[S]).values.get(V)}
            case "partial-update" if i == S:
                allowed = {max(known)}
            case _:
                allowed = set(known) or {None}
        if i == P and kind.crosses:
            continue  # the partition of rows that were not committed, perhaps
        if found[i] not in allowed:
            return f"column {i} is {found[i]} and must be {sorted(allowed, key=repr)}"
    return None


def _no_winner(
    rows: Sequence[Row], found: Mapping[int, Any] | None, ids: Sequence[int], *, by_sequence: bool
) -> str | None:
    if by_sequence:
        winners = [max(rows, key=lambda row: row.values[S])]
    else:
        # Messages of one write that are committed in another order may win in either.
        winners = [row for place, row in enumerate(rows) if not any(row.number in r.seen for r in rows[place + 1 :])]
    allowed = [None if row.is_delete else [row.values.get(i) for i in ids] for row in winners]
    there = None if found is None else [found[i] for i in ids]
    return None if there in allowed else f"is {there}, and must be one of {allowed}"


@dataclass
class Source:
    """Makes rows with numbers of their own."""

    draw: random.Random
    made: int = 0
    keys: int = 8
    sequences: set[int] = field(default_factory=set)

    def rows(self, kind: Kind, schema: TableSchema, seen: frozenset[int]) -> Rows:
        """Some rows with all columns of a schema, each key once."""
        ids = self.draw.sample(range(self.keys), self.draw.randrange(1, 5))
        found = []
        for key in ids:
            self.made += 1
            values: dict[int, Any] = {f.id: self.draw.choice((None, self.draw.randrange(1, 50))) for f in schema.fields}
            values |= {ID: key, P: self.draw.choice(PARTITIONS)}
            if V in values:
                values[V] = self.made * 100 + 7
            if S in values:
                values[S] = (self.made + self.draw.randrange(-9, 9)) * 10_000 + self.made
            is_delete = kind.takes_deletes and self.draw.random() < 0.15
            found.append(Row(self.made, values, is_delete, seen))
        return tuple(found)


def arrow_of(kind: Kind, schema: TableSchema, columns: pa.Schema, rows: Iterable[Row]) -> pa.Table:
    """The rows as a writer with this schema gets them."""
    listed = list(rows)
    arrays = {
        f.name: pa.array([row.values.get(f.id) for row in listed], columns.field(f.name).type) for f in schema.fields
    }
    if kind.takes_deletes:
        arrays["_row_kind"] = pa.array(["-D" if row.is_delete else "+I" for row in listed])
    return pa.table(arrays)
