"""Runs are requested for exactly the partitions that an upstream table has changed, until all are right."""

# No postponed annotations here: Dagster inspects the types of inputs.

import os
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dagster_paimon import PartitionColumn, changed_partitions_sensor
from dagster_paimon.sensors import changed_partitions, followed_column, requested_runs
from dagster_paimon.tables.table_assets import TableAsset
from table_format import Table
from table_format.errors import InvalidInputError
from tests.support.dagster_project import Project
from tests.support.sensor_ticks import Ticks, a_table, rows

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")

DAYS = [f"2026-01-{day:02}" for day in range(1, 10)]
PARTITIONS = dg.DailyPartitionsDefinition("2026-01-01", end_date="2026-01-10")
ARRIVALS = int(os.environ.get("ARRIVALS", "2"))
"""Random histories of arrivals; ``make followers`` runs more."""
TICKETS = dg.AssetSpec(["crm", "tickets"])
BY_DAY = PartitionColumn("crm.tickets", "day")


def by_day_asset(fails: list[str], policy: dg.BackfillPolicy | None = None) -> dg.AssetsDefinition:
    """Return an asset with the sum of amounts by day. A run whose first partition is in ``fails`` fails once."""

    @dg.asset(
        key_prefix="report",
        io_manager_key="paimon_io",
        partitions_def=PARTITIONS,
        backfill_policy=policy or dg.BackfillPolicy.single_run(),
        ins={"tickets": dg.AssetIn(key=TICKETS.key, input_manager_key="paimon_io")},
        metadata={"partition_expr": "day", "paimon/write_mode": "overwrite_partition"},
    )
    def by_day(context: dg.AssetExecutionContext, tickets: pa.Table) -> pa.Table:
        if context.partition_keys[0] in fails:
            fails.remove(context.partition_keys[0])
            message = "told to fail"
            raise RuntimeError(message)
        wanted = tickets.filter(pa.compute.is_in(tickets["day"], pa.array(list(context.partition_keys))))
        sums = wanted.group_by("day").aggregate([("amount", "sum")])
        return sums.rename_columns(["day", "total"])

    return by_day


class Report:
    """An upstream table, the asset computed from it, the sensor between them, and a clock that a test moves."""

    def __init__(self, project: Project, monkeypatch: pytest.MonkeyPatch, **arguments: Any) -> None:
        self.project, self.fails, self.now = project, [], 1_800_000_000_000
        self.asset = by_day_asset(self.fails, arguments.pop("policy", None))
        sources = PartitionColumn("crm.tickets", "day", arguments.pop("watched", None))
        sensor = changed_partitions_sensor(self.asset.key, sources, **arguments)
        self.ticks = Ticks(sensor, project.instance, project.lakehouse, [self.asset, TICKETS])
        self.requested: list[list[str]] = []
        for module in (changed_partitions, requested_runs):
            monkeypatch.setattr(module, "now_ms", lambda: self.now)

    def tick(self, *, launch: bool = True) -> list[list[str]]:
        """Return the partitions of each run that one tick requests, and execute the runs."""
        data = self.ticks.tick()
        self.note = data.skip_message
        found = []
        for request in data.run_requests:
            found.append(self._keys(request))
            if launch:
                self._launch(request)
        return found

    def _keys(self, request: Any) -> list[str]:
        if request.partition_key:
            return [request.partition_key]
        start, end = (request.tags[f"dagster/asset_partition_range_{which}"] for which in ("start", "end"))
        return list(PARTITIONS.get_partition_keys_in_range(dg.PartitionKeyRange(start, end)))

    def _launch(self, request: Any) -> None:
        tags = {**request.tags, "dagster/run_key": request.run_key}
        self.project.run([self.asset, TICKETS], days=request.partition_key, tags=tags, raise_on_error=False)

    def differences(self, table: Table) -> dict[str, Any]:
        """Return the days whose total in the report differs from the tickets."""
        expected: dict[str, int] = {}
        for row in table.scan().to_arrow().to_pylist():
            if row["day"] in DAYS:
                expected[row["day"]] = expected.get(row["day"], 0) + (row["amount"] or 0)
        catalog = self.project.lakehouse.catalog()
        found = self.project.rows("report.by_day") if catalog.table_exists("report.by_day") else []
        totals = {row["day"]: row["total"] for row in found}
        return {
            day: (expected.get(day), totals.get(day))
            for day in {*expected, *totals}
            if expected.get(day) != totals.get(day)
        }


@pytest.fixture
def tickets(project: Project) -> Table:
    return a_table(project.lakehouse, "crm.tickets", keys=["id"])


@pytest.fixture
def report(project: Project, monkeypatch: pytest.MonkeyPatch) -> Report:
    return Report(project, monkeypatch)


def test_an_arrival_requests_the_old_and_the_new_day_of_each_row_it_changes(tickets: Table, report: Report) -> None:
    tickets.append(rows((1, DAYS[0], 10), (2, DAYS[1], 10), (3, DAYS[5], 10)))
    assert report.tick() == [DAYS[0:2], [DAYS[5]]]
    assert report.tick() == []
    assert report.note == "nothing has changed"
    tickets.append(rows((1, DAYS[8], 10)))
    assert report.tick() == [[DAYS[0]], [DAYS[8]]]
    assert report.differences(tickets) == {}


def test_a_deleted_row_requests_its_day(tickets: Table, report: Report) -> None:
    tickets.append(rows((1, DAYS[0], 10), (2, DAYS[1], 10)))
    report.tick()
    tickets.append(rows((2, None, None)).append_column("_row_kind", pa.array(["-D"])))
    assert report.tick() == [[DAYS[1]]]
    assert report.differences(tickets) == {}


def test_a_compaction_and_rows_without_a_day_request_nothing(tickets: Table, report: Report) -> None:
    tickets.append(rows((1, DAYS[0], 10)))
    report.tick()
    tickets.append(rows((2, None, 10), (3, "next year", 10), (4, "2031-05-05", 10)))
    tickets.compact(full=True)
    assert report.tick() == []


def test_rewritten_rows_request_nothing_if_no_watched_column_differs(
    project: Project, tickets: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = Report(project, monkeypatch, watched=("amount",))
    tickets.append(rows((1, DAYS[0], 10), (2, DAYS[1], 10)))
    report.tick()
    tickets.append(rows((1, DAYS[0], 10), (2, DAYS[1], 11)))
    assert report.tick() == [[DAYS[1]]]


def test_partitions_that_another_run_has_computed_are_not_requested(tickets: Table, report: Report) -> None:
    tickets.append(rows((1, DAYS[0], 10), (2, DAYS[1], 10)))
    report.tick()
    tickets.append(rows((1, DAYS[0], 11), (2, DAYS[1], 11)))
    report.project.run([report.asset, TICKETS], days=DAYS[0])
    assert report.tick() == [[DAYS[1]]]
    assert report.differences(tickets) == {}


def test_a_tick_that_repeats_one_whose_cursor_was_not_stored_has_the_same_run_keys(
    tickets: Table, report: Report
) -> None:
    report.ticks.tick()
    tickets.append(rows((1, DAYS[0], 10), (2, DAYS[4], 10)))
    killed = [request.run_key for request in report.ticks.tick(is_killed=True).run_requests]
    report.now += 60_000
    assert [request.run_key for request in report.ticks.tick().run_requests] == killed
    report.ticks.cursor = None  # an operator resets the cursor, so that all partitions are computed again
    assert not {request.run_key for request in report.ticks.tick().run_requests} & {*killed}


def test_a_tick_reads_a_limited_number_of_snapshots_and_the_next_ones_read_the_others(
    tickets: Table, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed_column, "SNAPSHOTS_PER_TICK", 2)
    tickets.append(rows((0, DAYS[8], 10)))
    report.tick()
    for number, day in enumerate(DAYS[:5], 1):
        tickets.append(rows((number, day, 10)))
    assert [report.tick() for _ in range(4)] == [[DAYS[0:2]], [DAYS[2:4]], [[DAYS[4]]], []]
    assert report.differences(tickets) == {}


def test_changes_during_a_run_are_requested_after_it(tickets: Table, report: Report) -> None:
    tickets.append(rows((1, DAYS[0], 10)))
    assert report.tick(launch=False) == [[DAYS[0]]]
    tickets.append(rows((2, DAYS[3], 10)))
    assert report.tick() == []
    assert report.note == f"crm.tickets changed {DAYS[3]}; 1 run is in progress; {DAYS[3]} wait"
    report.project.instance.create_run_for_job(
        _job, tags={"dagster/run_key": _run_key(report)}, status=dg.DagsterRunStatus.SUCCESS
    )
    assert report.tick() == [[DAYS[3]]]


@pytest.mark.parametrize(
    ("recorded", "replaced"),
    [
        ("a", {"a"}),
        ("a...c", {"a", "b", "c"}),
        ("b...c", set()),  # a key, or a range of two
        ("a...gone", set()),
        ("gone...c", set()),
    ],
)
def test_the_keys_that_a_commit_replaced_are_known_from_its_range(
    project: Project, recorded: str, replaced: set[str]
) -> None:
    letters = dg.DynamicPartitionsDefinition(name="letters")
    project.instance.add_dynamic_partitions("letters", ["a", "b", "c", "b...c"])

    @dg.asset(partitions_def=letters)
    def upper() -> None: ...

    table = a_table(project.lakehouse, "crm.tickets")
    (commit,) = table.append(rows((1, "a", 1)), properties={"dagster.partition": recorded})
    asset = TableAsset(upper.key, partitions=letters)
    assert changed_partitions._replaced(project.instance, asset, commit) == replaced


@dg.job
def _job() -> None: ...


def _run_key(report: Report) -> str:
    state = changed_partitions.decode_state(report.ticks.cursor)
    return state.requests[0].run_key


def test_a_failed_run_is_requested_again_after_a_growing_pause(tickets: Table, report: Report) -> None:
    tickets.append(rows((1, DAYS[0], 10)))
    report.fails += [DAYS[0], DAYS[0]]
    assert report.tick() == [[DAYS[0]]]
    assert report.tick() == []
    assert report.note == f"1 run failed; {DAYS[0]} again in 60 s; {DAYS[0]} wait 61 s after a failure"
    report.now += 61_000
    assert report.tick() == [[DAYS[0]]]
    assert report.tick() == []
    report.now += 61_000
    assert report.tick() == []
    report.now += 61_000
    assert report.tick() == [[DAYS[0]]]
    assert report.differences(tickets) == {}
    assert report.tick() == []


def test_a_partition_whose_runs_fail_does_not_keep_others_waiting(tickets: Table, report: Report) -> None:
    tickets.append(rows((1, DAYS[0], 10), (2, DAYS[1], 10)))
    report.fails += [DAYS[0]] * 9
    assert report.tick() == [DAYS[0:2]]
    tickets.append(rows((3, DAYS[1], 10), (4, DAYS[5], 10)))
    assert report.tick() == [[DAYS[1]], [DAYS[5]]]
    assert f"{DAYS[0]} wait 61 s after a failure" in str(report.ticks.tick().skip_message)
    for _ in range(3):
        report.now += 3_600_000
        assert report.tick() == [[DAYS[0]]]
        assert report.tick() == []
    report.fails.clear()
    report.now += 3_600_000
    assert report.tick() == [[DAYS[0]]]
    assert report.tick() == []
    assert report.note == "nothing has changed"
    assert report.differences(tickets) == {}


def test_a_run_that_the_daemon_never_created_is_requested_again(tickets: Table, report: Report) -> None:
    tickets.append(rows((1, DAYS[0], 10)))
    assert report.tick(launch=False) == [[DAYS[0]]]
    report.now += 599_000
    assert report.tick() == []
    report.now += 2_000
    assert report.tick() == []
    report.now += 61_000
    assert report.tick() == [[DAYS[0]]]


def test_a_rollback_requests_the_partitions_of_the_removed_commits(tickets: Table, report: Report) -> None:
    for day in DAYS[0:3]:
        tickets.append(rows((1, day, 10)))
        report.tick()
    tickets.rollback_to(1)
    assert report.tick() == [DAYS[0:3]]
    assert report.tick() == []
    assert report.differences(tickets) == {}
    tickets.append(rows((2, DAYS[5], 10)))
    assert report.tick() == [[DAYS[5]]]


def test_a_table_that_was_created_again_requests_all_old_and_new_partitions(
    project: Project, tickets: Table, report: Report
) -> None:
    tickets.append(rows((1, DAYS[0], 10), (2, DAYS[1], 10)))
    report.tick()
    project.lakehouse.catalog().drop_table("crm.tickets")
    assert report.tick() == []
    again = a_table(project.lakehouse, "crm.tickets", keys=["id"])
    again.append(rows((1, DAYS[1], 99), (2, DAYS[4], 10)))
    assert report.tick() == [DAYS[0:2], [DAYS[4]]]
    assert report.differences(again) == {}


def test_snapshots_expired_between_two_ticks_request_everything(tickets: Table, report: Report) -> None:
    tickets.append(rows((1, DAYS[0], 10), (2, DAYS[1], 10)))
    report.tick()
    for amount in range(3):
        tickets.append(rows((1, DAYS[0], amount)))
    tickets.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=1 << 60, retain_floor_ms=0)
    assert report.tick() == [DAYS[0:2]]
    assert report.differences(tickets) == {}


def test_the_backfill_policy_of_the_asset_sets_the_size_of_runs(
    project: Project, tickets: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = Report(project, monkeypatch, policy=dg.BackfillPolicy.multi_run(2))
    tickets.append(rows(*((number, day, 1) for number, day in enumerate(DAYS[0:3]))))
    assert report.tick(launch=False) == [DAYS[0:2], [DAYS[2]]]


def test_a_function_maps_values_to_the_partitions_of_a_sliding_window(
    project: Project, tickets: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def day_and_next(value: object) -> Iterator[str]:
        at = DAYS.index(str(value))
        yield from DAYS[at : at + 2]

    report = Report(project, monkeypatch, partitions_of=day_and_next)
    tickets.append(rows((1, DAYS[2], 1), (2, DAYS[8], 1)))
    assert report.tick(launch=False) == [DAYS[2:4], [DAYS[8]]]


def an_asset_of(partitions: dg.PartitionsDefinition[Any]) -> dg.AssetsDefinition:
    @dg.asset(key_prefix="report", partitions_def=partitions)
    def by_day() -> None: ...

    return by_day


def keys_requested(ticks: Ticks) -> list[str]:
    """Return the partitions that one tick requests, each in a run of its own."""
    # Dagster checks the requested keys, and knows the dynamic ones of a daemon's instance without this.
    with dg.partition_loading_context(dynamic_partitions_store=ticks.instance):
        return [str(request.partition_key) for request in ticks.tick().run_requests]


def test_a_change_of_a_day_that_has_not_ended_is_requested_when_it_has(project: Project, tickets: Table) -> None:
    today = datetime.now(UTC).date()
    tomorrow = (today + timedelta(days=1)).isoformat()
    first = (today - timedelta(days=2)).isoformat()
    tickets.append(rows((1, first, 10), (2, tomorrow, 10), (3, "1999-12-31", 10), (4, "someday", 10)))
    until_yesterday = an_asset_of(dg.DailyPartitionsDefinition(first))
    sensor = changed_partitions_sensor(until_yesterday.key, BY_DAY)
    ticks = Ticks(sensor, project.instance, project.lakehouse, [until_yesterday, TICKETS])
    assert keys_requested(ticks) == [first]
    (run_key,) = (request.run_key for request in changed_partitions.decode_state(ticks.cursor).requests)
    project.run(until_yesterday, days=first, tags={"dagster/run_key": run_key})
    data = ticks.tick()
    assert (data.run_requests, data.skip_message) == (
        [],
        f"{tomorrow} wait until they are partitions of report/by_day",
    )
    ticks.assets = [an_asset_of(dg.DailyPartitionsDefinition(first, end_offset=2)), TICKETS]
    assert keys_requested(ticks) == [tomorrow]
    assert changed_partitions.decode_state(ticks.cursor).waiting == frozenset()


@pytest.mark.parametrize("partitions_of", [None, lambda value: [value] if value else []])
def test_a_change_of_a_dynamic_partition_is_requested_when_it_is_added(
    project: Project, tickets: Table, partitions_of: Any
) -> None:
    asset = an_asset_of(dg.DynamicPartitionsDefinition(name="days"))
    tickets.append(rows((1, DAYS[0], 10), (2, None, 10)))
    sensor = changed_partitions_sensor(asset.key, BY_DAY, partitions_of=partitions_of)
    ticks = Ticks(sensor, project.instance, project.lakehouse, [asset, TICKETS])
    assert keys_requested(ticks) == []
    project.instance.add_dynamic_partitions("days", [DAYS[0], DAYS[1]])
    assert keys_requested(ticks) == [DAYS[0]]


def test_keys_of_dynamic_partitions_that_are_never_added_do_not_fill_the_cursor(
    project: Project, tickets: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_partitions, "_MOST_TO_COME", 2)
    asset = an_asset_of(dg.DynamicPartitionsDefinition(name="days"))
    tickets.append(rows(*((number, day, 10) for number, day in enumerate(DAYS))))
    sensor = changed_partitions_sensor(asset.key, BY_DAY)
    ticks = Ticks(sensor, project.instance, project.lakehouse, [asset, TICKETS])
    assert keys_requested(ticks) == []
    assert changed_partitions.decode_state(ticks.cursor).waiting == frozenset(DAYS[-2:])


def test_a_run_that_failed_after_a_long_time_is_left_to_the_retry_of_the_daemon(tickets: Table, report: Report) -> None:
    tickets.append(rows((1, DAYS[0], 10)))
    report.fails += [DAYS[0]]
    report.now = 0  # requested long before the run ends
    assert report.tick() == [[DAYS[0]]]
    instance = report.project.instance
    (record,) = instance.get_run_records()
    instance.add_run_tags(record.dagster_run.run_id, {"dagster/will_retry": "true"})
    ended = int(record.update_timestamp.timestamp() * 1000)
    report.now = ended + 590_000
    assert report.tick() == []
    assert report.note == "1 run is in progress"
    report.now = ended + 700_000
    assert report.tick() == []
    assert "1 run failed" in report.note


def test_the_error_names_an_asset_without_partitions(project: Project) -> None:
    @dg.asset(key_prefix="report", io_manager_key="paimon_io")
    def whole() -> None: ...

    sensor = changed_partitions_sensor("report/whole", BY_DAY)
    with pytest.raises(InvalidInputError, match="report/whole has no partitions"):
        Ticks(sensor, project.instance, project.lakehouse, [whole]).tick()


@pytest.mark.parametrize("seed", range(1, ARRIVALS + 1))
def test_the_report_is_right_after_random_arrivals_backfills_and_failures(
    project: Project, tickets: Table, report: Report, seed: int
) -> None:
    """Compares with a recomputation from all tickets, whenever the sensor has nothing left to request."""
    dice = random.Random(seed)
    for _ in range(6):
        for _ in range(dice.randint(1, 3)):
            _something_happens(dice, project, tickets, report)
            if dice.random() < 0.5:
                report.tick()
        for _ in range(12):
            report.now += 3_600_001
            if not report.tick() and report.note == "nothing has changed":
                break
        assert report.differences(tickets) == {}


def _something_happens(dice: random.Random, project: Project, tickets: Table, report: Report) -> None:
    match dice.randrange(8):
        case 0:
            tickets.compact(full=True)
        case 1 if len(tickets.snapshots()) > 2:
            tickets.rollback_to(dice.choice(tickets.snapshots()[:-1]).id)
        case 2:
            report.fails.append(dice.choice(DAYS))
        case 3:
            project.run([report.asset, TICKETS], days=dice.choice(DAYS), raise_on_error=False)
        case 4:
            tickets.append(_random_rows(dice).append_column("_row_kind", pa.array(["-D"])))
        case _:
            tickets.append(_random_rows(dice, dice.randint(1, 4)))


def _random_rows(dice: random.Random, count: int = 1) -> pa.Table:
    numbers: Sequence[int] = dice.sample(range(20), count)
    return rows(*((number, dice.choice(DAYS), dice.randrange(100)) for number in numbers))
