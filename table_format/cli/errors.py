"""Error output: one line ``error: ...`` on standard error and an exit code; with ``--debug`` a traceback."""

from __future__ import annotations

import io
import os
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from table_format.errors import TableFormatError

FAILED: Final = 1
"""The exit code of errors, of findings of ``doctor``, and of a confirmation that was declined."""
WRONG_USE: Final = 2
"""The exit code of a wrong command line."""


class _PipeClosed(Exception):
    """The reader of the pipe, such as head, has closed it. Click would end the process as failed."""


class OneLineErrors(click.Group):
    """A group of commands that shows every error as one line."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401 - as click declares it
    ) -> click.Context:
        """Parse the arguments, which may show the help."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except BrokenPipeError as error:
            raise _PipeClosed from error

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - as click declares it
        """Run the command; errors of the library and of the system become errors of click."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _PipeClosed from error
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if ctx.params.get("debug"):
                traceback.print_exc()
            raise click.ClickException(with_options(one_line(error), self._options(ctx))) from error

    def _options(self, ctx: click.Context) -> dict[str, str]:
        """Return the options of the command that ran, by the names that its arguments have in Python."""
        found = self.get_command(ctx, ctx.invoked_subcommand or "")
        commands = found.commands.values() if isinstance(found, click.Group) else (found,) if found else ()
        options = (option for command in commands for option in command.params if isinstance(option, click.Option))
        return {option.name: option.opts[0] for option in options if option.name is not None}

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002 - as click declares it
        **extra: Any,  # noqa: ANN401 - as click declares it
    ) -> Any:  # noqa: ANN401 - as click declares it
        """Run the program and exit the process. Without ``standalone_mode``, raise errors instead."""
        _show_every_character()
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            code = WRONG_USE
        except click.UsageError as error:
            code = fail(_with_advice(error), WRONG_USE)
        except click.ClickException as error:
            code = fail(error.format_message(), error.exit_code)
        except (click.Abort, KeyboardInterrupt):
            code = fail("stopped", FAILED)
        except _PipeClosed:
            # Discard what is still buffered.
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - open until the process ends
            code = 0
        sys.exit(code)


def _show_every_character() -> None:
    """Escape characters that the terminal does not have, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def fail(message: str, code: int) -> int:
    """Show an error and return its exit code."""
    click.echo(f"error: {' '.join(message.split())}", err=True)
    return code


def one_line(error: Exception) -> str:
    """Return the message of an error of the library or the system. Other errors are defects: add their type.

    >>> one_line(FileNotFoundError(2, "No such file or directory", "orders.csv"))
    'orders.csv: No such file or directory'
    """
    from pyarrow import ArrowException  # not at the top: help and completion need no Arrow

    match error:
        case TableFormatError() | ArrowException():
            return str(error)
        case OSError(filename=str() | bytes() as path, strerror=str() as reason):
            return f"{os.fsdecode(path)}: {reason}"
        case OSError():
            return str(error)
        case ModuleNotFoundError(name=str() as name):
            return f"the Python package {name} is not installed"
    return f"{type(error).__name__}: {error} (this looks like a defect; --debug shows where)"


def with_options(message: str, options: Mapping[str, str]) -> str:
    """Name the options of the command line in place of the arguments of Python, if their names show which they are.

    >>> with_options("retain_max is 1, but limit 'retain_max' is 2", {"retain_max": "--retain-max", "limit": "--limit"})
    "--retain-max is 1, but limit 'retain_max' is 2"
    """
    for name in (name for name in options if "_" in name):
        message = re.sub(rf"(?<![\w'\"`/.$-]){name}(?![\w'\"`/.$-]*[\w'\"`/$-])", options[name], message)
    return message


def first_line(error: Exception) -> str:
    """Return the first line of an engine's error message. The other lines show the position in the text, or a plan."""
    return str(error).strip().partition("\n")[0]


def _with_advice(error: click.UsageError) -> str:
    if isinstance(error, click.NoSuchOption):
        close = _similar_options(error)
        advice = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
        error = click.UsageError(f"No such option {error.option_name!r}.{advice}", error.ctx)
    message = error.format_message()
    if error.ctx is None:
        return message
    stop = "" if message.endswith((".", "?")) else "."
    return f"{message}{stop} See '{error.ctx.command_path} --help'."


def _similar_options(error: click.NoSuchOption) -> list[str]:
    """Return the options that a misspelt one may mean. SQL calls a filter WHERE."""
    known = {name for option in error.ctx.command.params for name in option.opts} if error.ctx is not None else set()
    if error.option_name == "--where" and "--filter" in known:
        return ["--filter"]
    is_help = error.option_name.startswith("--h")
    return [name for name in error.possibilities or () if is_help or name != "--help"]
