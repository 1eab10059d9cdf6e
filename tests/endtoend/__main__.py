"""The shop end to end: ``python -m tests.endtoend`` loads ten days in random order while everything else happens.

The days are loaded by backfills of ranges. Maintenance runs beside them, one run is terminated, one worker and one JVM
are killed, somebody else commits, and a table is rolled back. In the end the tables are compared with a computation
from the feed alone, and are read by the real Apache Paimon where it is installed.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, date, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, Final

from assets.feed.plan import FIRST_DAY, FeedPlan
from dagster_paimon import LakehouseCatalog
from jobs.demo_clicks import write_clicks
from tests.endtoend.dagster_server import DagsterServer, dagster_server
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.install import VERSIONS
from tests.oracle.peer import DIRECTORY, PaimonPeer
from tests.support.shop_source import expected_funnel, expected_orders, expected_revenue, expected_values
from tests.support.spark_session import interpreting_java

INGEST: Final = "ingest"
CLICKS: Final = 40
WEEK: Final = 7
"""Days of a run of a backfill of ``mart/daily_revenue``."""
RANGES: Final = 4
"""Backfills that load the days; three of their runs are struck at."""

_DONE: Final = ("SUCCESS", "FAILURE", "CANCELED")
_FIRST: Final = "dagster/asset_partition_range_start"
_LAST: Final = "dagster/asset_partition_range_end"


class Scenario:
    """The steps, on one server and one warehouse."""

    def __init__(self, server: DagsterServer, lakehouse: LakehouseCatalog, days: int, seed: int) -> None:
        self.server = server
        self.lakehouse = lakehouse
        self.days = [(FIRST_DAY + timedelta(days=n)).isoformat() for n in range(days)]
        self.random = Random(seed)
        self.began = time.monotonic()

    def say(self, text: str) -> None:
        print(f"[{time.monotonic() - self.began:5.0f} s] {text}", flush=True)

    def load_in_random_order(self) -> None:
        """Backfill ranges of days in random order, and strike at three of the runs."""
        ranges = self._ranges()
        self.say(f"backfills in the order {', '.join(span(days) for days in ranges)}")
        backfills = [self.server.backfill(INGEST, days) for days in ranges]
        write_clicks(self.lakehouse, count=CLICKS)
        self.server.start_sensor("external_snapshots")
        self._terminate_one()
        self._kill_a_worker()
        self._kill_a_jvm()
        exists = self.lakehouse.catalog().table_exists
        self.server.wait_for("there is a table to maintain", lambda: exists("dwd.orders"), seconds=900)
        config = {"ops": {"maintain": {"config": {"pattern": "dwd.*", "on_spark": False}}}}
        # Ahead of the runs that wait, so that both are at work at once.
        ahead = {"dagster/priority": "10"}
        maintenance = [self.server.launch("maintain_table", config=config, tags=ahead) for _ in range(2)]
        for backfill in backfills:
            self._wait_for_backfill(backfill)
        assert [self.server.status(run) for run in maintenance] == ["SUCCESS", "SUCCESS"]

    def _ranges(self) -> list[list[str]]:
        """The days in ranges of random lengths, and these in random order."""
        lengths = range(1, len(self.days))
        cuts = [0, *sorted(self.random.sample(lengths, min(RANGES, len(self.days)) - 1)), len(self.days)]
        ranges = [self.days[start:end] for start, end in pairwise(cuts)]
        self.random.shuffle(ranges)
        return ranges

    def _terminate_one(self) -> None:
        """Terminate a run at work; another one, if it ends by itself before it gets the signal."""
        while True:
            run, worker = self.server.wait_for("a run is at work", self._at_work, seconds=600)
            self.say(f"terminating run {run[:8]}")
            self.server.terminate(run)
            self.server.wait_for("the run ends", lambda run=run: self.server.status(run) in _DONE, seconds=300)
            self.server.wait_for("its process ends", lambda worker=worker: not is_alive(worker), seconds=180)
            if self.server.status(run) == "CANCELED":
                return
            assert self.server.status(run) == "SUCCESS"
            self.say(f"run {run[:8]} had ended by itself")

    def _kill_a_worker(self) -> None:
        run, worker = self.server.wait_for("another run is at work", self._at_work, seconds=600)
        self.say(f"killing the worker of run {run[:8]}, process {worker}")
        os.kill(worker, signal.SIGKILL)
        self.server.wait_for("the dead worker is noticed", lambda: self.server.status(run) in _DONE, seconds=600)
        assert self.server.status(run) == "FAILURE"

    def _kill_a_jvm(self) -> None:
        def found() -> tuple[str, int] | None:
            run, worker = self._at_work() or ("", 0)
            java = next(iter(java_of([worker])), None) if run else None
            return None if java is None else (run, java)

        run, java = self.server.wait_for("a run has a JVM", found, seconds=600)
        self.say(f"killing the JVM of run {run[:8]}, process {java}")
        os.kill(java, signal.SIGKILL)

    def _at_work(self) -> tuple[str, int] | None:
        """A run of the ingestion that executes steps, and its process."""
        for run in self.server.runs(statuses=["STARTED"]):
            worker = self.server.worker(run["runId"]) if run["jobName"] == INGEST else None
            if worker is not None and is_alive(worker):
                return str(run["runId"]), worker
        return None

    def _are_all_done(self) -> bool:
        return all(run["status"] in _DONE for run in self.server.runs())

    def _missing_days(self) -> list[str]:
        """What was terminated is not retried by itself: a person runs it again."""
        landed = {event["partition"] for event in self.server.materializations(["dwd", "orders"])}
        both = landed & {event["partition"] for event in self.server.materializations(["dwd", "users"])}
        return [day for day in self.days if day not in both]

    def _wait_for_backfill(self, backfill: str) -> None:
        self.server.wait_for(
            "the backfill ends", lambda: self.server.backfill_status(backfill).startswith("COMPLETED"), seconds=1200
        )
        self.server.wait_for("all runs end", self._are_all_done, seconds=600)

    def foreign_commit(self) -> None:
        """Somebody else commits to an external table; its mart follows without a person."""
        self.server.start_sensor("automation")
        write_clicks(self.lakehouse, count=CLICKS)
        self.say("two foreign commits, one of them while days were loaded")
        reported = self.server.wait_for(
            "the sensor reports both",
            lambda: len(self.server.materializations(["ext", "web_clicks"])) >= 2,
            seconds=600,
        )
        assert reported

    def wait_for_the_clicks(self) -> None:
        """The mart of the external table follows without a person."""
        materialized = self.server.materializations
        self.server.wait_for("the mart follows", lambda: materialized(["mart", "clicks_by_hour"]), seconds=600)
        self.server.wait_for("the mart is complete", lambda: self._clicks() == 2 * CLICKS, seconds=600)

    def _clicks(self) -> int:
        rows = self.lakehouse.table("mart.clicks_by_hour").scan(columns=["clicks"]).to_arrow()
        return int(sum(rows["clicks"].to_pylist()))

    def roll_back_a_run(self) -> None:
        """Take back what the last run brought to orders, and load its days again, with those of runs that failed."""
        table = self.lakehouse.table("dwd.orders")
        last = self._last_ingestion()
        tags = self._run(last)["tags"]
        days = [day for day in self.days if tags[_FIRST] <= day <= tags[_LAST]]
        self.say(f"rolling dwd.orders back to before run {last[:8]}, which loaded {span(days)}")
        config = {"table": "dwd.orders", "before_run": last, "dry_run": False}
        run = self.server.launch("rollback_table", config={"ops": {"rollback": {"config": config}}})
        self.server.wait_for("the rollback ends", lambda: self.server.status(run) in _DONE, seconds=600)
        assert self.server.status(run) == "SUCCESS"
        left = [snapshot.properties.get("dagster.run_id") for snapshot in table.snapshots()]
        assert last not in left, f"a snapshot of run {last} is still there"
        missing = self._missing_days()
        self.say(f"days of runs that failed: {', '.join(missing) or 'none'}")
        self._wait_for_backfill(self.server.backfill(INGEST, sorted({*days, *missing})))
        assert self._last_ingestion() != last

    def _last_ingestion(self) -> str:
        """The last run of the ingestion that committed to orders."""
        snapshots = reversed(self.lakehouse.table("dwd.orders").snapshots())
        runs = dict.fromkeys(s.properties["dagster.run_id"] for s in snapshots if "dagster.run_id" in s.properties)
        return next(run for run in runs if self._run(run)["jobName"] == INGEST)

    def _run(self, run: str) -> dict[str, Any]:
        (found,) = self.server.runs(runIds=[run])
        return found

    def follow(self) -> None:
        """Marts that follow changes, and enriched orders: written to a branch, audited, published."""
        enriched = self.server.backfill("enrich", self.days)
        mart = self.server.backfill_asset(["mart", "daily_revenue"], self.days)
        self._wait_for_backfill(enriched)
        self._wait_for_backfill(mart)
        runs = [run["tags"] for run in self.server.runs(tags=[{"key": "dagster/backfill", "value": mart}])]
        starts = [self.days.index(tags.get(_FIRST) or tags["dagster/partition"]) for tags in runs]
        assert sorted(starts) == list(range(0, len(self.days), WEEK)), f"runs of the mart begin at {starts}"

    def wait_for_the_mart(self) -> None:
        """Nobody asks for ``mart/daily_revenue``: a sensor sees which days have changed."""
        revenue = expected_revenue(FeedPlan(), len(self.days), self.days)

        def is_right() -> bool:
            return [row for row in self._rows("mart.daily_revenue", "dt") if row["dt"] in self.days] == revenue

        self.server.wait_for("daily_revenue is right by itself", is_right, seconds=1200)
        self.server.wait_for("user_ltv is right by itself", self._values_are_right, seconds=1200)
        self.say("mart.daily_revenue and mart.user_ltv are right, and nobody asked for them")

    def _values_are_right(self) -> bool:
        if not self.lakehouse.catalog().table_exists("mart.user_ltv"):
            return False
        values = {r["user_id"]: (r["orders"], r["revenue"]) for r in self._rows("mart.user_ltv", "user_id")}
        return {k: v for k, v in values.items() if v[0]} == expected_values(FeedPlan(), len(self.days))

    def make_the_funnel(self) -> None:
        """The funnel follows at full hours; a person does not wait for the next one."""
        run = self.server.launch("follow_changes")
        self.server.wait_for("the funnel is made", lambda: self.server.status(run) in _DONE, seconds=600)
        assert self.server.status(run) == "SUCCESS"

    def compare(self) -> None:
        """Every table holds what the feed says."""
        plan, days = FeedPlan(), len(self.days)
        stored = self._rows("dwd.orders", "order_id")
        expected = expected_orders(plan, days)
        # The source gets another column on a later day.
        found = [{column: row.get(column) for column in expected[0]} for row in stored]
        assert found == expected, f"dwd.orders differs: {first_difference(found, expected)}"
        enriched = {row["order_id"]: row["amount"] for row in self._rows("dwd.orders_enriched", "order_id")}
        shown = {row["order_id"]: row["amount"] for row in expected if row["order_date"] in self.days}
        assert enriched == shown, "orders_enriched differs"
        assert self._values_are_right(), "user_ltv differs"
        funnel = {(r["order_date"], r["status"]): r["orders"] for r in self._rows("mart.order_funnel", "order_date")}
        assert {k: v for k, v in funnel.items() if v} == expected_funnel(plan, days), "order_funnel differs"
        self.say(f"{len(found):,} orders and their marts equal the computation from the feed")

    def compare_with_paimon(self) -> None:
        """The real Apache Paimon reads the same rows of every table, at every snapshot."""
        if not (DIRECTORY / "classes" / VERSIONS[-1] / "PaimonPeer.class").exists():
            self.say("!!!!! SKIPPED: the real Apache Paimon is not set up (python -m tests.oracle.install) !!!!!")
            return
        catalog, warehouse = self.lakehouse.catalog(), Path(self.lakehouse.warehouse)
        names = [
            f"{database}.{table}" for database in catalog.list_databases() for table in catalog.list_tables(database)
        ]
        with PaimonPeer(VERSIONS[-1]) as paimon:
            for name in names:
                assert_same_at_every_snapshot(paimon, warehouse, name)
        self.say(f"Paimon {VERSIONS[-1]} reads the same rows of {len(names)} tables at every snapshot")

    def _rows(self, name: str, key: str) -> list[dict[str, Any]]:
        rows = self.lakehouse.table(name).scan().to_arrow().sort_by([(key, "ascending")]).to_pylist()
        instants = {"created_at", "updated_at"}
        return [{k: v.astimezone(UTC) if k in instants and v else v for k, v in row.items()} for row in rows]


def span(days: Sequence[str]) -> str:
    """A range of days as a reader of the log needs it.

    >>> span(["2026-01-03"]), span(["2026-01-03", "2026-01-04", "2026-01-05"])
    ('03', '03-05')
    """
    return days[0][-2:] if len(days) == 1 else f"{days[0][-2:]}-{days[-1][-2:]}"


def first_difference(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> str:
    """The first rows that are not the same, or the numbers of rows."""
    pairs = zip(found, expected, strict=False)
    return next((f"{a} instead of {b}" for a, b in pairs if a != b), f"{len(found)} rows instead of {len(expected)}")


def is_alive(process: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def java_of(parents: Sequence[int]) -> list[int]:
    """The JVMs among the descendants of processes."""
    found, level = [], set(parents)
    while level:
        children = {process for process in _processes() if _parent(process) in level}
        found += [child for child in children if "java" in _command_line(child).split("\0")[0]]
        level = children
    return found


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _command_line(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


def _parent(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def main() -> int:
    """Run the scenario; 0 when every comparison holds."""
    parser = argparse.ArgumentParser(prog="python -m tests.endtoend", description=__doc__)
    parser.add_argument("--days", type=int, default=10)
    parser.add_argument("--seed", type=int, default=date.today().toordinal())
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="endtoend-") as directory:
        root = Path(directory)
        warehouse = root / "warehouse"
        environment = {
            "LAKEHOUSE_WAREHOUSE": str(warehouse),
            "LAKEHOUSE_LANDING": str(warehouse / "landing"),
            "SPARK_SUBMIT_OPTS": interpreting_java(),
        }
        with dagster_server(root, environment) as server:
            scenario = Scenario(server, LakehouseCatalog(warehouse=str(warehouse)), options.days, options.seed)
            scenario.say("webserver and daemon are up")
            scenario.load_in_random_order()
            scenario.roll_back_a_run()
            scenario.foreign_commit()
            scenario.follow()
            scenario.wait_for_the_clicks()
            scenario.wait_for_the_mart()
            scenario.make_the_funnel()
            scenario.compare()
            scenario.compare_with_paimon()
    return 0


if __name__ == "__main__":
    sys.exit(main())
