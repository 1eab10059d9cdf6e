"""The command ``changes``."""

from __future__ import annotations

import click

from table_format.cli.arguments import names_of, table_argument
from table_format.cli.output import Limited, Target, output_options, write_rows
from table_format.cli.session import Session


@click.command()
@table_argument
@click.option(
    "--from",
    "start",
    metavar="ID|TAG",
    help="Show changes after this snapshot or tag; by default only those of the last snapshot.",
)
@click.option("--to", "end", metavar="ID|TAG", help="Show changes up to this snapshot or tag; by default the latest.")
@click.option("--filter", metavar="SQL", help="Only changes that match this condition, such as \"rowkind = '-D'\".")
@click.option("--columns", "-c", metavar="NAMES", help="Only these columns, separated by commas.")
@click.option("--limit", "-n", type=click.IntRange(0), help="Show at most this many changes.")
@output_options
@click.pass_obj
def changes(
    session: Session,
    table: str,
    *,
    start: str | None,
    end: str | None,
    filter: str | None,
    columns: str | None,
    limit: int | None,
    format: str | None,
    output: str | None,
) -> None:
    """Show the changed rows of snapshots, with their row kinds in the column rowkind.

    Between two tags, it shows the difference between their states; a tag and an id stand for snapshots. To see the old
    rows of updates, the table needs a changelog-producer.
    """
    target = Target.of(format, output)
    opened = session.data_table(table)
    latest = opened.latest_snapshot()
    if latest is None:
        message = f"table '{table}' has no snapshot, so nothing has changed"
        raise click.ClickException(message)
    last = str(latest.id) if end is None else end
    if start is None and not last.isdigit():
        message = "--to names a tag; add --from."
        raise click.UsageError(message)
    first = str(int(last) - 1) if start is None else start
    ids = {name: str(tag.snapshot.id) for name, tag in opened.tags().items()}
    if (first in ids) != (last in ids):  # only two tags can be compared; otherwise a tag stands for its snapshot
        first, last = ids.get(first, first), ids.get(last, last)
    reading = session.reading(
        f"{table}$audit_log", names_of(columns), filter, {"incremental-between": f"{first},{last}"}
    )
    write_rows(Limited(reading, limit), target)
