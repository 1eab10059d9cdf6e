"""The command ``count``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from table_format import Table
from table_format.cli.arguments import option_option, table_argument
from table_format.cli.commands.scan import scan_options, state_options
from table_format.cli.session import Session


@click.command()
@table_argument
@click.option("--filter", metavar="SQL", help='Only rows that match this condition, such as "id > 7".')
@state_options
@option_option
@click.pass_obj
def count(
    session: Session,
    table: str,
    *,
    filter: str | None,
    snapshot: int | None,
    tag: str | None,
    at: int | None,
    options: Sequence[tuple[str, str]],
) -> None:
    """Count the rows of a table, or those that match a condition.

    The rows are merged: a key counts once. Without a filter, metadata is often enough, and no data file is read.
    """
    travel = scan_options(snapshot, tag, at, options)
    opened = session.table(table)
    if isinstance(opened, Table):
        click.echo(opened.scan(filter=filter, options=travel or None).count())
    else:
        click.echo(sum(batch.num_rows for batch in opened.scan(None, filter, travel or None).to_batches()))
