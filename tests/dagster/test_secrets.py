"""Canaries in everything the project is configured with; none of them is in what Dagster stores, prints or logs."""

# No postponed annotations here: Dagster inspects the types.

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest
from dagster._utils.error import serializable_error_info_from_exc_info

from dagster_paimon.io.io_manager import PaimonIOManager
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.resources.spark import SparkMode, SparkResource
from resources.landing import LandingZone
from sensors import compaction_pressure, external_snapshots
from table_format.errors import TableFormatError
from table_format.options import catalog as catalog_options
from table_format.options.catalog import CatalogOptions
from table_format.options.declare import declared_in
from tests.support.canaries import canary, leaks, leaks_in, texts_of
from tests.support.maintenance import JOBS
from tests.support.store_options import OPTIONS_OF_STORES

pytestmark = [pytest.mark.dagster, pytest.mark.filterwarnings("ignore::dagster.BetaWarning")]

CATALOG_KEYS = [
    option.key.replace("<option>", "local-kv-db.x")
    for option in (*declared_in(CatalogOptions), *catalog_options.REFUSED)
]
SECRET_KEYS = ["jdbc.password", "s3.secret-key", "fs.azure.account.key.shop", "token", "fs.s3a.access.key"]


@dg.asset(name="orders", key_prefix="shop", io_manager_key="paimon_io", metadata={"paimon/write_mode": "append"})
def orders() -> pa.Table:
    return pa.table({"id": [1, 2], "v": ["a", "b"]})


class Watched:
    """An instance on disk, and all that is printed and logged while it is used."""

    def __init__(self, root: Path, instance: dg.DagsterInstance) -> None:
        self.root = root
        self.instance = instance
        self.told = io.StringIO()

    def lakehouse(self, **given: Any) -> LakehouseCatalog:
        return LakehouseCatalog(**{"warehouse": str(self.root / "warehouse"), **given})

    def resources(self, lakehouse: LakehouseCatalog, spark: SparkResource) -> dict[str, Any]:
        return {
            "lakehouse": lakehouse,
            "spark": spark,
            "paimon_io": PaimonIOManager(lakehouse=lakehouse, spark=spark),
            "landing": LandingZone(path=str(self.root / "landing")),
        }

    def materialize(self, lakehouse: LakehouseCatalog, spark: SparkResource | None = None, **more: Any) -> bool:
        assets = more.pop("assets", [orders])
        resources = self.resources(lakehouse, spark or SparkResource())
        result = dg.materialize(assets, resources=resources, instance=self.instance, raise_on_error=False, **more)
        return bool(result.success)

    def run(self, job: dg.JobDefinition, lakehouse: LakehouseCatalog, op: str, **config: Any) -> bool:
        made = dg.Definitions(jobs=[job], resources=self.resources(lakehouse, SparkResource())).resolve_job_def(
            job.name
        )
        result = made.execute_in_process(
            run_config={"ops": {op: {"config": {"table": "shop.orders", **config}}}},
            instance=self.instance,
            raise_on_error=False,
        )
        return bool(result.success)

    def leaks(self, capfd: pytest.CaptureFixture[str], *secrets: str) -> list[str]:
        out, err = capfd.readouterr()
        for record in self.instance.get_run_records():
            for entry in self.instance.all_logs(record.dagster_run.run_id):
                self.told.write(f"{entry.message} {entry.user_message} {entry.to_json()}\n")
        stored = Path(self.instance.root_directory)
        found = leaks_in(stored, *secrets) + leaks_in(self.root, *secrets)
        return leaks(out + err + self.told.getvalue(), *secrets) + found


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp(str(tmp_path_factory.mktemp("home"))) as made:
        yield made


@pytest.fixture
def watched(tmp_path: Path, instance: dg.DagsterInstance) -> Iterator[Watched]:
    made = Watched(tmp_path, instance)
    handler, root = logging.StreamHandler(made.told), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield made
    root.removeHandler(handler)
    root.setLevel(level)


def test_the_search_finds_everything_that_a_run_shows(watched: Watched, capfd: pytest.CaptureFixture[str]) -> None:
    shown = canary("shown")

    @dg.asset
    def tells(context: dg.AssetExecutionContext) -> None:
        context.log.info(shown)
        raise ValueError(shown)

    dg.materialize([tells], instance=watched.instance, raise_on_error=False)
    found = watched.leaks(capfd, shown)
    assert shown in found
    assert any("history" in place for place in found)


def test_a_run_that_succeeds_stores_no_secret(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    setting, token = canary("setting"), canary("connect")
    monkeypatch.setenv("SHOP_SETTING", setting)
    monkeypatch.setenv("SHOP_CONNECT", f"sc://nowhere:1/;token={token}")
    spark = SparkResource(
        mode=SparkMode.connect,
        remote=dg.EnvVar("SHOP_CONNECT"),
        secret_conf={"spark.hadoop.fs.s3a.secret.key": "SHOP_SETTING"},
    )
    lakehouse = watched.lakehouse()
    assert watched.materialize(lakehouse, spark)
    assert watched.run(JOBS["expire_table"], lakehouse, "expire")
    assert watched.run(JOBS["compact_table"], lakehouse, "compact", on_spark=False)
    assert lakehouse.table("shop.orders").latest_snapshot() is not None
    assert not watched.leaks(capfd, setting, token)


def opening(number: int) -> dg.OpDefinition:
    """An op that opens the catalog of a resource of its own."""

    @dg.op(name=f"open_{number}", required_resource_keys={f"lakehouse_{number}"})
    def opens(context: dg.OpExecutionContext) -> None:
        getattr(context.resources, f"lakehouse_{number}").catalog()

    return opens


def test_a_failed_run_shows_no_secret_option_of_the_catalog(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    keys = [*CATALOG_KEYS, *SECRET_KEYS]
    planted = [canary(f"option{number}") for number in range(len(keys))]
    resources = {}
    for number, (key, secret) in enumerate(zip(keys, planted, strict=True)):
        monkeypatch.setenv(f"SHOP_{number}", secret)
        resources[f"lakehouse_{number}"] = watched.lakehouse(secret_options={key: f"SHOP_{number}"})

    @dg.graph
    def opens_all() -> None:
        for number in range(len(keys)):
            opening(number)()

    job = opens_all.to_job(resource_defs=resources, executor_def=dg.in_process_executor)
    result = job.execute_in_process(instance=watched.instance, raise_on_error=False)
    refused = {f"open_{number}" for number, key in enumerate(keys) if key not in OPTIONS_OF_STORES}
    assert set(result.get_failed_step_keys()) == refused
    assert len(refused) > 20
    failing = watched.lakehouse(secret_options={"uri": "SHOP_0"})
    assert not watched.materialize(failing)
    assert not watched.run(JOBS["expire_table"], failing, "expire")
    assert not watched.leaks(capfd, *planted)


@pytest.mark.parametrize("place", ["warehouse", "options", "table_defaults", "metastore"])
def test_a_secret_in_a_visible_field_fails_the_run_and_is_not_stored(
    place: str, watched: Watched, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = canary("place")
    monkeypatch.setenv("SHOP_PLACE", f"s3://key:{secret}@bucket/w")
    value: Any = {"env": "SHOP_PLACE"}
    config = {place: {"owner": value} if place in ("options", "table_defaults") else value}
    lakehouse = LakehouseCatalog.configure_at_launch()
    resources = {"lakehouse": {"config": {"warehouse": str(watched.root / "w"), **config}}}
    assert not watched.materialize(lakehouse, run_config={"resources": resources})
    assert not watched.leaks(capfd, secret)


TELLING_METADATA: list[dict[str, Any]] = [
    {"paimon/options": {"local-kv-db.password": "?"}},
    {"paimon/options": {"fs.azure.account.key.shop": "?"}},
    {"paimon/options": {"location": "s3://key:?@bucket"}},
    {"paimon/comment": "loaded from s3://key:?@bucket"},
    {"paimon/comments": {"v": "password=?"}},
    {"paimon/table": "s3://key:?@bucket"},
    {"partition_expr": "token=?"},
    {"paimon/write_mode": "token=?"},
    {"paimon/token=?": "x"},
]


def telling_asset(number: int, secret: str) -> dg.AssetsDefinition:
    """An asset with one of these metadata."""
    given = json.loads(json.dumps(TELLING_METADATA[number]).replace("?", secret))

    @dg.asset(name=f"orders_{number}", key_prefix="shop", io_manager_key="paimon_io", metadata=given)
    def planted() -> pa.Table:
        return pa.table({"id": [1], "v": ["a"]})

    return planted


def test_secrets_in_asset_metadata_are_stored_in_no_table_and_no_event(
    watched: Watched, capfd: pytest.CaptureFixture[str]
) -> None:
    planted = [canary(f"metadata{number}") for number in range(len(TELLING_METADATA))]
    assets = [telling_asset(number, secret) for number, secret in enumerate(planted)]
    resources = watched.resources(watched.lakehouse(), SparkResource())
    result = dg.materialize(assets, resources=resources, instance=watched.instance, raise_on_error=False)
    assert len(result.get_failed_step_keys()) == len(planted)
    assert not watched.leaks(capfd, *planted)


def test_secrets_in_errors_of_other_libraries_are_masked_in_the_event_log(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    setting, token = canary("setting"), canary("connect")
    monkeypatch.setenv("SHOP_SETTING", setting)
    monkeypatch.setenv("SHOP_CONNECT", f"sc://nowhere:1/;token={token}")
    spark = SparkResource(
        mode=SparkMode.connect, remote=dg.EnvVar("SHOP_CONNECT"), secret_conf={"spark.x.password": "SHOP_SETTING"}
    )

    @dg.asset(name="orders", key_prefix="shop", io_manager_key="paimon_io", metadata={"paimon/write_mode": "append"})
    def breaking() -> pa.RecordBatchReader:
        def batches() -> Iterator[pa.RecordBatch]:
            try:
                raise OSError(5, f"the store answered {setting}")
            except OSError as error:
                message = f"with {token.encode().hex()}"
                raise RuntimeError(message) from error
            yield

        return pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), batches())

    assert not watched.materialize(watched.lakehouse(), spark, assets=[breaking])
    assert not watched.leaks(capfd, setting, token)


def test_sensors_that_fail_show_no_secret(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = canary("sensor")
    monkeypatch.setenv("SHOP_OPTION", secret)
    shown = ""
    for key in ("uri", "metastore", "jdbc.password"):
        lakehouse = watched.lakehouse(secret_options={key: "SHOP_OPTION"})
        for sensor in (external_snapshots, compaction_pressure):
            asked = dg.build_sensor_context(instance=watched.instance, resources={"lakehouse": lakehouse})
            with asked as context, pytest.raises((TableFormatError, dg.DagsterError)) as failed:
                sensor.evaluate_tick(context)
            info = serializable_error_info_from_exc_info((failed.type, failed.value, failed.tb))
            shown += texts_of(failed.value) + info.to_string()
    assert shown.count("option 'jdbc.password'") >= 2
    assert not leaks(shown, secret)
    assert not watched.leaks(capfd, secret)
