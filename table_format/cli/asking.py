"""Confirmation before a command deletes something."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., object])


def deleting_options(command: _F) -> _F:
    """Add the options ``--dry-run`` and ``--yes``."""
    add_dry_run = click.option("--dry-run", is_flag=True, help="Only show what would be deleted.")
    return add_dry_run(click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")(command))


def may_delete(question: str, *, dry_run: bool, yes: bool) -> bool:
    """Return whether to delete: never in a dry run, otherwise if the user confirms.

    Raises:
        click.UsageError: standard input is not a terminal.
        click.Abort: the user says no.
    """
    if dry_run:
        click.echo("Nothing was deleted (dry run).")
        return False
    if yes:
        return True
    if not is_answered():
        message = (
            "nothing was deleted: standard input is not a terminal, so the command cannot ask; add --yes or --dry-run."
        )
        raise click.UsageError(message)
    click.confirm(question, abort=True, err=True)
    return True


def is_answered() -> bool:
    """Return whether a user can answer a question."""
    return sys.stdin.isatty()
