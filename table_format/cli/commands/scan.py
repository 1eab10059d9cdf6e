"""The commands ``scan`` and ``plan``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from table_format import Scan, Table
from table_format.cli.arguments import Moment, names_of, option_option, table_argument
from table_format.cli.output import FIRST_ROWS, Format, Limited, Target, output_options, show_first, write_rows
from table_format.cli.session import Reading, Session
from table_format.counted import counted

_F = TypeVar("_F", bound=Callable[..., object])


def state_options(command: _F) -> _F:
    """Add the options ``--snapshot``, ``--tag`` and ``--at``, which select a state of the table."""
    for add in reversed(
        (
            click.option("--snapshot", metavar="ID", type=int, help="Read the state at this snapshot."),
            click.option("--tag", metavar="NAME", help="Read the state at this tag."),
            click.option(
                "--at",
                metavar="TIME",
                type=Moment(),
                help="Read the state at this time, such as '2026-01-31 12:00:00' or 2h.",
            ),
        )
    ):
        command = add(command)
    return command


def _choice_of_rows(command: _F) -> _F:
    for add in reversed(
        (
            click.option("--filter", metavar="SQL", help='Only rows that match this condition, such as "id > 7".'),
            click.option("--columns", "-c", metavar="NAMES", help="Only these columns, separated by commas."),
            click.option("--order-by", metavar="SQL", help="Sort by these columns before --limit."),
            click.option("--limit", "-n", type=click.IntRange(0), help="Show at most this many rows."),
            state_options,
            option_option,
        )
    ):
        command = add(command)
    return command


@click.command()
@table_argument
@_choice_of_rows
@output_options
@click.pass_obj
def scan(
    session: Session,
    table: str,
    *,
    filter: str | None,
    columns: str | None,
    order_by: str | None,
    limit: int | None,
    snapshot: int | None,
    tag: str | None,
    at: int | None,
    options: Sequence[tuple[str, str]],
    format: str | None,
    output: str | None,
) -> None:
    """Show rows of a table, or write them to a file.

    A table on standard output shows the first 20 rows, unless --limit is given.
    """
    target = Target.of(format, output)
    travel = scan_options(snapshot, tag, at, options)
    _check_order(order_by, limit)
    opened = session.table(table)
    wanted = names_of(columns)
    if isinstance(opened, Table):
        reading: Reading = opened.scan(wanted, filter, travel or None, order_by=order_by, limit=limit)
    elif order_by is not None:
        message = "--order-by does not work on system tables and format tables."
        raise click.UsageError(message)
    else:
        reading = Limited(opened.scan(wanted, filter, travel or None), limit)
    if limit is None and target == Target(Format.TABLE):
        _show_first(reading)
    else:
        write_rows(reading, target)


def _show_first(reading: Reading) -> None:
    number, is_all = show_first(reading, FIRST_ROWS)
    if is_all:
        click.echo(counted(number, "row"))
    else:
        total = reading.count() if isinstance(reading, Scan) else sum(b.num_rows for b in reading.to_batches())
        click.echo(f"first {number} of {counted(total, 'row', thousands=True)}; --limit shows more")


@click.command()
@table_argument
@_choice_of_rows
@click.option("--row-groups", is_flag=True, help="Also show row groups; this reads the footers of the planned files.")
@click.option("--files", is_flag=True, help="Also show each file that an index pruned, and why.")
@click.pass_obj
def plan(
    session: Session,
    table: str,
    *,
    filter: str | None,
    columns: str | None,
    order_by: str | None,
    limit: int | None,
    snapshot: int | None,
    tag: str | None,
    at: int | None,
    options: Sequence[tuple[str, str]],
    row_groups: bool,
    files: bool,
) -> None:
    """Explain what a scan would read and what pruning skips. Accepts the arguments of scan."""
    travel = scan_options(snapshot, tag, at, options)
    _check_order(order_by, limit)
    opened = session.data_table(table)
    wanted = opened.scan(names_of(columns), filter, travel or None, order_by=order_by, limit=limit)
    click.echo(wanted.plan().explain(row_groups=row_groups, files=files))


def _check_order(order_by: str | None, limit: int | None) -> None:
    if order_by is not None and limit is None:
        message = "--order-by requires --limit: a scan does not sort all rows."
        raise click.UsageError(message)


def scan_options(
    snapshot: int | None, tag: str | None, at: int | None, options: Sequence[tuple[str, str]]
) -> dict[str, str]:
    """Return the options of the scan. At most one of the states may be given."""
    given = {"scan.snapshot-id": snapshot, "scan.tag-name": tag, "scan.timestamp-millis": at}
    travel = {key: str(value) for key, value in given.items() if value is not None}
    if len(travel) > 1:
        message = "--snapshot, --tag and --at exclude each other."
        raise click.UsageError(message)
    return {**dict(options), **travel}
