"""The command ``branches``."""

from __future__ import annotations

import click

from table_format import Table
from table_format.cli.arguments import table_argument
from table_format.cli.asking import deleting_options, may_delete
from table_format.cli.commands.metadata import show_system_table
from table_format.cli.listing_groups import ListingGroup
from table_format.cli.output import Target, output_options
from table_format.cli.session import Session
from table_format.counted import counted
from table_format.nearest_names import did_you_mean

_COLUMNS = ("branch_name", "create_time")


@click.group(cls=ListingGroup)
def branches() -> None:
    """List, create, delete and fast-forward branches, which are separate histories of a table."""


@branches.command("list")
@table_argument
@output_options
@click.pass_obj
def list_branches(session: Session, table: str, *, format: str | None, output: str | None) -> None:
    """List the branches of a table other than main."""
    show_system_table(session, f"{table}$branches", _COLUMNS, target=Target.of(format, output))


@branches.command("create")
@table_argument
@click.argument("name")
@click.option("--tag", metavar="NAME", help="Begin with the snapshot of this tag; by default the branch is empty.")
@click.pass_obj
def create_branch(session: Session, table: str, name: str, *, tag: str | None) -> None:
    """Create a branch. Read and write it as TABLE$branch_NAME."""
    session.data_table(table).create_branch(name, tag=tag)
    click.echo(f"Branch {name} was created; its table is '{table}$branch_{name}'.")


@branches.command("delete")
@table_argument
@click.argument("name")
@deleting_options
@click.pass_obj
def delete_branch(session: Session, table: str, name: str, *, dry_run: bool, yes: bool) -> None:
    """Delete a branch and the files that only it needs."""
    opened = _with_branch(session, table, name)
    of_branch = session.data_table(f"{table}$branch_{name}").snapshots()
    click.echo(f"Branch {name} of {table} has {counted(len(of_branch), 'snapshot')}.")
    if may_delete(f"Delete branch {name}?", dry_run=dry_run, yes=yes):
        opened.delete_branch(name)
        click.echo(f"Branch {name} was deleted.")


@branches.command("fast-forward")
@table_argument
@click.argument("name")
@deleting_options
@click.pass_obj
def fast_forward(session: Session, table: str, name: str, *, dry_run: bool, yes: bool) -> None:
    """Replace the history with that of a branch.

    Later snapshots of the table are deleted. Stop other writers first.
    """
    opened = _with_branch(session, table, name)
    of_branch = session.data_table(f"{table}$branch_{name}").snapshots()
    latest = of_branch[-1] if of_branch else None
    of_table = opened.snapshots()
    there = "none" if latest is None else latest.id
    click.echo(f"Latest snapshot of branch {name}: {there}; of {table}: {of_table[-1].id if of_table else 'none'}.")
    kept = {s.id: s for s in of_branch}
    lost = [s.id for s in of_table if of_branch and s.id >= of_branch[0].id and kept.get(s.id) != s]
    if lost:
        click.echo(f"{counted(len(lost), 'snapshot')} of {table} would be replaced, the first is {lost[0]}.")
    if may_delete(f"Replace the history of {table} by that of {name}?", dry_run=dry_run, yes=yes):
        opened.fast_forward(name, expected=latest)
        click.echo(f"Table {table} now has the history of branch {name}.")


def _with_branch(session: Session, table: str, name: str) -> Table:
    opened = session.data_table(table)
    known = opened.branches()
    if name not in known:
        message = f"table '{table}' has no branch '{name}'{did_you_mean(name, known)}"
        raise click.ClickException(message)
    return opened
