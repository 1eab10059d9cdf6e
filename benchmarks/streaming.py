"""Micro-batches of 100,000 rows from table to table, compared with batch jobs of the same rows.

    python -m benchmarks.streaming --rows 100000 --commits 8

The source has a commit for each micro-batch. Each line is the cost of one of several micro-batches or batch jobs: wall
seconds are the median, CPU seconds the mean over all processes. The first one is not counted; its additional time is
printed as ``start``. The next line has the parts of a micro-batch that Spark reports, in milliseconds. ``read``
discards the rows, ``parquet`` is Spark without this library.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.measure import cpu_seconds
from benchmarks.spark_session import session
from table_format.spark import Lake, paimon

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

COLUMNS: Final = (
    "cast(id as bigint) AS id",
    "concat('name-', id % 1000) AS name",
    "cast(id % 100 AS int) AS n",
    "cast(id AS double) / 7 AS amount",
    "sha2(cast(id AS string), 256) AS text",
)
TARGETS: Final = {"keyed": "'primary-key' = 'id', 'bucket' = '2', 'write-only' = 'true'", "append": "'bucket' = '-1'"}
ONE_COMMIT: Final = {"scan.mode": "from-snapshot", "scan.snapshot-id": "1", "read.stream.maxFilesPerTrigger": "1"}
POLL_S: Final = 0.1
"""The interval between two checks of the progress of a query."""

Way = Callable[[str, "Meter"], None]
"""Reads the commits of the source and writes them to a table, or discards them."""


class Meter:
    """The cost of the commits of one way. ``ended`` is called after more commits are complete."""

    def __init__(self) -> None:
        self.walls: list[float] = []
        self.parts: list[Mapping[str, int]] = []
        self.cpu_s = self.start_s = 0.0
        self._wall = self._cpu = 0.0
        self._warm = 0
        self._began = time.perf_counter()

    def ended(self, walls: Sequence[float]) -> None:
        """Take the wall seconds of commits."""
        wall, cpu = time.perf_counter(), cpu_seconds(os.getpid())
        if not self.walls:
            self._wall, self._cpu, self._warm = wall, cpu, len(walls)
        self.walls += walls
        if len(self.walls) > self._warm:
            self.cpu_s = (cpu - self._cpu) / (len(self.walls) - self._warm)
            self.start_s = self._wall - self._began - self._warm * self.wall_s

    def shown_parts(self) -> str:
        """Return the time of each part of a micro-batch, as Spark reports it."""
        names = sorted({name for parts in self.parts[1:] for name in parts} - {"triggerExecution"})
        return ", ".join(f"{name} {statistics.median(p.get(name, 0) for p in self.parts[1:]):.0f}" for name in names)

    @property
    def wall_s(self) -> float:
        """The median without the first."""
        return statistics.median(self.walls[1:])


class Streaming:
    """The lake, a source with many commits, and the ways to copy them to another table."""

    def __init__(self, lake: Lake, scratch: Path, *, rows: int, commits: int) -> None:
        self.lake, self.scratch, self.commits, self.runs = lake, scratch, commits, 0
        lake.catalog.create_database("b")
        self._create("s", "'bucket' = '-1'")
        for number in range(commits):
            frame = lake.spark.range(number * rows, (number + 1) * rows, 1, 1).selectExpr(*COLUMNS)
            lake.write(frame, "b.s")
            frame.write.mode("append").parquet(str(scratch / "plain" / str(number)))

    def _create(self, name: str, properties: str) -> None:
        columns = "id BIGINT NOT NULL, name STRING, n INT, amount DOUBLE, text STRING"
        self.lake.sql(f"CREATE TABLE b.{name} ({columns}) TBLPROPERTIES ({properties})")

    def ways(self) -> dict[str, dict[str, Way]]:
        """Return the ways by workload and name. The first of each workload is a batch job."""
        writing: dict[str, Way] = {
            "lake.write": lambda name, meter: self._batches(meter, lambda rows: self.lake.write(rows, name)),
            "format('paimon')": lambda name, meter: self._query(meter, lambda rows: self._by_format(rows, name)),
            "lake.write_stream": lambda name, meter: self._query(meter, lambda rows: self._by_lake(rows, name)),
        }
        reading: dict[str, Way] = {
            "lake.table": lambda _, meter: self._batches(meter, _to_nowhere),
            "lake.read_stream": lambda _, meter: self._query(meter, self._nowhere),
        }
        plain: dict[str, Way] = {
            "read.parquet": lambda name, meter: self._plain_batches(meter, name),
            "readStream.parquet": lambda name, meter: self._watched(meter, self._plain_query(name)),
        }
        plain_reading: dict[str, Way] = {
            "read.parquet": lambda _, meter: self._plain_batches(meter, None),
            "readStream.parquet": lambda _, meter: self._watched(meter, self._nowhere(self._plain_stream())),
        }
        return {"parquet, read": plain_reading, "read": reading, "parquet": plain, **dict.fromkeys(TARGETS, writing)}

    def measure(self, what: str, way: Way) -> Meter:
        """Copy all commits to a new table."""
        self.runs += 1
        if what in TARGETS:
            self._create(f"d{self.runs}", TARGETS[what])
        meter = Meter()
        way(f"b.d{self.runs}", meter)
        return meter

    def _batches(self, meter: Meter, write: Callable[[DataFrame], object]) -> None:
        for number in range(self.commits):
            began = time.perf_counter()
            options: dict[str, Any] = {"incremental-between": f"{number},{number + 1}"}
            write(self.lake.table("b.s", **options))
            meter.ended([time.perf_counter() - began])

    def _query(self, meter: Meter, start: Callable[[DataFrame], StreamingQuery]) -> None:
        self._watched(meter, start(self.lake.read_stream("b.s", **ONE_COMMIT)))

    def _watched(self, meter: Meter, query: StreamingQuery) -> None:
        found = 0
        try:
            while found < self.commits:
                failure = query.exception()
                if failure is not None:
                    raise failure
                progress = [p for p in query.recentProgress if p["numInputRows"]]
                if len(progress) > found:
                    meter.parts += [p["durationMs"] for p in progress[found:]]
                    meter.ended([p["durationMs"]["triggerExecution"] / 1000 for p in progress[found:]])
                    found = len(progress)
                time.sleep(POLL_S)
        finally:
            query.stop()

    def _plain_batches(self, meter: Meter, name: str | None) -> None:
        for number in range(self.commits):
            began = time.perf_counter()
            rows = self.lake.spark.read.parquet(str(self.scratch / "plain" / str(number)))
            if name is None:
                _to_nowhere(rows)
            else:
                rows.write.mode("append").parquet(str(self.scratch / name))
            meter.ended([time.perf_counter() - began])

    def _plain_stream(self) -> DataFrame:
        place = self.scratch / "plain"
        schema = self.lake.spark.read.parquet(str(place / "0")).schema
        return self.lake.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(place / "*"))

    def _plain_query(self, name: str) -> StreamingQuery:
        writer = self._plain_stream().writeStream.format("parquet").option("checkpointLocation", self._checkpoint())
        return writer.start(str(self.scratch / name))

    def _checkpoint(self) -> str:
        return str(self.scratch / f"checkpoint-{self.runs}")

    def _by_format(self, frame: DataFrame, name: str) -> StreamingQuery:
        writer = frame.writeStream.format("paimon").option("checkpointLocation", self._checkpoint())
        return writer.start(self.lake.catalog.load_table(name).store.paths.root)

    def _by_lake(self, frame: DataFrame, name: str) -> StreamingQuery:
        return self.lake.write_stream(frame, name, checkpoint=self._checkpoint())

    def _nowhere(self, frame: DataFrame) -> StreamingQuery:
        return frame.writeStream.format("noop").option("checkpointLocation", self._checkpoint()).start()


def _to_nowhere(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def main() -> None:
    """Print a line for each target and way."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streaming", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="rows of a micro-batch")
    parser.add_argument("--commits", type=int, default=8, help="micro-batches of each way")
    arguments = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="streaming-"))
    spark = session(scratch)
    lake = paimon(spark, {"warehouse": str(scratch / "w")})
    streaming = Streaming(lake, scratch, rows=arguments.rows, commits=arguments.commits)
    for what, ways in streaming.ways().items():
        base: Meter | None = None
        for name, way in ways.items():
            found = streaming.measure(what, way)
            base = base or found
            print(
                f"{what:14} {name:20} {found.wall_s:6.2f} s wall {found.cpu_s:6.2f} s CPU "
                f"{found.wall_s / base.wall_s:5.2f} x wall {found.cpu_s / base.cpu_s:5.2f} x CPU, "
                f"start {found.start_s:5.1f} s",
                flush=True,
            )
            if found.parts:
                print(f"{'':36}{found.shown_parts()}", flush=True)
    spark.stop()
    shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
