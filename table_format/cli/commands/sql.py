"""The command ``sql``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from table_format.cli.duckdb import run_on_duckdb
from table_format.cli.output import Target, output_options
from table_format.cli.session import Session
from table_format.cli.spark import run_on_spark


@click.command()
@click.argument("text", metavar="[SQL]", required=False)
@click.option(
    "--file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Read the statements from a file; - is standard input.",
)
@click.option(
    "--engine",
    type=click.Choice(["spark", "duckdb"]),
    default="spark",
    show_default=True,
    help="The engine that runs the statements.",
)
@click.option("--limit", "-n", type=click.IntRange(0), help="Show at most this many rows of the last statement.")
@output_options
@click.pass_obj
def sql(
    session: Session,
    text: str | None,
    *,
    file: Path | None,
    engine: str,
    limit: int | None,
    format: str | None,
    output: str | None,
) -> None:
    """Run SQL statements separated by ; and show the rows of the last one.

    Spark runs all statements; see docs/sql.md. DuckDB runs one query and needs neither Spark nor Java; see
    docs/engines.md.
    """
    if (text is None) == (file is None):
        message = "give the statements as one argument or in --file."
        raise click.UsageError(message)
    target = Target.of(format, output)
    statements = str(text) if file is None else _statements(file)
    run = run_on_duckdb if engine == "duckdb" else run_on_spark
    run(session, statements, limit=limit, target=target)


def _statements(file: Path) -> str:
    return sys.stdin.buffer.read().decode() if str(file) == "-" else file.read_text(encoding="utf-8")
