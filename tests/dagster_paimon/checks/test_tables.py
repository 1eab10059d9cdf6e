"""Each check passes on a valid table, fails on a faulty one, and belongs to the asset of its table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dagster_paimon import table_checks
from dagster_paimon.checks.tables import TableCheck
from dagster_paimon.checks.upkeep import MOST_SNAPSHOTS
from table_format import Table
from table_format.engine.support import Consumed
from table_format.errors import InvalidInputError
from table_format.model.schema_change import AddColumn, SetOption
from table_format.model.types import IntType
from tests.support.dagster_project import Project
from tests.support.sensor_ticks import ROWS, a_table, rows

NAME = "crm.visits"


def checked(project: Project, check: str, assets: Any = (), table: str = NAME, **settings: Any) -> Any:
    """Return the evaluation of one check of the table."""
    (definition,) = table_checks(table, [check], assets=assets, settings={check: settings} if settings else None)
    job = dg.define_asset_job("checks", selection=dg.AssetSelection.all_asset_checks())
    defs = dg.Definitions(
        asset_checks=[definition], jobs=[job], executor=dg.in_process_executor, resources=project.resources
    )
    # A blocking check fails its run.
    blocks = check == "pk_unique" and bool(settings)
    run = defs.resolve_job_def("checks").execute_in_process(instance=project.instance, raise_on_error=not blocks)
    (evaluation,) = run.get_asset_check_evaluations()
    return evaluation


def outcome(project: Project, check: str, **arguments: Any) -> tuple[bool, str]:
    evaluation = checked(project, check, **arguments)
    return evaluation.passed, evaluation.severity.value


def shown(evaluation: Any) -> dict[str, Any]:
    return {key: value.value for key, value in evaluation.metadata.items()}


def delete_a_data_file(table: Table) -> None:
    (entry, *_) = table.scan().plan().splits
    facts = table.facts
    path = facts.store.paths.data_file(facts.partitions.text(entry.partition), entry.bucket, entry.files[0])
    facts.store.io.delete(path)


@pytest.mark.parametrize("check", [c for c in TableCheck if c is not TableCheck.FRESHNESS])
def test_a_check_of_a_table_that_does_not_exist_is_a_warning(project: Project, check: str) -> None:
    evaluation = checked(project, check)
    assert (evaluation.passed, evaluation.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert evaluation.description == "crm.visits does not exist yet; materialize it"


@pytest.mark.parametrize("check", [c for c in TableCheck if c is not TableCheck.FRESHNESS])
@pytest.mark.parametrize("commits", [0, 1])
def test_a_valid_table_passes(project: Project, check: str, commits: int) -> None:
    table = a_table(project.lakehouse, NAME, keys=["id"])
    for number in range(commits):
        table.append(rows((number, "mon", 1), (number + 1, "tue", 1)))
    assert checked(project, check).passed


def test_the_options_of_a_table_set_the_limits_of_its_health(project: Project) -> None:
    table = a_table(project.lakehouse, NAME, keys=["id"], options={"write-only": "true"})
    for number in range(9):
        table.append(rows((number, "mon", 1)))
    evaluation = checked(project, "table_health")
    assert (evaluation.passed, evaluation.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert evaluation.description == "a bucket has 9 sorted runs, and 'num-sorted-run.stop-trigger' is 8"
    assert "compact: 1 of 1 bucket:" in shown(evaluation)["due"]
    project.lakehouse.catalog().alter_table(NAME, [SetOption("num-sorted-run.stop-trigger", "9")])
    assert checked(project, "table_health").passed
    project.lakehouse.catalog().alter_table(
        NAME, [SetOption("snapshot.num-retained.min", "1"), SetOption("snapshot.num-retained.max", "4")]
    )
    assert checked(project, "table_health").description == "found 9 snapshots, expected at most 4"
    assert MOST_SNAPSHOTS > 9


def test_small_files_of_an_append_table_are_bad_health(project: Project) -> None:
    table = a_table(project.lakehouse, NAME, options={"write-only": "true"})
    for number in range(6):
        table.append(rows((number, "mon", 1)))
    assert "6 small files" in checked(project, "table_health").description


def test_a_missing_file_fails_files_present_and_snapshot_readable(project: Project) -> None:
    table = a_table(project.lakehouse, NAME)
    table.append(rows((1, "mon", 1)))
    delete_a_data_file(table)
    for check in ("files_present", "snapshot_readable"):
        assert outcome(project, check) == (False, "ERROR")
    assert checked(project, "snapshot_readable", depth="metadata").passed


def test_a_repeated_key_blocks_and_is_shown(project: Project) -> None:
    table = a_table(project.lakehouse, NAME)
    table.append(rows((1, "mon", 1), (1, "tue", 1), (2, "mon", 1), (3, None, 1)))
    assert checked(project, "pk_unique", columns=["id", "day"]).passed
    evaluation = checked(project, "pk_unique", columns=["id"])
    assert (evaluation.passed, evaluation.severity, evaluation.blocking) == (False, dg.AssetCheckSeverity.ERROR, True)
    assert shown(evaluation) == {"key": "id", "rows": 4, "repeated keys": 1, "examples": "{'id': 1, 'count_all': 2}"}


def test_many_keys_are_compared_in_parts(project: Project) -> None:
    table = a_table(project.lakehouse, NAME)
    numbers = [*range(500), 77, 401]
    table.append(pa.table({"id": numbers, "day": ["d"] * 502, "amount": [1] * 502}).cast(ROWS))
    found = shown(checked(project, "pk_unique", columns=["id"], keys_at_once=50))
    assert (found["rows"], found["repeated keys"]) == (502, 2)


def test_the_error_asks_for_the_key_of_a_table_without_one(project: Project) -> None:
    a_table(project.lakehouse, NAME)
    with pytest.raises(InvalidInputError, match=r"pk_unique: .* has no primary key; set columns .* of table_checks"):
        checked(project, "pk_unique")


def test_a_table_without_a_key_that_a_pattern_selects_is_skipped_with_a_statement(project: Project) -> None:
    a_table(project.lakehouse, NAME).append(rows((1, "mon", 1), (1, "mon", 1)))
    evaluation = checked(project, "pk_unique", table="crm.*", assets=[dg.AssetSpec(["crm", "visits"])])
    assert (evaluation.passed, evaluation.description) == (True, "skipped: crm.visits has no primary key")


def test_a_pattern_selects_the_assets_with_a_maximum_age_for_the_check_of_freshness() -> None:
    assets = [dg.AssetSpec(["crm", "visits"], metadata={"paimon/freshness": "1 d"}), dg.AssetSpec(["crm", "calls"])]
    (definition,) = table_checks("crm.*", ["freshness"], assets=assets)
    assert [key.asset_key for key in definition.check_keys] == [dg.AssetKey(["crm", "visits"])]
    allowed = {"freshness": {"allowed": timedelta(days=1)}}
    assert len(table_checks("crm.*", ["freshness"], assets=assets, settings=allowed)) == 2


def test_the_schema_is_compared_with_what_the_asset_declares(project: Project) -> None:
    a_table(project.lakehouse, NAME, keys=["id"], options={"merge-engine": "first-row"})
    metadata: Mapping[str, Any] = {
        "paimon/primary_key": ["id", "day"],
        "paimon/options": {"bucket": "7", "merge-engine": "deduplicate"},
        "dagster/column_schema": dg.TableSchema(
            [dg.TableColumn("id", "BIGINT"), dg.TableColumn("day", "DATE"), dg.TableColumn("price", "INT")]
        ),
    }
    declared = dg.AssetSpec(["crm", "visits"], metadata=metadata)
    evaluation = checked(project, "schema_as_declared", assets=[declared])
    assert not evaluation.passed
    assert shown(evaluation)["problems"].split("; ") == [
        "column 'day': expected DATE, found STRING",
        "column 'price': expected INT, found none",
        "column 'amount': not declared, found INT",
        "primary key: expected id, day, found id",
        "option 'merge-engine': expected deduplicate, found first-row",
    ]
    assert checked(project, "schema_as_declared", schema=ROWS).passed
    assert not checked(project, "schema_as_declared", schema=ROWS.remove(1)).passed


def test_a_schema_change_is_a_warning_until_the_second_commit_after_it(project: Project) -> None:
    table = a_table(project.lakehouse, NAME, keys=["id"])
    table.append(rows((1, "mon", 1)))
    project.lakehouse.catalog().alter_table(NAME, [AddColumn("note", IntType())])
    evaluation = checked(project, "schema_change")
    assert (evaluation.passed, shown(evaluation)["changes"]) == (False, "added note INT")
    for passed in (False, True):
        project.table(NAME).append(rows((1, "mon", 1)).append_column("note", pa.array([1], pa.int32())))
        assert checked(project, "schema_change").passed is passed


def test_a_row_count_outside_the_bounds_is_a_warning(project: Project) -> None:
    table = a_table(project.lakehouse, NAME, keys=["id"])
    table.append(rows((1, "mon", 1), (2, "mon", 1)))
    table.append(rows((2, "tue", 1)))
    assert outcome(project, "row_count_bounds", at_least=2, at_most=2) == (True, "WARN")
    evaluation = checked(project, "row_count_bounds", at_least=3)
    assert (evaluation.passed, evaluation.description) == (False, "2 rows, expected at least 3")


def test_an_input_with_rows_that_were_not_read_is_a_warning(project: Project) -> None:
    source = a_table(project.lakehouse, "crm.calls", keys=["id"])
    source.append(rows((1, "mon", 1)))
    table = a_table(project.lakehouse, NAME)
    table.append(rows((1, "mon", 1)), properties={"consumed.crm.calls": "1"})
    assert checked(project, "inputs_consumed").passed
    source.append(rows((2, "mon", 1)))
    source.compact(full=True)
    evaluation = checked(project, "inputs_consumed")
    assert (evaluation.passed, shown(evaluation)["snapshots behind"]) == (False, 1)


def test_an_input_whose_unread_rows_are_of_an_expired_snapshot_is_a_warning(project: Project) -> None:
    source = a_table(project.lakehouse, "crm.calls", keys=["id"])
    source.append(rows((1, "mon", 1)))
    read = Consumed.of(source.snapshots()[-1])
    a_table(project.lakehouse, NAME).append(rows((1, "mon", 1)), properties=read.properties("crm.calls"))
    source.append(rows((2, "mon", 1)))
    source.compact(full=True)
    source.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=1 << 60, retain_floor_ms=0)
    evaluation = checked(project, "inputs_consumed")
    assert (evaluation.passed, shown(evaluation)["snapshots behind"]) == (False, 1)


def test_an_input_that_was_rolled_back_is_a_warning(project: Project) -> None:
    source = a_table(project.lakehouse, "crm.calls")
    for number in range(2):
        source.append(rows((number, "mon", 1)))
    a_table(project.lakehouse, NAME).append(rows((1, "mon", 1)), properties={"consumed.crm.calls": "2"})
    source.rollback_to(1)
    assert not checked(project, "inputs_consumed").passed


def test_an_input_whose_snapshot_was_replaced_after_a_rollback_is_a_warning(project: Project) -> None:
    source = a_table(project.lakehouse, "crm.calls")
    for number in range(2):
        source.append(rows((number, "mon", 1)))
    read = Consumed.of(source.snapshots()[-1])
    a_table(project.lakehouse, NAME).append(rows((1, "mon", 1)), properties=read.properties("crm.calls"))
    assert checked(project, "inputs_consumed").passed
    source.rollback_to(1)
    source.append(rows((3, "mon", 1)))
    assert not checked(project, "inputs_consumed").passed


def test_orphan_files_older_than_a_day_are_a_warning(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    table = a_table(project.lakehouse, NAME)
    table.new_write().write(rows((1, "mon", 1)))
    assert checked(project, "no_dangling_files").passed
    remove = Table.remove_orphan_files

    def tomorrow(self: Table, *, dry_run: bool) -> Any:
        now = self.store.runtime.clock.now_ms()
        return remove(self, older_than_ms=now + 1, dry_run=dry_run, nobody_else_writes=True)

    monkeypatch.setattr(Table, "remove_orphan_files", tomorrow)
    evaluation = checked(project, "no_dangling_files")
    assert (evaluation.passed, evaluation.severity.value, shown(evaluation)["files"]) == (False, "WARN", 1)


def test_data_older_than_its_asset_allows_is_a_warning(project: Project) -> None:
    table = a_table(project.lakehouse, NAME)
    asset = dg.AssetSpec(["crm", "visits"], metadata={"paimon/freshness": "1 d"})
    assert outcome(project, "freshness", assets=[asset]) == (False, "WARN")
    table.append(rows((1, "mon", 1)))
    assert checked(project, "freshness", assets=[asset]).passed
    assert not checked(project, "freshness", allowed=timedelta(milliseconds=-1)).passed
    with pytest.raises(InvalidInputError, match=r"crm\.visits: pass the maximum age of its data"):
        table_checks(NAME, ["freshness"])


def test_a_check_belongs_to_the_asset_of_its_table() -> None:
    assets = [
        dg.AssetSpec(["prod", "web", "clicks"], metadata={"paimon/table": "web.clicks"}),
        dg.AssetSpec("single"),
        dg.AssetSpec(["ods", "raw"]),
    ]
    found = table_checks(["web.*", "default.*", "crm.calls"], ["files_present"], assets=assets)
    keys = {key.asset_key for definition in found for key in definition.check_keys}
    assert keys == {dg.AssetKey(["prod", "web", "clicks"]), dg.AssetKey("single"), dg.AssetKey(["crm", "calls"])}


def test_unknown_checks_patterns_and_settings_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="'healthy' is not a check; expected one of table_health"):
        table_checks(NAME, ["healthy"])
    with pytest.raises(InvalidInputError, match="a pattern selects among known tables"):
        table_checks("crm.*")
    with pytest.raises(InvalidInputError, match="settings of pk_unique"):
        table_checks(NAME, ["table_health"], settings={"pk_unique": {}})
