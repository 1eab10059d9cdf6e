"""Options that choose how Spark works, and may change no row."""

from __future__ import annotations

from typing import Final

from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.model.schema import TableSchema
from table_format.options.check import check_dynamic
from table_format.options.declare import Option
from table_format.options.registry import TABLE_OPTIONS

_ONE_OF: Final = "one of "


def ways(prefix: str, schema: TableSchema) -> list[dict[str, str]]:
    """No option, and each value of each option whose key begins so, as declared, that a call on the table may give."""
    found: list[dict[str, str]] = [{}]
    for option in TABLE_OPTIONS:
        if isinstance(option, Option) and option.key.startswith(prefix) and option.parser.accepts.startswith(_ONE_OF):
            found += [{option.key: value} for value in option.parser.accepts.removeprefix(_ONE_OF).split(", ")]
    return [options for options in found if _is_accepted(schema, options)]


def _is_accepted(schema: TableSchema, options: dict[str, str]) -> bool:
    try:
        check_dynamic(schema, options)
    except (InvalidOption, UnsupportedFeature):
        return False
    return True
