"""Branches: writing to one by name, and write-audit-publish with a blocking check."""

from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dagster_paimon import branch_audit, published_table
from dagster_paimon.io.branches import publish_branch
from dagster_paimon.io.io_manager import PaimonIOManager
from table_format.errors import ConflictError
from table_format.table.table import Table
from tests.support.dagster_project import Project
from tests.support.dagster_runs import run_in_code_location

pytestmark = pytest.mark.dagster

TABLE = "lab.results"
PUBLISHED = dg.AssetKey(["lab", "results"])


def a_staged_asset(values: list[int], mode: str = "append") -> dg.AssetsDefinition:
    @dg.asset(
        key=["lab", "results_staged"],
        io_manager_key="paimon_io",
        metadata={"paimon/wap": True, "paimon/table": TABLE, "paimon/write_mode": mode},
    )
    def staged() -> pa.Table:
        return pa.table({"n": pa.array(values, pa.int64())})

    return staged


def the_graph(values: list[int], seen: list[int] | None = None, mode: str = "append") -> list[Any]:
    """A staged asset with an audit against negative numbers, its publication, and a reader of the table."""
    staged = a_staged_asset(values, mode)
    published = published_table(staged)
    audit = branch_audit(staged, "no_negatives", lambda table: table.scan(filter="n < 0").count() == 0)

    @dg.asset(key=["lab", "report"], ins={"rows": dg.AssetIn(key=PUBLISHED, input_manager_key="paimon_io")})
    def report(rows: pa.Table) -> None:
        if seen is not None:
            seen.extend(rows["n"].to_pylist())

    return [staged, audit, published, report]


def numbers(project: Project) -> list[int]:
    return [row["n"] for row in project.rows(TABLE)]


def test_rows_are_published_after_their_audit(project: Project) -> None:
    seen: list[int] = []
    result = project.run(the_graph([1, 2], seen))
    assert result.success
    assert numbers(project) == seen == [1, 2]
    assert project.table(TABLE).branches() == {}
    assert project.table(TABLE).tags() == {}
    project.run(the_graph([3]))
    assert numbers(project) == [1, 2, 3]
    (event,) = result.asset_materializations_for_node("lab__results")
    assert event.metadata["paimon/snapshot_id"].value == 1
    assert event.metadata["paimon/published_branch"].value == f"wap-{result.run_id}"
    assert project.table(TABLE).snapshots()[0].properties["dagster.run_id"] == result.run_id


def test_a_failed_audit_keeps_the_rows_from_readers_and_the_branch_for_inspection(project: Project) -> None:
    project.run(the_graph([1]))
    seen: list[int] = []
    result = project.run(the_graph([-5], seen), raise_on_error=False)
    assert not result.success
    assert numbers(project) == [1]
    assert seen == []
    branch = f"wap-{result.run_id}"
    assert list(project.table(TABLE).branches()) == [branch]
    (evaluation,) = result.get_asset_check_evaluations()
    assert evaluation.metadata["paimon/branch"].value == branch
    assert "stays for inspection" in evaluation.description
    assert sorted(row["n"] for row in project.rows(f"{TABLE}$branch_{branch}")) == [-5, 1]
    project.run(the_graph([2]))
    assert numbers(project) == [1, 2]


def test_a_publication_does_not_lose_commits_of_others(project: Project) -> None:
    project.run(the_graph([1]))
    graph = the_graph([2])
    first = project.run(graph, selection=[graph[0]])
    project.table(TABLE).append(pa.table({"n": [100]}))
    branch = f"wap-{first.run_id}"
    with pytest.raises(ConflictError, match=r"snapshot, 2 by .*publishing would lose it"):
        publish_branch(project.lakehouse.catalog(), TABLE, branch)
    assert numbers(project) == [1, 100]
    assert branch in project.table(TABLE).branches()


def test_a_publication_that_would_lose_commits_is_not_retried_and_says_what_to_do(project: Project) -> None:
    project.run(the_graph([1]))
    staged = a_staged_asset([2])

    def others_commit_meanwhile(_: Table) -> bool:
        project.table(TABLE).append(pa.table({"n": [100]}))
        return True

    audit = branch_audit(staged, "slow", others_commit_meanwhile)
    published = published_table(staged, retry_policy=dg.RetryPolicy(max_retries=3))
    result = project.run([staged, audit, published], raise_on_error=False)
    (failed,) = result.filter_events(lambda event: event.is_step_failure)
    assert failed.step_failure_data.user_failure_data.description.startswith(f"{TABLE}: the main branch has a snapshot")
    assert "Run the asset again" in failed.step_failure_data.user_failure_data.description
    assert not [event for event in result.all_events if event.is_step_up_for_retry]
    assert numbers(project) == [1, 100]


def test_separate_runs_can_audit_and_publish_a_branch(project: Project) -> None:
    graph = the_graph([1])
    staged, audit, published, _ = graph
    project.run(graph, selection=[staged])
    checked = project.run(graph, selection=dg.AssetSelection.checks(audit))
    assert checked.get_asset_check_evaluations()[0].passed
    assert project.run(graph, selection=[published]).success
    assert numbers(project) == [1]
    with pytest.raises(dg.Failure, match="may already be published"):
        project.run(graph, selection=[published])


def test_a_branch_that_changed_after_its_audit_is_not_published(project: Project) -> None:
    staged, audit, published, _ = the_graph([1])
    selections = {
        "stage": dg.AssetSelection.assets(staged).without_checks(),
        "audit": dg.AssetSelection.checks(audit),
        "publish": dg.AssetSelection.assets(published),
    }
    defs = dg.Definitions(
        assets=[staged, published],
        asset_checks=[audit],
        jobs=[dg.define_asset_job(name, selection=selection) for name, selection in selections.items()],
        resources=project.resources,
        executor=dg.in_process_executor,
    )

    def run(job: str, **how: Any) -> Any:
        return run_in_code_location(defs, job, instance=project.instance, **how)

    branch = f"{TABLE}$branch_wap-{run('stage').run_id}"
    with pytest.raises(dg.Failure, match="the audit no_negatives has not checked snapshot 1"):
        run("publish")
    assert run("audit").success
    project.table(branch).append(pa.table({"n": [-7]}))
    with pytest.raises(dg.Failure, match="the audit no_negatives has not checked snapshot 2"):
        run("publish")
    assert not run("audit", raise_on_error=False).success
    with pytest.raises(dg.Failure, match="the audit no_negatives has refused snapshot 2"):
        run("publish")
    assert not project.table(TABLE).snapshots()


def test_an_audit_reads_the_snapshot_that_it_reports_despite_concurrent_commits(project: Project) -> None:
    def evaluate(table: Table) -> bool:
        project.table(str(table.identifier)).append(pa.table({"n": [-1]}))
        return table.scan(filter="n < 0").count() == 0

    staged = a_staged_asset([1])
    graph = [staged, branch_audit(staged, "no_negatives", evaluate), published_table(staged)]
    result = project.run(graph, raise_on_error=False)
    assert result.get_asset_check_evaluations()[0].passed
    (failed,) = [event for event in result.all_events if event.event_type_value == "STEP_FAILURE"]
    assert "has not checked snapshot 2" in str(failed.step_failure_data.user_failure_data)
    assert not project.table(TABLE).snapshots()


def test_a_concurrent_audit_of_another_run_does_not_prevent_a_publication(project: Project) -> None:
    others: list[Any] = []

    def evaluate(_: Table) -> bool:
        if not others:
            others.append(None)
            others[0] = project.run([staged, first], raise_on_error=False)
        return True

    staged = a_staged_asset([1])
    first = branch_audit(staged, "a_first_audit", lambda table: table.scan().count() == 1)
    graph = [staged, first, branch_audit(staged, "b_second_audit", evaluate), published_table(staged)]
    assert project.run(graph).success
    assert numbers(project) == [1]
    assert list(project.table(TABLE).branches()) == [f"wap-{others[0].run_id}"]


def test_a_publication_that_crashed_before_it_deleted_the_branch_is_completed(project: Project) -> None:
    graph = the_graph([1, 2])
    run = project.run(graph, selection=[graph[0]])
    branch, catalog = f"wap-{run.run_id}", project.lakehouse.catalog()
    publish_branch(catalog, TABLE, branch, delete=False)
    again = publish_branch(catalog, TABLE, branch)
    assert again.snapshots == ()
    assert numbers(project) == [1, 2]
    assert project.table(TABLE).branches() == {}


class CrashesOnce(PaimonIOManager):
    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        super().handle_output(context, obj)
        if context.step_context.previous_attempt_count == 0:
            message = "killed"
            raise OSError(message)


def test_a_retried_step_finds_its_rows_on_the_branch(project: Project) -> None:
    @dg.asset(
        key=["lab", "results_staged"],
        io_manager_key="paimon_io",
        metadata={"paimon/wap": True, "paimon/table": TABLE, "paimon/write_mode": "append"},
        retry_policy=dg.RetryPolicy(max_retries=1),
    )
    def staged() -> pa.Table:
        return pa.table({"n": [1]})

    project.resources["paimon_io"] = CrashesOnce(lakehouse=project.lakehouse, spark=project.resources["spark"])
    assert project.run([staged, published_table(staged)]).success
    assert numbers(project) == [1]


def test_a_schema_change_reaches_the_table_with_its_publication(project: Project) -> None:
    project.run(the_graph([1]))

    @dg.asset(
        key=["lab", "results_staged"],
        io_manager_key="paimon_io",
        metadata={"paimon/wap": True, "paimon/table": TABLE, "paimon/write_mode": "append"},
    )
    def staged() -> pa.Table:
        return pa.table({"n": [2], "note": ["new"]})

    graph = [staged, published_table(staged)]
    project.run(graph, selection=[staged])
    assert project.table(TABLE).schema.field_names == ("n",)
    project.run(graph, selection=[graph[1]])
    assert project.rows(TABLE) == [{"n": 1, "note": None}, {"n": 2, "note": "new"}]


def test_an_asset_writes_to_the_branch_its_metadata_name(project: Project) -> None:
    def asset(values: list[int], **metadata: Any) -> dg.AssetsDefinition:
        @dg.asset(
            key=["lab", "results"],
            io_manager_key="paimon_io",
            metadata={"paimon/write_mode": "append", **metadata},
        )
        def results() -> pa.Table:
            return pa.table({"n": values})

        return results

    project.run(asset([1]))
    result = project.run(asset([2], **{"paimon/branch": "dev"}))
    assert numbers(project) == [1]
    assert sorted(row["n"] for row in project.rows(f"{TABLE}$branch_dev")) == [1, 2]
    (event,) = result.asset_materializations_for_node("lab__results")
    assert event.metadata["paimon/branch"].value == "dev"


def test_a_run_tag_moves_a_whole_run_to_a_branch(project: Project) -> None:
    seen: list[Any] = []

    @dg.asset(key=["lab", "results"], io_manager_key="paimon_io", metadata={"paimon/write_mode": "append"})
    def results() -> pa.Table:
        return pa.table({"n": [1]})

    @dg.asset(key=["lab", "reader"], ins={"rows": dg.AssetIn(key=["lab", "results"])})
    def reader(rows: pa.Table) -> None:
        seen.append(rows.num_rows)

    project.run(results)
    project.run([results, reader], tags={"paimon/branch": "trial"})
    project.run([results, reader], selection=[reader])
    assert seen == [2, 1]


def test_an_asset_without_wap_cannot_be_published() -> None:
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="'paimon/wap': True"):
        published_table(dg.AssetSpec(["lab", "results"]))


def test_wap_and_a_named_branch_exclude_each_other(project: Project) -> None:
    @dg.asset(key=["lab", "results"], io_manager_key="paimon_io", metadata={"paimon/wap": True, "paimon/branch": "dev"})
    def results() -> pa.Table:
        return pa.table({"n": [1]})

    with pytest.raises(dg.Failure, match="remove paimon/branch"):
        project.run(results)
