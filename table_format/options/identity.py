"""Options that are no options once the table exists: they become part of its schema or of its place."""

from __future__ import annotations

from table_format.options.declare import Option
from table_format.options.values import names, optional, text

PRIMARY_KEY = Option(
    "primary-key", names, (), "Primary key; moved to the schema when the table is created.", immutable=True
)
PARTITION = Option(
    "partition", names, (), "Partition columns; moved to the schema when the table is created.", immutable=True
)
PATH = Option("path", optional(text), None, "Place of the table; decided by the catalog and never stored.")
