"""Views that a catalog keeps: a query by name, and the changes of one (Java ``View``, ``ViewChange``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, TypeAlias

from table_format.errors import AlreadyExistsError, InvalidIdentifier, InvalidInputError, NotFoundError
from table_format.model.identifier import MAIN_BRANCH, SYSTEM_DATABASE, Identifier
from table_format.model.types import DataField

SPARK_DIALECT: Final = "spark"
"""The dialect in which Paimon's Spark and this library store the text of a view."""
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class View:
    """A stored query.

    ``fields`` are the columns of its result, ``query`` is its text, ``dialects`` are texts by the name of an SQL
    dialect, such as ``spark`` or ``flink``, and ``options`` are texts by key.

    >>> from table_format.types import BigIntType, DataField
    >>> fields = [DataField(0, "id", BigIntType())]
    >>> View.of("shop.open_orders", fields, "SELECT id FROM shop.orders WHERE state = 'open'").dialects
    {'spark': "SELECT id FROM shop.orders WHERE state = 'open'"}
    """

    identifier: Identifier
    fields: tuple[DataField, ...]
    query: str
    dialects: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    comment: str | None = None
    options: Mapping[str, str] = field(default_factory=lambda: _NOTHING)

    @classmethod
    def of(
        cls,
        name: str,
        fields: Sequence[DataField],
        query: str,
        *,
        dialect: str = SPARK_DIALECT,
        comment: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> View:
        """Return the view ``database.view`` with one text, which is in the given dialect.

        Raises:
            InvalidIdentifier: the name is not legal.
        """
        return cls(view_name(name), tuple(fields), query, {dialect: query}, comment, dict(options or {}))

    def text_in(self, dialect: str) -> str | None:
        """Return the text in a dialect; ``None`` if the view has texts in other dialects only.

        A view without dialects has one text for all.
        """
        return self.dialects.get(dialect) if self.dialects else self.query


@dataclass(frozen=True, slots=True)
class SetViewOption:
    """Set an option of a view."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class RemoveViewOption:
    """Remove an option of a view."""

    key: str


@dataclass(frozen=True, slots=True)
class SetViewComment:
    """Set the comment of a view; remove it with ``None``."""

    comment: str | None


@dataclass(frozen=True, slots=True)
class AddDialect:
    """Add a text in a dialect that the view does not have."""

    dialect: str
    query: str


@dataclass(frozen=True, slots=True)
class UpdateDialect:
    """Replace the text in a dialect that the view has."""

    dialect: str
    query: str


@dataclass(frozen=True, slots=True)
class DropDialect:
    """Remove the text in a dialect."""

    dialect: str


ViewChange: TypeAlias = SetViewOption | RemoveViewOption | SetViewComment | AddDialect | UpdateDialect | DropDialect


def changed_view(view: View, changes: Sequence[ViewChange]) -> View:
    """Return the view after the changes.

    Raises:
        AlreadyExistsError: the view has a dialect that would be added.
        NotFoundError: it does not have one that would be replaced or removed.
        InvalidInputError: a change is of another type.
    """
    for change in changes:
        view = _changed(view, change)
    return view


def view_name(name: str) -> Identifier:
    """Parse the name of a view, ``database.view``.

    Raises:
        InvalidIdentifier: it is not legal, or it names a branch, a system table or the database ``sys``.
    """
    identifier = Identifier.parse(name)
    if identifier.branch != MAIN_BRANCH or identifier.system_table is not None:
        message = f"view name '{name}' is not legal: a view has no branches and no system tables"
        raise InvalidIdentifier(message)
    if identifier.database == SYSTEM_DATABASE:
        message = f"view name '{name}' is not legal: database '{SYSTEM_DATABASE}' holds the catalog's own tables"
        raise InvalidIdentifier(message)
    return identifier


def _changed(view: View, change: ViewChange) -> View:
    given: object = change
    match given:
        case SetViewOption(key, value):
            return replace(view, options={**view.options, key: value})
        case RemoveViewOption(key):
            return replace(view, options={k: v for k, v in view.options.items() if k != key})
        case SetViewComment(comment):
            return replace(view, comment=comment)
        case AddDialect(dialect, query):
            if dialect in view.dialects:
                message = f"view '{view.identifier}' already has the dialect '{dialect}'; update it"
                raise AlreadyExistsError(message)
            return replace(view, dialects={**view.dialects, dialect: query})
        case UpdateDialect(dialect, query):
            _require_dialect(view, dialect)
            return replace(view, dialects={**view.dialects, dialect: query})
        case DropDialect(dialect):
            _require_dialect(view, dialect)
            return replace(view, dialects={k: v for k, v in view.dialects.items() if k != dialect})
    message = f"view '{view.identifier}': expected a change of a view, found {type(change).__name__}"
    raise InvalidInputError(message)


def _require_dialect(view: View, dialect: str) -> None:
    if dialect not in view.dialects:
        known = ", ".join(sorted(view.dialects)) or "none"
        message = f"view '{view.identifier}' has no dialect '{dialect}'; its dialects are {known}"
        raise NotFoundError(message)
