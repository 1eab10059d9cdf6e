"""Changes of a schema that a caller may ask for (format chapter 02, sections 3 and 6; Java ``SchemaChange``).

A column is named by its name, or by a tuple of names that leads through nested types: ``("address", "city")``. What
an array holds is its ``element``, and what a map holds its ``value``: ``("orders", "element", "price")``.
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
    """Remove a column; files keep its values, which nobody reads."""

    name: ColumnPath


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """Give a column another name; options that name it follow."""

    name: ColumnPath
    new_name: str


@dataclass(frozen=True, slots=True)
class AlterColumnType:
    """Give a column another type, to which its values are cast when they are read. Its nullability stays."""

    name: ColumnPath
    type: DataType


@dataclass(frozen=True, slots=True)
class SetNullability:
    """Allow nulls; to forbid them is refused, since files may hold some, unless an option of the table allows it."""

    name: ColumnPath
    nullable: bool


@dataclass(frozen=True, slots=True)
class SetColumnComment:
    """Set or, with ``None``, remove the comment of a column."""

    name: ColumnPath
    comment: str | None


@dataclass(frozen=True, slots=True)
class SetColumnDefault:
    """Set or, with ``None``, remove the default value of a column: a literal. Rows already written stay as they are."""

    name: ColumnPath
    default: str | None


@dataclass(frozen=True, slots=True)
class MoveColumn:
    """Put a column first, or after another of the same level."""

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
    """Set an option back to its default."""

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
    """The names from the top-level column down.

    >>> column_path("a"), column_path(("a", "b"))
    (('a',), ('a', 'b'))
    """
    return (name,) if isinstance(name, str) else name
