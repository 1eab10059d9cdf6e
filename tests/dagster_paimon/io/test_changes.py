"""An asset that follows the changes of a table: what it reads, also if changes are no longer available."""

from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from dagster_paimon import changes_since_last_run
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from table_format import StreamScan, Table
from table_format.engine.support import snapshot_fingerprint
from table_format.model.schema import Schema
from tests.support.dagster_project import Project

pytestmark = pytest.mark.dagster

COLUMNS = pa.schema([("id", pa.int64()), ("user", pa.int64()), ("amount", pa.int64())])
SUM = {"merge-engine": "aggregation", "fields.amount.aggregate-function": "sum", "bucket": "1"}


def a_source(project: Project, **options: str) -> Table:
    catalog = project.lakehouse.catalog()
    catalog.create_database("shop", ignore_if_exists=True)
    schema = Schema.from_arrow(
        COLUMNS, primary_keys=["id"], options={"bucket": "1", "changelog-producer": "lookup", **options}
    )
    return catalog.create_table("shop.orders", schema)


def orders(*rows: tuple[int, int, int], kind: str = "+I") -> pa.Table:
    found = pa.table(dict(zip(COLUMNS.names, map(list, zip(*rows, strict=True)), strict=True)), schema=COLUMNS)
    return found.append_column("_row_kind", pa.array([kind] * found.num_rows))


def totals(seen: list[Any], *, fails: bool = False, consumer: str | None = None) -> dg.AssetsDefinition:
    @dg.asset(
        key=["mart", "totals"],
        io_manager_key="paimon_io",
        metadata={"paimon/write_mode": "upsert", "paimon/primary_key": ["user"], "paimon/options": SUM},
    )
    def make(context: dg.AssetExecutionContext, lakehouse: LakehouseCatalog) -> pa.Table:
        changes = changes_since_last_run(
            context, lakehouse, "shop.orders", columns=["user", "amount"], consumer=consumer
        )
        seen.append((changes.is_complete, changes.rows.num_rows))
        if fails:
            raise dg.Failure(description="on purpose", allow_retries=False)
        amounts = pc.multiply(changes.rows["amount"], changes.signs)
        return pa.table({"user": changes.rows["user"], "amount": amounts})

    return make


def sums(project: Project) -> dict[int, int]:
    return {row["user"]: row["amount"] for row in project.rows("mart.totals")}


@pytest.mark.parametrize("producer", ["full-compaction", "lookup"])
def test_a_run_reads_the_changes_since_the_last_run_and_the_sums_are_right(project: Project, producer: str) -> None:
    source, seen = a_source(project, **{"changelog-producer": producer}), []
    source.append(orders((1, 10, 5), (2, 10, 7), (3, 20, 1)))
    source.compact(full=True)
    project.run(totals(seen))
    source.append(orders((2, 20, 9), (4, 30, 2)))
    source.append(orders((3, 20, 1), kind="-D"))
    source.compact(full=True)
    project.run(totals(seen))
    assert sums(project) == {10: 5, 20: 9, 30: 2}
    assert seen[0] == (True, 3)
    assert seen[1] == (False, 4)  # the old and new row 2, the new row 4, and the deleted row 3


def test_a_run_without_changes_writes_nothing(project: Project) -> None:
    source, seen = a_source(project), []
    source.append(orders((1, 10, 5)))
    for _ in range(2):
        project.run(totals(seen))
    assert seen == [(True, 1), (False, 0)]
    assert project.table("mart.totals").latest_snapshot().id == 1


def test_the_next_run_reads_the_changes_of_a_failed_run(project: Project) -> None:
    source, seen = a_source(project), []
    source.append(orders((1, 10, 5)))
    project.run(totals(seen))
    source.append(orders((2, 10, 7)))
    project.run(totals(seen, fails=True), raise_on_error=False)
    project.run(totals(seen))
    assert seen == [(True, 1), (False, 1), (False, 1)]
    assert sums(project) == {10: 12}


def test_a_rollback_of_the_source_recomputes_everything(project: Project) -> None:
    source, seen = a_source(project), []
    source.append(orders((1, 10, 5)))
    source.append(orders((2, 10, 7)))
    project.run(totals(seen))
    source.rollback_to(2)
    source.append(orders((3, 20, 1)))
    project.run(totals(seen))
    assert seen == [(True, 2), (True, 2)]
    assert sums(project) == {10: 5, 20: 1}


def test_an_overwrite_of_the_source_recomputes_everything(project: Project) -> None:
    source, seen = a_source(project), []
    source.append(orders((1, 10, 5)))
    project.run(totals(seen))
    source.overwrite(orders((2, 20, 7)))
    source.append(orders((3, 20, 1)))
    project.run(totals(seen))
    assert seen == [(True, 1), (True, 2)]
    assert sums(project) == {20: 8}


def test_expiry_of_the_read_snapshot_recomputes_everything(project: Project) -> None:
    source, seen = a_source(project), []
    source.append(orders((1, 10, 5)))
    project.run(totals(seen))
    for user in (20, 30):
        source.append(orders((user, user, 1)))
    source.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=2**60, retain_floor_ms=0)
    project.run(totals(seen))
    assert seen == [(True, 1), (True, 3)]
    assert sums(project) == {10: 5, 20: 1, 30: 1}


def test_a_source_that_was_created_again_and_is_empty_leaves_no_rows(project: Project) -> None:
    source, seen = a_source(project), []
    source.append(orders((1, 10, 5)))
    project.run(totals(seen))
    project.lakehouse.catalog().drop_table("shop.orders")
    source = a_source(project)
    for _ in range(2):
        project.run(totals(seen))
        assert sums(project) == {}
    assert project.table("mart.totals").latest_snapshot().id == 2  # the second run has nothing to remove
    source.append(orders((2, 20, 7)))
    project.run(totals(seen))
    assert seen == [(True, 1), (True, 0), (True, 0), (True, 1)]
    assert sums(project) == {20: 7}


def test_an_overwrite_during_the_read_recomputes_everything(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    source, seen = a_source(project, **{"changelog-producer": "input"}), []
    source.append(orders((1, 10, 5)))
    project.run(totals(seen))
    source.append(orders((2, 20, 7)))
    reads = iter([lambda: source.overwrite(orders((3, 30, 1)))])
    restore = StreamScan.restore

    def restore_late(stream: StreamScan, next_snapshot_id: int | None) -> None:
        restore(stream, next_snapshot_id)
        next(reads, lambda: None)()

    monkeypatch.setattr(StreamScan, "restore", restore_late)
    project.run(totals(seen))
    assert sums(project) == {30: 1}
    assert seen == [(True, 1), (True, 1)]


def test_a_consumer_keeps_the_snapshots_that_the_next_run_needs(project: Project) -> None:
    source, seen = a_source(project), []
    source.append(orders((1, 10, 5)))
    project.run(totals(seen, consumer="totals"))
    for user in (20, 30):
        source.append(orders((user, user, 1)))
    source.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=2**60, retain_floor_ms=0)
    project.run(totals(seen, consumer="totals"))
    assert seen == [(True, 1), (False, 2)]
    assert sums(project) == {10: 5, 20: 1, 30: 1}


def test_the_snapshot_of_the_asset_records_the_read_position(project: Project) -> None:
    source = a_source(project)
    source.append(orders((1, 10, 5)))
    project.run(totals([]))
    properties = project.table("mart.totals").latest_snapshot().properties
    assert properties["consumed.shop.orders"] == str(source.latest_snapshot().id)
    assert properties["consumed-state.shop.orders"] == snapshot_fingerprint(source.latest_snapshot())


def test_a_source_without_changelog_is_refused(project: Project) -> None:
    a_source(project, **{"changelog-producer": "none"}).append(orders((1, 10, 5)))
    result = project.run(totals([]), raise_on_error=False)
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert "set changelog-producer to lookup" in failure.step_failure_data.error.to_string()


def running_sum(**metadata: Any) -> dg.AssetsDefinition:
    @dg.asset(key=["mart", "totals"], io_manager_key="paimon_io", metadata=metadata)
    def make(context: dg.AssetExecutionContext, lakehouse: LakehouseCatalog) -> pa.Table:
        changes = changes_since_last_run(context, lakehouse, "shop.orders", columns=["user", "amount"])
        return pa.table({"user": changes.rows["user"], "amount": pc.multiply(changes.rows["amount"], changes.signs)})

    return make


UPSERT = {"paimon/write_mode": "upsert", "paimon/primary_key": ["user"], "paimon/options": SUM}


def test_a_second_source_in_one_run_is_refused_because_complete_rows_of_one_would_remove_those_of_the_other(
    project: Project,
) -> None:
    a_source(project).append(orders((1, 10, 5)))

    @dg.asset(key=["mart", "totals"], io_manager_key="paimon_io", metadata=UPSERT)
    def both(context: dg.AssetExecutionContext, lakehouse: LakehouseCatalog) -> pa.Table:
        found = [
            changes_since_last_run(context, lakehouse, "shop.orders", columns=["user", "amount"]) for _ in range(2)
        ]
        return pa.concat_tables([changes.rows for changes in found])

    result = project.run(both, raise_on_error=False)
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert "already reads the changes of shop.orders" in failure.step_failure_data.error.to_string()


def test_a_second_source_is_refused_even_if_the_first_has_no_snapshot_yet(project: Project) -> None:
    source = a_source(project)
    assert source.latest_snapshot() is None

    @dg.asset(key=["mart", "totals"], io_manager_key="paimon_io", metadata=UPSERT)
    def both(context: dg.AssetExecutionContext, lakehouse: LakehouseCatalog) -> pa.Table:
        changes_since_last_run(context, lakehouse, "shop.orders")
        return changes_since_last_run(context, lakehouse, "shop.orders", columns=["user", "amount"]).rows

    result = project.run(both, raise_on_error=False)
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert "already reads the changes of shop.orders" in failure.step_failure_data.error.to_string()


@pytest.mark.parametrize("mode", [None, "overwrite_partition", "overwrite_table"])
def test_changes_do_not_replace_the_rows_of_earlier_runs(project: Project, mode: str | None) -> None:
    source = a_source(project)
    source.append(orders((1, 10, 5)))
    asset = running_sum(**({} if mode is None else {"paimon/write_mode": mode}))
    project.run(asset)  # the complete rows
    source.append(orders((2, 20, 7)))
    result = project.run(asset, raise_on_error=False)
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert "would replace the rows of earlier runs by the changes of shop.orders" in str(
        failure.step_failure_data.error.to_string()
    )
    assert sums(project) == {10: 5}


def test_a_run_may_replace_all_rows_if_it_sets_the_mode_itself(project: Project) -> None:
    source = a_source(project)

    @dg.asset(key=["mart", "totals"], io_manager_key="paimon_io", metadata=UPSERT)
    def newest(context: dg.AssetExecutionContext, lakehouse: LakehouseCatalog) -> pa.Table:
        changes = changes_since_last_run(context, lakehouse, "shop.orders", columns=["user", "amount"])
        context.add_output_metadata({"paimon/write_mode": "overwrite_table"})
        return changes.rows.select(["user", "amount"])

    for user in (10, 20):
        source.append(orders((user, user, 1)))
        project.run(newest)
    assert sums(project) == {20: 1}


def test_changes_can_be_appended(project: Project) -> None:
    source = a_source(project)
    for user in (10, 20):
        source.append(orders((user, user, 1)))
        project.run(running_sum(**{"paimon/write_mode": "append"}))
    assert sums(project) == {10: 1, 20: 1}


def test_properties_that_a_run_adds_do_not_remove_the_read_position(project: Project) -> None:
    source, seen = a_source(project), []

    @dg.asset(key=["mart", "totals"], io_manager_key="paimon_io", metadata={**UPSERT, "paimon/properties": {"a": "1"}})
    def make(context: dg.AssetExecutionContext, lakehouse: LakehouseCatalog) -> pa.Table:
        changes = changes_since_last_run(context, lakehouse, "shop.orders", columns=["user", "amount"])
        seen.append((changes.is_complete, changes.rows.num_rows))
        context.add_output_metadata({"paimon/properties": {"reviewed": "yes"}})
        return changes.rows.select(["user", "amount"])

    for user in (10, 20, 30):
        source.append(orders((user, user, 1)))
        project.run(make)
    assert seen == [(True, 1), (False, 1), (False, 1)]
    assert sums(project) == {10: 1, 20: 1, 30: 1}
    assert project.table("mart.totals").latest_snapshot().properties["reviewed"] == "yes"


def test_the_position_is_that_of_the_changes_even_if_an_input_loads_an_earlier_state_of_the_source(
    project: Project,
) -> None:
    source = a_source(project)
    source.append(orders((1, 10, 5)))
    upstream = dg.AssetSpec(["shop", "orders"]).with_io_manager_key("paimon_io")

    @dg.asset(
        key=["mart", "totals"],
        io_manager_key="paimon_io",
        metadata=UPSERT,
        ins={"before": dg.AssetIn(["shop", "orders"], metadata={"paimon/read": "snapshot:1"})},
    )
    def make(context: dg.AssetExecutionContext, lakehouse: LakehouseCatalog, before: pa.Table) -> pa.Table:
        changes = changes_since_last_run(context, lakehouse, "shop.orders", columns=["user", "amount"])
        return pa.table({"user": changes.rows["user"], "amount": pc.multiply(changes.rows["amount"], changes.signs)})

    source.append(orders((2, 20, 7)))
    for _ in range(3):
        project.run([upstream, make], selection=[make.key])
    assert sums(project) == {10: 5, 20: 7}


def test_an_asset_with_checks_follows_changes(project: Project) -> None:
    source = a_source(project)

    @dg.asset(
        key=["mart", "totals"],
        io_manager_key="paimon_io",
        metadata=UPSERT,
        check_specs=[dg.AssetCheckSpec("rows", asset=["mart", "totals"])],
    )
    def make(context: dg.AssetExecutionContext, lakehouse: LakehouseCatalog) -> Any:
        changes = changes_since_last_run(context, lakehouse, "shop.orders", columns=["user", "amount"])
        yield dg.Output(changes.rows.select(["user", "amount"]))
        yield dg.AssetCheckResult(passed=True)

    for user in (10, 20):
        source.append(orders((user, user, 1)))
        project.run(make)
    assert sums(project) == {10: 1, 20: 1}


@pytest.mark.parametrize("by_tag", [True, False])
def test_runs_on_a_branch_continue_from_the_position_of_the_branch(project: Project, *, by_tag: bool) -> None:
    source = a_source(project)
    source.append(orders((1, 10, 5)))
    project.run(running_sum(**UPSERT))
    on_dev = running_sum(**UPSERT, **({} if by_tag else {"paimon/branch": "dev"}))
    for user in (20, 30):
        source.append(orders((user, user, 1)))
        project.run(on_dev, tags={"paimon/branch": "dev"} if by_tag else {})
    dev = {row["user"]: row["amount"] for row in project.rows("mart.totals$branch_dev")}
    assert (dev, sums(project)) == ({10: 5, 20: 1, 30: 1}, {10: 5})


def test_a_run_on_a_branch_reads_the_changes_on_that_branch_of_the_source(project: Project) -> None:
    source = a_source(project)
    source.append(orders((1, 10, 5)))
    project.run(running_sum(**UPSERT))
    source.create_tag("begin")
    source.create_branch("dev", tag="begin")
    project.table("shop.orders$branch_dev").append(orders((2, 20, 7)))
    source.append(orders((3, 30, 9)))
    project.run(running_sum(**UPSERT), tags={"paimon/branch": "dev"})
    dev = {row["user"]: row["amount"] for row in project.rows("mart.totals$branch_dev")}
    assert (dev, sums(project)) == ({10: 5, 20: 7}, {10: 5})
