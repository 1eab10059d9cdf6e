"""The option reference, rendered from the declarations: ``python -m table_format.options > docs/options.md``."""

from __future__ import annotations

from collections.abc import Iterable

from table_format.options.catalog import HINTS as CATALOG_HINTS
from table_format.options.catalog import REFUSED as CATALOG_REFUSED
from table_format.options.catalog import CatalogOptions
from table_format.options.declare import AnyOption, Option, OptionPattern, declared_in
from table_format.options.hints import HINTS
from table_format.options.identity import PARTITION, PATH, PRIMARY_KEY
from table_format.options.refused import REFUSED
from table_format.options.registry import GROUPS

_INTRODUCTION = """\
# Options

Made by `python -m table_format.options`; do not edit. Values are text. A key that is not listed, a malformed value,
and a value whose effect is missing are refused when a table is created or altered. A table written by others opens
whatever it holds; an operation whose result would be wrong is refused with the key and the value.
"""


def options_markdown() -> str:
    """All options of tables and catalogs as Markdown."""
    parts = [_INTRODUCTION, "## Becoming part of the schema\n", _table((PRIMARY_KEY, PARTITION, PATH))]
    for group in GROUPS:
        name = group.__name__.removesuffix("Options")
        parts += [f"## {name}\n", _table(tuple(declared_in(group)))]
    parts += ["## Kept, tuning only the Java engine\n", _table(HINTS)]
    parts += ["## Known and not supported yet\n", "Only the default is accepted.\n", _table(REFUSED)]
    parts += ["## Catalog\n", _table((*declared_in(CatalogOptions), *CATALOG_HINTS))]
    parts += ["### Known and not supported yet\n", _table(CATALOG_REFUSED)]
    return "\n".join(parts)


def _table(options: Iterable[AnyOption]) -> str:
    lines = ["| Key | Default | Takes | Meaning |", "|---|---|---|---|"]
    lines += [_row(option) for option in options]
    return "\n".join(lines) + "\n"


def _row(option: AnyOption) -> str:
    notes = [option.doc]
    default = ""
    if isinstance(option, Option):
        default = f"`{shown}`" if (shown := option.parser.show(option.default)) else ""
        if option.fallback_keys:
            notes.append(f"Also {', '.join(f'`{key}`' for key in option.fallback_keys)}.")
    if isinstance(option, Option | OptionPattern) and option.immutable:
        notes.append("Never changes.")
    cells = (f"`{option.key}`", default, option.parser.accepts, " ".join(notes))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
