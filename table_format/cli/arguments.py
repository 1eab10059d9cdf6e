"""Arguments that several commands take: names of tables, times, ages, and pairs such as ``dt=2026-01-01``."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from table_format.cli.session import Session
from table_format.cli.settings import find_config, read_settings
from table_format.errors import TableFormatError

if TYPE_CHECKING:
    from table_format import Table

_F = TypeVar("_F", bound=Callable[..., object])
_UNITS_MS: Final = {"s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_AGE: Final = re.compile(r"(\d+)\s*(s|min|h|d)")


def warn_of_case(names: Sequence[str]) -> None:
    """Warn of columns that differ only in case. The format has them, but SQL does not tell them apart."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            message = f"warning: the columns '{other}' and '{name}' differ only in case; SQL does not tell them apart"
            click.echo(message, err=True)


class TableName(click.ParamType):
    """A table name ``database.table``, with shell completion."""

    name = "table"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the tables whose names begin with the typed text; none if the catalog cannot be opened."""
        _ = param
        try:
            names = list(_session(ctx).table_names())
        except (click.ClickException, TableFormatError, OSError):
            return []
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class Age(click.ParamType):
    """A duration such as ``7d``, in milliseconds."""

    name = "age"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the milliseconds."""
        if isinstance(value, int):
            return value
        found = _AGE.fullmatch(str(value).strip())
        if found is None:
            self.fail(f"expected a number and a unit such as 30s, 15min, 12h or 7d, found {value!r}", param, ctx)
        return int(found[1]) * _UNITS_MS[found[2]]


class Moment(click.ParamType):
    """A time in milliseconds since 1970: an ISO text, local unless it names a zone, or an age such as ``7d``."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the milliseconds since 1970."""
        if isinstance(value, int):
            return value
        text = str(value).strip()
        age = _AGE.fullmatch(text)
        if age is not None:
            return time.time_ns() // 1_000_000 - int(age[1]) * _UNITS_MS[age[2]]
        try:
            return int(datetime.fromisoformat(text).timestamp() * 1000)
        except ValueError:
            self.fail(f"expected a time such as '2026-01-31 12:00' or an age such as 7d, found {value!r}", param, ctx)


class Pair(click.ParamType):
    """``key=value``."""

    name = "key=value"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return the key and the value."""
        if isinstance(value, tuple):
            return value
        key, equals, text = str(value).partition("=")
        if not equals or not key.strip():
            self.fail(f"expected key=value, found {value!r}", param, ctx)
        return key.strip(), text


_QUOTED: Final = re.compile(r'"(?:[^"]|"")+"|`(?:[^`]|``)+`')
_NAME: Final = re.compile(rf"\s*(?:{_QUOTED.pattern})\s*(?=,|$)|[^,]+")

# A value in double quotes that holds a comma; and a column with its value, up to the next ``name=``.
_QUOTED_COMMA: Final = re.compile(r'"(?:[^",]|"")*,(?:[^"]|"")*"', re.DOTALL)
_PART: Final = re.compile(rf"([^,=]+=(?:{_QUOTED_COMMA.pattern}(?=,[^,=]+=|$)|.*?(?=,[^,=]+=|$)))(?:,|$)", re.DOTALL)


def table_argument(command: _F) -> _F:
    """Add the argument TABLE."""
    return click.argument("table", metavar="TABLE", type=TableName())(command)


def option_option(command: _F) -> _F:
    """Add the option ``--option KEY=VALUE``."""
    return click.option(
        "--option",
        "options",
        metavar="KEY=VALUE",
        type=Pair(),
        multiple=True,
        help="An option of the table; may be repeated.",
    )(command)


def partition_option(command: _F) -> _F:
    """Add the option ``--partition``, which may be repeated."""
    return click.option(
        "--partition",
        "partitions",
        metavar="K=V[,K=V]",
        multiple=True,
        help="Only this partition, by some or all partition columns; may be repeated.",
    )(command)


def partitions_of(texts: Sequence[str]) -> list[dict[str, object]] | None:
    """Parse partitions such as ``dt=2026-01-01,hh=10``; return ``None`` if there are none.

    Raises:
        click.UsageError: a text is not ``key=value``.
    """
    return [dict(partition_of(text)) for text in texts] or None


def partition_of(text: str) -> dict[str, str]:
    """Parse a partition. A comma separates only where ``name=`` follows, or after a value in double quotes.

    Quotes belong to the value unless there is a comma within them; a doubled quote there is a quote.

    >>> partition_of("dt=a,hh=1"), partition_of("city=Paris, Texas,hh=1"), partition_of('note="a,b=c",hh=1')
    ({'dt': 'a', 'hh': '1'}, {'city': 'Paris, Texas', 'hh': '1'}, {'note': 'a,b=c', 'hh': '1'})

    Raises:
        click.UsageError: the text is not ``key=value``, or names a column twice.
    """
    found: dict[str, str] = {}
    at = 0
    while at < len(text) or not found:
        part = _PART.match(text, at)
        name, value = Pair().convert(text[at:] if part is None else part[1], None, None)
        at = len(text) if part is None else part.end()
        if name in found:
            message = f"partition {text!r} names '{name}' twice"
            raise click.UsageError(message)
        found[name] = value[1:-1].replace('""', '"') if _QUOTED_COMMA.fullmatch(value) else value
    return found


def existing_partitions(
    table: Table, texts: Sequence[str], buckets: Sequence[int] = ()
) -> list[dict[str, object]] | None:
    """Parse partitions, and refuse those and the buckets that the table does not have.

    Raises:
        click.UsageError: a text is not ``key=value``.
        InvalidInputError: names the partition or the bucket, and those that exist.
    """
    from table_format.engine.support import require_partitions  # not at the top: help of commands needs no library

    partitions = partitions_of(texts)
    require_partitions(table, partitions or (), buckets)
    return partitions


def name_and_type(option: str, text: str, expected: str) -> tuple[str, str]:
    """Split the value of an option at its first colon.

    >>> name_and_type("--column", "amount:DECIMAL(10,2)", "NAME:TYPE")
    ('amount', 'DECIMAL(10,2)')

    Raises:
        click.UsageError: the text has no colon, or nothing before or after it.
    """
    name, colon, rest = text.partition(":")
    if not colon or not name.strip() or not rest.strip():
        message = f"{option}: expected {expected}, found {text!r}."
        raise click.UsageError(message)
    return name.strip(), rest.strip()


def names_of(text: str | None) -> list[str] | None:
    """Split names at commas. A name with a comma is in double quotes or backquotes, which are doubled within it.

    >>> names_of('a, "b, c",`d,e`')
    ['a', 'b, c', 'd,e']
    """
    if text is None:
        return None
    return [_unquoted(found.strip()) for found in _NAME.findall(text) if found.strip()]


def _unquoted(name: str) -> str:
    quote = name[0]
    return name[1:-1].replace(quote * 2, quote) if _QUOTED.fullmatch(name) else name


def _session(ctx: click.Context) -> Session:
    """Return a session for shell completion, when the options are parsed but the group's function has not run."""
    given = ctx.find_root().params
    path = given.get("config") or find_config(Path.cwd(), Path.home())
    return Session(lambda: read_settings(path, catalog=given.get("catalog"), warehouse=given.get("warehouse")))
