"""The declaration of a procedure: its name, arguments and result columns, and the function that does the work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from table_format.catalog.protocol import Catalog
from table_format.errors import InvalidInputError
from table_format.format_table.table import no_format_table
from table_format.procedures.arguments import TEXT, Argument, required
from table_format.procedures.operations import Operations
from table_format.table.system.table import SystemTable
from table_format.table.table import Table

Row = tuple[object, ...]

TABLE: Final = required("table", TEXT, "The table, as database.table or database.table$branch_name.")
"""The first argument of nearly every procedure."""

DONE: Final = pa.schema([pa.field("result", pa.bool_())])
"""The result column of a procedure without other results."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the converted arguments by name, and where the work runs."""

    procedure: str
    arguments: Mapping[str, Any]
    operations: Operations

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - the type of the argument says what it is
        return self.arguments[name]

    @property
    def catalog(self) -> Catalog:
        """The catalog."""
        return self.operations.catalog

    def table(self, name: str | None = None, options: Mapping[str, str] | None = None) -> Table:
        """Return the table of the argument ``table``, or of a name, with dynamic options.

        Raises:
            TableNotFound: the table does not exist.
            InvalidInputError: the table is a system table.
        """
        wanted: str = self["table"] if name is None else name
        opened = no_format_table(self.catalog.load_any(wanted), f"procedure '{self.procedure}'")
        if isinstance(opened, SystemTable):
            message = f"procedure '{self.procedure}': '{wanted}' is a system table, which is read-only"
            raise InvalidInputError(message)
        return opened.copy(options) if options else opened


@dataclass(frozen=True, slots=True)
class Procedure:
    """One procedure. ``run`` returns the rows of its result, with a value for each of ``columns``."""

    name: str
    summary: str
    arguments: tuple[Argument, ...]
    run: Callable[[Call], Iterable[Row]]
    columns: pa.Schema = DONE


def done(action: Callable[[Call], object]) -> Callable[[Call], Iterable[Row]]:
    """Return the result of a procedure without other results."""

    def run(call: Call) -> Iterable[Row]:
        action(call)
        return [(True,)]

    return run
