"""The command ``rollback``."""

from __future__ import annotations

import click

from table_format.cli.arguments import Moment, table_argument
from table_format.cli.asking import deleting_options, may_delete
from table_format.cli.session import Session


@click.command()
@table_argument
@click.option("--snapshot", metavar="ID", type=int, help="Roll back to this snapshot.")
@click.option("--tag", metavar="NAME", help="Roll back to this tag.")
@click.option(
    "--at",
    metavar="TIME",
    type=Moment(),
    help="Roll back to the latest snapshot at this time, such as 2026-01-31 or 2h.",
)
@deleting_options
@click.pass_obj
def rollback(
    session: Session, table: str, *, snapshot: int | None, tag: str | None, at: int | None, dry_run: bool, yes: bool
) -> None:
    """Make an earlier snapshot the latest, and delete later snapshots and tags. Stop other writers first."""
    if sum(given is not None for given in (snapshot, tag, at)) != 1:
        message = "add one of --snapshot, --tag and --at."
        raise click.UsageError(message)
    opened = session.data_table(table)
    target = snapshot if tag is None else tag
    planned = opened.plan_rollback_to_timestamp(at or 0) if target is None else opened.plan_rollback(target)
    click.echo(str(planned))
    if may_delete(f"Roll {table} back to snapshot {planned.target.id}?", dry_run=dry_run, yes=yes):
        # Exactly the snapshot that was shown, even if there are new commits. A tag may keep one of an earlier history,
        # whose id another snapshot has now.
        report = opened.rollback_to(planned.target.id if tag is None else tag)
        click.echo(f"Snapshot {report.snapshot.id} is the latest of {table} again.")
