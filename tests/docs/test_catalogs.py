"""The settings on the page about catalogs are understood by the command line and by Dagster, and mean the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from dagster_paimon.resources.lakehouse import LakehouseCatalog
from table_format import load_catalog
from table_format.cli.settings import read_settings
from table_format.errors import MetastoreUnavailable
from tests.support.code_blocks import code_blocks

PAGE = Path(__file__).parents[2] / "docs" / "catalogs.md"


def test_the_settings_of_dagster_and_of_the_command_line_are_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NAMES_PASSWORD", "hush-hush")
    text = PAGE.read_text().replace("db.example.com:5432", "127.0.0.1:1")
    (component,) = code_blocks(text, "yaml")
    (settings,) = code_blocks(text, "toml")
    config = tmp_path / "lakehouse.toml"
    config.write_text(settings)
    of_command = read_settings(config, catalog=None, warehouse=None)
    lakehouse = LakehouseCatalog(**yaml.safe_load(component)["attributes"]["lakehouse"])
    assert lakehouse.catalog_options(os.environ) == of_command
    with pytest.raises(MetastoreUnavailable, match=r"jdbc:postgresql://127\.0\.0\.1:1/names"):
        load_catalog(of_command)
