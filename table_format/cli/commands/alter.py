"""The command ``alter``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from table_format import (
    AddColumn,
    AlterColumnType,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetComment,
    SetOption,
)
from table_format.cli.arguments import Pair, name_and_type, table_argument, warn_of_case
from table_format.cli.session import Session
from table_format.sql.column_types import column_type


@click.command()
@table_argument
@click.option("--rename-column", "renamed", metavar="NAME:NEW_NAME", multiple=True, help="Rename a column.")
@click.option("--drop-column", "dropped", metavar="NAME", multiple=True, help="Drop a column.")
@click.option("--type", "types", metavar="NAME:TYPE", multiple=True, help="Change the type of a column.")
@click.option("--add-column", "added", metavar="NAME:TYPE", multiple=True, help="Add a column at the end.")
@click.option("--set", "values", metavar="KEY=VALUE", type=Pair(), multiple=True, help="Set an option of the table.")
@click.option("--unset", "unset", metavar="KEY", multiple=True, help="Reset an option to its default.")
@click.option("--comment", metavar="TEXT", help="Set the comment of the table; an empty text removes it.")
@click.pass_obj
def alter(
    session: Session,
    table: str,
    *,
    renamed: Sequence[str],
    dropped: Sequence[str],
    types: Sequence[str],
    added: Sequence[str],
    values: Sequence[tuple[str, str]],
    unset: Sequence[str],
    comment: str | None,
) -> None:
    """Change the columns, the options or the comment of a table.

    All changes take effect together, or none does. They apply in the order in which this help lists the options, and
    each option may be repeated. No data file is rewritten. A dot leads into a nested column: address.city.
    """
    changes: list[SchemaChange] = [
        *(RenameColumn(_path(old), new) for old, new in _pairs("--rename-column", renamed)),
        *(DropColumn(_path(name)) for name in dropped),
        *(AlterColumnType(_path(name), column_type(text)) for name, text in _pairs("--type", types)),
        *(AddColumn(_path(name), column_type(text)) for name, text in _pairs("--add-column", added)),
        *(SetOption(key, value) for key, value in values),
        *(RemoveOption(key) for key in unset),
    ]
    if comment is not None:
        changes.append(SetComment(comment or None))
    if not changes:
        message = "nothing to change: give at least one option."
        raise click.UsageError(message)
    session.data_table(table)
    made = session.catalog.alter_table(table, changes)
    if added or renamed:
        warn_of_case(made.schema.field_names)
    click.echo(f"Table {table} has schema {made.schema.id} with the columns {', '.join(made.schema.field_names)}.")


def _pairs(option: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    expected = "NAME:NEW_NAME" if option == "--rename-column" else "NAME:TYPE such as amount:DECIMAL(10,2)"
    return (name_and_type(option, text, expected) for text in texts)


def _path(name: str) -> str | tuple[str, ...]:
    return tuple(name.split(".")) if "." in name else name
