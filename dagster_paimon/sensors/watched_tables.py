"""What a sensor that requests maintenance remembers of each table: the state it looked at and the run it requested."""
# Annotations are not postponed here: Dagster looks at the type of `context` itself.

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

import dagster as dg

from dagster_paimon.reporting.metadata import data_version
from dagster_paimon.sensors.requested_runs import Outcome, now_ms, outcome, pause_ms
from table_format import Table


@dataclass(frozen=True, slots=True)
class Watched:
    """What is remembered of a table: the state that was last looked at, and the run that was requested last."""

    state: str = ""
    looked_ms: int = 0
    run_key: str = ""
    requested_ms: int = 0
    failures: int = 0
    not_before_ms: int = 0
    successes: int = 0

    @property
    def is_left_alone(self) -> bool:
        """Whether a run is under way, or has failed a short while ago."""
        return bool(self.run_key) or now_ms() < self.not_before_ms


def decode_watched(cursor: str | None) -> dict[str, Watched]:
    """The tables that a cursor remembers; one of an earlier release has their states alone."""
    stored = json.loads(cursor or "{}")
    return {name: Watched(state=one) if isinstance(one, str) else Watched(**one) for name, one in stored.items()}


def encode_watched(watched: Mapping[str, Watched]) -> str:
    """The cursor that remembers these tables."""
    return json.dumps({table: asdict(of_table) for table, of_table in watched.items()})


def settled(
    context: dg.SensorEvaluationContext, table: str, watched: Watched, notes: list[str], *, work: str
) -> Watched:
    """What is remembered after a look at the run that was requested last; ``work`` says what the run does."""
    if not watched.run_key:
        return watched
    now = now_ms()
    result = outcome(context.instance, watched.run_key, requested_ms=watched.requested_ms, now=now)
    if result is Outcome.RUNNING:
        notes.append(f"the {work} of {table} is under way")
        return watched
    if result is Outcome.SUCCEEDED:
        # What is still due of the same state is due however often the work is done.
        return replace(watched, run_key="", failures=0, not_before_ms=0, successes=watched.successes + 1)
    failures = watched.failures + 1
    context.log.warning("%s: the %s failed, again in %s s", table, work, pause_ms(failures) // 1000)
    return replace(watched, run_key="", state="", failures=failures, not_before_ms=now + pause_ms(failures))


def attempt_of(watched: Watched) -> str:
    """The end of the run key after other runs of the table.

    Dagster makes one run of a run key, and a rollback brings back a state that a run has been requested for.
    """
    after = f" after {watched.successes}" if watched.successes else ""
    return f"{after} attempt {watched.failures + 1}" if watched.failures else after


def fingerprint_of(table: Table) -> str:
    """The latest snapshot. An id alone comes again after a rollback, and a run key must not."""
    latest = table.latest_snapshot()
    return "none" if latest is None else data_version(latest).value.removeprefix("snapshot-")
