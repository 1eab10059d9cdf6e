"""Opening a catalog from options."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from table_format import load_catalog
from table_format.catalog.filesystem import FileSystemCatalog
from table_format.errors import InvalidOption, UnsupportedFeature


def test_a_warehouse_is_a_path_or_a_file_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for given in (str(tmp_path / "w"), f"file://{tmp_path}/w", f"file:{tmp_path}/w/", "w"):
        catalog = load_catalog({"warehouse": given})
        assert isinstance(catalog, FileSystemCatalog)
        assert catalog.warehouse == str(tmp_path / "w")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "'warehouse': is required"),
        ({"warehouse": "/w", "warehous": "/v"}, "'warehous': is not known to a catalog; did you mean 'warehouse'"),
        ({"warehouse": "/w", "metastore": "file"}, "'metastore': 'file' is not a legal value"),
        ({"warehouse": "/w", "table-default.bukket": "1"}, "'bukket': is not known"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        load_catalog(options)


@pytest.mark.parametrize(
    "options",
    [
        {"warehouse": "/w", "metastore": "hive"},
        {"warehouse": "/w", "metastore": "jdbc"},
        {"warehouse": "/w", "uri": "thrift://x"},
        {"warehouse": "/w", "lock.enabled": "true"},
        {"warehouse": "s3://bucket/w"},
    ],
)
def test_what_is_not_supported_is_refused_by_name(options: dict[str, str]) -> None:
    key = next((key for key in options if key != "warehouse"), "warehouse")
    with pytest.raises(UnsupportedFeature, match=key):
        load_catalog(options)


def test_options_of_java_caches_are_kept() -> None:
    assert load_catalog({"warehouse": "/w", "cache-enabled": "false", "client-pool-size": "4"})


def test_the_library_is_imported_without_heavy_companions() -> None:
    heavy = ("pyspark", "dagster", "numba", "sqlglot", "pandas", "duckdb", "polars")
    code = f"import sys, table_format; print([m for m in {heavy} if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
