"""The demo: ``python -m jobs.demo`` runs the pipeline from landing to maintenance without the UI and shows the result.

It is a client of the code location: it loads ``definitions`` by the name in ``workspace.yaml`` and runs its jobs on the
real instance, so the UI shows the runs, events and metadata afterwards. ``write-clicks`` simulates an external writer
of a table.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import dagster as dg

from assets.feed import FeedPlan
from assets.partitions import FEED_DAYS
from dagster_paimon.maintenance.requests import MAINTAINS_TAG
from dagster_paimon.resources.lakehouse import LakehouseCatalog, absolute_location
from jobs.demo_clicks import write_clicks
from jobs.demo_indexes import TABLE as INDEXED_TABLE
from jobs.demo_indexes import declare_indexes, one_customers_events, readings
from jobs.demo_report import content_digest, print_summary
from jobs.recorded_runs import run_job
from table_format.counted import counted
from table_format.errors import JavaNotFound
from table_format.java import default_launchers, find_java

DEMO_TAG: Final = "lakehouse/demo"
_ROOT: Final = Path(__file__).resolve().parent.parent
_FIRST_DAY: Final = date(2026, 1, 1)
_RANGE_START: Final = "dagster/asset_partition_range_start"
_RANGE_END: Final = "dagster/asset_partition_range_end"
_KEPT_SNAPSHOTS: Final = 2
SAME_SCHEMA_DAYS: Final = FeedPlan().schema_change_day - 1


@dataclass
class DemoRun:
    """The completed steps, on one instance."""

    defs: dg.Definitions
    instance: dg.DagsterInstance
    events: int
    steps: int
    done: list[tuple[str, float, str]] = field(default_factory=list)

    def run(
        self,
        title: str,
        job: str,
        *,
        days: tuple[str, str] | None = None,
        ops: Mapping[str, Any] | None = None,
        resources: Mapping[str, Any] | None = None,
        maintains: str | None = None,
    ) -> dg.JobExecutionResult:
        """Run one job in this process, for a range of days or without partitions.

        Raises:
            SystemExit: the run failed. Its error has been printed.
        """
        print(f"\n[{len(self.done) + 1}/{self.steps}] {title}", flush=True)
        began = time.monotonic()
        result = run_job(
            self.defs.resolve_job_def(job),
            self.instance,
            run_config={
                "loggers": {"plain": {"config": {"log_level": "INFO"}}},
                **({"ops": ops} if ops else {}),
                **({"resources": resources} if resources else {}),
            },
            tags={
                DEMO_TAG: title,
                **({_RANGE_START: days[0], _RANGE_END: days[1]} if days else {}),
                **({MAINTAINS_TAG: maintains} if maintains else {}),
            },
            project=_ROOT,
        )
        seconds = time.monotonic() - began
        if not result.success:
            print(
                f"\nRun {result.run_id} of job '{job}' failed: see the error above, and the complete log in the UI "
                "(make ui)."
            )
            sys.exit(1)
        self.done.append((title, seconds, result.run_id))
        print(f"      done in {seconds:.1f} s, run {result.run_id[:8]}", flush=True)
        return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo, or write clicks as an external writer."""
    options = _parse(arguments)
    warehouse = absolute_location(options.warehouse, "")
    prepare_environment(warehouse)
    lakehouse = LakehouseCatalog(warehouse=warehouse)
    if options.command == "write-clicks":
        return write_clicks(lakehouse, count=options.events)
    try:
        java = find_java(os.environ, launchers=default_launchers())
    except JavaNotFound as missing:
        print(missing, file=sys.stderr)
        return 1
    days = [(_FIRST_DAY + timedelta(days=n)).isoformat() for n in range(options.days)]
    events = counted(options.events, "change event", thousands=True)
    print(f"{counted(options.days, 'day')} of about {events} each, into {warehouse}")
    print(f"Java {java.version} at {java.home}; the first step starts Spark", flush=True)
    definitions = importlib.import_module("definitions")
    with dg.DagsterInstance.get() as instance:
        demo = DemoRun(
            definitions.defs, instance, events=options.events, steps=11 if len(days) > SAME_SCHEMA_DAYS else 10
        )
        same = _run_steps(demo, lakehouse, days)
    print_summary(lakehouse, demo.done)
    _print_next(warehouse)
    return 0 if same else 1


def _run_steps(demo: DemoRun, lakehouse: LakehouseCatalog, days: Sequence[str]) -> bool:
    """Run every step of the demo. Return whether repeating a day left the tables unchanged."""
    _ingest(demo, days)
    is_same = _repeat(demo, lakehouse, day=days[len(days) // 3])
    whole = (days[0], days[-1])
    demo.run(f"mart of {_span(whole)}", "marts", days=whole)
    demo.run("marts that follow the changes of orders: what has changed since", "follow_changes")
    _index(demo, lakehouse)
    _compact_and_expire(demo)
    _check(demo)
    return is_same


def _ingest(demo: DemoRun, days: Sequence[str]) -> None:
    """Load all days: first those before the source changes its columns, then the others."""
    first = (days[0], days[:SAME_SCHEMA_DAYS][-1])
    title = f"landing, ods and dwd of {_span(first)}, a backfill in one run"
    demo.run(title, "ingest", days=first, resources=_feed(demo))
    demo.run("marts that follow the changes of orders: all of them, the first time", "follow_changes")
    if len(days) > SAME_SCHEMA_DAYS:
        changed = (days[SAME_SCHEMA_DAYS], days[-1])
        title = f"{_span(changed)}: the source has a new column and a wider amount"
        demo.run(title, "ingest", days=changed, resources=_feed(demo))


def _repeat(demo: DemoRun, lakehouse: LakehouseCatalog, *, day: str) -> bool:
    """Load a day again. Return whether the table has the same rows as before."""
    before = content_digest(lakehouse, "dwd.orders")
    title = f"{day} once more: the tables must stay the same"
    demo.run(title, "ingest", days=(day, day), resources=_feed(demo))
    after = content_digest(lakehouse, "dwd.orders")
    verdict = "the same rows as before" if before == after else "OTHER ROWS THAN BEFORE"
    rows = counted(after.rows, "row", thousands=True)
    print(f"      dwd.orders has {rows}, {verdict} (digest {before.digest[:12]}, {after.digest[:12]})")
    return before == after


def _feed(demo: DemoRun) -> dict[str, Any]:
    return {"feed": {"config": {"events_per_day": demo.events}}}


def _compact_and_expire(demo: DemoRun) -> None:
    for table in ("dwd.orders", "dwd.users"):
        config = _op("compact", table=table, full=True)
        demo.run(f"full compaction of {table}", "compact_table", ops=config, maintains=table)
    kept = {"retain_max": _KEPT_SNAPSHOTS, "retain_min": 1, "nobody_else_writes": True, "dry_run": False}
    demo.run(
        f"expiry of dwd.orders, all but {_KEPT_SNAPSHOTS} snapshots",
        "expire_table",
        ops=_op("expire", table="dwd.orders", **kept),
        maintains="dwd.orders",
    )


def _check(demo: DemoRun) -> None:
    """Run every asset check, and show those that did not pass."""
    checked = demo.run("every asset check", "all_checks").get_asset_check_evaluations()
    for evaluation in checked:
        if not evaluation.passed:
            asset = evaluation.asset_key.to_user_string()
            print(
                f"      {evaluation.severity.value}: {evaluation.check_name} of {asset} {evaluation.description or ''}"
            )
    print(f"      {sum(evaluation.passed for evaluation in checked)} of {len(checked)} checks passed")


def _index(demo: DemoRun, lakehouse: LakehouseCatalog) -> None:
    """Declare indexes on a table with existing files, build them, and show what a query reads."""
    declare_indexes(lakehouse)
    demo.run(
        f"file indexes for the files of {INDEXED_TABLE}, declared after they were written",
        "rewrite_index_table",
        ops=_op("rewrite_index", table=INDEXED_TABLE),
        maintains=INDEXED_TABLE,
    )
    query = one_customers_events(lakehouse)
    without, indexed = readings(lakehouse, query)
    print(f"      {query}: without indexes {without}")
    print(f"      {query}: with indexes    {indexed}")


def prepare_environment(warehouse: str) -> None:
    """Point the code location at the warehouse, and Dagster at the instance of this project.

    The files of the source are in the warehouse, or in the project if the warehouse is in an object store.
    """
    os.environ.setdefault("DAGSTER_HOME", str(_ROOT / ".dagster_home"))
    os.environ["LAKEHOUSE_WAREHOUSE"] = warehouse
    landing = _ROOT if "://" in warehouse else Path(warehouse)
    os.environ["LAKEHOUSE_LANDING"] = str(landing / "landing")


def _op(name: str, **config: object) -> dict[str, Any]:
    return {name: {"config": config}}


def _span(days: tuple[str, str]) -> str:
    return days[0] if days[0] == days[1] else f"{days[0]} to {days[1]}"


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m jobs.demo", description="Run the lakehouse's main job headless.")
    parser.add_argument("command", nargs="?", choices=("run", "write-clicks"), default="run")
    parser.add_argument(
        "--days", type=_between(1, FEED_DAYS), default=10, help="number of days of the feed (default 10)"
    )
    parser.add_argument(
        "--events",
        type=_between(20, 100_000_000),
        default=5_000,
        help="events per day (default 5000); another number gives other data and needs another warehouse",
    )
    parser.add_argument(
        "--warehouse",
        default=str(_ROOT / "warehouse"),
        help="directory of the tables, or s3://BUCKET/PATH with the keys in the environment",
    )
    return parser.parse_args(arguments)


def _between(smallest: int, largest: int) -> Any:  # noqa: ANN401 - argparse calls it with the text
    def number(text: str) -> int:
        value = int(text)
        if not smallest <= value <= largest:
            message = f"expected {smallest} to {largest}, found {value}"
            raise argparse.ArgumentTypeError(message)
        return value

    return number


def _print_next(warehouse: str) -> None:
    default = warehouse == str(_ROOT / "warehouse")
    setting = "" if default else f"LAKEHOUSE_WAREHOUSE={warehouse} "
    print("\nTo see these runs, tables and plots in the UI:")
    print(f"    {setting}make ui        then http://localhost:3000")
    print("You can run this again: days are replaced and keys are upserted, so nothing is duplicated.")


if __name__ == "__main__":
    sys.exit(main())
