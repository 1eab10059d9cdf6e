"""What a query was about, so that the end of a run says what was compared, and how often."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from table_format.model.types import DataType
from table_format.spark.read import frames, positions
from table_format.spark.read.positions import Positions
from table_format.spark.read.spark_parquet import Division, is_merged
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan
from tests.queries.queries import Query
from tests.queries.tables import RandomTable

_STEPS = {
    "where": (".where(", ".filter("),
    "aggregates": (".groupBy(",),
    "join": (".join(",),
    "set operation": (".union(", ".unionByName(", ".intersect(", ".exceptAll(", ".subtract("),
    "limit": ("limit=", ".limit("),
    "columns=": ("columns=",),
    "error on rows that are not there": ("10 / z", "10 % z", "assert_true", "raise_error"),
    "format('paimon')": ("BY_PATH(",),
}


def features_of_table(found: RandomTable) -> Iterator[str]:
    """What the table is."""
    schema, options = found.table.schema, found.table.schema.options
    yield f"merge engine {found.engine}"
    yield f"files {options.get('file.format', 'parquet')}"
    for data_type in {_name(field.type) for field in schema.fields}:
        yield f"type {data_type}"
    flags = {
        "deletion vectors": options.get("deletion-vectors.enabled") == "true",
        "sequence field": "sequence.field" in options,
        "partitions": bool(schema.partition_keys),
        "dynamic buckets": bool(schema.primary_keys) and options.get("bucket") == "-1",
        "append table": not schema.primary_keys,
    }
    yield from (name for name, is_there in flags.items() if is_there)
    yield from (f"history: {happened}" for happened in found.history)


def _name(data_type: DataType) -> str:
    return type(data_type).__name__.removesuffix("Type")


def features_of_query(query: Query) -> Iterator[str]:
    """What the query does."""
    text = query.frame + query.steps
    yield from (f"query: {name}" for name, words in _STEPS.items() if any(word in text for word in words))
    readings = query.readings
    if any(reading.filter is not None for reading in readings):
        yield "query: filter="
    if any(reading.options for reading in readings):
        yield "query: a snapshot or a tag"
    for way in ("auto", "positions", "merge"):
        if f"'spark.read.merged-rows': '{way}'" in text:
            yield f"forced: {way}"


@contextmanager
def seen_ways() -> Iterator[set[str]]:
    """Who reads the frames that are planned in the block."""
    seen: set[str] = set()
    divide, by_tasks = frames.divide, positions._by_tasks

    def watched(plan: Plan, facts: TableFacts, found: Positions | None = None) -> Division:
        division = divide(plan, facts, found)
        by_spark = bool(division.whole or division.with_deletions)
        is_merging = any(is_merged(split) for split in plan.splits)
        way = "nothing to merge" if not is_merging else "merged" if found is None else "positions"
        readers = {(True, True): "both in a union", (True, False): "Spark's reader", (False, True): "Python"}
        if by_spark or division.python:
            seen.add(f"way: {way}, read by {readers[by_spark, bool(division.python)]}")
        if sum(map(len, (*division.whole.values(), *division.with_deletions.values()))) > 200:
            seen.add("way: more than 200 files by Spark's reader")
        return division

    def compared(*arguments: Any) -> Any:
        seen.add("way: positions found by a job of Spark")
        return by_tasks(*arguments)

    with patch.object(frames, "divide", watched), patch.object(positions, "_by_tasks", compared):
        yield seen
