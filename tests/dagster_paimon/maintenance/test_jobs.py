"""Every maintenance job: what it does, what it reports, and what it refuses. No JVM."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dagster_paimon import job_links, maintenance_jobs
from dagster_paimon.io.commits import RUN_ID_PROPERTY
from dagster_paimon.maintenance import runner
from dagster_paimon.maintenance.links import location_of
from dagster_paimon.maintenance.locks import TableLocks
from dagster_paimon.resources.retries import RetryUnlessTerminated
from table_format.model.schema import Schema
from table_format.model.schema_change import SetOption
from tests.support.dagster_project import Project, a_project
from tests.support.dagster_runs import run_in_code_location
from tests.support.maintenance import JOBS, a_keyed_table, execute, observations, refusal, run

pytestmark = pytest.mark.dagster

TABLE = "sales.items"
EVENTS = pa.schema([("id", pa.int64()), ("x", pa.int64()), ("y", pa.int64()), ("day", pa.string())])


@pytest.fixture
def items(project: Project) -> Project:
    a_keyed_table(project, TABLE, commits=4)
    return project


@pytest.fixture(scope="module")
def ephemeral() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory, ephemeral: dg.DagsterInstance) -> Project:
    """The same table, for tests of what is refused."""
    project = a_project(tmp_path_factory.mktemp("unchanged"), ephemeral)
    a_keyed_table(project, TABLE, commits=4)
    return project


@pytest.fixture(scope="module")
def unchanged_events(tmp_path_factory: pytest.TempPathFactory, ephemeral: dg.DagsterInstance) -> Project:
    """A partitioned table, for tests of what is refused."""
    project = a_project(tmp_path_factory.mktemp("unchanged"), ephemeral)
    an_append_table(project, "sales.events", ["2026-01-01"])
    return project


def an_append_table(project: Project, name: str, days: list[str], **options: str) -> None:
    catalog = project.lakehouse.catalog()
    catalog.create_database(name.split(".")[0], ignore_if_exists=True)
    options = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    table = catalog.create_table(name, Schema.from_arrow(EVENTS, partition_keys=["day"], options=options))
    for day in days:
        rows = {"id": [1, 2, 3], "x": [3, 1, 2], "y": [1, 2, 3], "day": [day] * 3}
        table.append(pa.table(rows, schema=EVENTS))


def test_a_report_links_to_the_jobs_of_the_code_location_of_its_run() -> None:
    location = SimpleNamespace(location_name="depot")
    repository = SimpleNamespace(repository_name="__repository__", code_location_origin=location)
    run = SimpleNamespace(remote_job_origin=SimpleNamespace(repository_origin=repository))
    assert location_of(run) == "__repository__@depot"
    assert location_of(SimpleNamespace(remote_job_origin=None)) is None
    links = job_links("sales.items", "__repository__@depot").value
    assert {job.name for job in maintenance_jobs()} >= set(re.findall(r"@depot/jobs/(\w+)/playground", links))


# --- which tables ---------------------------------------------------------------------------------------------------


def test_a_run_works_on_several_tables_and_patterns_each_once(items: Project) -> None:
    a_keyed_table(items, "sales.users", commits=2)
    a_keyed_table(items, "other.users", commits=2)
    reports = observations(run(items, "report_health", table=TABLE, pattern="sales.*"))
    assert [report.asset_key.to_user_string() for report in reports] == ["sales/items", "sales/users"]
    reports = observations(run(items, "report_health", tables=["other.users", "sales.users"]))
    assert [report.asset_key.to_user_string() for report in reports] == ["other/users", "sales/users"]
    assert all("sorted runs" in str(report.description) for report in reports)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "no table is given"),
        ({"table": "sales.item"}, "table sales.item does not exist; did you mean sales.items?"),
        ({"tables": [TABLE, "sales.zzz"]}, "table sales.zzz does not exist"),
        ({"pattern": "none.*"}, "no table matches 'none.*'; the tables are sales.items"),
        ({"table": "items"}, "'items' is not a table name"),
    ],
)
def test_an_unknown_table_fails_immediately_with_its_name(
    unchanged: Project, config: dict[str, Any], message: str
) -> None:
    assert message in refusal(unchanged, "report_health", **config)


def test_a_package_that_is_missing_is_named_and_not_waited_for(
    unchanged: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in {"pyspark", *(name for name in sys.modules if name.startswith("pyspark."))}:
        monkeypatch.setitem(sys.modules, name, None)
    message = refusal(unchanged, "compact_table", table=TABLE, full=True)
    assert "pyspark is not installed: pip install 'paimon-lakehouse[spark]'" in message


def test_a_list_of_names_is_completed_by_the_launchpad_and_others_are_refused(items: Project) -> None:
    maintenance_jobs(["an.other"])  # another code location in the same process
    jobs = {job.name: job for job in maintenance_jobs([TABLE])}
    assert execute(items, jobs["compact_table"], tables=[TABLE], full=True, on_spark=False)["buckets compacted"] == 1
    with pytest.raises(dg.DagsterInvalidConfigError, match=r"sales\.other"):
        run(items, jobs["compact_table"], table="sales.other", on_spark=False)
    # The launchpad accepts a pattern where it completes names.
    assert execute(items, jobs["report_health"], pattern="sales.*")["maintenance"] == "health"


def test_a_failure_on_one_table_does_not_stop_the_others(items: Project) -> None:
    an_append_table(items, "sales.events", ["2026-01-01"])
    result = run(items, "rescale_table", tables=["sales.events", TABLE], bucket=2, on_spark=False)
    assert not result.success
    (failed,) = [event for event in result.all_events if event.event_type_value == "STEP_FAILURE"]
    failure = failed.step_failure_data.user_failure_data
    assert failure is not None
    assert str(failure.description).startswith("1 of 2 tables failed:\nsales.events: ")
    assert {split.total_buckets for split in items.table(TABLE).scan().plan().splits} == {2}
    (event,) = [event for event in result.all_events if event.event_type_value == "ASSET_OBSERVATION"]
    assert event.asset_observation_data.asset_observation.asset_key == dg.AssetKey(["sales", "items"])


@pytest.mark.parametrize("directory", [False, True], ids=["a damaged schema", "a directory that cannot be listed"])
def test_a_table_that_cannot_be_opened_does_not_stop_the_others(
    items: Project, monkeypatch: pytest.MonkeyPatch, *, directory: bool
) -> None:
    monkeypatch.setattr(RetryUnlessTerminated, "calculate_delay", lambda *_: 0)
    a_keyed_table(items, "sales.broken", commits=1)
    schema = Path(items.table("sales.broken").store.paths.root) / "schema"
    (schema / "schema-0").write_text("{")
    if directory:
        (schema / "schema-0").unlink()
        schema.rmdir()
        schema.write_text("no directory")
    result = run(items, "report_health", pattern="sales.*")
    (failed,) = [event for event in result.all_events if event.event_type_value == "STEP_FAILURE"]
    failure = failed.step_failure_data.user_failure_data
    assert failure is not None
    assert str(failure.description).startswith("1 of 2 tables failed:\nsales.broken: ")
    assert reported_tables(result) == ["items"]  # once, although the op was retried


def reported_tables(result: dg.ExecuteInProcessResult) -> list[str]:
    """The tables with a report of a run, which may have failed, once for each report."""
    reports = [event for event in result.all_events if event.event_type_value == "ASSET_OBSERVATION"]
    return [report.asset_observation_data.asset_observation.asset_key.path[-1] for report in reports]


@pytest.mark.parametrize("damage", ["a damaged snapshot", "a malformed option", "an unsupported feature"])
def test_a_table_that_cannot_be_checked_does_not_stop_the_others(
    project: Project, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setattr(RetryUnlessTerminated, "calculate_delay", lambda *_: 0)
    for name in ("sales.broken", "sales.events"):
        an_append_table(project, name, ["2026-01-01"])
    root = Path(project.table("sales.broken").store.paths.root)
    if damage == "a damaged snapshot":
        (root / "snapshot/snapshot-1").write_text("{")
    else:
        option = (
            {"partition.expiration-strategy": "ever"} if damage == "a malformed option" else {"file.format": "lance"}
        )
        schema = json.loads((root / "schema/schema-0").read_text())
        (root / "schema/schema-0").write_text(json.dumps({**schema, "options": {**schema["options"], **option}}))
    config = {"older_than_hours": 1.0, "timestamp_formatter": "yyyy-MM-dd", "dry_run": False}
    result = run(project, "expire_partitions", pattern="sales.*", **config)
    (failed,) = [event for event in result.all_events if event.event_type_value == "STEP_FAILURE"]
    failure = failed.step_failure_data.user_failure_data
    assert failure is not None
    assert str(failure.description).startswith("1 of 2 tables failed:\nsales.broken: ")
    assert reported_tables(result) == ["events"]
    assert project.table("sales.events").scan().count() == 0


def test_a_retry_because_of_one_table_leaves_out_the_others(items: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RetryUnlessTerminated, "calculate_delay", lambda *_: 0)
    a_keyed_table(items, "sales.broken", commits=1)
    items.table(TABLE).create_tag("eod")
    items.table("sales.broken").create_tag("eod")
    (Path(items.table("sales.broken").store.paths.root) / "tag/tag-eod").write_text("{")
    result = run(items, "create_branch", tables=[TABLE, "sales.broken"], name="b", tag="eod")
    (failed,) = [event for event in result.all_events if event.event_type_value == "STEP_FAILURE"]
    assert failed.step_failure_data.user_failure_data is not None
    # A branch that the first attempt has created would be refused by the second one.
    assert str(failed.step_failure_data.user_failure_data.description).startswith(
        "1 of 2 tables failed:\nsales.broken: "
    )
    assert reported_tables(result) == ["items"]


@pytest.mark.parametrize(
    ("job", "said"), [("maintain_table", "nothing is due"), ("rewrite_index_table", "nothing to rewrite; 1 of 1 file")]
)
def test_a_table_without_due_work_is_neither_claimed_nor_measured(
    project: Project, monkeypatch: pytest.MonkeyPatch, job: str, said: str
) -> None:
    an_append_table(project, "sales.events", ["2026-01-01"])
    monkeypatch.setattr(TableLocks, "alone", lambda *_: pytest.fail("claimed"))
    monkeypatch.setattr(runner, "measure", lambda *_: pytest.fail("measured"))
    told = execute(project, job, table="sales.events")  # and no session of Spark starts
    assert str(told["description"]).startswith(said)
    assert "before and after" not in told


def test_the_health_of_a_table_that_has_not_changed_is_not_reported_again(items: Project) -> None:
    def reports() -> int:
        return len(observations(run(items, "report_health", table=TABLE, skip_unchanged=True)))

    assert (reports(), reports()) == (1, 0)
    assert len(observations(run(items, "report_health", table=TABLE))) == 1
    items.table(TABLE).rollback_to(3)
    assert (reports(), reports()) == (1, 0)
    items.table(TABLE).expire_snapshots(retain_max=1, retain_min=1, retain_floor_ms=0)
    assert (reports(), reports()) == (1, 0)
    items.lakehouse.catalog().alter_table(TABLE, SetOption("file-index.bitmap.columns", "value"))
    assert (reports(), reports()) == (1, 0)


def test_a_report_is_on_the_asset_of_the_table_and_links_to_the_jobs(items: Project) -> None:
    @dg.asset(key=["gold", "things"], metadata={"paimon/table": TABLE})
    def things() -> None: ...

    defs = dg.Definitions(
        assets=[things], jobs=maintenance_jobs(), resources=items.resources, executor=dg.in_process_executor
    )
    config = {"ops": {"health": {"config": {"table": TABLE}}}}
    assert run_in_code_location(defs, "report_health", instance=items.instance, run_config=config).success
    (record,) = items.instance.fetch_observations(dg.AssetKey(["gold", "things"]), limit=5).records
    assert record.asset_observation is not None


def test_every_job_can_be_loaded_with_a_description_and_validates_its_table() -> None:
    dg.Definitions.validate_loadable(dg.Definitions(jobs=maintenance_jobs(), resources={"lakehouse": 1, "spark": 1}))
    assert len(JOBS) == len(maintenance_jobs()) >= 18
    assert all(job.description for job in JOBS.values())


# --- partitions and buckets -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("job", ["compact_table", "rewrite_index_table", "rescale_table"])
@pytest.mark.parametrize(
    ("partition", "message"),
    [
        ({"day": "2026-09-09"}, "has no partition day=2026-09-09; its partitions are day=2026-01-01"),
        ({"dayy": "2026-01-01"}, "'dayy' is not a partition column; the partition columns are day"),
    ],
)
def test_a_partition_that_does_not_exist_fails_immediately(
    unchanged_events: Project, job: str, partition: dict[str, str], message: str
) -> None:
    assert message in refusal(unchanged_events, job, table="sales.events", partitions=[partition], on_spark=False)


def test_a_bucket_that_does_not_exist_fails_immediately(unchanged: Project) -> None:
    message = refusal(unchanged, "compact_table", table=TABLE, buckets=[0, 7], on_spark=False)
    assert message == "sales.items has no bucket 7; found 0"


# --- compaction -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", [None, "zorder", "hilbert"])
def test_rows_are_sorted_by_columns(project: Project, strategy: str | None) -> None:
    an_append_table(project, "sales.events", ["2026-01-01", "2026-01-02"])
    found = execute(
        project, "compact_table", table="sales.events", order_by=["x", "y"], order_strategy=strategy, on_spark=False
    )
    assert found["maintenance"] == f"sort compaction ({strategy or 'order'})"
    rows = project.table("sales.events").scan(columns=["x", "day"]).to_arrow().to_pylist()
    assert len(rows) == 6
    if strategy is None:
        assert [row["x"] for row in rows if row["day"] == "2026-01-01"] == [1, 2, 3]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"order_by": ["nothing"]}, "has no column nothing to order by"),
        ({"order_by": ["x"], "order_strategy": "random"}, "order_strategy 'random': expected one of order, zorder"),
        ({"order_strategy": "zorder"}, "order_strategy requires order_by"),
        ({"order_by": ["x"], "full": True}, "remove full and buckets"),
    ],
)
def test_an_invalid_sort_order_is_refused(unchanged_events: Project, config: dict[str, Any], message: str) -> None:
    assert message in refusal(unchanged_events, "compact_table", table="sales.events", on_spark=False, **config)


def test_a_compaction_without_due_work_is_reported(project: Project) -> None:
    a_keyed_table(project, TABLE, commits=1)
    assert (
        execute(project, "compact_table", table=TABLE, on_spark=False)["description"] == "compaction: nothing was due"
    )


# --- what deletes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["expire", "clean", "expire_old_partitions", "rollback", "delete_tag_of_table", "delete_branch_of_table"],
)
def test_jobs_that_delete_are_dry_runs_by_default(name: str) -> None:
    (op,) = [node for job in JOBS.values() for node in job.nodes if node.name == name]
    assert op.definition.config_schema.as_field().config_type.fields["dry_run"].default_value is True


@pytest.mark.parametrize(
    ("job", "config", "message"),
    [
        ("expire_table", {"retain_max": 1, "retain_min": 5}, "retain"),
        ("expire_table", {"retain_max": 1}, "the table keeps at least 10; pass retain_min too"),
        ("expire_table", {"older_than_hours": -1}, "older_than_hours -1.0: expected 0 or more"),
        ("clean_table", {"older_than_hours": 0, "dry_run": False}, "younger files may belong to an active writer"),
        ("clean_table", {"older_than_hours": -1}, "expected 24 or more, or nobody_else_writes"),
        ("expire_partitions", {"older_than_hours": 1}, "partition"),
        ("rollback_table", {}, "exactly one of snapshot_id, tag, time, before_run; found none"),
        ("rollback_table", {"snapshot_id": 1, "tag": "a"}, "found snapshot_id, tag"),
        ("rollback_table", {"time": "yesterday"}, "time 'yesterday': expected a date and time"),
        ("rollback_table", {"snapshot_id": 99}, "99"),
        ("rollback_table", {"before_run": "nobody"}, "sales.items: no retained snapshot is from run nobody"),
        ("delete_tag", {"name": "none"}, "has no tag 'none'; its tags are none"),
        ("delete_branch", {"name": "none"}, "has no branch 'none'; its branches are none"),
        ("publish_branch", {"name": "none"}, "has no branch 'none'"),
        ("create_branch", {"name": "b", "tag": "none"}, "has no tag 'none'"),
        ("create_tag", {"name": "t", "snapshot_id": 77}, "77"),
        ("analyze_table", {"columns": ["none"]}, "has no column none"),
        ("alter_options", {}, "no option is given"),
        ("alter_options", {"set": {"bucket": "2"}, "reset": ["bucket"]}, "an option can be set or reset"),
        ("alter_options", {"set": {"no-such": "2"}}, "no-such"),
        ("mark_partitions_done", {"partitions": []}, "no partition is given"),
        ("maintain_table", {"max_level0_age_hours": 0, "on_spark": False}, "expected more than 0"),
        ("rescale_table", {"bucket": 0, "on_spark": False}, "bucket 0: expected 1 or more"),
    ],
)
def test_an_invalid_configuration_fails_immediately(
    unchanged: Project, job: str, config: dict[str, Any], message: str
) -> None:
    before = unchanged.table(TABLE).snapshots()
    assert message in refusal(unchanged, job, table=TABLE, **config)
    assert unchanged.table(TABLE).snapshots() == before


def test_old_partitions_are_reported_and_dropped(project: Project) -> None:
    options = {"partition__timestamp_formatter": "yyyy-MM-dd", "partition__timestamp_pattern": "$day"}
    an_append_table(project, "sales.events", ["2020-01-01", "2020-01-02", "2999-01-01"], **options)
    settings = {"table": "sales.events", "older_than_hours": 24}
    tried = execute(project, "expire_partitions", **settings)
    assert (tried["maintenance"], tried["partitions"]) == ("partition expiry (dry run)", 2)
    assert "day=2020-01-01" in tried["dropped"]
    assert len(project.rows("sales.events")) == 9
    found = execute(project, "expire_partitions", dry_run=False, **settings)
    assert found["description"] == "2 partitions were dropped, 6 rows"
    assert {row["day"] for row in project.rows("sales.events")} == {"2999-01-01"}


def test_partitions_are_marked_as_done_and_one_without_rows_is_refused(project: Project) -> None:
    an_append_table(project, "sales.events", ["2026-01-01"])
    found = execute(project, "mark_partitions_done", table="sales.events", partitions=[{"day": "2026-01-01"}])
    assert found["success files"].endswith("day=2026-01-01/_SUCCESS")
    assert project.table("sales.events").store.io.status(found["success files"]) is not None
    message = refusal(project, "mark_partitions_done", table="sales.events", partitions=[{"day": "2026-01-02"}])
    assert "has no partition day=2026-01-02" in message


# --- tags, branches, rollback -----------------------------------------------------------------------------------------


def test_a_tag_is_created_once_and_deleted(items: Project) -> None:
    found = execute(items, "create_tag", table=TABLE, name="eod", snapshot_id=2)
    assert (found["description"], found["tags before"], found["tags after"]) == (
        "tag 'eod' keeps snapshot 2",
        "none",
        "eod",
    )
    assert execute(items, "create_tag", table=TABLE, name="eod", snapshot_id=2)["tags before"] == "eod"
    assert "keeps snapshot 2" in refusal(items, "create_tag", table=TABLE, name="eod", snapshot_id=3)
    execute(items, "delete_tag", table=TABLE, name="eod")
    assert set(items.table(TABLE).tags()) == {"eod"}
    assert execute(items, "delete_tag", table=TABLE, name="eod", dry_run=False)["tags after"] == "none"
    assert not items.table(TABLE).tags()


def test_automatic_tags_are_created_when_they_are_due(items: Project) -> None:
    assert "no tag was due" in execute(items, "create_automatic_tags", table=TABLE)["description"]
    items.lakehouse.catalog().alter_table(TABLE, SetOption("tag.automatic-creation", "process-time"))
    items.lakehouse.catalog().alter_table(TABLE, SetOption("tag.creation-period", "daily"))
    assert execute(items, "create_automatic_tags", table=TABLE)["description"].startswith("tags created: ")
    assert len(items.table(TABLE).tags()) == 1


def test_a_branch_is_created_written_published_and_deleted(items: Project) -> None:
    execute(items, "create_tag", table=TABLE, name="start")
    assert execute(items, "create_branch", table=TABLE, name="audit", tag="start")["branches after"] == "audit"
    assert "audit" in refusal(items, "create_branch", table=TABLE, name="audit")
    branch = items.lakehouse.table(f"{TABLE}$branch_audit")
    branch.append(pa.table({"id": [100], "value": [1]}))
    result = run(items, "publish_branch", table=TABLE, name="audit")
    (report,) = observations(result)
    assert str(report.description).startswith("branch 'audit' is published: snapshots 4")
    (event,) = [event for event in result.all_events if event.event_type_value == "ASSET_MATERIALIZATION"]
    assert event.materialization.metadata["published_from"].value == "audit"
    assert 100 in {row["id"] for row in items.rows(TABLE)}
    execute(items, "delete_branch", table=TABLE, name="audit")
    assert set(items.table(TABLE).branches()) == {"audit"}
    assert execute(items, "delete_branch", table=TABLE, name="audit", dry_run=False)["branches after"] == "none"


@pytest.mark.parametrize(
    ("job", "config", "reason"),
    [
        ("publish_branch", {"name": "audit"}, "publishing would lose it"),
        ("rollback_table", {"before_run": "bad-run", "dry_run": False}, "would also undo later commits of others"),
    ],
)
def test_a_commit_of_others_while_a_run_waits_for_its_turn_is_not_lost(
    items: Project, monkeypatch: pytest.MonkeyPatch, job: str, config: dict[str, Any], reason: str
) -> None:
    run(items, "create_tag", table=TABLE, name="start")
    run(items, "create_branch", table=TABLE, name="audit", tag="start")
    items.lakehouse.table(f"{TABLE}$branch_audit").append(pa.table({"id": [100], "value": [1]}))
    if job == "rollback_table":
        items.table(TABLE).append(pa.table({"id": [150], "value": [1]}), properties={RUN_ID_PROPERTY: "bad-run"})

    @contextmanager
    def turn(locks: TableLocks, table: str) -> Iterator[None]:
        items.table(table).append(pa.table({"id": [200], "value": [1]}))
        yield

    monkeypatch.setattr(TableLocks, "alone", turn)
    assert reason in refusal(items, job, table=TABLE, **config)
    assert 200 in {row["id"] for row in items.rows(TABLE)}


def test_a_publication_that_would_lose_a_commit_is_refused_unless_that_is_wanted(items: Project) -> None:
    execute(items, "create_tag", table=TABLE, name="start")
    execute(items, "create_branch", table=TABLE, name="audit", tag="start")
    items.lakehouse.table(f"{TABLE}$branch_audit").append(pa.table({"id": [100], "value": [1]}))
    items.table(TABLE).append(pa.table({"id": [200], "value": [1]}))
    message = refusal(items, "publish_branch", table=TABLE, name="audit")
    assert "the latest snapshot, 5 by " in message
    assert "is not in branch 'audit'; publishing would lose it; set including_others" in message
    execute(items, "publish_branch", table=TABLE, name="audit", including_others=True)
    assert {100, 200} & {row["id"] for row in items.rows(TABLE)} == {100}


@pytest.mark.parametrize("target", [{"snapshot_id": 2}, {"tag": "good"}])
def test_a_rollback_is_tried_then_done_and_what_follows_is_out_of_date(items: Project, target: dict[str, Any]) -> None:
    table = items.table(TABLE)
    table.create_tag("good", 2)
    tried = run(items, "rollback_table", table=TABLE, **target)
    assert [report.description for report in observations(tried)] == [
        "would be rolled back from snapshot 4 to snapshot 2"
    ]
    assert "ASSET_MATERIALIZATION" not in [event.event_type_value for event in tried.all_events]
    assert len(table.snapshots()) == 4
    done = run(items, "rollback_table", table=TABLE, dry_run=False, **target)
    (report,) = observations(done)
    assert str(report.metadata["removed snapshots"].value).count("APPEND") == 2
    (event,) = [event for event in done.all_events if event.event_type_value == "ASSET_MATERIALIZATION"]
    assert event.materialization.metadata["rolled_back_from"].value == 4
    assert event.materialization.metadata["paimon/snapshot_id"].value == 2
    assert event.materialization.tags is not None
    assert event.materialization.tags["dagster/data_version"]
    assert [snapshot.id for snapshot in table.snapshots()] == [1, 2]


def test_a_rollback_to_a_time_finds_the_snapshot_of_then(items: Project) -> None:
    found = execute(items, "rollback_table", table=TABLE, time="2999-01-01 00:00:00")
    assert found["description"] == "would be rolled back from snapshot 4 to snapshot 4"
    assert "no snapshot" in refusal(items, "rollback_table", table=TABLE, time="1999-01-01")


def test_what_a_run_committed_is_taken_back_and_others_are_spared(items: Project) -> None:
    table = items.table(TABLE)
    commit = table.new_commit("somebody")
    write = table.new_write("somebody")
    messages = write.write(pa.table({"id": [50], "value": [0]}))
    commit.commit(messages, identifier=1, properties={RUN_ID_PROPERTY: "bad-run"})
    table.append(pa.table({"id": [60], "value": [0]}))
    tried = execute(items, "rollback_table", table=TABLE, before_run="bad-run")
    assert (tried["paimon/snapshot_id"], tried["snapshots of others"]) == (4, "6")
    message = refusal(items, "rollback_table", table=TABLE, before_run="bad-run", dry_run=False)
    assert "also undo later commits of others: snapshots 6; set including_others" in message
    execute(items, "rollback_table", table=TABLE, before_run="bad-run", dry_run=False, including_others=True)
    assert table.latest_snapshot().id == 4  # type: ignore[union-attr]


def test_a_rollback_to_a_snapshot_refuses_the_permission_that_only_a_rollback_of_a_run_needs(
    unchanged: Project,
) -> None:
    message = refusal(unchanged, "rollback_table", table=TABLE, snapshot_id=2, including_others=True)
    assert "including_others has no effect with snapshot_id" in message


def test_a_rollback_to_before_a_run_leaves_tables_that_the_run_has_not_written_to(items: Project) -> None:
    a_keyed_table(items, "sales.users", commits=2)
    table = items.table("sales.users")
    messages = table.new_write("somebody").write(pa.table({"id": [50], "value": [0]}))
    table.new_commit("somebody").commit(messages, identifier=1, properties={RUN_ID_PROPERTY: "bad-run"})
    result = run(items, "rollback_table", pattern="sales.*", before_run="bad-run", dry_run=False)
    assert {str(report.asset_key.path[-1]): report.description for report in observations(result)} == {
        "items": "skipped: no retained snapshot is from run bad-run",
        "users": "was rolled back from snapshot 3 to snapshot 2",
    }
    assert [items.table(name).latest_snapshot().id for name in (TABLE, "sales.users")] == [4, 2]  # type: ignore[union-attr]
    message = refusal(items, "rollback_table", pattern="sales.*", before_run="no-run", dry_run=False)
    assert message.count("no retained snapshot is from run no-run") == 2


# --- the table itself -------------------------------------------------------------------------------------------------


def test_a_rescaled_table_can_be_written_to_and_has_the_option(items: Project) -> None:
    found = execute(items, "rescale_table", table=TABLE, bucket=3, on_spark=False)
    assert (found["description"], found["option bucket"]) == ("3 buckets in each partition", "3")
    items.table(TABLE).append(pa.table({"id": [70], "value": [0]}))
    assert 70 in {row["id"] for row in items.rows(TABLE)}


def test_options_are_set_and_reset_with_their_values_before_and_after(items: Project) -> None:
    found = execute(items, "alter_options", table=TABLE, set={"snapshot.num-retained.max": "99"}, reset=["write-only"])
    assert "| snapshot.num-retained.max | default | 99 |" in found["options"]
    assert "| write-only | true | default |" in found["options"]
    options = items.table(TABLE).schema.options
    assert (options["snapshot.num-retained.max"], "write-only" in options) == ("99", False)
    again = execute(items, "alter_options", table=TABLE, set={"snapshot.num-retained.max": "99"})
    assert again["description"] == "all options already had these values"


def test_statistics_are_counted(items: Project) -> None:
    found = execute(items, "analyze_table", table=TABLE, columns=["value"])
    assert (found["description"], found["snapshots created"]) == ("rows and 1 column are counted", "5")


# --- what is due ------------------------------------------------------------------------------------------------------


def test_maintenance_does_what_is_due_and_then_nothing(project: Project) -> None:
    a_keyed_table(project, TABLE, commits=7)
    project.lakehouse.catalog().alter_table(TABLE, SetOption("file-index.bitmap.columns", "value"))
    rows = project.rows(TABLE)
    found = execute(project, "maintain_table", table=TABLE, on_spark=False)
    assert found["description"].startswith("2 tasks were due: compact, rewrite file index")
    assert "num-sorted-run.compaction-trigger" in found["work"]
    assert found["paimon/files_without_indexes"] == 0
    assert project.rows(TABLE) == rows
    assert execute(project, "maintain_table", table=TABLE, on_spark=False)["description"] == "nothing is due"


def test_maintenance_compacts_what_has_been_on_level_0_for_long(items: Project) -> None:
    settings = {"table": TABLE, "on_spark": False}
    assert execute(items, "maintain_table", max_level0_age_hours=1000, **settings)["description"] == "nothing is due"
    found = execute(items, "maintain_table", max_level0_age_hours=1e-9, **settings)
    assert (found["description"], found["paimon/level0_files"]) == ("1 task was due: compact", 0)


# --- verification -----------------------------------------------------------------------------------------------------


def test_a_valid_table_is_verified_down_to_its_rows(items: Project) -> None:
    found = execute(items, "verify_table", table=TABLE, depth="rows", on_spark=False)
    assert found["description"].startswith("no problems: 4 snapshots, ")
    assert (found["errors"], found["rows read"]) == (0, 8)
    assert "expected one of metadata, files and rows" in refusal(
        items, "verify_table", table=TABLE, depth="deep", on_spark=False
    )


def test_a_missing_file_is_reported_and_fails_the_run(items: Project) -> None:
    table = items.table(TABLE)
    lost = next(Path(table.store.paths.root).rglob("data-*"))
    lost.unlink()
    result = run(items, "verify_table", table=TABLE, on_spark=False)
    assert not result.success
    (event,) = [event for event in result.all_events if event.event_type_value == "ASSET_OBSERVATION"]
    report = event.asset_observation_data.asset_observation
    assert lost.name in str(report.metadata["findings"].value)
    assert "STEP_UP_FOR_RETRY" not in [event.event_type_value for event in result.all_events]
    found = execute(items, "verify_table", table=TABLE, on_spark=False, fail_on_errors=False)
    assert found["errors"] >= 1
