"""Runs queries, many in one job, and compares what comes with what plain Spark makes of the rows of one process."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.classic.dataframe import DataFrame

from table_format.errors import UnsupportedFeature
from table_format.model.types import DataField
from table_format.table.read.scan import Scan, shown_schema
from tests.queries.bounds import bounds_of, random_bounds
from tests.queries.features import features_of_query, features_of_table, seen_ways
from tests.queries.options import ways
from tests.queries.queries import Query, Reading, random_query, random_readings
from tests.queries.sessions import BATCH_ROWS, CASE, random_settings, settings_of
from tests.queries.tables import RandomTable, random_table
from tests.queries.unions import united
from tests.queries.writes import frame_of_rows

AT_ONCE: Final = 50
"""Queries of one job."""
READINGS: Final = 6
"""Readings of one table, whose rows one process reads."""
_PART_BY_PATH: Final = 0.05
_CONDITION: Final = re.compile(r"\[([A-Z_.]+)\]")


@dataclass
class Outcome:
    """What was run, and the differences as scripts."""

    queries: int = 0
    tables: int = 0
    differences: list[str] = field(default_factory=list)
    features: Counter[str] = field(default_factory=Counter)
    """Queries that were about each feature, and tables of each merge engine."""

    def see(self, features: Iterable[str]) -> None:
        """One more query, or write, about these."""
        self.features.update(features)


@dataclass(frozen=True)
class Batch:
    """Queries of one table in one session."""

    found: RandomTable
    number: int
    settings: Mapping[str, str]
    bounds: Mapping[str, int]
    queries: Sequence[Query]
    rows: Mapping[Any, pa.Table]
    fields: Mapping[Any, Sequence[DataField]]


def search_table(lake: Any, seed: int, number: int, count: int, outcome: Outcome, only: int | None = None) -> None:
    """So many queries on the table of that number."""
    found = random_table(lake.catalog, f"{seed}-{number}", f"t{seed}_{number}")
    outcome.tables += 1
    outcome.features[f"tables of merge engine {found.engine}"] += 1
    for first in range(0, count, AT_ONCE):
        batch = _batch(lake, found, seed, number, first, min(AT_ONCE, count - first))
        if only is not None and not first <= only < first + AT_ONCE:
            continue
        wanted = range(len(batch.queries)) if only is None else [only - first]
        outcome.queries += len(wanted)
        with settings_of(lake.spark, batch.settings), bounds_of(batch.bounds):
            for at, said in _differences(lake, batch, list(wanted), outcome):
                outcome.differences.append(_script(batch, seed, number, first, at, said))
            if only is None:
                outcome.queries += 1
                outcome.differences += _wrong_count(lake, batch)


def _batch(lake: Any, found: RandomTable, seed: int, number: int, first: int, count: int) -> Batch:
    chance = Random(f"queries {seed}-{number}-{first}")
    readings, fields, rows = [], [], {}
    for reading in random_readings(found, chance, READINGS):
        table = found.table.copy(reading.options)
        own = shown_schema(table.facts).fields
        with suppress(UnsupportedFeature):
            rows[reading.key] = Scan(table.facts, None, reading.filter).to_arrow()
            readings.append(reading)
            fields.append(own)
    ways_to_read = ways("spark.read.", found.table.schema)
    settings = random_settings(chance)
    # Spark refuses to read a Python data source without a bound.
    part_by_path = 0 if settings.get(BATCH_ROWS) == "0" else _PART_BY_PATH
    queries = [
        random_query(found, readings, fields, ways_to_read, chance, by_path=chance.random() < part_by_path)
        for _ in range(count)
    ]
    if any(len({f.name.lower() for f in own}) < len(own) for own in fields):
        settings[CASE] = "true"
    shown = {reading.key: own for reading, own in zip(readings, fields, strict=True)}
    return Batch(found, number, settings, random_bounds(chance), queries, rows, shown)


class _Frames:
    """The frames of a batch: those of the library, and plain ones with the rows that one process reads."""

    def __init__(self, lake: Any, batch: Batch) -> None:
        self._lake = lake
        self._batch = batch
        self._plain: dict[Any, Any] = {}
        self._by_path: dict[Any, Any] = {}

    def plain(self, reading: Reading) -> Any:
        """The rows of one process as a frame."""
        if reading.key not in self._plain:
            rows, fields = self._batch.rows[reading.key], self._batch.fields[reading.key]
            self._plain[reading.key] = frame_of_rows(self._lake.spark, rows, fields)
        return self._plain[reading.key]

    def found(self, query: Query) -> Any:
        """The frame that the library makes."""
        lake, spark = self._lake, self._lake.spark

        def other(name: str, condition: str | None, options: Mapping[str, str]) -> Any:
            return lake.table(name, filter=condition, **options)

        def by_path(options: Mapping[str, str]) -> Any:
            # The same frame for all queries: Spark must not mix up what they ask of it.
            key = tuple(sorted(options.items()))
            if key not in self._by_path:
                path = self._batch.found.table.store.paths.root
                self._by_path[key] = spark.read.format("paimon").options(**options).load(path)
            return self._by_path[key]

        names = {"lake": lake, "F": F, "OTHER": other, "BY_PATH": by_path}
        return eval(query.frame + query.steps, names)  # noqa: S307 - text of this package

    def expected(self, query: Query, *, is_scanned: bool = False) -> Any:
        """The same on the rows of one process; when ``is_scanned``, Spark knows no row while it plans."""
        rows = [self.plain(reading) for reading in query.readings]
        if is_scanned:
            rows = [frame.localCheckpoint() for frame in rows]

        def other(name: str, condition: str | None, options: Mapping[str, str]) -> Any:
            return rows[-1]

        names = {"F": F, "rows": rows, "OTHER": other}
        return eval(query.plain + query.steps, names)  # noqa: S307 - text of this package


def _texts(frame: Any, tag: int) -> Any:
    """The rows of a frame as texts, with a number that tells the frame apart."""
    types = [kind for _, kind in frame.dtypes]
    plain = frame.toDF(*(f"x{n}" for n in range(len(types))))
    shown = [f"hex(x{n})" if kind == "binary" else f"cast(x{n} AS string)" for n, kind in enumerate(types)]
    values = ", ".join(f"coalesce({text}, '\\u0000null')" for text in shown)
    texts = plain.selectExpr(f"{tag} AS tag", f"to_json(array({values})) AS row" if shown else "'' AS row")
    # Planned now, by itself, as a user's frame is, and not as a part of the job with all the others.
    return DataFrame(texts._jdf, frame.sparkSession)


def _differences(lake: Any, batch: Batch, wanted: Sequence[int], outcome: Outcome) -> list[tuple[int, str]]:
    """The queries whose rows differ, and how."""
    frames = _Frames(lake, batch)
    texts: dict[int, Sequence[Any]] = {}
    found: list[tuple[int, str]] = []
    of_table = tuple(features_of_table(batch.found))
    for at in wanted:
        query = batch.queries[at]
        with seen_ways() as seen:
            try:
                texts[at] = (_texts(frames.found(query), 2 * at), _texts(frames.expected(query), 2 * at + 1))
            except Exception as error:  # noqa: BLE001 - of any kind, to be compared
                seen.add("query: fails when it is planned")
                found += _compare_errors(frames, query, at, error)
        outcome.see((*of_table, *features_of_query(query), *seen))
    return found + _different_texts(lake.spark, batch, frames, texts)


def _different_texts(
    spark: Any, batch: Batch, frames: _Frames, texts: Mapping[int, Sequence[Any]]
) -> list[tuple[int, str]]:
    """The queries whose rows differ, and how; those of a job that fails are run by halves."""
    if not texts:
        return []
    wanted = list(texts)
    try:
        collected = united(spark, [frame for both in texts.values() for frame in both]).collect()
    except Exception as error:  # noqa: BLE001 - of any kind, to be compared
        if len(wanted) == 1:
            return _compare_errors(frames, batch.queries[wanted[0]], wanted[0], error)
        halves = wanted[: len(wanted) // 2], wanted[len(wanted) // 2 :]
        return [
            difference
            for half in halves
            for difference in _different_texts(spark, batch, frames, {at: texts[at] for at in half})
        ]
    rows: dict[int, list[str]] = {}
    for tag, row in collected:
        rows.setdefault(tag, []).append(row)
    found = []
    for at in wanted:
        shown, expected = Counter(rows.get(2 * at, ())), Counter(rows.get(2 * at + 1, ()))
        if shown != expected:
            extra, lost = list((shown - expected).items())[:5], list((expected - shown).items())[:5]
            found.append((at, f"too many: {extra}\nmissing: {lost}"))
    return found


def _wrong_count(lake: Any, batch: Batch) -> list[str]:
    """The number of rows of one reading, as ``Lake.count`` and a frame say, if it is another one."""
    reading, rows = next((r, batch.rows[r.key]) for q in batch.queries for r in q.readings)
    name, options = batch.found.name, dict(reading.options)
    counts = (
        lake.count(name, filter=reading.filter, **options),
        lake.table(name, filter=reading.filter, **options).count(),
    )
    if set(counts) == {rows.num_rows}:
        return []
    shown = f"# {name} {batch.settings} {batch.bounds} {reading}"
    return [f"{shown}: Lake.count and a frame say {counts}, one process {rows.num_rows}"]


def _compare_errors(frames: _Frames, query: Query, at: int, error: Exception) -> list[tuple[int, str]]:
    """A query that fails: on plain Spark it has to fail in the same way.

    Spark computes filters of rows that it knows while it plans. A condition that it infers for the other side of a join
    may fail on a row there, and is computed on no row if the planned side turns out to be empty.
    """
    expected = _failure(frames, query, is_scanned=False) or _failure(frames, query, is_scanned=True)
    shown = f"failed with {type(error).__name__}: {str(error)[:3000]}"
    if expected is None:
        return [(at, shown)]
    if _condition_of(error) == _condition_of(expected):
        return []
    return [(at, f"{shown}\nplain Spark with {type(expected).__name__}: {expected}")]


def _failure(frames: _Frames, query: Query, *, is_scanned: bool) -> Exception | None:
    try:
        _texts(frames.expected(query, is_scanned=is_scanned), 0).collect()
    except (PySparkException, Py4JJavaError) as error:
        return error
    return None


def _condition_of(error: Exception) -> str:
    """The name of an error of Spark; PySpark does not convert those of the threads that broadcast."""
    if isinstance(error, PySparkException):
        return error.getCondition() or str(error)
    found = _CONDITION.search(str(error))
    return found[1] if found else str(error)


def _script(batch: Batch, seed: int, number: int, first: int, at: int, said: str) -> str:
    query = batch.queries[at]
    settings = "".join(f"spark.conf.set({k!r}, {v!r})\n" for k, v in batch.settings.items())
    return (
        f"# python -m tests.queries --seed {seed} --table {number} --query {first + at}\n"
        f"# or, with a Lake on an empty warehouse that has a database 'q':\n"
        f"found = random_table(lake.catalog, '{seed}-{number}', 't{seed}_{number}')  # of tests.queries.tables\n"
        f"spark, path = lake.spark, found.table.store.paths.root\n"
        f"def OTHER(name, condition, options): return lake.table(name, filter=condition, **options)\n"
        f"def BY_PATH(options): return spark.read.format('paimon').options(**options).load(path)\n"
        f"{settings}# bounds {dict(batch.bounds)}\n{query.frame}{query.steps}.show()\n{said}\n"
    )
