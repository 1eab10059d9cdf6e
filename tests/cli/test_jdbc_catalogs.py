"""The command line on a catalog in a relational database."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from table_format import View, ViewCatalog, load_catalog
from table_format.cli.program import lakehouse
from table_format.model.types import DataField, IntType
from tests.support.jdbc_catalogs import sql

SETTINGS = """
metastore = "jdbc"
uri = "{uri}"
warehouse = "{directory}/warehouse"
catalog-key = "lake"

[jdbc]
user = "me"
password = {{ env = "CATALOG_PASSWORD" }}

[lock]
enabled = true
"""


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATALOG_PASSWORD", "hush-hush")


def run(directory: Path, uri: str, *arguments: str) -> Result:
    config = directory / "lakehouse.toml"
    config.write_text(SETTINGS.format(uri=uri, directory=directory))
    return CliRunner().invoke(lakehouse, ["--config", str(config), *arguments])


def test_a_table_is_created_loaded_read_renamed_and_dropped(tmp_path: Path) -> None:
    def shell(*arguments: str) -> str:
        result = run(tmp_path, f"jdbc:sqlite:{tmp_path}/names.db", *arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    (tmp_path / "rows.csv").write_text("id,v\n1,a\n2,b\n")
    shell("init", "shop")
    assert "shop" in shell("databases")
    shell("create", "shop.t", "--column", "id:BIGINT NOT NULL", "--column", "v:STRING", "--primary-key", "id")
    shell("load", "shop.t", str(tmp_path / "rows.csv"))
    shell("rename", "shop.t", "shop.u")
    assert sql(tmp_path, "SELECT * FROM paimon_tables") == [("lake", "shop", "u")]
    assert shell("scan", "shop.u", "--format", "csv") == '"id","v"\n1,"a"\n2,"b"\n'
    assert "hush-hush" not in shell("scan", "sys.catalog_options")
    shell("drop", "shop.u", "--yes")
    shell("drop-database", "shop", "--yes")
    assert sql(tmp_path, "SELECT * FROM paimon_database_properties") == []


def test_a_database_that_is_not_there_is_one_line_without_the_password(tmp_path: Path) -> None:
    result = run(tmp_path, "jdbc:postgresql://127.0.0.1:1/names", "databases")
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: the database of the catalog, jdbc:postgresql://127.0.0.1:1/names: ")
    assert "hush-hush" not in result.output


def test_a_view_is_queried_and_is_not_a_table(tmp_path: Path) -> None:
    uri = f"jdbc:sqlite:{tmp_path}/names.db"
    run(tmp_path, uri, "init", "shop")
    options = {"metastore": "jdbc", "uri": uri, "warehouse": f"{tmp_path}/warehouse", "catalog-key": "lake"}
    catalog = load_catalog(options)
    assert isinstance(catalog, ViewCatalog)
    catalog.create_view(View.of("shop.v", (DataField(0, "a", IntType()),), "SELECT 42"))
    found = run(tmp_path, uri, "sql", "--engine", "duckdb", "SELECT a FROM shop.v", "--format", "csv")
    assert (found.exit_code, found.stdout) == (0, '"a"\n42\n')
    refused = run(tmp_path, uri, "describe", "shop.v")
    assert refused.exit_code == 1
    assert "'shop.v' is a view, not a table; query it with the command sql" in refused.output
    assert "does not exist" in run(tmp_path, uri, "describe", "shop.w").output
