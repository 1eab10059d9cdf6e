"""The copies of the options of a table in the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from table_format.catalog.copied_options import copied_options
from table_format.model.schema import TableSchema

KEY_LENGTH: Final = 255
"""Letters of a name, and of the key of a property, in the database."""
VALUE_LENGTH: Final = 1000
"""Letters of the value of a property in the database."""


def properties_of(schema: TableSchema) -> Mapping[str, str]:
    """Return the options and keys of a table as Java copies them. Those too long for their columns are left out."""
    return copied_options(schema, key_length=KEY_LENGTH, value_length=VALUE_LENGTH)
