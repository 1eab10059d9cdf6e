"""``$aggregation_fields``: each column and its options (Java ``AggregationFieldsTable``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from table_format.table.facts import TableFacts
from table_format.table.rows.texts import in_brackets
from table_format.table.system.metadata import TEXT, Row, columns

COLUMNS: Final = columns(
    field_name=TEXT.not_null(),
    field_type=TEXT.not_null(),
    function=TEXT,
    function_options=TEXT,
    comment=TEXT,
)
_PARTS: Final = 3
"""The parts of a key such as ``fields.sales.aggregate-function``; a key with fewer is not about a column."""


def rows(facts: TableFacts) -> Sequence[Row]:
    """The columns of the table's latest schema."""
    schema = facts.schema_store.latest()
    found = [_options_of(schema.options, f.name) for f in schema.fields]
    return [
        {
            "field_name": f.name,
            "field_type": str(f.type),
            "function": in_brackets(options.values()),
            "function_options": in_brackets(options),
            "comment": f.description,
        }
        for f, options in zip(schema.fields, found, strict=True)
    ]


def _options_of(options: Mapping[str, str], column: str) -> Mapping[str, str]:
    """The options of one column, in the order of the schema file.

    >>> _options_of({"fields.a.ignore-retract": "true", "fields.b.aggregate-function": "sum", "fields.a": "x"}, "a")
    {'fields.a.ignore-retract': 'true'}
    """
    split = {key: key.split(".") for key in options}
    return {
        key: options[key]
        for key, parts in split.items()
        if len(parts) >= _PARTS and parts[0] == "fields" and parts[1] == column
    }
