"""The first line of a failed step, which the UI and alerts show, names the table and the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dagster_paimon import maintenance_jobs
from dagster_paimon.io import writing
from dagster_paimon.resources.retries import RetryUnlessTerminated
from table_format.errors import FileConflict
from tests.support.dagster_project import Project

pytestmark = pytest.mark.dagster
RETRIED = RetryUnlessTerminated(max_retries=1, delay=0)


@dg.asset(key=["shop", "items"], io_manager_key="paimon_io", metadata={"paimon/write_mode": "append"})
def items() -> pa.Table:
    return pa.table({"id": [1]})


@dg.asset(key=["shop", "items"], io_manager_key="paimon_io", retry_policy=RETRIED)
def retried_items() -> pa.Table:
    return pa.table({"id": [1]})


@dg.asset(ins={"rows": dg.AssetIn(key=["shop", "items"])}, retry_policy=RETRIED)
def reader(rows: pa.Table) -> None: ...


def first_line(result: Any) -> str:
    """What the UI shows of the failed step."""
    (failed,) = (event for event in result.all_events if event.is_step_failure)
    return str(failed.event_specific_data.error.message).strip()


def attempts(result: Any) -> int:
    return sum(event.is_step_start or event.is_step_restarted for event in result.all_events)


def directory(project: Project) -> Path:
    return Path(project.lakehouse.warehouse) / "shop.db/items"


@pytest.mark.parametrize(
    "error", [FileConflict("others compacted a file"), OSError(28, "No space left on device")], ids=lambda e: str(e)
)
@pytest.mark.parametrize("asset", [items, retried_items])
def test_a_write_that_fails(
    project: Project, monkeypatch: pytest.MonkeyPatch, asset: dg.AssetsDefinition, error: Exception
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(writing, "write_and_commit", fails)
    result = project.run(asset, raise_on_error=False)
    assert first_line(result) == f"dagster._core.definitions.events.Failure: shop.items: {error}"
    assert attempts(result) == (1 if asset is items else 2)


def test_a_read_of_a_table_that_is_damaged(project: Project) -> None:
    project.run(items)
    (data,) = directory(project).glob("bucket-0/data-*")
    data.unlink()
    result = project.run([items, reader], selection=[reader], raise_on_error=False)
    assert first_line(result).startswith(f"dagster._core.definitions.events.Failure: shop.items: {data}")
    assert attempts(result) == 2


def test_a_read_that_is_refused(project: Project) -> None:
    project.run(items)

    @dg.asset(ins={"rows": dg.AssetIn(key=["shop", "items"], metadata={"paimon/read": "snapshots:1"})})
    def mistaken(rows: pa.Table) -> None: ...

    result = project.run([items, mistaken], selection=[mistaken], raise_on_error=False)
    assert "Failure: shop.items: 'snapshots:1' is not a state of a table" in first_line(result)


@pytest.mark.parametrize(
    ("job", "op", "config"),
    [
        ("compact_table", "compact", {"full": True, "on_spark": False}),
        ("report_health", "health", {}),
        ("rollback_table", "rollback", {"snapshot_id": 77, "dry_run": False}),
    ],
)
def test_maintenance_that_fails(project: Project, job: str, op: str, config: dict[str, Any]) -> None:
    project.run(items)
    if job != "rollback_table":
        for manifest in directory(project).glob("manifest/manifest-*"):
            manifest.write_bytes(b"")
    found = next(each for each in maintenance_jobs("shop.items") if each.name == job)
    result = found.execute_in_process(
        run_config={"ops": {op: {"config": {"table": "shop.items", **config}}}},
        resources=project.resources,
        instance=project.instance,
        raise_on_error=False,
    )
    assert first_line(result).startswith("dagster._core.definitions.events.Failure: shop.items: ")
    assert attempts(result) == (1 if job == "rollback_table" else 3)
