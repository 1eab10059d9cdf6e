"""The example of the page about object stores runs on a server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from dagster_paimon.resources.lakehouse import LakehouseCatalog
from table_format import load_catalog
from table_format.cli.settings import read_settings
from tests.support.code_blocks import code_blocks, run_block
from tests.support.s3_server import KEY, SECRET, running_s3

PAGE = Path(__file__).parents[2] / "docs" / "object-stores.md"


def test_the_example_opens_a_warehouse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE_KEY", KEY)
    monkeypatch.setenv("LAKE_SECRET", SECRET)
    (block,) = code_blocks(PAGE.read_text())
    names: dict[str, object] = {}
    with running_s3() as server:
        server.make_bucket("lake")
        run_block(block.replace("https://minio.example.com:9000", server.endpoint), names)
        catalog = names["catalog"]
        catalog.create_database("shop")
        assert catalog.list_databases() == ("shop",)


def test_the_settings_of_dagster_and_of_the_command_line_open_it_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LAKE_KEY", KEY)
    monkeypatch.setenv("LAKE_SECRET", SECRET)
    text = PAGE.read_text()
    (component,) = code_blocks(text, "yaml")
    of_azure, of_gcs, of_oss, of_hdfs, settings = code_blocks(text, "toml")
    lakehouse = LakehouseCatalog(**yaml.safe_load(component)["attributes"]["lakehouse"])
    config = tmp_path / "lakehouse.toml"
    config.write_text(of_azure)
    assert repr(load_catalog(read_settings(config, catalog=None, warehouse=None))) == (
        "FileSystemCatalog('/lake/warehouse')"
    )
    config.write_text(of_gcs)
    clients = load_catalog(read_settings(config, catalog=None, warehouse=None)).io.clients
    assert (clients.scheme, clients.options.key_file) == ("gs", "/etc/keys/lake.json")
    config.write_text(of_oss)
    of_command = read_settings(config, catalog=None, warehouse=None)
    of_dagster = LakehouseCatalog(
        warehouse="oss://lake/warehouse",
        options={"fs.oss.endpoint": "oss-cn-hangzhou.aliyuncs.com"},
        secret_options={"fs.oss.accessKeyId": "LAKE_KEY", "fs.oss.accessKeySecret": "LAKE_SECRET"},
    )
    assert of_dagster.catalog().io.clients == load_catalog(of_command).io.clients
    config.write_text(of_hdfs)
    of_command = read_settings(config, catalog=None, warehouse=None)
    store = load_catalog(of_command).io
    assert (store.cluster.namenodes, store.cluster.user) == (("namenode:9870",), "ann")
    of_dagster = LakehouseCatalog(
        warehouse="hdfs://namenode:8020/warehouse",
        options={"dfs.namenode.http-address": "namenode:9870", "hadoop.username": "ann"},
    )
    assert of_dagster.catalog().io.cluster == store.cluster
    config.write_text(settings)
    of_command = read_settings(config, catalog=None, warehouse=None)
    of_dagster = lakehouse.catalog_options(os.environ)
    assert {**of_dagster, "metastore": ""} == {**of_command, "metastore": ""}
    assert repr(lakehouse.catalog()) == repr(load_catalog(of_command)) == "FileSystemCatalog('/lake/warehouse')"
