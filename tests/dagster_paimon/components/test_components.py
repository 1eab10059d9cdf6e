"""Components in YAML create the definitions of the factories, with the settings of the resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster.components.core.component_tree import ComponentTreeException
from dagster.components.testing import create_defs_folder_sandbox

from dagster_paimon import (
    PaimonChecksComponent,
    PaimonIOManager,
    PaimonLakehouseComponent,
    PaimonMaintenanceComponent,
    PaimonMaterializedTablesComponent,
    PaimonSensorsComponent,
    SparkMode,
    maintenance_jobs,
    maintenance_schedules,
    sensors,
)
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from tests.support.materialized_tables import a_materialized_table
from tests.support.sensor_ticks import ROWS, a_table

pytestmark = [pytest.mark.dagster, pytest.mark.filterwarnings("ignore::dagster.BetaWarning")]


def made_by(component: type[dg.Component], attributes: Mapping[str, Any]) -> dg.Definitions:
    """Return the definitions of a project whose only component is this one."""
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=component,
            defs_yaml_contents={"type": f"dagster_paimon.{component.__name__}", "attributes": dict(attributes)},
        )
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
            return defs


def refusal(component: type[dg.Component], attributes: Mapping[str, Any]) -> str:
    """Return why the attributes are refused: the whole chain of errors that Dagster shows."""
    with pytest.raises(ComponentTreeException) as caught:
        made_by(component, attributes)
    return "\n".join(str(error) for error in chain_of(caught.value))


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def resources(attributes: Mapping[str, Any]) -> Any:
    return made_by(PaimonLakehouseComponent, attributes).resources


def test_settings_in_yaml_reach_the_resources() -> None:
    made = resources(
        {
            "lakehouse": {"warehouse": "/data/aviary", "table_defaults": {"bucket": "2"}},
            "spark": {"mode": "connect", "remote": "sc://spark.example:15002"},
            "paimon_io": {"schema_evolution": "add_columns"},
        }
    )
    assert sorted(made) == ["lakehouse", "paimon_io", "spark"]
    assert made["lakehouse"].warehouse == "/data/aviary"
    assert made["lakehouse"].table_defaults == {"bucket": "2"}
    assert made["spark"].mode is SparkMode.connect
    assert isinstance(made["paimon_io"], PaimonIOManager)
    assert made["paimon_io"].schema_evolution == "add_columns"
    assert made["paimon_io"].lakehouse.warehouse == "/data/aviary"


def test_a_text_is_read_from_the_environment_on_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AVIARY", raising=False)
    lakehouse = resources({"lakehouse": {"warehouse": {"env": "AVIARY"}}})["lakehouse"]
    assert lakehouse.warehouse == dg.EnvVar("AVIARY")
    monkeypatch.setenv("AVIARY", str(tmp_path))
    assert lakehouse.catalog_options({})["warehouse"] == str(tmp_path)


def test_a_relative_warehouse_is_relative_to_the_project_root() -> None:
    lakehouse = resources({})["lakehouse"]
    root = Path(lakehouse.base_directory)
    assert root.is_absolute()
    assert root != Path.cwd()
    assert lakehouse.catalog_options({})["warehouse"] == str(root / "warehouse")


def test_a_given_base_directory_is_kept() -> None:
    made = resources({"lakehouse": {"warehouse": "birds", "base_directory": "/srv"}})
    assert made["lakehouse"].catalog_options({})["warehouse"] == "/srv/birds"


@pytest.mark.parametrize(
    ("attributes", "named"),
    [
        ({"lakehouse": {"warehous": "/data"}}, "Settings.warehous at"),
        ({"spark": {"mode": "remote"}}, "Input should be 'local', 'master' or 'connect'"),
        ({"paimon_io": {"lakehouse": {}}}, "Settings.lakehouse at"),
        (
            {"lakehouse": {"warehouse": "/data", "options": {"fs.s3a.secret.key": "abc"}}},
            "fs.s3a.secret.key: secrets must not",
        ),
    ],
)
def test_the_error_names_an_unknown_setting(attributes: dict[str, Any], named: str) -> None:
    assert named in refusal(PaimonLakehouseComponent, attributes)


def test_the_maintenance_component_creates_the_jobs_and_schedules_of_the_factories() -> None:
    made = made_by(PaimonMaintenanceComponent, {"tables": ["aviary.*", "ods.birds"]})
    assert {job.name for job in made.jobs} == {job.name for job in maintenance_jobs()}
    assert {schedule.name for schedule in made.schedules} == {schedule.name for schedule in maintenance_schedules()}


def test_maintenance_without_schedules_has_only_jobs() -> None:
    made = made_by(PaimonMaintenanceComponent, {"schedules": False})
    assert made.jobs
    assert not made.schedules


def test_an_invalid_pattern_is_refused() -> None:
    assert "'birds' is not a table name" in refusal(PaimonMaintenanceComponent, {"tables": "birds"})


def test_each_sensor_is_created_if_tables_are_named_for_it() -> None:
    made = made_by(PaimonSensorsComponent, {"snapshots": "ext.*", "compaction_pressure": "*"})
    assert [sensor.name for sensor in made.sensors] == ["external_snapshots", "compaction_pressure"]
    assert not made_by(PaimonSensorsComponent, {}).sensors
    others = {"changed_partitions", "changelog_ready", "new_partitions", "only_dagster_writes"}
    every = dict.fromkeys(PaimonSensorsComponent.model_fields.keys() - others, "aviary.*")
    assert len(made_by(PaimonSensorsComponent, every).sensors) == len(every) == 5


def test_the_cleanup_deletes_only_if_the_yaml_confirms_that_no_one_else_writes() -> None:
    for attributes, verb in (({}, "Reports"), ({"only_dagster_writes": True}, "Deletes")):
        (sensor,) = made_by(PaimonSensorsComponent, {"run_failure_cleanup": "aviary.*", **attributes}).sensors
        assert str(sensor.description).startswith(verb)


def test_sensors_of_one_asset_a_consumer_or_a_column_are_listed() -> None:
    attributes = {
        "changed_partitions": [
            {"asset": "report/nests", "sources": [{"table": "aviary.birds", "column": "day", "watched": ["kind"]}]}
        ],
        "changelog_ready": [
            {"table": "aviary.birds", "consumer": "counts", "assets": ["report/counts"], "min_rows": 10},
            {"table": "aviary.birds", "consumer": "exports", "job": "export"},
        ],
        "new_partitions": [{"table": "aviary.birds", "column": "kind", "partitions": "kinds", "name": "new_kinds"}],
    }
    made = {sensor.name: sensor for sensor in made_by(PaimonSensorsComponent, attributes).sensors}
    assert sorted(made) == [
        "counts_changelog_ready",
        "exports_changelog_ready",
        "new_kinds",
        "report_nests_changed_partitions",
    ]
    assert made["exports_changelog_ready"].job_name == "export"
    selection = made["counts_changelog_ready"].asset_selection
    assert selection == dg.AssetSelection.assets("report/counts")


def test_every_sensor_of_the_package_has_a_component() -> None:
    factories = {name for name in sensors.__all__ if name not in ("PartitionColumn", "stale_tables_sensor")}
    fields = PaimonSensorsComponent.model_fields.keys() - {"only_dagster_writes"}
    assert {name.removesuffix("_sensor") for name in factories} == {
        {"snapshots": "snapshot"}.get(field, field) for field in fields
    }


def test_a_consumer_needs_either_a_job_or_assets() -> None:
    for target in ({}, {"job": "export", "assets": ["report/counts"]}):
        entry = {"table": "aviary.birds", "consumer": "counts", **target}
        assert "give either a job or assets to request" in refusal(PaimonSensorsComponent, {"changelog_ready": [entry]})


def test_the_checks_component_creates_the_checks_on_the_assets_of_the_tables() -> None:
    attributes = {
        "tables": ["aviary.birds", "aviary.nests"],
        "checks": ["table_health", "row_count_bounds"],
        "settings": {"row_count_bounds": {"at_least": 1}},
        "assets": {"aviary.nests": "eu/trees/nests"},
    }
    made = made_by(PaimonChecksComponent, attributes)
    keys = {(key.asset_key.to_user_string(), key.name) for check in made.asset_checks for key in check.check_keys}
    assert keys == {
        (asset, check) for asset in ("aviary/birds", "eu/trees/nests") for check in ("table_health", "row_count_bounds")
    }


def test_a_check_that_does_not_exist_is_refused() -> None:
    assert "Input should be 'table_health'" in refusal(PaimonChecksComponent, {"tables": [], "checks": ["health"]})


def test_components_work_together_in_one_project(tmp_path: Path) -> None:
    with create_defs_folder_sandbox() as sandbox:
        for component, attributes in (
            (PaimonLakehouseComponent, {"lakehouse": {"warehouse": str(tmp_path)}}),
            (PaimonMaintenanceComponent, {}),
            (PaimonSensorsComponent, {"compaction_pressure": "*", "missing_indexes": "*"}),
        ):
            sandbox.scaffold_component(
                component_cls=component,
                defs_path=component.__name__.lower(),
                defs_yaml_contents={"type": f"dagster_paimon.{component.__name__}", "attributes": attributes},
            )
        with sandbox.build_all_defs() as defs:
            dg.Definitions.validate_loadable(defs)
            assert defs.resolve_job_def("compact_table")


def test_the_component_of_materialized_tables_creates_their_assets_and_their_sensor(tmp_path: Path) -> None:
    lakehouse = LakehouseCatalog(warehouse=str(tmp_path))
    attributes = {"lakehouse": {"warehouse": str(tmp_path)}, "assets": {"aviary.birds": "eu/birds"}}
    assert not made_by(PaimonMaterializedTablesComponent, attributes).sensors
    a_table(lakehouse, "aviary.birds")
    a_materialized_table(lakehouse.catalog(), "aviary.counts", "SELECT * FROM aviary.birds", ROWS)
    made = made_by(PaimonMaterializedTablesComponent, attributes)
    (asset,) = (asset for asset in made.assets or () if isinstance(asset, dg.AssetsDefinition))
    spec = asset.get_asset_spec()
    assert (spec.key.path, [dep.asset_key.path for dep in spec.deps]) == (["aviary", "counts"], [["eu", "birds"]])
    assert [sensor.name for sensor in made.sensors or ()] == ["stale_tables"]
