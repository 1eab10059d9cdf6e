"""Tables of a warehouse, read by Spark and by a single process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

from table_format import Schema
from table_format.spark import Lake, paimon
from table_format.table.table import Table

KEYED = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
DATED = pa.schema([pa.field("dt", pa.string(), nullable=False), *KEYED])

_GROUPS = count()


@dataclass(frozen=True)
class TestLake:
    """A lake with one database ``s``."""

    __test__ = False

    lake: Lake
    warehouse: Path

    @property
    def spark(self) -> Any:
        return self.lake.spark

    def create(
        self,
        name: str = "t",
        schema: pa.Schema = KEYED,
        *,
        primary_keys: Sequence[str] = ("id",),
        partition_keys: Sequence[str] = (),
        **options: str,
    ) -> Table:
        """Create a table ``s.<name>``, with two buckets if it has a primary key; ``_`` in options becomes ``-``."""
        given = {key.replace("_", "-"): value for key, value in options.items()}
        if primary_keys:
            given.setdefault("bucket", "2")
        wanted = Schema.from_arrow(schema, primary_keys, partition_keys, given)
        table = self.lake.catalog.create_table(f"s.{name}", wanted)
        assert isinstance(table, Table)
        return table

    def table(self, name: str = "t") -> Table:
        opened = self.lake.catalog.load_table(f"s.{name}")
        assert isinstance(opened, Table)
        return opened

    def frame(self, rows: Sequence[Sequence[object]], schema: str) -> Any:
        return self.spark.createDataFrame(list(rows), schema)

    def write(
        self, rows: Sequence[Sequence[object]], schema: str = "id long, v string", name: str = "t", **how: Any
    ) -> Any:
        return self.lake.write(self.frame(rows, schema), f"s.{name}", **how)

    def append(self, rows: Sequence[Sequence[object]], name: str = "t") -> None:
        """Write rows in this process, which takes a few milliseconds: for tests that are not about writing on Spark."""
        table = self.table(name)
        schema = table.arrow_schema
        columns = zip(*rows, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        table.append(pa.Table.from_arrays(arrays, schema=schema))

    def rows(self, name: str = "t", **arguments: Any) -> list[tuple[Any, ...]]:
        """Return the rows that Spark reads, and check that a single process reads the same."""
        found = rows_of(self.lake.table(f"s.{name}", **arguments))
        assert found == self.rows_alone(name, **arguments)
        return found

    def rows_alone(self, name: str = "t", **arguments: Any) -> list[tuple[Any, ...]]:
        """Return the rows that a single process reads: for tests that are not about reading on Spark."""
        options = {key: arguments.pop(key) for key in list(arguments) if key not in ("columns", "filter")}
        alone = self.table(name).scan(options=options, **arguments).to_arrow()
        return sorted(zip(*(c.to_pylist() for c in alone.columns), strict=True), key=repr)

    def files(self, name: str = "t") -> list[str]:
        """Return the data files of a table."""
        root = Path(self.table(name).store.paths.root)
        return sorted(str(path.relative_to(root)) for path in root.rglob("data-*"))


def a_lake(spark: Any, warehouse: Path, options: Mapping[str, str] | None = None) -> TestLake:
    lake = paimon(spark, {"warehouse": str(warehouse), **(options or {})})
    lake.catalog.create_database("s", ignore_if_exists=True)
    return TestLake(lake, warehouse)


def rows_of(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def jobs_of(spark: Any, work: Callable[[], object]) -> list[list[int]]:
    """Return the Spark jobs that some work starts, each as the numbers of tasks of its stages in order."""
    context = spark.sparkContext
    group = f"group-{next(_GROUPS)}"
    context.setJobGroup(group, "")
    try:
        work()
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    # Spark records its jobs in a separate thread, which may lag behind.
    context._jsc.sc().listenerBus().waitUntilEmpty()
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in sorted(tracker.getJobIdsForGroup(group))]
    # Spark keeps the stages of a job as a hash set, so only their ids give the order.
    return [[tracker.getStageInfo(stage).numTasks for stage in sorted(job.stageIds)] for job in jobs]


def plan_of(frame: Any) -> str:
    """Return the physical plan as text."""
    text: str = frame._jdf.queryExecution().executedPlan().toString()
    return text
