"""Random queries: a reading of a table and a chain of operations on the frame, as text of Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from table_format.model.types import (
    NESTED,
    BytesType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    FloatingType,
    IntegerType,
    MapType,
    MultisetType,
    TextType,
)
from tests.queries.conditions import random_condition
from tests.queries.tables import DIVISOR, TWIN, RandomTable

_JOINS: Final = ("inner", "left", "right", "full", "left_semi", "left_anti")


@dataclass(frozen=True)
class Reading:
    """What of a table a frame is made of."""

    options: Mapping[str, str]
    filter: str | None

    @property
    def key(self) -> tuple[tuple[tuple[str, str], ...], str | None]:
        """What tells readings apart."""
        return tuple(sorted(self.options.items())), self.filter


@dataclass(frozen=True)
class Query:
    """A frame, perhaps by ``format("paimon")``, another one to join it with, and what is done with them."""

    frame: str
    plain: str
    """The same with the frame of the rows that one process reads, ``rows[n]``."""
    readings: tuple[Reading, ...]
    steps: str


@dataclass(frozen=True)
class Column:
    """A column of a frame as the chain has it."""

    name: str
    type: DataType

    @property
    def sql(self) -> str:
        """The name as SQL of Spark."""
        return "`" + self.name.replace("`", "``") + "`"


def random_readings(found: RandomTable, chance: Random, count: int) -> list[Reading]:
    """Readings of one table: of the latest snapshot as it is, and of others."""
    readings = [Reading({}, None)]
    while len(readings) < count:
        start = chance.choice(found.starts) if chance.random() < 0.4 else {}
        plain = found.table.schema.fields
        condition = (
            random_condition(plain, found.seen, chance).library if not start and chance.random() < 0.75 else None
        )
        readings.append(Reading(start, condition))
    return readings


def random_query(
    found: RandomTable,
    readings: Sequence[Reading],
    fields: Sequence[Sequence[DataField]],
    ways: Sequence[Mapping[str, str]],
    chance: Random,
    *,
    by_path: bool,
) -> Query:
    """A query on some of the readings, whose columns are ``fields``; ``ways`` are options that may change no result."""
    at = chance.randrange(len(readings))
    reading, columns = readings[at], [Column(f.name, f.type) for f in fields[at]]
    options = {**reading.options, **chance.choice(ways)}
    used = [reading]
    if by_path and reading.filter is None:
        frame, plain = f"BY_PATH({options!r})", "rows[0]"
    else:
        shown = ""
        if chance.random() < 0.35:
            columns = chance.sample(columns, chance.randrange(1, len(columns) + 1))
            shown = f", columns={[c.name for c in columns]!r}"
        plain = f"rows[0].select({', '.join(repr(c.sql) for c in columns)})"
        if chance.random() < 0.12 and all(_is_ordered(c) for c in columns):
            # All columns, so that which rows are the first is certain.
            count, words = chance.choice((0, 1, 3, 10)), [chance.choice(("asc", "desc")) for _ in columns]
            order = [f"{_quoted(c.name)} {word}" for c, word in zip(columns, words, strict=True)]
            shown += f", order_by={order!r}, limit={count}"
            theirs = ", ".join(f"F.{word}({c.sql!r})" for c, word in zip(columns, words, strict=True))
            plain += f".orderBy({theirs}).limit({count})"
        frame = f"lake.table({found.name!r}{shown}, filter={reading.filter!r}, **{options!r})"
    may_divide = found.is_clean and not reading.options and any(c.name == DIVISOR for c in columns)
    chain = _Chain(columns, found.seen, chance, may_divide=may_divide)
    for _ in range(chance.choice((0, 1, 1, 2, 2, 3, 4))):
        chain.step()
    if chance.random() < 0.2:
        other = chance.randrange(len(readings))
        used.append(readings[other])
        chain.combine(found.name, readings[other], [Column(f.name, f.type) for f in fields[other]])
        if chance.random() < 0.4:
            chain.step()
    return Query(frame, plain, tuple(used), "".join(chain.steps))


class _Chain:
    """Operations one after the other, and the columns that the frame has then."""

    def __init__(
        self, columns: Sequence[Column], seen: Mapping[str, Sequence[Any]], chance: Random, *, may_divide: bool
    ) -> None:
        self.steps: list[str] = []
        self._columns = list(columns)
        self._seen = seen
        self._chance = chance
        self._may_divide = may_divide
        self._joined: Column | None = None

    def step(self) -> None:
        """One more operation."""
        chance = self._chance
        operations = [self._where] * 6 + [self._select] * 3 + [self._drop, self._add, self._group, self._group]
        operations += [self._first, self._distinct, self._limit, self._count]
        chance.choice(operations)()

    def _where(self) -> None:
        method = self._chance.choice(("where", "where", "filter"))
        self.steps.append(f".{method}({self._condition()!r})")

    def _condition(self) -> str:
        chance = self._chance
        if self._may_divide and chance.random() < 0.25:
            inferred = (f"{DIVISOR} = {TWIN} AND 10 / {TWIN} > 1", f"10 % {TWIN} = 0 AND {TWIN} = {DIVISOR}")
            return chance.choice(
                (
                    *(inferred if any(c.name == TWIN for c in self._columns) else ()),
                    f"10 / {DIVISOR} > 4",
                    f"10 % {DIVISOR} = 0",
                    f"{DIVISOR} IS NULL OR assert_true({DIVISOR} <> 0) IS NULL",
                    f"if({DIVISOR} = 0, raise_error('a row that is not there'), {DIVISOR}) > 1",
                )
            )
        if chance.random() < 0.2:
            return self._function()
        fields = [DataField(n, c.name, c.type) for n, c in enumerate(self._columns)]
        return random_condition(fields, self._seen, chance).spark

    def _function(self) -> str:
        column = self._chance.choice(self._columns)
        match column.type:
            case IntegerType():
                return f"try_add({column.sql}, 1) > 0"
            case DecimalType():
                return f"abs({column.sql}) < 5"
            case TextType():
                return self._chance.choice((f"length({column.sql}) > 1", f"upper({column.sql}) <> {column.sql}"))
            case DateType():
                return self._chance.choice((f"year({column.sql}) < 1900", f"{column.sql} < current_date()"))
            case BytesType():
                return f"length({column.sql}) = 3"
        return f"coalesce({column.sql} IS NULL, false)"

    def _select(self) -> None:
        kept = self._chance.sample(self._columns, self._chance.randrange(1, len(self._columns) + 1))
        self.steps.append(f".select({', '.join(repr(c.sql) for c in kept)})")
        self._columns = kept

    def _drop(self) -> None:
        if len(self._columns) > 1:
            gone = self._chance.choice(self._columns)
            self.steps.append(f".drop({gone.name!r})")
            self._columns.remove(gone)

    def _add(self) -> None:
        self.steps.append(f".withColumn('added', F.expr({self._condition()!r}))")
        self._columns = [c for c in self._columns if c.name.lower() != "added"]
        self._may_divide = self._may_divide and any(c.name == DIVISOR for c in self._columns)
        self.steps.append(f".select({', '.join(repr(c.sql) for c in self._columns)}, 'added')" if self._columns else "")

    def _group(self) -> None:
        chance = self._chance
        plain = [c for c in self._columns if _is_comparable(c)]
        keys = chance.sample(plain, min(len(plain), chance.randrange(3)))
        whole = [c for c in plain if isinstance(c.type, IntegerType)]
        totals = ["F.count(F.lit(1)).alias('a0')"]
        if plain:
            one = chance.choice(plain)
            functions = ("count", "countDistinct", *(("min", "max") if _is_ordered(one) else ()))
            totals.append(f"F.{chance.choice(functions)}({one.sql!r}).alias('a1')")
        if whole:
            totals.append(f"F.sum(F.col({chance.choice(whole).sql!r}).cast('decimal(38,0)')).alias('a2')")
        self.steps.append(f".groupBy({', '.join(repr(c.sql) for c in keys)}).agg({', '.join(totals)})")
        self._columns = keys
        self._may_divide = False
        if not keys:
            self.steps.append(".select('a0')" if chance.random() < 0.3 else "")
            self._finish()

    def _first(self) -> None:
        columns = [*self._columns, *([self._joined] if self._joined else [])]
        if all(_is_ordered(c) for c in columns):
            order = ", ".join(f"F.{self._chance.choice(('asc', 'desc'))}({c.sql!r})" for c in columns)
            self.steps.append(f".orderBy({order}).limit({self._chance.choice((0, 1, 2, 5, 1000))})")

    def _distinct(self) -> None:
        if all(_is_comparable(c) for c in self._columns):
            self.steps.append(".distinct()")

    def _limit(self) -> None:
        """Which rows these are is not said, but how many."""
        self.steps.append(f".limit({self._chance.choice((0, 1, 3, 7, 100))}).groupBy().count()")
        self._finish()

    def _count(self) -> None:
        self.steps.append(".groupBy().count()")
        self._finish()

    def _finish(self) -> None:
        """Nothing but a number is left: further steps would say nothing."""
        self.step = lambda: None  # type: ignore[method-assign]
        self._columns = []

    def combine(self, name: str, reading: Reading, columns: Sequence[Column]) -> None:
        """A join or a set operation with another frame."""
        if not self._columns:
            return
        chance = self._chance
        mine = [c for c in self._columns if _is_comparable(c)]
        theirs = [c for c in columns if any(c.type == m.type for m in mine)]
        other = f"OTHER({name!r}, {reading.filter!r}, {dict(reading.options)!r})"
        if mine and theirs and chance.random() < 0.6:
            right = chance.choice(theirs)
            left = chance.choice([m for m in mine if m.type == right.type])
            other += f".select(F.col({right.sql!r}).alias('jk'))"
            join = chance.choice(_JOINS)
            self.steps.append(f".join({other}, F.col({left.sql!r}) == F.col('jk'), {join!r})")
            # Without a row on the left, only the column of the right side distinguishes rows.
            self._joined = Column("jk", right.type) if join in ("right", "full") else None
            self._may_divide = False
            return
        by_name = {c.name: c.type for c in columns}
        shared = [c for c in self._columns if by_name.get(c.name) == c.type and _is_comparable(c)]
        if not shared:
            return
        names = ", ".join(repr(c.sql) for c in shared)
        operation = chance.choice(("union", "unionByName", "intersect", "exceptAll", "subtract"))
        self.steps.append(f".select({names}).{operation}({other}.select({names}))")
        self._columns = shared
        self._may_divide = False


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _is_ordered(column: Column) -> bool:
    """Whether values that look different are different: 0.0 and -0.0 are not."""
    return _is_comparable(column) and not isinstance(column.type, FloatingType)


def _is_comparable(column: Column) -> bool:
    return not isinstance(column.type, MapType | MultisetType) and not isinstance(column.type, NESTED)
