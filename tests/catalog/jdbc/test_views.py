"""The laws of views in a file of SQLite, and what other programs find there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from table_format import View, ViewCatalog, load_catalog
from table_format.catalog.views import find_view, require_views, text_for, views_in
from table_format.codecs.view_json import encode_view
from table_format.errors import BadEncoding, UnsupportedFeature
from tests.catalog.view_laws import VIEW_LAWS, catalog, view
from tests.support.jdbc_catalogs import jdbc_warehouse, sql
from tests.support.tables import Warehouse

globals().update(VIEW_LAWS)


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return jdbc_warehouse(tmp_path)


def test_a_view_is_one_row_in_the_table_of_java(warehouse: Warehouse, tmp_path: Path) -> None:
    catalog(warehouse).create_view(View.of("db.v", (), "SELECT 1"))
    text = encode_view(catalog(warehouse).load_view("db.v"))
    assert json.loads(text) == {"fields": [], "query": "SELECT 1", "dialects": {"spark": "SELECT 1"}, "options": {}}
    assert sql(tmp_path, "SELECT * FROM paimon_views") == [("jdbc", "db", "v", text)]
    assert sql(tmp_path, "SELECT * FROM paimon_tables") == []


def test_a_row_that_is_no_view_is_refused_by_the_name_of_the_view(warehouse: Warehouse, tmp_path: Path) -> None:
    for text in ("", "[]", '{"fields": []}', '{"fields": [1], "query": ""}'):
        sql(tmp_path, "DELETE FROM paimon_views")
        sql(tmp_path, "INSERT INTO paimon_views VALUES ('jdbc', 'db', 'v', ?)", text)
        with pytest.raises(BadEncoding, match=r"view 'db\.v'"):
            catalog(warehouse).load_view("db.v")


def test_a_view_with_a_type_of_a_later_release_is_there_and_is_refused_by_its_name(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    text = '{"fields": [{"id": 0, "name": "x", "type": "VARIANT"}], "query": "", "dialects": {}, "options": {}}'
    sql(tmp_path, "INSERT INTO paimon_views VALUES ('jdbc', 'db', 'v', ?)", text)
    assert catalog(warehouse).list_views("db") == ("v",)
    with pytest.raises(UnsupportedFeature, match=r"view 'db\.v': .*VARIANT"):
        find_view(catalog(warehouse), "db.v")
    catalog(warehouse).drop_view("db.v")


def test_a_catalog_from_before_there_were_views_gets_their_table(warehouse: Warehouse, tmp_path: Path) -> None:
    warehouse.table("t")
    sql(tmp_path, "DROP TABLE paimon_views")
    again = jdbc_warehouse(tmp_path, catalog_key="another")
    catalog(again).create_view(view())
    assert catalog(warehouse).list_views("db") == ()
    assert catalog(warehouse).list_tables("db") == ("t",)


def test_a_catalog_of_directories_keeps_no_views(tmp_path: Path) -> None:
    files = load_catalog({"warehouse": str(tmp_path)})
    files.create_database("db")
    assert not isinstance(files, ViewCatalog)
    assert (find_view(files, "db.v"), views_in(files, "db")) == (None, ())
    with pytest.raises(UnsupportedFeature, match=r"metastore=jdbc, hive or rest, or use CREATE TEMPORARY VIEW"):
        require_views(files)


def test_the_text_of_a_view_is_that_of_a_dialect_or_the_only_one(warehouse: Warehouse) -> None:
    of_flink = View.of("db.v", (), "SELECT 1", dialect="flink")
    with pytest.raises(UnsupportedFeature, match=r"no text in the dialect 'spark'; its dialects are flink"):
        text_for(of_flink, "spark")
    assert text_for(of_flink, "flink") == "SELECT 1"
    assert text_for(View(of_flink.identifier, (), "SELECT 2"), "spark") == "SELECT 2"
