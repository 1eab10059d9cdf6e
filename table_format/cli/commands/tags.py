"""The command ``tags``."""

from __future__ import annotations

import click

from table_format.cli.arguments import Age, table_argument
from table_format.cli.asking import deleting_options, may_delete
from table_format.cli.commands.metadata import show_system_table
from table_format.cli.listing_groups import ListingGroup
from table_format.cli.output import Target, output_options
from table_format.cli.session import Session
from table_format.nearest_names import did_you_mean

_COLUMNS = ("tag_name", "snapshot_id", "commit_time", "record_count", "create_time", "time_retained")


@click.group(cls=ListingGroup)
def tags() -> None:
    """List, create and delete tags, which keep snapshots from expiring."""


@tags.command("list")
@table_argument
@output_options
@click.pass_obj
def list_tags(session: Session, table: str, *, format: str | None, output: str | None) -> None:
    """List the tags of a table."""
    show_system_table(session, f"{table}$tags", _COLUMNS, target=Target.of(format, output))


@tags.command("create")
@table_argument
@click.argument("name")
@click.option("--snapshot", metavar="ID", type=int, help="The snapshot; by default the latest.")
@click.option("--keep", metavar="AGE", type=Age(), help="How long to keep the tag, such as 7d; by default forever.")
@click.pass_obj
def create_tag(session: Session, table: str, name: str, *, snapshot: int | None, keep: int | None) -> None:
    """Create a tag, which keeps a snapshot."""
    made = session.data_table(table).create_tag(name, snapshot, time_retained_ms=keep)
    click.echo(f"Tag {name} keeps snapshot {made.snapshot.id} of {table}.")


@tags.command("delete")
@table_argument
@click.argument("name")
@deleting_options
@click.pass_obj
def delete_tag(session: Session, table: str, name: str, *, dry_run: bool, yes: bool) -> None:
    """Delete a tag and the files that only it needs."""
    opened = session.data_table(table)
    known = opened.tags()
    if name not in known:
        message = f"table '{table}' has no tag '{name}'{did_you_mean(name, known)}"
        raise click.ClickException(message)
    click.echo(f"Tag {name} of {table} keeps snapshot {known[name].snapshot.id}.")
    if may_delete(f"Delete tag {name}?", dry_run=dry_run, yes=yes):
        opened.delete_tag(name)
        click.echo(f"Tag {name} was deleted.")
