"""Selects tables of a catalog by names and patterns, which are resolved on use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, TypeAlias

from table_format import Catalog, data_tables
from table_format.engine.support import arguments
from table_format.errors import InvalidInputError

TableNames: TypeAlias = str | Sequence[str]
"""Names such as ``shop.orders`` and patterns such as ``shop.*``; ``*`` is every table of the catalog."""

_WILD: Final = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class TableSelection:
    """Names and patterns of tables. A pattern also matches tables that are created later."""

    patterns: tuple[str, ...]

    @classmethod
    def of(cls, tables: TableNames) -> TableSelection:
        """Return the selection of one or more names or patterns.

        Raises:
            InvalidInputError: a name is neither ``*`` nor ``database.table``.

        >>> TableSelection.of("shop.*")
        TableSelection(patterns=('shop.*',))
        """
        patterns = arguments.name_or_names(tables, "tables")
        for pattern in patterns:
            if pattern != "*" and "." not in pattern:
                message = f"'{pattern}' is not a table name; expected database.table, a pattern such as shop.*, or *"
                raise InvalidInputError(message)
        return cls(patterns)

    @property
    def plain_names(self) -> tuple[str, ...]:
        """The names if there is no pattern among them; otherwise empty.

        >>> TableSelection.of(["shop.orders", "shop.users"]).plain_names, TableSelection.of("shop.*").plain_names
        (('shop.orders', 'shop.users'), ())
        """
        return () if any(map(_is_pattern, self.patterns)) else self.patterns

    def names(self, catalog: Catalog) -> tuple[str, ...]:
        """Return the names, even of missing tables, and the tables that match the patterns, each once."""
        return self._among(self._listed(catalog))

    def names_among(self, known: Sequence[str]) -> tuple[str, ...]:
        """Return the names, and those of ``known`` that match the patterns, each once.

        >>> TableSelection.of(["shop.*", "crm.calls"]).names_among(["shop.users", "ods.raw"])
        ('shop.users', 'crm.calls')

        Raises:
            InvalidInputError: there is a pattern, but ``known`` is empty.
        """
        if self._has_patterns and not known:
            message = f"{self}: a pattern selects among known tables; pass the tables or their assets"
            raise InvalidInputError(message)
        return self._among(known)

    @property
    def _has_patterns(self) -> bool:
        return any(map(_is_pattern, self.patterns))

    def _among(self, known: Sequence[str]) -> tuple[str, ...]:
        found = (
            name
            for pattern in self.patterns
            for name in ((k for k in known if _matches(k, pattern)) if _is_pattern(pattern) else (pattern,))
        )
        return tuple(dict.fromkeys(found))

    def existing(self, catalog: Catalog) -> tuple[str, ...]:
        """Return the currently selected tables of the catalog, in the order of the patterns, each once."""
        listed = self._listed(catalog)
        known = frozenset(listed)
        return tuple(name for name in self._among(listed) if name in known or _exists(catalog, name))

    def _listed(self, catalog: Catalog) -> tuple[str, ...]:
        return tuple(data_tables(catalog)) if self._has_patterns else ()

    def __str__(self) -> str:
        return ", ".join(self.patterns)


def _exists(catalog: Catalog, name: str) -> bool:
    try:
        return catalog.table_exists(name)
    except OSError:
        return True  # opening it raises the error


def _is_pattern(name: str) -> bool:
    return bool(_WILD & set(name))


def _matches(name: str, pattern: str) -> bool:
    return pattern == "*" or fnmatchcase(name, pattern)
