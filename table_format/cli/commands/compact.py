"""The command ``compact``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from table_format.cli.arguments import existing_partitions, names_of, partition_option, table_argument
from table_format.cli.progress import progress_bar, spinner
from table_format.cli.session import Session
from table_format.counted import counted


@click.command()
@table_argument
@click.option("--full", is_flag=True, help="Compact all files, not only those that need it.")
@partition_option
@click.option("--bucket", "buckets", metavar="N", type=int, multiple=True, help="Only this bucket; may be repeated.")
@click.option("--order-by", metavar="NAMES", help="Also sort all rows by these columns.")
@click.option(
    "--order",
    type=click.Choice(["order", "zorder", "hilbert"]),
    help="Sort column by column, or along a space-filling curve.",
)
@click.pass_obj
def compact(
    session: Session,
    table: str,
    *,
    full: bool,
    partitions: Sequence[str],
    buckets: Sequence[int],
    order_by: str | None,
    order: str | None,
) -> None:
    """Merge sorted runs or small files into fewer, larger ones. No row changes."""
    opened = session.data_table(table)
    chosen = existing_partitions(opened, partitions, buckets)
    if order_by is not None:
        if full or buckets:
            message = "--order-by rewrites all rows of the partitions; remove --full and --bucket."
            raise click.UsageError(message)
        with spinner(f"sorting {table}"):
            made = opened.compact(partitions=chosen, order_by=names_of(order_by), order_strategy=order)
        click.echo(f"Sorted {table}: {_snapshots([s.id for s in made])}.")
        return
    if order is not None:
        message = "--order requires --order-by."
        raise click.UsageError(message)
    with progress_bar(f"compacting {table}", "buckets") as progress:
        report = opened.run_compaction(full=full, partitions=chosen, buckets=buckets or None, progress=progress)
    if not report.buckets and not report.snapshots:
        click.echo(f"Nothing in {table} needs compaction.")
        return
    before = sum(bucket.files_before for bucket in report.buckets)
    after = sum(bucket.files_after for bucket in report.buckets)
    click.echo(f"{report}: {counted(before, 'file')} became {after}, {_snapshots([s.id for s in report.snapshots])}.")


def _snapshots(ids: Sequence[int]) -> str:
    return f"snapshot {', '.join(map(str, ids))}" if ids else "no snapshot"
