"""Random writes by Spark and by one process into two tables that are made alike, which have to hold the same rows."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from table_format import Table
from table_format.errors import TableFormatError
from table_format.model.schema_change import SetOption
from table_format.model.types import DataField
from table_format.spark.tasks.read_work import for_spark
from table_format.spark.types import frame_schema
from tests.queries.options import ways
from tests.queries.sessions import BATCH_ROWS, CASE, random_settings, settings_of
from tests.queries.tables import random_rows, random_table

if TYPE_CHECKING:
    from tests.queries.run import Outcome


@dataclass(frozen=True)
class RandomWrite:
    """Rows, and how they are written."""

    rows: pa.Table
    is_overwrite: bool
    partition: Mapping[str, Any] | None
    parallelism: int | None
    order: Sequence[int]
    """The columns of the frame, by their number in the table."""
    lacks_partition: bool
    """Whether the frame has no column for the partition."""
    options: Mapping[str, str]
    settings: Mapping[str, str]


def search_writes(lake: Any, seed: int, numbers: Sequence[int], outcome: Outcome) -> None:
    """The writes of those numbers, each into a table of its own."""
    for number in numbers:
        try:
            said = difference_of_write(lake, seed, number, outcome)
        except Exception:  # noqa: BLE001 - it is reported, and the search goes on
            said = traceback.format_exc()
        if said is not None:
            outcome.differences.append(f"# python -m tests.queries --seed {seed} --write {number}\n{said}\n")


def difference_of_write(lake: Any, seed: int, number: int, outcome: Outcome) -> str | None:
    """Write the same rows twice, by Spark and by one process; how the results differ, if they do."""
    chance = Random(f"write {seed}-{number}")
    spark_table, alone = (
        random_table(lake.catalog, f"w{seed}-{number}", f"w{seed}_{number}_{who}").table for who in ("spark", "alone")
    )
    write = _random_write(alone, chance)
    outcome.see(_features(alone, write))
    if write.options:
        lake.catalog.alter_table(str(spark_table.identifier), [SetOption(*option) for option in write.options.items()])
    with settings_of(lake.spark, write.settings):
        by_spark = _failure(lambda: _write_by_spark(lake, spark_table, write))
    by_one = _failure(lambda: _write_alone(alone, write))
    shown = f"{write}\noptions {dict(alone.schema.options)}\nfields {alone.schema.fields}\n"
    if by_spark != by_one:
        return f"{shown}Spark: {by_spark}\none process: {by_one}"
    found, expected = (sorted(map(repr, t.current().scan().to_arrow().to_pylist())) for t in (spark_table, alone))
    if found == expected:
        return None
    extra, lost = ([row for row in a if row not in b][:3] for a, b in ((found, expected), (expected, found)))
    return f"{shown}too many: {extra}\nmissing: {lost}"


def _features(table: Table, write: RandomWrite) -> Iterator[str]:
    yield f"write: into merge engine {table.schema.options.get('merge-engine', 'none')}"
    yield f"write: {'overwrite' if write.is_overwrite else 'append'}"
    yield from (f"write: {key} {value}" for key, value in write.options.items())


def _random_write(table: Table, chance: Random) -> RandomWrite:
    rows = random_rows(table, chance.choice((0, 1, 5, 40)), chance)
    is_overwrite = chance.random() < 0.3
    partition: dict[str, Any] | None = None
    if is_overwrite and table.schema.partition_keys and rows.num_rows:
        key = table.schema.partition_keys[0]
        partition = {key: rows[key][0].as_py()}
        rows = rows.filter(pa.array([value == partition[key] for value in rows[key].to_pylist()]))
    names = [field.name.lower() for field in table.schema.fields]
    case = {CASE: "true"} if len(set(names)) < len(names) else {}
    return RandomWrite(
        rows,
        is_overwrite,
        partition,
        chance.choice((None, 1, 2, 3)),
        chance.sample(range(rows.num_columns), rows.num_columns),
        partition is not None and chance.random() < 0.5,
        chance.choice(ways("spark.write.", table.schema)),
        {**random_settings(chance), **case},
    )


def _write_by_spark(lake: Any, table: Table, write: RandomWrite) -> None:
    frame = frame_of_rows(lake.spark, write.rows, table.schema.fields)
    columns = [frame.columns[number] for number in write.order]
    if write.lacks_partition:
        columns = [name for name in columns if name not in (write.partition or {})]
    frame = frame.select(*("`" + name.replace("`", "``") + "`" for name in columns))
    how: dict[str, Any] = {"mode": "overwrite", "partition": write.partition} if write.is_overwrite else {}
    lake.write(frame, str(table.identifier), parallelism=write.parallelism, **how)


def _write_alone(table: Table, write: RandomWrite) -> None:
    if write.is_overwrite:
        table.overwrite(write.rows, partition=write.partition)
    else:
        table.append(write.rows)


def frame_of_rows(spark: Any, rows: pa.Table, fields: Sequence[DataField]) -> Any:
    """Rows of a table as a frame of plain Spark."""
    schema = frame_schema(fields)
    if not rows.num_rows:
        return spark.createDataFrame([], schema)
    zone = spark.conf.get("spark.sql.session.timeZone")
    batches = [for_spark(batch, zone=zone) for batch in rows.combine_chunks().to_batches()]
    # Spark refuses a table of Arrow where batches have no bound.
    with settings_of(spark, {BATCH_ROWS: "10000"} if spark.conf.get(BATCH_ROWS) == "0" else {}):
        return spark.createDataFrame(pa.Table.from_batches(batches), schema)


def _failure(work: Callable[[], object]) -> str | None:
    """What stops the work: the kind of an error of the library, or all that any other error says."""
    try:
        work()
    except TableFormatError as error:
        return type(error).__name__
    except Exception as error:  # noqa: BLE001 - of any kind, to be compared
        return f"{type(error).__name__}: {str(error)[:1500]}"
    return None
