"""Executes ALTER VIEW."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_format.catalog.views import require_views
from table_format.errors import AlreadyExistsError, InvalidInputError
from table_format.model.view import SPARK_DIALECT, View
from table_format.spark.sql.results import nothing
from table_format.spark.sql.session import SqlSession
from table_format.spark.sql.views import check_temporary_name, create_temporary_view, stored_view, view_of_query
from table_format.sql.alter_view import AlterViewProperties, AlterViewQuery, AlterViewStatement, RenameView
from table_format.sql.reader import SqlName
from table_format.sql.views import CreateView

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run_alter_view_statement(session: SqlSession, statement: AlterViewStatement) -> DataFrame:
    """Change a view. Spark changes the temporary views that it manages.

    Raises:
        ViewNotFound: the view does not exist. AlreadyExistsError: the new name is taken.
        UnsupportedFeature: the catalog keeps no views.
        InvalidInputError: the view is temporary and cannot be changed in this way, or has texts in other dialects,
            which would not fit a new query.
    """
    name = session.find(statement.name)
    if str(statement.name).lower() in session.state.views:
        _change_temporary(session, statement)
    elif name is None:
        return session.spark.sql(statement.text, dict(session.parameters) or None)
    else:
        _change_stored(session, name, statement)
    return nothing(session.spark)


def _change_temporary(session: SqlSession, statement: AlterViewStatement) -> None:
    key = str(statement.name).lower()
    match statement:
        case AlterViewQuery(name=name, query=query, text=text):
            create_temporary_view(session, key, CreateView(name, query, or_replace=True, text=text))
        case RenameView(new_name=new_name):
            new_key = _free_name(session, new_name)
            session.state.views[new_key] = session.state.views.pop(key)
        case AlterViewProperties():
            message = f"view '{key}' is temporary and has no properties; a view of a catalog that keeps views has them"
            raise InvalidInputError(message)


def _free_name(session: SqlSession, new_name: SqlName) -> str:
    check_temporary_name(new_name)
    key = str(new_name).lower()
    if key in session.state.views:
        message = f"view '{key}' already exists"
        raise AlreadyExistsError(message)
    return key


def _change_stored(session: SqlSession, name: str, statement: AlterViewStatement) -> None:
    view = stored_view(session, name, of_tables="ALTER TABLE")
    catalog = require_views(session.catalog)
    match statement:
        case AlterViewQuery(query=query):
            old = catalog.load_view(name) if view is None else view
            _check_dialects(old)
            new = view_of_query(session, name, query, comment=old.comment, options=old.options)
            catalog.create_view(new, replace=True)
        case RenameView(new_name=new_name):
            # A name without a database stays in the database of the view.
            database = name.partition(".")[0]
            alone = len(new_name.parts) == 1
            catalog.rename_view(name, f"{database}.{new_name.parts[0]}" if alone else session.table_name(new_name))
        case AlterViewProperties(changes=changes):
            catalog.alter_view(name, changes)


def _check_dialects(view: View) -> None:
    others = sorted({*view.dialects} - {SPARK_DIALECT})
    if others:
        message = (
            f"view '{view.identifier}' has a text in the dialect {', '.join(others)}, which would not fit a new query; "
            "drop it with CALL sys.alter_view_dialect, or use CREATE OR REPLACE VIEW"
        )
        raise InvalidInputError(message)
