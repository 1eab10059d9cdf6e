"""The state of a sensor that requests maintenance: for each table, the checked state and the requested run."""
# No postponed annotations here: Dagster inspects the type of `context`.

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import count
from typing import Any, TypeAlias

import dagster as dg

from dagster_paimon.reporting.metadata import data_version
from dagster_paimon.resources.lakehouse import TABLE_ERRORS, LakehouseCatalog
from dagster_paimon.sensors.missing_tables import remembered_missing
from dagster_paimon.sensors.requested_runs import Outcome, now_ms, outcome, pause_ms
from dagster_paimon.sensors.tick_errors import in_short, reading_cursor, stored, unreadable
from dagster_paimon.sensors.tick_time import in_turn, looked_at_last, waiting_note
from dagster_paimon.tables.selection import TableSelection
from table_format import Table


@dataclass(frozen=True, slots=True)
class Watched:
    """The last checked state of a table, and the last requested run."""

    state: str = ""
    looked_ms: int = 0
    run_key: str = ""
    requested_ms: int = 0
    failures: int = 0
    not_before_ms: int = 0
    successes: int = 0

    @property
    def is_left_alone(self) -> bool:
        """Whether a run is in progress, or has recently failed."""
        return bool(self.run_key) or now_ms() < self.not_before_ms


def decode_watched(cursor: str | None) -> dict[str, Watched]:
    """Decode the tables in a cursor. A cursor of an earlier release has only their states."""
    with reading_cursor():
        tables = json.loads(cursor or "{}").items()
        return {name: Watched(state=one) if isinstance(one, str) else _watched(one) for name, one in tables}


def _watched(members: Mapping[str, Any]) -> Watched:
    for name, default in asdict(Watched()).items():
        stored(members.get(name, default), type(default))
    return Watched(**members)


def encode_watched(watched: Mapping[str, Watched]) -> str:
    """Encode these tables as a cursor. It leaves out defaults, because Dagster stores the cursor with every tick."""
    default = asdict(Watched())
    encoded = {
        table: {name: value for name, value in asdict(of_table).items() if value != default[name]}
        for table, of_table in watched.items()
    }
    return json.dumps(encoded, separators=(",", ":"))


Decide: TypeAlias = Callable[[str, Table, Watched], tuple[Watched, dg.RunRequest | None]]
"""Decides what a table needs: takes its name, the table and its state; returns its next state and a run to request."""


def requests_for_tables(
    context: dg.SensorEvaluationContext,
    lakehouse: LakehouseCatalog,
    selection: TableSelection,
    decide: Decide,
    *,
    work: str,
    otherwise: str,
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """Yield the runs that ``decide`` requests for the selected tables, and store their states in the cursor.

    ``work`` names what the runs do. ``otherwise`` is the reason for skipping if nothing is requested or in progress.
    """
    known = decode_watched(context.cursor)
    names = selection.existing(lakehouse.catalog())
    watched: dict[str, Watched] = {}
    notes: list[str] = []
    requested = False
    for name in in_turn(names, known):
        before = after_last_run(context, name, known.get(name, Watched()), notes, work=work)
        try:
            watched[name], request = decide(name, lakehouse.table(name), before)
        except TABLE_ERRORS as error:
            watched[name] = before
            notes.append(unreadable(context, name, error))
            continue
        if request is not None:
            requested = True
            yield request
    # If a table comes back, its next run needs a run key of its own.
    kept = {*names, *remembered_missing(known, names)}
    after = looked_at_last({name: state for name, state in known.items() if name in kept}, watched)
    context.update_cursor(encode_watched(after))
    notes = [*waiting_note(names, len(watched)), *notes]
    if not requested:
        yield dg.SkipReason(in_short(notes) or otherwise)


def after_last_run(
    context: dg.SensorEvaluationContext, table: str, watched: Watched, notes: list[str], *, work: str
) -> Watched:
    """Return the state after checking the last requested run."""
    if not watched.run_key:
        return watched
    now = now_ms()
    result = outcome(context.instance, watched.run_key, requested_ms=watched.requested_ms, now=now)
    if result is Outcome.RUNNING:
        notes.append(f"the {work} of {table} is in progress")
        return watched
    if result is Outcome.SUCCEEDED:
        # Work that is still due for the same state would be due after any number of runs.
        return replace(watched, run_key="", failures=0, not_before_ms=0, successes=watched.successes + 1)
    failures = watched.failures + 1
    context.log.warning("%s: the %s failed, again in %s s", table, work, pause_ms(failures) // 1000)
    return replace(watched, run_key="", state="", failures=failures, not_before_ms=now + pause_ms(failures))


def unused_run_key(context: dg.SensorEvaluationContext, work: str, watched: Watched) -> str:
    """Return a run key for some work that no run that has ended has.

    Dagster creates one run for a run key. A rollback may restore a state for which a run was requested, and a sensor
    whose cursor was reset does not know that runs have failed.
    """
    after = f" after {watched.successes}" if watched.successes else ""
    instance, now = _instance_of(context), now_ms()
    for attempt in count(watched.failures + 1):
        run_key = f"{work}{after} attempt {attempt}" if attempt > 1 else f"{work}{after}"
        if instance is None or outcome(instance, run_key, requested_ms=now, now=now) is Outcome.RUNNING:
            return run_key
    raise AssertionError  # pragma: no cover - the numbers do not end


def _instance_of(context: dg.SensorEvaluationContext) -> dg.DagsterInstance | None:
    """Return the instance of a context; ``None`` for one that a test has built without."""
    try:
        return context.instance
    except dg.DagsterInvariantViolationError:
        return None


def fingerprint_of(table: Table) -> str:
    """Return a fingerprint of the latest snapshot. Its id alone may repeat after a rollback, but a run key must not."""
    latest = table.latest_snapshot()
    return "none" if latest is None else data_version(latest).value.removeprefix("snapshot-")
