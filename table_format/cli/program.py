"""The command ``lakehouse``: its settings, its subcommands and its error handling."""

from __future__ import annotations

from pathlib import Path

import click

from table_format import __version__
from table_format.cli.errors import OneLineErrors
from table_format.cli.late_commands import LateCommands
from table_format.cli.session import Session
from table_format.cli.settings import find_config, read_settings


class Program(OneLineErrors, LateCommands):
    """The group of all commands."""


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--warehouse", "-w", metavar="PATH", envvar="LAKEHOUSE_WAREHOUSE", help="The root directory of all databases."
)
@click.option(
    "--catalog",
    metavar="NAME",
    envvar="LAKEHOUSE_CATALOG",
    help="Use the section [catalogs.NAME] of the settings file.",
)
@click.option(
    "--config",
    metavar="FILE",
    envvar="LAKEHOUSE_CONFIG",
    type=click.Path(path_type=Path),
    help="The settings file; by default lakehouse.toml here, or ~/.config/lakehouse.toml.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(__version__, message="%(version)s")
@click.pass_context
def lakehouse(
    context: click.Context, *, warehouse: str | None, catalog: str | None, config: Path | None, debug: bool
) -> None:
    """Read, write and maintain the tables of a lakehouse.

    Name a table DATABASE.TABLE, a branch DATABASE.TABLE$branch_NAME, and a system table DATABASE.TABLE$files.
    """
    _ = debug  # ``OneLineErrors`` reads it
    path = config or find_config(Path.cwd(), Path.home())
    context.obj = Session(lambda: read_settings(path, catalog=catalog, warehouse=warehouse))
