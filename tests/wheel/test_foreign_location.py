"""A code location of somebody else, with tables, keys and partitions of its own, works with nothing but the wheel."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.foreign_project import ROOT, ForeignEnvironment
from tests.support.one_process import DG

pytestmark = pytest.mark.dagster

COMPONENTS = {f"dagster_paimon.Paimon{kind}Component" for kind in ("Lakehouse", "Maintenance", "Sensors", "Checks")}


@pytest.fixture(scope="module")
def apiary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("foreign") / "apiary"
    shutil.copytree(Path(__file__).parent / "apiary", project, ignore=shutil.ignore_patterns("__pycache__"))
    return project


@pytest.fixture(scope="module")
def operated(foreign: ForeignEnvironment, apiary: Path) -> dict[str, Any]:
    printed = foreign.run(str(foreign.python), "operate.py", cwd=apiary, PYTHONPATH="src")
    report: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return report


def test_the_wheel_holds_the_library_and_the_integration_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"table_format", "dagster_paimon"}
    assert "dagster_paimon/resources/spark_log4j2.properties" in names


def test_loading_imports_neither_spark_nor_anything_of_this_repository(
    operated: dict[str, Any], foreign: ForeignEnvironment
) -> None:
    loading = operated["loading"]
    assert loading["heavy"] == []
    assert loading["of the repository"] == []
    assert str(ROOT) not in loading["path"]
    assert all(Path(file).is_relative_to(foreign.root) for file in loading["packages"])


def test_tables_of_pandas_polars_and_arrow_land_in_the_warehouse_of_the_project(
    operated: dict[str, Any], apiary: Path
) -> None:
    made = operated["assets"]
    assert made["warehouse"] == str(apiary / "honey")
    assert sorted((row["week"], row["hive"], row["grams"]) for row in made["rows"]["apiary.weights"]) == [
        *(("w1", 1, 100), ("w1", 2, 50)),
        *(("w2", 1, 200), ("w2", 2, 50)),
    ]
    heaviest = {row["hive"]: (row["week"], row["grams"]) for row in made["rows"]["apiary.heaviest_weeks"]}
    assert heaviest == {1: ("w2", 200), 2: ("w2", 50)}
    assert made["rows"]["apiary.total"] == [{"grams": 250}]


def test_checks_run_with_the_assets(operated: dict[str, Any]) -> None:
    assert operated["assets"]["checks"] == {"table_health": True, "files_present": True, "inputs_consumed": True}


def test_a_maintenance_job_reports_on_the_asset_of_its_table(operated: dict[str, Any]) -> None:
    assert operated["maintenance"]["observed"] == ["heaviest"]
    assert operated["maintenance"]["last commit"] == "COMPACT"


def test_the_nightly_schedule_asks_for_one_run_of_all_tables(operated: dict[str, Any]) -> None:
    (config,) = operated["maintenance"]["requested"]
    tables = config["ops"]["maintain"]["config"]["tables"]
    assert sorted(tables) == ["apiary.heaviest_weeks", "apiary.total", "apiary.weights"]


def test_sensors_follow_tables_that_others_write(operated: dict[str, Any]) -> None:
    assert operated["sensors"] == {"reported": ["weather/days"], "pressure": 0}


def test_dg_lists_the_components_of_the_wheel_and_checks_the_project(foreign: ForeignEnvironment, apiary: Path) -> None:
    commands = ["dg list components --json", "dg check defs", "dg list defs --json"]
    listed, checked, found = foreign.run_all(DG, *map(str.split, commands), cwd=apiary, PYTHONPATH="src")
    assert {item["key"] for item in json.loads(listed)["items"]} >= COMPONENTS
    assert "All component YAML validated successfully" in checked
    assert "All definitions loaded successfully" in checked
    defs = json.loads(found)
    assert {"compact_table", "nightly_maintenance"} <= {item.get("name") for kind in defs.values() for item in kind}
