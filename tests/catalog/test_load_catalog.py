"""Opening a catalog from options."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from table_format import ObjectTable, Schema, load_catalog
from table_format.catalog.filesystem import FileSystemCatalog
from table_format.catalog.registry import CATALOGS, register_catalog
from table_format.cli.program import lakehouse
from table_format.errors import AlreadyExistsError, InvalidOption, UnsupportedFeature
from table_format.io.memory import MemoryFileIO
from table_format.io.stores import STORES, Store, register_store
from table_format.options.catalog import REFUSED
from table_format.options.declare import Option
from table_format.options.values import optional, secret, text
from table_format.secrets import Secret
from tests.support.dict_catalog import DictCatalog, Metastore, dict_catalog_kind
from tests.support.registries import forgotten_again
from tests.support.tables import KEYED, keyed, rows_of


def test_a_warehouse_is_a_path_or_a_file_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for given in (str(tmp_path / "w"), f"file://{tmp_path}/w", f"file:{tmp_path}/w/", "w"):
        catalog = load_catalog({"warehouse": given})
        assert isinstance(catalog, FileSystemCatalog)
        assert catalog.warehouse == str(tmp_path / "w")


@pytest.mark.parametrize(
    ("given", "root"),
    [
        ("../w", "w"),
        ("a/../../w/", "w"),
        ("link/../w", "elsewhere/w"),
        ("~/w", "home/w"),
        ("~", "home"),
        ("~other/w", "here/~other/w"),
        ("a%20b", "here/a%20b"),
        ("a b/é", "here/a b/é"),
        ("a#b?c", "here/a#b?c"),
        ("file:{}/a%20b#c", "a%20b#c"),
    ],
)
def test_a_path_of_a_warehouse_means_what_it_means_to_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, root: str
) -> None:
    for name in ("here/a", "elsewhere/linked"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "here" / "link").symlink_to(tmp_path / "elsewhere" / "linked")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    warehouse = given.format(tmp_path)
    result = CliRunner().invoke(lakehouse, ["-w", warehouse, "init", "shop"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / root / "shop.db").is_dir()
    catalog = load_catalog({"warehouse": warehouse})
    catalog.create_table("shop.t", Schema.from_arrow(pa.schema([("id", pa.int64())]))).append(pa.table({"id": [1]}))
    assert CliRunner().invoke(lakehouse, ["-w", warehouse, "count", "shop.t"]).output == "1\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "'warehouse' is required"),
        ({"warehouse": "/w", "warehous": "/v"}, "'warehous' is not known to a catalog; did you mean 'warehouse'"),
        ({"warehouse": "/w", "metastore": "file"}, "'metastore': 'file' is not a legal value"),
        ({"warehouse": "/w", "table-default.bukket": "1"}, "'bukket' is not known"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        load_catalog(options)


@pytest.mark.parametrize(
    "options",
    [
        {"warehouse": "/w", "uri": "thrift://x"},
        {"warehouse": "/w", "lock.enabled": "true"},
        {"warehouse": "cosn://bucket/w"},
        {"warehouse": "swebhdfs://namenode:9871/w"},
        {"warehouse": "webhdfs://namenode/w", "security.kerberos.login.principal": "ann@EXAMPLE.COM"},
    ],
)
def test_what_is_not_supported_is_refused_by_name(options: dict[str, str]) -> None:
    key = next((key for key in options if key != "warehouse"), "warehouse")
    with pytest.raises(UnsupportedFeature, match=key):
        load_catalog(options)


@pytest.mark.parametrize("option", REFUSED, ids=lambda option: option.key)
def test_an_option_that_a_catalog_of_files_does_not_read_takes_only_its_default(option: Option[Any]) -> None:
    value = next(text for text in (*option.parser.edges, "x") if option.parser(text) != option.default)
    with pytest.raises(UnsupportedFeature, match=re.escape(option.key)):
        load_catalog({"warehouse": "/w", option.key: value})
    if option.default is not None:
        assert load_catalog({"warehouse": "/w", option.key: option.parser.show(option.default)})


@pytest.mark.parametrize(("enabled", "kept"), [("true", True), ("false", False)])
def test_a_catalog_without_caches_keeps_no_decoded_manifests(enabled: str, *, kept: bool) -> None:
    catalog = load_catalog({"warehouse": "/w", "cache-enabled": enabled})
    assert isinstance(catalog, FileSystemCatalog)
    assert catalog.runtime.decoded is not None
    assert bool(catalog.runtime.decoded.capacity) is kept


def test_the_library_is_imported_without_heavy_companions() -> None:
    heavy = ("pyspark", "dagster", "numba", "sqlglot", "pandas", "duckdb", "polars")
    code = f"import sys, table_format; print([m for m in {heavy} if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


ADDRESS = Option("uri", optional(text), None, "Address of the metastore.")
PASSWORD = Option("jdbc.password", optional(secret), None, "Password.")


@dataclass(frozen=True)
class AddressOptions:
    uri: str | None = ADDRESS.field()
    password: Secret | None = PASSWORD.field()


@pytest.fixture
def metastore() -> Iterator[Metastore]:
    kept = Metastore()
    with forgotten_again(CATALOGS, STORES):
        register_catalog(dict_catalog_kind("dict", kept, AddressOptions))
        yield kept


def test_a_registered_catalog_is_opened_by_its_name(metastore: Metastore, tmp_path: Path) -> None:
    options = {"warehouse": str(tmp_path), "metastore": "dict"}
    load_catalog(options).create_database("db")
    made = load_catalog(options).create_table("db.t", Schema.from_arrow(KEYED))
    made.append(keyed([(1, "a", 1)]))
    opened = load_catalog(options).load_table("db.t")
    assert rows_of(opened) == [(1, "a", 1)]
    assert metastore.databases == {"db": {"t": made.store.paths.root}}


def test_options_of_a_catalog_are_known_to_it_alone_and_its_secrets_are_masked(
    metastore: Metastore, tmp_path: Path
) -> None:
    own = {"uri": "jdbc:sqlite:x", "jdbc.password": "hunter2"}
    catalog = load_catalog({"warehouse": str(tmp_path), "metastore": "dict", **own})
    assert isinstance(catalog, DictCatalog)
    assert catalog.password == Secret("hunter2")
    shown = catalog.load_table("sys.catalog_options").scan().to_arrow().to_pylist()
    assert {"key": "jdbc.password", "value": "******"} in shown
    assert "hunter2" not in repr(catalog)
    with pytest.raises(InvalidOption, match=r"'jdbc.password' is not known to a catalog"):
        load_catalog({"warehouse": str(tmp_path), "jdbc.password": "hunter2"})


def test_a_name_of_a_catalog_that_is_taken_is_refused(metastore: Metastore) -> None:
    for name in ("filesystem", "dict"):
        with pytest.raises(AlreadyExistsError, match=f"catalog '{name}' already exists"):
            register_catalog(dict_catalog_kind(name, metastore))


def test_an_unknown_catalog_is_refused_with_the_names_of_those_there_are(metastore: Metastore) -> None:
    known = "filesystem, jdbc, hive, rest, dict"
    with pytest.raises(InvalidOption, match=f"'metastore': 'dikt' is not a legal value; it has {known}"):
        load_catalog({"warehouse": "/w", "metastore": "dikt"})


SHELF_KEY = Option("fs.shelf.access.key", optional(secret), None, "Key of the shelf.")


@dataclass(frozen=True)
class ShelfOptions:
    key: Secret | None = SHELF_KEY.field()


def test_a_registered_store_keeps_the_tables_of_its_scheme(metastore: Metastore) -> None:
    shelves: dict[str, MemoryFileIO] = {}

    def open_shelf(options: ShelfOptions) -> MemoryFileIO:
        assert options.key is not None
        return shelves.setdefault(options.key.reveal(), MemoryFileIO())

    register_store(Store("shelf", open_shelf, options=ShelfOptions))
    options = {"warehouse": "shelf://top/w/", "fs.shelf.access.key": "hunter2"}
    catalog = load_catalog(options)
    assert "hunter2" not in repr(catalog)
    catalog.create_database("db")
    catalog.create_table("db.t", Schema.from_arrow(KEYED)).append(keyed([(1, "a", 1)]))
    assert rows_of(load_catalog(options).load_table("db.t")) == [(1, "a", 1)]
    assert shelves["hunter2"].status("/top/w/db.db/t/schema/schema-0") is not None
    # A catalog elsewhere takes the key, too, for object tables on the shelf.
    shelves["hunter2"].create("/images/a.png", b"png")
    elsewhere = load_catalog({"warehouse": "/w", "fs.shelf.access.key": "hunter2"}, file_io=MemoryFileIO())
    assert "hunter2" not in repr(elsewhere)
    elsewhere.create_database("db")
    made = elsewhere.create_table("db.images", Schema((), options={"object-location": "shelf://images"}))
    assert isinstance(made, ObjectTable)
    assert made.refresh().file_count == 1
    with pytest.raises(InvalidOption, match=r"'fs\.shelf\.access\.keys' is not known to a catalog"):
        load_catalog({"warehouse": "/w", "fs.shelf.access.keys": "hunter2"})
    with pytest.raises(AlreadyExistsError, match="store 'shelf' already exists"):
        register_store(Store("shelf", open_shelf))


def test_an_unknown_store_is_refused_with_the_schemes_there_are() -> None:
    with pytest.raises(UnsupportedFeature, match="the store 'cosn' is not supported by this version; it has file"):
        load_catalog({"warehouse": "cosn://bucket/w"})


@pytest.mark.parametrize("written", ["s3:/bucket/w", "GS:bucket/w", "oss:/bucket", "az:/c/w", "hdfs:/namenode:9000/w"])
def test_an_address_without_its_slashes_is_not_a_local_directory(
    written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scheme, _, rest = written.partition(":")
    with pytest.raises(InvalidOption, match=f"write '{scheme}://{rest.lstrip('/')}'"):
        load_catalog({"warehouse": written})
    assert load_catalog({"warehouse": f"./{written}"}).list_databases() == ()
    assert load_catalog({"warehouse": "s3x:/w"}).list_databases() == ()
