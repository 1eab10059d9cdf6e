"""The views of a catalog in a Hive metastore: Hive's own views (Java ``HiveCatalog``).

The metastore keeps one text for a view, which all engines read, and the Hive types of its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from table_format.catalog.catalog_with_views import no_view
from table_format.catalog.hive.hive_table import is_view, set_view
from table_format.catalog.hive.names import HiveNames, require_lower_case
from table_format.catalog.table_names import TableName, locked_in_order
from table_format.errors import AlreadyExistsError, UnsupportedFeature, ViewNotFound
from table_format.model.identifier import Identifier
from table_format.model.types import DataField
from table_format.model.view import View

_COMMENT: Final = "comment"
_OF_THE_METASTORE: Final = frozenset({_COMMENT, "transient_lastDdlTime"})


@dataclass(frozen=True, slots=True)
class HiveViews:
    """See ``KeptViews``."""

    names: HiveNames

    def of_database(self, database: str) -> Sequence[str]:
        """Return the names of the views of a database."""
        return [table.tableName for table in self.names.entries.tables(database) if is_view(table)]

    def has(self, identifier: Identifier) -> bool:
        """Return whether there is a view of this name."""
        return is_view(self.names.entries.table(_name(identifier)))

    def find(self, identifier: Identifier) -> View | None:
        """Return a view; ``None`` if there is none of this name.

        Raises:
            UnsupportedFeature: a column has a type that this library does not know.
        """
        table = self.names.entries.table(_name(identifier))
        return _view(identifier, table) if is_view(table) else None

    def create(self, view: View, *, ignore_if_exists: bool, replace: bool) -> None:
        """Store a view; see ``KeptViews``.

        Raises:
            UnsupportedFeature: it has different texts for several engines.
        """
        _require_one_text(view)
        name, entries = _name(view.identifier), self.names.entries
        require_lower_case(name.table, "view")
        with self.names.locked(name):
            there = entries.table(name)
            if there is None:
                entries.create_view(name, view, seconds=self.names.runtime.clock.now_ms() // 1000)
            elif not is_view(there):
                message = f"view '{name}' cannot be created: there is a table of this name"
                raise AlreadyExistsError(message)
            elif replace:
                set_view(there, view)
                entries.change_view(name, there)
            elif not ignore_if_exists:
                message = f"view '{name}' already exists"
                raise AlreadyExistsError(message)

    def change(self, identifier: Identifier, change: Callable[[View], View]) -> View:
        """Replace a view by what ``change`` makes of it; see ``KeptViews``.

        Of two changes at the same moment, one is lost if the catalog has no locks.

        Raises:
            UnsupportedFeature: it gets a text for an engine.
        """
        name = _name(identifier)
        with self.names.locked(name):
            table = self._existing(identifier)
            changed = change(_view(identifier, table))
            _require_one_text(changed)
            set_view(table, changed)
            self.names.entries.change_view(name, table)
        return changed

    def rename(self, source: Identifier, target: Identifier) -> None:
        """Rename a view; see ``KeptViews``."""
        old, new, entries = _name(source), _name(target), self.names.entries
        require_lower_case(new.table, "view")
        with locked_in_order(self.names, old, new):
            table, there = self._existing(source), entries.table(new)
            if there is not None:
                what = "view" if is_view(there) else "table"
                message = f"view '{old}' cannot be renamed to '{new}': there is a {what} of this name"
                raise AlreadyExistsError(message)
            entries.rename_table(old, new, table)

    def drop(self, identifier: Identifier, *, ignore_if_not_exists: bool) -> None:
        """Drop a view; see ``KeptViews``."""
        if self.has(identifier):
            self.names.entries.delete_table(_name(identifier))
        elif not ignore_if_not_exists:
            raise self.not_found(identifier)

    def not_found(self, identifier: Identifier) -> ViewNotFound:
        """Return the error for a view that does not exist."""
        name = _name(identifier)
        is_table = self.names.entries.paimon_table(name) is not None
        known = self.of_database(name.database) if self.names.has_database(name.database) else ()
        return no_view(name, is_table=is_table, views=known)

    def _existing(self, identifier: Identifier) -> Any:  # noqa: ANN401 - a structure of Thrift
        table = self.names.entries.table(_name(identifier))
        if not is_view(table):
            raise self.not_found(identifier)
        return table


def _view(identifier: Identifier, table: Any) -> View:  # noqa: ANN401 - a structure of Thrift
    # The parser of types takes longer to import than the rest of the catalog.
    from table_format.catalog.hive.type_text import parse_hive_type

    fields = [
        DataField(number, column.name, parse_hive_type(column.type, f"{identifier}.{column.name}"), column.comment)
        for number, column in enumerate(table.sd.cols or ())
    ]
    parameters: Mapping[str, str] = table.parameters or {}
    text = table.viewExpandedText or table.viewOriginalText or ""
    options = {key: value for key, value in parameters.items() if key not in _OF_THE_METASTORE}
    return View(identifier, tuple(fields), text, comment=parameters.get(_COMMENT), options=options)


def _require_one_text(view: View) -> None:
    others = sorted(dialect for dialect, text in view.dialects.items() if text != view.query)
    if others:
        feature = "texts of a view for several engines"
        message = (
            f"view '{view.identifier}' has a text of its own for {', '.join(others)}, but a Hive metastore keeps one "
            "text for all engines; replace the view, or use a catalog in a relational database"
        )
        raise UnsupportedFeature(feature, message)


def _name(identifier: Identifier) -> TableName:
    return TableName(identifier.database, identifier.table)
