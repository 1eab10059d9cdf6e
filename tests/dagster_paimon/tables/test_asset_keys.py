"""A report on a table belongs to the asset of the table, even if its key differs from the name."""
# No postponed annotations here: Dagster inspects the type of `context`.

from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest

from dagster_paimon.tables.asset_keys import TableAssets
from tests.support.dagster_runs import run_in_code_location

pytestmark = pytest.mark.dagster


def an_asset(*key: str, **metadata: Any) -> dg.AssetsDefinition:
    @dg.asset(key=list(key), metadata={name.replace("__", "/"): value for name, value in metadata.items()})
    def made() -> None: ...

    return made


def key_of(table: str, *assets: Any) -> str:
    """Return the key that an op of the same code location gets."""
    found: list[dg.AssetKey] = []

    @dg.op
    def report(context: dg.OpExecutionContext) -> None:
        found.append(TableAssets.of_context(context).key_of(table))

    @dg.job
    def reporting() -> None:
        report()

    defs = dg.Definitions(assets=assets, jobs=[reporting], executor=dg.in_process_executor)
    with dg.DagsterInstance.ephemeral() as instance:
        assert run_in_code_location(defs, "reporting", instance=instance).success
    return found[0].to_user_string()


def test_a_key_of_one_part_is_a_table_of_the_default_database() -> None:
    assert key_of("default.single", an_asset("single")) == "single"


def test_a_key_of_three_parts_is_the_table_of_its_last_two() -> None:
    assert key_of("sales.orders", an_asset("prod", "sales", "orders")) == "prod/sales/orders"


def test_an_asset_that_names_the_table_is_preferred_to_one_with_its_key() -> None:
    assert key_of("sales.orders", an_asset("sales", "orders"), an_asset("x", paimon__table="sales.orders")) == "x"


def test_the_asset_of_the_main_branch_is_preferred() -> None:
    audited = an_asset("audited", paimon__table="sales.orders", paimon__branch="audit")
    assert key_of("sales.orders", audited, an_asset("prod", "sales", "orders")) == "prod/sales/orders"


def test_a_materializable_asset_is_preferred_to_an_external_one() -> None:
    external = dg.AssetSpec(["raw", "sales", "orders"])
    assert key_of("sales.orders", external) == "raw/sales/orders"
    assert key_of("sales.orders", external, an_asset("zone", "sales", "orders")) == "zone/sales/orders"


def test_the_shorter_key_is_preferred() -> None:
    assert key_of("sales.orders", an_asset("prod", "sales", "orders"), an_asset("sales", "orders")) == "sales/orders"


def test_a_table_without_an_asset_and_a_job_without_a_code_location_have_the_key_of_the_name() -> None:
    assert key_of("sales.orders", an_asset("other")) == "sales/orders"
    found = []

    @dg.op
    def report(context: dg.OpExecutionContext) -> None:
        found.append(TableAssets.of_context(context).key_of("default.single"))

    @dg.job
    def reporting() -> None:
        report()

    assert reporting.execute_in_process().success
    assert found == [dg.AssetKey(["default", "single"])]


def test_a_sensor_sees_the_assets_of_its_code_location() -> None:
    defs = dg.Definitions(assets=[an_asset("single")])
    context = dg.build_sensor_context(repository_def=defs.get_repository_def())
    assert TableAssets.of_context(context).key_of("default.single") == dg.AssetKey("single")
    assert TableAssets.of_context(dg.build_sensor_context()).keys == {}


def test_a_table_belongs_to_the_asset_that_publishes_it_and_not_to_the_one_that_stages_it() -> None:
    def node(key: str, **metadata: object) -> object:
        fields = {"key": dg.AssetKey(key.split("/")), "metadata": metadata, "is_materializable": True}
        return SimpleNamespace(**fields)

    staged = node("a", **{"paimon/table": "lab.t", "paimon/wap": True})
    published = node("lab/published", **{"paimon/table": "lab.t"})
    assert TableAssets.of([staged, published]).keys == {"lab.t": dg.AssetKey(["lab", "published"])}
