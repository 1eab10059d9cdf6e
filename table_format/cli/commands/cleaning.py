"""The commands ``expire`` and ``orphans``."""

from __future__ import annotations

import click

from table_format import ExpiryReport, OrphanReport
from table_format.cli.arguments import Age, Moment, table_argument
from table_format.cli.asking import deleting_options, may_delete
from table_format.cli.progress import spinner
from table_format.cli.session import Session
from table_format.counted import counted
from table_format.shown_paths import shown_paths


@click.command()
@table_argument
@click.option(
    "--retain-max",
    metavar="N",
    type=int,
    help="Keep at most this many snapshots. Add --retain-min if the minimum of the table is higher.",
)
@click.option("--retain-min", metavar="N", type=int, help="Keep at least this many snapshots.")
@click.option(
    "--older-than",
    metavar="TIME",
    type=Moment(),
    help="Delete only snapshots before this time, such as 2026-01-31 or 7d.",
)
@click.option("--limit", metavar="N", type=int, help="Delete at most this many snapshots.")
@click.option(
    "--retain-floor",
    metavar="AGE",
    type=Age(),
    help="Keep all younger snapshots; default 15min. Use 0s if there are no other writers.",
)
@deleting_options
@click.pass_obj
def expire(
    session: Session,
    table: str,
    *,
    retain_max: int | None,
    retain_min: int | None,
    older_than: int | None,
    limit: int | None,
    retain_floor: int | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Delete old snapshots and the files that only they need, by the table options or the options given here."""
    opened = session.data_table(table)

    def run(*, only_look: bool) -> ExpiryReport:
        with spinner(f"reading the history of {table}" if only_look else f"expiring snapshots of {table}"):
            return opened.expire_snapshots(
                dry_run=only_look,
                retain_max=retain_max,
                retain_min=retain_min,
                older_than_ms=older_than,
                limit=limit,
                retain_floor_ms=retain_floor,
            )

    found = run(only_look=True)
    if found.beyond_max:
        click.echo(
            f"More snapshots are kept than the maximum, {found.beyond_max}: they are younger than the retain floor."
        )
    going = found.snapshot_ids
    if not going:
        click.echo(f"No snapshots of {table} to delete.")
        return
    click.echo(f"{_snapshots(going)} of {table} would be deleted.")
    if may_delete(f"Delete {_snapshots(going).lower()} of {table}?", dry_run=dry_run, yes=yes):
        click.echo(f"{_snapshots(run(only_look=False).snapshot_ids)} of {table} deleted.")


@click.command()
@table_argument
@click.option(
    "--older-than", metavar="TIME", type=Moment(), help="Only files last changed before this time; default 1d."
)
@click.option(
    "--nobody-else-writes", is_flag=True, help="Allow less than a day. This can delete files of active writers."
)
@deleting_options
@click.pass_obj
def orphans(
    session: Session, table: str, *, older_than: int | None, nobody_else_writes: bool, dry_run: bool, yes: bool
) -> None:
    """Delete files that no snapshot, tag, branch or changelog references, such as those that a crash left behind."""
    opened = session.data_table(table)

    def run(*, only_look: bool) -> OrphanReport:
        with spinner(f"looking for orphans of {table}" if only_look else f"deleting orphans of {table}"):
            return opened.remove_orphan_files(
                older_than_ms=older_than, dry_run=only_look, nobody_else_writes=nobody_else_writes
            )

    found = run(only_look=True)
    paths, size = found.paths, found.bytes
    if found.young is not None:
        click.echo(f"{found.young}.")
    if not paths:
        click.echo(f"Table {table} has no orphans.")
        return
    for path in paths:
        click.echo(shown_paths(path))
    click.echo(f"{_files(paths)} of {size:,} bytes would be deleted.")
    if may_delete(f"Delete {_files(paths)}?", dry_run=dry_run, yes=yes):
        deleted = run(only_look=False)
        click.echo(f"{_files(deleted.paths)} of {deleted.bytes:,} bytes deleted.")


def _files(paths: tuple[str, ...]) -> str:
    return counted(len(paths), "file")


def _snapshots(ids: tuple[int, ...]) -> str:
    match ids:
        case (only,):
            return f"Snapshot {only}"
        case _:
            return f"{len(ids)} snapshots ({ids[0]} to {ids[-1]})" if ids else "No snapshot"
