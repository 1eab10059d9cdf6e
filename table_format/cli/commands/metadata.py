"""The commands ``snapshots`` and ``files``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from table_format.cli.arguments import table_argument
from table_format.cli.output import Format, Limited, Target, output_options, write_rows
from table_format.cli.session import Session

_SNAPSHOT = ("snapshot_id", "commit_kind", "commit_time", "total_record_count", "delta_record_count", "commit_user")
_FILE = ("partition", "bucket", "level", "record_count", "file_size_in_bytes", "min_key", "max_key", "file_path")


@click.command()
@table_argument
@click.option("--limit", "-n", type=click.IntRange(0), help="Show at most this many rows.")
@output_options
@click.pass_obj
def snapshots(session: Session, table: str, *, limit: int | None, format: str | None, output: str | None) -> None:
    """List the retained snapshots, oldest first. With --format, show all columns."""
    show_system_table(session, f"{table}$snapshots", _SNAPSHOT, limit=limit, target=Target.of(format, output))


@click.command()
@table_argument
@click.option("--filter", metavar="SQL", help='Only files that match this condition, such as "level > 0".')
@click.option("--snapshot", metavar="ID", type=int, help="Show the files of this snapshot.")
@click.option("--limit", "-n", type=click.IntRange(0), help="Show at most this many rows.")
@output_options
@click.pass_obj
def files(
    session: Session,
    table: str,
    *,
    filter: str | None,
    snapshot: int | None,
    limit: int | None,
    format: str | None,
    output: str | None,
) -> None:
    """List the data files of the latest snapshot. With --format, show all columns."""
    travel = {} if snapshot is None else {"scan.snapshot-id": str(snapshot)}
    target = Target.of(format, output)
    show_system_table(session, f"{table}$files", _FILE, filter=filter, options=travel, limit=limit, target=target)


def show_system_table(
    session: Session,
    name: str,
    columns: Sequence[str],
    *,
    target: Target,
    filter: str | None = None,
    options: dict[str, str] | None = None,
    limit: int | None = None,
) -> None:
    """Show a system table: some columns as a table, all columns in other formats."""
    session.data_table(name.rpartition("$")[0])
    shown = columns if target.format is Format.TABLE else None
    write_rows(Limited(session.reading(name, shown, filter, options), limit), target)
