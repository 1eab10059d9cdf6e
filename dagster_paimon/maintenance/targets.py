"""Checks that the tables of a configuration exist, before any work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from dagster_paimon.tables.selection import TableSelection
from table_format import Catalog
from table_format.counted import listed
from table_format.engine.support import nearest
from table_format.errors import InvalidInputError, TableNotFound

_SHOWN: Final = 8


def resolve(catalog: Catalog, names: Sequence[str], *, skip_missing: bool = False) -> tuple[str, ...]:
    """Return the tables that names and patterns select, each once; with ``skip_missing``, only those that exist.

    Raises:
        InvalidInputError: nothing is named, a name is malformed, or a pattern matches no table.
        TableNotFound: a named table does not exist.
    """
    if not names:
        message = "no table is given; set table, tables or pattern"
        raise InvalidInputError(message)
    found: list[str] = []
    for name in names:
        selection = TableSelection.of(name)
        selected = selection.existing(catalog)
        if skip_missing:
            found += selected
            continue
        if not selected and selection.plain_names:
            known = _all(catalog)
            likely = nearest(name, known, cutoff=0.6)
            hint = f"did you mean {likely[0]}?" if likely else f"the tables are {_listed(known)}"
            message = f"table {name} does not exist; {hint}"
            raise TableNotFound(message)
        if not selected:
            message = f"no table matches '{name}'; the tables are {_listed(_all(catalog))}"
            raise InvalidInputError(message)
        found += selected
    return tuple(dict.fromkeys(found))


def _all(catalog: Catalog) -> tuple[str, ...]:
    return TableSelection.of("*").names(catalog)


def _listed(names: Iterable[str]) -> str:
    return listed(names, _SHOWN) or "none"
