"""The procedure on the texts of a view (Java ``AlterViewDialectProcedure``)."""

from __future__ import annotations

from typing import Final

from table_format.catalog.views import require_views
from table_format.errors import InvalidOption
from table_format.model.view import SPARK_DIALECT, AddDialect, DropDialect, UpdateDialect, ViewChange
from table_format.procedures.arguments import TEXT, Argument, ArgumentType, required
from table_format.procedures.declare import Call, Procedure, done

_OPTIONAL: Final = ArgumentType(
    f"{TEXT.words}, or an empty text", lambda value: None if value == "" else TEXT.convert(value)
)
"""An empty text stands for an argument that is left out, as in Java."""
_ACTIONS: Final = ("add", "update", "drop")


def _alter(call: Call) -> None:
    action, dialect, query = call["action"], call["engine"] or SPARK_DIALECT, call["query"]
    if action not in _ACTIONS:
        key = "action"
        raise InvalidOption(key, f"expected {', '.join(_ACTIONS)}, found {action!r}")
    if action != "drop" and query is None:
        key = "query"
        raise InvalidOption(key, f"is required to {action} a text")
    change: ViewChange = DropDialect(dialect)
    if action != "drop":
        change = AddDialect(dialect, query) if action == "add" else UpdateDialect(dialect, query)
    require_views(call.catalog).alter_view(call["view"], change)


ALTER_VIEW_DIALECT: Final = Procedure(
    "alter_view_dialect",
    "Add, replace or remove the text of a view in a dialect of SQL.",
    (
        required("view", TEXT, "The view, as `database.view`."),
        required("action", TEXT, "`add`, `update` or `drop`."),
        Argument("engine", _OPTIONAL, "The dialect, such as `flink` or `duckdb`; by default `spark`."),
        Argument("query", _OPTIONAL, "The text; required to `add` and to `update`."),
    ),
    done(_alter),
)
