"""The commands of ``lakehouse``, one module for each group; ``COMMANDS`` lists them in the order of the help."""

from __future__ import annotations

from typing import Final

import click

from table_format.cli.commands.branches import branches
from table_format.cli.commands.catalog import databases, init, tables
from table_format.cli.commands.changes import changes
from table_format.cli.commands.cleaning import expire, orphans
from table_format.cli.commands.compact import compact
from table_format.cli.commands.create import create
from table_format.cli.commands.describe import describe
from table_format.cli.commands.doctor import analyze, doctor
from table_format.cli.commands.load import load
from table_format.cli.commands.metadata import files, snapshots
from table_format.cli.commands.rollback import rollback
from table_format.cli.commands.scan import plan, scan
from table_format.cli.commands.sql import sql
from table_format.cli.commands.tags import tags

COMMANDS: Final[tuple[click.Command, ...]] = (
    init,
    databases,
    tables,
    create,
    describe,
    scan,
    plan,
    load,
    snapshots,
    files,
    changes,
    tags,
    branches,
    compact,
    expire,
    orphans,
    rollback,
    analyze,
    doctor,
    sql,
)
