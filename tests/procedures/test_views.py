"""The procedure on the texts of a view."""

from __future__ import annotations

from pathlib import Path

import pytest

from table_format import View, load_catalog
from table_format.catalog.jdbc.catalog import JdbcCatalog
from table_format.errors import AlreadyExistsError, InvalidInputError, NotFoundError, UnsupportedFeature, ViewNotFound
from table_format.procedures.operations import InProcess
from table_format.procedures.run import run_procedure
from tests.support.jdbc_catalogs import jdbc_catalog


@pytest.fixture
def catalog(tmp_path: Path) -> JdbcCatalog:
    catalog = jdbc_catalog(tmp_path)
    catalog.create_database("db")
    catalog.create_view(View.of("db.v", (), "S", dialect="spark"))
    return catalog


def call(catalog: JdbcCatalog, action: str, engine: str | None = None, query: str | None = None) -> dict[str, str]:
    named = {"view": "db.v", "action": action, "engine": engine, "query": query}
    given = {key: value for key, value in named.items() if value is not None}
    assert run_procedure(InProcess(catalog), "alter_view_dialect", given).to_pylist() == [{"result": True}]
    return dict(catalog.load_view("db.v").dialects)


def test_texts_are_added_replaced_and_removed(catalog: JdbcCatalog) -> None:
    assert call(catalog, "add", "flink", "F") == {"spark": "S", "flink": "F"}
    assert call(catalog, "update", query="T") == {"spark": "T", "flink": "F"}
    assert call(catalog, "update", "", "U") == {"spark": "U", "flink": "F"}
    assert call(catalog, "drop", "flink") == {"spark": "U"}


def test_a_call_without_effect_is_refused(catalog: JdbcCatalog) -> None:
    for arguments, error, reason in (
        (("add", "spark", "T"), AlreadyExistsError, "already has the dialect 'spark'"),
        (("drop", "flink"), NotFoundError, "no dialect 'flink'"),
        (("replace",), InvalidInputError, "expected add, update, drop, found 'replace'"),
        (("add", "flink"), InvalidInputError, "is required to add a text"),
        (("update", "spark", ""), InvalidInputError, "is required to update a text"),
        (("update", "spark", " "), InvalidInputError, "argument 'query': expected a text that is not blank"),
    ):
        with pytest.raises(error, match=reason):
            call(catalog, *arguments)
    assert catalog.load_view("db.v").dialects == {"spark": "S"}
    catalog.drop_view("db.v")
    with pytest.raises(ViewNotFound):
        call(catalog, "drop")


def test_a_catalog_without_views_refuses_it(tmp_path: Path) -> None:
    files = load_catalog({"warehouse": str(tmp_path)})
    with pytest.raises(UnsupportedFeature, match="metastore=jdbc"):
        run_procedure(InProcess(files), "alter_view_dialect", {"view": "db.v", "action": "drop"})
