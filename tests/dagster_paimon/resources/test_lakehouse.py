"""The catalog resource: names of tables, and secrets that never show."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from pydantic import ValidationError

from dagster_paimon.resources.lakehouse import LakehouseCatalog, table_name
from resources.landing import LandingZone
from table_format import Schema
from table_format.errors import InvalidIdentifier, TableNotFound


@pytest.mark.parametrize(
    ("key", "metadata", "name"),
    [
        (["ods", "orders"], {}, "ods.orders"),
        (["prod", "ods", "orders"], {}, "ods.orders"),
        (["orders"], {}, "default.orders"),
        (["orders"], {"paimon/table": "shop.o"}, "shop.o"),
    ],
)
def test_the_key_or_the_metadata_of_an_asset_determines_its_table(
    key: list[str], metadata: dict[str, str], name: str
) -> None:
    assert table_name(dg.AssetKey(key), metadata) == name


@pytest.mark.parametrize("option", ["fs.s3.secret-key", "jdbc.password", "fs.oss.accessKeyId", "rest.token"])
def test_a_secret_among_the_options_is_refused(option: str) -> None:
    with pytest.raises(ValidationError, match="secret_options") as raised:
        LakehouseCatalog(warehouse="/w", options={option: "x"})
    assert option in str(raised.value)


def test_a_secret_option_comes_from_the_environment_and_is_not_shown() -> None:
    lakehouse = LakehouseCatalog(warehouse="/w", secret_options={"jdbc.password": "SHOP_PASSWORD"})
    assert lakehouse.catalog_options({"SHOP_PASSWORD": "hush"})["jdbc.password"] == "hush"
    assert "hush" not in repr(lakehouse)


def test_defaults_of_tables_become_catalog_options() -> None:
    options = LakehouseCatalog(warehouse="/w", table_defaults={"bucket": "4"}).catalog_options({})
    assert options == {"warehouse": "/w", "metastore": "filesystem", "table-default.bucket": "4"}


def test_a_warehouse_is_a_path_unless_only_a_server_knows_it() -> None:
    given = {
        kind: LakehouseCatalog(warehouse="lake", base_directory="/srv", metastore=kind) for kind in ("hive", "rest")
    }
    found = {kind: lakehouse.catalog_options({})["warehouse"] for kind, lakehouse in given.items()}
    assert found == {"hive": "/srv/lake", "rest": "lake"}


def test_the_catalog_may_be_in_a_relational_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "hush-hush")
    lakehouse = LakehouseCatalog(
        warehouse=str(tmp_path / "warehouse"),
        metastore="jdbc",
        options={"uri": f"jdbc:sqlite:{tmp_path}/names.db", "jdbc.user": "me", "lock.enabled": "true"},
        secret_options={"jdbc.password": "SHOP_PASSWORD"},
    )
    catalog = lakehouse.catalog()
    catalog.create_database("shop")
    rows = pa.table({"id": [1, 2]})
    catalog.create_table("shop.orders", Schema.from_arrow(rows.schema))
    lakehouse.table("shop.orders").append(rows)
    assert lakehouse.table("shop.orders").scan().to_arrow() == rows
    assert "hush-hush" not in repr((lakehouse, catalog))


def test_a_missing_table_and_a_system_table_give_different_errors(tmp_path: Path) -> None:
    lakehouse = LakehouseCatalog(warehouse=str(tmp_path))
    with pytest.raises(TableNotFound):
        lakehouse.table("shop.orders")
    with pytest.raises(InvalidIdentifier):
        lakehouse.table("orders")


def test_landing_a_day_replaces_its_files(tmp_path: Path) -> None:
    landing = LandingZone(path=str(tmp_path), lines_per_file=2)
    first = landing.land("orders", "2026-01-01", ["a", "b", "c", "d", "e"], {"id": "BIGINT"})
    assert (first.lines, landing.count_lines("orders", "2026-01-01")) == (5, 5)
    assert [part.name for part in sorted(first.directory.glob("part-*"))] == [
        f"part-0000{number}.jsonl" for number in range(3)
    ]
    second = landing.land("orders", "2026-01-01", ["a"], {"id": "BIGINT", "note": "STRING"})
    assert landing.count_lines("orders", "2026-01-01") == 1
    assert landing.columns("orders", "2026-01-01") == {"id": "BIGINT", "note": "STRING"}
    assert second.digest != first.digest
    assert [path.name for path in (tmp_path / "orders").iterdir()] == ["dt=2026-01-01"]


def test_the_error_names_a_day_that_never_landed(tmp_path: Path) -> None:
    landing = LandingZone(path=str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"'orders' on 2026-01-01; materialize landing/orders_feed"):
        landing.columns("orders", "2026-01-01")


def test_a_day_without_events_is_one_empty_file(tmp_path: Path) -> None:
    landed = LandingZone(path=str(tmp_path)).land("orders", "2026-01-01", [], {"id": "BIGINT"})
    assert [part.stat().st_size for part in landed.directory.glob("part-*")] == [0]
