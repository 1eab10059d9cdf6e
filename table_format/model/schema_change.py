"""The schema changes that a caller can request (format chapter 02, sections 3 and 6; Java ``SchemaChange``).

A column is identified by its name, or by a tuple of names for a path in nested types: ``("address", "city")``. In the
path, ``element`` stands for the elements of an array, and ``value`` for the values of a map: ``("orders", "element",
"price")``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from table_format.model.types import DataType
from table_format.secrets import shown_option

ColumnPath: TypeAlias = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AddColumn:
    """Add a nullable column: at the end, first, or after another of the same level."""

    name: ColumnPath
    type: DataType
    comment: str | None = None
    after: str | None = None
    first: bool = False


@dataclass(frozen=True, slots=True)
class DropColumn:
    """Remove a column. Existing files keep its values, but they are not read any more."""

    name: ColumnPath


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """Rename a column, also in the options that name it."""

    name: ColumnPath
    new_name: str


@dataclass(frozen=True, slots=True)
class AlterColumnType:
    """Change the type of a column; stored values are cast when they are read. The nullability does not change."""

    name: ColumnPath
    type: DataType


@dataclass(frozen=True, slots=True)
class SetNullability:
    """Allow or forbid nulls. Forbidding is refused, because files may have nulls, unless a table option allows it."""

    name: ColumnPath
    nullable: bool


@dataclass(frozen=True, slots=True)
class SetColumnComment:
    """Set or, with ``None``, remove the comment of a column."""

    name: ColumnPath
    comment: str | None


@dataclass(frozen=True, slots=True)
class SetColumnDefault:
    """Set or, with ``None``, remove the default value of a column, which is a literal. Stored rows do not change."""

    name: ColumnPath
    default: str | None


@dataclass(frozen=True, slots=True)
class MoveColumn:
    """Move a column to the first position, or after another column of the same level."""

    name: ColumnPath
    after: str | None = None
    first: bool = False


@dataclass(frozen=True, slots=True)
class SetComment:
    """Set or, with ``None``, remove the comment of the table."""

    comment: str | None


@dataclass(frozen=True, slots=True)
class SetOption:
    """Set an option of the table."""

    key: str
    value: str

    def __repr__(self) -> str:
        return f"SetOption(key={self.key!r}, value={shown_option(self.key, self.value)!r})"


@dataclass(frozen=True, slots=True)
class RemoveOption:
    """Reset an option to its default."""

    key: str


SchemaChange: TypeAlias = (
    AddColumn
    | DropColumn
    | RenameColumn
    | AlterColumnType
    | SetNullability
    | SetColumnComment
    | SetColumnDefault
    | MoveColumn
    | SetComment
    | SetOption
    | RemoveOption
)


def column_path(name: ColumnPath) -> tuple[str, ...]:
    """Return the names from the top-level column down.

    >>> column_path("a"), column_path(("a", "b"))
    (('a',), ('a', 'b'))
    """
    return (name,) if isinstance(name, str) else name
