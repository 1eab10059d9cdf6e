"""The command line on a warehouse in an object store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from table_format import load_catalog
from table_format.catalog.named_catalog import NamedCatalog
from table_format.cli.program import lakehouse
from tests.support.s3_server import KEY, SECRET, S3Server, running_s3


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with running_s3() as running:
        running.make_bucket("cli-tables")
        yield running


@dataclass(frozen=True)
class RemoteShell:
    """Runs commands with a settings file."""

    config: Path

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(lakehouse, ["--config", str(self.config), *arguments])

    def __call__(self, *arguments: str) -> str:
        result = self.run(*arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    def error(self, *arguments: str) -> str:
        result = self.run(*arguments)
        assert result.exit_code == 1, result.output
        (line,) = result.stderr.splitlines()
        return line


def shell_of(directory: Path, warehouse: str, endpoint: str) -> RemoteShell:
    config = directory / "lakehouse.toml"
    config.write_text(
        f'warehouse = "{warehouse}"\n[s3]\nendpoint = "{endpoint}"\n'
        'access-key = { env = "LAKE_KEY" }\nsecret-key = { env = "LAKE_SECRET" }\n'
    )
    return RemoteShell(config)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE_KEY", KEY)
    monkeypatch.setenv("LAKE_SECRET", SECRET)


def test_a_table_is_created_loaded_read_maintained_and_dropped(server: S3Server, tmp_path: Path) -> None:
    shell = shell_of(tmp_path, "s3://cli-tables/warehouse", server.endpoint)
    (tmp_path / "rows.csv").write_text("id,v\n1,a\n2,b\n")
    shell("init", "shop")
    shell("create", "shop.t", "--column", "id:BIGINT NOT NULL", "--column", "v:STRING", "--primary-key", "id")
    shell("load", "shop.t", str(tmp_path / "rows.csv"))
    assert "shop.t" in shell("tables", "shop")
    assert shell("scan", "shop.t", "--format", "csv") == '"id","v"\n1,"a"\n2,"b"\n'
    shell("compact", "shop.t", "--full")
    assert shell("doctor", "shop.t")
    shell("expire", "shop.t", "--yes")
    shell("orphans", "shop.t", "--dry-run")
    shell("drop", "shop.t", "--yes")
    assert "shop.t" not in shell("tables", "shop")


def test_a_missing_bucket_and_an_unreachable_store_are_one_line_without_the_keys(
    server: S3Server, tmp_path: Path
) -> None:
    lines = [
        shell_of(tmp_path, "s3://cli-nowhere/warehouse", server.endpoint).error("init", "shop"),
        shell_of(tmp_path, "s3://cli-tables/warehouse", "http://127.0.0.1:1").error("databases"),
    ]
    assert lines[0].startswith("error: s3://cli-nowhere/warehouse: the bucket 'cli-nowhere' does not exist")
    assert "127.0.0.1" in lines[1]
    assert not any(SECRET in line or KEY in line for line in lines)


@pytest.mark.parametrize("arguments", [["databases"], ["tables"], ["tables", "--long"], ["tables", "--format", "csv"]])
def test_lists_of_a_warehouse_that_does_not_exist_name_it(
    server: S3Server, tmp_path: Path, arguments: list[str]
) -> None:
    no_bucket = shell_of(tmp_path, "s3://cli-nowhere/warehouse", server.endpoint).error(*arguments)
    assert no_bucket == "error: warehouse 's3://cli-nowhere/warehouse': the bucket 'cli-nowhere' does not exist"
    nothing = shell_of(tmp_path, "s3a://cli-tables/typo", server.endpoint).error(*arguments)
    assert nothing.startswith("error: warehouse 's3a://cli-tables/typo' does not exist; create it with: lakehouse")


def test_a_warehouse_without_databases_exists_once_it_was_created(server: S3Server, tmp_path: Path) -> None:
    shell = shell_of(tmp_path, "s3://cli-tables/empty", server.endpoint)
    shell("init")
    shell("init")
    assert shell("databases") == shell("tables") == ""
    assert "database 'shop' does not exist" in shell.error("tables", "shop")


def test_errors_show_the_uri_as_it_is_written_in_the_settings(server: S3Server, tmp_path: Path) -> None:
    shell = shell_of(tmp_path, "s3a://cli-tables/uris", server.endpoint)
    (tmp_path / "rows.csv").write_text("id\n1\n")
    shell("init", "shop")
    shell("create", "shop.t", "--column", "id:BIGINT")
    shell("load", "shop.t", str(tmp_path / "rows.csv"))
    catalog = load_catalog({**server.options, "warehouse": "s3a://cli-tables/uris"})
    assert isinstance(catalog, NamedCatalog)
    root = "/cli-tables/uris/shop.db/t"
    (data,) = (path for path, _ in catalog.io.list_files(root) if "/data-" in path)
    catalog.io.overwrite(data, b"x")
    assert shell.error("scan", "shop.t").startswith("error: s3a:/" + data)
    findings = shell.run("doctor", "shop.t").stdout
    assert "s3a:/" + data in findings
    assert root not in findings.replace("s3a:/" + root, "")
    catalog.io.overwrite(f"{root}/schema/schema-0", b"{")
    assert shell.error("scan", "shop.t").startswith(f"error: s3a:/{root}/schema/schema-0: ")
