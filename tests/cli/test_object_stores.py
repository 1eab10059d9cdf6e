"""The command line on a warehouse in an object store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

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
    assert "the bucket 'cli-nowhere' does not exist" in lines[0]
    assert "127.0.0.1" in lines[1]
    assert not any(SECRET in line or KEY in line for line in lines)
