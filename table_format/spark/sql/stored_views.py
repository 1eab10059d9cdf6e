"""The rows of the views that the catalog keeps.

The text of a view is a query of its own: a name without a database in it is a table or a view of the current database
of the session that reads the view, as in Paimon's Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from table_format.catalog.views import text_for
from table_format.counted import counted
from table_format.errors import InvalidInputError, InvalidSql, NotFoundError, TableNotFound
from table_format.model.type_changes import can_widen
from table_format.model.types import DataType, LocalZonedTimestampType, TimestampType
from table_format.model.view import SPARK_DIALECT, View
from table_format.spark.sql.session import SqlSession
from table_format.spark.types import fields_of_spark, spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_NO_TABLE = "TABLE_OR_VIEW_NOT_FOUND"


def frame_of_view(
    session: SqlSession,
    view: View,
    within: tuple[str, ...],
    query: Callable[[SqlSession, str, tuple[str, ...]], DataFrame],
) -> DataFrame:
    """Return the rows of a view with the columns that it declares.

    ``within`` are the views whose texts lead to this one. ``query`` returns the DataFrame of a text.

    Raises:
        NotFoundError: a table or a view in the text does not exist.
        InvalidInputError: the view refers to itself, its text cannot be run, or its columns have changed.
        UnsupportedFeature: the view has texts in other dialects only.
    """
    name = str(view.identifier)
    text = text_for(view, SPARK_DIALECT)
    if name in within:
        message = f"view '{name}' refers to itself: {' -> '.join((*within[within.index(name) :], name))}"
        raise InvalidInputError(message)
    try:
        # A view has no parameters of the query that reads it.
        found = query(replace(session, parameters={}), text, (*within, name))
        # By position: two columns of the query may have the same name.
        numbered = found.toDF(*map(str, range(len(found.columns))))
        return numbered.select(*_columns(view, numbered))
    except InvalidSql as error:
        message = f"view '{name}': its text cannot be run: {error}"
        raise InvalidInputError(message) from error
    except NotFoundError as error:
        message = f"view '{name}': {error}"
        raise TableNotFound(message) from error
    except AnalysisException as error:
        raise _failed(session, name, error) from error


def _failed(session: SqlSession, name: str, error: AnalysisException) -> TableNotFound | InvalidInputError:
    reason = str(error).partition("\n")[0]
    if _NO_TABLE not in reason:
        return InvalidInputError(f"view '{name}': its text cannot be run: {reason}")
    return TableNotFound(
        f"view '{name}': {reason} Names without a database are looked up in the current database, "
        f"'{session.state.database}'; write database.table in the text of a view"
    )


def _columns(view: View, numbered: DataFrame) -> Iterator[Column]:
    """Yield the first columns with the names and types of the view, as Paimon's Spark does."""
    found = fields_of_spark(numbered.schema)
    if len(found) < len(view.fields):
        message = (
            f"view '{view.identifier}' has {counted(len(view.fields), 'column')}, but its query now has {len(found)}; "
            "create the view again"
        )
        raise InvalidInputError(message)
    for declared, field in zip(view.fields, found, strict=False):
        column = numbered[field.name]
        wanted = spark_type(declared.type, declared.name)
        if wanted.simpleString() != spark_type(field.type).simpleString():
            if not (_loses_zone(field.type, declared.type) or can_widen(field.type, declared.type)):
                message = (
                    f"view '{view.identifier}' declares column '{declared.name}' as {declared.type}, but its query now "
                    f"has {field.type}; create the view again"
                )
                raise InvalidInputError(message)
            column = column.cast(wanted)
        yield column.alias(declared.name)


def _loses_zone(found: DataType, declared: DataType) -> bool:
    """Return whether only the zone of a timestamp differs. A Hive metastore has one type for both, and Paimon's Spark
    converts to the local time of the session as well.
    """
    return isinstance(found, LocalZonedTimestampType) and isinstance(declared, TimestampType)
