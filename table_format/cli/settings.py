"""Connection settings: options of the catalog from a TOML file, the environment and the command line.

```toml
warehouse = "/data/warehouse"          # the catalog that is used without --catalog

[catalogs.test]
warehouse = "/tmp/test"
"table-default.file.format" = "orc"
```

A value ``{ env = "NAME" }`` is a secret from an environment variable.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import click

from table_format.nearest_names import did_you_mean, nearest
from table_format.secrets import Secret

FILE_NAME: Final = "lakehouse.toml"
_CATALOGS: Final = "catalogs"
_NO_WAREHOUSE: Final = (
    "no warehouse is given: use --warehouse PATH, the variable LAKEHOUSE_WAREHOUSE, or 'warehouse = \"PATH\"' in "
    f"{FILE_NAME}"
)


def find_config(directory: Path, home: Path) -> Path | None:
    """Return the settings file: that of the working directory, otherwise that of the user."""
    places = (directory / FILE_NAME, home / ".config" / FILE_NAME)
    return next((place for place in places if place.is_file()), None)


def read_settings(path: Path | None, *, catalog: str | None, warehouse: str | None) -> dict[str, str | Secret]:
    """Return the options of the catalog from the file, or from one of its sections; ``warehouse`` takes precedence.

    Raises:
        click.ClickException: the file cannot be read, or has no such catalog.
        click.UsageError: nothing names a warehouse.
    """
    given = {} if path is None else _read(path)
    catalogs = given.pop(_CATALOGS, {})
    if not isinstance(catalogs, dict):
        message = f"{path}: '{_CATALOGS}' holds sections such as [{_CATALOGS}.test]"
        raise click.ClickException(message)
    if catalog is not None:
        given = _section(catalogs, catalog, path)
    options = dict(_options(given, str(path)))
    if warehouse is not None:
        options["warehouse"] = warehouse
    if "warehouse" not in options:
        raise click.UsageError(_NO_WAREHOUSE + _what_the_file_has(path, options, catalogs if catalog is None else {}))
    return options


def _what_the_file_has(path: Path | None, options: Mapping[str, object], catalogs: Mapping[str, object]) -> str:
    """Return an addition to the error that no warehouse is given: what the settings file has in its place."""
    if path is None:
        return ""
    misspelt = nearest("warehouse", options)
    if misspelt:
        return f"; {path} has '{misspelt[0]}' instead of 'warehouse'"
    if catalogs:
        return f"; {path} has catalogs to choose with --catalog: {', '.join(sorted(catalogs))}"
    return f"; {path} has no 'warehouse'"


def _read(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        message = f"{path}: {error.strerror}"
        raise click.ClickException(message) from error
    except ValueError as error:
        message = f"{path} is not a TOML file: {error}"
        raise click.ClickException(message) from error


def _section(catalogs: Mapping[str, object], name: str, path: Path | None) -> dict[str, object]:
    found = catalogs.get(name)
    if isinstance(found, dict):
        return found
    where = f"there is no {FILE_NAME}" if path is None else f"{path} has no section [{_CATALOGS}.{name}]"
    message = f"catalog '{name}' is not known: {where}{did_you_mean(name, catalogs)}"
    raise click.ClickException(message)


def _options(values: Mapping[str, object], path: str, prefix: str = "") -> Iterator[tuple[str, str | Secret]]:
    """Return options as text; nested tables become keys with dots."""
    for name, value in values.items():
        key = f"{prefix}{name}"
        match value:
            case {"env": str() as variable, **rest} if not rest:
                yield key, Secret(_from_environment(key, variable))
            case dict():
                yield from _options(value, path, f"{key}.")
            case bool():
                yield key, "true" if value else "false"
            case str() | int() | float():
                yield key, str(value)
            case _:
                message = f"{path}: option '{key}' must be a text, a number, true or false, or {{ env = \"NAME\" }}"
                raise click.ClickException(message)


def _from_environment(key: str, variable: str) -> str:
    value = os.environ.get(variable)
    if value is None:
        message = f"option '{key}' needs the environment variable {variable}, which is not set"
        raise click.ClickException(message)
    return value
